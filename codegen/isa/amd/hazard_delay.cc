// InsertDelays of hazard.h.
//
// s_delay_alu (RDNA3 ISA and RDNA4 ISA, chapter "SOPP instructions") has two numbers that say what
// an instruction waits for, and how many instructions the second of them is further on:
//   3:0   what the next instruction waits for: 1 to 4, the vector instruction so many before it; 5
//         to 7, the transcendental one so many before it; 9 to 11, so many cycles for a scalar one;
//   6:4   0: the second number is about the same instruction; n: about the n-th after it;
//   10:7  the second number.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "codegen/isa/amd/hazard.h"
#include "codegen/isa/amd/hazard_effects.h"
#include "codegen/isa/amd/hazard_rewrite.h"
#include "codegen/isa/amd/hazard_sgpr.h"

namespace tg::amd {
namespace {

enum class Unit : uint8_t { kNone, kVector, kTrans, kScalar };

// Cycles until a result is there, as LLVM 22 models RDNA 3 and 4.
constexpr int kVectorCycles = 5;
constexpr int kTransCycles = 10;
constexpr int kScalarCycles = 2;
constexpr int kDoubleCycles = 38;

constexpr int kMostVector = 4;
constexpr int kMostTrans = 3;
constexpr int kMostScalar = 3;
constexpr uint32_t kMostSkip = 5;
constexpr uint32_t kDelayOpcode = 7;

Unit UnitOf(const Effects& e) {
  if (e.Is(Actor::kTrans)) return Unit::kTrans;
  if (e.Is(Actor::kValu)) return Unit::kVector;
  return e.Is(Actor::kSalu) ? Unit::kScalar : Unit::kNone;
}

bool HasF64(const Inst& inst) {
  const Form& form = *inst.form;
  for (const OperandSpec& spec : form.operands()) {
    if (spec.type == DataType::kF64) return true;
  }
  return false;
}

int Cycles(const Inst& inst, Unit unit) {
  switch (unit) {
    case Unit::kVector:
      return HasF64(inst) ? kDoubleCycles : kVectorCycles;
    case Unit::kTrans:
      return kTransCycles;
    case Unit::kScalar:
      return kScalarCycles;
    case Unit::kNone:
      break;
  }
  return 0;
}

// Whether the hardware lets the instruction wait for vector instructions anyway.
bool WaitsForVectors(const Inst& inst, const Effects& e) {
  const std::string_view name = inst.form->name;
  if (e.Is(Actor::kMemory) || name.substr(0, 13) == "s_sendmsg_rtn") return true;
  if (name != "s_waitcnt_depctr" && name != "s_wait_alu") return false;
  return (static_cast<uint32_t>(inst.operands[0].value) & kVaVdst) == 0;
}

class Delays {
 public:
  // The numbers of s_delay_alu that `e` profits from: none, one, or two in one word.
  uint32_t Needed(const Effects& e);
  void Execute(const Inst& inst, const Effects& e);
  void Forget() { written_ = {}; }
  // Scalar instructions wait until vector ones have written their SGPRs, and with them for all
  // vector instructions before the last of those.
  void WaitForSgprs();

 private:
  struct Written {
    Unit unit = Unit::kNone;
    int64_t ready = 0;    // Cycle.
    int64_t vectors = 0;  // Vector instructions up to the writer,
    int64_t trans = 0;    // and transcendental ones.
  };

  int64_t cycle_ = 0;
  int64_t vectors_ = 0;
  int64_t trans_ = 0;
  int64_t sgpr_writer_ = 0;  // vectors_ behind the last vector instruction that wrote an SGPR.
  std::array<Written, kNumRegisters> written_ = {};
};

void Delays::WaitForSgprs() {
  if (sgpr_writer_ == 0) return;
  for (Written& w : written_) {
    if (w.unit == Unit::kVector && w.vectors <= sgpr_writer_) w.unit = Unit::kNone;
  }
  sgpr_writer_ = 0;
}

uint32_t Delays::Needed(const Effects& e) {
  // Scalar instructions wait for vector ones by themselves.
  const bool scalar_reader = UnitOf(e) == Unit::kScalar;
  int64_t vector = kMostVector + 1;
  int64_t trans = kMostTrans + 1;
  int64_t vectors_since_trans = INT64_MAX;
  int64_t scalar = 0;
  RegisterList reads = e.reads;
  reads.insert(reads.end(), e.kept.begin(), e.kept.end());
  for (const Registers& r : reads) {
    for (int i = r.first; i < std::min(r.first + r.count, kNumRegisters); ++i) {
      Written& w = written_[static_cast<size_t>(i)];
      if (w.ready > cycle_ && (!scalar_reader || w.unit == Unit::kScalar)) {
        if (w.unit == Unit::kVector) vector = std::min(vector, vectors_ - w.vectors + 1);
        if (w.unit == Unit::kTrans && trans_ - w.trans + 1 <= kMostTrans) {
          trans = std::min(trans, trans_ - w.trans + 1);
          vectors_since_trans = std::min(vectors_since_trans, vectors_ - w.vectors);
        }
        if (w.unit == Unit::kScalar) scalar = std::max(scalar, w.ready - cycle_);
      }
      w.unit = Unit::kNone;  // Who comes later need not wait again.
    }
  }
  std::vector<uint32_t> numbers;
  if (trans <= kMostTrans) numbers.push_back(static_cast<uint32_t>(kMostVector + trans));
  // A vector instruction before the transcendental one is over when that is.
  if (vector <= kMostVector && vector <= vectors_since_trans) {
    numbers.push_back(static_cast<uint32_t>(vector));
  }
  constexpr uint32_t kScalarCode = 8;
  if (scalar > 0 && numbers.size() < 2) {
    numbers.push_back(kScalarCode + static_cast<uint32_t>(std::min<int64_t>(scalar, kMostScalar)));
  }
  uint32_t word = 0;
  for (size_t i = 0; i < numbers.size(); ++i) word |= numbers[i] << (7 * i);
  return word;
}

void Delays::Execute(const Inst& inst, const Effects& e) {
  const Unit unit = UnitOf(e);
  const int64_t ready = cycle_ + Cycles(inst, unit);
  if (unit == Unit::kVector) ++vectors_;
  if (unit == Unit::kTrans) ++trans_;
  for (const Registers& r : e.writes) {
    if (unit == Unit::kVector && r.first < code::kExecLo) sgpr_writer_ = vectors_;
    for (int i = r.first; i < std::min(r.first + r.count, kNumRegisters); ++i) {
      written_[static_cast<size_t>(i)] = {unit, ready, vectors_, trans_};
    }
  }
  cycle_ += inst.form->op == Op::kSNop ? inst.operands[0].value + 1 : 1;
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> InsertDelays(absl::Span<const uint8_t> code, Arch arch,
                                                  const HazardOptions& options) {
  const Isa isa = IsaOf(arch);
  if (!IsRdna(isa)) return absl::InvalidArgumentError("only RDNA 3 and 4 have s_delay_alu");
  absl::StatusOr<CodeRewriter> rewriter = CodeRewriter::Create(code, isa);
  if (!rewriter.ok()) return rewriter.status();
  Delays delays;
  // The last s_delay_alu, as long as its second number is free.
  bool open = false;
  size_t last = 0;
  uint32_t since = 0;  // Instructions after it.
  for (const CodeRewriter::Decoded& d : rewriter->program()) {
    const Effects effects = EffectsOf(d.inst, isa, options.wave64);
    rewriter->Begin(d);
    if (d.target) {
      delays.Forget();
      open = false;
    }
    const bool there = std::string_view(d.inst.form->name) == "s_delay_alu";
    if (there) open = false;
    if (WaitsForVectors(d.inst, effects)) {
      delays.Forget();
    }
    if (UnitOf(effects) == Unit::kScalar || d.inst.form->format == Format::kSmem) {
      delays.WaitForSgprs();
    }
    if (UnitOf(effects) != Unit::kNone) {
      const uint32_t word = delays.Needed(effects);
      const bool two = word >> 7 != 0;
      if (word != 0 && !two && open && since <= kMostSkip) {
        rewriter->SetWordAt(last, rewriter->WordAt(last) | word << 7 | since << 4);
        open = false;
      } else if (word != 0) {
        last = rewriter->Append(Sopp(kDelayOpcode, word));
        since = 0;
        open = !two;
      }
    }
    rewriter->Append(d);
    ++since;
    if (d.branch) open = false;
    delays.Execute(d.inst, effects);
  }
  return rewriter->Finish();
}

}  // namespace tg::amd
