// Numbers with names (names.h). Source of when they are used: LLVM 22, AMDGPU assembly syntax, and
// what llvm-mc prints for each value.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "absl/types/span.h"
#include "codegen/isa/amd/names.h"
#include "codegen/isa/amd/print_text.h"

namespace tg::amd::internal {
namespace {

void PrintHwreg(uint32_t v, Isa isa, Text* t) {
  uint32_t id = v & 63, offset = v >> 6 & 31, size = (v >> 11 & 31) + 1;
  *t += "hwreg(";
  if (const std::string_view name = NameOf(HwregNames(isa), id); !name.empty()) {
    *t += name;
  } else {
    t->Decimal(id);
  }
  if (offset != 0 || size != 32) {
    *t += ", ";
    t->Decimal(offset);
    *t += ", ";
    t->Decimal(size);
  }
  *t += ')';
}

// Messages of CDNA have operations and streams.
bool PrintMessageCdna(uint32_t id, uint32_t op, uint32_t stream, Isa isa, Text* t) {
  const std::string_view name = NameOf(MessageNames(isa), id);
  if (name.empty()) return false;
  const absl::Span<const Name> ops = MessageOps(id, isa);
  const std::string_view op_name = NameOf(ops, op);
  const bool gs = id == 2 || id == 3;
  if (ops.empty() ? op != 0 : op_name.empty()) return false;
  if (gs && op == 0 && id == 2) return false;  // MSG_GS wants something done.
  if (stream != 0 && (!gs || op == 0)) return false;
  *t += "sendmsg(";
  *t += name;
  if (!ops.empty()) {
    *t += ", ";
    *t += op_name;
    if (gs && op != 0) {
      *t += ", ";
      t->Decimal(stream);
    }
  }
  *t += ')';
  return true;
}

void PrintSendmsg(uint32_t v, Isa isa, Text* t) {
  uint32_t id, op = 0, stream = 0, known;
  if (IsRdna(isa)) {
    id = v & 255;
    known = 255;
    if (const std::string_view name = NameOf(MessageNames(isa), id); !name.empty() && v <= 255) {
      *t += "sendmsg(";
      *t += name;
      *t += ')';
      return;
    }
  } else {
    id = v & 15;
    op = v >> 4 & 7;
    stream = v >> 8 & 3;
    known = 0x37f;
    if ((v & ~known) == 0 && PrintMessageCdna(id, op, stream, isa, t)) return;
  }
  if ((v & ~known) != 0) {
    t->Decimal(v);
    return;
  }
  *t += "sendmsg(";
  t->Decimal(id);
  *t += ", ";
  t->Decimal(op);
  *t += ", ";
  t->Decimal(stream);
  *t += ')';
}

// Counters that are not at their maximum, which waits for nothing; all of them where all are.
void PrintCounters(absl::Span<const CounterField> fields, uint32_t v, Text* t) {
  const bool all = std::all_of(fields.begin(), fields.end(),
                               [v](const CounterField& f) { return f.Get(v) == f.Max(); });
  bool space = false;
  for (const CounterField& f : fields) {
    const uint32_t value = f.Get(v);
    if (value == f.Max() && !all) continue;
    if (space) *t += ' ';
    space = true;
    *t += f.name;
    *t += '(';
    t->Decimal(value);
    *t += ')';
  }
}

void PrintDepctr(uint32_t v, Text* t) {
  if ((v & 0x60) != 0) {  // Bits that no counter has.
    t->Hex(v);
    return;
  }
  PrintCounters(DependencyCounters(), v, t);
}

void PrintDelayAlu(uint32_t v, Text* t) {
  uint32_t id0 = v & 15, skip = v >> 4 & 7, id1 = v >> 7 & 15;
  if (v == 0) {
    *t += '0';
    return;
  }
  if (id0 >= DelayIds().size() || id1 >= DelayIds().size() || skip >= DelaySkips().size() ||
      v >> 11 != 0) {
    t->Hex(v);
    return;
  }
  bool bar = false;
  auto part = [&](std::string_view what, absl::Span<const Name> names, uint32_t value) {
    if (value == 0) return;  // NO_DEP, SAME
    if (bar) *t += " | ";
    bar = true;
    *t += what;
    *t += '(';
    *t += NameOf(names, value);
    *t += ')';
  };
  part("instid0", DelayIds(), id0);
  part("instskip", DelaySkips(), skip);
  part("instid1", DelayIds(), id1);
}

void PrintGprIdx(uint32_t v, Text* t) {
  static const char* const kModes[] = {"SRC0", "SRC1", "SRC2", "DST"};
  if (v > 15) {
    t->Hex(v);
    return;
  }
  *t += "gpr_idx(";
  bool comma = false;
  for (int i = 0; i < 4; ++i) {
    if (!(v >> i & 1)) continue;
    if (comma) *t += ',';
    comma = true;
    *t += kModes[i];
  }
  *t += ')';
}

void PrintVersion(uint32_t v, Text* t) {
  const char* name = nullptr;
  switch (v & 255) {
    case 0:
      name = "UC_VERSION_GFX7";
      break;
    case 4:
      name = "UC_VERSION_GFX10";
      break;
    case 6:
      name = "UC_VERSION_GFX11";
      break;
    case 9:
      name = "UC_VERSION_GFX12";
      break;
  }
  if (v >> 8 != 0 || name == nullptr) {  // With flags, or no version at all.
    if (v <= 255) {
      t->Decimal(v);
    } else {
      t->Hex(v);
    }
    return;
  }
  *t += name;
}

void PrintTarget(uint32_t v, Text* t) {
  if (const std::string_view name = NameOf(ExportTargets(), v); !name.empty()) {
    *t += name;
  } else {
    *t += "invalid_target_";
    t->Decimal(v);
  }
}

}  // namespace

void PrintImm(OperandClass cls, int32_t value, const Inst& inst, Isa isa, Text* t) {
  uint32_t v = static_cast<uint32_t>(value);
  switch (cls) {
    case OperandClass::kImm:
    case OperandClass::kLabel:
    case OperandClass::kEndpgm:
      t->Decimal(value);
      break;
    case OperandClass::kAuto:
      if (v <= 64) {
        t->Decimal(v);
      } else {
        t->Hex(v);
      }
      break;
    case OperandClass::kHwreg:
      PrintHwreg(v, isa, t);
      break;
    case OperandClass::kSendmsg:
      PrintSendmsg(v, isa, t);
      break;
    case OperandClass::kWaitcnt:
      PrintCounters(WaitCounters(isa), v, t);
      break;
    case OperandClass::kDepctr:
      PrintDepctr(v, t);
      break;
    case OperandClass::kDelayAlu:
      PrintDelayAlu(v, t);
      break;
    case OperandClass::kGprIdx:
      PrintGprIdx(v, t);
      break;
    case OperandClass::kVersion:
      PrintVersion(v, t);
      break;
    case OperandClass::kAttr:
      *t += "attr";
      t->Decimal(v);
      break;
    case OperandClass::kAttrChan:
      *t += "xyzw"[v & 3];
      break;
    case OperandClass::kExpTarget:
      PrintTarget(v, t);
      break;
    case OperandClass::kSmemOffset:
      if (value < 0) {
        *t += '-';
        t->Hex(static_cast<uint32_t>(-value));
      } else {
        t->Hex(v);
      }
      break;
    default:
      t->Hex(v);
      break;
  }
  (void)inst;
}

}  // namespace tg::amd::internal
