#include "codegen/isa/amd/hazard_rewrite.h"

#include <cstring>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "codegen/isa/amd/decode.h"

namespace tg::amd {
namespace {

bool HasLabel(const Inst& inst) {
  for (int i = 0; i < inst.num_operands; ++i) {
    if (inst.form->specs[i].cls == OperandClass::kLabel) return true;
  }
  return false;
}

uint64_t TargetOf(const CodeRewriter::Decoded& d) {
  const int words = static_cast<int16_t>(d.inst.operands[d.inst.num_operands - 1].value);
  return d.offset + d.inst.size + static_cast<uint64_t>(4 * int64_t{words});
}

}  // namespace

absl::StatusOr<CodeRewriter> CodeRewriter::Create(absl::Span<const uint8_t> code, Isa isa) {
  CodeRewriter rewriter;
  rewriter.code_ = code;
  std::set<uint64_t> targets;
  for (size_t at = 0; at < code.size();) {
    Decoded& d = rewriter.program_.emplace_back();
    d.offset = at;
    if (DecodeFast(code.subspan(at), isa, &d.inst) != DecodeError::kOk) {
      return absl::InvalidArgumentError(absl::StrFormat("no instruction at 0x%x", at));
    }
    const std::string_view name = d.inst.form->name;
    for (const std::string_view computed : {"s_getpc", "s_call", "s_setpc", "s_swappc"}) {
      if (name.substr(0, computed.size()) == computed) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "%s at 0x%x: distances in the code would change", d.inst.form->name, at));
      }
    }
    d.branch = HasLabel(d.inst);
    if (d.branch) targets.insert(TargetOf(d));
    at += d.inst.size;
  }
  for (Decoded& d : rewriter.program_) d.target = targets.count(d.offset) != 0;
  return rewriter;
}

size_t CodeRewriter::Append(uint32_t word) {
  uint8_t bytes[4];
  std::memcpy(bytes, &word, sizeof(word));
  out_.insert(out_.end(), bytes, bytes + sizeof(word));
  return out_.size() - sizeof(word);
}

void CodeRewriter::Append(const Decoded& instruction) {
  if (instruction.branch) branches_.emplace_back(out_.size(), TargetOf(instruction));
  const absl::Span<const uint8_t> bytes = code_.subspan(instruction.offset, instruction.inst.size);
  out_.insert(out_.end(), bytes.begin(), bytes.end());
}

uint32_t CodeRewriter::WordAt(size_t where) const {
  uint32_t word = 0;
  std::memcpy(&word, out_.data() + where, sizeof(word));
  return word;
}

void CodeRewriter::SetWordAt(size_t where, uint32_t word) {
  std::memcpy(out_.data() + where, &word, sizeof(word));
}

absl::StatusOr<std::vector<uint8_t>> CodeRewriter::Finish() {
  moved_[code_.size()] = out_.size();
  for (const auto& [offset, target] : branches_) {
    const auto found = moved_.find(target);
    if (found == moved_.end()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("a branch goes to 0x%x, where no instruction starts", target));
    }
    const int64_t words =
        (static_cast<int64_t>(found->second) - static_cast<int64_t>(offset) - 4) / 4;
    if (words < -32768 || words > 32767) {
      return absl::InvalidArgumentError(absl::StrFormat("the branch to 0x%x goes too far", target));
    }
    const uint16_t field = static_cast<uint16_t>(words);
    std::memcpy(out_.data() + offset, &field, sizeof(field));
  }
  return std::move(out_);
}

}  // namespace tg::amd
