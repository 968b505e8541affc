// Modifiers of memory instructions and exports. Order and names: LLVM 22.
#include <cstdint>
#include <string_view>

#include "codegen/isa/amd/names.h"
#include "codegen/isa/amd/print_text.h"

namespace tg::amd::internal {
namespace {

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
    if (v == kDefaultBufferFormat) return;
    *t += " format:";
    if (v > 63) {
      t->Decimal(v);
      return;
    }
    *t += '[';
    *t += NameOf(BufferFormats(), v);
    *t += ']';
    return;
  }
  uint32_t data = v & 15, number = v >> 4 & 7;
  if (data == 1 && number == 0) return;
  *t += " format:[";
  if (data != 1) {
    *t += NameOf(BufferDataFormats(), data);
  }
  if (number != 0) {
    if (data != 1) *t += ',';
    *t += NameOf(BufferNumFormats(), number);
  }
  *t += ']';
}

void PrintTemporalHint(const Inst& inst, Text* t) {
  uint32_t th = inst.Get(Mod::kTh), scope = inst.Get(Mod::kScope);
  if (th == 0) return;
  std::string_view name = inst.form->name;
  *t += " th:";
  if (name.find("atomic") != std::string_view::npos) {
    if ((th & 4) == 0) {
      *t += NameOf(TemporalHints(Access::kAtomic), th);
    } else if (scope >= 2) {
      *t += th & 2 ? "TH_ATOMIC_CASCADE_NT" : "TH_ATOMIC_CASCADE_RT";
    } else {
      *t += "TH_ATOMIC_";
      t->Hex(th);
    }
    return;
  }
  const bool store = name.find("store") != std::string_view::npos;
  if (th == kThBypass && scope == kScopeSys) {
    *t += store ? "TH_STORE_BYPASS" : "TH_LOAD_BYPASS";
    return;
  }
  const std::string_view hint = NameOf(TemporalHints(store ? Access::kStore : Access::kLoad), th);
  if (hint.empty()) {
    t->Hex(th);
  } else {
    *t += hint;
  }
}

void PrintCachePolicy(const Inst& inst, Text* t) {
  Flag(inst, Mod::kGlc, "glc", t);
  Flag(inst, Mod::kSlc, "slc", t);
  Flag(inst, Mod::kDlc, "dlc", t);
  Flag(inst, Mod::kSc0, "sc0", t);
  Flag(inst, Mod::kNt, "nt", t);
  Flag(inst, Mod::kSc1, "sc1", t);
  PrintTemporalHint(inst, t);
  if (const uint32_t scope = inst.Get(Mod::kScope); scope != 0) {
    *t += " scope:";
    *t += NameOf(Scopes(), scope);
  }
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
      if (uint32_t v = inst.Get(Mod::kDmask); v != 0) {
        *t += " dmask:";
        t->Hex(v);
      }
      if (f.Has(Mod::kDim)) {
        *t += " dim:SQ_RSRC_IMG_";
        *t += NameOf(ImageDims(), inst.Get(Mod::kDim));
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
