// Memory and images: a form for each way to address, and for atomics with and without a result.
#include <algorithm>
#include <cctype>

#include "codegen/isa/amd/table_gen_maker.h"

namespace tg::amd::gen {

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

void Maker::AskForResult(bool result, Request* r) {
  r->atomic = result ? "kAtomicWithResult" : "kAtomicWithoutResult";
  for (const char* bit : {"sc0", "glc", "th0"}) {
    r->mods.push_back(std::string(bit) + (result ? "=1" : "=0"));
  }
}

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
    into_lds.reads_m0 = true;  // Where in LDS.
    Add(row, into_lds, 31);
  }
}

namespace {

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

}  // namespace

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
  // What atomics exchange with memory has 32 bits or more.
  if (kind == "atomic") base.mods.erase(std::find(base.mods.begin(), base.mods.end(), "d16"));
  if (bvh) base.mods = {"a16", "dmask=15", "unorm=1", "r128=1"};
  Token data = Make(bvh                                  ? "vdata:v128.b32"
                    : kind == "gather" || kind == "msaa" ? "vdata:imgdata128.b32"
                                                         : "vdata:imgdata0.b32");
  auto finish = [&](Request r, int unused) {
    r.operands.push_back(Make(bvh ? "srsrc:srsrc128.b128" : "srsrc:srsrc256.b256"));
    if (sampler) r.operands.push_back(Make("samp:srsrc128.b128"));
    // LLVM takes any bits in the addresses that an atomic of RDNA 4 has no use for.
    for (int i = unused; i < 4 && row.family == "vimage" && kind == "atomic"; ++i) {
      r.operands.push_back(Make("vaddr" + std::to_string(i) + ":unused"));
    }
    AddAccess(row, r, 31);
  };
  if (kind == "bvh8") {  // RDNA 4: the ray is moved into the instance.
    Request r = base;
    r.layout = row.family;
    r.image = 64;
    r.mods = {"dmask=15", "r128=1"};
    bool dual = row.name.find("dual") != std::string::npos;
    r.operands = {Make("vdata:v320.b32"),     Make("vaddr0:v64.b64"),
                  Make("vaddr1:v64.f32"),     Make("vaddr2:v96.f32+r"),
                  Make("vaddr3:v96.f32+r"),   Make(dual ? "vaddr4:v64.b32" : "vaddr4:v32.b32"),
                  Make("srsrc:srsrc128.b128")};
    AddAccess(row, r, 31);
    return;
  }
  if (row.family == "mimg" && !bvh) {
    Request r = base;
    r.layout = "mimg";
    r.operands = {data, Make("vaddr:imgaddr0.b32")};
    finish(r, 5);
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
    finish(r, 5);
    finish(packed, 5);
    if (row.family == "mimg") {  // All in one tuple.
      bool wide = row.name.find("64") != std::string::npos;
      Request whole = base;
      whole.layout = "mimg";
      whole.mods.push_back("a16=0");
      whole.operands = {data, Make(wide ? "vaddr:v384.b32" : "vaddr:v352.b32")};
      finish(whole, 5);
      whole.mods.back() = "a16=1";
      whole.operands.back() = Make(wide ? "vaddr:v288.b32" : "vaddr:v256.b32");
      finish(whole, 5);
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
    finish(r, n);
  }
}

}  // namespace tg::amd::gen
