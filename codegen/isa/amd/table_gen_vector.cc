// Vector instructions: 32 bits, VOP3, both with DPP or SDWA words, pairs.
#include <cctype>

#include "codegen/isa/amd/table_gen_maker.h"

namespace tg::amd::gen {

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
    Fix(layout->op, static_cast<uint64_t>(f.opcode), &f);
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

}  // namespace tg::amd::gen
