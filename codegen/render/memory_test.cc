// Loads and stores: every shape of access, at the very ends of memory; what a gate shuts off is not
// touched.

#include <algorithm>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "codegen/render/testing/program_builder.h"
#include "codegen/render/testing/run_program.h"
#include "gtest/gtest.h"

namespace tg::render {
namespace {

using ir::DType;
using ir::UOp;

class MemoryTest : public testing::TestWithParam<RendererCase> {
 protected:
  void Run(ProgramBuilder& b, absl::Span<void* const> buffers,
           absl::Span<const int64_t> vars = {}) {
    const absl::Status status = RunProgram(*GetParam().renderer, b.Finish(), buffers, vars);
    ASSERT_TRUE(status.ok()) << status;
  }

  CompiledProgram Compile(ProgramBuilder& b) {
    auto compiled = CompiledProgram::Compile(*GetParam().renderer, b.Finish());
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return *std::move(compiled);
  }
};

const DType kTypes[] = {ir::kBool,    ir::kInt8,     ir::kInt16,   ir::kInt32,   ir::kInt64,
                        ir::kFp8E4M3, ir::kBFloat16, ir::kFloat16, ir::kFloat32, ir::kFloat64};

void Fill(void* memory, DType d, int64_t n, int64_t first = 0) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t v = d.IsBool() ? (first + i) % 3 == 0 : (first + i) % 61;
    WriteElement(memory, d, i, {.f = ir::RoundToFloat(static_cast<double>(v), d), .i = v});
  }
}

TEST_P(MemoryTest, CopiesWithinItsBounds) {
  for (DType d : kTypes) {
    for (int lanes : {1, 2, 3, 4, 6, 8, 16, 32, 64}) {
      ProgramBuilder b("copy");
      const UOp in = b.Param(d, lanes), out = b.Param(d, lanes);
      const UOp zero = ir::Const(ir::kInt64, 0);
      b.Store(out, zero, b.Load(in, zero, lanes));
      const CompiledProgram program = Compile(b);
      for (bool at_start : {false, true}) {
        GuardedMemory from(lanes * d.bytes(), at_start), to(lanes * d.bytes(), at_start);
        Fill(from.data(), d, lanes);
        program.Run({from.data(), to.data()});
        EXPECT_EQ(std::memcmp(from.data(), to.data(), from.size()), 0) << d << " x " << lanes;
      }
    }
  }
}

// With a false gate not even the pointer need be valid.
TEST_P(MemoryTest, ScalarGates) {
  for (DType d : kTypes) {
    for (int lanes : {1, 3, 16, 64}) {
      ProgramBuilder b("gate");
      const UOp in = b.Param(d, lanes), out = b.Param(d, lanes), result = b.Param(d, lanes);
      const UOp flag = b.Variable("flag", 0, 1);
      const UOp gate = ir::CmpNe(flag, ir::Const(ir::kInt32, 0));
      const UOp zero = ir::Const(ir::kInt32, 0);
      const UOp alternative = ir::Const(d.Vec(lanes), 1);
      const UOp v = b.Load(in, zero, lanes, gate, alternative);
      b.Store(out, zero, v, gate);
      b.Store(result, zero, v);
      GuardedMemory from(lanes * d.bytes()), to(lanes * d.bytes()), all(lanes * d.bytes());
      Fill(from.data(), d, lanes);
      const CompiledProgram program = Compile(b);
      program.Run({from.data(), to.data(), all.data()}, {1});
      EXPECT_EQ(std::memcmp(from.data(), to.data(), from.size()), 0) << d << " x " << lanes;
      EXPECT_EQ(std::memcmp(from.data(), all.data(), from.size()), 0) << d << " x " << lanes;
      const GuardedMemory nothing(0);
      program.Run({nothing.data(), nothing.data(), all.data()}, {0});
      for (int i = 0; i < lanes; ++i) {
        const Number n = ReadElement(all.data(), d, i);
        EXPECT_EQ(d.IsFloat() ? n.f : n.i, 1) << d << " x " << lanes;
      }
    }
  }
}

// One lane more after another, up to all of them: what lies beyond is a page that faults.
TEST_P(MemoryTest, LaneGates) {
  for (DType d : kTypes) {
    for (int lanes : {3, 4, 16, 64}) {
      ProgramBuilder b("mask");
      const UOp in = b.Param(d, lanes), out = b.Param(d, lanes), result = b.Param(d, lanes);
      const UOp count = b.Variable("count", 0, lanes);
      std::vector<UOp> numbers;
      for (int i = 0; i < lanes; ++i) numbers.push_back(ir::Const(ir::kInt32, i));
      const UOp gate = b.Stack(numbers) < b.Splat(count, lanes);
      const UOp zero = ir::Const(ir::kInt32, 0);
      const UOp v = b.Load(in, zero, lanes, gate, ir::Const(d.Vec(lanes), 1));
      b.Store(out, zero, v, gate);
      b.Store(result, zero, v);
      const CompiledProgram program = Compile(b);
      for (int64_t n : {0, 1, lanes / 2, lanes - 1, lanes}) {
        GuardedMemory from(n * d.bytes()), to(n * d.bytes()), all(lanes * d.bytes());
        Fill(from.data(), d, n);
        program.Run({from.data(), to.data(), all.data()}, {n});
        EXPECT_EQ(std::memcmp(from.data(), to.data(), from.size()), 0) << d << " " << n;
        EXPECT_EQ(std::memcmp(from.data(), all.data(), from.size()), 0) << d << " " << n;
        for (int64_t i = n; i < lanes; ++i) {
          const Number x = ReadElement(all.data(), d, i);
          EXPECT_EQ(d.IsFloat() ? x.f : x.i, 1) << d << " " << n;
        }
      }
    }
  }
}

// Gathers from and scatters to a permutation, gated and not, with loaded and with listed indices.
TEST_P(MemoryTest, GatherAndScatter) {
  std::mt19937 random(1);
  for (DType d : kTypes) {
    for (DType index_type : {ir::kInt32, ir::kInt64}) {
      for (int lanes : {3, 16}) {
        ProgramBuilder b("permute");
        const int n = 67;
        const UOp in = b.Param(d, n), permutation = b.Param(index_type, lanes),
                  gates = b.Param(ir::kBool, lanes);
        const UOp gathered = b.Param(d, lanes), gated = b.Param(d, lanes),
                  listed = b.Param(d, lanes), listed_gated = b.Param(d, lanes),
                  scattered = b.Param(d, n), scattered_gated = b.Param(d, n);
        const UOp zero = ir::Const(ir::kInt32, 0);
        const UOp index = b.Load(permutation, zero, lanes);
        const UOp gate = b.Load(gates, zero, lanes);
        std::vector<UOp> each, each_gate;
        for (int i = 0; i < lanes; ++i) {
          each.push_back(b.Lane(index, i));
          each_gate.push_back(b.Lane(gate, i));
        }
        const UOp alternative = ir::Const(d.Vec(lanes), 1);
        const UOp x = b.Load(in, index, lanes);
        b.Store(gathered, zero, x);
        b.Store(gated, zero, b.Load(in, index, lanes, gate, alternative));
        b.Store(listed, zero, b.Load(in, b.Stack(each), lanes));
        b.Store(listed_gated, zero,
                b.Load(in, b.Stack(each), lanes, b.Stack(each_gate), alternative));
        b.Store(scattered, index, x);
        b.Store(scattered_gated, b.Stack(each), x, gate);

        std::vector<GuardedMemory> memory;
        std::vector<void*> buffers;
        for (const auto& p : b.Finish().params) memory.emplace_back(p.size * p.dtype.bytes());
        for (const GuardedMemory& m : memory) buffers.push_back(m.data());
        Fill(buffers[0], d, n);
        std::vector<int64_t> order(n);
        for (int i = 0; i < n; ++i) order[i] = i;
        std::shuffle(order.begin(), order.end(), random);
        // Both ends of memory are among those taken.
        std::swap(order[0], *std::find(order.begin(), order.end(), n - 1));
        std::swap(order[1], *std::find(order.begin(), order.end(), 0));
        for (int i = 0; i < lanes; ++i) {
          WriteElement(buffers[1], index_type, i, {.i = order[i]});
          WriteElement(buffers[2], ir::kBool, i, {.i = i % 2});
        }
        Run(b, buffers);
        for (int i = 0; i < lanes; ++i) {
          const Number want = ReadElement(buffers[0], d, order[i]);
          const Number one = {.f = 1, .i = 1};
          EXPECT_TRUE(SameNumber(ReadElement(buffers[3], d, i), want, d)) << d << i;
          EXPECT_TRUE(SameNumber(ReadElement(buffers[4], d, i), i % 2 ? want : one, d)) << d << i;
          EXPECT_TRUE(SameNumber(ReadElement(buffers[5], d, i), want, d)) << d << i;
          EXPECT_TRUE(SameNumber(ReadElement(buffers[6], d, i), i % 2 ? want : one, d)) << d << i;
          EXPECT_TRUE(SameNumber(ReadElement(buffers[7], d, order[i]), want, d)) << d << i;
          const Number zero_or_want = i % 2 ? want : Number{};
          EXPECT_TRUE(SameNumber(ReadElement(buffers[8], d, order[i]), zero_or_want, d)) << d << i;
        }
      }
    }
  }
}

// A gather whose gates are false nowhere touches memory.
TEST_P(MemoryTest, GatedGatherTouchesNothing) {
  for (int lanes : {4, 16}) {
    ProgramBuilder b("nothing");
    const UOp in = b.Param(ir::kFloat32, 1), out = b.Param(ir::kFloat32, lanes),
              indices = b.Param(ir::kInt32, lanes);
    const UOp zero = ir::Const(ir::kInt32, 0);
    const UOp index = b.Load(indices, zero, lanes);
    const UOp gate = index < ir::Const(ir::kInt32.Vec(lanes), 1);
    const UOp v = b.Load(in, index, lanes, gate, ir::Const(ir::kFloat32.Vec(lanes), 7));
    b.Store(in, index, v, gate);
    b.Store(out, zero, v);
    GuardedMemory one(4), result(4 * lanes), at(4 * lanes);
    one.as<float>()[0] = 3;
    for (int i = 0; i < lanes; ++i) at.as<int32_t>()[i] = i == 2 ? 0 : 100000 * (i + 1);
    Run(b, {one.data(), result.data(), at.data()});
    for (int i = 0; i < lanes; ++i) EXPECT_EQ(result.as<float>()[i], i == 2 ? 3 : 7);
  }
}

// Loads and stores of one buffer keep their order, also through different shapes of access.
TEST_P(MemoryTest, OrderIsKept) {
  ProgramBuilder b("order");
  const UOp data = b.Param(ir::kInt32, 8), out = b.Param(ir::kInt32, 8);
  const UOp zero = ir::Const(ir::kInt32, 0), two = ir::Const(ir::kInt32, 2);
  const UOp before = b.Load(data, two);
  b.Store(data, zero, b.Splat(before, 8));
  const UOp after = b.Load(data, ir::Const(ir::kInt32, 3), 2);
  b.Store(data, two, ir::Const(ir::kInt32, 99));
  b.Store(out, zero, after);
  b.Store(out, two, b.Load(data, ir::Const(ir::kInt64, 2)));
  GuardedMemory memory(32), result(32);
  for (int i = 0; i < 8; ++i) memory.as<int32_t>()[i] = 10 + i;
  Run(b, {memory.data(), result.data()});
  EXPECT_EQ(result.as<int32_t>()[0], 12);
  EXPECT_EQ(result.as<int32_t>()[1], 12);
  EXPECT_EQ(result.as<int32_t>()[2], 99);
}

INSTANTIATE_TEST_SUITE_P(Cpu, MemoryTest, testing::ValuesIn(AllCpuRenderers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tg::render
