#include "codegen/opt/heuristics.h"

#include <string>
#include <vector>

#include "codegen/opt/opt_text.h"
#include "codegen/opt/optimize.h"
#include "codegen/opt/testing/kernels.h"
#include "gtest/gtest.h"

namespace tg::opt {
namespace {

using ir::AxisType;
using ir::UOp;

render::Target Avx512() {
  return {.name = "TEST", .vector_bytes = 64, .vector_registers = 32, .has_threads = true};
}
render::Target Avx2() {
  return {.name = "TEST", .vector_bytes = 32, .vector_registers = 16, .has_threads = true};
}

// What the steps chosen for a kernel come to.
struct Chosen {
  explicit Chosen(const NamedKernel& k, const render::Target& target = Avx512(), int threads = 2)
      : kernel(*PrepareKernel(k.ast, target)) {
    opts = HandCodedOpts(kernel, target, threads);
    for (const ir::Opt& opt : opts) {
      const absl::Status s = kernel.Apply(opt);
      EXPECT_TRUE(s.ok()) << k.name << ": " << ToString(opt) << ": " << s;
    }
    text = k.name + ": " + kernel.Name() + ": " + ToString(opts);
  }

  // Product of the axes of this type.
  int64_t All(AxisType type) const {
    int64_t n = 1;
    for (const Axis& a : kernel.axes()) n *= a.type == type ? a.size : 1;
    return n;
  }
  // Iterations of the original range with this id that are of this type.
  int64_t Of(int32_t id, AxisType type) const {
    int64_t n = 1;
    for (const Axis& a : kernel.axes()) {
      const int32_t root = kernel.roots()[a.root].range.arg_as<ir::RangeArg>().id;
      if (root == id && a.type == type) n *= a.size;
    }
    return n;
  }

  Kernel kernel;
  std::vector<ir::Opt> opts;
  std::string text;
};

constexpr AxisType kUp = AxisType::kUpcast;
constexpr AxisType kUnroll = AxisType::kUnroll;
constexpr AxisType kThread = AxisType::kThread;

const ConvShape kConv2 = {.b = 512, .y = 20, .x = 20, .co = 32, .ci = 32, .k = 5};

// Channels in lanes, pixels beside them: 16 to 26 accumulators, and an inner loop of up to 128
// operations; threads over images.
void ExpectConvolution(const Chosen& c, int32_t lane, int32_t image, int64_t lanes) {
  EXPECT_EQ(c.Of(lane, kUp), lanes) << c.text;
  const int64_t accumulators = c.All(kUp) / 16;
  EXPECT_GE(accumulators, 16) << c.text;
  EXPECT_LE(accumulators, 26) << c.text;
  EXPECT_GE(c.All(kUnroll), 4) << c.text;
  EXPECT_LE(c.All(kUnroll) * accumulators, 128) << c.text;
  EXPECT_GT(c.Of(image, kThread), 1) << c.text;
}

TEST(Heuristics, ConvolutionForward) {
  ExpectConvolution(Chosen(ConvForward(kConv2, false, true)), 3, 0, 32);
  ExpectConvolution(Chosen(ConvForward(kConv2, true, true)), 3, 0, 32);
}

TEST(Heuristics, ConvolutionInputGradient) {
  const Chosen c(ConvInputGrad(kConv2, true));
  ExpectConvolution(c, 3, 0, 32);
  // Conditions are those of a whole tile, which therefore is over images, and of the window's
  // loops, which are outside: lowering skips the padding.
  EXPECT_EQ(c.Of(1, kUp), 1) << c.text;
  EXPECT_EQ(c.Of(2, kUp), 1) << c.text;
  std::vector<int32_t> reduces;
  for (const Axis& a : c.kernel.axes()) {
    if (a.type == AxisType::kReduce) {
      reduces.push_back(c.kernel.roots()[a.root].range.arg_as<ir::RangeArg>().id);
    }
  }
  EXPECT_EQ(reduces.back(), 4) << c.text;
}

TEST(Heuristics, ConvolutionWeightGradient) {
  const Chosen c(ConvWeightGrad(kConv2, 64));
  const int64_t accumulators = c.All(kUp) / 16;
  EXPECT_GE(accumulators, 16) << c.text;
  EXPECT_LE(accumulators, 26) << c.text;
  // Lanes over one of the channels.
  EXPECT_GE(std::max(c.Of(1, kUp), c.Of(2, kUp)), 16) << c.text;
  EXPECT_GT(c.Of(0, kThread), 1) << c.text;
}

TEST(Heuristics, ConvolutionOnAvx2) {
  const Chosen c(ConvForward(kConv2, false, true), Avx2());
  const int64_t accumulators = c.All(kUp) / 8;
  EXPECT_GE(accumulators, 8) << c.text;
  EXPECT_LE(accumulators, 12) << c.text;
}

TEST(Heuristics, Linear) {
  // Both operands run along the sum only: lanes there, outputs beside.
  const Chosen forward(Matmul(512, 10, 576, false, true));
  EXPECT_GE(forward.All(kUp), 8) << forward.text;
  EXPECT_GE(forward.Of(2, kUnroll), 16) << forward.text;
  // The gradients have a contiguous output.
  for (const NamedKernel& k :
       {Matmul(512, 576, 10, false, false), Matmul(10, 576, 512, true, false)}) {
    const Chosen c(k);
    EXPECT_GE(c.Of(1, kUp), 32) << c.text;
    EXPECT_GE(c.All(kUp), 16 * 16) << c.text;
    EXPECT_GT(c.All(kThread), 1) << c.text;
  }
}

// The panel that is read again stays in the cache: columns outside, rows inside.
TEST(Heuristics, LoopOrderKeepsPanelsInCache) {
  const Chosen c(Matmul(1024, 1024, 1024, false, false));
  std::vector<int32_t> loops;
  for (const Axis& a : c.kernel.axes()) {
    if (a.type == AxisType::kLoop) {
      loops.push_back(c.kernel.roots()[a.root].range.arg_as<ir::RangeArg>().id);
    }
  }
  EXPECT_EQ(loops.back(), 0) << c.text;
}

TEST(Heuristics, Elementwise) {
  const Chosen small(Elementwise({90000}));
  EXPECT_EQ(small.All(kUp), 16) << small.text;
  EXPECT_GT(small.All(kThread), 1) << small.text;
  const Chosen large(Elementwise({512, 32, 48, 48}));
  EXPECT_EQ(large.kernel.roots().size(), 1u);
  EXPECT_GE(large.All(kUp), 32) << large.text;
  EXPECT_EQ(large.All(kThread), 16) << large.text;
  // A prime number of elements: masks.
  const Chosen prime(Elementwise({10007}));
  EXPECT_GE(prime.All(kUp), 16) << prime.text;
  EXPECT_EQ(prime.opts[0].op, ir::OptOp::kPadTo) << prime.text;
}

TEST(Heuristics, Reductions) {
  const Chosen inner(Sum(512, 4096, true));
  EXPECT_GE(inner.Of(1, kUnroll), 64) << inner.text;
  EXPECT_EQ(inner.All(kUp), 1) << inner.text;
  const Chosen outer(Sum(32, 294912, false));
  EXPECT_EQ(outer.Of(0, kUp), 32) << outer.text;
  const Chosen whole(Sum(1, 1 << 20, true));
  EXPECT_GE(whole.All(kUnroll), 64) << whole.text;
  const Chosen pool(MaxPool(512, 10, 10, 32));
  EXPECT_EQ(pool.All(kUp), 32) << pool.text;
  EXPECT_EQ(pool.All(kUnroll), 4) << pool.text;
}

// Lanes in each of the three loops of a row.
TEST(Heuristics, RowWise) {
  const Chosen c(RowWise(4096, 1024));
  EXPECT_GE(c.Of(1, kUp), 16) << c.text;
  EXPECT_GE(c.Of(2, kUnroll), 16) << c.text;
  EXPECT_GE(c.Of(3, kUnroll), 16) << c.text;
  EXPECT_EQ(c.Of(0, kUp), 1) << c.text;
  EXPECT_GT(c.Of(0, kThread), 1) << c.text;
}

TEST(Heuristics, Threads) {
  EXPECT_EQ(Chosen(Elementwise({1 << 20}), Avx512(), 1).All(kThread), 1);
  // Too little work for a second core.
  EXPECT_EQ(Chosen(Elementwise({4096})).All(kThread), 1);
  // Never a reduction.
  EXPECT_EQ(Chosen(Sum(1, 1 << 20, true)).All(kThread), 1);
  render::Target one_core = Avx512();
  one_core.has_threads = false;
  EXPECT_EQ(Chosen(Elementwise({1 << 20}), one_core).All(kThread), 1);
}

}  // namespace
}  // namespace tg::opt
