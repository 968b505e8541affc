#include "codegen/isa/amd/table_gen_forms.h"

#include <algorithm>
#include <cctype>
#include <tuple>

namespace tg::amd::gen {
namespace {

bool SameBits(const Bits& a, const Bits& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](Range x, Range y) { return x.hi == y.hi && x.lo == y.lo; });
}

// op_sel_hi -> kOpSelHi
std::string Camel(const std::string& snake) {
  std::string s = "k";
  bool up = true;
  for (char c : snake) {
    if (c == '_') {
      up = true;
    } else {
      s += up ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      up = false;
    }
  }
  return s;
}

std::string FormatId(const std::string& name) {
  std::string s = "k";
  for (size_t i = 0; i < name.size(); ++i) {
    s += i == 0 ? name[i] : static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return s;
}

bool StartsWith(const std::string& s, const char* prefix) { return s.rfind(prefix, 0) == 0; }
bool Contains(const std::vector<std::string>& v, const std::string& s) {
  return std::find(v.begin(), v.end(), s) != v.end();
}

// "src0:x32.f32+na"
struct Token {
  std::string field, cls, type = "other";
  int bits = 0;  // The number in cls: width.
  std::string letters;
  std::string role;  // "kDst" where it is not what the field's name says; else empty.
  bool neg = false, abs = false, hidden = false;
};

Token ParseToken(const std::string& text, const std::string& where) {
  Token t;
  size_t colon = text.find(':');
  if (colon == std::string::npos) Fail(where + ": expected FIELD:CLASS: " + text);
  t.field = text.substr(0, colon);
  t.cls = text.substr(colon + 1);
  size_t plus = t.cls.find('+');
  if (plus != std::string::npos) {
    std::string m = t.cls.substr(plus + 1);
    t.neg = m.find('n') != std::string::npos;
    t.abs = m.find('a') != std::string::npos;
    t.hidden = m.find('h') != std::string::npos;
    if (m.find('r') != std::string::npos) t.role = "kDstSrc";
    if (m.find('s') != std::string::npos) t.role = "kSrc";
    t.cls.resize(plus);
  }
  size_t dot = t.cls.find('.');
  if (dot != std::string::npos) {
    t.type = t.cls.substr(dot + 1);
    t.cls.resize(dot);
  }
  size_t digit = t.cls.find_first_of("0123456789");
  t.letters = t.cls.substr(0, digit);
  if (digit != std::string::npos) t.bits = std::atoi(t.cls.c_str() + digit);
  return t;
}

// How a class of tables/README.md is encoded, and what it is to the public.
struct ClassInfo {
  const char* kind;
  const char* cls;
};

ClassInfo Classify(const Token& t, bool low_halves, bool field9, const std::string& where) {
  const std::string& l = t.letters;
  if (t.cls == "vcc32" || t.cls == "vcc64") return {"kVcc", "kVcc"};
  bool half = t.bits == 16;
  if (l == "v")
    return half ? ClassInfo{low_halves ? "kVgpr16Low" : "kVgpr16", "kVgpr16"}
                : ClassInfo{"kVgpr", "kVgpr"};
  if (l == "x")
    return half ? ClassInfo{low_halves ? "kSrc16Low" : "kSrc16", "kSrc16"}
                : ClassInfo{"kSrc", "kSrc"};
  if (l == "l") return {"kVgpr", "kVgpr"};
  if (l == "a") return {"kAcc", "kAcc"};
  if (l == "va") return {"kVgprAcc", "kVgprOrAcc"};
  if (l == "mva") return {"kSrcAccConst", "kSrcVgprOrConst"};
  if (l == "mv") return {"kSrcAccConst", "kSrcVgprOrConst"};
  if (l == "c" || l == "sl") return {"kSsrc", "kSsrc"};
  if (l == "s") return {"kSreg", "kSgpr"};
  if (l == "sbase") return {"kSbase", "kSgpr"};
  if (l == "srsrc") return {field9 ? "kSreg" : "kSrsrc", "kSgpr"};
  if (l == "soff") return {"kSoffset", "kSsrc"};
  if (l == "bufaddr") return {"kBufAddr", "kVgpr"};
  if (l == "exp") return {"kExpSrc", "kVgpr"};
  if (t.cls == "smemoff") return {"kSmemOffset", "kSmemOffset"};
  if (l == "bufdata") return {"kBufData", "kVgprOrAcc"};
  if (l == "imgdata") return {"kImgData", "kVgpr"};
  if (l == "imglast") return {"kImgLast", "kVgpr"};
  if (l == "mata") return {"kMatA", "kVgprOrAcc"};
  if (l == "matb") return {"kMatB", "kVgprOrAcc"};
  if (l == "imgaddr") return {"kImgAddr", "kVgpr"};
  if (l == "off") return {"kOff", "kOff"};
  if (t.cls == "m0") return {"kM0", "kM0"};
  if (t.cls == "lit32") return {"kLit32", "kLit32"};
  if (t.cls == "lit16") return {"kLit16", "kLit16"};
  static const std::map<std::string, const char*> kNumbers = {
      {"hex", "kHex"},          {"dec", "kImm"},         {"auto", "kAuto"},
      {"label", "kLabel"},      {"hwreg", "kHwreg"},     {"sendmsg", "kSendmsg"},
      {"waitcnt", "kWaitcnt"},  {"depctr", "kDepctr"},   {"delay", "kDelayAlu"},
      {"endpgm", "kEndpgm"},    {"attr", "kAttr"},       {"chan", "kAttrChan"},
      {"target", "kExpTarget"}, {"version", "kVersion"}, {"gpridx", "kGprIdx"},
      {"barrier", "kBarrier"}};
  auto it = kNumbers.find(t.cls);
  if (it == kNumbers.end()) Fail(where + ": unknown operand class " + t.cls);
  return {"kImm", it->second};
}

class Maker {
 public:
  explicit Maker(const Tables& tables) : tables_(tables) {}

  std::vector<FormDraft> Run() {
    for (const Row& row : tables_.rows) {
      if (row.family == "vopdx") {
        x_.push_back(&row);
      } else if (row.family == "vopdy") {
        y_.push_back(&row);
      } else {
        Expand(row);
      }
    }
    for (const Row* x : x_) {
      for (const Row* y : y_) Pair(*x, *y);
    }
    return std::move(forms_);
  }

 private:
  const Layout* FindLayout(const std::string& name, int isa) const {
    for (const Layout& l : tables_.layouts) {
      if (l.name == name && (l.isas >> isa & 1)) return &l;
    }
    return nullptr;
  }

  struct Request {
    std::string layout, overlay, suffix;
    std::vector<Token> operands;
    std::vector<std::string> mods;
    int opcode_base = 0;
    int image = 0;
    std::string atomic = "kNoAtomic";
    std::string family;
    bool literal = false;
    bool low_halves = false;
  };

  void Expand(const Row& row);
  void ExpandVop(const Row& row);
  void ExpandFlat(const Row& row);
  void ExpandSmem(const Row& row);
  void ExpandBuffer(const Row& row);
  void ExpandImage(const Row& row);
  void AddAccess(const Row& row, const Request& request, int isas);
  void Add(const Row& row, Request request, int isas);
  void Pair(const Row& x, const Row& y);
  void AddOperand(const Row& row, const Token& t, const Layout& layout, const Layout* overlay,
                  const Request& r, FormDraft* f);
  void AddMod(const Row& row, const std::string& text, const Layout& layout, const Layout* overlay,
              FormDraft* f);

  static void Cover(const Range& r, FormDraft* f, bool fixed, uint64_t value) {
    for (int b = r.lo; b <= r.hi && b < 128; ++b) {
      uint64_t bit = 1ull << (b & 63);
      if (fixed) {
        f->mask[b >> 6] |= bit;
        f->value[b >> 6] = (f->value[b >> 6] & ~bit) | ((value >> (b - r.lo) & 1) << (b & 63));
      } else {
        f->mask[b >> 6] &= ~bit;
        f->value[b >> 6] &= ~bit;
      }
    }
  }
  static void Free(const Bits& bits, FormDraft* f) {
    for (const Range& r : bits) Cover(r, f, false, 0);
  }
  static void FreeAt(const std::string& position, FormDraft* f) {
    int b = std::atoi(position.c_str());
    if (b < 128) Cover({b, b}, f, false, 0);
  }
  // Of an atomic: fixes the bit that asks for the value before, whatever it is called.
  static void AskForResult(bool result, Request* r) {
    r->atomic = result ? "kAtomicWithResult" : "kAtomicWithoutResult";
    for (const char* bit : {"sc0", "glc", "th0"}) {
      r->mods.push_back(std::string(bit) + (result ? "=1" : "=0"));
    }
  }
  void Start(const Row& row, const Layout& layout, const Layout* overlay, FormDraft* f);
  void Store(FormDraft f);

  const Tables& tables_;
  std::vector<const Row*> x_, y_;
  std::vector<FormDraft> forms_;
  size_t row_start_ = 0;
};

void Maker::Start(const Row& row, const Layout& layout, const Layout* overlay, FormDraft* f) {
  f->name = row.name;
  f->format = FormatId(layout.format);
  f->dwords = layout.dwords + (overlay != nullptr ? overlay->dwords : 0);
  f->key = layout.op;
  // Everything is fixed to zero until a field frees it.
  for (int b = 0; b < 32 * f->dwords && b < 128; ++b) f->mask[b >> 6] |= 1ull << (b & 63);
  for (const auto& [range, value] : layout.fixed) Cover(range, f, true, value);
  if (overlay != nullptr) {
    for (const auto& [range, value] : overlay->fixed) Cover(range, f, true, value);
  }
  for (const std::string& r : row.implicit) {
    (r[0] == 'r' ? f->reads : f->writes).insert(r.substr(2));
  }
}

void Maker::AddOperand(const Row& row, const Token& t, const Layout& layout, const Layout* overlay,
                       const Request& r, FormDraft* f) {
  OperandDraft o;
  o.field_name = t.field;
  o.name = t.field == "soffset_alt" ? "kSoffset" : Camel(t.field);
  o.type = Camel(t.type);
  o.dwords = t.bits > 32 ? t.bits / 32 : t.bits > 0 ? 1 : 0;
  if (t.letters == "imglast") o.dwords = t.bits / 32;
  const std::map<std::string, Bits>* fields = &layout.fields;
  auto it = fields->find(t.field);
  if (overlay != nullptr && overlay->fields.count(t.field) != 0) {
    it = overlay->fields.find(t.field);
  }
  bool needs_field =
      t.letters != "off" && !StartsWith(t.cls, "vcc") && t.cls != "m0" && !StartsWith(t.cls, "lit");
  if (needs_field) {
    if (it == fields->end())
      Fail(row.where + ": layout " + layout.name + " has no field " + t.field);
    o.field = it->second;
    Free(o.field, f);
  }
  int width = 0;
  for (const Range& range : o.field) width += range.hi - range.lo + 1;
  ClassInfo c = Classify(t, r.low_halves, width == 9, row.where);
  o.kind = c.kind;
  o.cls = c.cls;
  if (layout.fields.count("dst_sel") + layout.fields.count("sdst.sd") != 0) {  // SDWA
    if (StartsWith(t.field, "src") && needs_field) o.kind = "kSdwaSrc";
    if (t.field == "sdst" && needs_field) {
      o.kind = "kSdwaSdst";
      o.field.push_back(layout.fields.at("sdst.sd")[0]);
      Free(o.field, f);
    }
  }
  bool number = o.kind == "kImm" || o.kind == "kSmemOffset" || StartsWith(t.cls, "lit");
  o.role = !t.role.empty()                                              ? t.role
           : StartsWith(t.field, "vdst") || StartsWith(t.field, "sdst") ? "kDst"
           : number                                                     ? "kImm"
                                                                        : "kSrc";
  auto modifier = [&](const char* what) -> std::string {
    auto m = fields->find(t.field + "." + what);
    return m == fields->end() ? "255" : std::to_string(m->second[0].lo);
  };
  if (t.neg) {
    o.neg_at = modifier("neg");
    o.abs_at = t.abs ? modifier("abs") : "255";
    o.neg = o.neg_at != "255";
    FreeAt(o.neg_at, f);
    FreeAt(o.abs_at, f);
  } else if (o.kind == "kSdwaSrc") {
    o.sext_at = modifier("sext");
    o.sext = o.sext_at != "255";
    FreeAt(o.sext_at, f);
  }
  if (t.bits == 16 && (t.letters == "v" || t.letters == "x")) {
    o.half = true;
    if (!r.low_halves) o.high_at = modifier("high");
    FreeAt(o.high_at, f);
  }
  if (t.letters == "va" || t.letters == "mva" || t.letters == "bufdata" || t.letters == "mata" ||
      t.letters == "matb") {
    o.acc_at = modifier("acc");
    if (o.acc_at == "255" && t.letters == "va") o.kind = "kVgpr";
    FreeAt(o.acc_at, f);
  }
  o.hidden = t.hidden;
  f->operands.push_back(o);
}

void Maker::AddMod(const Row& row, const std::string& text, const Layout& layout,
                   const Layout* overlay, FormDraft* f) {
  std::string name = text;
  ModDraft m;
  if (name == "~op_sel_hi") {
    name = "op_sel_hi";
    f->hide_op_sel_hi = true;
  }
  if (StartsWith(text, "op_sel=")) {
    name = "op_sel";
    for (int i = 0; i < 4; ++i) f->op_sel_mask |= (text[7 + i] == '1') << i;
    f->op_sel_count = text[12] - '0';
  }
  auto it = layout.fields.find(name);
  if (overlay != nullptr && overlay->fields.count(name) != 0) it = overlay->fields.find(name);
  if (it == layout.fields.end())
    Fail(row.where + ": layout " + layout.name + " has no modifier " + name);
  m.field = it->second;
  // VOP1 selects the byte with the first operand's op_sel bits, the lower one first.
  if (name == "byte_sel" && row.family == "vop1") m.field = {{12, 12}, {11, 11}};
  if (name == "fi8") {
    name = "fi";
    m.bias = 1;
  }
  m.id = Camel(name);
  int sources = 0;
  for (const OperandDraft& o : f->operands) sources += StartsWith(o.field_name, "src");
  if (layout.name == "vop3p" &&
      (name == "op_sel" || name == "op_sel_hi" || name == "neg_lo" || name == "neg_hi")) {
    if (sources == 2) {
      // The third source's bits are not used; hardware wants its op_sel_hi set.
      if (name == "op_sel_hi") {
        m.field = {m.field[0]};
      } else {
        --m.field[0].hi;
      }
    }
    f->op_sel_count = sources;
    bool mix = sources == 3 && !Contains(row.mods, "neg_lo") && !f->hide_op_sel_hi;
    if (name == "op_sel_hi") m.initial = mix ? 0 : (1u << sources) - 1;
  }
  if (layout.name == "vinterp" && name == "op_sel") f->op_sel_count = 4;
  if (layout.name == "vop3px2" && name == "op_sel") f->op_sel_count = 3;
  if (name == "index_key") m.field = {{11, 11}};
  if (name == "offset" && layout.fields.count("offset_signed") != 0) m.is_signed = true;
  if (name == "dst_sel" || name == "src0_sel" || name == "src1_sel") m.initial = 6;
  if (name == "dst_unused") m.initial = 0;
  if (name == "row_mask" || name == "bank_mask") m.initial = 15;
  if (StartsWith(text, "op_sel=")) {
    for (int i = 0; i < 4; ++i) {
      if (f->op_sel_mask >> i & 1) Cover({11 + i, 11 + i}, f, false, 0);
    }
  } else {
    Free(m.field, f);
  }
  f->mods.push_back(m);
}

void Maker::Store(FormDraft f) {
  for (size_t i = row_start_; i < forms_.size(); ++i) {
    if (forms_[i].SameBut(f)) {
      forms_[i].isas |= f.isas;
      return;
    }
  }
  forms_.push_back(std::move(f));
}

void Maker::Add(const Row& row, Request r, int isas) {
  for (int isa = 0; isa < kIsas; ++isa) {
    if (!(isas >> isa & 1) || row.opcode[isa] < 0) continue;
    const Layout* layout = FindLayout(r.layout, isa);
    if (layout == nullptr) continue;
    const Layout* overlay = r.overlay.empty() ? nullptr : FindLayout(r.overlay, isa);
    if (!r.overlay.empty() && overlay == nullptr) continue;
    FormDraft f;
    Start(row, *layout, overlay, &f);
    f.isas = 1 << isa;
    f.mnemonic = row.name + r.suffix;
    f.image = r.image;
    f.atomic = r.atomic;
    f.family = FormatId(r.family);
    bool cdna = isa >= 3;
    int base = r.opcode_base;
    if (base == -1) base = cdna ? 320 : 384;  // VOP1 among VOP3.
    f.opcode = row.opcode[isa] + base;
    if (layout->op.hi >= 0) {
      if (f.opcode >> (layout->op.hi - layout->op.lo + 1) != 0)
        Fail(row.where + ": opcode too large");
      Cover(layout->op, &f, true, static_cast<uint64_t>(f.opcode));
    }
    f.extra = r.overlay == "dpp8" || layout->fields.count("dpp8")        ? "kDpp8"
              : r.overlay == "dpp16" || layout->fields.count("dpp_ctrl") ? "kDpp16"
              : layout->fields.count("src0_sel")                         ? "kSdwa"
                                                                         : "kNone";
    f.literal = r.literal && f.extra == "kNone";
    bool vop3 = layout->format == "VOP3" || layout->format == "VOP3SD" || layout->format == "VOP3P";
    if (vop3 && cdna) f.literal = false;
    for (const Token& t : r.operands) AddOperand(row, t, *layout, overlay, r, &f);
    std::vector<std::string> mods = r.mods;
    for (const Layout* l : {layout, overlay}) {
      if (l == nullptr) continue;
      for (const char* m :
           {"dpp_ctrl", "row_mask", "bank_mask", "bound_ctrl", "fi", "dpp8", "fi8"}) {
        if (l->fields.count(m) != 0) mods.push_back(m);
      }
    }
    bool no_dst = Contains(row.mods, "sdwa:nodst");
    if (no_dst && layout->fields.count("dst_sel") != 0)
      Cover(layout->fields.at("dst_sel")[0], &f, true, 6);
    if (layout->fields.count("src0_sel") != 0) {
      for (const char* m : {"dst_sel", "dst_unused", "src0_sel", "src1_sel"}) {
        if (layout->fields.count(m) == 0) continue;
        if (no_dst && StartsWith(m, "dst")) continue;
        if (std::string(m) == "src1_sel" && f.operands.size() < (r.family == "VOPC" ? 2u : 3u))
          continue;
        mods.push_back(m);
      }
    }
    std::vector<std::pair<Bits, uint64_t>> forced;
    for (const std::string& m : mods) {
      if (m == "cpol") {
        for (const char* c : {"glc", "slc", "dlc", "sc0", "nt", "sc1", "th", "scope", "nv"}) {
          if (layout->fields.count(c) != 0) AddMod(row, c, *layout, overlay, &f);
        }
        continue;
      }
      bool image = layout->fields.count("dmask") != 0;
      if (image && m.find('=') == std::string::npos && layout->fields.count(m) == 0) continue;
      size_t eq = m.find('=');
      if (eq == std::string::npos || StartsWith(m, "op_sel=")) {
        AddMod(row, m, *layout, overlay, &f);
        continue;
      }
      // A field that this form fixes: of a modifier, the initial value.
      auto it = layout->fields.find(m.substr(0, eq));
      if (it == layout->fields.end()) continue;
      uint64_t value = std::strtoull(m.c_str() + eq + 1, nullptr, 0);
      forced.emplace_back(it->second, value);
      for (ModDraft& d : f.mods) {
        bool result =
            it->first == "th0" && d.id == "kTh";  // The lowest bit of th: a result is wanted.
        if (result || d.id == Camel(it->first)) d.initial = static_cast<uint32_t>(value);
      }
    }
    for (const auto& [bits, value] : forced) Cover(bits[0], &f, true, value);
    if (layout->name == "vop3p") {
      // op_sel_hi of operands that are not there or cannot choose is one.
      int sources = 0;
      for (const OperandDraft& o : f.operands) sources += StartsWith(o.field_name, "src");
      bool has = Contains(row.mods, "op_sel_hi") || Contains(row.mods, "~op_sel_hi");
      if (!has) Cover({60, 59}, &f, true, 3);
      if (!has || sources == 2) Cover({14, 14}, &f, true, 1);
      if (!Contains(row.mods, "neg_lo") &&
          Contains(row.mods, "op_sel_hi")) {  // Mixed precision: modifiers of each operand.
        for (OperandDraft& o : f.operands) {
          if (!StartsWith(o.field_name, "src")) continue;
          int i = o.field_name[3] - '0';
          o.neg = true;
          o.neg_at = std::to_string(61 + i);
          o.abs_at = std::to_string(8 + i);
          FreeAt(o.neg_at, &f);
          FreeAt(o.abs_at, &f);
        }
      }
    }
    Store(std::move(f));
  }
}

void Maker::ExpandVop(const Row& row) {
  std::vector<Token> base;
  bool sd = false, compare = row.family == "vopc", any = false;
  for (const std::string& text : row.operands) {
    base.push_back(ParseToken(text, row.where));
    if (base.back().field == "sdst") sd = true;
    if (base.back().letters == "x" || base.back().letters == "mv" || base.back().letters == "c" ||
        StartsWith(base.back().cls, "lit"))
      any = true;
  }
  std::vector<std::string> mods;
  std::vector<std::string> dpp_vgprs;
  for (const std::string& m : row.mods) {
    if (m == "sdwa:nodst") continue;
    if (StartsWith(m, "dpp:")) {
      if (m.find("src1") != std::string::npos) dpp_vgprs.push_back("src1");
      if (m.find("src2") != std::string::npos) dpp_vgprs.push_back("src2");
    } else {
      mods.push_back(m);
    }
  }
  std::string upper = row.family;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  bool has_e64 = Contains(row.forms, "e64");
  bool matrix = (row.name.find("mfma") != std::string::npos && row.name != "v_mfma_ld_scale_b32") ||
                row.name.find("smfmac") != std::string::npos;
  for (const std::string& form : row.forms) {
    Request r;
    r.family = upper;
    bool wide = StartsWith(form, "e64");
    bool d8 = form.find("d8") != std::string::npos, d16 = form.find("d16") != std::string::npos;
    bool sdwa = form == "sdwa";
    r.low_halves = !wide;
    r.literal = any;
    int isas = sdwa ? kCdnaSet : (d8 || (wide && d16)) ? kRdnaSet : 31;
    for (Token t : base) {
      bool mask = !wide && (t.field == "sdst" || (t.field == "src2" && row.family == "vop2")) &&
                  t.letters == "s";
      if (mask && !(sdwa && compare)) t.cls = t.bits == 32 ? "vcc32" : "vcc64";
      if (!wide && t.field == "src1" && t.letters == "x" && !sdwa) t.letters = "v";
      if ((d8 || d16) && t.field == "src0") t.letters = "v";
      if ((d8 || d16) && Contains(dpp_vgprs, t.field)) t.letters = "v";
      if (sdwa && t.hidden) t.neg = t.abs = t.hidden = false;
      if (!wide && !d16 && !sdwa) t.neg = t.abs = false;
      if (!wide && StartsWith(t.field, "src2")) t.neg = t.abs = false;
      r.operands.push_back(t);
    }
    if (wide) {
      r.mods = mods;
      r.layout = matrix                    ? "mfma"
                 : row.family == "vop3p"   ? "vop3p"
                 : row.family == "vinterp" ? "vinterp"
                 : compare                 ? (sd ? "vop3c" : "vop3x")
                 : sd                      ? "vop3sd"
                                           : "vop3";
      r.overlay = d8 ? "dpp8" : d16 ? "dpp16" : "";
      r.opcode_base = row.family == "vop2" ? 256 : row.family == "vop1" ? -1 : 0;
      bool native = row.family == "vop3" || row.family == "vop3p" || row.family == "vinterp";
      r.suffix = d8 || d16 ? "_e64_dpp" : native ? "" : "_e64";
    } else {
      if (sdwa && !compare) {
        if (Contains(mods, "omod")) r.mods.push_back("omod");
        r.mods.push_back("clamp");
      }
      r.layout = row.family + (d8 ? "_dpp8" : d16 ? "_dpp16" : sdwa ? "_sdwa" : "");
      r.suffix = sdwa ? "_sdwa" : d8 || d16 ? (compare ? "" : "_dpp") : has_e64 ? "_e32" : "";
    }
    if (base.empty()) r.suffix.clear();
    Add(row, r, isas);
  }
}

namespace {

Token Make(const std::string& text) { return ParseToken(text, "table_gen"); }

}  // namespace

// FLAT, GLOBAL, SCRATCH: a form for each way to address; for atomics, with and without a result.
void Maker::ExpandFlat(const Row& row) {
  std::string kind = row.forms.empty() ? "" : row.forms[0];
  Token vdst, vdata;
  for (const std::string& text : row.operands) {
    Token t = ParseToken(text, row.where);
    (t.field == "vdst" ? vdst : vdata) = t;
  }
  struct Mode {
    const char* vaddr;  // Null: no field.
    const char* saddr;
    const char* fixed;
  };
  std::vector<Mode> modes;
  if (kind == "none") {
    modes = {{nullptr, nullptr, "saddr=0x7c"}};
  } else if (row.family == "flat") {
    modes = {{"vaddr:v64.u64", nullptr, ""}};
  } else if (kind == "addtid") {
    modes = {{nullptr, "off", "saddr=null"}, {nullptr, "saddr:s64.u64", ""}};
  } else if (row.family == "global") {
    modes = {{"vaddr:v64.u64", "off", "saddr=null"}, {"vaddr:v32.u32", "saddr:s64.u64", ""}};
  } else {
    modes = {{"off", "off", "saddr=null sve=0"},
             {"off", "saddr:s32.u32", "sve=0"},
             {"vaddr:v32.u32", "off", "saddr=null sve=1"},
             {"vaddr:v32.u32", "saddr:s32.u32", "sve=1"}};
  }
  bool atomic = kind == "atomic";
  for (int result = atomic ? 1 : 0; result >= 0; --result) {
    for (const Mode& mode : modes) {
      for (int set : {kRdnaSet, kCdnaSet}) {
        Request r;
        r.layout = row.family;
        r.family = row.family;
        for (char& c : r.family) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        if ((kind == "load") || (kind == "addtid" && !vdst.field.empty()) || result)
          r.operands.push_back(vdst);
        if (kind == "addtid" && !vdata.field.empty()) r.operands.push_back(vdata);
        if (mode.vaddr != nullptr) {
          r.operands.push_back(Make(std::string(mode.vaddr) == "off" ? "vaddr:off" : mode.vaddr));
        }
        if (kind == "store" || atomic) r.operands.push_back(vdata);
        if (mode.saddr != nullptr) {
          r.operands.push_back(Make(std::string(mode.saddr) == "off" ? "saddr:off" : mode.saddr));
        }
        r.mods = row.mods;
        std::string fixed = mode.fixed;
        if (fixed.find("saddr=null") != std::string::npos) {
          r.mods.push_back(set == kRdnaSet ? "saddr=0x7c" : "saddr=0x7f");
        } else if (fixed.find("saddr=") != std::string::npos) {
          r.mods.push_back("saddr=0x7c");
        }
        size_t sve = fixed.find("sve=");
        if (sve != std::string::npos) r.mods.push_back(fixed.substr(sve, 5));
        if (atomic) AskForResult(result != 0, &r);
        Add(row, r, set);
      }
    }
  }
}

// Adds a form of an instruction whose one data register is what its row's kind of access says: an
// atomic gives two forms, without a result and with one, which overwrites the data.
void Maker::AddAccess(const Row& row, const Request& request, int isas) {
  std::string kind = row.forms.empty() ? "" : row.forms[0];
  bool atomic = kind == "atomic";
  for (int result = 0; result <= (atomic ? 1 : 0); ++result) {
    Request r = request;
    for (Token& t : r.operands) {
      if (t.field != "vdata" && !(t.field == "sdata" && t.cls != "auto")) continue;
      t.role = atomic ? (result ? "kDstSrc" : "kSrc") : kind == "store" ? "kSrc" : "kDst";
    }
    if (atomic) AskForResult(result != 0, &r);
    Add(row, r, isas);
  }
}

// SMEM: the offset is a number, a register or both.
void Maker::ExpandSmem(const Row& row) {
  Request base;
  base.layout = "smem";
  base.family = "SMEM";
  base.mods = row.mods;
  for (const std::string& text : row.operands) {
    if (text == "smemoff") {
      base.operands.push_back(Make("offset:smemoff"));
    } else if (text == "length") {
      base.operands.push_back(Make("sdata:auto"));
    } else {
      base.operands.push_back(ParseToken(text, row.where));
    }
  }
  std::string kind = row.forms.empty() ? "" : row.forms[0];
  if (kind == "none" || kind == "prefetch") {
    AddAccess(row, base, 31);
    return;
  }
  Request number = base, reg = base, both = base, alt = base;
  number.operands.push_back(Make("offset:smemoff"));
  reg.operands.push_back(Make("soffset:s32.u32"));
  both.operands.push_back(Make("soffset:s32.u32"));
  both.mods.insert(both.mods.begin(), "offset");
  Request number_cdna = number, reg_cdna = reg, both_cdna = both;
  number.mods.push_back("soffset=0x7c");
  AddAccess(row, reg, 3);
  AddAccess(row, number, kRdnaSet);
  AddAccess(row, both, kRdnaSet);
  number_cdna.mods.push_back("imm=1");
  reg_cdna.mods.push_back("soffset_en=1");
  both_cdna.mods.push_back("imm=1");
  both_cdna.mods.push_back("soffset_en=1");
  AddAccess(row, number_cdna, kCdnaSet);
  AddAccess(row, reg_cdna, kCdnaSet);
  AddAccess(row, both_cdna, kCdnaSet);
  // The older way to name the register, in the place of the number.
  alt.operands.push_back(Make("soffset_alt:s32.u32"));
  AddAccess(row, alt, kCdnaSet);
}

// MUBUF and MTBUF; what loads into LDS has no data register.
void Maker::ExpandBuffer(const Row& row) {
  Request r;
  r.layout = row.family;
  r.family = row.family == "mubuf" ? "MUBUF" : "MTBUF";
  r.mods = row.mods;
  bool lds = Contains(r.mods, "lds");
  r.mods.erase(std::remove(r.mods.begin(), r.mods.end(), "lds"), r.mods.end());
  if (Contains(row.forms, "none")) {
    Add(row, r, 31);
    return;
  }
  for (const char* m : {"offen", "idxen", "offset"}) r.mods.insert(r.mods.begin(), m);
  Request into_lds = r;
  r.operands.push_back(ParseToken(row.operands[0], row.where));
  for (const char* t : {"vaddr:bufaddr32.u32", "srsrc:srsrc128.b128", "soffset:soff32.u32"}) {
    r.operands.push_back(Make(t));
    into_lds.operands.push_back(Make(t));
  }
  AddAccess(row, r, 31);
  if (lds) {
    into_lds.mods.push_back("lds");
    into_lds.mods.push_back("lds=1");
    Add(row, into_lds, 31);
  }
}

// What an image instruction's name says of its address, in the bits of FormData::image.
int ImageBits(const std::string& name) {
  int bits = 0;
  size_t at = name.find("sample");
  size_t length = 6;
  if (at == std::string::npos) {
    at = name.find("gather4");
    length = 7;
  }
  if (at == std::string::npos) {
    if (name.find("_mip") != std::string::npos) bits |= 4;
    if (name.find("resinfo") != std::string::npos) bits |= 4 | 32;
    return bits;
  }
  std::string rest = name.substr(at + length) + "_";
  auto has = [&](const char* part) {
    return rest.find(std::string("_") + part + "_") != std::string::npos;
  };
  bits += has("b") + has("c") + has("o");
  if (has("l") || has("cl")) bits |= 4;
  if (has("d")) bits |= 8;
  if (has("g16")) bits |= 16;
  return bits;
}

// MIMG has one address tuple or, with a third dword, up to five registers whose last is a tuple;
// VIMAGE five single registers; VSAMPLE four, the last a tuple.
void Maker::ExpandImage(const Row& row) {
  std::string kind = row.forms.empty() ? "load" : row.forms[0];
  Request base;
  base.family = row.family == "mimg" ? "MIMG" : row.family == "vimage" ? "VIMAGE" : "VSAMPLE";
  bool bvh = kind == "bvh";
  bool sampler = kind == "sample" || kind == "gather";
  base.image = bvh ? 64 : ImageBits(row.name);
  base.mods = {"a16", "tfe", "lwe", "d16", "dmask", "dim", "unorm", "r128", "cpol"};
  if (bvh) base.mods = {"a16", "dmask=15", "unorm=1", "r128=1"};
  Token data = Make(bvh                                  ? "vdata:v128.b32"
                    : kind == "gather" || kind == "msaa" ? "vdata:imgdata128.b32"
                                                         : "vdata:imgdata0.b32");
  auto finish = [&](Request r) {
    r.operands.push_back(Make(bvh ? "srsrc:srsrc128.b128" : "srsrc:srsrc256.b256"));
    if (sampler) r.operands.push_back(Make("samp:srsrc128.b128"));
    AddAccess(row, r, 31);
  };
  if (row.family == "mimg" && !bvh) {
    Request r = base;
    r.layout = "mimg";
    r.operands = {data, Make("vaddr:imgaddr0.b32")};
    finish(r);
  }
  if (bvh) {
    const char* node =
        row.name.find("64") != std::string::npos ? "vaddr0:v64.b64" : "vaddr0:v32.b32";
    Request r = base;
    r.layout = row.family == "mimg" ? "mimg_nsa" : row.family;
    r.operands = {data, Make(node), Make("vaddr1:v32.f32"), Make("vaddr2:v96.f32"),
                  Make("vaddr3:v96.f32")};
    Request packed = r;
    packed.mods.push_back("a16=1");
    r.mods.push_back("a16=0");
    r.operands.push_back(Make("vaddr4:v96.f32"));
    finish(r);
    finish(packed);
    if (row.family == "mimg") {  // All in one tuple.
      bool wide = row.name.find("64") != std::string::npos;
      Request whole = base;
      whole.layout = "mimg";
      whole.mods.push_back("a16=0");
      whole.operands = {data, Make(wide ? "vaddr:v384.b32" : "vaddr:v352.b32")};
      finish(whole);
      whole.mods.back() = "a16=1";
      whole.operands.back() = Make(wide ? "vaddr:v288.b32" : "vaddr:v256.b32");
      finish(whole);
    }
    return;
  }
  int most = row.family == "vsample" ? 4 : 5;
  for (int n = row.family == "mimg" ? 2 : 1; n <= most; ++n) {
    Request r = base;
    r.layout = row.family == "mimg" ? "mimg_nsa" : row.family;
    r.operands = {data};
    for (int i = 0; i + 1 < n; ++i)
      r.operands.push_back(Make("vaddr" + std::to_string(i) + ":v32.b32"));
    // The class's number is how many registers stand before it.
    r.operands.push_back(
        Make("vaddr" + std::to_string(n - 1) + ":imglast" + std::to_string(32 * (n - 1)) + ".b32"));
    finish(r);
  }
}

void Maker::Expand(const Row& row) {
  row_start_ = forms_.size();
  if ((StartsWith(row.family, "vop") && row.family != "vop3px2") || row.family == "vinterp") {
    ExpandVop(row);
    return;
  }
  if (row.family == "flat" || row.family == "global" || row.family == "scratch")
    return ExpandFlat(row);
  if (row.family == "smem") return ExpandSmem(row);
  if (row.family == "mimg" || row.family == "vimage" || row.family == "vsample")
    return ExpandImage(row);
  if (row.family == "mubuf" || row.family == "mtbuf") return ExpandBuffer(row);
  Request r;
  r.layout = row.family;
  for (const std::string& text : row.operands) {
    Token t = ParseToken(text, row.where);
    if (t.letters == "c") r.literal = true;
    r.operands.push_back(t);
  }
  std::string layout = row.family;
  // "[flat]" and the like may name the layout's format as family; scalar sections are their own.
  const Layout* any = nullptr;
  for (int isa = 0; isa < kIsas && any == nullptr; ++isa) any = FindLayout(layout, isa);
  if (any == nullptr) Fail(row.where + ": no layout " + layout);
  r.family = any->format;
  r.mods = row.mods;
  Add(row, r, 31);
}

void Maker::Pair(const Row& x, const Row& y) {
  row_start_ = forms_.size();
  for (int isa = 0; isa < kIsas; ++isa) {
    const Layout* layout = FindLayout("vopd", isa);
    if (layout == nullptr || x.opcode[isa] < 0 || y.opcode[isa] < 0) continue;
    FormDraft f;
    Start(x, *layout, nullptr, &f);
    f.isas = 1 << isa;
    f.mnemonic = x.name;
    f.name_y = f.mnemonic_y = y.name;
    f.family = "kVopd";
    f.opcode = x.opcode[isa] << 5 | y.opcode[isa];
    Cover(layout->op, &f, true, static_cast<uint64_t>(f.opcode));
    f.literal = true;
    Request r;
    r.low_halves = true;
    for (const Row* half : {&x, &y}) {
      for (const std::string& text : half->operands) {
        Token t = ParseToken(text, half->where);
        t.field += half == &x ? "x" : "y";
        AddOperand(*half, t, *layout, nullptr, r, &f);
        if (t.field == "vdsty") f.operands.back().kind = "kVdstY";
        f.operands.back().name.back() = half == &x ? 'X' : 'Y';
      }
      if (half == &x) f.split = static_cast<int>(f.operands.size());
    }
    Store(std::move(f));
  }
}

}  // namespace

bool OperandDraft::operator==(const OperandDraft& o) const {
  return std::tie(name, cls, role, type, kind, dwords, neg, sext, half, hidden, neg_at, abs_at,
                  sext_at, high_at, acc_at) ==
             std::tie(o.name, o.cls, o.role, o.type, o.kind, o.dwords, o.neg, o.sext, o.half,
                      o.hidden, o.neg_at, o.abs_at, o.sext_at, o.high_at, o.acc_at) &&
         SameBits(field, o.field);
}

bool ModDraft::operator==(const ModDraft& o) const {
  return id == o.id && bias == o.bias && is_signed == o.is_signed && initial == o.initial &&
         SameBits(field, o.field);
}

bool FormDraft::SameBut(const FormDraft& o) const {
  return std::tie(name, mnemonic, format, family, extra, name_y, dwords, opcode, literal, operands,
                  mods, reads, writes, op_sel_count, op_sel_mask, hide_op_sel_hi, image, atomic) ==
             std::tie(o.name, o.mnemonic, o.format, o.family, o.extra, o.name_y, o.dwords, o.opcode,
                      o.literal, o.operands, o.mods, o.reads, o.writes, o.op_sel_count,
                      o.op_sel_mask, o.hide_op_sel_hi, o.image, o.atomic) &&
         mask[0] == o.mask[0] && mask[1] == o.mask[1] && value[0] == o.value[0] &&
         value[1] == o.value[1];
}

std::vector<FormDraft> MakeForms(const Tables& tables) { return Maker(tables).Run(); }

}  // namespace tg::amd::gen
