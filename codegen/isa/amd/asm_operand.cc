#include "codegen/isa/amd/asm_operand.h"

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "codegen/isa/amd/asm_immediate.h"

namespace tg::amd::asm_internal {
namespace {

using Kind = RawOperand::Kind;

bool Fail(ParseError* error, const char* at, std::string message) {
  if (error->message.empty()) {
    error->at = at;
    error->message = std::move(message);
  }
  return false;
}

enum : uint8_t { kOnRdna = 1, kOnCdna = 2, kOnAll = 3 };

struct NamedRegister {
  std::string_view name;
  uint16_t code;
  uint8_t dwords;
  uint8_t where;
};

// Codes: "Scalar source operands" of the RDNA 3 and CDNA 3 manuals. Where a name stands for a
// 64-bit address or its upper half the width is the instruction's business.
constexpr NamedRegister kNamed[] = {
    {"vcc", code::kVccLo, 2, kOnAll},
    {"vcc_lo", code::kVccLo, 1, kOnAll},
    {"vcc_hi", code::kVccHi, 1, kOnAll},
    {"exec", code::kExecLo, 2, kOnAll},
    {"exec_lo", code::kExecLo, 1, kOnAll},
    {"exec_hi", code::kExecHi, 1, kOnAll},
    {"m0", code::kM0Rdna, 1, kOnRdna},
    {"m0", code::kM0Cdna, 1, kOnCdna},
    {"null", code::kNullRdna, 1, kOnRdna},
    {"flat_scratch", code::kFlatScratchLo, 2, kOnCdna},
    {"flat_scratch_lo", code::kFlatScratchLo, 1, kOnCdna},
    {"flat_scratch_hi", code::kFlatScratchLo + 1, 1, kOnCdna},
    {"xnack_mask", code::kXnackMaskLo, 2, kOnCdna},
    {"xnack_mask_lo", code::kXnackMaskLo, 1, kOnCdna},
    {"xnack_mask_hi", code::kXnackMaskLo + 1, 1, kOnCdna},
    {"src_shared_base", code::kSrcSharedBase, 1, kOnAll},
    {"src_shared_limit", code::kSrcSharedLimit, 1, kOnAll},
    {"src_private_base", code::kSrcPrivateBase, 1, kOnAll},
    {"src_private_limit", code::kSrcPrivateLimit, 1, kOnAll},
    {"src_pops_exiting_wave_id", code::kSrcPopsExitingWaveId, 1, kOnAll},
    {"src_vccz", code::kSrcVccz, 1, kOnAll},
    {"src_execz", code::kSrcExecz, 1, kOnAll},
    {"src_scc", code::kSrcScc, 1, kOnAll},
    {"src_lds_direct", code::kSrcLdsDirect, 1, kOnAll},
    {"shared_base", code::kSrcSharedBase, 1, kOnAll},
    {"shared_limit", code::kSrcSharedLimit, 1, kOnAll},
    {"private_base", code::kSrcPrivateBase, 1, kOnAll},
    {"private_limit", code::kSrcPrivateLimit, 1, kOnAll},
    {"pops_exiting_wave_id", code::kSrcPopsExitingWaveId, 1, kOnAll},
    {"vccz", code::kSrcVccz, 1, kOnAll},
    {"execz", code::kSrcExecz, 1, kOnAll},
    {"scc", code::kSrcScc, 1, kOnAll},
    {"lds_direct", code::kSrcLdsDirect, 1, kOnAll},
};

enum class File : uint8_t { kNone, kVector, kScalar, kAcc, kTtmp };

// The register file that a word belongs to, and where its number starts.
File FileOf(std::string_view word, size_t* prefix) {
  *prefix = 1;
  switch (word[0]) {
    case 'v':
      return File::kVector;
    case 's':
      return File::kScalar;
    case 'a':
      // acc5 is an older spelling of a5.
      if (word.substr(0, 3) == "acc") *prefix = 3;
      return File::kAcc;
    case 't':
      *prefix = 4;
      return word.substr(0, 4) == "ttmp" ? File::kTtmp : File::kNone;
    default:
      return File::kNone;
  }
}

int CountOf(File file, Isa isa) {
  switch (file) {
    case File::kVector:
      return 256;
    case File::kScalar:
      return IsRdna(isa) ? 106 : 102;
    case File::kAcc:
      return IsCdna(isa) ? 256 : 0;
    case File::kTtmp:
      return 16;
    case File::kNone:
      break;
  }
  return 0;
}

const char* FileName(File file) {
  switch (file) {
    case File::kVector:
      return "v";
    case File::kScalar:
      return "s";
    case File::kAcc:
      return "a";
    case File::kTtmp:
      return "ttmp";
    case File::kNone:
      break;
  }
  return "";
}

bool MakeRegister(File file, int64_t first, int64_t last, Isa isa, const char* at, Operand* reg,
                  ParseError* error) {
  const int count = CountOf(file, isa);
  if (count == 0) {
    return Fail(error, at,
                absl::StrCat(std::string(IsaName(isa)), " has no registers ", FileName(file)));
  }
  if (first > last) return Fail(error, at, "the range's first register comes after its last");
  if (first < 0 || last >= count) {
    return Fail(error, at,
                absl::StrCat("there is no register ", FileName(file), first < 0 ? first : last,
                             "; the last one is ", FileName(file), count - 1));
  }
  const int dwords = static_cast<int>(last - first) + 1;
  if (dwords > 32) return Fail(error, at, "no operand spans more than 32 registers");
  const int index = static_cast<int>(first);
  switch (file) {
    case File::kVector:
      *reg = Vgpr(index, dwords);
      break;
    case File::kScalar:
      *reg = Sgpr(index, dwords);
      break;
    case File::kAcc:
      *reg = AccVgpr(index, dwords);
      break;
    case File::kTtmp:
      *reg = Ttmp(index, dwords);
      break;
    case File::kNone:
      return false;
  }
  return true;
}

bool ParseIndex(Cursor* cursor, SymbolSource* symbols, int64_t* index, ParseError* error) {
  // Nearly always up to three digits.
  const char* p = cursor->at;
  int small = 0;
  while (Is(*p, kDigit) && p - cursor->at < 3) small = small * 10 + (*p++ - '0');
  if (p != cursor->at && *cursor->at != '0' && (*p == ':' || *p == ']')) {
    cursor->at = p;
    *index = small;
    return true;
  }
  const ExpressionResult result = ParseExpression(cursor, symbols);
  if (result.state == ExpressionResult::State::kError) {
    return Fail(error, result.error_at, result.error);
  }
  if (result.state == ExpressionResult::State::kLater || result.value.places != 0) {
    return Fail(error, cursor->at, "a register's number must be known here");
  }
  *index = result.value.number;
  return true;
}

// Plain digits up to 4 of them; -1 for anything else.
int SmallNumber(std::string_view digits) {
  if (digits.empty() || digits.size() > 4) return -1;
  int value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// `[v0, v1]`, with the cursor behind the bracket: consecutive registers, as one.
bool ParseList(Cursor* cursor, Isa isa, SymbolSource* symbols, Operand* reg, ParseError* error) {
  const char* at = cursor->at;
  bool first = true;
  do {
    Operand next;
    if (!ParseRegister(cursor, isa, symbols, &next, error))
      return Fail(error, at, "expected a register");
    if (first) {
      *reg = next;
    } else if (next.kind != reg->kind || next.dwords != 1 || next.code != reg->code + reg->dwords ||
               reg->dwords >= 32) {
      return Fail(error, at, "the registers of a list must follow one another");
    } else {
      ++reg->dwords;
    }
    first = false;
  } while (cursor->Take(','));
  return cursor->Take(']') || Fail(error, cursor->at, "expected ']'");
}

// strtod reads words as "infinity" and hexadecimal floats, too; numbers here start with a digit.
bool ParseFloat(Cursor* cursor, RawOperand* operand) {
  const char* p = cursor->at;
  if (!Is(*p, kDigit)) return false;
  while (Is(*p, kDigit)) ++p;
  const bool exponent =
      (*p == 'e' || *p == 'E') && (Is(p[1], kDigit) || p[1] == '-' || p[1] == '+');
  if (*p != '.' && !exponent) return false;
  if (cursor->at[0] == '0' && (cursor->at[1] | 32) == 'x') return false;
  char* end = nullptr;
  operand->real = std::strtod(cursor->at, &end);
  cursor->at = end;
  operand->kind = Kind::kFloat;
  return true;
}

bool ParseNumberOperand(Cursor* cursor, SymbolSource* symbols, RawOperand* operand,
                        ParseError* error) {
  operand->expression = cursor->at;
  bool minus = false;
  if (*cursor->at == '-' && Is(cursor->at[1], kDigit)) {
    minus = true;
    ++cursor->at;
  }
  if (Is(*cursor->at, kDigit) && ParseFloat(cursor, operand)) {
    if (minus) operand->real = -operand->real;
    cursor->SkipBlanks();
    return true;
  }
  cursor->at = operand->expression;
  const ExpressionResult result = ParseExpression(cursor, symbols);
  switch (result.state) {
    case ExpressionResult::State::kError:
      return Fail(error, result.error_at, result.error);
    case ExpressionResult::State::kLater:
      operand->kind = Kind::kLater;
      break;
    case ExpressionResult::State::kValue:
      operand->kind = result.value.places != 0 ? Kind::kPlace : Kind::kInteger;
      operand->integer = result.value.number;
      break;
  }
  operand->relative = result.relative;
  return true;
}

bool WordsOnly(OperandClass cls) {
  return cls == OperandClass::kExpTarget || cls == OperandClass::kAttr ||
         cls == OperandClass::kAttrChan || cls == OperandClass::kLds;
}

// `name(`, with the parenthesis taken.
bool TakeCall(Cursor* cursor, std::string_view name) {
  Cursor copy = *cursor;
  if (copy.Word() != name) return false;
  copy.SkipBlanks();
  if (!copy.Take('(')) return false;
  *cursor = copy;
  return true;
}

}  // namespace

bool ParseRegister(Cursor* cursor, Isa isa, SymbolSource* symbols, Operand* reg,
                   ParseError* error) {
  const char* begin = cursor->at;
  if (*begin == '[') {
    Cursor copy = *cursor;
    copy.Take('[');
    if (!ParseList(&copy, isa, symbols, reg, error)) return false;
    *cursor = copy;
    return true;
  }
  Cursor copy = *cursor;
  std::string_view word = copy.Word();
  if (word.empty()) return false;
  size_t prefix = 0;
  const File file = FileOf(word, &prefix);
  if (file != File::kNone) {
    std::string_view number = word.substr(prefix);
    if (number.empty() && *copy.at == '[') {
      copy.Take('[');
      int64_t first = 0;
      if (!ParseIndex(&copy, symbols, &first, error)) return false;
      int64_t last = first;
      if (copy.Take(':') && !ParseIndex(&copy, symbols, &last, error)) return false;
      if (*copy.at != ']') return Fail(error, copy.at, "expected ']'");
      ++copy.at;
      if (!MakeRegister(file, first, last, isa, begin, reg, error)) return false;
      copy.SkipBlanks();
      *cursor = copy;
      return true;
    }
    uint8_t half = 0;
    if (file == File::kVector && number.size() > 2 && number[number.size() - 2] == '.') {
      const char c = number.back();
      half = c == 'l' ? kHalf : c == 'h' ? kHalf | kHigh : 0;
      if (half != 0) number.remove_suffix(2);
    }
    const int index = SmallNumber(number);
    if (index >= 0) {
      if (!MakeRegister(file, index, index, isa, begin, reg, error)) return false;
      reg->mods = half;
      copy.SkipBlanks();
      *cursor = copy;
      return true;
    }
  }
  const uint8_t where = IsRdna(isa) ? kOnRdna : kOnCdna;
  for (const NamedRegister& named : kNamed) {
    if (named.name == word && (named.where & where) != 0) {
      *reg = Special(named.code, named.dwords);
      copy.SkipBlanks();
      *cursor = copy;
      return true;
    }
  }
  return false;
}

bool ParseOperand(Cursor* cursor, Isa isa, OperandClass cls, SymbolSource* symbols,
                  RawOperand* operand, ParseError* error) {
  operand->begin = cursor->at;
  if (ParseImmediate(cursor, isa, cls, symbols, operand, error)) return error->message.empty();
  // Modifiers around the operand, outermost first.
  int parentheses = 0;
  bool bar = false;
  while (true) {
    const char c = *cursor->at;
    if (c == '-' && !bar && !Is(cursor->at[1], kDigit) && cursor->at[1] != '(') {
      operand->mods |= kNeg;
      cursor->Take('-');
    } else if (c == '|' && !bar) {
      operand->mods |= kAbs;
      bar = true;
      cursor->Take('|');
    } else if (c == 'n' && TakeCall(cursor, "neg")) {
      operand->mods |= kNeg;
      ++parentheses;
    } else if (c == 'a' && TakeCall(cursor, "abs")) {
      operand->mods |= kAbs;
      ++parentheses;
    } else if (c == 's' && TakeCall(cursor, "sext")) {
      operand->mods |= kSext;
      ++parentheses;
    } else if (c == 'l' && TakeCall(cursor, "lit")) {
      operand->force_literal = true;
      ++parentheses;
    } else {
      break;
    }
    if (parentheses > 8) return Fail(error, cursor->at, "too many modifiers");
  }
  if (ParseRegister(cursor, isa, symbols, &operand->reg, error)) {
    operand->kind = Kind::kRegister;
    operand->mods |= operand->reg.mods;
    operand->reg.mods = 0;
  } else if (!error->message.empty()) {
    return false;
  } else {
    const std::string_view word = cursor->PeekWord();
    if (!word.empty() && (word == "off" || WordsOnly(cls))) {
      operand->kind = Kind::kWord;
      operand->word = cursor->Word();
      cursor->SkipBlanks();
    } else if (bar) {
      // A bar would be an operator in an expression.
      operand->expression = cursor->at;
      const bool minus = cursor->Take('-');
      if (!ParseFloat(cursor, operand)) {
        const std::optional<uint64_t> number = ParseNumber(cursor);
        if (!number) return Fail(error, cursor->at, "expected a register or a number");
        operand->integer = static_cast<int64_t>(minus ? -*number : *number);
      } else if (minus) {
        operand->real = -operand->real;
      }
      cursor->SkipBlanks();
    } else if (!ParseNumberOperand(cursor, symbols, operand, error)) {
      return false;
    }
  }
  if (bar && !cursor->Take('|')) return Fail(error, cursor->at, "expected '|'");
  for (; parentheses > 0; --parentheses) {
    if (!cursor->Take(')')) return Fail(error, cursor->at, "expected ')'");
  }
  return true;
}

}  // namespace tg::amd::asm_internal
