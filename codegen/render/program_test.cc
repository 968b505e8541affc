// Whole programs: loops, conditions, variables, threads, registers, local buffers, reductions; and
// what renderers refuse.

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/render/testing/program_builder.h"
#include "codegen/render/testing/run_program.h"
#include "gtest/gtest.h"

namespace tg::render {
namespace {

using ir::DType;
using ir::Op;
using ir::UOp;

UOp I32(int64_t v) { return ir::Const(ir::kInt32, v); }

class ProgramTest : public testing::TestWithParam<RendererCase> {
 protected:
  void Run(ProgramBuilder& b, absl::Span<void* const> buffers,
           absl::Span<const int64_t> vars = {}) {
    const absl::Status status = RunProgram(*GetParam().renderer, b.Finish(), buffers, vars);
    ASSERT_TRUE(status.ok()) << status;
  }
};

// out[i] = i + base where i runs to n, a variable that may be 0, in 32 and in 64 bits.
TEST_P(ProgramTest, LoopOverAVariable) {
  for (DType d : {ir::kInt32, ir::kInt64}) {
    ProgramBuilder b("count");
    const UOp out = b.Param(d, 100);
    const UOp n = b.Variable("n", 0, 100, d), base = b.Variable("base", -5, 5, d);
    const UOp i = b.Loop(n);
    b.Store(out, i, i + base);
    b.End(i);
    for (int64_t size : {0, 1, 100}) {
      GuardedMemory memory(size * d.bytes());
      Run(b, {memory.data()}, {size, -4});
      for (int64_t k = 0; k < size; ++k) EXPECT_EQ(ReadElement(memory.data(), d, k).i, k - 4);
    }
  }
}

TEST_P(ProgramTest, ConditionsGuardRegions) {
  ProgramBuilder b("guard");
  const UOp out = b.Param(ir::kInt32, 10);
  const UOp i = b.Loop(10);
  const UOp outer = b.If(i < 7);
  const UOp inner = b.If(ir::CmpEq(ir::FloorMod(i, 2), I32(0)));
  b.Store(out, i, i * 10);
  b.EndIf(inner);
  b.EndIf(outer);
  b.End(i);
  GuardedMemory memory(40);
  for (int32_t& x : memory.as<int32_t>()) x = -1;
  Run(b, {memory.data()});
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(memory.as<int32_t>()[k], k < 7 && k % 2 == 0 ? k * 10 : -1) << k;
  }
}

TEST_P(ProgramTest, EachPartHasItsCore) {
  ProgramBuilder b("parts");
  const UOp out = b.Param(ir::kInt64, 12);
  const UOp core = b.Thread(4);
  const UOp i = b.Loop(3);
  b.Store(out, core * 3 + i, ir::Cast(core * 100 + i, ir::kInt64));
  b.End(i);
  b.End(core);
  GuardedMemory memory(96);
  Run(b, {memory.data()});
  for (int k = 0; k < 12; ++k) EXPECT_EQ(memory.as<int64_t>()[k], k / 3 * 100 + k % 3);
}

// Register tiles: c[m][n] += a[m][k] * b[k][n], 4 rows of 16 columns.
TEST_P(ProgramTest, MatrixProductInRegisters) {
  const int rows = 4, columns = 16, depth = 37;
  ProgramBuilder b("matmul");
  const UOp a = b.Param(ir::kFloat32, rows * depth), x = b.Param(ir::kFloat32, depth * columns),
            c = b.Param(ir::kFloat32, rows * columns);
  const UOp acc = b.Register(ir::kFloat32, rows * columns);
  for (int m = 0; m < rows; ++m) {
    b.Store(acc, I32(m * columns), ir::Const(ir::kFloat32.Vec(columns), 0.0));
  }
  const UOp k = b.Loop(depth);
  const UOp row = b.Load(x, k * columns, columns);
  for (int m = 0; m < rows; ++m) {
    const UOp scale = b.Splat(b.Load(a, k + m * depth), columns);
    b.Store(acc, I32(m * columns), b.Load(acc, I32(m * columns), columns) + scale * row);
  }
  b.End(k);
  for (int m = 0; m < rows; ++m) {
    b.Store(c, I32(m * columns), b.Load(acc, I32(m * columns), columns));
  }
  GuardedMemory ma(4 * rows * depth), mx(4 * depth * columns), mc(4 * rows * columns);
  std::mt19937 random(2);
  for (float& v : ma.as<float>()) v = static_cast<float>(random() % 9) - 4;
  for (float& v : mx.as<float>()) v = static_cast<float>(random() % 9) - 4;
  Run(b, {ma.data(), mx.data(), mc.data()});
  for (int m = 0; m < rows; ++m) {
    for (int n = 0; n < columns; ++n) {
      double want = 0;
      for (int i = 0; i < depth; ++i) {
        want +=
            static_cast<double>(ma.as<float>()[m * depth + i]) * mx.as<float>()[i * columns + n];
      }
      EXPECT_EQ(mc.as<float>()[m * columns + n], want) << m << ", " << n;
    }
  }
}

// A register buffer whose accesses overlap in different shapes, for every dtype.
TEST_P(ProgramTest, RegistersInMixedShapes) {
  for (DType d : {ir::kBool, ir::kInt8, ir::kBFloat16, ir::kInt32, ir::kFloat64}) {
    ProgramBuilder b("mixed");
    const UOp in = b.Param(d, 8), out = b.Param(d, 8);
    const UOp reg = b.Register(d, 12);
    b.Store(reg, I32(0), b.Load(in, I32(0), 4));
    b.Store(reg, I32(4), b.Load(in, I32(4), 3));
    b.Store(reg, I32(7), b.Load(in, I32(7)));
    b.Store(reg, I32(2), b.Load(in, I32(0)));
    b.Store(out, I32(0), b.Load(reg, I32(1)));
    b.Store(out, I32(1), b.Load(reg, I32(2), 3));
    b.Store(out, I32(4), b.Load(reg, I32(4), 4));
    GuardedMemory from(8 * d.bytes()), to(8 * d.bytes());
    for (int i = 0; i < 8; ++i) {
      const int v = d.IsBool() ? i % 2 : i + 1;
      WriteElement(from.data(), d, i, {.f = static_cast<double>(v), .i = v});
    }
    Run(b, {from.data(), to.data()});
    const int want[] = {1, 0, 3, 4, 4, 5, 6, 7};
    for (int i = 0; i < 8; ++i) {
      EXPECT_TRUE(SameNumber(ReadElement(to.data(), d, i), ReadElement(from.data(), d, want[i]), d))
          << d << " " << i;
    }
  }
}

// A transposed tile goes through a local buffer.
TEST_P(ProgramTest, LocalBuffer) {
  for (DType d : {ir::kBool, ir::kInt16, ir::kFloat32}) {
    ProgramBuilder b("transpose");
    const UOp in = b.Param(d, 64), out = b.Param(d, 64);
    const UOp tile = b.Local(d, 64);
    const UOp i = b.Loop(8);
    const UOp row = b.Load(in, i * 8, 8);
    for (int j = 0; j < 8; ++j) b.Store(tile, i + j * 8, b.Lane(row, j));
    b.End(i);
    const UOp j = b.Loop(8);
    b.Store(out, j * 8, b.Load(tile, j * 8, 8));
    b.End(j);
    GuardedMemory from(64 * d.bytes()), to(64 * d.bytes());
    for (int k = 0; k < 64; ++k) {
      const int v = d.IsBool() ? k % 5 == 0 : k;
      WriteElement(from.data(), d, k, {.f = static_cast<double>(v), .i = v});
    }
    Run(b, {from.data(), to.data()});
    for (int k = 0; k < 64; ++k) {
      EXPECT_TRUE(SameNumber(ReadElement(to.data(), d, k),
                             ReadElement(from.data(), d, k % 8 * 8 + k / 8), d))
          << d << " " << k;
    }
  }
}

TEST_P(ProgramTest, LanesAreReduced) {
  std::mt19937 random(4);
  for (DType d : {ir::kBool, ir::kInt8, ir::kUInt32, ir::kInt64, ir::kFloat32, ir::kFloat64}) {
    for (int lanes : {1, 2, 3, 6, 8, 16, 64}) {
      ProgramBuilder b("reduce");
      const UOp in = b.Param(d, lanes), out = b.Param(d, 3);
      const UOp x = b.Load(in, I32(0), lanes);
      b.Store(out, I32(0), b.Reduce(Op::kAdd, x));
      b.Store(out, I32(1), b.Reduce(Op::kMul, x));
      b.Store(out, I32(2), b.Reduce(Op::kMax, x));
      GuardedMemory memory(lanes * d.bytes()), result(3 * d.bytes());
      double sum = 0, product = 1, greatest = -INFINITY;
      uint64_t int_sum = 0, int_product = 1;
      int64_t int_greatest = INT64_MIN;
      for (int i = 0; i < lanes; ++i) {
        // Powers of two times small numbers: sums and products are exact.
        const int v = d.IsBool() ? random() % 2 : d.IsFloat() ? 1 << random() % 2 : random() % 100;
        WriteElement(memory.data(), d, i, {.f = static_cast<double>(v), .i = v});
        sum += v;
        product *= v;
        greatest = std::max<double>(greatest, v);
        int_sum = d.IsBool() ? int_sum | v : int_sum + v;
        int_product *= v;
        int_greatest = std::max<int64_t>(int_greatest, v);
      }
      Run(b, {memory.data(), result.data()});
      const Number want[] = {{sum, ir::WrapToInt(static_cast<int64_t>(int_sum), d)},
                             {product, ir::WrapToInt(static_cast<int64_t>(int_product), d)},
                             {greatest, int_greatest}};
      for (int k = 0; k < 3; ++k) {
        const Number got = ReadElement(result.data(), d, k);
        EXPECT_TRUE(SameNumber(got, want[k], d))
            << d << " x " << lanes << ", " << k << ": " << NumberToString(got, d) << ", expected "
            << NumberToString(want[k], d);
      }
    }
  }
}

// Floating point sums are taken in one order everywhere.
TEST(RendererTest, ReductionsAgreeToTheBit) {
  std::mt19937 random(9);
  for (int lanes : {3, 8, 12, 64}) {
    ProgramBuilder b("sum");
    const UOp in = b.Param(ir::kFloat32, lanes), out = b.Param(ir::kFloat32, 1);
    b.Store(out, I32(0), b.Reduce(Op::kAdd, b.Load(in, I32(0), lanes)));
    GuardedMemory memory(lanes * 4);
    for (float& x : memory.as<float>()) x = static_cast<float>(random()) * 1e-9f - 2;
    std::vector<float> results;
    for (const RendererCase& r : AllCpuRenderers()) {
      GuardedMemory result(4);
      const absl::Status status =
          RunProgram(*r.renderer, b.Finish(), {memory.data(), result.data()});
      ASSERT_TRUE(status.ok()) << status;
      results.push_back(result.as<float>()[0]);
    }
    for (float r : results) EXPECT_EQ(r, results[0]) << lanes;
  }
}

// Index arithmetic that would leave 32 bits if it were narrowed, and values that do wrap.
TEST_P(ProgramTest, WrapsOnlyWhereTheTypeDoes) {
  ProgramBuilder b("wrap");
  const UOp in = b.Param(ir::kInt32, 4), out = b.Param(ir::kInt64, 4);
  const UOp i = b.Loop(4);
  const UOp x = b.Load(in, i);
  b.Store(out, i, ir::Cast((x + x) * x, ir::kInt64));
  b.End(i);
  GuardedMemory from(16), to(32);
  const int32_t values[] = {INT32_MAX, INT32_MIN, 65536, -3};
  std::copy(values, values + 4, from.as<int32_t>().begin());
  Run(b, {from.data(), to.data()});
  for (int k = 0; k < 4; ++k) {
    const uint32_t v = static_cast<uint32_t>(values[k]);
    EXPECT_EQ(to.as<int64_t>()[k], static_cast<int32_t>((v + v) * v));
  }
}

TEST_P(ProgramTest, RefusesWhatItHasNoFormFor) {
  const auto compile = [](ProgramBuilder& b) {
    return GetParam().renderer->Compile(b.Finish()).status();
  };
  struct Refusal {
    Op op;
    DType dtype;
  };
  for (const Refusal& r : {Refusal{Op::kThreefry, ir::kUInt64}, Refusal{Op::kAdd, ir::kBFloat16},
                           Refusal{Op::kMul, ir::kFp8E5M2}, Refusal{Op::kAnd, ir::kFloat32},
                           Refusal{Op::kShl, ir::kBool}, Refusal{Op::kFdiv, ir::kInt32},
                           Refusal{Op::kPow, ir::kInt32}}) {
    ProgramBuilder b("refuse");
    const UOp in = b.Param(r.dtype, 1), out = b.Param(r.dtype, 1);
    const UOp x = b.Load(in, I32(0));
    b.Store(out, I32(0), ir::Alu(r.op, {x, x}));
    const absl::Status status = compile(b);
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), ir::OpName(r.op))) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), r.dtype.ToString())) << status;
  }
  {
    ProgramBuilder b("wmma");
    const UOp in = b.Param(ir::kFloat32, 1);
    const UOp x = b.Load(in, I32(0));
    b.Add(UOp::Make(Op::kWmma, ir::kFloat32, {x, x, x},
                    ir::Arg(ir::WmmaArg{"w", 1, 1, 1, ir::kFloat32, ir::kFloat32, 1})));
    EXPECT_TRUE(absl::IsUnimplemented(compile(b)));
  }
  {
    ProgramBuilder b("weak");
    const UOp in = b.Param(ir::kFloat32, 1);
    b.Store(in, ir::IndexConst(0), ir::Const(ir::kFloat32, 1));
    EXPECT_TRUE(absl::IsUnimplemented(compile(b)));
  }
}

TEST_P(ProgramTest, RefusesBrokenPrograms) {
  const auto compile = [](const lower::LinearProgram& p) {
    return GetParam().renderer->Compile(p).status();
  };
  ProgramBuilder open("open");
  const UOp out = open.Param(ir::kInt32, 4);
  const UOp i = open.Loop(4);
  open.Store(out, i, i);
  EXPECT_TRUE(absl::IsInternal(compile(open.Finish())));

  ProgramBuilder missing("missing");
  const UOp data = missing.Param(ir::kInt32, 4);
  missing.Store(data, I32(0), I32(1) + I32(2));
  lower::LinearProgram p = missing.Finish();
  std::erase_if(p.ops, [](const UOp& u) { return u.Is(Op::kAdd); });
  EXPECT_TRUE(absl::IsInternal(compile(p)));

  ProgramBuilder registers("registers");
  const UOp reg = registers.Register(ir::kInt32, 4);
  const UOp j = registers.Loop(4);
  registers.Store(reg, j, j);
  registers.End(j);
  EXPECT_TRUE(absl::IsInternal(compile(registers.Finish())));

  ProgramBuilder types("types");
  const UOp floats = types.Param(ir::kFloat32, 4);
  types.Store(floats, I32(0), I32(1));
  EXPECT_TRUE(absl::IsInternal(compile(types.Finish())));
}

TEST_P(ProgramTest, CompilesOnManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int k = 0; k < 4; ++k) {
        ProgramBuilder b("threaded");
        const UOp out = b.Param(ir::kInt32, 16);
        const UOp i = b.Loop(16);
        b.Store(out, i, i * (t + 1) + k);
        b.End(i);
        GuardedMemory memory(64);
        const absl::Status status = RunProgram(*GetParam().renderer, b.Finish(), {memory.data()});
        ASSERT_TRUE(status.ok()) << status;
        for (int e = 0; e < 16; ++e) EXPECT_EQ(memory.as<int32_t>()[e], e * (t + 1) + k);
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST_P(ProgramTest, DescribesItsTarget) {
  const Target& t = GetParam().renderer->target();
  EXPECT_TRUE(absl::StartsWith(t.name, "CPU:"));
  EXPECT_GE(t.vector_bytes, 16);
  EXPECT_TRUE(t.supports(ir::kFloat32));
  EXPECT_FALSE(t.supports(ir::kFp8E4M3));
  EXPECT_FALSE(t.supports(ir::kBFloat16));
  EXPECT_TRUE(t.native_op(Op::kSqrt, ir::kFloat32));
  EXPECT_FALSE(t.native_op(Op::kSin, ir::kFloat32));
  EXPECT_FALSE(t.native_op(Op::kThreefry, ir::kUInt64));
}

INSTANTIATE_TEST_SUITE_P(Cpu, ProgramTest, testing::ValuesIn(AllCpuRenderers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tg::render
