// Branches, program counter, barriers, waits, messages and hardware registers.
//
// Sources: AMD RDNA3, RDNA4 and CDNA3 Instruction Set Architecture documents, chapters "Program
// flow control" and "SOPP instructions".
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "drivers/sim/amd/wave/scalar.h"

namespace tg::amd::sim {
namespace {

int64_t Offset(const MicroOp& u) {
  return 4 * static_cast<int64_t>(static_cast<int16_t>(u.src[0].bits));
}

void Branch(Wave& w, const MicroOp& u) { w.pc += Offset(u); }
void BranchIf(bool taken, Wave& w, const MicroOp& u) {
  if (taken) w.pc += Offset(u);
}
void BranchScc0(Wave& w, const MicroOp& u) { BranchIf(!w.scc, w, u); }
void BranchScc1(Wave& w, const MicroOp& u) { BranchIf(w.scc, w, u); }
void BranchVccz(Wave& w, const MicroOp& u) { BranchIf(w.mask(code::kVccLo) == 0, w, u); }
void BranchVccnz(Wave& w, const MicroOp& u) { BranchIf(w.mask(code::kVccLo) != 0, w, u); }
void BranchExecz(Wave& w, const MicroOp& u) { BranchIf(w.exec() == 0, w, u); }
void BranchExecnz(Wave& w, const MicroOp& u) { BranchIf(w.exec() != 0, w, u); }
// No debugger is attached.
void BranchDebug(Wave&, const MicroOp&) {}

void Call(Wave& w, const MicroOp& u) {
  w.set_sgpr64(u.dst[0].index, w.pc);
  w.pc += Offset(u);
}

void Nothing(Wave&, const MicroOp&) {}
void End(Wave& w, const MicroOp&) { w.stop = Stop::kEnd; }
void Sleep(Wave& w, const MicroOp&) { w.stop = Stop::kYield; }
void Trap(Wave& w, const MicroOp& u) {
  if ((u.src[0].bits & 0xff) == 0) return;  // s_trap 0 does nothing.
  w.Fault(absl::StrCat("s_trap ", u.src[0].bits & 0xff, ": no trap handler"));
}
void Halt(Wave& w, const MicroOp& u) {
  if (u.src[0].bits & 1) w.Fault("s_sethalt: the wave halts and nobody resumes it");
}

// A wave has arrived: the last one completes the phase.
void Arrive(Wave& w) {
  Group& g = *w.group;
  w.barrier_phase = g.barrier_phase;
  w.barrier_signalled = true;
  ++g.barrier_arrived;
}
void Barrier(Wave& w, const MicroOp&) {
  if (w.group == nullptr) return;
  Arrive(w);
  w.stop = Stop::kBarrier;
}
// RDNA 4 has the workgroup's barrier, -1, and the trap handler's, -2.
bool OnlyWorkgroup(Wave& w, const MicroOp& u, int id) {
  if (id == -1) return true;
  w.Fault(absl::StrCat("unknown instruction: ", u.inst.form->name, " of barrier ", id,
                       ": only the workgroup's barrier is modelled"));
  return false;
}
int BarrierId(const Wave& w, const MicroOp& u) {
  const Source& s = u.src[0];
  if (s.kind == Source::Kind::kConst) return static_cast<int16_t>(s.bits);
  return static_cast<int>(w.sgpr[w.m0] & 0x3f);
}
void BarrierSignal(Wave& w, const MicroOp& u) {
  if (w.group != nullptr && OnlyWorkgroup(w, u, BarrierId(w, u))) {
    Arrive(w);
    w.stop = Stop::kYield;
  }
}
void BarrierSignalIsFirst(Wave& w, const MicroOp& u) {
  if (w.group == nullptr || !OnlyWorkgroup(w, u, BarrierId(w, u))) return;
  w.scc = w.group->barrier_arrived == 0;
  Arrive(w);
  w.stop = Stop::kYield;
}
void BarrierWait(Wave& w, const MicroOp& u) {
  if (w.group == nullptr || !OnlyWorkgroup(w, u, BarrierId(w, u))) return;
  if (!w.barrier_signalled) {
    w.Fault("s_barrier_wait without s_barrier_signal before it");
    return;
  }
  w.barrier_signalled = false;
  w.stop = Stop::kBarrier;
}
// State of the workgroup's barrier: arrived in bits 10:4, members in 18:12.
void GetBarrierState(Wave& w, const MicroOp& u) {
  if (w.group == nullptr || !OnlyWorkgroup(w, u, BarrierId(w, u))) return;
  uint32_t members = static_cast<uint32_t>(w.group->waves.size());
  w.sgpr[u.dst[0].index] = 1 | w.group->barrier_arrived << 4 | members << 12;
}

// Of s_getreg and s_setreg.
struct Field {
  explicit Field(uint64_t simm)
      : id(simm & 63),
        shift(simm >> 6 & 31),
        mask(static_cast<uint32_t>((uint64_t{2} << (simm >> 11 & 31)) - 1)) {}
  int id;
  int shift;
  uint32_t mask;
};

uint64_t Clock(const Wave& w) {
  return w.group != nullptr && w.group->clock != nullptr ? w.group->clock(w.group->clock_context)
                                                         : w.instructions;
}

bool HardwareRegister(const Wave& w, int id, uint32_t* value) {
  bool rdna = IsRdna(w.isa);
  switch (id) {
    case 1:  // MODE
      *value = w.mode_bits;
      return true;
    case 2:  // STATUS: SCC, EXECZ, VCCZ, VALID.
      *value = w.scc | (w.exec() == 0) << 9 | (w.mask(code::kVccLo) == 0) << 10 | 1 << 16;
      return true;
    case 3:  // TRAPSTS: no exception.
    case 7:  // IB_STS: nothing is outstanding.
      *value = 0;
      return true;
    case 4:   // HW_ID on CDNA: wave in bits 3:0, SIMD in 5:4.
    case 23:  // HW_ID1 on RDNA: wave in bits 4:0, SIMD in 9:8.
      *value = id == 4 ? (w.id_in_group / 4 & 15) | (w.id_in_group & 3) << 4
                       : (w.id_in_group / 4 & 31) | (w.id_in_group & 3) << 8;
      return true;
    case 5:   // GPR_ALLOC
    case 6:   // LDS_ALLOC
    case 24:  // HW_ID2 on RDNA.
      *value = 0;
      return true;
    case 20:  // XCC_ID on CDNA.
      *value = 0;
      return !rdna;
    case 29:  // SHADER_CYCLES
      *value = static_cast<uint32_t>(w.isa == Isa::kGfx12 ? Clock(w) : Clock(w) & 0xfffff);
      return rdna;
    case 30:  // SHADER_CYCLES_HI
      *value = static_cast<uint32_t>(Clock(w) >> 32);
      return w.isa == Isa::kGfx12;
    default:
      return false;
  }
}

void GetReg(Wave& w, const MicroOp& u) {
  Field f(u.src[0].bits);
  uint32_t value;
  if (!HardwareRegister(w, f.id, &value)) {
    w.Fault(absl::StrCat("unknown instruction: s_getreg_b32 of hardware register ", f.id));
    return;
  }
  if (u.dst[0].kind == Dest::Kind::kSgpr) w.sgpr[u.dst[0].index] = value >> f.shift & f.mask;
}
void SetField(Wave& w, uint64_t simm, uint32_t value) {
  Field f(simm);
  if (f.id != 1) {  // MODE is the only one that programs may write.
    w.Fault(absl::StrCat("unknown instruction: s_setreg of hardware register ", f.id));
    return;
  }
  uint32_t field = f.mask << f.shift;
  w.SetMode((w.mode_bits & ~field) | (value << f.shift & field));
}
void SetReg(Wave& w, const MicroOp& u) {
  const Operand& value = u.inst.operands[1];
  if (value.kind == OperandKind::kNone || value.code >= 128) {
    w.Fault("s_setreg_b32 of no SGPR");
    return;
  }
  SetField(w, u.src[0].bits, w.sgpr[value.code]);
}
void SetRegImm(Wave& w, const MicroOp& u) {
  SetField(w, u.src[0].bits, static_cast<uint32_t>(u.src[1].bits));
}
void RoundMode(Wave& w, const MicroOp& u) {
  w.SetMode((w.mode_bits & ~0xfu) | (u.src[0].bits & 0xf));
}
void DenormMode(Wave& w, const MicroOp& u) {
  w.SetMode((w.mode_bits & ~0xf0u) | (u.src[0].bits & 0xf) << 4);
}

// Messages to whoever started the wave. Only those with an answer do something here.
void SendMessageReturn(Wave& w, const MicroOp& u) {
  int message = static_cast<int>(u.src[0].bits & 0xff);
  uint64_t value = 0;
  switch (message) {
    case 0x80:  // GET_DOORBELL
    case 0x81:  // GET_DDID
    case 0x82:  // GET_TMA: no trap handler.
    case 0x85:  // GET_TBA
      break;
    case 0x83:  // GET_REALTIME
      value = Clock(w);
      break;
    default:
      w.Fault(absl::StrCat("unknown instruction: s_sendmsg_rtn of message ", message));
      return;
  }
  if (u.dst[0].kind != Dest::Kind::kSgpr) return;
  if (u.dst[0].dwords == 2) {
    w.set_sgpr64(u.dst[0].index, value);
  } else {
    w.sgpr[u.dst[0].index] = static_cast<uint32_t>(value);
  }
}

// Wave32 halves of a wave of 64, one after the other (RDNA 3).
void SubvectorBegin(Wave& w, const MicroOp& u) {
  int d = u.dst[0].index;
  if (w.sgpr[126] == 0 && w.sgpr[127] == 0) {
    w.pc += Offset(u);
  } else if (w.sgpr[126] == 0) {
    w.sgpr[d] = w.sgpr[126];
  } else {
    w.sgpr[d] = w.sgpr[127];
    w.sgpr[127] = 0;
  }
}
void SubvectorEnd(Wave& w, const MicroOp& u) {
  int d = u.dst[0].index;
  if (w.sgpr[127] != 0) {
    w.sgpr[126] = w.sgpr[d];
  } else if (w.sgpr[d] == 0) {
    w.sgpr[127] = w.sgpr[d];
  } else {
    w.sgpr[127] = w.sgpr[d];
    w.sgpr[d] = w.sgpr[126];
    w.sgpr[126] = 0;
    w.pc += Offset(u);
  }
}

constexpr Semantics kOps[] = {
    {"s_branch", &Branch},
    {"s_cbranch_scc0", &BranchScc0},
    {"s_cbranch_scc1", &BranchScc1},
    {"s_cbranch_vccz", &BranchVccz},
    {"s_cbranch_vccnz", &BranchVccnz},
    {"s_cbranch_execz", &BranchExecz},
    {"s_cbranch_execnz", &BranchExecnz},
    {"s_cbranch_cdbgsys", &BranchDebug},
    {"s_cbranch_cdbguser", &BranchDebug},
    {"s_cbranch_cdbgsys_or_user", &BranchDebug},
    {"s_cbranch_cdbgsys_and_user", &BranchDebug},
    {"s_call_b64", &Call},
    Scalar("s_getpc_b64", [](Wave& w) { return w.pc; }),
    Scalar("s_setpc_b64", [](Wave& w, uint64_t a) { w.pc = a; }),
    Scalar("s_swappc_b64",
           [](Wave& w, uint64_t a) {
             uint64_t next = w.pc;
             w.pc = a;
             return next;
           }),
    {"s_subvector_loop_begin", &SubvectorBegin},
    {"s_subvector_loop_end", &SubvectorEnd},
    {"s_endpgm", &End},
    {"s_endpgm_saved", &End},
    {"s_endpgm_ordered_ps_done", &End},
    {"s_trap", &Trap},
    {"s_sethalt", &Halt},
    {"s_sleep", &Sleep},
    {"s_sleep_var", &Sleep},
    {"s_wakeup", &Nothing},

    {"s_barrier", &Barrier},
    {"s_barrier_signal", &BarrierSignal},
    {"s_barrier_signal_isfirst", &BarrierSignalIsFirst},
    {"s_barrier_wait", &BarrierWait},
    {"s_get_barrier_state", &GetBarrierState},

    {"s_getreg_b32", &GetReg},
    {"s_setreg_b32", &SetReg},
    {"s_setreg_imm32_b32", &SetRegImm},
    {"s_round_mode", &RoundMode},
    {"s_denorm_mode", &DenormMode},
    {"s_sendmsg_rtn_b32", &SendMessageReturn},
    {"s_sendmsg_rtn_b64", &SendMessageReturn},

    // Without effect here: memory answers at once, and nobody listens to messages and marks.
    {"s_nop", &Nothing},
    {"s_setkill", &Nothing},
    {"s_set_inst_prefetch_distance", &Nothing},
    {"s_clause", &Nothing},
    {"s_delay_alu", &Nothing},
    {"s_wait_alu", &Nothing},
    {"s_waitcnt_depctr", &Nothing},
    {"s_waitcnt", &Nothing},
    {"s_waitcnt_vscnt", &Nothing},
    {"s_waitcnt_vmcnt", &Nothing},
    {"s_waitcnt_expcnt", &Nothing},
    {"s_waitcnt_lgkmcnt", &Nothing},
    {"s_wait_idle", &Nothing},
    {"s_wait_event", &Nothing},
    {"s_wait_loadcnt", &Nothing},
    {"s_wait_storecnt", &Nothing},
    {"s_wait_samplecnt", &Nothing},
    {"s_wait_bvhcnt", &Nothing},
    {"s_wait_expcnt", &Nothing},
    {"s_wait_dscnt", &Nothing},
    {"s_wait_kmcnt", &Nothing},
    {"s_wait_loadcnt_dscnt", &Nothing},
    {"s_wait_storecnt_dscnt", &Nothing},
    {"s_setprio", &Nothing},
    {"s_sendmsg", &Nothing},
    {"s_incperflevel", &Nothing},
    {"s_decperflevel", &Nothing},
    {"s_ttracedata", &Nothing},
    {"s_ttracedata_imm", &Nothing},
    {"s_icache_inv", &Nothing},
    {"s_version", &Nothing},
    {"v_nop", &Nothing},
};

}  // namespace

absl::Span<const Semantics> ControlOps() { return kOps; }

}  // namespace tg::amd::sim
