// Which instruction of the program each packet is, wave by wave.
//
// Only one SIMD of a shader engine is traced in detail: LAYOUT_HEADER says which. Packets of its
// instructions name the slot of their wave, not where in the program it is; so each wave is
// followed from its WAVESTART on. CDNA traces have too few packets for that and give no
// instructions.
#ifndef TG_TOOLS_SQTT_INSTRUCTIONS_H_
#define TG_TOOLS_SQTT_INSTRUCTIONS_H_

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "tools/sqtt/packet.h"
#include "tools/sqtt/program.h"
#include "tools/sqtt/report.h"
#include "tools/sqtt/waves.h"

namespace tg::sqtt {

// An instruction that was issued.
struct IssuedInst {
  uint64_t time;      // Shader clock of the issue. For s_waitcnt and its like: when the wait ended.
  uint64_t offset;    // Of its packet, in nibbles.
  int64_t index;      // In the program.
  uint32_t wave_run;  // Counts the waves of the traced SIMD in the order of their starts.
  uint32_t duration;  // Clocks for which it keeps its unit busy.
  uint64_t stall;     // Clocks between the end of the wave's instruction before and this one.
  int16_t op;         // INST.op; -1 for other packets.
  PacketType packet;
  uint8_t wave;  // Slot.
};

// A visitor for Decode that calls sink(const IssuedInst&). Allocates nothing. Where a wave can no
// longer be followed there is a report, and the wave's later packets give no instructions;
// following begins again at the slot's next WAVESTART.
template <typename Sink>
class InstructionMatcher {
 public:
  InstructionMatcher(const Program& program, Reports* reports, Sink sink)
      : program_(program), reports_(reports), sink_(std::move(sink)) {}

  void operator()(PacketType type, uint64_t raw, uint64_t time, uint64_t offset) {
    switch (type) {
      case PacketType::kValuInst:
      case PacketType::kImmediate:
        // Of an instruction of a wave of 64 lanes there are two packets; the second is marked.
        if (type == PacketType::kValuInst && Bits(raw, 6, 6) != 0) return;
        Issue(type, static_cast<int>(Bits(raw, 11, 7)), -1, time, offset);
        return;
      case PacketType::kInst:
        if (Bits(raw, 7, 7) != 0) return;
        IssueOp(Layout::kRdna3, type, static_cast<int>(Bits(raw, 12, 8)),
                static_cast<int>(Bits(raw, 19, 13)), time, offset);
        return;
      case PacketType::kInstRdna4:
        if (Bits(raw, 6, 6) != 0) return;
        IssueOp(Layout::kRdna4, type, static_cast<int>(Bits(raw, 11, 7)),
                static_cast<int>(Bits(raw, 19, 12)), time, offset);
        return;
      case PacketType::kImmediateMask:
        for (uint64_t mask = Bits(raw, 23, 8); mask != 0; mask &= mask - 1) {
          Issue(type, std::countr_zero(mask), -1, time, offset);
        }
        return;
      case PacketType::kWaveStart:
      case PacketType::kWaveStartRdna4:
        Start(SlotOf(type, raw), time);
        return;
      case PacketType::kWaveEnd:
      case PacketType::kWaveEndRdna4:
        End(type, SlotOf(type, raw), time, offset);
        return;
      case PacketType::kLayoutHeader:
        simd_ = static_cast<int>(Bits(raw, 14, 13));
        cu_ = static_cast<int>(Bits(raw, 17, 15));
        return;
      default:
        return;
    }
  }

 private:
  struct Followed {
    bool active = false;
    bool known = false;  // Whether `next` is right.
    uint32_t run = 0;
    int64_t next = 0;   // Index of the instruction that comes next.
    uint64_t free = 0;  // When the instruction before has ended.
  };

  bool IsTraced(const WaveSlot& slot) const { return slot.cu == cu_ && slot.simd == simd_; }

  void Start(const WaveSlot& slot, uint64_t time) {
    if (!IsTraced(slot)) return;
    waves_[slot.wave] = {.active = true, .known = true, .run = runs_++, .next = 0, .free = time};
  }

  void End(PacketType type, const WaveSlot& slot, uint64_t time, uint64_t offset) {
    if (!IsTraced(slot)) return;
    Followed& w = waves_[slot.wave];
    if (w.active && w.known) Emit(w, type, slot.wave, -1, 1, time, offset);
    w.active = false;
  }

  void Emit(Followed& w, PacketType type, int wave, int op, int duration, uint64_t time,
            uint64_t offset) {
    sink_(IssuedInst{.time = time,
                     .offset = offset,
                     .index = w.next,
                     .wave_run = w.run,
                     .duration = static_cast<uint32_t>(duration),
                     .stall = time > w.free ? time - w.free : 0,
                     .op = static_cast<int16_t>(op),
                     .packet = type,
                     .wave = static_cast<uint8_t>(wave)});
    w.free = time + static_cast<uint64_t>(duration);
  }

  // The wave, moved to its next instruction that leaves a packet; null when it is not followed.
  Followed* Next(int wave, uint64_t time, uint64_t offset) {
    Followed& w = waves_[wave];
    if (!w.active) {
      reports_->Add(Problem::kNoWave, offset, time, wave);
      return nullptr;
    }
    if (!w.known) return nullptr;
    while (program_.At(w.next).kind == InstKind::kSilent) w.next += program_.At(w.next).size / 4;
    if (program_.At(w.next).kind == InstKind::kInvalid) {
      Lose(w, Problem::kNotInProgram, wave, time, offset);
      return nullptr;
    }
    return &w;
  }

  void Lose(Followed& w, Problem problem, int wave, uint64_t time, uint64_t offset) {
    reports_->Add(problem, offset, time, wave);
    w.known = false;
  }

  void Issue(PacketType type, int wave, int op, uint64_t time, uint64_t offset, int duration = 1,
             bool jump = false, bool jump_packet = false) {
    Followed* w = Next(wave, time, offset);
    if (w == nullptr) return;
    const Program::Inst& inst = program_.At(w->next);
    if (inst.kind == InstKind::kBranch && !jump_packet) {
      return Lose(*w, Problem::kBranchWithoutJump, wave, time, offset);
    }
    if (jump_packet && inst.kind != InstKind::kBranch) {
      return Lose(*w, Problem::kJumpWithoutBranch, wave, time, offset);
    }
    Emit(*w, type, wave, op, duration, time, offset);
    if (inst.kind == InstKind::kIndirect) {
      return Lose(*w, Problem::kIndirectJump, wave, time, offset);
    }
    w->next = jump || inst.kind == InstKind::kCall ? inst.target : w->next + inst.size / 4;
  }

  void IssueOp(Layout layout, PacketType type, int wave, int op, uint64_t time, uint64_t offset) {
    constexpr int kJump = 3, kJumpNo = 4;  // In both enumerations.
    if (IsOtherSimd(layout, op)) return;
    Issue(type, wave, op, time, offset, InstOpDuration(layout, op), op == kJump,
          op == kJump || op == kJumpNo);
  }

  const Program& program_;
  Reports* reports_;
  Sink sink_;
  int cu_ = 0, simd_ = 0;
  uint32_t runs_ = 0;
  std::array<Followed, 32> waves_;
};

}  // namespace tg::sqtt

#endif  // TG_TOOLS_SQTT_INSTRUCTIONS_H_
