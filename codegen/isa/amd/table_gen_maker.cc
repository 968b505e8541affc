#include "codegen/isa/amd/table_gen_maker.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace tg::amd::gen {

namespace {

std::string FormatId(const std::string& name) {
  std::string s = "k";
  for (size_t i = 0; i < name.size(); ++i) {
    s += i == 0 ? name[i] : static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return s;
}

// "op_sel=1101/4", "neg_lo=110": not every bit may be set.
bool IsPartial(const std::string& mod) {
  return StartsWith(mod, "op_sel=") || StartsWith(mod, "neg_lo=") || StartsWith(mod, "neg_hi=");
}

bool ContainsMod(const std::vector<std::string>& mods, const std::string& name) {
  return std::any_of(mods.begin(), mods.end(),
                     [&](const std::string& m) { return m.substr(0, m.find('=')) == name; });
}

}  // namespace

void Fix(const Range& r, uint64_t value, FormDraft* f) {
  for (int b = r.lo; b <= r.hi && b < 128; ++b) {
    uint64_t bit = 1ull << (b & 63);
    f->mask[b >> 6] |= bit;
    f->value[b >> 6] = (f->value[b >> 6] & ~bit) | ((value >> (b - r.lo) & 1) << (b & 63));
  }
}

void Free(const Bits& bits, FormDraft* f) {
  for (const Range& r : bits) {
    for (int b = r.lo; b <= r.hi && b < 128; ++b) {
      uint64_t bit = 1ull << (b & 63);
      f->mask[b >> 6] &= ~bit;
      f->value[b >> 6] &= ~bit;
    }
  }
}

void FreeAt(const std::string& position, FormDraft* f) {
  int b = std::atoi(position.c_str());
  Free({{b, b}}, f);
}

const Layout* Maker::FindLayout(const std::string& name, int isa) const {
  for (const Layout& l : tables_.layouts) {
    if (l.name == name && (l.isas >> isa & 1)) return &l;
  }
  return nullptr;
}

void Maker::Start(const Row& row, const Layout& layout, const Layout* overlay, FormDraft* f) {
  f->name = row.name;
  f->format = FormatId(layout.format);
  f->dwords = layout.dwords + (overlay != nullptr ? overlay->dwords : 0);
  f->key = layout.op;
  // Everything is fixed to zero until a field frees it.
  for (int b = 0; b < 32 * f->dwords && b < 128; ++b) f->mask[b >> 6] |= 1ull << (b & 63);
  for (const auto& [range, value] : layout.fixed) Fix(range, value, f);
  if (overlay != nullptr) {
    for (const auto& [range, value] : overlay->fixed) Fix(range, value, f);
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
  bool number = o.kind == "kImm" || o.kind == "kSmemOffset" || o.kind == "kUnused" ||
                StartsWith(t.cls, "lit");
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
    if (o.acc_at == "255") {  // RDNA.
      if (t.letters == "va") o.kind = "kVgpr";
      if (o.cls == "kVgprOrAcc") o.cls = "kVgpr";
    }
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
  const bool partial = IsPartial(text);
  if (partial) name = text.substr(0, text.find('='));
  if (name == "op_sel" && partial) {
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
    bool mix = sources == 3 && !ContainsMod(row.mods, "neg_lo") && !f->hide_op_sel_hi;
    if (name == "op_sel_hi") m.initial = mix ? 0 : (1u << sources) - 1;
  }
  if (layout.name == "vinterp" && name == "op_sel") f->op_sel_count = 4;
  if (layout.name == "vop3px2" && name == "op_sel") f->op_sel_count = 3;
  if (name == "index_key") m.field = {{11, 11}};
  if (name == "offset" && layout.fields.count("offset_signed") != 0) m.is_signed = true;
  if (name == "dst_sel" || name == "src0_sel" || name == "src1_sel") m.initial = 6;
  if (name == "dst_unused") m.initial = 0;
  if (name == "row_mask" || name == "bank_mask") m.initial = 15;
  if (partial) {
    const int low = m.field[0].lo;
    for (int i = 0; i <= m.field[0].hi - low; ++i) {
      if (text[name.size() + 1 + i] == '1') Free({{low + i, low + i}}, f);
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
    if (r.reads_m0) f.reads.insert("m0");
    f.family = FormatId(r.family);
    bool cdna = isa >= 3;
    int base = r.opcode_base;
    if (base == -1) base = cdna ? 320 : 384;  // VOP1 among VOP3.
    f.opcode = row.opcode[isa] + base;
    if (layout->op.hi >= 0) {
      if (f.opcode >> (layout->op.hi - layout->op.lo + 1) != 0)
        Fail(row.where + ": opcode too large");
      Fix(layout->op, static_cast<uint64_t>(f.opcode), &f);
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
    if (no_dst && layout->fields.count("dst_sel") != 0) Fix(layout->fields.at("dst_sel")[0], 6, &f);
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
      if (eq == std::string::npos || IsPartial(m)) {
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
    for (const auto& [bits, value] : forced) Fix(bits[0], value, &f);
    if (layout->name == "vop3p") {
      // op_sel_hi of operands that are not there or cannot choose is one.
      int sources = 0;
      for (const OperandDraft& o : f.operands) sources += StartsWith(o.field_name, "src");
      bool has = Contains(row.mods, "op_sel_hi") || Contains(row.mods, "~op_sel_hi");
      if (!has) Fix({60, 59}, 3, &f);
      if (!has || sources == 2) Fix({14, 14}, 1, &f);
      if (!ContainsMod(row.mods, "neg_lo") &&
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

}  // namespace tg::amd::gen
