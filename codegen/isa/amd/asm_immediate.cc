#include "codegen/isa/amd/asm_immediate.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/isa/amd/names.h"

namespace tg::amd::asm_internal {
namespace {

bool Fail(ParseError* error, const char* at, std::string message) {
  if (error->message.empty()) {
    error->at = at;
    error->message = std::move(message);
  }
  return false;
}

bool Expect(Cursor* cursor, char c, ParseError* error) {
  if (cursor->Take(c)) return true;
  return Fail(error, cursor->at, absl::StrCat("expected '", std::string(1, c), "'"));
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

// A name of the table, or a number up to `max`.
bool NameOrNumber(Cursor* cursor, SymbolSource* symbols, absl::Span<const Name> names,
                  const char* what, uint32_t max, uint32_t* value, ParseError* error) {
  const std::string_view word = cursor->PeekWord();
  if (!word.empty()) {
    if (const std::optional<uint32_t> named = ValueOf(names, word)) {
      cursor->at += word.size();
      cursor->SkipBlanks();
      *value = *named;
      return true;
    }
    const SymbolLookup symbol = symbols->Lookup(word);
    if (symbol.found != SymbolLookup::Found::kYes) {
      return Fail(error, cursor->at, absl::StrCat("no ", what, " is called ", std::string(word)));
    }
  }
  int64_t number = 0;
  if (!ParseKnownNumber(cursor, symbols, 0, max, what, &number, error)) return false;
  *value = static_cast<uint32_t>(number);
  return true;
}

bool Hwreg(Cursor* cursor, Isa isa, SymbolSource* symbols, int64_t* value, ParseError* error) {
  uint32_t id = 0;
  int64_t offset = 0;
  int64_t size = 32;
  const std::string_view word = cursor->PeekWord();
  std::optional<uint32_t> named;
  constexpr std::string_view kRegister = "HW_REG_";
  if (isa == Isa::kGfx12 && word.substr(0, kRegister.size()) == kRegister) {
    // The names of earlier generations, without WAVE_.
    named = ValueOf(HwregNames(isa),
                    absl::StrCat("HW_REG_WAVE_", std::string(word.substr(kRegister.size()))));
  }
  if (named) {
    id = *named;
    cursor->at += word.size();
    cursor->SkipBlanks();
  } else if (!NameOrNumber(cursor, symbols, HwregNames(isa), "hardware register", 63, &id, error)) {
    return false;
  }
  if (cursor->Take(',')) {
    if (!ParseKnownNumber(cursor, symbols, 0, 31, "bit offset", &offset, error) ||
        !Expect(cursor, ',', error) ||
        !ParseKnownNumber(cursor, symbols, 1, 32, "number of bits", &size, error)) {
      return false;
    }
  }
  *value = id | offset << 6 | (size - 1) << 11;
  return Expect(cursor, ')', error);
}

bool Sendmsg(Cursor* cursor, Isa isa, SymbolSource* symbols, int64_t* value, ParseError* error) {
  const uint32_t max = IsCdna(isa) ? 15 : 255;
  uint32_t message = 0;
  if (!NameOrNumber(cursor, symbols, MessageNames(isa), "message", max, &message, error))
    return false;
  uint32_t op = 0;
  int64_t stream = 0;
  if (cursor->Take(',')) {
    if (!NameOrNumber(cursor, symbols, MessageOps(message, isa), "operation of this message", 7,
                      &op, error)) {
      return false;
    }
    if (cursor->Take(',') && !ParseKnownNumber(cursor, symbols, 0, 3, "stream", &stream, error))
      return false;
  }
  *value = message | op << 4 | stream << 8;
  return Expect(cursor, ')', error);
}

// `name(number)` over and over, with &, comma or nothing between. A counter's `_sat` form takes
// numbers that are too large for the largest one.
bool Counters(Cursor* cursor, absl::Span<const CounterField> fields, uint32_t initial,
              SymbolSource* symbols, int64_t* value, ParseError* error) {
  uint32_t word = initial;
  do {
    const char* at = cursor->at;
    std::string_view name = cursor->Word();
    const bool saturate = absl::EndsWith(absl::string_view(name.data(), name.size()), "_sat");
    if (saturate) name.remove_suffix(4);
    const CounterField* field = nullptr;
    for (const CounterField& f : fields) {
      if (f.name == name) field = &f;
    }
    if (field == nullptr) {
      return Fail(error, at, absl::StrCat("there is no counter ", std::string(name), " here"));
    }
    cursor->SkipBlanks();
    int64_t number = 0;
    if (!Expect(cursor, '(', error) ||
        !ParseKnownNumber(cursor, symbols, 0, saturate ? 0x7fffffff : field->Max(),
                          std::string(name).c_str(), &number, error) ||
        !Expect(cursor, ')', error)) {
      return false;
    }
    const uint32_t clamped = number > field->Max() ? field->Max() : static_cast<uint32_t>(number);
    word = (word & ~field->Put(field->Max())) | field->Put(clamped);
    if (!cursor->Take('&')) cursor->Take(',');
  } while (Is(*cursor->at, kWordStart));
  *value = word;
  return true;
}

bool DelayAlu(Cursor* cursor, SymbolSource* symbols, int64_t* value, ParseError* error) {
  uint32_t word = 0;
  do {
    const char* at = cursor->at;
    const std::string_view name = cursor->Word();
    const bool skip = name == "instskip";
    if (!skip && name != "instid0" && name != "instid1") {
      return Fail(error, at, "expected instid0, instskip or instid1");
    }
    cursor->SkipBlanks();
    uint32_t number = 0;
    if (!Expect(cursor, '(', error) ||
        !NameOrNumber(cursor, symbols, skip ? DelaySkips() : DelayIds(),
                      skip ? "skip" : "dependency", skip ? 5 : 11, &number, error) ||
        !Expect(cursor, ')', error)) {
      return false;
    }
    word |= number << (skip ? 4 : name == "instid1" ? 7 : 0);
  } while (cursor->Take('|'));
  *value = word;
  return true;
}

bool ExportTarget(Cursor* cursor, int64_t* value) {
  constexpr std::string_view kInvalid = "invalid_target_";
  const std::string_view word = cursor->PeekWord();
  std::optional<uint32_t> number = ValueOf(ExportTargets(), word);
  if (!number && word.substr(0, kInvalid.size()) == kInvalid &&
      word.size() <= kInvalid.size() + 2) {
    uint32_t target = 0;
    for (const char c : word.substr(kInvalid.size()))
      target = target * 10 + static_cast<uint32_t>(c - '0');
    if (target < 64) number = target;
  }
  if (!number) return false;
  cursor->at += word.size();
  cursor->SkipBlanks();
  *value = *number;
  return true;
}

// "gpr_idx(SRC0,DST)": which operands of the following instructions are indexed.
bool GprIndexModes(Cursor* cursor, int64_t* value, ParseError* error) {
  constexpr Name kModes[] = {{1, "SRC0"}, {2, "SRC1"}, {4, "SRC2"}, {8, "DST"}};
  if (cursor->Take(')')) return true;
  do {
    const char* at = cursor->at;
    const std::optional<uint32_t> mode = ValueOf(kModes, cursor->Word());
    if (!mode) return Fail(error, at, "expected SRC0, SRC1, SRC2 or DST");
    cursor->SkipBlanks();
    *value |= *mode;
  } while (cursor->Take(','));
  return Expect(cursor, ')', error);
}

// "attr12.x": attribute and channel, which are two operands of the instruction.
bool Attribute(Cursor* cursor, int64_t* value, ParseError* error) {
  const char* at = cursor->at;
  const std::string_view word = cursor->Word();
  const size_t dot = word.find('.');
  if (word.substr(0, 4) != "attr" || dot == std::string_view::npos || dot < 5 || dot > 6 ||
      word.size() != dot + 2) {
    return Fail(error, at, "expected an attribute, for example attr0.x");
  }
  int64_t number = 0;
  for (const char c : word.substr(4, dot - 4)) {
    if (c < '0' || c > '9') return Fail(error, at, "expected an attribute, for example attr0.x");
    number = number * 10 + (c - '0');
  }
  const size_t channel = std::string_view("xyzw").find(word.back());
  if (channel == std::string_view::npos) return Fail(error, at, "the channel must be x, y, z or w");
  if (number > 32) return Fail(error, at, "there is no such attribute; the last one is attr32");
  cursor->SkipBlanks();
  *value = number | static_cast<int64_t>(channel) << 8;
  return true;
}

}  // namespace

bool ParseKnownNumber(Cursor* cursor, SymbolSource* symbols, int64_t low, int64_t high,
                      const char* what, int64_t* value, ParseError* error) {
  const char* at = cursor->at;
  // Most numbers are short and decimal.
  const char* p = at;
  int64_t small = 0;
  while (Is(*p, kDigit) && p - at < 6) small = small * 10 + (*p++ - '0');
  if (p != at && (*at != '0' || p == at + 1) &&
      (*p == ' ' || *p == '\n' || *p == ')' || *p == ',' || *p == ']') &&
      !(*p == ' ' && !Is(p[1], kWordStart))) {
    *value = small;
    cursor->at = p;
    cursor->SkipBlanks();
  } else {
    const ExpressionResult result = ParseExpression(cursor, symbols);
    if (result.state == ExpressionResult::State::kError)
      return Fail(error, result.error_at, result.error);
    if (result.state == ExpressionResult::State::kLater || result.value.places != 0) {
      return Fail(error, at, absl::StrCat("the ", what, " must be a number that is known here"));
    }
    *value = result.value.number;
  }
  if (*value < low || *value > high) {
    return Fail(error, at,
                absl::StrCat(what, " is ", *value, "; it must be from ", low, " to ", high));
  }
  return true;
}

bool ParseImmediate(Cursor* cursor, Isa isa, OperandClass cls, SymbolSource* symbols,
                    RawOperand* operand, ParseError* error) {
  int64_t value = 0;
  bool found = false;
  switch (cls) {
    case OperandClass::kHwreg:
      found = TakeCall(cursor, "hwreg");
      if (found) Hwreg(cursor, isa, symbols, &value, error);
      break;
    case OperandClass::kSendmsg:
      found = TakeCall(cursor, "sendmsg");
      if (found) Sendmsg(cursor, isa, symbols, &value, error);
      break;
    case OperandClass::kWaitcnt:
    case OperandClass::kDepctr: {
      // A word is a counter when a parenthesis follows; else it is a symbol.
      Cursor copy = *cursor;
      found = !copy.Word().empty();
      copy.SkipBlanks();
      found = found && *copy.at == '(';
      if (!found) break;
      const absl::Span<const CounterField> fields =
          cls == OperandClass::kWaitcnt ? WaitCounters(isa) : DependencyCounters();
      // Counters that are not named do not wait.
      uint32_t initial = 0;
      for (const CounterField& f : fields) initial |= f.Put(f.Max());
      Counters(cursor, fields, initial, symbols, &value, error);
      break;
    }
    case OperandClass::kDelayAlu: {
      const std::string_view word = cursor->PeekWord();
      found = word.substr(0, 4) == "inst";
      if (found) DelayAlu(cursor, symbols, &value, error);
      break;
    }
    case OperandClass::kExpTarget:
      found = ExportTarget(cursor, &value);
      break;
    case OperandClass::kAttr:
      found = cursor->PeekWord().substr(0, 4) == "attr";
      if (found) Attribute(cursor, &value, error);
      break;
    default:
      // s_set_gpr_idx_on's second operand looks like a source.
      found = *cursor->at == 'g' && TakeCall(cursor, "gpr_idx");
      if (found) GprIndexModes(cursor, &value, error);
      break;
  }
  if (!found) return false;
  operand->kind = RawOperand::Kind::kInteger;
  operand->integer = value;
  return true;
}

bool ParseSwizzle(Cursor* cursor, SymbolSource* symbols, uint32_t* offset, ParseError* error) {
  const char* at = cursor->at;
  if (!TakeCall(cursor, "swizzle")) return Fail(error, at, "expected swizzle(...)");
  const char* mode_at = cursor->at;
  const std::string_view mode = cursor->Word();
  cursor->SkipBlanks();
  const auto next = [&](int64_t low, int64_t high, const char* what, int64_t* value) {
    return Expect(cursor, ',', error) &&
           ParseKnownNumber(cursor, symbols, low, high, what, value, error);
  };
  // Modes and masks: DS_SWIZZLE_B32 in the manuals. Bitmask mode: and 4:0, or 9:5, xor 14:10.
  if (mode == "QUAD_PERM") {
    *offset = 0x8000;
    for (int i = 0; i < 4; ++i) {
      int64_t lane = 0;
      if (!next(0, 3, "lane", &lane)) return false;
      *offset |= static_cast<uint32_t>(lane) << (2 * i);
    }
  } else if (mode == "BITMASK_PERM") {
    if (!Expect(cursor, ',', error)) return false;
    if (*cursor->at != '"')
      return Fail(error, cursor->at, "expected five letters in quotes, of 0, 1, p, i");
    ++cursor->at;
    uint32_t and_mask = 0;
    uint32_t or_mask = 0;
    uint32_t xor_mask = 0;
    for (int bit = 4; bit >= 0; --bit, ++cursor->at) {
      const uint32_t mask = 1u << bit;
      switch (*cursor->at) {
        case '0':
          break;
        case '1':
          or_mask |= mask;
          break;
        case 'p':
          and_mask |= mask;
          break;
        case 'i':
          and_mask |= mask;
          xor_mask |= mask;
          break;
        default:
          return Fail(error, cursor->at, "expected five letters in quotes, of 0, 1, p, i");
      }
    }
    if (!Expect(cursor, '"', error)) return false;
    *offset = and_mask | or_mask << 5 | xor_mask << 10;
  } else if (mode == "BROADCAST") {
    int64_t group = 0;
    int64_t lane = 0;
    if (!next(2, 32, "group size", &group)) return false;
    if ((group & (group - 1)) != 0)
      return Fail(error, cursor->at, "the group size must be a power of two");
    if (!next(0, group - 1, "lane", &lane)) return false;
    *offset = static_cast<uint32_t>((32 - group) | lane << 5);
  } else if (mode == "SWAP" || mode == "REVERSE") {
    const bool swap = mode == "SWAP";
    int64_t group = 0;
    if (!next(swap ? 1 : 2, swap ? 16 : 32, "group size", &group)) return false;
    if ((group & (group - 1)) != 0)
      return Fail(error, cursor->at, "the group size must be a power of two");
    *offset = static_cast<uint32_t>(31 | (swap ? group : group - 1) << 10);
  } else if (mode == "FFT") {
    int64_t lanes = 0;
    if (!next(0, 31, "swizzle", &lanes)) return false;
    *offset = static_cast<uint32_t>(0xe000 | lanes);
  } else if (mode == "ROTATE") {
    int64_t direction = 0;
    int64_t distance = 0;
    if (!next(0, 1, "direction", &direction) || !next(0, 31, "distance", &distance)) return false;
    *offset = static_cast<uint32_t>(0xc000 | direction << 10 | distance << 5);
  } else {
    return Fail(error, mode_at,
                "expected QUAD_PERM, BITMASK_PERM, BROADCAST, SWAP, REVERSE, FFT or ROTATE");
  }
  return Expect(cursor, ')', error);
}

}  // namespace tg::amd::asm_internal
