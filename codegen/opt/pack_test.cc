#include "codegen/opt/pack.h"

#include <vector>

#include <algorithm>
#include <vector>

#include "codegen/ir/print.h"
#include "codegen/ir/verify.h"
#include "codegen/opt/testing/evaluate.h"
#include "codegen/opt/testing/kernels.h"
#include "gtest/gtest.h"

namespace tg::opt {
namespace {

using ir::UOp;

render::Target Avx512() {
  return {.name = "TEST", .vector_bytes = 64, .vector_registers = 32, .has_threads = true};
}

// The pack and the kernel that reads it compute what the kernel did.
void ExpectSame(const UOp& kernel, const OperandPack& p) {
  ASSERT_TRUE(ir::VerifyKernel(p.pack).ok()) << ir::VerifyKernel(p.pack);
  ASSERT_TRUE(ir::VerifyKernel(p.kernel).ok()) << ir::VerifyKernel(p.kernel);
  Buffers before = RandomBuffers(kernel, 5);
  Buffers after = before;
  ASSERT_TRUE(Evaluate(kernel, before).ok());
  Buffers copy = {std::vector<double>(p.size), after[p.slot]};
  const absl::Status packed = Evaluate(p.pack, copy);
  ASSERT_TRUE(packed.ok()) << packed;
  if (after.size() <= static_cast<size_t>(p.packed_slot)) after.resize(p.packed_slot + 1);
  after[p.packed_slot] = copy[0];
  const absl::Status ran = Evaluate(p.kernel, after);
  ASSERT_TRUE(ran.ok()) << ran;
  EXPECT_EQ(before[0], after[0]);
  EXPECT_FALSE(FindPack(p.kernel, Avx512()).has_value());
}

TEST(Pack, WeightsOfConvolutions) {
  const ConvShape s{.b = 512, .y = 20, .x = 20, .co = 32, .ci = 32, .k = 5};
  for (bool nchw : {false, true}) {
    const auto p = FindPack(ConvForward(s, nchw, false).ast, Avx512());
    ASSERT_TRUE(p.has_value());
    EXPECT_EQ(p->slot, 2);
    EXPECT_EQ(p->packed_slot, 2);
    EXPECT_EQ(p->size, 25600);
    EXPECT_EQ(p->dtype, ir::kFloat32);
    // Lanes innermost; the rest as the image is stored.
    const std::string at = ir::PrintExpr(p->pack.src(0).src(0).src(0).src(1));
    EXPECT_EQ(at, nchw ? "r0 * 800 + r1 * 160 + r2 * 32 + r3 * 16 + r4"
                       : "r0 * 5120 + r1 * 1024 + r2 * 32 + r3 * 16 + r4");
    EXPECT_FALSE(FindPack(p->kernel, Avx512()).has_value());
  }
  const auto grad = FindPack(ConvInputGrad(s, false).ast, Avx512());
  ASSERT_TRUE(grad.has_value());
  EXPECT_EQ(grad->slot, 2);
  EXPECT_FALSE(FindPack(ConvForward(s, false, true).ast, Avx512()).has_value());
  EXPECT_FALSE(FindPack(ConvInputGrad(s, true).ast, Avx512()).has_value());
  EXPECT_FALSE(FindPack(ConvWeightGrad(s, 64).ast, Avx512()).has_value());
}

TEST(Pack, KeepsMeaning) {
  const ConvShape s{.b = 4, .y = 6, .x = 6, .co = 16, .ci = 16, .k = 3};
  for (const NamedKernel& k : {ConvForward(s, false, false), ConvForward(s, true, false),
                               ConvInputGrad(s, false), ConvInputGrad(s, false, true)}) {
    const auto p = FindPack(k.ast, Avx512());
    ASSERT_TRUE(p.has_value()) << k.name;
    ExpectSame(k.ast, *p);
  }
}

TEST(Pack, OperandThatIsReadTwice) {
  // Besides in the sum, the weight of each channel is added once.
  const UOp b = ir::Range(256, 0), co = ir::Range(16, 1),
            k = ir::Range(8, 2, ir::AxisType::kReduce);
  const UOp x = ir::Param(1, ir::kFloat32, 256 * 8), w = ir::Param(2, ir::kFloat32, 16 * 8);
  const UOp sum =
      ReduceOver(ir::Op::kAdd, ir::Max(LoadAt(x, b * 8 + k), LoadAt(w, co * 8 + k)), {k});
  const UOp ast = StoreKernel(ir::Param(0, ir::kFloat32, 256 * 16), b * 16 + co,
                              sum + LoadAt(w, co * 8), {b, co});
  const auto p = FindPack(ast, Avx512());
  ASSERT_TRUE(p.has_value());
  EXPECT_EQ(p->packed_slot, 3);
  ExpectSame(ast, *p);
}

TEST(Pack, WideLanesComeInPanels) {
  const UOp ast =
      ConvForward({.b = 8, .y = 4, .x = 4, .co = 192, .ci = 3, .k = 3}, false, false).ast;
  const auto p = FindPack(ast, Avx512());
  ASSERT_TRUE(p.has_value());
  const std::string at = ir::PrintExpr(p->pack.src(0).src(0).src(0).src(1));
  EXPECT_NE(at.find("r3 // 4 * 1728"), std::string::npos) << at;
  ExpectSame(ast, *p);
}

// Packs while it pays; the slots that were packed.
std::vector<int> PackedSlots(UOp ast, const render::Target& target) {
  std::vector<int> slots;
  while (auto p = FindPack(ast, target)) {
    slots.push_back(p->slot);
    ast = p->kernel;
    if (slots.size() > 4) break;
  }
  return slots;
}

// Columns of B, and of a transposed A, are lines that push each other out of the caches; rows of
// 544 elements (17 lines of two) are not.
TEST(Pack, MatricesOfPowersOfTwo) {
  const render::Target t = Avx512();
  for (int64_t n : {512, 1024, 2048}) {
    EXPECT_EQ(PackedSlots(Matmul(n, n, n, false, false).ast, t), std::vector<int>{2}) << n;
    EXPECT_EQ(PackedSlots(Matmul(n, n, n, false, true).ast, t), std::vector<int>{2}) << n;
  }
  std::vector<int> both = PackedSlots(Matmul(1024, 1024, 1024, true, false).ast, t);
  std::sort(both.begin(), both.end());
  EXPECT_EQ(both, (std::vector<int>{1, 2}));
  EXPECT_TRUE(PackedSlots(Matmul(1024, 544, 1024, false, false).ast, t).empty());
}

// With few registers a tile loads more often, and panels pay.
TEST(Pack, LargeMatricesComeInPanels) {
  render::Target avx2 = Avx512();
  avx2.vector_bytes = 32;
  avx2.vector_registers = 16;
  const auto p = FindPack(Matmul(1024, 1024, 1024, false, false).ast, avx2);
  ASSERT_TRUE(p.has_value());
  EXPECT_EQ(p->slot, 2);
  EXPECT_FALSE(FindPack(p->kernel, avx2).has_value());
  EXPECT_FALSE(FindPack(Matmul(1024, 544, 1024, false, false).ast, avx2).has_value());
  EXPECT_FALSE(FindPack(Matmul(4, 1024, 1024, false, false).ast, avx2).has_value());
}

TEST(Pack, NotWhatIsUsedOnce) {
  EXPECT_FALSE(FindPack(Transpose(64, 64).ast, Avx512()).has_value());
  EXPECT_FALSE(FindPack(Matmul(8, 512, 512, false, true).ast, Avx512()).has_value());
  EXPECT_FALSE(FindPack(Sum(512, 512, false).ast, Avx512()).has_value());
  EXPECT_FALSE(FindPack(ir::Sink({}), Avx512()).has_value());
}

}  // namespace
}  // namespace tg::opt
