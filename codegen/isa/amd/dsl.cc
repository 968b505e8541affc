#include "codegen/isa/amd/dsl.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "codegen/isa/amd/asm_match.h"
#include "codegen/isa/amd/asm_mnemonics.h"
#include "codegen/isa/amd/names.h"

namespace tg::amd::dsl {
namespace {

using asm_internal::RawOperand;

RawOperand Raw(const Argument& argument, Isa isa) {
  RawOperand raw;
  switch (argument.kind) {
    case Argument::Kind::kRegister:
      raw.kind = RawOperand::Kind::kRegister;
      raw.reg = argument.reg;
      raw.mods = argument.reg.mods;
      raw.reg.mods = 0;
      if (IsCdna(isa) && raw.reg.kind == OperandKind::kSpecial && raw.reg.code == code::kM0Rdna) {
        raw.reg.code = code::kM0Cdna;
      }
      break;
    case Argument::Kind::kInteger:
      raw.integer = argument.integer;
      break;
    case Argument::Kind::kFloat:
      raw.kind = RawOperand::Kind::kFloat;
      raw.real = argument.real;
      break;
    case Argument::Kind::kOff:
      raw.kind = RawOperand::Kind::kWord;
      raw.word = "off";
      break;
    case Argument::Kind::kLabel:
      raw.kind = RawOperand::Kind::kLater;
      break;
  }
  return raw;
}

}  // namespace

LabelArg::LabelArg(Label label) : argument(Emitter::ArgumentOf(label)) {}

Argument Emitter::ArgumentOf(Label label) {
  Argument argument;
  argument.kind = Argument::Kind::kLabel;
  argument.label = label.index_;
  return argument;
}

Emitter::Emitter(Arch arch, bool wave64) : arch_(arch), wave64_(wave64 || IsCdna(IsaOf(arch))) {}

Label Emitter::NewLabel() {
  labels_.push_back(-1);
  return Label(static_cast<int>(labels_.size()) - 1);
}

bool Emitter::Bind(Label label) {
  if (label.index_ < 0 || label.index_ >= static_cast<int>(labels_.size())) return false;
  if (labels_[label.index_] >= 0) return false;
  labels_[label.index_] = static_cast<int64_t>(bytes_.size());
  return true;
}

int64_t Emitter::Encoded(Waits waits) const {
  int64_t word = 0;
  const absl::Span<const CounterField> fields = WaitCounters(IsaOf(arch_));
  const int counts[] = {waits.vm, waits.exp, waits.lgkm};
  for (size_t i = 0; i < fields.size(); ++i) {
    const uint32_t max = fields[i].Max();
    // A count above the largest is one that is never reached.
    const uint32_t count = counts[i] < 0 ? max : std::min(static_cast<uint32_t>(counts[i]), max);
    word |= fields[i].Put(count);
  }
  return word;
}

EmitResult Emitter::Failed(const char* name, EmitResult result) {
  if (status_.ok()) {
    status_ = absl::FailedPreconditionError(absl::StrCat(
        name, " at byte ", bytes_.size(), ": ",
        result.operand >= 0 ? absl::StrCat("operand ", result.operand, ": ") : "", result.reason));
  }
  return result;
}

EmitResult Emitter::Emit(const char* name, std::initializer_list<Argument> arguments,
                         const Modifiers& modifiers) {
  return EmitAny(name, "", arguments, {}, modifiers);
}

EmitResult Emitter::Pair(const char* x, std::initializer_list<SourceArg> x_arguments, const char* y,
                         std::initializer_list<SourceArg> y_arguments) {
  Argument arguments[2][4];
  int counts[2] = {0, 0};
  const std::initializer_list<SourceArg>* const lists[] = {&x_arguments, &y_arguments};
  for (int i = 0; i < 2; ++i) {
    if (lists[i]->size() > 4)
      return Failed(x, {EncodeError::kOperandCount, -1, "too many operands"});
    for (const SourceArg& a : *lists[i]) arguments[i][counts[i]++] = a.argument;
  }
  return EmitAny(x, y, {arguments[0], static_cast<size_t>(counts[0])},
                 {arguments[1], static_cast<size_t>(counts[1])}, {});
}

EmitResult Emitter::EmitAny(const char* name, const char* second, absl::Span<const Argument> first,
                            absl::Span<const Argument> rest, const Modifiers& modifiers) {
  const Isa isa = IsaOf(arch_);
  const auto& mnemonics = asm_internal::Mnemonics::Of(isa);
  std::string_view mnemonic = name;
  std::string with_suffix;
  if (modifiers.encoding_ != Encoding::kShortest) {
    with_suffix = absl::StrCat(name, modifiers.encoding_ == Encoding::kE32 ? "_e32" : "_e64");
    mnemonic = with_suffix;
  }
  asm_internal::Choice choice;
  choice.forms = mnemonics.Find(mnemonic);
  if (choice.forms.empty()) {
    return Failed(name, {EncodeError::kNoInstruction, -1, "the processor has no such instruction"});
  }
  choice.exact = choice.forms[0]->name != mnemonic &&
                 choice.forms[0]->extra == choice.forms[choice.forms.size() - 1]->extra;
  choice.second = second;
  choice.first_count = first.size();
  RawOperand operands[kMaxOperands + 2];
  size_t count = 0;
  int label = -1;
  for (const absl::Span<const Argument> part : {first, rest}) {
    for (const Argument& argument : part) {
      if (count == kMaxOperands) {
        return Failed(name, {EncodeError::kOperandCount, -1, "too many operands"});
      }
      if (argument.kind == Argument::Kind::kLabel) {
        label = argument.label;
        if (label < 0 || label >= static_cast<int>(labels_.size())) {
          return Failed(name, {EncodeError::kOperandKind, static_cast<int>(count),
                               "the label was not made by this kernel"});
        }
      }
      operands[count++] = Raw(argument, isa);
    }
  }
  asm_internal::RawModifiers raw_modifiers;
  for (int i = 0; i < modifiers.count_; ++i) {
    raw_modifiers.Set(modifiers.items_[i].mod, modifiers.items_[i].value);
  }
  Inst inst;
  uint8_t bytes[kMaxInstBytes];
  const int64_t here = static_cast<int64_t>(bytes_.size());
  const asm_internal::Selected selected = asm_internal::SelectForm(
      choice, isa, wave64_, {operands, count}, raw_modifiers, here, &inst, bytes);
  using Outcome = asm_internal::Selected::Outcome;
  switch (selected.outcome) {
    case Outcome::kEncoded:
      break;
    case Outcome::kMismatch:
      return Failed(name, {selected.match.code, selected.match.operand, selected.match.reason});
    case Outcome::kNoSuchPair:
      return Failed(name, {EncodeError::kConstraint, -1, "the instructions do not make a pair"});
    case Outcome::kNeedsSecond:
      return Failed(name, {EncodeError::kConstraint, -1, "it is half of a pair"});
    case Outcome::kIsNoPair:
      return Failed(name, {EncodeError::kConstraint, -1, "it is not part of a pair"});
    case Outcome::kNoSuchEncoding:
      return Failed(name, {EncodeError::kModifier, -1, "no encoding takes these modifiers"});
  }
  if (label >= 0) branches_.push_back({static_cast<uint32_t>(here), label});
  bytes_.insert(bytes_.end(), bytes, bytes + selected.size);
  for (int i = 0; i < inst.num_operands; ++i) {
    const Operand& o = inst.operands[i];
    if (o.kind == OperandKind::kVgpr || o.kind == OperandKind::kAccVgpr) {
      next_vgpr_ = std::max(next_vgpr_, o.index() + o.dwords);
    } else if (o.kind == OperandKind::kSgpr) {
      next_sgpr_ = std::max(next_sgpr_, o.index() + o.dwords);
    }
  }
  return {};
}

absl::StatusOr<std::vector<uint8_t>> Emitter::Finish() const {
  if (!status_.ok()) return status_;
  std::vector<uint8_t> code = bytes_;
  for (const Branch& branch : branches_) {
    const int64_t target = labels_[branch.label];
    if (target < 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("the branch at byte ", branch.offset, " goes to a label that is not bound"));
    }
    const int64_t words = (target - branch.offset - 4) / 4;
    if (words < -32768 || words > 32767) {
      return absl::FailedPreconditionError(
          absl::StrCat("the branch at byte ", branch.offset, " goes too far"));
    }
    const uint16_t field = static_cast<uint16_t>(words);
    std::memcpy(code.data() + branch.offset, &field, sizeof(field));
  }
  return code;
}

}  // namespace tg::amd::dsl
