// Every elementwise operation on every dtype and a range of lane counts, against plain C++.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "codegen/render/testing/program_builder.h"
#include "codegen/render/testing/run_program.h"
#include "gtest/gtest.h"

namespace tg::render {
namespace {

using ir::DType;
using ir::Op;
using ir::ScalarType;
using ir::UOp;

// What `op` gives, computed in double or 64-bit integers and rounded to `d`.
Number Expected(Op op, DType d, Number x, Number y, Number z) {
  const bool u64 = d.scalar() == ScalarType::kUInt64;
  const auto less = [&](int64_t a, int64_t b) {
    return u64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
  };
  if (d.IsFloat()) {
    const bool f64 = d.scalar() == ScalarType::kFloat64;
    const auto f = [&](double v) { return Number{.f = ir::RoundToFloat(v, d)}; };
    switch (op) {
      case Op::kNeg:
        return f(-x.f);
      case Op::kTrunc:
        return f(std::trunc(x.f));
      case Op::kSqrt:
        return f(std::sqrt(x.f));
      case Op::kReciprocal:
        return f(1 / x.f);
      case Op::kExp2:
        return f(std::exp2(x.f));
      case Op::kLog2:
        return f(std::log2(x.f));
      case Op::kSin:
        return f(std::sin(x.f));
      case Op::kPow:
        return f(std::pow(x.f, y.f));
      case Op::kAdd:
        return f(x.f + y.f);
      case Op::kSub:
        return f(x.f - y.f);
      case Op::kMul:
        return f(x.f * y.f);
      case Op::kFdiv:
        return f(x.f / y.f);
      case Op::kMax:
        return std::isnan(x.f) || std::isnan(y.f) ? f(NAN) : f(std::max(x.f, y.f));
      case Op::kMulAcc:
        return f64 ? f(std::fma(x.f, y.f, z.f))
                   : f(std::fma(static_cast<float>(x.f), static_cast<float>(y.f),
                                static_cast<float>(z.f)));
      case Op::kCmpLt:
        return {.i = x.f < y.f};
      case Op::kCmpNe:
        return {.i = x.f != y.f};
      default:
        return {.i = x.f == y.f};
    }
  }
  const auto wrap = [&](uint64_t v) {
    return Number{.i = ir::WrapToInt(static_cast<int64_t>(v), d)};
  };
  const uint64_t ux = static_cast<uint64_t>(x.i), uy = static_cast<uint64_t>(y.i);
  if (d.IsBool()) {
    switch (op) {
      case Op::kNeg:
        return {.i = !x.i};
      case Op::kAdd:
      case Op::kMax:
      case Op::kOr:
        return {.i = x.i | y.i};
      case Op::kMul:
      case Op::kAnd:
        return {.i = x.i & y.i};
      case Op::kSub:
      case Op::kXor:
      case Op::kCmpNe:
        return {.i = x.i ^ y.i};
      case Op::kCmpLt:
        return {.i = x.i < y.i};
      case Op::kTrunc:
        return x;
      case Op::kMulAcc:
        return {.i = (x.i & y.i) | z.i};
      default:
        return {.i = x.i == y.i};
    }
  }
  // Of a narrow type's values the 64-bit results are exact.
  int64_t q = 0, r = x.i;
  if (u64 && y.i != 0) {
    q = static_cast<int64_t>(ux / uy);
    r = static_cast<int64_t>(ux % uy);
  } else if (y.i == -1 && !d.IsUnsigned()) {
    q = static_cast<int64_t>(0 - ux);
    r = 0;
  } else if (y.i != 0) {
    q = x.i / y.i;
    r = x.i % y.i;
  }
  const bool low = !d.IsUnsigned() && y.i != 0 && r != 0 && (r < 0) != (y.i < 0);
  switch (op) {
    case Op::kNeg:
      return wrap(0 - ux);
    case Op::kTrunc:
      return x;
    case Op::kAdd:
      return wrap(ux + uy);
    case Op::kSub:
      return wrap(ux - uy);
    case Op::kMul:
      return wrap(ux * uy);
    case Op::kMulAcc:
      return wrap(ux * uy + static_cast<uint64_t>(z.i));
    case Op::kXor:
      return wrap(ux ^ uy);
    case Op::kOr:
      return wrap(ux | uy);
    case Op::kAnd:
      return wrap(ux & uy);
    case Op::kShl:
      return wrap(ux << (uy % d.bits()));
    case Op::kShr:
      return u64 ? wrap(ux >> (uy % d.bits()))
                 : wrap(static_cast<uint64_t>(x.i >> (uy % d.bits())));
    case Op::kCdiv:
      return wrap(static_cast<uint64_t>(q));
    case Op::kCmod:
      return wrap(static_cast<uint64_t>(r));
    case Op::kFloorDiv:
      return wrap(static_cast<uint64_t>(q - low));
    case Op::kFloorMod:
      return wrap(static_cast<uint64_t>(low ? r + y.i : r));
    case Op::kMax:
      return less(x.i, y.i) ? y : x;
    case Op::kCmpLt:
      return {.i = less(x.i, y.i)};
    case Op::kCmpNe:
      return {.i = x.i != y.i};
    default:
      return {.i = x.i == y.i};
  }
}

std::vector<Op> OpsFor(DType d) {
  std::vector<Op> ops = {Op::kNeg, Op::kTrunc, Op::kAdd,   Op::kSub,   Op::kMul,
                         Op::kMax, Op::kCmpLt, Op::kCmpNe, Op::kCmpEq, Op::kMulAcc};
  if (d.IsFloat()) {
    for (Op op :
         {Op::kSqrt, Op::kReciprocal, Op::kFdiv, Op::kExp2, Op::kLog2, Op::kSin, Op::kPow}) {
      ops.push_back(op);
    }
  } else {
    for (Op op : {Op::kXor, Op::kOr, Op::kAnd}) ops.push_back(op);
    if (d.IsInt()) {
      for (Op op : {Op::kShl, Op::kShr, Op::kCdiv, Op::kCmod, Op::kFloorDiv, Op::kFloorMod}) {
        ops.push_back(op);
      }
    }
  }
  return ops;
}

int Arity(Op op) { return ir::IsUnary(op) ? 1 : ir::IsTernary(op) ? 3 : 2; }

// Small numbers, the type's extremes, random bits.
Number RandomNumber(std::mt19937_64& random, DType d) {
  const uint64_t bits = random();
  const int64_t small = static_cast<int64_t>(random() % 17) - 8;
  switch (random() % 4) {
    case 0:
      return d.IsFloat() ? Number{.f = ir::RoundToFloat(small * 0.5, d)}
                         : Number{.i = ir::WrapToInt(small, d)};
    case 1: {
      if (d.IsFloat()) {
        const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-42, 3e38, 0.1};
        return {.f = ir::RoundToFloat(special[random() % 8], d)};
      }
      const int64_t special[] = {0, 1, -1, d.MinInt(), d.MaxInt(), d.MinInt() + 1};
      return {.i = ir::WrapToInt(special[random() % 6], d)};
    }
    default:
      if (!d.IsFloat()) return {.i = ir::WrapToInt(static_cast<int64_t>(bits), d)};
      return {.f = ir::DecodeFloat(d.bits() == 64 ? bits : bits >> (64 - d.bits()), d)};
  }
}

// Library functions may differ in the last places.
bool CloseEnough(Op op, Number a, Number b, DType d) {
  if (SameNumber(a, b, d)) return true;
  if (op != Op::kExp2 && op != Op::kLog2 && op != Op::kSin && op != Op::kPow) return false;
  return std::fabs(a.f - b.f) <= std::fabs(b.f) * (d.bits() == 32 ? 1e-6 : 1e-14) + 1e-300;
}

// The comparisons above are worth something: they tell neighbours apart.
TEST(AluTestControl, WrongResultsAreNoticed) {
  const float one = 1, next = std::nextafter(one, 2.0f);
  EXPECT_FALSE(CloseEnough(Op::kAdd, {.f = next}, {.f = one}, ir::kFloat32));
  EXPECT_TRUE(CloseEnough(Op::kSin, {.f = next}, {.f = one}, ir::kFloat32));
  EXPECT_FALSE(CloseEnough(Op::kSin, {.f = 1.00001}, {.f = one}, ir::kFloat32));
  EXPECT_FALSE(CloseEnough(Op::kMax, {.f = 1}, {.f = NAN}, ir::kFloat32));
  EXPECT_FALSE(CloseEnough(Op::kAdd, {.i = 1}, {.i = 2}, ir::kInt32));
}

struct Case {
  RendererCase renderer;
  DType dtype;
};
void PrintTo(const Case& c, std::ostream* os) { *os << c.renderer << " " << c.dtype; }

class AluTest : public testing::TestWithParam<Case> {};

TEST_P(AluTest, EveryOperation) {
  const DType d = GetParam().dtype;
  const std::vector<Op> ops = OpsFor(d);
  std::mt19937_64 random(7);
  for (int lanes : {1, 2, 3, 4, 8, 16, 64}) {
    SCOPED_TRACE(absl::StrCat(lanes, " lanes"));
    const int rounds = 24;
    const int64_t n = int64_t{lanes} * rounds;
    ProgramBuilder b("alu");
    const UOp in[3] = {b.Param(d, n), b.Param(d, n), b.Param(d, n)};
    std::vector<UOp> out;
    for (Op op : ops) out.push_back(b.Param(ir::IsComparison(op) ? ir::kBool : d, n));
    const UOp i = b.Loop(rounds);
    const UOp at = i * lanes;
    const UOp x = b.Load(in[0], at, lanes), y = b.Load(in[1], at, lanes),
              z = b.Load(in[2], at, lanes);
    for (size_t k = 0; k < ops.size(); ++k) {
      std::vector<UOp> src = {x, y, z};
      src.resize(Arity(ops[k]));
      if (ops[k] == Op::kShl || ops[k] == Op::kShr) {
        src[1] = y & ir::Const(d.Vec(lanes), d.bits() - 1);
      }
      b.Store(out[k], at, ir::Alu(ops[k], src));
    }
    b.End(i);

    std::vector<GuardedMemory> memory;
    for (const lower::ProgramParam& p : b.Finish().params)
      memory.emplace_back(p.size * p.dtype.bytes());
    for (int m = 0; m < 3; ++m) {
      for (int64_t k = 0; k < n; ++k) WriteElement(memory[m].data(), d, k, RandomNumber(random, d));
    }
    std::vector<void*> buffers;
    for (const GuardedMemory& m : memory) buffers.push_back(m.data());
    const absl::Status status = RunProgram(*GetParam().renderer.renderer, b.Finish(), buffers);
    ASSERT_TRUE(status.ok()) << status;

    for (size_t k = 0; k < ops.size(); ++k) {
      const DType result = ir::IsComparison(ops[k]) ? ir::kBool : d;
      int failures = 0;
      for (int64_t e = 0; e < n && failures < 3; ++e) {
        Number a[3];
        for (int m = 0; m < 3; ++m) a[m] = ReadElement(buffers[m], d, e);
        const Number got = ReadElement(buffers[3 + k], result, e);
        const Number want = Expected(ops[k], d, a[0], a[1], a[2]);
        if (CloseEnough(ops[k], got, want, result)) continue;
        ++failures;
        ADD_FAILURE() << ops[k] << "(" << NumberToString(a[0], d) << ", " << NumberToString(a[1], d)
                      << ", " << NumberToString(a[2], d) << ") = " << NumberToString(got, result)
                      << ", expected " << NumberToString(want, result);
      }
    }
  }
}

// Constants in every place, so that the forms for known divisors are taken.
TEST_P(AluTest, DivisionByConstants) {
  const DType d = GetParam().dtype;
  if (!d.IsInt()) return;
  const Op ops[] = {Op::kCdiv, Op::kCmod, Op::kFloorDiv, Op::kFloorMod};
  std::mt19937_64 random(11);
  for (int lanes : {1, 16}) {
    const std::vector<int64_t> divisors = {1,   2,          3,  7,  8,  64,
                                           100, d.MaxInt(), -1, -3, -4, d.MinInt()};
    const int64_t n = int64_t{lanes} * 16;
    ProgramBuilder b("divide");
    const UOp in = b.Param(d, n);
    std::vector<std::pair<Op, int64_t>> cases;
    for (int64_t divisor : divisors) {
      if (ir::WrapToInt(divisor, d) != divisor || divisor == 0) continue;
      for (Op op : ops) cases.push_back({op, divisor});
    }
    const UOp out = b.Param(d, n * static_cast<int64_t>(cases.size()));
    const UOp i = b.Loop(16);
    const UOp x = b.Load(in, i * lanes, lanes);
    for (size_t k = 0; k < cases.size(); ++k) {
      const UOp divisor = ir::Const(d.Vec(lanes), cases[k].second);
      b.Store(out, i * lanes + static_cast<int64_t>(k) * n, ir::Alu(cases[k].first, {x, divisor}));
    }
    b.End(i);
    GuardedMemory memory_in(n * d.bytes()), memory_out(n * cases.size() * d.bytes());
    for (int64_t k = 0; k < n; ++k) WriteElement(memory_in.data(), d, k, RandomNumber(random, d));
    void* buffers[] = {memory_in.data(), memory_out.data()};
    const absl::Status status = RunProgram(*GetParam().renderer.renderer, b.Finish(), buffers);
    ASSERT_TRUE(status.ok()) << status;
    for (size_t k = 0; k < cases.size(); ++k) {
      for (int64_t e = 0; e < n; ++e) {
        const Number x_value = ReadElement(memory_in.data(), d, e);
        const Number got = ReadElement(memory_out.data(), d, static_cast<int64_t>(k) * n + e);
        const Number want = Expected(cases[k].first, d, x_value, {.i = cases[k].second}, {});
        ASSERT_EQ(got.i, want.i) << cases[k].first << "(" << x_value.i << ", " << cases[k].second
                                 << "), " << lanes << " lanes";
      }
    }
  }
}

TEST_P(AluTest, Where) {
  // Selecting computes nothing: it works for every dtype.
  for (int s = static_cast<int>(ScalarType::kBool); s < ir::kScalarTypeCount; ++s) {
    const DType d(static_cast<ScalarType>(s));
    if (d.IsWeak() || GetParam().dtype != ir::kFloat32) continue;
    for (int lanes : {1, 3, 8}) {
      ProgramBuilder b("where");
      const UOp c = b.Param(ir::kBool, lanes), x = b.Param(d, lanes), y = b.Param(d, lanes),
                out = b.Param(d, lanes);
      const UOp zero = ir::Const(ir::kInt32, 0);
      b.Store(out, zero,
              ir::Where(b.Load(c, zero, lanes), b.Load(x, zero, lanes), b.Load(y, zero, lanes)));
      GuardedMemory mc(lanes), mx(lanes * d.bytes()), my(lanes * d.bytes()), mo(lanes * d.bytes());
      for (int i = 0; i < lanes; ++i) {
        // Any byte but 0 is true.
        mc.as<uint8_t>()[i] = i % 3 == 0 ? 0 : 1 + 77 * (i % 3 - 1);
        WriteElement(mx.data(), d, i, {.f = 1, .i = 1});
        WriteElement(my.data(), d, i, {.f = 0, .i = 0});
      }
      void* buffers[] = {mc.data(), mx.data(), my.data(), mo.data()};
      const absl::Status status = RunProgram(*GetParam().renderer.renderer, b.Finish(), buffers);
      ASSERT_TRUE(status.ok()) << d << " " << status;
      for (int i = 0; i < lanes; ++i) {
        const Number got = ReadElement(mo.data(), d, i);
        EXPECT_EQ(d.IsFloat() ? got.f : got.i, i % 3 != 0) << d << " lane " << i;
      }
    }
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const RendererCase& r : AllCpuRenderers()) {
    for (DType d : {ir::kBool, ir::kInt8, ir::kUInt8, ir::kInt16, ir::kUInt16, ir::kInt32,
                    ir::kUInt32, ir::kInt64, ir::kUInt64, ir::kFloat32, ir::kFloat64}) {
      cases.push_back({r, d});
    }
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Cpu, AluTest, testing::ValuesIn(Cases()), [](const auto& info) {
  return absl::StrCat(info.param.renderer.name, "_", info.param.dtype.ToString());
});

}  // namespace
}  // namespace tg::render
