// Numbers with names. Source of the names and of when they are used: LLVM 22, AMDGPU assembly
// syntax, and what llvm-mc prints for each value.
#include <cstdint>

#include "codegen/isa/amd/print_text.h"

namespace tg::amd::internal {
namespace {

const char* const kHwregGfx11[] = {nullptr,
                                   "MODE",
                                   "STATUS",
                                   "TRAPSTS",
                                   nullptr,
                                   "GPR_ALLOC",
                                   "LDS_ALLOC",
                                   "IB_STS",
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   "SH_MEM_BASES",
                                   nullptr,
                                   nullptr,
                                   "PERF_SNAPSHOT_PC_LO",
                                   "PERF_SNAPSHOT_PC_HI",
                                   "FLAT_SCR_LO",
                                   "FLAT_SCR_HI",
                                   nullptr,
                                   "HW_ID1",
                                   "HW_ID2",
                                   nullptr,
                                   nullptr,
                                   "PERF_SNAPSHOT_DATA",
                                   nullptr,
                                   "SHADER_CYCLES",
                                   nullptr,
                                   nullptr,
                                   nullptr};
const char* const kHwregGfx12[] = {nullptr,
                                   "WAVE_MODE",
                                   "WAVE_STATUS",
                                   nullptr,
                                   "WAVE_STATE_PRIV",
                                   "WAVE_GPR_ALLOC",
                                   "WAVE_LDS_ALLOC",
                                   "IB_STS",
                                   nullptr,
                                   nullptr,
                                   "PERF_SNAPSHOT_DATA",
                                   "PERF_SNAPSHOT_PC_LO",
                                   "PERF_SNAPSHOT_PC_HI",
                                   nullptr,
                                   nullptr,
                                   "PERF_SNAPSHOT_DATA1",
                                   "PERF_SNAPSHOT_DATA2",
                                   "WAVE_EXCP_FLAG_PRIV",
                                   "WAVE_EXCP_FLAG_USER",
                                   "WAVE_TRAP_CTRL",
                                   "WAVE_SCRATCH_BASE_LO",
                                   "WAVE_SCRATCH_BASE_HI",
                                   nullptr,
                                   "WAVE_HW_ID1",
                                   "WAVE_HW_ID2",
                                   nullptr,
                                   "WAVE_SCHED_MODE",
                                   nullptr,
                                   nullptr,
                                   "SHADER_CYCLES_LO",
                                   "SHADER_CYCLES_HI",
                                   "WAVE_DVGPR_ALLOC_LO",
                                   "WAVE_DVGPR_ALLOC_HI"};
const char* const kHwregCdna[] = {nullptr,
                                  "MODE",
                                  "STATUS",
                                  "TRAPSTS",
                                  "HW_ID",
                                  "GPR_ALLOC",
                                  "LDS_ALLOC",
                                  "IB_STS",
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  "SH_MEM_BASES",
                                  "TBA_LO",
                                  "TBA_HI",
                                  "TMA_LO",
                                  "TMA_HI",
                                  "XCC_ID",
                                  "SQ_PERF_SNAPSHOT_DATA",
                                  "SQ_PERF_SNAPSHOT_DATA1",
                                  "SQ_PERF_SNAPSHOT_PC_LO",
                                  "SQ_PERF_SNAPSHOT_PC_HI",
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr};

void PrintHwreg(uint32_t v, Isa isa, Text* t) {
  uint32_t id = v & 63, offset = v >> 6 & 31, size = (v >> 11 & 31) + 1;
  const char* const* names = isa == Isa::kGfx12 ? kHwregGfx12
                             : IsRdna(isa)      ? kHwregGfx11
                                                : kHwregCdna;
  *t += "hwreg(";
  if (id <= 32 && names[id] != nullptr) {
    *t += "HW_REG_";
    *t += names[id];
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

const char* MessageRdna(uint32_t id, Isa isa) {
  switch (id) {
    case 1:
      return "MSG_INTERRUPT";
    case 2:
      return "MSG_HS_TESSFACTOR";
    case 3:
      return "MSG_DEALLOC_VGPRS";
    case 5:
      return isa == Isa::kGfx12 ? nullptr : "MSG_STALL_WAVE_GEN";
    case 6:
      return isa == Isa::kGfx12 ? nullptr : "MSG_HALT_WAVES";
    case 9:
      return "MSG_GS_ALLOC_REQ";
    case 128:
      return "MSG_RTN_GET_DOORBELL";
    case 129:
      return "MSG_RTN_GET_DDID";
    case 130:
      return "MSG_RTN_GET_TMA";
    case 131:
      return "MSG_RTN_GET_REALTIME";
    case 132:
      return "MSG_RTN_SAVE_WAVE";
    case 133:
      return "MSG_RTN_GET_TBA";
    case 134:
      return "MSG_RTN_GET_TBA_TO_PC";
    case 135:
      return isa == Isa::kGfx12 ? "MSG_RTN_GET_SE_AID_ID" : nullptr;
    default:
      return nullptr;
  }
}

// Messages of CDNA have operations and streams.
bool PrintMessageCdna(uint32_t id, uint32_t op, uint32_t stream, Text* t) {
  static const char* const kNames[] = {nullptr,
                                       "MSG_INTERRUPT",
                                       "MSG_GS",
                                       "MSG_GS_DONE",
                                       "MSG_SAVEWAVE",
                                       "MSG_STALL_WAVE_GEN",
                                       "MSG_HALT_WAVES",
                                       "MSG_ORDERED_PS_DONE",
                                       "MSG_EARLY_PRIM_DEALLOC",
                                       "MSG_GS_ALLOC_REQ",
                                       "MSG_GET_DOORBELL",
                                       nullptr,
                                       nullptr,
                                       nullptr,
                                       nullptr,
                                       "MSG_SYSMSG"};
  static const char* const kGsOps[] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
  static const char* const kSysOps[] = {nullptr, "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD",
                                        nullptr, "SYSMSG_OP_TTRACE_PC"};
  if (kNames[id] == nullptr) return false;
  bool gs = id == 2 || id == 3, sys = id == 15;
  if (gs && (op > 3 || (id == 2 && op == 0) || (op == 0 && stream != 0))) return false;
  if (sys && (op > 4 || kSysOps[op] == nullptr || stream != 0)) return false;
  if (!gs && !sys && (op != 0 || stream != 0)) return false;
  *t += "sendmsg(";
  *t += kNames[id];
  if (gs || sys) {
    *t += ", ";
    *t += gs ? kGsOps[op] : kSysOps[op];
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
    if (const char* name = MessageRdna(id, isa); name != nullptr && v <= 255) {
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
    if ((v & ~known) == 0 && PrintMessageCdna(id, op, stream, t)) return;
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

void PrintWaitcnt(uint32_t v, Isa isa, Text* t) {
  uint32_t vm, exp, lgkm, lgkm_max;
  if (IsRdna(isa)) {
    vm = v >> 10 & 63;
    exp = v & 7;
    lgkm = v >> 4 & 63;
    lgkm_max = 63;
  } else {
    vm = (v & 15) | (v >> 14 & 3) << 4;
    exp = v >> 4 & 7;
    lgkm = v >> 8 & 15;
    lgkm_max = 15;
  }
  bool all = vm == 63 && exp == 7 && lgkm == lgkm_max;
  bool space = false;
  auto count = [&](const char* name, uint32_t value, uint32_t max) {
    if (value == max && !all) return;
    if (space) *t += ' ';
    space = true;
    *t += name;
    *t += '(';
    t->Decimal(value);
    *t += ')';
  };
  count("vmcnt", vm, 63);
  count("expcnt", exp, 7);
  count("lgkmcnt", lgkm, lgkm_max);
}

void PrintDepctr(uint32_t v, Text* t) {
  struct Counter {
    const char* name;
    int lo, bits;
  };
  static constexpr Counter kCounters[] = {{"depctr_hold_cnt", 7, 1}, {"depctr_sa_sdst", 0, 1},
                                          {"depctr_va_vdst", 12, 4}, {"depctr_va_sdst", 9, 3},
                                          {"depctr_va_ssrc", 8, 1},  {"depctr_va_vcc", 1, 1},
                                          {"depctr_vm_vsrc", 2, 3}};
  if ((v & 0x60) != 0) {
    t->Hex(v);
    return;
  }
  bool all = v == 0xff9f, space = false;
  for (const Counter& c : kCounters) {
    uint32_t max = (1u << c.bits) - 1, value = v >> c.lo & max;
    if (value == max && !all) continue;
    if (space) *t += ' ';
    space = true;
    *t += c.name;
    *t += '(';
    t->Decimal(value);
    *t += ')';
  }
}

void PrintDelayAlu(uint32_t v, Text* t) {
  static const char* const kIds[] = {nullptr,         "VALU_DEP_1",    "VALU_DEP_2",
                                     "VALU_DEP_3",    "VALU_DEP_4",    "TRANS32_DEP_1",
                                     "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1",
                                     "SALU_CYCLE_1",  "SALU_CYCLE_2",  "SALU_CYCLE_3"};
  static const char* const kSkips[] = {nullptr, "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};
  uint32_t id0 = v & 15, skip = v >> 4 & 7, id1 = v >> 7 & 15;
  if (v == 0) {
    *t += '0';
    return;
  }
  if (id0 > 11 || id1 > 11 || skip > 5 || v >> 11 != 0) {
    t->Hex(v);
    return;
  }
  bool bar = false;
  auto part = [&](const char* what, const char* name) {
    if (name == nullptr) return;
    if (bar) *t += " | ";
    bar = true;
    *t += what;
    *t += '(';
    *t += name;
    *t += ')';
  };
  part("instid0", kIds[id0]);
  part("instskip", kSkips[skip]);
  part("instid1", kIds[id1]);
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

void PrintTarget(uint32_t v, Isa isa, Text* t) {
  auto numbered = [&](const char* name, uint32_t i) {
    *t += name;
    t->Decimal(i);
  };
  if (v < 8) return numbered("mrt", v);
  if (v == 8) return void(*t += "mrtz");
  if (v >= 12 && v <= 16) return numbered("pos", v - 12);
  if (v == 20) return void(*t += "prim");
  if (v == 21 || v == 22) return numbered("dual_src_blend", v - 21);
  (void)isa;
  numbered("invalid_target_", v);
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
      PrintWaitcnt(v, isa, t);
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
      PrintTarget(v, isa, t);
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
