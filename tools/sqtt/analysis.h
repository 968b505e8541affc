// All that the tool's commands and exporters say about one trace.
#ifndef TG_TOOLS_SQTT_ANALYSIS_H_
#define TG_TOOLS_SQTT_ANALYSIS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tools/sqtt/decode.h"
#include "tools/sqtt/instructions.h"
#include "tools/sqtt/packet.h"
#include "tools/sqtt/program.h"
#include "tools/sqtt/report.h"
#include "tools/sqtt/waves.h"

namespace tg::sqtt {

// What an instruction works on: colours and totals.
enum class InstClass : uint8_t {
  kSalu,
  kSmem,
  kValu,
  kMatrix,
  kVmem,
  kLds,
  kBranch,
  kWait,
  kOther
};
inline constexpr int kNumInstClasses = 9;
absl::string_view InstClassName(InstClass c);  // "VALU"
InstClass ClassOf(Layout layout, PacketType packet, int op);

// Executions by unit, from ALUEXEC and VMEMEXEC: those of the traced SIMD, and of the other SIMD
// that shares a memory unit with it (_ALT).
struct Executions {
  uint64_t salu = 0, valu = 0, lds = 0, lds_alt = 0, vmem = 0, vmem_alt = 0;
};

struct Analysis {
  DecodeSummary summary;
  uint64_t size = 0;  // Bytes.
  bool monotonic = true;
  WaveSlot traced;  // The SIMD whose instructions are traced, by the header; its slot is 0.
  std::array<uint64_t, kNumPacketTypes> counts{};
  std::array<uint64_t, kNumInstOps> ops{};  // By INST.op.
  std::vector<Wave> waves;                  // In the order of their ends.
  std::vector<IssuedInst> insts;            // Empty without a program, and in CDNA traces.
  Executions executions;
  // Shader clocks by the 100 MHz clock: the mean frequency between the first and the last mark.
  std::optional<double> shader_mhz;
  Reports reports;
};

// Memory grows with the waves and instructions of the trace. `program` may be null.
absl::StatusOr<Analysis> Analyze(absl::Span<const uint8_t> bytes, const Program* program);

// Of a program's instruction over all waves.
struct PcTotals {
  int64_t index = 0;
  uint64_t hits = 0;
  uint64_t cycles = 0;  // Durations and stalls.
  uint64_t stall = 0;
};
// Those that were hit, by address.
std::vector<PcTotals> TotalsByPc(absl::Span<const IssuedInst> insts, const Program& program);

// Of the instructions of one class, over all waves.
struct ClassTotals {
  uint64_t count = 0, cycles = 0, stall = 0;
};
std::array<ClassTotals, kNumInstClasses> TotalsByClass(const Analysis& analysis);

// How many waves ran, on average over each of `buckets` equal parts of the time from `from` to
// `to`.
std::vector<double> AverageWaves(absl::Span<const Wave> waves, uint64_t from, uint64_t to,
                                 int buckets);

// How full a SIMD was between the first start and the last end of any wave of the trace.
struct SimdOccupancy {
  WaveSlot simd;  // Its slot is 0.
  uint64_t waves = 0;
  uint64_t busy = 0;         // Clocks with at least one wave.
  uint64_t wave_clocks = 0;  // Sum of the waves' lifetimes.
  int max_waves = 0;         // At once.
};
struct Occupancy {
  uint64_t begin = 0, end = 0;
  std::vector<SimdOccupancy> simds;       // By SA, CU and SIMD; those with waves.
  std::vector<double> average_by_bucket;  // Waves of the engine, over equal parts of the time.
};
Occupancy ComputeOccupancy(absl::Span<const Wave> waves, int buckets);

}  // namespace tg::sqtt

#endif  // TG_TOOLS_SQTT_ANALYSIS_H_
