#include "codegen/isa/amd/hazard.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/hazard_effects.h"
#include "codegen/isa/amd/hazard_state.h"
#include "codegen/isa/amd/names.h"

namespace tg::amd {
namespace {

struct Decoded {
  uint64_t offset = 0;
  Inst inst;
};

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool GoesElsewhere(const Inst& inst) {
  for (int i = 0; i < inst.num_operands; ++i) {
    if (inst.form->specs[i].cls == OperandClass::kLabel) return true;
  }
  return false;
}

void AppendWord(uint32_t word, std::vector<uint8_t>* code) {
  uint8_t bytes[4];
  std::memcpy(bytes, &word, sizeof(word));
  code->insert(code->end(), bytes, bytes + 4);
}

// SOPP words: opcode 22:16.
constexpr uint32_t Sopp(uint32_t opcode, uint32_t value) {
  return 0xbf800000 | opcode << 16 | value;
}

void AppendWait(Counter counter, uint32_t count, Isa isa, std::vector<uint8_t>* code) {
  if (isa == Isa::kGfx12) {
    // s_wait_loadcnt is 64; the others follow.
    constexpr uint8_t kOpcodes[kNumCounters] = {64, 65, 0, 70, 71, 66, 67, 68};
    AppendWord(Sopp(kOpcodes[static_cast<int>(counter)], count), code);
    return;
  }
  uint32_t value = 0;
  const absl::Span<const CounterField> fields = WaitCounters(isa);
  constexpr Counter kOrder[] = {Counter::kVm, Counter::kExp, Counter::kLgkm};
  for (size_t i = 0; i < fields.size(); ++i) {
    value |=
        fields[i].Put(kOrder[i] == counter ? std::min(count, fields[i].Max()) : fields[i].Max());
  }
  AppendWord(Sopp(IsCdna(isa) ? 12 : 9, value), code);
}

void AppendNops(int count, std::vector<uint8_t>* code) {
  for (int left = count; left > 0; left -= 8) {
    AppendWord(Sopp(0, static_cast<uint32_t>(std::min(left, 8) - 1)), code);
  }
}

void AppendCure(const HazardFinding& finding, Isa isa, std::vector<uint8_t>* code) {
  if (finding.hazard == nullptr) return AppendWait(finding.counter, finding.count, isa, code);
  switch (finding.hazard->cure) {
    case Cure::kNop:
      AppendNops(finding.nops, code);
      break;
    case Cure::kVNop:
      for (int i = 0; i < finding.nops; ++i) AppendWord(0x7e000000, code);  // VOP1, opcode 0.
      break;
    case Cure::kVMov:
      // VOP1, opcode 1: vdst 24:17, src0 8:0.
      AppendWord(0x7e000200 | uint32_t{finding.vgpr} << 17 | 256 | finding.vgpr, code);
      break;
    case Cure::kVaVdst0:
    case Cure::kSdst0:
      AppendWord(Sopp(8, finding.wait), code);
      break;
  }
}

}  // namespace

std::vector<HazardFinding> CheckHazards(absl::Span<const uint8_t> code, Arch arch,
                                        const HazardOptions& options) {
  const Isa isa = IsaOf(arch);
  std::vector<HazardFinding> findings;
  HazardState state(isa, options);
  for (size_t at = 0; at < code.size();) {
    Inst inst;
    if (DecodeFast(code.subspan(at), isa, &inst) != DecodeError::kOk) {
      state = HazardState(isa, options);
      at += static_cast<size_t>(SkipBytes(code.subspan(at)));
      continue;
    }
    const Effects effects = EffectsOf(inst, isa, options.wave64);
    for (HazardFinding& finding : state.Need(inst, effects, at)) {
      findings.push_back(std::move(finding));
    }
    state.Execute(inst, effects, at);
    at += inst.size;
  }
  return findings;
}

absl::StatusOr<std::vector<uint8_t>> InsertWaits(absl::Span<const uint8_t> code, Arch arch,
                                                 const HazardOptions& options) {
  const Isa isa = IsaOf(arch);
  std::vector<Decoded> program;
  std::set<uint64_t> targets;
  for (size_t at = 0; at < code.size();) {
    Decoded& d = program.emplace_back();
    d.offset = at;
    if (DecodeFast(code.subspan(at), isa, &d.inst) != DecodeError::kOk) {
      return absl::InvalidArgumentError(absl::StrFormat("no instruction at 0x%x", at));
    }
    const std::string_view name = d.inst.form->name;
    for (const std::string_view computed : {"s_getpc", "s_call", "s_setpc", "s_swappc"}) {
      if (StartsWith(name, computed)) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "%s at 0x%x: distances in the code would change", d.inst.form->name, at));
      }
    }
    at += d.inst.size;
    if (GoesElsewhere(d.inst)) {
      const int words = static_cast<int16_t>(d.inst.operands[d.inst.num_operands - 1].value);
      targets.insert(at + static_cast<uint64_t>(4 * int64_t{words}));
    }
  }
  std::vector<uint8_t> out;
  std::map<uint64_t, uint64_t> moved;                   // From offsets to new ones.
  std::vector<std::pair<uint64_t, uint64_t>> branches;  // New offset, old target.
  HazardState state(isa, options);
  for (const Decoded& d : program) {
    moved[d.offset] = out.size();
    const bool branch = GoesElsewhere(d.inst);
    if (branch || targets.count(d.offset) != 0) {
      for (const Counter counter : state.Pending()) {
        AppendWait(counter, 0, isa, &out);
        state.WaitFor(counter, 0);
      }
    }
    const Effects effects = EffectsOf(d.inst, isa, options.wave64);
    int nops = 0;
    for (const HazardFinding& finding : state.Need(d.inst, effects, d.offset)) {
      if (finding.hazard != nullptr && finding.hazard->cure == Cure::kNop) {
        nops += finding.nops;
      } else {
        AppendCure(finding, isa, &out);
      }
    }
    AppendNops(nops, &out);
    state.Execute(d.inst, effects, d.offset);
    if (branch) {
      const int words = static_cast<int16_t>(d.inst.operands[d.inst.num_operands - 1].value);
      branches.emplace_back(out.size(),
                            d.offset + d.inst.size + static_cast<uint64_t>(4 * int64_t{words}));
    }
    const absl::Span<const uint8_t> bytes = code.subspan(d.offset, d.inst.size);
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  moved[code.size()] = out.size();
  for (const auto& [offset, target] : branches) {
    const auto found = moved.find(target);
    if (found == moved.end()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("a branch goes to 0x%x, where no instruction starts", target));
    }
    const int64_t words =
        (static_cast<int64_t>(found->second) - static_cast<int64_t>(offset) - 4) / 4;
    if (words < -32768 || words > 32767) {
      return absl::InvalidArgumentError(absl::StrFormat("the branch to 0x%x goes too far", target));
    }
    const uint16_t field = static_cast<uint16_t>(words);
    std::memcpy(out.data() + offset, &field, sizeof(field));
  }
  return out;
}

}  // namespace tg::amd
