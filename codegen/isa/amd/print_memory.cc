// Modifiers of memory instructions and exports. Order and names: LLVM 22.
#include <cstdint>
#include <string_view>

#include "codegen/isa/amd/print_text.h"

namespace tg::amd::internal {
namespace {

// RDNA: buffer formats by number (RDNA3 ISA, "Buffer image format"); those of gfx12 are the same.
const char* const kFormats[] = {"INVALID",
                                "8_UNORM",
                                "8_SNORM",
                                "8_USCALED",
                                "8_SSCALED",
                                "8_UINT",
                                "8_SINT",
                                "16_UNORM",
                                "16_SNORM",
                                "16_USCALED",
                                "16_SSCALED",
                                "16_UINT",
                                "16_SINT",
                                "16_FLOAT",
                                "8_8_UNORM",
                                "8_8_SNORM",
                                "8_8_USCALED",
                                "8_8_SSCALED",
                                "8_8_UINT",
                                "8_8_SINT",
                                "32_UINT",
                                "32_SINT",
                                "32_FLOAT",
                                "16_16_UNORM",
                                "16_16_SNORM",
                                "16_16_USCALED",
                                "16_16_SSCALED",
                                "16_16_UINT",
                                "16_16_SINT",
                                "16_16_FLOAT",
                                "10_11_11_FLOAT",
                                "11_11_10_FLOAT",
                                "10_10_10_2_UNORM",
                                "10_10_10_2_SNORM",
                                "10_10_10_2_UINT",
                                "10_10_10_2_SINT",
                                "2_10_10_10_UNORM",
                                "2_10_10_10_SNORM",
                                "2_10_10_10_USCALED",
                                "2_10_10_10_SSCALED",
                                "2_10_10_10_UINT",
                                "2_10_10_10_SINT",
                                "8_8_8_8_UNORM",
                                "8_8_8_8_SNORM",
                                "8_8_8_8_USCALED",
                                "8_8_8_8_SSCALED",
                                "8_8_8_8_UINT",
                                "8_8_8_8_SINT",
                                "32_32_UINT",
                                "32_32_SINT",
                                "32_32_FLOAT",
                                "16_16_16_16_UNORM",
                                "16_16_16_16_SNORM",
                                "16_16_16_16_USCALED",
                                "16_16_16_16_SSCALED",
                                "16_16_16_16_UINT",
                                "16_16_16_16_SINT",
                                "16_16_16_16_FLOAT",
                                "32_32_32_UINT",
                                "32_32_32_SINT",
                                "32_32_32_FLOAT",
                                "32_32_32_32_UINT",
                                "32_32_32_32_SINT",
                                "32_32_32_32_FLOAT"};
// CDNA: data format and number format.
const char* const kDataFormats[] = {"INVALID",     "8",          "16",          "8_8",
                                    "32",          "16_16",      "10_11_11",    "11_11_10",
                                    "10_10_10_2",  "2_10_10_10", "8_8_8_8",     "32_32",
                                    "16_16_16_16", "32_32_32",   "32_32_32_32", "RESERVED_15"};
const char* const kNumberFormats[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                      "UINT",  "SINT",  "RESERVED_6", "FLOAT"};

void Flag(const Inst& inst, Mod m, std::string_view text, Text* t) {
  if (inst.Get(m) != 0) {
    *t += ' ';
    *t += text;
  }
}

void Number(std::string_view name, int64_t value, Text* t) {
  *t += ' ';
  *t += name;
  *t += ':';
  t->Decimal(value);
}

void PrintFormat(uint32_t v, Isa isa, Text* t) {
  if (IsRdna(isa)) {
    if (v == 1) return;
    *t += " format:";
    if (v > 63) {
      t->Decimal(v);
      return;
    }
    *t += "[BUF_FMT_";
    *t += kFormats[v];
    *t += ']';
    return;
  }
  uint32_t data = v & 15, number = v >> 4 & 7;
  if (data == 1 && number == 0) return;
  *t += " format:[";
  if (data != 1) {
    *t += "BUF_DATA_FORMAT_";
    *t += kDataFormats[data];
  }
  if (number != 0) {
    if (data != 1) *t += ',';
    *t += "BUF_NUM_FORMAT_";
    *t += kNumberFormats[number];
  }
  *t += ']';
}

void PrintTemporalHint(const Inst& inst, Text* t) {
  static const char* const kLoad[] = {"", "NT", "HT", "LU", "NT_RT", "RT_NT", "NT_HT", nullptr};
  static const char* const kStore[] = {"", "NT", "HT", "WB", "NT_RT", "RT_NT", "NT_HT", "NT_WB"};
  uint32_t th = inst.Get(Mod::kTh), scope = inst.Get(Mod::kScope);
  if (th == 0) return;
  std::string_view name = inst.form->name;
  *t += " th:";
  if (name.find("atomic") != std::string_view::npos) {
    *t += "TH_ATOMIC_";
    if (th & 4) {
      if (scope >= 2) {
        *t += th & 2 ? "CASCADE_NT" : "CASCADE_RT";
      } else {
        t->Hex(th);
      }
    } else {
      static const char* const kAtomic[] = {"", "RETURN", "NT", "NT_RETURN"};
      *t += kAtomic[th & 3];
    }
    return;
  }
  bool store = name.find("store") != std::string_view::npos;
  const char* hint = store ? kStore[th & 7] : kLoad[th & 7];
  if (th == 3 && scope == 3) hint = "BYPASS";
  if (hint == nullptr) {
    t->Hex(th);
    return;
  }
  *t += store ? "TH_STORE_" : "TH_LOAD_";
  *t += hint;
}

void PrintCachePolicy(const Inst& inst, Text* t) {
  Flag(inst, Mod::kGlc, "glc", t);
  Flag(inst, Mod::kSlc, "slc", t);
  Flag(inst, Mod::kDlc, "dlc", t);
  Flag(inst, Mod::kSc0, "sc0", t);
  Flag(inst, Mod::kNt, "nt", t);
  Flag(inst, Mod::kSc1, "sc1", t);
  PrintTemporalHint(inst, t);
  static const char* const kScopes[] = {"", " scope:SCOPE_SE", " scope:SCOPE_DEV",
                                        " scope:SCOPE_SYS"};
  *t += kScopes[inst.Get(Mod::kScope) & 3];
  Flag(inst, Mod::kNv, "nv", t);
}

// ds_swizzle_b32: the offset is a pattern (RDNA3 ISA, "DS_SWIZZLE_B32").
void PrintSwizzle(uint32_t v, Text* t) {
  if (v == 0) return;
  *t += " offset:";
  auto args = [&](std::string_view name, uint32_t a, uint32_t b, bool two) {
    *t += "swizzle(";
    *t += name;
    *t += ',';
    t->Decimal(a);
    if (two) {
      *t += ',';
      t->Decimal(b);
    }
    *t += ')';
  };
  if ((v & 0xff00) == 0x8000) {
    *t += "swizzle(QUAD_PERM";
    for (int i = 0; i < 4; ++i) {
      *t += ',';
      t->Decimal(v >> 2 * i & 3);
    }
    *t += ')';
    return;
  }
  if (v >= 0xe000) return args("FFT", v & 31, 0, false);
  if (v >= 0xc000) return args("ROTATE", v >> 10 & 1, v >> 5 & 31, true);
  if (v >> 15 != 0) {
    t->Decimal(v);
    return;
  }
  uint32_t and_mask = v & 31, or_mask = v >> 5 & 31, xor_mask = v >> 10 & 31;
  bool power = xor_mask != 0 && (xor_mask & (xor_mask - 1)) == 0;
  if (and_mask == 31 && or_mask == 0 && power) return args("SWAP", xor_mask, 0, false);
  if (and_mask == 31 && or_mask == 0 && xor_mask != 0 && ((xor_mask + 1) & xor_mask) == 0) {
    return args("REVERSE", xor_mask + 1, 0, false);
  }
  uint32_t group = (32 - and_mask) & 63;  // Masks that keep the high bits.
  if (group > 1 && (group & (group - 1)) == 0 && or_mask < group && xor_mask == 0) {
    return args("BROADCAST", group, or_mask, true);
  }
  *t += "swizzle(BITMASK_PERM,\"";
  for (int i = 4; i >= 0; --i) {
    bool a = and_mask >> i & 1, o = or_mask >> i & 1, x = xor_mask >> i & 1;
    bool zero = (o ? 1 : 0) ^ (x ? 1 : 0), one = ((a || o) ? 1 : 0) ^ (x ? 1 : 0);
    *t += zero == one ? (zero ? '1' : '0') : (one ? 'p' : 'i');
  }
  *t += "\")";
}

}  // namespace

void PrintMemoryMods(const Inst& inst, Isa isa, Text* t) {
  const Form& f = *inst.form;
  switch (f.format) {
    case Format::kDs:
      if (f.Has(Mod::kOffset)) {
        if (std::string_view(f.name) == "ds_swizzle_b32") {
          PrintSwizzle(inst.Get(Mod::kOffset), t);
        } else if (inst.Get(Mod::kOffset) != 0) {
          Number("offset", inst.Get(Mod::kOffset), t);
        }
      }
      if (uint32_t v = inst.Get(Mod::kOffset0); v != 0) Number("offset0", v, t);
      if (uint32_t v = inst.Get(Mod::kOffset1); v != 0) Number("offset1", v, t);
      Flag(inst, Mod::kGds, "gds", t);
      break;
    case Format::kSmem:
      if (f.Has(Mod::kOffset)) {
        *t += " offset:";
        int64_t v = inst.offset();
        if (v < 0) *t += '-';
        t->Hex(static_cast<uint64_t>(v < 0 ? -v : v));
      }
      PrintCachePolicy(inst, t);
      break;
    case Format::kFlat:
    case Format::kGlobal:
    case Format::kScratch:
      if (inst.offset() != 0) Number("offset", inst.offset(), t);
      PrintCachePolicy(inst, t);
      break;
    case Format::kMubuf:
    case Format::kMtbuf:
      if (f.Has(Mod::kFormat)) PrintFormat(inst.Get(Mod::kFormat), isa, t);
      Flag(inst, Mod::kIdxen, "idxen", t);
      Flag(inst, Mod::kOffen, "offen", t);
      if (inst.offset() != 0) Number("offset", inst.offset(), t);
      PrintCachePolicy(inst, t);
      Flag(inst, Mod::kTfe, "tfe", t);
      Flag(inst, Mod::kLds, "lds", t);
      break;
    case Format::kLdsdir:
      Number(isa == Isa::kGfx12 ? "wait_va_vdst" : "wait_vdst", inst.Get(Mod::kWaitVdst), t);
      if (f.Has(Mod::kWaitVmVsrc)) Number("wait_vm_vsrc", inst.Get(Mod::kWaitVmVsrc), t);
      break;
    case Format::kExp:
      Flag(inst, Mod::kDone, "done", t);
      Flag(inst, Mod::kRow, "row_en", t);
      break;
    case Format::kMimg:
    case Format::kVimage:
    case Format::kVsample: {
      static const char* const kDims[] = {"1D",       "2D",       "3D",      "CUBE",
                                          "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"};
      if (uint32_t v = inst.Get(Mod::kDmask); v != 0) {
        *t += " dmask:";
        t->Hex(v);
      }
      if (f.Has(Mod::kDim)) {
        *t += " dim:SQ_RSRC_IMG_";
        *t += kDims[inst.Get(Mod::kDim) & 7];
      }
      Flag(inst, Mod::kUnorm, "unorm", t);
      PrintCachePolicy(inst, t);
      Flag(inst, Mod::kR128, "r128", t);
      Flag(inst, Mod::kA16, "a16", t);
      Flag(inst, Mod::kTfe, "tfe", t);
      Flag(inst, Mod::kLwe, "lwe", t);
      Flag(inst, Mod::kD16, "d16", t);
      break;
    }
    default:
      break;
  }
}

}  // namespace tg::amd::internal
