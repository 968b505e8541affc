// Decoding thread traces: packets alone, with waves, with waves and instructions; MB/s and
// packets/s on one core, and how many times the speed of a decoder in Python that is.
//
// The traces are made by the encoder with the mix of packets that traces of a matrix product have
// on a gfx1100 (RDNA 3) and a gfx950 (CDNA) card. Their size, 32 MB, is beyond the caches.
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "benchmark/benchmark.h"
#include "tools/sqtt/decode.h"
#include "tools/sqtt/encode.h"
#include "tools/sqtt/instructions.h"
#include "tools/sqtt/program.h"
#include "tools/sqtt/waves.h"

namespace tg::sqtt {
namespace {

// A decoder in Python on a machine of this kind, over traces of real cards: packets a second.
constexpr double kPythonPackets = 1.75e6;

// Waves that run a loop of vector instructions, loads and a branch, over and over.
constexpr uint32_t kLoop[] = {
    0xf4040000, 0xf8000000,  // s_load_b64 s[0:1], s[0:1], null
    0xbf890007,              // s_waitcnt
    0x30020082,              // v_lshlrev_b32_e32 v1, 2, v0
    0x4a040284,              // v_add_nc_u32_e32 v2, 4, v1
    0xbfa2fffa,              // s_cbranch_scc1, back to the start
    0xbfb00000,              // s_endpgm
};

std::vector<uint8_t> MakeRdna3(uint64_t bytes) {
  Encoder e(Layout::kRdna3);
  std::mt19937_64 rng(1);
  auto add = [&e](PacketType type, uint64_t raw) {
    if (!e.Append(type, raw).ok()) std::abort();
  };
  const uint64_t smem = static_cast<uint64_t>(FindInstOp(Layout::kRdna3, "SMEM_RD"));
  const uint64_t jump = static_cast<uint64_t>(FindInstOp(Layout::kRdna3, "JUMP"));
  const uint64_t jump_no = static_cast<uint64_t>(FindInstOp(Layout::kRdna3, "JUMP_NO"));
  while (e.time() < bytes * 2) {  // About a clock a nibble: the size is cut below.
    for (uint64_t w = 0; w < 4; ++w) add(PacketType::kWaveStart, w << 13 | 1 << 5);
    for (int trip = 0; trip < 8; ++trip) {
      for (uint64_t w = 0; w < 4; ++w) {
        const uint64_t delta = rng() % 4;
        add(PacketType::kInst, smem << 13 | w << 8 | delta << 4);
        if (rng() % 4 == 0) add(PacketType::kTsDeltaShort, (rng() % 16) << 4);
        add(PacketType::kImmediate, w << 7 | delta << 4);
        add(PacketType::kValuInst, w << 7 | delta << 3);
        add(PacketType::kAluExec, 2 << 6 | (delta & 3) << 4);
        add(PacketType::kValuInst, w << 7 | (rng() % 8) << 3);
        add(PacketType::kAluExec, 2 << 6 | 1 << 4);
        add(PacketType::kInst, (trip == 7 ? jump_no : jump) << 13 | w << 8 | 1 << 4);
        for (uint64_t n = rng() % 8; n > 0; --n) add(PacketType::kNop, 0);
      }
      add(PacketType::kTsWaveState, (rng() % 200) << 7);
      if (trip % 4 == 0) add(PacketType::kReg, rng() & ~uint64_t{0x70});
    }
    for (uint64_t w = 0; w < 4; ++w) add(PacketType::kWaveEnd, w << 15 | 1 << 5);
    add(PacketType::kTsDeltaOrMark, (rng() % 2000) << 12);
  }
  std::vector<uint8_t> trace = e.Finish();
  return trace;
}

std::vector<uint8_t> MakeCdna(uint64_t bytes) {
  Encoder e(Layout::kCdna);
  std::mt19937_64 rng(2);
  auto add = [&e](PacketType type, uint64_t raw) {
    if (!e.Append(type, raw).ok()) std::abort();
  };
  for (uint64_t n = 0; n < bytes / 26; ++n) {  // A turn is some 26 bytes.
    const uint64_t wave = n % 8 << 10 | n / 8 % 4 << 14;
    if (n % 64 < 32) add(PacketType::kCdnaWaveStart, wave);
    for (uint64_t k = 0; k < 5; ++k) add(PacketType::kCdnaMisc, (rng() % 256) << 4);
    add(PacketType::kCdnaInst, (rng() % 8) << 11);
    add(PacketType::kCdnaIssue, rng());
    if (n % 16 == 0) add(PacketType::kCdnaReg, rng());
    if (n % 64 >= 32) add(PacketType::kCdnaWaveEnd, wave);
  }
  return e.Finish();
}

const std::vector<uint8_t>& Trace(Layout layout) {
  constexpr uint64_t kBytes = 32 << 20;
  static const std::vector<uint8_t> rdna = MakeRdna3(kBytes), cdna = MakeCdna(kBytes);
  return layout == Layout::kCdna ? cdna : rdna;
}

const Program& LoopProgram() {
  static const Program program =
      Program::FromCode(absl::MakeSpan(reinterpret_cast<const uint8_t*>(kLoop), sizeof(kLoop)),
                        0x100, amd::Arch::kGfx1100);
  return program;
}

void Report(benchmark::State& state, uint64_t packets, size_t bytes) {
  using benchmark::Counter;
  const double total = static_cast<double>(packets) * static_cast<double>(state.iterations());
  state.counters["packets/s"] = Counter(total, Counter::kIsRate);
  state.counters["x Python"] = Counter(total / kPythonPackets, Counter::kIsRate);
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
}

void BM_Packets(benchmark::State& state, Layout layout) {
  const std::vector<uint8_t>& trace = Trace(layout);
  uint64_t packets = 0;
  for (auto _ : state) {
    uint64_t counts[kNumPacketTypes] = {}, bits = 0;
    absl::StatusOr<DecodeSummary> sum =
        Decode(trace, [&](PacketType type, uint64_t raw, uint64_t time, uint64_t) {
          ++counts[static_cast<int>(type)];
          bits ^= raw + time;
        });
    benchmark::DoNotOptimize(counts);
    benchmark::DoNotOptimize(bits);
    packets = sum->packets;
  }
  Report(state, packets, trace.size());
}

void BM_Waves(benchmark::State& state, Layout layout) {
  const std::vector<uint8_t>& trace = Trace(layout);
  uint64_t packets = 0;
  size_t waves = 0;
  for (auto _ : state) {
    Reports reports;
    WaveCollector collector(&reports);
    absl::StatusOr<DecodeSummary> sum = Decode(trace, collector);
    collector.Finish(sum->last_time);
    waves = collector.waves().size();
    packets = sum->packets;
  }
  Report(state, packets, trace.size());
  state.counters["waves"] = static_cast<double>(waves);
}

void BM_WavesAndInstructions(benchmark::State& state) {
  const std::vector<uint8_t>& trace = Trace(Layout::kRdna3);
  uint64_t packets = 0, instructions = 0;
  for (auto _ : state) {
    Reports reports;
    WaveCollector collector(&reports);
    uint64_t hits[std::size(kLoop)] = {}, stalls = 0;
    instructions = 0;
    auto sink = [&](const IssuedInst& i) {
      ++hits[i.index];
      stalls += i.stall;
      ++instructions;
    };
    InstructionMatcher matcher(LoopProgram(), &reports, sink);
    absl::StatusOr<DecodeSummary> sum =
        Decode(trace, [&](PacketType type, uint64_t raw, uint64_t time, uint64_t offset) {
          collector(type, raw, time, offset);
          matcher(type, raw, time, offset);
        });
    if (!reports.empty()) state.SkipWithError(ToString(reports.first()[0]).c_str());
    benchmark::DoNotOptimize(hits);
    benchmark::DoNotOptimize(stalls);
    packets = sum->packets;
  }
  Report(state, packets, trace.size());
  state.counters["instructions"] = static_cast<double>(instructions);
}

BENCHMARK_CAPTURE(BM_Packets, RDNA3, Layout::kRdna3)->Repetitions(5)->ReportAggregatesOnly();
BENCHMARK_CAPTURE(BM_Packets, CDNA, Layout::kCdna)->Repetitions(5)->ReportAggregatesOnly();
BENCHMARK_CAPTURE(BM_Waves, RDNA3, Layout::kRdna3)->Repetitions(5)->ReportAggregatesOnly();
BENCHMARK_CAPTURE(BM_Waves, CDNA, Layout::kCdna)->Repetitions(5)->ReportAggregatesOnly();
BENCHMARK(BM_WavesAndInstructions)->Repetitions(5)->ReportAggregatesOnly();

}  // namespace
}  // namespace tg::sqtt
