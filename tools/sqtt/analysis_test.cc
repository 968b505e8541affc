#include "tools/sqtt/analysis.h"

#include <string>
#include <vector>

#include "base/file.h"
#include "base/runfiles.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/sqtt/encode.h"
#include "tools/sqtt/export.h"
#include "tools/sqtt/plot.h"
#include "tools/sqtt/sample.h"

namespace tg::sqtt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Program ProgramOf(const Sample& s) { return Program::FromCode(s.code, kSampleAddress, s.arch); }

std::vector<int64_t> Path(const Analysis& a, int wave) {
  std::vector<int64_t> path;
  for (const IssuedInst& i : a.insts) {
    if (i.wave == wave) path.push_back(i.index);
  }
  return path;
}

TEST(AnalysisTest, WavesAreFollowedThroughTheirLoop) {
  for (Layout layout : {Layout::kRdna3, Layout::kRdna4}) {
    const Sample s = MakeSample(layout);
    const Program program = ProgramOf(s);
    const Analysis a = *Analyze(s.trace, &program);
    EXPECT_TRUE(a.reports.empty()) << ToString(a.reports.first()[0]);
    ASSERT_EQ(a.waves.size(), 3);
    EXPECT_EQ(a.waves[1].slot.simd, 2);
    for (int wave : {0, 1}) {
      // Index 2, s_delay_alu, leaves no packet.
      EXPECT_THAT(Path(a, wave), ElementsAre(0, 1, 3, 4, 5, 3, 4, 5, 3, 4, 5, 6, 7));
    }
    EXPECT_EQ(a.executions.valu, 2 * kSampleTrips);
    EXPECT_EQ(a.executions.vmem_alt, kSampleTrips);
    ASSERT_TRUE(a.shader_mhz.has_value());
    EXPECT_NEAR(*a.shader_mhz, static_cast<double>(a.waves[2].end) * 100 / 100, 1);
    const std::vector<PcTotals> totals = TotalsByPc(a.insts, program);
    ASSERT_EQ(totals.size(), 7);
    EXPECT_EQ(totals[2].index, 3);
    EXPECT_EQ(totals[2].hits, 2 * kSampleTrips);
    // The wait lasted since the branch before it.
    EXPECT_EQ(totals[5].index, 6);
    EXPECT_GT(totals[5].stall, 600);
    EXPECT_EQ(totals[5].cycles, totals[5].stall + 2);
  }
}

TEST(AnalysisTest, CdnaHasWavesButNoInstructions) {
  const Sample s = MakeSample(Layout::kCdna);
  const Analysis a = *Analyze(s.trace, nullptr);
  EXPECT_TRUE(a.reports.empty());
  EXPECT_EQ(a.waves.size(), 3);
  EXPECT_EQ(a.waves[2].id, 3);
  EXPECT_TRUE(a.insts.empty());
}

// What is wrong is reported once, and following begins again with the next wave.
TEST(AnalysisTest, Problems) {
  const Program program = ProgramOf(MakeSample(Layout::kRdna3));
  auto problems = [&](auto fill) {
    Encoder e(Layout::kRdna3);
    auto add = [&e](PacketType type,
                    std::initializer_list<std::pair<absl::string_view, uint64_t>> fields) {
      ASSERT_TRUE(e.Append(type, fields).ok());
    };
    fill(add);
    std::vector<Problem> found;
    const Analysis a = *Analyze(e.Finish(), &program);
    for (const Report& r : a.reports.first()) found.push_back(r.problem);
    return found;
  };
  EXPECT_THAT(problems([](auto add) {
                add(PacketType::kValuInst, {{"wave", 1}});
              }),
              ElementsAre(Problem::kNoWave));
  EXPECT_THAT(problems([](auto add) { add(PacketType::kWaveEnd, {}); }),
              ElementsAre(Problem::kWaveEndAlone));
  EXPECT_THAT(problems([](auto add) {
                add(PacketType::kWaveStart, {});
                add(PacketType::kWaveStart, {});
              }),
              ElementsAre(Problem::kWaveStartTwice, Problem::kWaveNotEnded));
  EXPECT_THAT(problems([](auto add) {
                add(PacketType::kWaveStart, {});
                add(PacketType::kInst, {{"op", 3}});  // JUMP, on s_mov_b32.
                add(PacketType::kValuInst, {});
                add(PacketType::kWaveEnd, {});
              }),
              ElementsAre(Problem::kJumpWithoutBranch));
  EXPECT_THAT(problems([](auto add) {
                add(PacketType::kWaveStart, {});
                for (int i = 0; i < 5; ++i) add(PacketType::kValuInst, {});  // The fifth branches.
                add(PacketType::kWaveEnd, {});
              }),
              ElementsAre(Problem::kBranchWithoutJump));
  EXPECT_THAT(problems([](auto add) {
                add(PacketType::kWaveStart, {});
                for (int i = 0; i < 4; ++i) add(PacketType::kValuInst, {});
                add(PacketType::kInst, {{"op", 4}});  // JUMP_NO
                for (int i = 0; i < 3; ++i) add(PacketType::kValuInst, {});
                add(PacketType::kWaveEnd, {});
              }),
              ElementsAre(Problem::kNotInProgram));
}

TEST(AnalysisTest, Occupancy) {
  std::vector<Wave> waves(3);
  waves[0] = {.slot = {.simd = 1}, .start = 100, .end = 200, .ended = true};
  waves[1] = {.slot = {.simd = 1, .wave = 1}, .start = 150, .end = 300, .ended = true};
  waves[2] = {.slot = {.cu = 2}, .start = 100, .end = 110, .ended = true};
  const Occupancy o = ComputeOccupancy(waves, 4);
  EXPECT_EQ(o.begin, 100);
  EXPECT_EQ(o.end, 300);
  ASSERT_EQ(o.simds.size(), 2);
  EXPECT_EQ(o.simds[0].waves, 2);
  EXPECT_EQ(o.simds[0].busy, 200);
  EXPECT_EQ(o.simds[0].wave_clocks, 250);
  EXPECT_EQ(o.simds[0].max_waves, 2);
  EXPECT_EQ(o.simds[1].busy, 10);
  ASSERT_EQ(o.average_by_bucket.size(), 4);
  EXPECT_NEAR(o.average_by_bucket[0], 1.2, 1e-9);
  EXPECT_NEAR(o.average_by_bucket[1], 2, 1e-9);
  EXPECT_NEAR(o.average_by_bucket[3], 1, 1e-9);
  EXPECT_TRUE(ComputeOccupancy({}, 4).simds.empty());
}

// The fields that the Trace Event Format wants, of the types that it wants.
TEST(ExportTest, PerfettoEvents) {
  const Sample s = MakeSample(Layout::kRdna3);
  const Program program = ProgramOf(s);
  const Analysis a = *Analyze(s.trace, &program);
  const NamedAnalysis named{"a \"quoted\" name", 3, &a, &program};
  const nlohmann::json j = nlohmann::json::parse(PerfettoJson({&named, 1}));
  EXPECT_EQ(j["displayTimeUnit"], "ns");
  size_t complete = 0;
  for (const auto& event : j["traceEvents"]) {
    EXPECT_TRUE(event["pid"].is_number_integer());
    EXPECT_TRUE(event["tid"].is_number_integer());
    EXPECT_TRUE(event["name"].is_string());
    if (event["ph"] == "M") {
      EXPECT_TRUE(event["args"]["name"].is_string());
      continue;
    }
    ASSERT_EQ(event["ph"], "X");
    EXPECT_TRUE(event["cat"].is_string());
    EXPECT_GE(event["ts"].get<double>(), 0);
    EXPECT_GE(event["dur"].get<double>(), 0);
    ++complete;
  }
  EXPECT_EQ(complete, a.waves.size() + a.insts.size());
}

TEST(ExportTest, Csv) {
  const Sample s = MakeSample(Layout::kRdna3);
  const Program program = ProgramOf(s);
  const Analysis a = *Analyze(s.trace, &program);
  const NamedAnalysis named{"se0.bin", 0, &a, &program};
  const std::string csv = InstsCsv({&named, 1});
  EXPECT_THAT(csv, HasSubstr("trace,time,wave,pc,instruction,class,packet,op,duration,stall\n"));
  EXPECT_THAT(csv, HasSubstr(",0x10c,\"v_add_f32_e32 v0, v0, v0\",VALU,VALUINST,,1,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), static_cast<int64_t>(a.insts.size()) + 1);
}

TEST(PlotTest, IsBoundedAndNamesWhatItShows) {
  const Sample s = MakeSample(Layout::kRdna3);
  const Program program = ProgramOf(s);
  Analysis a = *Analyze(s.trace, &program);
  const std::string svg = PlotSvg(a, &program, "a <title>", {});
  EXPECT_THAT(svg, HasSubstr("a &lt;title&gt;"));
  EXPECT_THAT(svg, HasSubstr("CU 0 SIMD 2"));
  EXPECT_THAT(svg, HasSubstr("v_add_f32_e32 v0, v0, v0"));
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  // A hundred thousand instructions on the same pixels.
  const IssuedInst last = a.insts.back();
  for (int i = 0; i < 100'000; ++i) a.insts.push_back(last);
  EXPECT_LT(PlotSvg(a, &program, "", {}).size(), svg.size() + 1000);
}

// Damaged traces that once took all memory or time.
TEST(PlotTest, FoundByFuzzing) {
  const std::string bytes =
      base::ReadFile(base::FindRunfile("tools/sqtt/testdata/times_beyond_doubles.bin").value())
          .value();
  const Analysis a = *Analyze(base::AsBytes(bytes), nullptr);
  for (const Wave& w : a.waves) EXPECT_LE(w.start, w.end);
  EXPECT_LT(PlotSvg(a, nullptr, "", {}).size(), 200'000);
}

}  // namespace
}  // namespace tg::sqtt
