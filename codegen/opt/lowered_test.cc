// Optimised kernels as programs: what lowering makes of the axes, run by the interpreter, is what
// the kernel meant before.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "codegen/interp/interpreter.h"
#include "codegen/lower/lower.h"
#include "codegen/lower/program_verify.h"
#include "codegen/opt/opt_text.h"
#include "codegen/opt/optimize.h"
#include "codegen/opt/testing/evaluate.h"
#include "codegen/opt/testing/kernels.h"
#include "gtest/gtest.h"

namespace tg::opt {
namespace {

using ir::AxisType;
using ir::Opt;
using ir::OptOp;
using ir::UOp;

render::Target Avx512() {
  return {.name = "TEST",
          .vector_bytes = 64,
          .vector_registers = 32,
          .has_threads = true,
          .supports = [](ir::DType d) { return !d.IsWeak(); },
          .native_op = [](ir::Op, ir::DType) { return true; }};
}

// The first output buffer after lowering and interpreting `kernel`.
absl::StatusOr<std::vector<double>> RunLowered(const UOp& kernel, const Buffers& data) {
  const absl::StatusOr<lower::LinearProgram> program = lower::Lower(kernel, Avx512());
  if (!program.ok()) return program.status();
  if (absl::Status s = lower::VerifyProgram(*program); !s.ok()) return s;
  std::vector<std::vector<float>> memory;
  for (const std::vector<double>& b : data) memory.emplace_back(b.begin(), b.end());
  std::vector<absl::Span<uint8_t>> bytes;
  for (std::vector<float>& m : memory) {
    bytes.emplace_back(reinterpret_cast<uint8_t*>(m.data()), m.size() * sizeof(float));
  }
  if (absl::Status s = interp::Interpret(*program, bytes, {}); !s.ok()) return s;
  return std::vector<double>(memory[0].begin(), memory[0].end());
}

void ExpectSame(const UOp& before, const UOp& after, const std::string& what) {
  Buffers a = RandomBuffers(before, 9);
  const auto got = RunLowered(after, a);
  ASSERT_TRUE(got.ok()) << what << ": " << got.status();
  ASSERT_TRUE(Evaluate(before, a).ok()) << what;
  EXPECT_EQ(*got, a[0]) << what;
}

std::vector<NamedKernel> Kernels() {
  const ConvShape s{.b = 4, .y = 5, .x = 8, .co = 16, .ci = 4, .k = 3};
  const ConvShape odd{.b = 3, .y = 4, .x = 7, .co = 10, .ci = 3, .k = 2};
  return {Matmul(12, 32, 20, false, false),
          Matmul(10, 17, 33, true, true),
          Matmul(8, 10, 64, false, true),
          ConvForward(s, false, true),
          ConvForward(odd, true, false),
          ConvInputGrad(s, true),
          ConvInputGrad(odd, false, true),
          ConvWeightGrad(s, 2),
          Elementwise({3, 5, 64}),
          Elementwise({101}),
          Transpose(20, 32),
          Sum(6, 256, true),
          Sum(1, 1003, true),
          Sum(32, 40, false),
          RowWise(6, 64),
          RowWise(5, 13),
          MaxPool(2, 3, 4, 16)};
}

TEST(Lowered, HandCodedSteps) {
  for (const NamedKernel& k : Kernels()) {
    const UOp after = Optimize(k.ast, Avx512(), 3);
    ExpectSame(k.ast, after, k.name + ": " + ToString(after.arg_as<ir::KernelInfo>().applied));
  }
}

TEST(Lowered, RandomSteps) {
  std::mt19937 random(5);
  constexpr AxisType kTypes[] = {AxisType::kUpcast, AxisType::kUnroll, AxisType::kThread,
                                 AxisType::kLoop, AxisType::kReduce};
  for (const NamedKernel& kernel : Kernels()) {
    for (int trial = 0; trial < 6; ++trial) {
      absl::StatusOr<Kernel> k = PrepareKernel(kernel.ast, Avx512());
      ASSERT_TRUE(k.ok()) << k.status();
      for (int step = 0; step < 8; ++step) {
        const int axes = static_cast<int>(k->axes().size());
        Opt opt{.op = OptOp::kSplit,
                .axis = static_cast<int>(random() % axes),
                .amount = static_cast<int64_t>(1) << random() % 5,
                .type = kTypes[random() % 5],
                .top = random() % 4 == 0};
        if (random() % 5 == 0) opt = {.op = OptOp::kPadTo, .axis = opt.axis, .amount = opt.amount};
        if (random() % 5 == 0) {
          opt = {.op = OptOp::kSwap,
                 .axis = opt.axis,
                 .amount = static_cast<int64_t>(random() % axes)};
        }
        k->Apply(opt).IgnoreError();  // those that are not legal are left out
      }
      ExpectSame(kernel.ast, k->Ast(), kernel.name + ": " + ToString(k->applied()));
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace tg::opt
