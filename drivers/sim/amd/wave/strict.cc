#include "drivers/sim/amd/wave/strict.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "codegen/isa/amd/hazard.h"
#include "drivers/sim/amd/wave/memory.h"
#include "drivers/sim/amd/wave/memory_access.h"

namespace tg::amd::sim {
namespace {

// Registers that an instruction reads or writes.
struct Range {
  bool scalar;
  int first;
  int count;
};
struct Ranges {
  Range reads[10];
  Range writes[4];
  int num_reads = 0, num_writes = 0;
  bool store_data_may_be_unset = false;

  void Read(bool scalar, int first, int count) {
    if (first >= 0 && num_reads < 10) reads[num_reads++] = {scalar, first, count};
  }
  void Write(bool scalar, int first, int count) {
    if (first >= 0 && num_writes < 4) writes[num_writes++] = {scalar, first, count};
  }
};

int Dwords(const Inst& inst, OperandName name) {
  const Operand* o = inst.Find(name);
  return o == nullptr ? 0 : std::max<int>(o->dwords, 1);
}

void AddAlu(const Wave& w, const MicroOp& u, Ranges* r) {
  for (int i = 0; i < u.num_src; ++i) {
    const Source& s = u.src[i];
    if (s.kind == Source::Kind::kRow && s.index != kShadowRow) r->Read(false, s.index, s.dwords);
    if (s.kind == Source::Kind::kSgpr) r->Read(true, s.index, s.dwords);
  }
  bool mask_result = u.inst.form->family == Format::kVopc;
  for (int i = 0; i < u.num_dst; ++i) {
    const Dest& d = u.dst[i];
    if (d.kind == Dest::Kind::kRow) r->Write(false, d.index, d.dwords);
    if (d.kind == Dest::Kind::kSgpr && d.index < 128) {
      bool mask = mask_result || (i == 1 && u.dst[0].kind == Dest::Kind::kRow);
      r->Write(true, d.index, mask ? w.size / 32 : d.dwords);
    }
  }
}

Ranges RangesOf(const Wave& w, const MicroOp& u) {
  Ranges r;
  const MemoryOperands& m = u.memory;
  switch (u.op_class) {
    case OpClass::kSmem:
      r.Read(true, m.saddr, Dwords(u.inst, OperandName::kSbase));
      r.Write(true, m.sdata, Dwords(u.inst, OperandName::kSdata));
      break;
    case OpClass::kVmem:
    case OpClass::kLds: {
      r.Read(false, m.vaddr, std::max<int>(m.vaddr_dwords, 1));
      bool lds = u.op_class == OpClass::kLds;
      bool loads = m.access != nullptr && m.access->kind == AccessKind::kLoad;
      if (!loads) {
        r.Read(false, m.vdata, Dwords(u.inst, lds ? OperandName::kData0 : OperandName::kVdata));
        r.Read(false, m.vdata1, Dwords(u.inst, OperandName::kData1));
      }
      r.Read(true, m.saddr, u.inst.form->format == Format::kScratch ? 1 : 2);
      r.Read(true, m.srsrc, 4);
      if (m.vdst >= 0) {
        int n = u.inst.Find(OperandName::kVdst) != nullptr ? Dwords(u.inst, OperandName::kVdst)
                                                           : Dwords(u.inst, OperandName::kVdata);
        r.Write(false, m.vdst, n);
      }
      // Functions save registers of their callers, whether those were set or not.
      r.store_data_may_be_unset = u.inst.form->format == Format::kScratch;
      break;
    }
    default:
      AddAlu(w, u, &r);
      if (u.second != nullptr) AddAlu(w, *u.second, &r);
  }
  return r;
}

std::string Name(bool scalar, int index) {
  if (scalar) {
    return index == code::kVccLo   ? "vcc_lo"
           : index == code::kVccHi ? "vcc_hi"
                                   : absl::StrCat("s", index);
  }
  return index < kAccRow ? absl::StrCat("v", index) : absl::StrCat("a", index - kAccRow);
}

// A load that will write registers of the range; null when there is none.
const StrictState::Pending* FindPending(const StrictState& s, const Range& range) {
  for (const auto& queue : s.outstanding) {
    for (const StrictState::Pending& p : queue) {
      if (p.first >= 0 && p.scalar == range.scalar && p.first < range.first + range.count &&
          range.first < p.first + p.count) {
        return &p;
      }
    }
  }
  return nullptr;
}

bool CheckPending(Wave& w, const Range& range, const char* verb) {
  const StrictState::Pending* p = FindPending(*w.strict_state, range);
  if (p == nullptr) return true;
  w.Fault(absl::StrFormat("missing wait: %s is %s while the load at pc 0x%x is under way",
                          Name(range.scalar, std::max<int>(range.first, p->first)), verb, p->pc));
  return false;
}

void Retire(std::vector<StrictState::Pending>* queue, size_t keep) {
  if (queue->size() > keep) queue->erase(queue->begin(), queue->end() - keep);
}

std::vector<StrictState::Pending>& Queue(StrictState& s, Counter c) {
  return s.outstanding[static_cast<int>(c)];
}

// LDS and scalar loads share a counter. Scalar ones come back in any order: only 0 says anything
// about them.
void WaitLgkm(StrictState& s, size_t n) {
  size_t scalar = Queue(s, Counter::kScalar).size();
  Retire(&Queue(s, Counter::kLds), n > scalar ? n - scalar : (n == 0 ? 0 : n + scalar));
  if (n == 0) Queue(s, Counter::kScalar).clear();
}

void Wait(Wave& w, const MicroOp& u) {
  absl::string_view name = u.inst.form->name;
  if (!absl::StartsWith(name, "s_wait")) return;
  StrictState& s = *w.strict_state;
  uint64_t n = u.src[0].bits;
  for (int i = 0; i < u.inst.num_operands; ++i) {
    if (u.inst.operands[i].kind == OperandKind::kImm)
      n = static_cast<uint32_t>(u.inst.operands[i].value);
  }
  if (name == "s_waitcnt") {
    bool rdna = IsRdna(w.isa);
    Retire(&Queue(s, Counter::kLoad), rdna ? n >> 10 & 63 : (n & 15) | (n >> 14 & 3) << 4);
    uint64_t lgkm = rdna ? n >> 4 & 63 : n >> 8 & 15;
    if (lgkm < (rdna ? 63u : 15u)) WaitLgkm(s, lgkm);
  } else if (name == "s_waitcnt_vscnt" || name == "s_wait_storecnt") {
    Retire(&Queue(s, Counter::kStore), n & 63);
  } else if (name == "s_waitcnt_vmcnt" || name == "s_wait_loadcnt") {
    Retire(&Queue(s, Counter::kLoad), n & 63);
  } else if (name == "s_waitcnt_lgkmcnt") {
    WaitLgkm(s, n & 63);
  } else if (name == "s_wait_dscnt") {
    Retire(&Queue(s, Counter::kLds), n & 63);
  } else if (name == "s_wait_kmcnt") {
    if ((n & 31) == 0) Queue(s, Counter::kScalar).clear();
  } else if (name == "s_wait_loadcnt_dscnt" || name == "s_wait_storecnt_dscnt") {
    Retire(&Queue(s, name == "s_wait_loadcnt_dscnt" ? Counter::kLoad : Counter::kStore),
           n >> 8 & 63);
    Retire(&Queue(s, Counter::kLds), n & 63);
  } else if (name == "s_wait_idle") {
    for (auto& queue : s.outstanding) queue.clear();
  }
}

void Issue(Wave& w, const MicroOp& u, uint64_t pc) {
  StrictState& s = *w.strict_state;
  const MemoryOperands& m = u.memory;
  StrictState::Pending p;
  p.pc = pc;
  p.first = -1;
  if (u.op_class == OpClass::kSmem) {
    if (m.sdata < 0) return;
    p.first = m.sdata;
    p.count = static_cast<int16_t>(Dwords(u.inst, OperandName::kSdata));
    p.scalar = true;
    Queue(s, Counter::kScalar).push_back(p);
    return;
  }
  if (m.vdst >= 0) {
    p.first = m.vdst;
    p.count = static_cast<int16_t>(u.inst.Find(OperandName::kVdst) != nullptr
                                       ? Dwords(u.inst, OperandName::kVdst)
                                       : Dwords(u.inst, OperandName::kVdata));
  }
  if (u.op_class == OpClass::kLds) {
    Queue(s, Counter::kLds).push_back(p);
    return;
  }
  if (m.access == nullptr && m.vdst < 0 && m.vaddr < 0) return;  // Cache instructions.
  bool separate =
      IsRdna(w.isa) && m.access != nullptr && m.access->kind != AccessKind::kLoad && m.vdst < 0;
  Queue(s, separate ? Counter::kStore : Counter::kLoad).push_back(p);
  if (u.inst.form->format == Format::kFlat) Queue(s, Counter::kLds).push_back(p);
}

// Faults when the instruction at w.pc needs wait states or the like between it and those before it
// on the way that was taken. Each pair of neighbours is looked at once.
void CheckHazards(Wave& w, const MicroOp& u) {
  RecentCode& r = w.strict_state->recent;
  const Allocation* a = w.memory == nullptr ? nullptr : w.memory->Find(w.pc, u.size);
  if (a == nullptr) return;
  const uint8_t* words = a->host + (w.pc - a->address);
  size_t offset = r.bytes.size();
  r.bytes.insert(r.bytes.end(), words, words + u.size);
  r.sizes.push_back(u.size);
  bool fresh = r.checked.insert(w.pc << 24 ^ r.last_pc).second;
  r.last_pc = w.pc;
  if (fresh) {
    for (const HazardFinding& f : amd::CheckHazards(r.bytes, w.arch, {.wave64 = w.size == 64})) {
      if (f.offset != offset || f.hazard == nullptr) continue;
      w.Fault(absl::StrCat("hazard ", f.hazard->name, ": ", f.message));
      return;
    }
  }
  if (r.sizes.size() > RecentCode::kInstructions) {
    r.bytes.erase(r.bytes.begin(), r.bytes.begin() + r.sizes.front());
    r.sizes.erase(r.sizes.begin());
  }
}

}  // namespace

void StrictBefore(Wave& w, const MicroOp& u) {
  StrictState& s = *w.strict_state;
  CheckHazards(w, u);
  if (w.stop == Stop::kFault) return;
  Ranges r = RangesOf(w, u);
  uint64_t exec = w.exec();
  bool lane_to_scalar = u.op_class == OpClass::kValu && u.num_dst > 0 &&
                        u.dst[0].kind == Dest::Kind::kSgpr && u.inst.form->family != Format::kVopc;
  uint64_t need = lane_to_scalar ? 0 : exec;
  for (int i = 0; i < r.num_reads; ++i) {
    if (!CheckPending(w, r.reads[i], "read")) return;
    for (int k = 0; k < r.reads[i].count; ++k) {
      int index = r.reads[i].first + k;
      // Where only the low half of a 64-bit sum is used, compilers leave the addend's high half
      // unset.
      if (k == 1 && r.reads[i].count == 2 && absl::StrContains(u.inst.form->name, "_mad_"))
        continue;
      if (r.reads[i].scalar) {
        if (index >= 126 || (index >= code::kTtmp0 && index < code::kTtmp0 + 16) ||
            s.sgpr_written[index])
          continue;
        if (u.op_class == OpClass::kValu && w.size == 32 && index == code::kVccHi) continue;
      } else {
        if (r.store_data_may_be_unset || (need & ~s.vgpr_written[index]) == 0) continue;
      }
      w.Fault(absl::StrCat(
          Name(r.reads[i].scalar, index), " is read and was never written",
          r.reads[i].scalar
              ? ""
              : absl::StrCat(" in lane ", std::countr_zero(need & ~s.vgpr_written[index]))));
      return;
    }
  }
  for (int i = 0; i < r.num_writes; ++i) {
    if (!CheckPending(w, r.writes[i], "written")) return;
  }
}

void StrictAfter(Wave& w, const MicroOp& u, uint64_t pc, uint64_t exec) {
  StrictState& s = *w.strict_state;
  Ranges r = RangesOf(w, u);
  bool all_lanes =
      u.op_class == OpClass::kMatrix || absl::StartsWith(u.inst.form->name, "v_writelane");
  for (int i = 0; i < r.num_writes; ++i) {
    for (int k = 0; k < r.writes[i].count; ++k) {
      int index = r.writes[i].first + k;
      if (r.writes[i].scalar) {
        if (index < kNumSgprs) s.sgpr_written[index] = true;
      } else if (index < kNumRows) {
        s.vgpr_written[index] |= all_lanes ? ~uint64_t{0} : exec;
      }
    }
  }
  if (u.op_class == OpClass::kSmem || u.op_class == OpClass::kVmem || u.op_class == OpClass::kLds)
    Issue(w, u, pc);
  if (u.op_class == OpClass::kOther || u.op_class == OpClass::kSalu) Wait(w, u);
}

}  // namespace tg::amd::sim
