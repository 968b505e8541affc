#include "codegen/isa/amd/asm_modifier.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "codegen/isa/amd/asm_immediate.h"
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

enum class Syntax : uint8_t {
  kFlag,    // name
  kNumber,  // name:number
  kBits,    // name:[0,1,...]
  kNames,   // name:NAME, of a table
  kDpp,     // A DPP control: name, or name:number
  kQuadPerm,
  kDpp8,
  kOmod,  // mul:2, div:2
  kDim,
  kTh,
  kFormat,
  kOffset,
  kBoundCtrl,
  kNeg,
};

struct Spelling {
  std::string_view name;
  Syntax syntax;
  Mod mod;
  int32_t low = 0;  // kNumber, kDpp: the number's range. kFlag: `high` is the value.
  int32_t high = 1;
  int32_t base = 0;  // kDpp: added to the number.
};

constexpr int32_t kMaxOffset = 0x7fffffff;

constexpr Spelling kSpellings[] = {
    {"clamp", Syntax::kFlag, Mod::kClamp},
    {"gds", Syntax::kFlag, Mod::kGds},
    {"glc", Syntax::kFlag, Mod::kGlc},
    {"slc", Syntax::kFlag, Mod::kSlc},
    {"dlc", Syntax::kFlag, Mod::kDlc},
    {"sc0", Syntax::kFlag, Mod::kSc0},
    {"sc1", Syntax::kFlag, Mod::kSc1},
    {"nt", Syntax::kFlag, Mod::kNt},
    {"nv", Syntax::kFlag, Mod::kNv},
    {"offen", Syntax::kFlag, Mod::kOffen},
    {"idxen", Syntax::kFlag, Mod::kIdxen},
    {"tfe", Syntax::kFlag, Mod::kTfe},
    {"lds", Syntax::kFlag, Mod::kLds},
    {"unorm", Syntax::kFlag, Mod::kUnorm},
    {"r128", Syntax::kFlag, Mod::kR128},
    {"a16", Syntax::kFlag, Mod::kA16},
    {"d16", Syntax::kFlag, Mod::kD16},
    {"lwe", Syntax::kFlag, Mod::kLwe},
    {"done", Syntax::kFlag, Mod::kDone},
    {"row_en", Syntax::kFlag, Mod::kRow},
    {"offset", Syntax::kOffset, Mod::kOffset, -kMaxOffset - 1, kMaxOffset},
    {"offset0", Syntax::kNumber, Mod::kOffset0, 0, 255},
    {"offset1", Syntax::kNumber, Mod::kOffset1, 0, 255},
    {"dmask", Syntax::kNumber, Mod::kDmask, 0, 15},
    {"cbsz", Syntax::kNumber, Mod::kCbsz, 0, 7},
    {"abid", Syntax::kNumber, Mod::kAbid, 0, 15},
    {"blgp", Syntax::kNumber, Mod::kBlgp, 0, 7},
    {"row_mask", Syntax::kNumber, Mod::kRowMask, 0, 15},
    {"bank_mask", Syntax::kNumber, Mod::kBankMask, 0, 15},
    {"fi", Syntax::kNumber, Mod::kFi, 0, 1},
    {"wait_exp", Syntax::kNumber, Mod::kWaitExp, 0, 7},
    {"wait_vdst", Syntax::kNumber, Mod::kWaitVdst, 0, 15},
    {"wait_va_vdst", Syntax::kNumber, Mod::kWaitVdst, 0, 15},
    {"wait_vm_vsrc", Syntax::kNumber, Mod::kWaitVmVsrc, 0, 1},
    {"byte_sel", Syntax::kNumber, Mod::kByteSel, 0, 3},
    {"index_key", Syntax::kNumber, Mod::kIndexKey, 0, 3},
    {"bitop3", Syntax::kNumber, Mod::kBitop3, 0, 255},
    {"bound_ctrl", Syntax::kBoundCtrl, Mod::kBoundCtrl},
    {"op_sel", Syntax::kBits, Mod::kOpSel, 0, 4},
    {"op_sel_hi", Syntax::kBits, Mod::kOpSelHi, 0, 3},
    {"neg_lo", Syntax::kBits, Mod::kNegLo, 0, 3},
    {"neg_hi", Syntax::kBits, Mod::kNegHi, 0, 3},
    {"neg", Syntax::kNeg, Mod::kBlgp, 0, 3},
    {"mul", Syntax::kOmod, Mod::kOmod},
    {"div", Syntax::kOmod, Mod::kOmod},
    {"quad_perm", Syntax::kQuadPerm, Mod::kDppCtrl},
    {"dpp8", Syntax::kDpp8, Mod::kDpp8},
    {"row_shl", Syntax::kDpp, Mod::kDppCtrl, 1, 15, 0x100},
    {"row_shr", Syntax::kDpp, Mod::kDppCtrl, 1, 15, 0x110},
    {"row_ror", Syntax::kDpp, Mod::kDppCtrl, 1, 15, 0x120},
    {"wave_shl", Syntax::kDpp, Mod::kDppCtrl, 1, 1, 0x12f},
    {"wave_rol", Syntax::kDpp, Mod::kDppCtrl, 1, 1, 0x133},
    {"wave_shr", Syntax::kDpp, Mod::kDppCtrl, 1, 1, 0x137},
    {"wave_ror", Syntax::kDpp, Mod::kDppCtrl, 1, 1, 0x13b},
    {"row_mirror", Syntax::kFlag, Mod::kDppCtrl, 0, 0x140},
    {"row_half_mirror", Syntax::kFlag, Mod::kDppCtrl, 0, 0x141},
    {"row_bcast", Syntax::kDpp, Mod::kDppCtrl, 15, 31, 0},
    {"row_share", Syntax::kDpp, Mod::kDppCtrl, 0, 15, 0x150},
    {"row_newbcast", Syntax::kDpp, Mod::kDppCtrl, 0, 15, 0x150},
    {"row_xmask", Syntax::kDpp, Mod::kDppCtrl, 0, 15, 0x160},
    {"dst_sel", Syntax::kNames, Mod::kDstSel},
    {"src0_sel", Syntax::kNames, Mod::kSrc0Sel},
    {"src1_sel", Syntax::kNames, Mod::kSrc1Sel},
    {"dst_unused", Syntax::kNames, Mod::kDstUnused},
    {"scope", Syntax::kNames, Mod::kScope},
    {"dim", Syntax::kDim, Mod::kDim},
    {"th", Syntax::kTh, Mod::kTh},
    {"format", Syntax::kFormat, Mod::kFormat},
};

const Spelling* FindSpelling(std::string_view name) {
  static const auto* const table = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, const Spelling*>();
    for (const Spelling& s : kSpellings)
      map->emplace(absl::string_view(s.name.data(), s.name.size()), &s);
    return map;
  }();
  const auto found = table->find(absl::string_view(name.data(), name.size()));
  return found == table->end() ? nullptr : found->second;
}

absl::Span<const Name> NamesOf(Mod mod) {
  switch (mod) {
    case Mod::kScope:
      return Scopes();
    case Mod::kDstUnused:
      return SdwaUnused();
    default:
      return SdwaSelects();
  }
}

class Reader {
 public:
  Reader(Cursor* cursor, Isa isa, SymbolSource* symbols, RawModifiers* out, ParseError* error)
      : cursor_(*cursor), isa_(isa), symbols_(symbols), out_(out), error_(error) {}

  bool Read(const Spelling& s) {
    switch (s.syntax) {
      case Syntax::kFlag:
        return Put(s.mod, static_cast<uint32_t>(s.high));
      case Syntax::kNumber:
        return Number(s, s.low, s.high) && Put(s.mod, static_cast<uint32_t>(number_));
      case Syntax::kDpp:
        return Dpp(s);
      case Syntax::kOffset:
        return Offset(s);
      case Syntax::kBoundCtrl:
        // Before RDNA 3 `bound_ctrl:0` was the spelling of what is now bound_ctrl:1.
        return Number(s, 0, 1) && Put(s.mod, IsCdna(isa_) ? 1 : static_cast<uint32_t>(number_));
      case Syntax::kOmod:
        if (!Number(s, 2, s.name == "mul" ? 4 : 2)) return false;
        if (number_ == 3) return Fail(error_, cursor_.at, "mul must be 2 or 4");
        return Put(s.mod, s.name == "div" ? 3 : static_cast<uint32_t>(number_) / 2);
      case Syntax::kBits:
      case Syntax::kNeg:
        return BitList(s);
      case Syntax::kQuadPerm:
      case Syntax::kDpp8:
        return Lanes(s);
      case Syntax::kNames:
        return Named(s, NamesOf(s.mod));
      case Syntax::kDim:
        return Dim(s);
      case Syntax::kTh:
        return Th(s);
      case Syntax::kFormat:
        return Format();
    }
    return false;
  }

 private:
  bool Put(Mod mod, uint32_t value) {
    if (out_->Has(mod)) {
      return Fail(error_, cursor_.at,
                  absl::StrCat("two modifiers set ", std::string(ModName(mod))));
    }
    out_->Set(mod, value);
    return true;
  }

  bool Colon() { return Expect(&cursor_, ':', error_); }

  bool Number(const Spelling& s, int64_t low, int64_t high) {
    return Colon() && ParseKnownNumber(&cursor_, symbols_, low, high, std::string(s.name).c_str(),
                                       &number_, error_);
  }

  bool Dpp(const Spelling& s) {
    if (!Number(s, s.low, s.high)) return false;
    if (s.name == "row_bcast") {
      if (number_ != 15 && number_ != 31)
        return Fail(error_, cursor_.at, "row_bcast must be 15 or 31");
      return Put(s.mod, number_ == 15 ? 0x142 : 0x143);
    }
    return Put(s.mod, static_cast<uint32_t>(s.base + number_));
  }

  bool Offset(const Spelling& s) {
    Cursor copy = cursor_;
    if (copy.Take(':') && copy.PeekWord() == "swizzle") {
      uint32_t offset = 0;
      cursor_ = copy;
      return ParseSwizzle(&cursor_, symbols_, &offset, error_) && Put(s.mod, offset);
    }
    return Number(s, s.low, s.high) && Put(s.mod, static_cast<uint32_t>(number_));
  }

  // Up to s.high bits, the first one in bit 0.
  bool BitList(const Spelling& s) {
    if (!Colon() || !Expect(&cursor_, '[', error_)) return false;
    uint32_t bits = 0;
    int count = 0;
    do {
      if (count == s.high) {
        return Fail(error_, cursor_.at,
                    absl::StrCat("at most ", s.high, " numbers can stand here"));
      }
      if (!ParseKnownNumber(&cursor_, symbols_, 0, 1, std::string(s.name).c_str(), &number_,
                            error_)) {
        return false;
      }
      bits |= static_cast<uint32_t>(number_) << count++;
    } while (cursor_.Take(','));
    if (s.mod == Mod::kOpSel) out_->op_sel_count = static_cast<uint8_t>(count);
    return Expect(&cursor_, ']', error_) && Put(s.mod, bits);
  }

  bool Lanes(const Spelling& s) {
    const bool quad = s.syntax == Syntax::kQuadPerm;
    if (!Colon() || !Expect(&cursor_, '[', error_)) return false;
    uint32_t lanes = 0;
    for (int i = 0; i < (quad ? 4 : 8); ++i) {
      if (i > 0 && !Expect(&cursor_, ',', error_)) return false;
      if (!ParseKnownNumber(&cursor_, symbols_, 0, quad ? 3 : 7, "lane", &number_, error_))
        return false;
      lanes |= static_cast<uint32_t>(number_) << (i * (quad ? 2 : 3));
    }
    return Expect(&cursor_, ']', error_) && Put(s.mod, lanes);
  }

  bool Named(const Spelling& s, absl::Span<const Name> names) {
    if (!Colon()) return false;
    const char* at = cursor_.at;
    const std::string_view word = cursor_.Word();
    cursor_.SkipBlanks();
    const std::optional<uint32_t> value = ValueOf(names, word);
    if (!value) return Fail(error_, at, absl::StrCat("unknown value of ", std::string(s.name)));
    return Put(s.mod, *value);
  }

  // "SQ_RSRC_IMG_2D", "2D" or a number.
  bool Dim(const Spelling& s) {
    constexpr std::string_view kPrefix = "SQ_RSRC_IMG_";
    if (!Colon()) return false;
    const char* at = cursor_.at;
    const char* end = at;
    while (Is(*end, kWordStart | kDigit)) ++end;
    std::string_view word(at, static_cast<size_t>(end - at));
    if (word.substr(0, kPrefix.size()) == kPrefix) word.remove_prefix(kPrefix.size());
    if (const std::optional<uint32_t> value = ValueOf(ImageDims(), word)) {
      cursor_.at = end;
      cursor_.SkipBlanks();
      return Put(s.mod, *value);
    }
    if (!Is(*at, kDigit)) return Fail(error_, at, "unknown image dimension");
    if (!ParseKnownNumber(&cursor_, symbols_, 0, 7, "dim", &number_, error_)) return false;
    return Put(s.mod, static_cast<uint32_t>(number_));
  }

  bool Th(const Spelling& s) {
    if (!Colon()) return false;
    const char* at = cursor_.at;
    if (Is(*at, kDigit)) {
      return ParseKnownNumber(&cursor_, symbols_, 0, 7, "th", &number_, error_) &&
             Put(s.mod, static_cast<uint32_t>(number_));
    }
    const std::string_view word = cursor_.Word();
    cursor_.SkipBlanks();
    if (word == "TH_DEFAULT") return Put(s.mod, 0);
    if (word == "TH_LOAD_BYPASS" || word == "TH_STORE_BYPASS") return Put(s.mod, kThBypass);
    if (word == "TH_STORE_RT_WB") return Put(s.mod, 3);  // Of LLVM 19.
    if (word == "TH_ATOMIC_CASCADE_RT") return Put(s.mod, 4);
    if (word == "TH_ATOMIC_CASCADE_NT") return Put(s.mod, 6);
    for (const Access access : {Access::kLoad, Access::kStore, Access::kAtomic}) {
      if (const std::optional<uint32_t> value = ValueOf(TemporalHints(access), word)) {
        return Put(s.mod, *value);
      }
    }
    // Values without a name: "TH_ATOMIC_0x5".
    if (word.size() > 3 && word.substr(word.size() - 3, 2) == "0x" && word.back() >= '0' &&
        word.back() <= '7') {
      return Put(s.mod, static_cast<uint32_t>(word.back() - '0'));
    }
    return Fail(error_, at, "unknown temporal hint");
  }

  bool Format() {
    if (!Colon()) return false;
    if (*cursor_.at != '[') {
      return ParseKnownNumber(&cursor_, symbols_, 0, 127, "format", &number_, error_) &&
             Put(Mod::kFormat, static_cast<uint32_t>(number_));
    }
    cursor_.Take('[');
    uint32_t format = IsCdna(isa_) ? kDefaultBufferFormat : 0;
    do {
      const char* at = cursor_.at;
      const std::string_view word = cursor_.Word();
      cursor_.SkipBlanks();
      if (IsRdna(isa_)) {
        const std::optional<uint32_t> value = ValueOf(BufferFormats(), word);
        if (!value) return Fail(error_, at, "unknown buffer format");
        format = *value;
      } else if (const std::optional<uint32_t> data = ValueOf(BufferDataFormats(), word)) {
        format = (format & 0x70) | *data;
      } else if (const std::optional<uint32_t> num = ValueOf(BufferNumFormats(), word)) {
        format = (format & 0x0f) | *num << 4;
      } else {
        return Fail(error_, at, "unknown buffer format");
      }
    } while (cursor_.Take(','));
    return Expect(&cursor_, ']', error_) && Put(Mod::kFormat, format);
  }

  Cursor& cursor_;
  const Isa isa_;
  SymbolSource* const symbols_;
  RawModifiers* const out_;
  ParseError* const error_;
  int64_t number_ = 0;
};

}  // namespace

bool ParseModifier(Cursor* cursor, Isa isa, SymbolSource* symbols, RawModifiers* modifiers,
                   ParseError* error) {
  Cursor copy = *cursor;
  const std::string_view word = copy.Word();
  if (word.empty()) return false;
  const Spelling* spelling = FindSpelling(word);
  if (spelling == nullptr) return false;
  if (modifiers->first == nullptr) modifiers->first = cursor->at;
  copy.SkipBlanks();
  *cursor = copy;
  return Reader(cursor, isa, symbols, modifiers, error).Read(*spelling);
}

}  // namespace tg::amd::asm_internal
