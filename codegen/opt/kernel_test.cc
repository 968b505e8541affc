#include "codegen/opt/kernel.h"

#include <random>

#include "codegen/ir/print.h"
#include "codegen/ir/verify.h"
#include "codegen/opt/opt_text.h"
#include "codegen/opt/testing/evaluate.h"
#include "codegen/opt/testing/kernels.h"
#include "gtest/gtest.h"

namespace tg::opt {
namespace {

using ir::AxisType;
using ir::Opt;
using ir::OptOp;
using ir::UOp;

Kernel MakeOrDie(const UOp& ast, const Limits& limits = {}) {
  absl::StatusOr<Kernel> k = Kernel::Make(ast, limits);
  EXPECT_TRUE(k.ok()) << k.status();
  return *std::move(k);
}

void ApplyAll(Kernel& k, absl::string_view text) {
  const auto opts = ParseOpts(text);
  ASSERT_TRUE(opts.ok()) << opts.status();
  for (const Opt& o : *opts) {
    const absl::Status s = k.Apply(o);
    ASSERT_TRUE(s.ok()) << ToString(o) << ": " << s;
  }
}

// The message with which the kernel refuses the last of the steps.
std::string Refusal(Kernel k, absl::string_view text) {
  const auto opts = ParseOpts(text);
  EXPECT_TRUE(opts.ok()) << opts.status();
  for (size_t i = 0; i + 1 < opts->size(); ++i) EXPECT_TRUE(k.Apply((*opts)[i]).ok()) << text;
  const std::string before = k.Name();
  const absl::Status s = k.Apply(opts->back());
  EXPECT_FALSE(s.ok()) << text;
  EXPECT_EQ(k.Name(), before);
  EXPECT_EQ(k.applied().size() + 1, opts->size());
  return std::string(s.message());
}

// Both kernels compute the same.
void ExpectSame(const UOp& before, const UOp& after, const std::string& what) {
  const absl::Status valid = ir::VerifyKernel(after);
  ASSERT_TRUE(valid.ok()) << what << ": " << valid << "\n" << ir::Print(after);
  Buffers a = RandomBuffers(before, 7), b = a;
  absl::Status s = Evaluate(before, a);
  ASSERT_TRUE(s.ok()) << what << ": " << s;
  s = Evaluate(after, b);
  ASSERT_TRUE(s.ok()) << what << ": " << s << "\n" << ir::Print(after);
  EXPECT_EQ(a, b) << what << "\n" << ir::Print(after);
}

std::vector<NamedKernel> SmallKernels() {
  const ConvShape s{.b = 2, .y = 4, .x = 6, .co = 4, .ci = 2, .k = 3};
  return {Matmul(4, 6, 8, false, false),
          Matmul(6, 4, 5, true, true),
          ConvForward(s, false, false),
          ConvForward(s, true, true),
          ConvInputGrad(s, false),
          ConvWeightGrad(s, 2),
          Elementwise({4, 3, 6}),
          Transpose(6, 8),
          Sum(6, 8, true),
          Sum(6, 8, false),
          RowWise(4, 6),
          MaxPool(2, 3, 2, 4)};
}

TEST(Kernel, AxesAndName) {
  Kernel k = MakeOrDie(Matmul(4, 6, 8, false, false).ast);
  EXPECT_EQ(k.Name(), "r_4_6_8");
  ApplyAll(k, "SPLIT(1, 3, UPCAST), SPLIT(2, 4, UNROLL), SPLIT(0, 2, THREAD, top)");
  EXPECT_EQ(k.Name(), "r_2_2_2_2_3_4");
  EXPECT_EQ(k.axes()[0].type, AxisType::kThread);
  EXPECT_EQ(k.axes()[0].stride, 2);
  EXPECT_EQ(k.FindAxis(1, AxisType::kUpcast), 4);
  const UOp ast = k.Ast();
  const ir::KernelInfo& info = ast.arg_as<ir::KernelInfo>();
  EXPECT_TRUE(info.optimized);
  EXPECT_EQ(info.name, "r_2_2_2_2_3_4");
  EXPECT_EQ(info.applied.size(), 3u);
  EXPECT_EQ(MakeOrDie(Elementwise({4, 6}).ast).Name(), "E_4_6");
}

// The list of a kEnd follows the axes; new ranges have new numbers.
TEST(Kernel, TilingOrdersRanges) {
  Kernel k = MakeOrDie(Elementwise({8, 8}).ast);
  // Two loops each, then the inner of the first beside the inner of the second.
  ApplyAll(k, "SPLIT(0, 4, LOOP), SPLIT(2, 4, LOOP), SWAP(1, 2)");
  const UOp ast = k.Ast();
  std::vector<int64_t> sizes;
  for (const UOp& r : ast.src(0).src().subspan(1)) sizes.push_back(r.vmax() + 1);
  EXPECT_EQ(sizes, (std::vector<int64_t>{2, 2, 4, 4}));
  EXPECT_EQ(ir::PrintExpr(ast.src(0).src(0).src(0).src(1)), "r0 * 32 + r1 * 4 + r2 * 8 + r3");
  ExpectSame(Elementwise({8, 8}).ast, ast, "tiling");
}

TEST(Kernel, WholeAxisAndPadding) {
  const NamedKernel m = Matmul(5, 3, 7, false, false);
  Kernel k = MakeOrDie(m.ast);
  ApplyAll(
      k, "SPLIT(1, 0, UPCAST), PADTO(0, 4), SPLIT(0, 4, UPCAST), PADTO(1, 4), SPLIT(1, 4, UNROLL)");
  EXPECT_EQ(k.Name(), "r_2_2_3_4_4");
  ExpectSame(m.ast, k.Ast(), "padded matmul");
  const NamedKernel rows = RowWise(3, 5);
  Kernel r = MakeOrDie(rows.ast);
  ApplyAll(r, "PADTO(1, 4), PADTO(2, 8), PADTO(3, 2)");
  ExpectSame(rows.ast, r.Ast(), "padded rows");
}

TEST(Kernel, ReduceOrder) {
  const ConvShape s{.b = 1, .y = 2, .x = 2, .co = 2, .ci = 2, .k = 3};
  const NamedKernel c = ConvForward(s, false, false);
  Kernel k = MakeOrDie(c.ast);
  ApplyAll(k, "SWAP(4, 6), SPLIT(6, 2, UNROLL)");
  EXPECT_EQ(k.Name(), "r_1_2_2_2_3_3_2");
  ExpectSame(c.ast, k.Ast(), "reordered");
}

TEST(Kernel, Refuses) {
  const Kernel m = MakeOrDie(Matmul(4, 256, 512, false, false).ast);
  const std::pair<const char*, const char*> cases[] = {
      {"SPLIT(3, 2, UPCAST)", "invalid axis 3"},
      {"SPLIT(0, 3, UPCAST)", "3 can't divide 4 in"},
      {"SPLIT(0, -2, UPCAST)", "can't divide"},
      {"SPLIT(0, 2, UNROLL)", "unroll is for GROUP_REDUCE/REDUCE, not LOOP"},
      {"SPLIT(2, 2, UPCAST)", "upcast is for GLOBAL/LOCAL/LOOP, not REDUCE"},
      {"SPLIT(1, 256, UPCAST)", "don't upcast more than 128"},
      {"SPLIT(2, 256, UNROLL)", "don't unroll more than 128"},
      {"SPLIT(1, 128, UPCAST), SPLIT(0, 4, UPCAST), SPLIT(1, 64, UNROLL)",
       "don't copy the body more than 16384"},
      {"SPLIT(0, 4, UPCAST), SPLIT(2, 2, UPCAST)", "is expanded already"},
      {"SPLIT(0, 2, THREAD, top), SPLIT(2, 2, THREAD, top)", "already threaded"},
      {"SPLIT(2, 2, THREAD)", "can't apply range to this dim"},
      {"SPLIT(0, 2, LOCAL)", "locals needed for opt"},
      {"SPLIT(2, 2, LOCAL)", "local is for globals"},
      {"SPLIT(0, 2, GROUP_REDUCE)", "group is for reduce"},
      {"SPLIT(2, 2, GROUP_REDUCE)", "locals needed for opt"},
      {"SPLIT(0, 2, DEVICE)", "not split over devices"},
      {"SPLIT(0, 4, LOOP)", "changes nothing"},
      {"PADTO(0, 32)", "pad adds more than quadruple the work"},
      {"PADTO(0, 4)", "a multiple of 4 already"},
      {"PADTO(0, 0)", "means nothing"},
      {"SPLIT(0, 4, UPCAST), PADTO(2, 3)", "cannot pad upcasted"},
      {"SPLIT(0, 2, THREAD), PADTO(0, 3)", "cannot pad thread"},
      {"SPLIT(1, 8, LOOP), PADTO(2, 3)", "only the outermost part"},
      {"SWAP(0, 2)", "swap only for globals"},
      {"SWAP(0, 0)", "with itself"},
      {"SWAP(0, 7)", "invalid axis 7"},
      {"TC(0, 1)", "no tensor core available"},
      {"SPLIT(0, 2, UPCAST), TC(0, 1)", "tensor core opts must be first"},
  };
  for (const auto& [text, message] : cases) {
    const std::string got = Refusal(m, text);
    EXPECT_NE(got.find(message), std::string::npos) << text << ": " << got;
  }
  const Kernel one_core = MakeOrDie(Elementwise({8}).ast, {.threads = false});
  EXPECT_NE(Refusal(one_core, "SPLIT(0, 2, THREAD)").find("does not support threads"),
            std::string::npos);
  const Kernel gpu = MakeOrDie(Elementwise({8}).ast, {.work_groups = true});
  EXPECT_NE(Refusal(gpu, "NOLOCALS, SPLIT(0, 2, LOCAL)").find("can't use locals"),
            std::string::npos);
  EXPECT_NE(Refusal(gpu, "SPLIT(0, 2, LOCAL), NOLOCALS").find("no locals can't have locals"),
            std::string::npos);
  const Kernel few = MakeOrDie(Elementwise({8}).ast, {.max_threads = 2});
  EXPECT_NE(Refusal(few, "SPLIT(0, 4, THREAD)").find("too many threads"), std::string::npos);
}

TEST(Kernel, SwapsWithinAReduction) {
  const Kernel rows = MakeOrDie(RowWise(4, 6).ast);
  EXPECT_NE(Refusal(rows, "SWAP(2, 3)").find("different reductions"), std::string::npos);
}

// Partial results of a reduction that a work group shares: 16 parts of 4 outputs of 4 bytes.
TEST(Kernel, SharedMemory) {
  const UOp sum = Sum(8, 64, true).ast;
  constexpr char kSteps[] = "SPLIT(0, 4, UPCAST), SPLIT(1, 16, GROUP_REDUCE)";
  const Kernel small = MakeOrDie(sum, {.work_groups = true, .shared_memory = 255});
  EXPECT_NE(Refusal(small, kSteps).find("exceeds maximum shared memory size: needs 256, max 255"),
            std::string::npos);
  Kernel enough = MakeOrDie(sum, {.work_groups = true, .shared_memory = 256});
  ApplyAll(enough, kSteps);
  EXPECT_EQ(enough.Name(), "r_2_16_4_4");
}

TEST(Kernel, NoGroupInsideOfAnotherReduction) {
  const UOp i = ir::Range(4, 0), j = ir::Range(8, 1, AxisType::kReduce),
            k = ir::Range(8, 2, AxisType::kReduce);
  const UOp inner =
      ReduceOver(ir::Op::kAdd, LoadAt(ir::Param(1, ir::kFloat32, 256), i * 64 + j * 8 + k), {k});
  const UOp ast =
      StoreKernel(ir::Param(0, ir::kFloat32, 4), i, ReduceOver(ir::Op::kMax, inner, {j}), {i});
  Kernel kernel = MakeOrDie(ast, {.work_groups = true, .shared_memory = 1024});
  // Loops: i, k (of the sum), j (of the maximum around it).
  EXPECT_NE(Refusal(kernel, "SPLIT(1, 2, GROUP_REDUCE)")
                .find("cannot have a GROUP_REDUCE inside another reduce"),
            std::string::npos);
  ApplyAll(kernel, "SPLIT(2, 2, GROUP_REDUCE)");
}

TEST(Kernel, RefusesWhatIsNoKernel) {
  const UOp ast = Sum(4, 4, true).ast;
  EXPECT_FALSE(Kernel::Make(ast.src(0), {}).ok());
  EXPECT_FALSE(Kernel::Make(ir::Sink({}), {}).ok());
  EXPECT_FALSE(Kernel::Make(ir::Sink({ir::Const(ir::kFloat32, 1.0)}), {}).ok());
}

TEST(Kernel, SymbolicSizes) {
  const UOp n = ir::Variable("n", 1, 8);
  const UOp i = ir::Range(n, 0), j = ir::Range(4, 1);
  const UOp ast = StoreKernel(ir::Param(0, ir::kFloat32, 32), i * 4 + j,
                              LoadAt(ir::Param(1, ir::kFloat32, 32), i * 4 + j), {i, j});
  Kernel k = MakeOrDie(ast);
  EXPECT_EQ(k.Name(), "E_v_4");
  EXPECT_NE(Refusal(k, "SPLIT(0, 2, UPCAST)").find("at run time only"), std::string::npos);
  EXPECT_NE(Refusal(k, "PADTO(0, 2)").find("only pad const axes"), std::string::npos);
  ApplyAll(k, "SPLIT(1, 4, UPCAST)");
  EXPECT_TRUE(ir::VerifyKernel(k.Ast()).ok());
}

// Every legal step, and random sequences, keep what a kernel computes.
TEST(Kernel, StepsKeepMeaning) {
  std::mt19937 random(20);
  constexpr AxisType kTypes[] = {AxisType::kUpcast, AxisType::kUnroll, AxisType::kThread,
                                 AxisType::kLoop, AxisType::kReduce};
  int applied = 0;
  for (const NamedKernel& kernel : SmallKernels()) {
    for (int trial = 0; trial < 25; ++trial) {
      Kernel k = MakeOrDie(kernel.ast);
      for (int step = 0; step < 6; ++step) {
        const int axes = static_cast<int>(k.axes().size());
        Opt opt{.op = OptOp::kSplit,
                .axis = static_cast<int>(random() % axes),
                .amount = static_cast<int64_t>(random() % 5),
                .type = kTypes[random() % 5],
                .top = random() % 2 == 0};
        if (random() % 4 == 0) opt = {.op = OptOp::kPadTo, .axis = opt.axis, .amount = opt.amount};
        if (random() % 4 == 0) {
          opt = {.op = OptOp::kSwap,
                 .axis = opt.axis,
                 .amount = static_cast<int64_t>(random() % axes)};
        }
        applied += k.Apply(opt).ok() ? 1 : 0;
      }
      ExpectSame(kernel.ast, k.Ast(), kernel.name + ": " + ToString(k.applied()));
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(applied, 300);
}

// The comparison notices a kernel that computes something else.
TEST(Kernel, EvaluationNotices) {
  const UOp a = Matmul(4, 6, 8, false, false).ast;
  Buffers x = RandomBuffers(a, 7), y = x;
  ASSERT_TRUE(Evaluate(a, x).ok());
  ASSERT_TRUE(Evaluate(Matmul(4, 6, 8, true, false).ast, y).ok());
  EXPECT_NE(x, y);
}

}  // namespace
}  // namespace tg::opt
