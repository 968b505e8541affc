#include "codegen/isa/amd/hazard.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/names.h"
#include "codegen/isa/amd/print.h"

namespace tg::amd {
namespace {

constexpr uint32_t Bit(Actor actor) { return 1u << static_cast<int>(actor); }
constexpr int kNumRegisters = 768;  // Operand codes: scalar, VGPRs from 256, AccVGPRs from 512.

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Consecutive operand codes.
struct Registers {
  uint16_t first = 0;
  uint16_t count = 0;
  bool Meets(const Registers& other) const {
    return first < other.first + other.count && other.first < first + count;
  }
};

// What the checker wants to know of an instruction.
struct Effects {
  uint32_t actors = 0;
  std::vector<Registers> reads;
  std::vector<Registers> multiplicands;  // The reads that are src0 and src1.
  std::vector<Registers> writes;
  bool load = false;  // Of memory: its results come later.
};

bool IsVmem(Format format) {
  switch (format) {
    case Format::kFlat:
    case Format::kGlobal:
    case Format::kScratch:
    case Format::kMubuf:
    case Format::kMtbuf:
    case Format::kMimg:
    case Format::kVimage:
    case Format::kVsample:
      return true;
    default:
      return false;
  }
}

bool IsValu(Format format) {
  switch (format) {
    case Format::kVop1:
    case Format::kVop2:
    case Format::kVopc:
    case Format::kVop3:
    case Format::kVop3sd:
    case Format::kVop3p:
    case Format::kVop3px2:
    case Format::kVopd:
    case Format::kVinterp:
      return true;
    default:
      return false;
  }
}

bool IsTranscendental(std::string_view name) {
  for (const std::string_view prefix :
       {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"}) {
    if (StartsWith(name, prefix)) return true;
  }
  return false;
}

bool IsMatrix(std::string_view name) {
  for (const std::string_view prefix : {"v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_"}) {
    if (StartsWith(name, prefix)) return true;
  }
  return false;
}

Effects EffectsOf(const Inst& inst, Isa isa) {
  const Form& form = *inst.form;
  const std::string_view name = form.name;
  Effects e;
  e.actors = Bit(Actor::kAny);
  uint32_t stored = 0;
  for (int i = 0; i < inst.num_operands; ++i) {
    const OperandSpec& spec = form.specs[i];
    const Operand& o = inst.operands[i];
    const bool is_register = o.kind == OperandKind::kSgpr || o.kind == OperandKind::kTtmp ||
                             o.kind == OperandKind::kSpecial || o.kind == OperandKind::kVgpr ||
                             o.kind == OperandKind::kAccVgpr;
    if (!is_register) continue;
    const Registers r{o.code, o.dwords};
    const Role role = spec.role;
    if (role == Role::kSrc || role == Role::kDstSrc) {
      e.reads.push_back(r);
      if (spec.name == OperandName::kSrc0 || spec.name == OperandName::kSrc1) {
        e.multiplicands.push_back(r);
      }
    }
    if (role == Role::kDst || role == Role::kDstSrc) e.writes.push_back(r);
    if (spec.name == OperandName::kVdata) stored = o.dwords;
  }
  const uint16_t m0 = IsRdna(isa) ? code::kM0Rdna : code::kM0Cdna;
  const auto implied = [&](uint8_t which, std::vector<Registers>* list) {
    if ((which & kImplVcc) != 0) list->push_back({code::kVccLo, 2});
    if ((which & kImplExec) != 0) list->push_back({code::kExecLo, 2});
    if ((which & kImplM0) != 0) list->push_back({m0, 1});
  };
  implied(form.reads, &e.reads);
  implied(form.writes, &e.writes);
  if (IsValu(form.format)) {
    e.actors |= Bit(Actor::kValu);
    if (IsTranscendental(name)) e.actors |= Bit(Actor::kTrans);
    if (IsMatrix(name)) e.actors |= Bit(Actor::kMatrix);
    if (form.extra == Extra::kDpp8 || form.extra == Extra::kDpp16) e.actors |= Bit(Actor::kDpp);
    if (name == "v_readlane_b32" || name == "v_writelane_b32") e.actors |= Bit(Actor::kLane);
    if (StartsWith(name, "v_div_fmas")) e.actors |= Bit(Actor::kDivFmas);
  } else if (IsVmem(form.format)) {
    e.actors |= Bit(Actor::kVmem);
    e.load = !e.writes.empty();
    if (!e.load && stored > 2) e.actors |= Bit(Actor::kWideStore);
  } else if (form.format == Format::kDs || form.format == Format::kSmem ||
             form.format == Format::kLdsdir || StartsWith(name, "s_sendmsg_rtn")) {
    e.load = !e.writes.empty();
  } else if (StartsWith(name, "s_setreg")) {
    e.actors |= Bit(Actor::kSetreg);
  } else if (name == "s_getreg_b32") {
    e.actors |= Bit(Actor::kGetreg);
  } else if (name == "s_sendmsg" || name == "s_ttracedata") {
    e.actors |= Bit(Actor::kSendmsg);
    e.reads.push_back({m0, 1});
  } else if (form.format == Format::kSop1 || form.format == Format::kSop2 ||
             form.format == Format::kSopc || form.format == Format::kSopk) {
    e.actors |= Bit(Actor::kSalu);
  }
  return e;
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
  if (!IsVmem(inst.form->format)) return {};
  Counter memory = !e.load && IsRdna(isa) ? Counter::kVs : Counter::kVm;
  if (gfx12 && e.load && StartsWith(name, "image_bvh")) memory = Counter::kBvh;
  if (gfx12 && e.load && inst.form->format == Format::kVsample) memory = Counter::kSample;
  if (inst.form->format == Format::kFlat) return {memory, lds};
  return {memory};
}

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

// What is known at a place in the code.
class State {
 public:
  explicit State(Isa isa) : isa_(isa) {}

  // What is missing before `inst`, which is then taken for cured.
  std::vector<HazardFinding> Need(const Inst& inst, const Effects& e, uint64_t offset);
  void Execute(const Inst& inst, const Effects& e, uint64_t offset);
  // Counters that have results under way.
  std::vector<Counter> Pending() const;
  void WaitFor(Counter counter, uint32_t count);

 private:
  struct Past {
    uint32_t actors = 0;
    std::vector<Registers> reads;
    std::vector<Registers> writes;
    int64_t state = 0;  // Wait states so far.
  };
  struct Under {
    int64_t issued = 0;     // Number of the last instruction that raised the counter.
    int64_t complete = 0;   // All up to this one are.
    int64_t unordered = 0;  // The last one that may overtake others.
    std::array<int64_t, kNumRegisters> written = {};  // By which one; 0: none.
    std::array<uint64_t, kNumRegisters> where = {};
  };

  void NeedCounters(const Effects& e, uint64_t offset, std::vector<HazardFinding>* findings);
  void NeedHazard(const Hazard& hazard, const Effects& e, uint64_t offset,
                  std::vector<HazardFinding>* findings);
  bool Linked(const Hazard& hazard, const Past& past, const Effects& e) const;
  void Waits(const Inst& inst);

  Isa isa_;
  int64_t state_ = 0;
  std::vector<Past> past_;  // The newest last.
  std::array<Under, kNumCounters> under_ = {};
};

void State::WaitFor(Counter counter, uint32_t count) {
  Under& u = under_[static_cast<int>(counter)];
  // While something may overtake, only zero says anything.
  if (count != 0 && u.unordered > u.complete) return;
  u.complete = std::max(u.complete, u.issued - static_cast<int64_t>(count));
}

std::vector<Counter> State::Pending() const {
  std::vector<Counter> pending;
  for (int c = 0; c < kNumCounters; ++c) {
    const Under& u = under_[c];
    if (static_cast<Counter>(c) != Counter::kVs && u.issued > u.complete) {
      pending.push_back(static_cast<Counter>(c));
    }
  }
  return pending;
}

void State::NeedCounters(const Effects& e, uint64_t offset, std::vector<HazardFinding>* findings) {
  for (int c = 0; c < kNumCounters; ++c) {
    Under& u = under_[c];
    if (u.issued == u.complete) continue;
    int64_t newest = 0;
    uint16_t which = 0;
    for (const std::vector<Registers>* list : {&e.reads, &e.writes}) {
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

bool State::Linked(const Hazard& hazard, const Past& past, const Effects& e) const {
  const auto meet = [](const std::vector<Registers>& a, const std::vector<Registers>& b, int low,
                       int high) {
    for (const Registers& x : a) {
      if (x.first < low || x.first >= high) continue;
      for (const Registers& y : b) {
        if (x.Meets(y)) return true;
      }
    }
    return false;
  };
  const std::vector<Registers> exec = {{code::kExecLo, 2}};
  const std::vector<Registers> vcc = {{code::kVccLo, 2}};
  switch (hazard.link) {
    case Link::kSgpr:
      return meet(past.writes, e.reads, 0, code::kM0Cdna);
    case Link::kVcc:
      return meet(past.writes, vcc, 0, 128);
    case Link::kExec:
      return meet(past.writes, exec, 0, 128);
    case Link::kM0:
      return meet(past.writes, {{IsRdna(isa_) ? code::kM0Rdna : code::kM0Cdna, 1}}, 0, 128);
    case Link::kVgpr: {
      // A matrix instruction may take the sum of the one before it.
      const bool chain = hazard.producer == Actor::kMatrix && hazard.consumer == Actor::kMatrix;
      return meet(past.writes, chain ? e.multiplicands : e.reads, 256, kNumRegisters);
    }
    case Link::kVgprWritten:
      return meet(past.reads, e.writes, 256, kNumRegisters);
    case Link::kOrder:
      return true;
  }
  return false;
}

void State::NeedHazard(const Hazard& hazard, const Effects& e, uint64_t offset,
                       std::vector<HazardFinding>* findings) {
  if ((e.actors & Bit(hazard.consumer)) == 0) return;
  // Rules between matrix instructions are others than those for VALUs in general.
  if (hazard.producer == Actor::kMatrix && hazard.consumer == Actor::kValu &&
      (e.actors & Bit(Actor::kMatrix)) != 0) {
    return;
  }
  for (size_t i = past_.size(); i-- > 0;) {
    const Past& past = past_[i];
    const int64_t between = state_ - past.state - 1;
    if (between >= hazard.distance) break;
    if ((past.actors & Bit(hazard.producer)) == 0 || !Linked(hazard, past, e)) continue;
    HazardFinding finding;
    finding.offset = offset;
    finding.hazard = &hazard;
    finding.nops = static_cast<int>(hazard.distance - between);
    finding.message =
        absl::StrCat(hazard.name, ": ",
                     hazard.cure == Cure::kVaVdst0
                         ? "put s_waitcnt_depctr depctr_va_vdst(0) before it"
                         : absl::StrCat(finding.nops, hazard.cure == Cure::kNop
                                                          ? " more wait states are needed (s_nop)"
                                                          : " more v_nop is needed"));
    findings->push_back(std::move(finding));
    if (hazard.cure != Cure::kVaVdst0) state_ += hazard.distance - between;
    return;
  }
}

std::vector<HazardFinding> State::Need(const Inst& inst, const Effects& e, uint64_t offset) {
  std::vector<HazardFinding> findings;
  if (StartsWith(inst.form->name, "s_wait") || inst.form->op == Op::kSNop) return findings;
  NeedCounters(e, offset, &findings);
  for (const Hazard& hazard : Hazards()) {
    if ((hazard.isas >> static_cast<int>(isa_) & 1) != 0) NeedHazard(hazard, e, offset, &findings);
  }
  return findings;
}

// s_waitcnt and its kin.
void State::Waits(const Inst& inst) {
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
  if ((name == "s_waitcnt_depctr" || name == "s_wait_alu") && value >> 12 == 0) {
    // Results of VALUs are there.
    for (Past& past : past_) past.actors &= ~Bit(Actor::kTrans);
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

void State::Execute(const Inst& inst, const Effects& e, uint64_t offset) {
  if (StartsWith(inst.form->name, "s_wait")) Waits(inst);
  const std::vector<Counter> counters = CountersOf(inst, e, isa_);
  for (const Counter c : counters) {
    Under& u = under_[static_cast<int>(c)];
    ++u.issued;
    // Scalar loads and those of both kinds of memory come back in any order.
    if (inst.form->format == Format::kSmem || counters.size() > 1) u.unordered = u.issued;
    const std::vector<Registers>& late = inst.form->format == Format::kExp ? e.reads
                                         : e.load                          ? e.writes
                                                  : std::vector<Registers>();
    for (const Registers& r : late) {
      for (int i = r.first; i < std::min(r.first + r.count, kNumRegisters); ++i) {
        u.written[i] = u.issued;
        u.where[i] = offset;
      }
    }
  }
  constexpr int64_t kLongest = 24;
  while (!past_.empty() && state_ - past_.front().state > kLongest) past_.erase(past_.begin());
  past_.push_back({e.actors, e.reads, e.writes, state_});
  state_ += inst.form->op == Op::kSNop ? inst.operands[0].value + 1 : 1;
}

struct Decoded {
  uint64_t offset = 0;
  Inst inst;
};

bool GoesElsewhere(const Inst& inst) {
  for (int i = 0; i < inst.num_operands; ++i) {
    if (inst.form->specs[i].cls == OperandClass::kLabel) return true;
  }
  return false;
}

void AppendWord(uint32_t word, std::vector<uint8_t>* code) {
  uint8_t bytes[4];
  std::memcpy(bytes, &word, sizeof(word));
  code->insert(code->end(), bytes, bytes + 4);
}

// SOPP words: opcode 22:16.
constexpr uint32_t Sopp(uint32_t opcode, uint32_t value) {
  return 0xbf800000 | opcode << 16 | value;
}

void AppendWait(Counter counter, uint32_t count, Isa isa, std::vector<uint8_t>* code) {
  if (isa == Isa::kGfx12) {
    // s_wait_loadcnt is 64; the others follow.
    constexpr uint8_t kOpcodes[kNumCounters] = {64, 65, 0, 70, 71, 66, 67, 68};
    AppendWord(Sopp(kOpcodes[static_cast<int>(counter)], count), code);
    return;
  }
  uint32_t value = 0;
  const absl::Span<const CounterField> fields = WaitCounters(isa);
  constexpr Counter kOrder[] = {Counter::kVm, Counter::kExp, Counter::kLgkm};
  for (size_t i = 0; i < fields.size(); ++i) {
    value |=
        fields[i].Put(kOrder[i] == counter ? std::min(count, fields[i].Max()) : fields[i].Max());
  }
  AppendWord(Sopp(IsCdna(isa) ? 12 : 9, value), code);
}

void AppendCure(const HazardFinding& finding, Isa isa, std::vector<uint8_t>* code) {
  if (finding.hazard == nullptr) return AppendWait(finding.counter, finding.count, isa, code);
  switch (finding.hazard->cure) {
    case Cure::kNop:
      for (int left = finding.nops; left > 0; left -= 8) {
        AppendWord(Sopp(0, static_cast<uint32_t>(std::min(left, 8) - 1)), code);
      }
      break;
    case Cure::kVNop:
      for (int i = 0; i < finding.nops; ++i) AppendWord(0x7e000000, code);  // VOP1, opcode 0.
      break;
    case Cure::kVaVdst0:
      AppendWord(Sopp(8, 0x0f9f), code);
      break;
  }
}

}  // namespace

std::vector<HazardFinding> CheckHazards(absl::Span<const uint8_t> code, Arch arch) {
  const Isa isa = IsaOf(arch);
  std::vector<HazardFinding> findings;
  State state(isa);
  for (size_t at = 0; at < code.size();) {
    Inst inst;
    if (DecodeFast(code.subspan(at), isa, &inst) != DecodeError::kOk) {
      state = State(isa);
      at += static_cast<size_t>(SkipBytes(code.subspan(at)));
      continue;
    }
    const Effects effects = EffectsOf(inst, isa);
    for (HazardFinding& finding : state.Need(inst, effects, at)) {
      findings.push_back(std::move(finding));
    }
    state.Execute(inst, effects, at);
    at += inst.size;
  }
  return findings;
}

absl::StatusOr<std::vector<uint8_t>> InsertWaits(absl::Span<const uint8_t> code, Arch arch) {
  const Isa isa = IsaOf(arch);
  std::vector<Decoded> program;
  std::set<uint64_t> targets;
  for (size_t at = 0; at < code.size();) {
    Decoded& d = program.emplace_back();
    d.offset = at;
    if (DecodeFast(code.subspan(at), isa, &d.inst) != DecodeError::kOk) {
      return absl::InvalidArgumentError(absl::StrFormat("no instruction at 0x%x", at));
    }
    const std::string_view name = d.inst.form->name;
    for (const std::string_view computed : {"s_getpc", "s_call", "s_setpc", "s_swappc"}) {
      if (StartsWith(name, computed)) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "%s at 0x%x: distances in the code would change", d.inst.form->name, at));
      }
    }
    at += d.inst.size;
    if (GoesElsewhere(d.inst)) {
      const int words = static_cast<int16_t>(d.inst.operands[d.inst.num_operands - 1].value);
      targets.insert(at + static_cast<uint64_t>(4 * int64_t{words}));
    }
  }
  std::vector<uint8_t> out;
  std::map<uint64_t, uint64_t> moved;                   // From offsets to new ones.
  std::vector<std::pair<uint64_t, uint64_t>> branches;  // New offset, old target.
  State state(isa);
  for (const Decoded& d : program) {
    moved[d.offset] = out.size();
    const bool branch = GoesElsewhere(d.inst);
    if (branch || targets.count(d.offset) != 0) {
      for (const Counter counter : state.Pending()) {
        AppendWait(counter, 0, isa, &out);
        state.WaitFor(counter, 0);
      }
    }
    const Effects effects = EffectsOf(d.inst, isa);
    for (const HazardFinding& finding : state.Need(d.inst, effects, d.offset)) {
      AppendCure(finding, isa, &out);
    }
    state.Execute(d.inst, effects, d.offset);
    if (branch) {
      const int words = static_cast<int16_t>(d.inst.operands[d.inst.num_operands - 1].value);
      branches.emplace_back(out.size(),
                            d.offset + d.inst.size + static_cast<uint64_t>(4 * int64_t{words}));
    }
    const absl::Span<const uint8_t> bytes = code.subspan(d.offset, d.inst.size);
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  moved[code.size()] = out.size();
  for (const auto& [offset, target] : branches) {
    const auto found = moved.find(target);
    if (found == moved.end()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("a branch goes to 0x%x, where no instruction starts", target));
    }
    const int64_t words =
        (static_cast<int64_t>(found->second) - static_cast<int64_t>(offset) - 4) / 4;
    if (words < -32768 || words > 32767) {
      return absl::InvalidArgumentError(absl::StrFormat("the branch to 0x%x goes too far", target));
    }
    const uint16_t field = static_cast<uint16_t>(words);
    std::memcpy(out.data() + offset, &field, sizeof(field));
  }
  return out;
}

}  // namespace tg::amd
