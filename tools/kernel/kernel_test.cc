// The tool's parts, and its command line.
#include <cmath>
#include <string>
#include <vector>

#include "base/run_tool.h"
#include "codegen/search/search.h"
#include "gtest/gtest.h"
#include "tools/kernel/report.h"
#include "tools/kernel/stats.h"

namespace tg::kernel_tool {
namespace {

KernelStats Stats(const char* name, int64_t instructions, double seconds) {
  return {.name = name,
          .opts = "SPLIT(0, 4, UPCAST)",
          .instructions = instructions,
          .flops = 2e9,
          .bytes = 1e6,
          .seconds = seconds};
}

TEST(Stats, CountsInstructionsAndWhatIsOnTheStack) {
  const AssemblyCounts c = CountAssembly(
      "\t.text\nf:\n\tpushq\t%rbx\n\tmovq\t%rcx, -16(%rsp)\n.LBB0_1:\n\tvmovups\t(%rdi), %zmm0\n"
      "\t# a remark\n\tvmovups\t64(%rsp), %zmm1 \n\tretq\n");
  EXPECT_EQ(c.instructions, 5);
  EXPECT_EQ(c.spills, 2);
}

TEST(Stats, JsonAndBack) {
  const std::vector<KernelStats> stats = {Stats("a", 10, 0.5), Stats("b", 3, NAN)};
  const auto back = FromJson(ToJson(stats));
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[0], stats[0]);
  EXPECT_TRUE(std::isnan((*back)[1].seconds));
  for (const char* bad : {"", "{}", "[1]", "[{}]", "[{\"name\": 3}]", "[", "[[[["}) {
    EXPECT_FALSE(FromJson(bad).ok()) << bad;
  }
}

TEST(Report, RooflineIsTheSlowerOfTwoLimits) {
  EXPECT_EQ(SpeedText(Stats("a", 1, 0.02), {.gflops = 200, .gbps = 10}),
            "20 ms, 100 GFLOP/s, 0.05 GB/s, 0.50 of the roofline (compute)");
  EXPECT_EQ(SpeedText(Stats("a", 1, 0.02), {.gflops = 200, .gbps = 0.05}),
            "20 ms, 100 GFLOP/s, 0.05 GB/s, 1.00 of the roofline (memory)");
  EXPECT_EQ(SpeedText(Stats("a", 1, NAN), {}), "not measured");
}

TEST(Report, DiffSortsByChange) {
  const std::string text = DiffTable(
      {Stats("same", 5, 1), Stats("faster", 9, 1), Stats("slower", 9, 1), Stats("gone", 1, 1)},
      {Stats("same", 7, 1.01), Stats("faster", 8, 0.25), Stats("slower", 8, 1.5),
       Stats("new", 1, 1)},
      0.05);
  EXPECT_LT(text.find("helped  faster  -75.0 %"), text.find("hurt    slower  +50.0 %")) << text;
  EXPECT_NE(text.find("1 helped, 1 hurt, 1 the same; 1 new, 1 gone"), std::string::npos) << text;
  EXPECT_NE(text.find("time -27.6 % (geometric mean)"), std::string::npos) << text;
}

TEST(Report, DiffWithoutTimesComparesInstructions) {
  const std::string text = DiffTable({Stats("a", 10, NAN)}, {Stats("a", 11, NAN)}, 0.5);
  EXPECT_NE(text.find("hurt  a       +10.0 %"), std::string::npos) << text;
  EXPECT_EQ(text.find("geometric"), std::string::npos) << text;
}

TEST(Report, PlotHasAPointForEachImprovement) {
  search::SearchResult r;
  r.curve = {{.candidate = 0, .elapsed = 0.1, .seconds = 2e-3},
             {.candidate = 9, .elapsed = 1, .seconds = 1e-3}};
  const std::string svg = SearchPlot(r, "a < b");
  EXPECT_NE(svg.find("candidate 9: 1 ms after 1 s"), std::string::npos);
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  EXPECT_NE(SearchPlot({}, "nothing").find("</svg>"), std::string::npos);
}

constexpr char kTool[] = "tools/kernel/kernel";

TEST(Tool, ShowsAKernel) {
  const auto r =
      base::RunTool(kTool, "show testdata/kernels/matmul.txt nn_16x32x16 --asm --notime");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("\nsteps: SPLIT("), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("ret"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("speed: not measured"), std::string::npos) << r.out;
}

TEST(Tool, MeasuresAndCompares) {
  const auto r = base::RunTool(
      kTool, "compare testdata/kernels/matmul.txt nn_16x32x16 SPLIT(0,4,UPCAST) SPLIT(1,4,UPCAST)");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("the second takes "), std::string::npos) << r.out;
}

TEST(Tool, TableGivesWhatDiffReads) {
  const auto r = base::RunTool(kTool, "table testdata/kernels/symbolic.txt --json --notime");
  EXPECT_EQ(r.status, 0) << r.err;
  const auto stats = FromJson(r.out);
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->size(), 9u);
  EXPECT_NE(DiffTable(*stats, *stats, 0).find("0 helped, 0 hurt, 9 the same"), std::string::npos);
}

TEST(Tool, Refuses) {
  auto r = base::RunTool(kTool, "show testdata/kernels/matmul.txt nothing");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(
      r.err,
      "error: testdata/kernels/matmul.txt, nothing: no kernel in it is named nothing; `kernel "
      "list` has the names, testdata/kernels examples\n");
  r = base::RunTool(kTool, "show testdata/kernels/matmul.txt nn_16x32x16 --opts SPLIT(9,4,UPCAST)");
  EXPECT_EQ(r.status, 1);
  EXPECT_NE(r.err.find("SPLIT(9, 4, UPCAST): "), std::string::npos) << r.err;
  EXPECT_EQ(base::RunTool(kTool, "nonsense").status, 2);
  EXPECT_EQ(base::RunTool(kTool, "show").status, 2);
}

}  // namespace
}  // namespace tg::kernel_tool
