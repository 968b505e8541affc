#include "codegen/interp/interpreter.h"

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "codegen/interp/program_builder.h"
#include "codegen/ir/dtype.h"
#include "gtest/gtest.h"

namespace tg::interp {
namespace {

using ir::Op;
using ir::UOp;

template <typename T>
absl::Span<uint8_t> BytesOf(std::vector<T>& v) {
  return {reinterpret_cast<uint8_t*>(v.data()), v.size() * sizeof(T)};
}

void ExpectError(const absl::Status& s, absl::StatusCode code, const std::string& want) {
  EXPECT_EQ(s.code(), code) << s;
  EXPECT_NE(std::string(s.message()).find(want), std::string::npos) << s;
}

UOp Sum(const UOp& vector, Op op = Op::kAdd) {
  return UOp::Make(Op::kReduce, vector.dtype().Scalar(), {vector},
                   ir::Boxed<ir::ReduceArg>(ir::ReduceArg{op, {}}));
}

TEST(InterpreterTest, MatrixProductWithAccumulator) {
  constexpr int kM = 7, kN = 5, kK = 9;
  ProgramBuilder b("matmul");
  UOp out = b.Param(ir::kFloat32, kM * kN), a = b.Param(ir::kFloat32, kM * kK);
  UOp w = b.Param(ir::kFloat32, kK * kN);
  UOp acc = b.Buffer(ir::kFloat32, 1), zero = b.Int(0), fzero = b.Add(ir::Const(ir::kFloat32, 0.0));
  UOp i = b.Loop(kM), j = b.Loop(kN);
  UOp init = b.Store(acc, zero, fzero);
  UOp k = b.Loop(kK, ir::AxisType::kReduce);
  UOp product = b.Load(a, i * kK + k) * b.Load(w, k * kN + j);
  // Loads of the accumulator are one node each: this one is inside of the loop.
  UOp inside = b.Load(acc, zero);
  b.End(b.Store(acc, zero, inside + product), {k});
  (void)init;
  // After the loop another node must read it: a load of one lane by a vector of one index differs.
  UOp after = UOp::Make(Op::kIndex, ir::kFloat32, {acc, zero, b.Add(ir::Const(ir::kBool, true))});
  UOp sum = b.Add(UOp::Make(Op::kLoad, ir::kFloat32, {after}));
  b.End(b.Store(out, i * kN + j, sum), {i, j});

  std::mt19937 rng(1);
  std::vector<float> va(kM * kK), vw(kK * kN), vo(kM * kN, -1);
  for (float& v : va) v = static_cast<float>(rng() % 100) / 7;
  for (float& v : vw) v = static_cast<float>(rng() % 100) / 3;
  ASSERT_EQ(Interpret(b.Build(), {BytesOf(vo), BytesOf(va), BytesOf(vw)}, {}), absl::OkStatus());
  for (int r = 0; r < kM; ++r) {
    for (int c = 0; c < kN; ++c) {
      float want = 0;
      for (int q = 0; q < kK; ++q) want += va[r * kK + q] * vw[q * kN + c];
      EXPECT_EQ(vo[r * kN + c], want);
    }
  }
}

TEST(InterpreterTest, VectorsGatherScatterAndLanes) {
  ProgramBuilder b("vectors");
  UOp out = b.Param(ir::kInt32, 8), in = b.Param(ir::kInt32, 8);
  UOp zero = b.Int(0);
  UOp v = b.Load(in, zero, 8);
  std::vector<UOp> reversed;
  for (int l = 7; l >= 0; --l) reversed.push_back(b.Int(l));
  UOp index = b.Add(UOp::Make(Op::kStack, ir::kInt32.Vec(8), reversed));
  // Scatter v backwards, then add a gather of it and lane 2.
  b.Store(out, index, v);
  UOp gathered = b.Load(in, index, 8);
  UOp lane = b.Add(UOp::Make(Op::kLane, ir::kInt32, {v}, int64_t{2}));
  UOp splat = b.Add(UOp::Make(Op::kStack, ir::kInt32.Vec(8), std::vector<UOp>(8, lane)));
  b.Store(out, zero, gathered + splat + ir::Const(ir::kInt32.Vec(8), 100));
  std::vector<int32_t> vo(8), vi = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_EQ(Interpret(b.Build(), {BytesOf(vo), BytesOf(vi)}, {}), absl::OkStatus());
  EXPECT_EQ(vo, (std::vector<int32_t>{111, 110, 109, 108, 107, 106, 105, 104}));
}

TEST(InterpreterTest, ReduceOverLanesGoesInOrder) {
  ProgramBuilder b("reduce");
  UOp out = b.Param(ir::kFloat32, 3), in = b.Param(ir::kFloat32, 4);
  UOp v = b.Load(in, b.Int(0), 4);
  b.Store(out, b.Int(0), Sum(v));
  b.Store(out, b.Int(1), Sum(v, Op::kMul));
  b.Store(out, b.Int(2), Sum(v, Op::kMax));
  std::vector<float> vo(3), vi = {1e8f, 1, -1e8f, 3};
  ASSERT_EQ(Interpret(b.Build(), {BytesOf(vo), BytesOf(vi)}, {}), absl::OkStatus());
  EXPECT_EQ(vo[0], ((1e8f + 1.0f) + -1e8f) + 3.0f);
  EXPECT_EQ(vo[1], ((1e8f * 1.0f) * -1e8f) * 3.0f);
  EXPECT_EQ(vo[2], 1e8f);
}

TEST(InterpreterTest, GatesTouchNothing) {
  ProgramBuilder b("gates");
  UOp out = b.Param(ir::kInt32, 8), in = b.Param(ir::kInt32, 6);
  UOp one = b.Int(1), six = b.Int(6), other = b.Int(-7);
  UOp i = b.Loop(8);
  UOp shifted = b.Add(i - 1);
  UOp open = b.Add((ir::Const(ir::kInt32, -1) < shifted) & (shifted < six));
  UOp x = b.LoadIf(in, shifted, open, other);
  UOp store = b.StoreIf(out, i, b.Add(UOp::Make(Op::kCmpNe, ir::kBool, {i, one})), x);
  b.End(store, {i});
  std::vector<int32_t> vo(8, 99), vi = {10, 11, 12, 13, 14, 15};
  ASSERT_EQ(Interpret(b.Build(), {BytesOf(vo), BytesOf(vi)}, {}), absl::OkStatus());
  EXPECT_EQ(vo, (std::vector<int32_t>{-7, 99, 11, 12, 13, 14, 15, -7}));
}

TEST(InterpreterTest, VectorGatesPerLane) {
  ProgramBuilder b("gates");
  UOp out = b.Param(ir::kInt32, 4), in = b.Param(ir::kInt32, 2);
  UOp t = b.Add(ir::Const(ir::kBool, true)), f = b.Add(ir::Const(ir::kBool, false));
  UOp gate = b.Add(UOp::Make(Op::kStack, ir::kBool.Vec(4), {t, t, f, f}));
  UOp v = b.LoadIf(in, b.Int(0), gate, b.Add(ir::Const(ir::kInt32.Vec(4), 5)));
  b.Store(out, b.Int(0), v);
  std::vector<int32_t> vo(4), vi = {1, 2};
  ASSERT_EQ(Interpret(b.Build(), {BytesOf(vo), BytesOf(vi)}, {}), absl::OkStatus());
  EXPECT_EQ(vo, (std::vector<int32_t>{1, 2, 5, 5}));
}

TEST(InterpreterTest, ThreadsVariablesEmptyLoopsAndIf) {
  ProgramBuilder b("threads");
  UOp out = b.Param(ir::kInt32, 12);
  UOp n = b.Variable("n", 0, 4);
  UOp t = b.Loop(3, ir::AxisType::kThread);
  UOp base = b.Add(t * 4);
  UOp i = b.Loop(n);
  UOp if_ = b.Add(UOp::Make(Op::kIf, ir::kVoid, {UOp::Make(Op::kCmpNe, ir::kBool, {t, i})}));
  UOp store = b.Store(out, base + i, base + n);
  b.Add(UOp::Make(Op::kEndIf, ir::kVoid, {if_}));
  b.End(store, {i});
  for (int64_t value : {0, 1, 3, 4}) {
    std::vector<int32_t> vo(12, -1);
    ASSERT_EQ(Interpret(b.Build(), {BytesOf(vo)}, {value}), absl::OkStatus());
    for (int part = 0; part < 3; ++part) {
      for (int k = 0; k < 4; ++k) {
        EXPECT_EQ(vo[part * 4 + k], k < value && k != part ? part * 4 + value : -1);
      }
    }
  }
}

TEST(InterpreterTest, OneEndForSeveralLoops) {
  ProgramBuilder b("loops");
  UOp out = b.Param(ir::kInt32, 24);
  UOp i = b.Loop(2), j = b.Loop(3), k = b.Loop(4);
  b.End(b.Store(out, (i * 3 + j) * 4 + k, i * 100 + j * 10 + k), {i, j, k});
  std::vector<int32_t> vo(24, -1);
  ASSERT_EQ(Interpret(b.Build(), {BytesOf(vo)}, {}), absl::OkStatus());
  for (int x = 0; x < 24; ++x) EXPECT_EQ(vo[x], x / 12 * 100 + x / 4 % 3 * 10 + x % 4);
}

TEST(InterpreterTest, LocalMemoryWithRunTimeIndices) {
  ProgramBuilder b("local");
  UOp out = b.Param(ir::kInt16, 5);
  UOp tile = b.Buffer(ir::kInt16, 5, ir::AddrSpace::kLocal);
  UOp i = b.Loop(5);
  b.End(b.Store(tile, i, UOp::Make(Op::kCast, ir::kInt16, {i * i})), {i});
  UOp j = b.Loop(5);
  b.End(b.Store(out, j, b.Load(tile, ir::Const(ir::kInt32, 4) - j)), {j});
  std::vector<int16_t> vo(5);
  ASSERT_EQ(Interpret(b.Build(), {BytesOf(vo)}, {}), absl::OkStatus());
  EXPECT_EQ(vo, (std::vector<int16_t>{16, 9, 4, 1, 0}));
}

TEST(InterpreterTest, BitcastsBetweenLaneCounts) {
  ProgramBuilder b("bits");
  UOp out = b.Param(ir::kUInt8, 8), in = b.Param(ir::kFloat32, 2);
  UOp v = b.Load(in, b.Int(0), 2);
  b.Store(out, b.Int(0), UOp::Make(Op::kBitcast, ir::kUInt8.Vec(8), {v}));
  std::vector<uint8_t> vo(8);
  std::vector<float> vi = {1.5f, -2.0f};
  ASSERT_EQ(Interpret(b.Build(), {BytesOf(vo), BytesOf(vi)}, {}), absl::OkStatus());
  EXPECT_EQ(std::memcmp(vo.data(), vi.data(), 8), 0);
}

TEST(InterpreterTest, ErrorsOfPrograms) {
  {
    ProgramBuilder b("oob");
    UOp out = b.Param(ir::kInt32, 4);
    UOp i = b.Loop(5);
    b.End(b.Store(out, i, i), {i});
    std::vector<int32_t> vo(8, -1);
    absl::Status s = Interpret(b.Build(), {BytesOf(vo)}, {});
    ExpectError(s, absl::StatusCode::kOutOfRange, "Store is out of bounds (element 4 of 4)");
    ExpectError(s, absl::StatusCode::kOutOfRange, "r0 = 4");
    ExpectError(s, absl::StatusCode::kOutOfRange, "kernel oob, instruction ");
    EXPECT_EQ(vo[4], -1);
  }
  {
    ProgramBuilder b("negative");
    UOp out = b.Param(ir::kInt32, 4), in = b.Param(ir::kInt32, 4);
    b.Store(out, b.Int(0), b.Load(in, b.Int(-1)));
    std::vector<int32_t> v(4);
    ExpectError(Interpret(b.Build(), {BytesOf(v), BytesOf(v)}, {}), absl::StatusCode::kOutOfRange,
                "element -1 of 4");
  }
  {
    ProgramBuilder b("vector_end");
    UOp out = b.Param(ir::kInt32, 4), in = b.Param(ir::kInt32, 4);
    b.Store(out, b.Int(0), b.Load(in, b.Int(1), 4));
    std::vector<int32_t> v(4);
    ExpectError(Interpret(b.Build(), {BytesOf(v), BytesOf(v)}, {}), absl::StatusCode::kOutOfRange,
                "element 4 of 4");
  }
  {
    ProgramBuilder b("unwritten");
    UOp out = b.Param(ir::kInt32, 1), acc = b.Buffer(ir::kInt32, 2);
    b.Store(acc, b.Int(0), b.Int(1));
    b.Store(out, b.Int(0), b.Load(acc, b.Int(1)));
    std::vector<int32_t> v(1);
    ExpectError(Interpret(b.Build(), {BytesOf(v)}, {}), absl::StatusCode::kFailedPrecondition,
                "Load reads memory of the program that it has not written");
  }
}

TEST(InterpreterTest, ErrorsOfCallers) {
  ProgramBuilder b("add");
  UOp out = b.Param(ir::kInt32, 4), n = b.Variable("n", 1, 4);
  b.Store(out, b.Int(0), n);
  std::vector<int32_t> v(4), small(3);
  auto invalid = absl::StatusCode::kInvalidArgument;
  ExpectError(Interpret(b.Build(), {}, {1}), invalid, "takes 1 buffers, not 0");
  ExpectError(Interpret(b.Build(), {BytesOf(v)}, {}), invalid, "takes 1 variables, not 0");
  ExpectError(Interpret(b.Build(), {BytesOf(small)}, {1}), invalid,
              "buffer 0 has 12 bytes, not 16");
  ExpectError(Interpret(b.Build(), {BytesOf(v)}, {5}), invalid, "variable n is 5");
  EXPECT_EQ(Interpret(b.Build(), {BytesOf(v)}, {4}), absl::OkStatus());
  EXPECT_EQ(v[0], 4);
}

TEST(InterpreterTest, RefusesWhatItCannotRun) {
  {
    ProgramBuilder b("custom");
    b.Add(UOp::Make(Op::kCustom, ir::kInt32, {}, ir::Boxed<std::string>("x")));
    ExpectError(Interpret(b.Build(), {}, {}), absl::StatusCode::kUnimplemented, "Custom int32");
  }
  {
    ProgramBuilder b("1bad");
    ExpectError(Interpret(b.Build(), {}, {}), absl::StatusCode::kInvalidArgument, "identifier");
  }
}

// A million multiply-adds; slow would show as a test that times out.
TEST(InterpreterTest, LongLoops) {
  ProgramBuilder b("long");
  UOp out = b.Param(ir::kFloat32, 1), acc = b.Buffer(ir::kFloat32, 1), zero = b.Int(0);
  UOp third = b.Add(ir::Const(ir::kFloat32, 0.25));
  b.Store(acc, zero, third);
  UOp i = b.Loop(1000000);
  UOp sum = b.Load(acc, zero) + third;
  UOp store = b.Store(acc, zero, sum);
  UOp last = b.Store(out, zero, sum);
  b.End(UOp::Make(Op::kGroup, ir::kVoid, {store, last}), {i});
  std::vector<float> v(1);
  ASSERT_EQ(Interpret(b.Build(), {BytesOf(v)}, {}), absl::OkStatus());
  EXPECT_EQ(v[0], 250000.25f);
}

}  // namespace
}  // namespace tg::interp
