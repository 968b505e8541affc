#include "codegen/isa/amd/asm.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/isa/amd/asm_state.h"
#include "codegen/isa/amd/encode.h"

namespace tg::amd {
namespace asm_internal {

Assembler::Assembler(std::string_view source, Arch arch, const AsmOptions& options)
    : source_(source),
      end_(source.data() + source.size()),
      arch_(arch),
      isa_(IsaOf(arch)),
      wave64_(options.wave64 || IsCdna(IsaOf(arch))),
      max_errors_(static_cast<size_t>(std::max(1, options.max_errors))),
      mnemonics_(Mnemonics::Of(IsaOf(arch))) {
  cursor_.at = source.data();
  // Most lines are longer than four times their code.
  out_.text.reserve(source.size() / 4 + 64);
}

Assembly Assembler::Run() && {
  while (cursor_.at < end_ && errors_.size() < max_errors_) Statement();
  for (const Fixup& fixup : fixups_) {
    if (errors_.size() >= max_errors_) break;
    fixup_here_ = fixup.here;
    ApplyFixup(fixup);
  }
  FinishSymbols();
  FinishKernels();
  // From places to lines, in the order of the text.
  std::stable_sort(errors_.begin(), errors_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const char* line_start = source_.data();
  uint32_t line = 1;
  for (auto& [at, message] : errors_) {
    while (true) {
      const char* newline = static_cast<const char*>(
          std::memchr(line_start, '\n', static_cast<size_t>(end_ - line_start)));
      if (newline == nullptr || newline >= at) break;
      line_start = newline + 1;
      ++line;
    }
    out_.errors.push_back({line, static_cast<uint32_t>(at - line_start) + 1, std::move(message)});
  }
  return std::move(out_);
}

void Assembler::Error(const char* at, std::string message) {
  if (errors_.size() < max_errors_) errors_.emplace_back(at, std::move(message));
}

// One statement, up to and with the line's end.
void Assembler::Statement() {
  cursor_.SkipBlanks();
  const char c = cursor_.Peek();
  if (c == '\n') {
    ++cursor_.at;
    return;
  }
  if (c == ';' || c == '#') {
    cursor_.SkipLine();
    ++cursor_.at;
    return;
  }
  if (c == '/' && cursor_.at[1] == '*') {
    // A comment over several lines.
    const std::string_view rest(cursor_.at, static_cast<size_t>(end_ - cursor_.at));
    const size_t close = rest.find("*/");
    if (close == std::string_view::npos) {
      Error(cursor_.at, "the comment is not closed");
      cursor_.at = end_;
    } else {
      cursor_.at += close + 2;
    }
    return;
  }
  const char* at = cursor_.at;
  const std::string_view word = cursor_.Word();
  if (word.empty()) {
    Error(at, "expected an instruction, a directive or a label");
  } else if (*cursor_.at == ':' && cursor_.at[1] != ':') {
    ++cursor_.at;
    Label(word, at);
    return;  // Something may follow on the line.
  } else {
    cursor_.SkipBlanks();
    if (*cursor_.at == '=' && cursor_.at[1] != '=') {
      cursor_.Take('=');
      Assign(word, at);
      ExpectEnd();
    } else if (word[0] == '.') {
      Directive(word, at);
    } else {
      Instruction(word, at);
    }
  }
  cursor_.SkipLine();
  ++cursor_.at;
}

void Assembler::ExpectEnd() {
  if (!cursor_.AtEnd()) Error(cursor_.at, "expected the end of the line");
}

void Assembler::Instruction(std::string_view mnemonic, const char* at) {
  const absl::Span<const Form* const> forms = mnemonics_.Find(mnemonic);
  if (forms.empty()) return UnknownMnemonic(mnemonic, at);
  if (section_ != Section::kText) return Error(at, "instructions go to .text");
  operands_.clear();
  modifiers_.Clear();
  if (!parse_error_.message.empty()) parse_error_ = ParseError();
  std::string_view second;
  size_t first_count = 0;
  if (!ParseOperands(forms, mnemonic.substr(0, 6) == "image_") || !ParseModifiers()) {
    return Error(parse_error_);
  }
  if (*cursor_.at == ':' && !ParseSecondHalf(&second, &first_count)) return Error(parse_error_);
  if (!cursor_.AtEnd()) return Error(cursor_.at, "expected ',', a modifier or the end of the line");
  MatchAndEmit(forms, mnemonic, at, second, first_count);
}

void Assembler::UnknownMnemonic(std::string_view mnemonic, const char* at) {
  std::string message = absl::StrCat("'", std::string(mnemonic), "' is no instruction of ",
                                     std::string(ArchName(arch_)));
  for (const Arch other :
       {Arch::kGfx1100, Arch::kGfx1150, Arch::kGfx1201, Arch::kGfx942, Arch::kGfx950}) {
    if (!Mnemonics::Of(IsaOf(other)).Find(mnemonic).empty()) {
      return Error(at, absl::StrCat(message, "; ", std::string(ArchName(other)), " has it"));
    }
  }
  const std::string nearest = mnemonics_.Nearest(mnemonic);
  if (!nearest.empty()) absl::StrAppend(&message, "; did you mean '", nearest, "'?");
  Error(at, std::move(message));
}

// `image`: brackets hold addresses, not one register made of several.
bool Assembler::ParseOperands(absl::Span<const Form* const> forms, bool image) {
  if (cursor_.AtEnd()) return true;
  const size_t begin = operands_.size();
  // Forms of a mnemonic agree on which operand has which syntax.
  const Form& form = *std::max_element(
      forms.begin(), forms.end(),
      [](const Form* a, const Form* b) { return a->num_operands < b->num_operands; })[0];
  if (form.num_operands == 0) return true;
  constexpr size_t kMaxRaw = 24;
  bool target = false;
  do {
    const size_t position = operands_.size() - begin;
    if (position >= kMaxRaw) {
      parse_error_ = {cursor_.at, "too many operands"};
      return false;
    }
    if (*cursor_.at == 'f' && cursor_.PeekWord() == "format") {
      // MTBUF's format may stand between operands.
      if (!ParseModifier(&cursor_, isa_, this, &modifiers_, &parse_error_)) return false;
      continue;
    }
    if (image && *cursor_.at == '[') {
      cursor_.Take('[');
      do {
        if (!ParseOperand(&cursor_, isa_, OperandClass::kVgpr, this, &operands_.emplace_back(),
                          &parse_error_)) {
          return false;
        }
      } while (cursor_.Take(',') && operands_.size() < kMaxRaw);
      if (!cursor_.Take(']')) {
        parse_error_ = {cursor_.at, "expected ']'"};
        return false;
      }
      continue;
    }
    const OperandClass cls =
        position < form.num_operands ? form.specs[position].cls : OperandClass::kHex;
    if (!ParseOperand(&cursor_, isa_, cls, this, &operands_.emplace_back(), &parse_error_))
      return false;
    // No comma comes behind an export's target.
    target = cls == OperandClass::kExpTarget && Is(*cursor_.at, kWordStart);
  } while (cursor_.Take(',') || target);
  return true;
}

bool Assembler::ParseModifiers() {
  while (Is(*cursor_.at, kWordStart)) {
    const char* at = cursor_.at;
    if (!ParseModifier(&cursor_, isa_, this, &modifiers_, &parse_error_)) {
      if (parse_error_.message.empty()) {
        parse_error_ = {at, absl::StrCat("'", std::string(cursor_.PeekWord()), "' is no modifier")};
      }
      return false;
    }
    if (*cursor_.at == ',') cursor_.Take(',');
  }
  return true;
}

// `:: v_dual_mul_f32 v3, v1, v2` behind the first half's operands.
bool Assembler::ParseSecondHalf(std::string_view* mnemonic, size_t* first_count) {
  const char* at = cursor_.at;
  if (at[1] != ':') {
    parse_error_ = {at, "expected '::'"};
    return false;
  }
  cursor_.at += 2;
  cursor_.SkipBlanks();
  *mnemonic = cursor_.Word();
  cursor_.SkipBlanks();
  *first_count = operands_.size();
  if (mnemonic->empty()) {
    parse_error_ = {cursor_.at, "expected the second instruction of the pair"};
    return false;
  }
  if (cursor_.AtEnd()) return true;
  do {
    if (!ParseOperand(&cursor_, isa_, OperandClass::kSrc, this, &operands_.emplace_back(),
                      &parse_error_)) {
      return false;
    }
  } while (cursor_.Take(',') && operands_.size() < 24);
  return true;
}

void Assembler::MatchAndEmit(absl::Span<const Form* const> forms, std::string_view mnemonic,
                             const char* at, std::string_view second, size_t first_count) {
  Choice choice;
  choice.forms = forms;
  // With a suffix all forms are of one kind, so the modifiers need not say.
  choice.exact = mnemonic != forms[0]->name && forms[0]->extra == forms.back()->extra;
  choice.second = second;
  choice.first_count = first_count;
  const int64_t here = static_cast<int64_t>(out_.text.size());
  Inst inst;
  uint8_t bytes[kMaxInstBytes];
  const Selected selected =
      SelectForm(choice, isa_, wave64_, operands_, modifiers_, here, &inst, bytes);
  const std::string name(mnemonic);
  switch (selected.outcome) {
    case Selected::Outcome::kEncoded:
      break;
    case Selected::Outcome::kMismatch:
      return ReportMismatch(selected.match, mnemonic, at);
    case Selected::Outcome::kNoSuchPair:
      return Error(second.data(),
                   absl::StrCat(name, " and ", std::string(second), " do not make a pair"));
    case Selected::Outcome::kNeedsSecond:
      return Error(at, absl::StrCat(name, " needs a second instruction behind '::'"));
    case Selected::Outcome::kIsNoPair:
      return Error(at, absl::StrCat(name, " is not part of a pair"));
    case Selected::Outcome::kNoSuchEncoding:
      return Error(modifiers_.first != nullptr ? modifiers_.first : at,
                   absl::StrCat(name, " has no encoding with these modifiers"));
  }
  out_.text.insert(out_.text.end(), bytes, bytes + selected.size);
  ++out_.instructions;
  CountRegisters(inst);
  const MatchResult& match = selected.match;
  if (match.label >= 0) {
    AddFixup(Fixup::Kind::kBranch, here, here, operands_[match.label].expression);
  } else if (match.literal >= 0) {
    AddFixup(Fixup::Kind::kLiteral, here + selected.size - 4, here,
             operands_[match.literal].expression);
  }
}

void Assembler::ReportMismatch(const MatchResult& result, std::string_view mnemonic,
                               const char* at) {
  const std::string name(mnemonic);
  if (result.about_modifier) {
    return Error(modifiers_.first,
                 absl::StrCat(name, " does not take ", std::string(ModName(result.modifier))));
  }
  if (result.operand >= 0 && result.operand < static_cast<int>(operands_.size())) {
    return Error(operands_[result.operand].begin,
                 absl::StrCat(name, ": operand ", result.operand + 1, ": ", result.reason));
  }
  Error(result.operand >= 0 ? cursor_.at : at, absl::StrCat(name, ": ", result.reason));
}

void Assembler::CountRegisters(const Inst& inst) {
  for (int i = 0; i < inst.num_operands; ++i) {
    const Operand& o = inst.operands[i];
    if (o.kind == OperandKind::kVgpr || o.kind == OperandKind::kAccVgpr) {
      next_vgpr_ = std::max(next_vgpr_, o.index() + o.dwords);
    } else if (o.kind == OperandKind::kSgpr) {
      next_sgpr_ = std::max(next_sgpr_, o.index() + o.dwords);
    }
  }
}

void Assembler::AddFixup(Fixup::Kind kind, size_t offset, int64_t here, const char* expression) {
  fixups_.push_back({kind, static_cast<uint32_t>(offset), static_cast<uint32_t>(here), expression});
}

void Assembler::ApplyFixup(const Fixup& fixup) {
  Cursor cursor{fixup.expression};
  const ExpressionResult result = ParseExpression(&cursor, this);
  if (result.state == ExpressionResult::State::kError) return Error(result.error_at, result.error);
  uint8_t* field = out_.text.data() + fixup.offset;
  int64_t value = result.value.number;
  if (fixup.kind == Fixup::Kind::kBranch) {
    if (result.value.places != 1) return Error(fixup.expression, "a branch goes to a label");
    const int64_t distance = value - fixup.offset - 4;
    if (distance % 4 != 0 || distance / 4 < -32768 || distance / 4 > 32767) {
      return Error(fixup.expression, "the label is too far away");
    }
    const uint16_t words = static_cast<uint16_t>(distance / 4);
    std::memcpy(field, &words, sizeof(words));
    return;
  }
  if (result.relative != ExpressionResult::Relative::kNo) {
    value -= fixup.offset;
    if (result.relative == ExpressionResult::Relative::kHigh) value >>= 32;
    value &= 0xffffffff;
  } else if (result.value.places != 0) {
    return Error(fixup.expression, "an address is not known before loading; take a distance");
  }
  const int width = fixup.kind == Fixup::Kind::kLiteral ? 4
                    : fixup.kind == Fixup::Kind::kData1 ? 1
                    : fixup.kind == Fixup::Kind::kData2 ? 2
                    : fixup.kind == Fixup::Kind::kData4 ? 4
                                                        : 8;
  if (width < 8 &&
      (value < -(int64_t{1} << (8 * width - 1)) || value >= int64_t{1} << (8 * width))) {
    return Error(fixup.expression,
                 absl::StrCat("the value ", value, " does not fit ", width, " bytes"));
  }
  std::memcpy(field, &value, static_cast<size_t>(width));
}

}  // namespace asm_internal

Assembly Assemble(std::string_view source, Arch arch, const AsmOptions& options) {
  if (!source.empty() && source.back() == '\n') {
    return asm_internal::Assembler(source, arch, options).Run();
  }
  std::string copy(source);
  copy += '\n';
  return asm_internal::Assembler(copy, arch, options).Run();
}

std::string FormatErrors(const Assembly& assembly, std::string_view source, std::string_view file) {
  std::string out;
  size_t start = 0;
  uint32_t line = 1;
  for (const AsmError& error : assembly.errors) {
    for (; line < error.line && start < source.size(); ++line) {
      const size_t newline = source.find('\n', start);
      start = newline == std::string_view::npos ? source.size() : newline + 1;
    }
    const std::string text(source.substr(start, source.substr(start).find('\n')));
    std::string caret;
    for (uint32_t i = 0; i + 1 < error.column; ++i) {
      caret += i < text.size() && text[i] == '\t' ? '\t' : ' ';
    }
    absl::StrAppend(&out, std::string(file), ":", error.line, ":", error.column,
                    ": error: ", error.message, "\n", text, "\n", caret, "^\n");
  }
  return out;
}

}  // namespace tg::amd
