#include "codegen/isa/amd/hazard_state.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "codegen/isa/amd/names.h"
#include "codegen/isa/amd/print.h"

namespace tg::amd {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// The counters that a memory instruction raises.
std::vector<Counter> CountersOf(const Inst& inst, const Effects& e, Isa isa) {
  const std::string_view name = inst.form->name;
  const bool gfx12 = isa == Isa::kGfx12;
  const Counter lds = gfx12 ? Counter::kDs : Counter::kLgkm;
  const Counter scalar = gfx12 ? Counter::kKm : Counter::kLgkm;
  switch (inst.form->format) {
    case Format::kDs:
      return {lds};
    case Format::kSmem:
      return {scalar};
    case Format::kExp:
    case Format::kLdsdir:
      return {Counter::kExp};
    default:
      break;
  }
  if (StartsWith(name, "s_sendmsg")) return {scalar};
  if (!IsVectorMemory(inst.form->format)) return {};
  Counter memory = !e.load && IsRdna(isa) ? Counter::kVs : Counter::kVm;
  if (gfx12 && e.load && StartsWith(name, "image_bvh")) memory = Counter::kBvh;
  if (gfx12 && e.load && inst.form->format == Format::kVsample) memory = Counter::kSample;
  if (inst.form->format == Format::kFlat) return {memory, lds};
  return {memory};
}

// Whether the nearest producer is the nearest of all matrix instructions: what is older has been
// waited for by that one.
bool IsOfMatrix(Actor producer, Link link) {
  switch (producer) {
    case Actor::kXdl:
    case Actor::kSgemm:
    case Actor::kDgemm:
    case Actor::kDgemm4x4:
    case Actor::kDgemm16x16:
      return link != Link::kAddendWritten && link != Link::kOrder;
    default:
      return false;
  }
}

bool Meet(const RegisterList& list, const Registers& r) {
  return std::any_of(list.begin(), list.end(), [&](const Registers& x) { return x.Meets(r); });
}

// The consumer's registers that count for `link`; for links of one register, that register.
RegisterList Consumed(Link link, const Effects& e, Isa isa) {
  const auto vectors = [](const RegisterList& list) {
    RegisterList some;
    for (const Registers& r : list) {
      if (r.IsVector()) some.push_back(r);
    }
    return some;
  };
  switch (link) {
    case Link::kSgpr: {
      RegisterList scalars;
      for (const Registers& r : e.reads) {
        if (r.first < 128) scalars.push_back(r);
      }
      return scalars;
    }
    case Link::kVcc:
      return {{code::kVccLo, 2}};
    case Link::kExec:
      return {{code::kExecLo, 2}};
    case Link::kM0:
      return {{IsRdna(isa) ? code::kM0Rdna : code::kM0Cdna, 1}};
    case Link::kVgpr:
    case Link::kDotRead: {
      RegisterList read = vectors(e.reads);
      read.insert(read.end(), e.kept.begin(), e.kept.end());
      return read;
    }
    case Link::kVgprEither: {
      RegisterList both = vectors(e.reads);
      for (const Registers& r : vectors(e.writes)) both.push_back(r);
      return both;
    }
    case Link::kVgprOverwritten:
    case Link::kDotOverwritten:
    case Link::kStoreData:
    case Link::kAddendWritten:
      return vectors(e.writes);
    case Link::kMultiplicand:
      return e.multiplicands;
    case Link::kAddendSame:
    case Link::kAddendOverlaps:
      return e.addends;
    case Link::kHwreg:
    case Link::kTrapsts:
    case Link::kSgprReused:
    case Link::kOrder:
      break;
  }
  return {};
}

bool Linked(Link link, const Effects& past, const Registers& r) {
  switch (link) {
    case Link::kStoreData:
      return Meet(past.stored, r);
    case Link::kAddendWritten:
      return Meet(past.addends, r);
    default:
      return Meet(past.writes, r);
  }
}

// Of a producer that is linked: whether the row is about this pair.
bool Applies(Link link, const Effects& past, const Effects& e, const Registers& r) {
  switch (link) {
    case Link::kAddendSame:
      return past.writes[0] == r;
    case Link::kAddendOverlaps:
      return past.writes[0] != r;
    case Link::kDotRead:
      return past.form->op != e.form->op || Meet(e.multiplicands, r);
    case Link::kDotOverwritten:
      return past.form->op != e.form->op;
    default:
      return true;
  }
}

const char* Unit(Cure cure) {
  return cure == Cure::kNop ? " more wait states are needed (s_nop)" : " more v_nop is needed";
}

}  // namespace

const char* CounterName(Counter counter, Isa isa) {
  if (isa != Isa::kGfx12) {
    switch (counter) {
      case Counter::kVm:
        return "vmcnt";
      case Counter::kVs:
        return "vscnt";
      case Counter::kExp:
        return "expcnt";
      default:
        return "lgkmcnt";
    }
  }
  constexpr const char* kNames[] = {"loadcnt", "storecnt",  "lgkmcnt", "dscnt",
                                    "kmcnt",   "samplecnt", "bvhcnt",  "expcnt"};
  return kNames[static_cast<int>(counter)];
}

void HazardState::WaitFor(Counter counter, uint32_t count) {
  Under& u = under_[static_cast<int>(counter)];
  // While something may overtake, only zero says anything.
  if (count != 0 && u.unordered > u.complete) return;
  u.complete = std::max(u.complete, u.issued - static_cast<int64_t>(count));
}

std::vector<Counter> HazardState::Pending() const {
  std::vector<Counter> pending;
  for (int c = 0; c < kNumCounters; ++c) {
    const Under& u = under_[c];
    if (static_cast<Counter>(c) != Counter::kVs && u.issued > u.complete) {
      pending.push_back(static_cast<Counter>(c));
    }
  }
  return pending;
}

void HazardState::NeedCounters(const Effects& e, uint64_t offset,
                               std::vector<HazardFinding>* findings) {
  for (int c = 0; c < kNumCounters; ++c) {
    Under& u = under_[c];
    if (u.issued == u.complete) continue;
    int64_t newest = 0;
    uint16_t which = 0;
    for (const RegisterList* list : {&e.reads, &e.writes}) {
      for (const Registers& r : *list) {
        for (int i = r.first; i < std::min(r.first + r.count, kNumRegisters); ++i) {
          if (u.written[i] > u.complete && u.written[i] > newest) {
            newest = u.written[i];
            which = static_cast<uint16_t>(i);
          }
        }
      }
    }
    if (newest == 0) continue;
    HazardFinding finding;
    finding.offset = offset;
    finding.counter = static_cast<Counter>(c);
    finding.count = u.unordered > u.complete ? 0 : static_cast<uint32_t>(u.issued - newest);
    Operand reg;
    reg.code = which;
    reg.kind = which >= code::kAccVgpr0 ? OperandKind::kAccVgpr
               : which >= code::kVgpr0  ? OperandKind::kVgpr
               : which < 106            ? OperandKind::kSgpr
                                        : OperandKind::kSpecial;
    finding.message = absl::StrFormat(
        "%s is still to be written by the instruction at 0x%x: wait for %s(%u)",
        ToString(reg, isa_), u.where[which], CounterName(finding.counter, isa_), finding.count);
    findings->push_back(std::move(finding));
    WaitFor(static_cast<Counter>(c), findings->back().count);
  }
}

int64_t HazardState::Between(const Hazard& hazard, const Past& past) const {
  switch (hazard.cure) {
    case Cure::kVMov:
      return moves_ - past.moves;
    case Cure::kVaVdst0:
      // A second transcendental instruction waits for the first.
      return trans_ - past.trans > 1 ? hazard.distance[0] : vectors_ - past.vectors;
    case Cure::kVNop:
      return vectors_ - past.vectors;
    case Cure::kNop:
    case Cure::kSdst0:
      break;
  }
  return state_ - past.state - 1;
}

int64_t HazardState::Missing(const Hazard& hazard, const Effects& e) const {
  const auto missing = [&](const Past& past) {
    return hazard.distance[past.effects.passes] - Between(hazard, past);
  };
  if (hazard.link == Link::kOrder || hazard.link == Link::kHwreg || hazard.link == Link::kTrapsts) {
    constexpr int kTrapsts = 3;
    for (size_t i = past_.size(); i-- > 0;) {
      const Past& past = past_[i];
      if (!past.effects.Is(hazard.producer)) continue;
      if (hazard.link == Link::kHwreg && past.effects.hwreg != e.hwreg) continue;
      if (hazard.link == Link::kTrapsts && past.effects.hwreg != kTrapsts) continue;
      return missing(past);
    }
    return 0;
  }
  const Actor family = IsOfMatrix(hazard.producer, hazard.link) ? Actor::kMatrix : hazard.producer;
  int64_t most = 0;
  for (const Registers& r : Consumed(hazard.link, e, isa_)) {
    for (size_t i = past_.size(); i-- > 0;) {
      const Past& past = past_[i];
      if (!past.effects.Is(family) || !Linked(hazard.link, past.effects, r)) continue;
      if (past.effects.Is(hazard.producer) && Applies(hazard.link, past.effects, e, r)) {
        most = std::max(most, missing(past));
      }
      break;
    }
  }
  return most;
}

void HazardState::NeedHazard(const Hazard& hazard, const Inst& inst, const Effects& e,
                             uint64_t offset, std::vector<HazardFinding>* findings) {
  if (!e.Is(hazard.consumer)) return;
  HazardFinding finding;
  finding.offset = offset;
  finding.hazard = &hazard;
  if (hazard.link == Link::kSgprReused) {
    const uint16_t fields = sgprs_.Needed(e);
    if (fields == 0) return;
    sgprs_.Waited(fields);
    finding.wait = static_cast<uint16_t>(NoDependencyWait() & ~fields);
  } else {
    const int64_t missing = Missing(hazard, e);
    if (missing <= 0) return;
    finding.nops = static_cast<int>(missing);
  }
  switch (hazard.cure) {
    case Cure::kNop:
      state_ += finding.nops;
      break;
    case Cure::kVNop:
      state_ += finding.nops;
      vectors_ += finding.nops;
      break;
    case Cure::kVMov:
      finding.vgpr = static_cast<uint8_t>(inst.Find(OperandName::kSrc0)->index());
      ++state_, ++vectors_, ++moves_;
      break;
    case Cure::kVaVdst0:
      finding.wait = static_cast<uint16_t>(NoDependencyWait() & ~kVaVdst);
      VectorResultsAreThere();
      ++state_;
      break;
    case Cure::kSdst0:
      ++state_;
      break;
  }
  finding.message = absl::StrCat(hazard.name, ": ");
  if (finding.wait != 0) {
    absl::StrAppend(&finding.message, "put ",
                    isa_ == Isa::kGfx12 ? "s_wait_alu" : "s_waitcnt_depctr");
    for (const CounterField& field : DependencyCounters()) {
      if (field.Get(finding.wait) == 0) {
        absl::StrAppend(&finding.message, " ", std::string(field.name), "(0)");
      }
    }
    absl::StrAppend(&finding.message, " before it");
  } else if (hazard.cure == Cure::kVMov) {
    absl::StrAppend(&finding.message, "put v_mov_b32 v", finding.vgpr, ", v", finding.vgpr,
                    " before it");
  } else {
    absl::StrAppend(&finding.message, finding.nops, Unit(hazard.cure));
  }
  findings->push_back(std::move(finding));
}

std::vector<HazardFinding> HazardState::Need(const Inst& inst, const Effects& e, uint64_t offset) {
  std::vector<HazardFinding> findings;
  if (StartsWith(inst.form->name, "s_wait") || inst.form->op == Op::kSNop) return findings;
  NeedCounters(e, offset, &findings);
  for (const Hazard& hazard : Hazards()) {
    if ((hazard.isas >> static_cast<int>(isa_) & 1) != 0) {
      NeedHazard(hazard, inst, e, offset, &findings);
    }
  }
  return findings;
}

void HazardState::VectorResultsAreThere() {
  for (Past& past : past_) past.effects.actors &= ~ActorBit(Actor::kTrans);
}

// s_waitcnt and its kin.
void HazardState::Waits(const Inst& inst) {
  const std::string_view name = inst.form->name;
  const uint32_t value =
      inst.num_operands > 0 ? static_cast<uint32_t>(inst.operands[inst.num_operands - 1].value) : 0;
  if (name == "s_waitcnt") {
    const absl::Span<const CounterField> fields = WaitCounters(isa_);
    constexpr Counter kOrder[] = {Counter::kVm, Counter::kExp, Counter::kLgkm};
    for (size_t i = 0; i < fields.size(); ++i) {
      const uint32_t count = fields[i].Get(value);
      if (count < fields[i].Max()) WaitFor(kOrder[i], count);
    }
    return;
  }
  if (name == "s_wait_idle") {
    for (int c = 0; c < kNumCounters; ++c) WaitFor(static_cast<Counter>(c), 0);
    return;
  }
  if (name == "s_waitcnt_depctr" || name == "s_wait_alu") {
    if ((value & kVaVdst) == 0) VectorResultsAreThere();
    uint16_t zero = 0;
    for (const uint16_t field : {kSaSdst, kVaVcc, kVaSdst}) {
      if ((value & field) == 0) zero |= field;
    }
    sgprs_.Waited(zero);
    return;
  }
  constexpr std::pair<std::string_view, Counter> kSingle[] = {
      {"s_waitcnt_vscnt", Counter::kVs}, {"s_wait_loadcnt", Counter::kVm},
      {"s_wait_storecnt", Counter::kVs}, {"s_wait_dscnt", Counter::kDs},
      {"s_wait_kmcnt", Counter::kKm},    {"s_wait_samplecnt", Counter::kSample},
      {"s_wait_bvhcnt", Counter::kBvh},  {"s_wait_expcnt", Counter::kExp},
  };
  for (const auto& [wait, counter] : kSingle) {
    if (name == wait) WaitFor(counter, value);
  }
  if (name == "s_wait_loadcnt_dscnt" || name == "s_wait_storecnt_dscnt") {
    WaitFor(name[7] == 'l' ? Counter::kVm : Counter::kVs, value >> 8 & 63);
    WaitFor(Counter::kDs, value & 63);
  }
}

void HazardState::Execute(const Inst& inst, const Effects& e, uint64_t offset) {
  if (StartsWith(inst.form->name, "s_wait")) Waits(inst);
  const std::vector<Counter> counters = CountersOf(inst, e, isa_);
  for (const Counter c : counters) {
    Under& u = under_[static_cast<int>(c)];
    ++u.issued;
    // Scalar loads and those of both kinds of memory come back in any order.
    if (inst.form->format == Format::kSmem || counters.size() > 1) u.unordered = u.issued;
    const RegisterList& late = inst.form->format == Format::kExp ? e.reads
                               : e.load                          ? e.writes
                                                                 : RegisterList();
    for (const Registers& r : late) {
      for (int i = r.first; i < std::min(r.first + r.count, kNumRegisters); ++i) {
        u.written[i] = u.issued;
        u.where[i] = offset;
      }
    }
  }
  // Memory instructions of RDNA wait for the results of vector instructions.
  if (IsRdna(isa_) && e.Is(Actor::kMemory)) VectorResultsAreThere();
  if (!StartsWith(inst.form->name, "s_wait")) sgprs_.Execute(e);
  // Vector instructions count as such however many scalar ones are between them; but what happened
  // so long ago is over.
  constexpr size_t kMost = 64;
  constexpr int64_t kLongest = 24;
  while (!past_.empty() &&
         (past_.size() >= kMost || (IsCdna(isa_) && state_ - past_.front().state > kLongest))) {
    past_.pop_front();
  }
  if (e.Is(Actor::kValu)) ++vectors_;
  if (e.Is(Actor::kValu) && inst.form->op != Op::kVNop) ++moves_;
  if (e.Is(Actor::kTrans)) ++trans_;
  past_.push_back({e, state_, vectors_, moves_, trans_});
  state_ += inst.form->op == Op::kSNop ? inst.operands[0].value + 1 : 1;
}

}  // namespace tg::amd
