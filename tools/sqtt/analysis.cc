#include "tools/sqtt/analysis.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"

namespace tg::sqtt {
namespace {

InstClass ClassByName(absl::string_view name) {
  auto starts = [name](absl::string_view prefix) { return absl::StartsWith(name, prefix); };
  if (starts("SMEM")) return InstClass::kSmem;
  if (starts("SALU")) return InstClass::kSalu;
  if (starts("WMMA") || name == "VALU_MAI") return InstClass::kMatrix;
  if (starts("VALU") || name == "VINTERP") return InstClass::kValu;
  if (starts("LDS")) return InstClass::kLds;
  if (starts("FLAT") || starts("SGMEM") || starts("VMEM") || starts("BUF")) return InstClass::kVmem;
  if (starts("JUMP") || name == "CALL") return InstClass::kBranch;
  if (starts("BARRIER")) return InstClass::kWait;
  return InstClass::kOther;
}

// Counts what needs no program.
class Counter {
 public:
  explicit Counter(Analysis* out) : out_(out) {}

  void operator()(PacketType type, uint64_t raw, uint64_t time) {
    ++out_->counts[static_cast<int>(type)];
    out_->monotonic &= time >= last_;
    last_ = time;
    switch (type) {
      case PacketType::kLayoutHeader:
        out_->traced.simd = static_cast<uint8_t>(Bits(raw, 14, 13));
        out_->traced.cu = static_cast<uint8_t>(Bits(raw, 17, 15));
        return;
      case PacketType::kInst:
      case PacketType::kInstRdna4:
      case PacketType::kCdnaInst:
        ++out_->ops[InstOp(type, raw)];
        return;
      case PacketType::kAluExec: {
        const uint64_t src = Bits(raw, 7, 6);
        out_->executions.salu += src & 1;
        out_->executions.valu += src >> 1;
        return;
      }
      case PacketType::kVmemExec: {
        Executions& e = out_->executions;
        uint64_t* const units[] = {&e.lds, &e.lds_alt, &e.vmem, &e.vmem_alt};
        ++*units[Bits(raw, 7, 6)];
        return;
      }
      case PacketType::kTsDeltaOrMark:
      case PacketType::kTsDeltaOrMarkRdna4:
        if (IsRealTimeMark(type, raw)) Mark(time, raw >> 12);
        return;
      default:
        return;
    }
  }

  void Finish() {
    if (marks_ >= 2 && last_mark_.second > first_mark_.second) {
      // Clocks in units of 10 ns.
      out_->shader_mhz = 100.0 * static_cast<double>(last_mark_.first - first_mark_.first) /
                         static_cast<double>(last_mark_.second - first_mark_.second);
    }
  }

 private:
  void Mark(uint64_t time, uint64_t real) {
    if (marks_++ == 0) first_mark_ = {time, real};
    last_mark_ = {time, real};
  }

  Analysis* out_;
  uint64_t last_ = 0;
  int marks_ = 0;
  std::pair<uint64_t, uint64_t> first_mark_, last_mark_;  // Shader clock, 100 MHz clock.
};

}  // namespace

absl::string_view InstClassName(InstClass c) {
  constexpr absl::string_view kNames[kNumInstClasses] = {"SALU", "SMEM",   "VALU", "MATRIX", "VMEM",
                                                         "LDS",  "BRANCH", "WAIT", "OTHER"};
  return kNames[static_cast<int>(c)];
}

InstClass ClassOf(Layout layout, PacketType packet, int op) {
  switch (packet) {
    case PacketType::kValuInst:
      return InstClass::kValu;
    case PacketType::kImmediate:
    case PacketType::kImmediateMask:
      return InstClass::kWait;
    case PacketType::kInst:
    case PacketType::kInstRdna4:
    case PacketType::kCdnaInst:
      return ClassByName(InstOpName(layout, op));
    default:
      return InstClass::kOther;
  }
}

absl::StatusOr<Analysis> Analyze(absl::Span<const uint8_t> bytes, const Program* program) {
  Analysis a;
  a.size = bytes.size();
  Counter counter(&a);
  WaveCollector waves(&a.reports);
  const Program none = Program::FromCode({}, 0, amd::Arch::kGfx1100);
  auto sink = [&a](const IssuedInst& i) { a.insts.push_back(i); };
  InstructionMatcher matcher(program != nullptr ? *program : none, &a.reports, sink);
  absl::StatusOr<DecodeSummary> sum =
      Decode(bytes, [&](PacketType type, uint64_t raw, uint64_t time, uint64_t offset) {
        counter(type, raw, time);
        waves(type, raw, time, offset);
        if (program != nullptr) matcher(type, raw, time, offset);
      });
  if (!sum.ok()) return sum.status();
  a.summary = *sum;
  counter.Finish();
  if (sum->unknown_codes > 0) {
    a.reports.Add(Problem::kUnknownCode, sum->first_unknown_offset, 0);
  }
  waves.Finish(sum->last_time);
  a.waves = waves.TakeWaves();
  return a;
}

std::vector<PcTotals> TotalsByPc(absl::Span<const IssuedInst> insts, const Program& program) {
  std::vector<PcTotals> all(static_cast<size_t>(program.num_indices()));
  for (const IssuedInst& i : insts) {
    PcTotals& t = all[static_cast<size_t>(i.index)];
    t.index = i.index;
    ++t.hits;
    t.cycles += i.duration + i.stall;
    t.stall += i.stall;
  }
  std::vector<PcTotals> hit;
  for (const PcTotals& t : all) {
    if (t.hits > 0) hit.push_back(t);
  }
  return hit;
}

std::array<ClassTotals, kNumInstClasses> TotalsByClass(const Analysis& analysis) {
  std::array<ClassTotals, kNumInstClasses> totals;
  for (const IssuedInst& i : analysis.insts) {
    ClassTotals& t = totals[static_cast<int>(ClassOf(analysis.summary.layout, i.packet, i.op))];
    ++t.count;
    t.cycles += i.duration;
    t.stall += i.stall;
  }
  return totals;
}

std::vector<double> AverageWaves(absl::Span<const Wave> waves, uint64_t from, uint64_t to,
                                 int buckets) {
  std::vector<double> average(static_cast<size_t>(buckets));
  const double origin = static_cast<double>(from);
  const double width = (static_cast<double>(to) - origin) / buckets;
  for (const Wave& w : waves) {
    const double begin = (static_cast<double>(w.start) - origin) / width;
    const double end = (static_cast<double>(w.end) - origin) / width;
    for (int b = std::max(0, static_cast<int>(begin)); b < buckets && b < end; ++b) {
      average[static_cast<size_t>(b)] +=
          std::min(end, b + 1.0) - std::max(begin, static_cast<double>(b));
    }
  }
  return average;
}

Occupancy ComputeOccupancy(absl::Span<const Wave> waves, int buckets) {
  Occupancy o;
  if (waves.empty()) return o;
  o.begin = waves[0].start;
  std::map<std::tuple<int, int, int>, std::vector<const Wave*>> by_simd;
  for (const Wave& w : waves) {
    o.begin = std::min(o.begin, w.start);
    o.end = std::max(o.end, w.end);
    by_simd[{w.slot.sa, w.slot.cu, w.slot.simd}].push_back(&w);
  }
  for (const auto& [key, list] : by_simd) {
    SimdOccupancy s;
    s.simd = list[0]->slot;
    s.simd.wave = 0;
    s.waves = list.size();
    // Starts and ends in order; ends first where they coincide.
    std::vector<std::pair<uint64_t, int>> events;
    for (const Wave* w : list) {
      events.push_back({w->start, 1});
      events.push_back({w->end, -1});
      s.wave_clocks += w->end - w->start;
    }
    std::sort(events.begin(), events.end());
    int now = 0;
    uint64_t since = 0;
    for (const auto& [time, step] : events) {
      if (now == 0) since = time;
      now += step;
      s.max_waves = std::max(s.max_waves, now);
      if (now == 0) s.busy += time - since;
    }
    o.simds.push_back(s);
  }
  if (buckets <= 0 || o.end == o.begin) return o;
  o.average_by_bucket = AverageWaves(waves, o.begin, o.end, buckets);
  return o;
}

}  // namespace tg::sqtt
