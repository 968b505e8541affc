#include "tools/sqtt/sample.h"

#include <cstring>
#include <initializer_list>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "tools/sqtt/encode.h"

namespace tg::sqtt {
namespace {

using Fields = std::initializer_list<std::pair<absl::string_view, uint64_t>>;

void Add(Encoder& e, PacketType type, Fields fields) {
  const absl::Status status = e.Append(type, fields);
  TG_CHECK(status.ok()) << status.message();
}

// The loop of one wave, an instruction at a time.
class RdnaWave {
 public:
  RdnaWave(Encoder* e, uint64_t slot) : e_(e), slot_(slot), rdna3_(e->layout() == Layout::kRdna3) {}

  void Start(uint64_t simd) {
    Add(*e_, rdna3_ ? PacketType::kWaveStart : PacketType::kWaveStartRdna4,
        {{"delta", 1}, {"simd", simd}, {"wave", slot_}, {"id7", slot_ + 7}});
  }
  void End(uint64_t simd) {
    Add(*e_, rdna3_ ? PacketType::kWaveEnd : PacketType::kWaveEndRdna4,
        {{"delta", 2}, {"simd", simd}, {"wave", slot_}});
  }
  void Valu() { Add(*e_, PacketType::kValuInst, {{"delta", 1}, {"wave", slot_}}); }
  void Wait() { Add(*e_, PacketType::kImmediate, {{"delta", 3}, {"wave", slot_}}); }
  void Inst(absl::string_view op) {
    Add(*e_, rdna3_ ? PacketType::kInst : PacketType::kInstRdna4,
        {{"delta", 1},
         {"wave", slot_},
         {"op", static_cast<uint64_t>(FindInstOp(e_->layout(), op))}});
  }

 private:
  Encoder* e_;
  uint64_t slot_;
  bool rdna3_;
};

std::vector<uint8_t> RdnaTrace(Layout layout) {
  const bool rdna3 = layout == Layout::kRdna3;
  Encoder e(layout);
  auto mark = [&](uint64_t clock) {
    Add(e, rdna3 ? PacketType::kTsDeltaOrMark : PacketType::kTsDeltaOrMarkRdna4,
        {{"delta", clock}, {"rt", 1}});
  };
  Add(e, PacketType::kReg, {{"slot", 4}, {"hi_byte", 2}, {"subop", 0xc200}, {"val32", 0xe0000000}});
  mark(5000);
  e.Advance(1000);
  RdnaWave first(&e, 0), second(&e, 1), other(&e, 0);
  first.Start(0);
  second.Start(0);
  other.Start(2);
  Add(e, PacketType::kTsWaveState, {{"delta", 40}, {"coarse", 1}});
  first.Inst("SALU");
  second.Inst("SALU");
  first.Valu();
  second.Valu();
  for (int trip = 0; trip < kSampleTrips; ++trip) {
    for (RdnaWave* w : {&first, &second}) {
      w->Valu();
      Add(e, PacketType::kAluExec, {{"delta", 1}, {"src", 2}});
      w->Inst("SALU");
      Add(e, PacketType::kAluExec, {{"src", 1}});
      w->Inst(trip + 1 < kSampleTrips ? "JUMP" : "JUMP_NO");
    }
    Add(e, PacketType::kNop, {});
    e.Advance(9);
    // Of the SIMD beside it.
    first.Inst("OTHER_VMEM_2");
    Add(e, PacketType::kVmemExec, {{"delta", 2}, {"src", 3}});
  }
  // Both waits end in the same clock.
  e.Advance(300);
  Add(e, PacketType::kImmediateMask, {{"delta", 2}, {"mask", 3}});
  first.End(0);
  other.End(2);
  second.End(0);
  mark(5100);
  return e.Finish();
}

std::vector<uint8_t> CdnaTrace() {
  Encoder e(Layout::kCdna);
  e.Advance(1020);
  Add(e, PacketType::kCdnaTimestamp, {{"timestamp", 70'000}});
  for (uint64_t wave = 0; wave < 3; ++wave) {
    Add(e, PacketType::kCdnaWaveStart,
        {{"cu", 1}, {"simd", wave % 2}, {"wave", wave}, {"count", wave + 1}});
    e.Advance(8);
  }
  for (uint64_t i = 0; i < 12; ++i) {
    const char* const op = i % 4 == 3 ? "SMEM_RD" : "VALU_32";
    Add(e, PacketType::kCdnaInst,
        {{"wave", i % 3},
         {"simd", i % 3 % 2},
         {"op", static_cast<uint64_t>(FindInstOp(Layout::kCdna, op))}});
    Add(e, PacketType::kCdnaIssue, {{"simd", i % 3 % 2}, {"inst0", 1}});
    e.Advance(4);
  }
  Add(e, PacketType::kCdnaTimestamp, {{"timestamp", 70'400}});
  for (uint64_t wave = 0; wave < 3; ++wave) {
    Add(e, PacketType::kCdnaWaveEnd, {{"cu", 1}, {"simd", wave % 2}, {"wave", wave}});
    e.Advance(4);
  }
  return e.Finish();
}

}  // namespace

Sample MakeSample(Layout layout) {
  if (layout == Layout::kCdna) return {amd::Arch::kGfx950, {}, CdnaTrace()};
  const bool rdna3 = layout == Layout::kRdna3;
  const uint32_t words[] = {
      0xbe800084,                         // s_mov_b32 s0, 4
      0x7e0002f2,                         // v_mov_b32_e32 v0, 1.0
      0xbf870001,                         // s_delay_alu, which leaves no packet
      0x06000100,                         // v_add_f32_e32 v0, v0, v0
      0x80808100,                         // s_sub_u32 s0, s0, 1
      0xbfa2fffc,                         // s_cbranch_scc1 to s_delay_alu
      rdna3 ? 0xbf890007u : 0xbfc00000u,  // s_waitcnt; s_wait_loadcnt 0x0
      0xbfb00000,                         // s_endpgm
  };
  Sample s{rdna3 ? amd::Arch::kGfx1100 : amd::Arch::kGfx1201, {}, RdnaTrace(layout)};
  s.code.resize(sizeof(words));
  std::memcpy(s.code.data(), words, sizeof(words));
  return s;
}

}  // namespace tg::sqtt
