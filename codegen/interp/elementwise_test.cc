// Each elementwise operation, on each type that has it, against plain loops over C++'s own types.
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/interp/interpreter.h"
#include "codegen/interp/program_builder.h"
#include "codegen/ir/dtype.h"
#include "codegen/ir/fold.h"
#include "gtest/gtest.h"

namespace tg::interp {
namespace {

using ir::DType;
using ir::Op;
using ir::UOp;

constexpr int kCount = 1024;

const std::vector<DType> kInts = {ir::kInt8,  ir::kUInt8,  ir::kInt16, ir::kUInt16,
                                  ir::kInt32, ir::kUInt32, ir::kInt64, ir::kUInt64};
const std::vector<DType> kFloats = {ir::kFp8E4M3, ir::kFp8E5M2,  ir::kFp8E4M3Fnuz, ir::kFp8E5M2Fnuz,
                                    ir::kFloat16, ir::kBFloat16, ir::kFloat32,     ir::kFloat64};

// A value of any type: integers in `i`, floats in `f`.
struct Value {
  int64_t i = 0;
  double f = 0;
};
using Values = std::vector<Value>;

std::vector<uint8_t> Bytes(const Values& v, DType d) {
  std::vector<uint8_t> r(v.size() * d.bytes());
  for (size_t k = 0; k < v.size(); ++k) {
    uint64_t bits = d.IsFloat() ? ir::EncodeFloat(v[k].f, d) : static_cast<uint64_t>(v[k].i);
    std::memcpy(&r[k * d.bytes()], &bits, d.bytes());
  }
  return r;
}

Values FromBytes(const std::vector<uint8_t>& bytes, DType d) {
  Values r(bytes.size() / d.bytes());
  for (size_t k = 0; k < r.size(); ++k) {
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes[k * d.bytes()], d.bytes());
    if (d.IsFloat()) {
      r[k].f = ir::DecodeFloat(bits, d);
    } else {
      r[k].i = ir::WrapToInt(static_cast<int64_t>(bits), d);
    }
  }
  return r;
}

bool Equal(const Value& a, const Value& b, DType d) {
  if (!d.IsFloat()) return a.i == b.i;
  if (std::isnan(a.f) || std::isnan(b.f)) return std::isnan(a.f) && std::isnan(b.f);
  return std::bit_cast<uint64_t>(a.f) == std::bit_cast<uint64_t>(b.f);
}

Values RandomValues(DType d, std::mt19937_64& rng) {
  Values r(kCount);
  for (Value& v : r) {
    const uint64_t bits = rng();
    if (d.IsFloat()) {
      // All bit patterns, and a good share of moderate numbers.
      v.f = rng() % 2 == 0 ? ir::DecodeFloat(bits, d)
                           : ir::RoundToFloat((static_cast<double>(bits % 4001) - 2000) / 128, d);
    } else {
      v.i = ir::WrapToInt(static_cast<int64_t>(rng() % 2 == 0 ? bits : bits % 17 - 8), d);
    }
  }
  return r;
}

// out[k] = op(in0[k], ...), `lanes` at a time.
absl::StatusOr<Values> RunOp(Op op, DType out_type, const std::vector<DType>& in_types,
                             const std::vector<Values>& in, int lanes) {
  ProgramBuilder b("test");
  UOp out = b.Param(out_type, kCount);
  std::vector<UOp> params;
  for (DType d : in_types) params.push_back(b.Param(d, kCount));
  UOp lanes_const = b.Int(lanes);
  UOp r = b.Loop(kCount / lanes);
  UOp index = b.Add(r * lanes_const);
  std::vector<UOp> src;
  for (const UOp& p : params) src.push_back(b.Load(p, index, lanes));
  UOp value = b.Add(UOp::Make(op, out_type.Vec(lanes), src));
  b.End(b.Store(out, index, value), {r});

  std::vector<std::vector<uint8_t>> bytes = {
      std::vector<uint8_t>(static_cast<size_t>(kCount) * out_type.bytes())};
  for (size_t k = 0; k < in.size(); ++k) bytes.push_back(Bytes(in[k], in_types[k]));
  std::vector<absl::Span<uint8_t>> spans;
  for (auto& v : bytes) spans.push_back(absl::MakeSpan(v));
  absl::Status s = Interpret(b.Build(), spans, {});
  if (!s.ok()) return s;
  return FromBytes(bytes[0], out_type);
}

void CheckOp(Op op, DType out_type, const std::vector<DType>& in_types,
             const std::vector<Values>& in, const std::function<Value(const Value*)>& expected) {
  for (int lanes : {1, 4, 16}) {
    absl::StatusOr<Values> got = RunOp(op, out_type, in_types, in, lanes);
    ASSERT_TRUE(got.ok()) << got.status();
    int mismatches = 0, noticed = 0;
    for (int k = 0; k < kCount; ++k) {
      Value args[3];
      for (size_t s = 0; s < in.size(); ++s) args[s] = in[s][k];
      Value want = expected(args);
      if (!Equal(want, (*got)[k], out_type) && ++mismatches <= 3) {
        ADD_FAILURE() << ir::OpName(op) << " " << in_types[0] << " to " << out_type << ", lanes "
                      << lanes << ": of " << args[0].i << "|" << args[0].f << ", " << args[1].i
                      << "|" << args[1].f << ", " << args[2].i << "|" << args[2].f << " got "
                      << (*got)[k].i << "|" << (*got)[k].f << ", want " << want.i << "|" << want.f;
      }
      // Negative control: a changed value is noticed.
      Value changed = (*got)[k];
      changed.i ^= 1;
      changed.f = std::isnan(changed.f) ? 0 : changed.f == 0 ? 1 : -changed.f;
      noticed += !Equal(want, changed, out_type);
    }
    EXPECT_EQ(mismatches, 0);
    EXPECT_EQ(noticed, kCount);
  }
}

using Wide = __int128;

// Modulo 2^128, of which the low 64 bits are looked at.
Wide Times(Wide x, Wide y) {
  return static_cast<Wide>(static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(y));
}

Wide ToWide(int64_t v, DType d) {
  return d == ir::kUInt64 ? static_cast<Wide>(static_cast<uint64_t>(v)) : static_cast<Wide>(v);
}

TEST(ElementwiseTest, Integers) {
  std::mt19937_64 rng(1);
  for (DType d : kInts) {
    const Values a = RandomValues(d, rng), b = RandomValues(d, rng), c = RandomValues(d, rng);
    Values nonzero = b, shifts = b, small = b;
    for (int k = 0; k < kCount; ++k) {
      if (nonzero[k].i == 0) nonzero[k].i = 3;
      shifts[k].i = static_cast<int64_t>(rng() % d.bits());
      small[k].i = static_cast<int64_t>(rng() % 9);
    }
    auto value = [d](Wide v) { return Value{ir::WrapToInt(static_cast<int64_t>(v), d), 0}; };
    auto binary = [&](Op op, const Values& y, Wide (*f)(Wide, Wide)) {
      CheckOp(op, d, {d, d}, {a, y},
              [&](const Value* v) { return value(f(ToWide(v[0].i, d), ToWide(v[1].i, d))); });
    };
    binary(Op::kAdd, b, [](Wide x, Wide y) { return x + y; });
    binary(Op::kSub, b, [](Wide x, Wide y) { return x - y; });
    binary(Op::kMul, b, [](Wide x, Wide y) { return Times(x, y); });
    binary(Op::kMax, b, [](Wide x, Wide y) { return x < y ? y : x; });
    binary(Op::kAnd, b, [](Wide x, Wide y) { return x & y; });
    binary(Op::kOr, b, [](Wide x, Wide y) { return x | y; });
    binary(Op::kXor, b, [](Wide x, Wide y) { return x ^ y; });
    binary(Op::kShl, shifts,
           [](Wide x, Wide y) { return Times(x, Wide{1} << static_cast<int>(y)); });
    binary(Op::kShr, shifts, [](Wide x, Wide y) { return x >> static_cast<int>(y); });
    binary(Op::kCdiv, nonzero, [](Wide x, Wide y) { return x / y; });
    binary(Op::kCmod, nonzero, [](Wide x, Wide y) { return x % y; });
    binary(Op::kFloorDiv, nonzero,
           [](Wide x, Wide y) { return x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0); });
    binary(Op::kFloorMod, nonzero, [](Wide x, Wide y) { return ((x % y) + y) % y; });
    binary(Op::kPow, small, [](Wide x, Wide y) {
      Wide r = 1;
      for (; y > 0; --y) r = static_cast<int64_t>(Times(r, x));
      return r;
    });
    CheckOp(Op::kNeg, d, {d}, {a}, [&](const Value* v) { return value(-ToWide(v[0].i, d)); });
    CheckOp(Op::kTrunc, d, {d}, {a}, [&](const Value* v) { return v[0]; });
    CheckOp(Op::kMulAcc, d, {d, d, d}, {a, b, c}, [&](const Value* v) {
      const Wide product = static_cast<int64_t>(Times(ToWide(v[0].i, d), ToWide(v[1].i, d)));
      return value(product + ToWide(v[2].i, d));
    });
    auto compare = [&](Op op, bool (*f)(Wide, Wide)) {
      CheckOp(op, ir::kBool, {d, d}, {a, b}, [&](const Value* v) {
        return Value{f(ToWide(v[0].i, d), ToWide(v[1].i, d)), 0};
      });
    };
    compare(Op::kCmpLt, [](Wide x, Wide y) { return x < y; });
    compare(Op::kCmpNe, [](Wide x, Wide y) { return x != y; });
    compare(Op::kCmpEq, [](Wide x, Wide y) { return x == y; });
  }
}

// Native arithmetic of T on every float operation.
template <typename T>
void CheckNative(DType d) {
  std::mt19937_64 rng(2);
  const Values a = RandomValues(d, rng), b = RandomValues(d, rng), c = RandomValues(d, rng);
  auto unary = [&](Op op, T (*f)(T)) {
    CheckOp(op, d, {d}, {a}, [f](const Value* v) {
      return Value{0, static_cast<double>(f(static_cast<T>(v[0].f)))};
    });
  };
  auto binary = [&](Op op, T (*f)(T, T)) {
    CheckOp(op, d, {d, d}, {a, b}, [f](const Value* v) {
      return Value{0, static_cast<double>(f(static_cast<T>(v[0].f), static_cast<T>(v[1].f)))};
    });
  };
  unary(Op::kNeg, [](T x) { return -x; });
  unary(Op::kTrunc, [](T x) { return std::trunc(x); });
  unary(Op::kSqrt, [](T x) { return std::sqrt(x); });
  unary(Op::kReciprocal, [](T x) { return T{1} / x; });
  unary(Op::kExp2, [](T x) { return static_cast<T>(std::exp2(static_cast<double>(x))); });
  unary(Op::kLog2, [](T x) { return static_cast<T>(std::log2(static_cast<double>(x))); });
  unary(Op::kSin, [](T x) { return static_cast<T>(std::sin(static_cast<double>(x))); });
  binary(Op::kAdd, [](T x, T y) { return x + y; });
  binary(Op::kSub, [](T x, T y) { return x - y; });
  binary(Op::kMul, [](T x, T y) { return x * y; });
  binary(Op::kFdiv, [](T x, T y) { return x / y; });
  binary(Op::kPow, [](T x, T y) {
    return static_cast<T>(std::pow(static_cast<double>(x), static_cast<double>(y)));
  });
  binary(Op::kMax, [](T x, T y) {
    return x != x || y != y ? std::numeric_limits<T>::quiet_NaN() : x < y ? y : x;
  });
  CheckOp(Op::kMulAcc, d, {d, d, d}, {a, b, c}, [](const Value* v) {
    return Value{0, static_cast<double>(std::fma(static_cast<T>(v[0].f), static_cast<T>(v[1].f),
                                                 static_cast<T>(v[2].f)))};
  });
}

TEST(ElementwiseTest, Float32) { CheckNative<float>(ir::kFloat32); }
TEST(ElementwiseTest, Float64) { CheckNative<double>(ir::kFloat64); }

// The nearest value of `d` to a finite x, ties to even, by looking at the neighbours.
double Nearest(__float128 x, DType d) {
  const double guess = ir::RoundToFloat(static_cast<double>(x), d);
  if (!std::isfinite(guess)) return guess;
  const uint64_t code = ir::EncodeFloat(guess, d);
  double best = guess;
  auto distance = [x](double y) { return x > y ? x - y : y - x; };
  for (int step : {-1, 1}) {
    const double other = ir::DecodeFloat(code + static_cast<uint64_t>(step), d);
    if (!std::isfinite(other) || std::fabs(other - guess) > std::fabs(guess) + 1) continue;
    const __float128 mine = distance(best), its = distance(other);
    if (its < mine || (its == mine && ir::EncodeFloat(other, d) % 2 == 0)) best = other;
  }
  return best;
}

TEST(ElementwiseTest, SmallFloats) {
  std::mt19937_64 rng(3);
  for (DType d : kFloats) {
    if (d.bits() > 16) continue;
    const Values a = RandomValues(d, rng), b = RandomValues(d, rng), c = RandomValues(d, rng);
    auto round = [d](double v) { return Value{0, ir::RoundToFloat(v, d)}; };
    CheckOp(Op::kAdd, d, {d, d}, {a, b}, [&](const Value* v) { return round(v[0].f + v[1].f); });
    CheckOp(Op::kMul, d, {d, d}, {a, b}, [&](const Value* v) { return round(v[0].f * v[1].f); });
    CheckOp(Op::kFdiv, d, {d, d}, {a, b}, [&](const Value* v) { return round(v[0].f / v[1].f); });
    CheckOp(Op::kSqrt, d, {d}, {a}, [&](const Value* v) { return round(std::sqrt(v[0].f)); });
    CheckOp(Op::kExp2, d, {d}, {a}, [&](const Value* v) { return round(std::exp2(v[0].f)); });
    CheckOp(Op::kNeg, d, {d}, {a}, [&](const Value* v) { return round(-v[0].f); });
    // Moderate values: their products and sums are exact in 113 bits.
    Values x = a, y = b, z = c;
    for (Values* v : {&x, &y, &z}) {
      for (Value& e : *v) {
        if (!(std::fabs(e.f) <= 16) || std::fabs(e.f) < 0x1p-12) e.f = ir::RoundToFloat(0.3, d);
      }
    }
    CheckOp(Op::kMulAcc, d, {d, d, d}, {x, y, z}, [&](const Value* v) {
      const __float128 exact = static_cast<__float128>(v[0].f) * v[1].f + v[2].f;
      if (exact == 0) return round(v[0].f * v[1].f + v[2].f);
      return Value{0, Nearest(exact, d)};
    });
  }
}

// 1 + 2^-11 - 2^-60 is below the midpoint of two halves, though a double cannot say so.
TEST(ElementwiseTest, MulAccRoundsOnce) {
  Values a(kCount, Value{0, 1}), b(kCount), c(kCount);
  for (int k = 0; k < kCount; ++k) {
    b[k].f = 1024 + 1;
    c[k].f = k % 2 == 0 ? 0x1p-24 : -0x1p-24;
    a[k].f = 2.001953125;  // 2 + 2^-9
  }
  CheckOp(
      Op::kMulAcc, ir::kFloat16, {ir::kFloat16, ir::kFloat16, ir::kFloat16}, {a, b, c},
      [](const Value* v) {
        return Value{0, Nearest(static_cast<__float128>(v[0].f) * v[1].f + v[2].f, ir::kFloat16)};
      });
}

TEST(ElementwiseTest, Bool) {
  std::mt19937_64 rng(4);
  Values a(kCount), b(kCount);
  for (int k = 0; k < kCount; ++k) {
    a[k].i = rng() % 2;
    b[k].i = rng() % 2;
  }
  auto check = [&](Op op, bool (*f)(bool, bool)) {
    CheckOp(op, ir::kBool, {ir::kBool, ir::kBool}, {a, b}, [f](const Value* v) {
      return Value{f(v[0].i != 0, v[1].i != 0), 0};
    });
  };
  check(Op::kAdd, [](bool x, bool y) { return x || y; });
  check(Op::kMax, [](bool x, bool y) { return x || y; });
  check(Op::kOr, [](bool x, bool y) { return x || y; });
  check(Op::kMul, [](bool x, bool y) { return x && y; });
  check(Op::kAnd, [](bool x, bool y) { return x && y; });
  check(Op::kXor, [](bool x, bool y) { return x != y; });
  check(Op::kCmpNe, [](bool x, bool y) { return x != y; });
  check(Op::kCmpEq, [](bool x, bool y) { return x == y; });
  check(Op::kCmpLt, [](bool x, bool y) { return !x && y; });
  CheckOp(Op::kNeg, ir::kBool, {ir::kBool}, {a}, [](const Value* v) {
    return Value{v[0].i == 0, 0};
  });
}

TEST(ElementwiseTest, FloatComparisons) {
  std::mt19937_64 rng(5);
  for (DType d : kFloats) {
    const Values a = RandomValues(d, rng);
    Values b = RandomValues(d, rng);
    for (int k = 0; k < kCount; k += 3) b[k] = a[k];
    CheckOp(Op::kCmpLt, ir::kBool, {d, d}, {a, b}, [](const Value* v) {
      return Value{v[0].f < v[1].f, 0};
    });
    CheckOp(Op::kCmpNe, ir::kBool, {d, d}, {a, b}, [](const Value* v) {
      return Value{v[0].f != v[1].f, 0};
    });
    CheckOp(Op::kCmpEq, ir::kBool, {d, d}, {a, b}, [](const Value* v) {
      return Value{v[0].f == v[1].f, 0};
    });
  }
}

std::vector<DType> MemoryTypes() {
  std::vector<DType> all = kInts;
  all.insert(all.end(), kFloats.begin(), kFloats.end());
  all.push_back(ir::kBool);
  return all;
}

TEST(ElementwiseTest, CastsAndWhere) {
  std::mt19937_64 rng(6);
  Values choice(kCount);
  for (Value& v : choice) v.i = rng() % 2;
  for (DType from : MemoryTypes()) {
    Values a = RandomValues(from, rng);
    if (from.IsBool()) a = choice;
    for (DType to : MemoryTypes()) {
      CheckOp(Op::kCast, to, {from}, {a}, [&](const Value* v) {
        if (!from.IsFloat() && !to.IsFloat()) return Value{ir::WrapToInt(v[0].i, to), 0};
        if (!to.IsFloat()) return Value{ir::FloatToInt(v[0].f, to), 0};
        if (from.IsFloat()) return Value{0, ir::RoundToFloat(v[0].f, to)};
        // The compiler's own conversions round once.
        if (to == ir::kFloat64) return Value{0, ir::IntToDouble(v[0].i, from)};
        if (to == ir::kFloat32) {
          return Value{0,
                       from == ir::kUInt64
                           ? static_cast<double>(static_cast<float>(static_cast<uint64_t>(v[0].i)))
                           : static_cast<double>(static_cast<float>(v[0].i))};
        }
        return Value{0, ir::RoundToFloat(static_cast<double>(ToWide(v[0].i, from)), to)};
      });
    }
    Values b = from.IsBool() ? a : RandomValues(from, rng);
    CheckOp(Op::kWhere, from, {ir::kBool, from, from}, {choice, a, b},
            [](const Value* v) { return v[0].i != 0 ? v[1] : v[2]; });
  }
}

// A double between the integer and bfloat16 would round 2^62 + 2^54 + 1 to even, that is, down.
TEST(ElementwiseTest, IntegersToSmallFloatsRoundOnce) {
  Values a(kCount, Value{(int64_t{1} << 62) + (int64_t{1} << 54) + 1, 0});
  CheckOp(Op::kCast, ir::kBFloat16, {ir::kInt64}, {a}, [](const Value*) {
    return Value{0, 0x1p62 + 0x1p55};
  });
}

TEST(ElementwiseTest, Bitcasts) {
  std::mt19937_64 rng(7);
  for (DType from : MemoryTypes()) {
    for (DType to : MemoryTypes()) {
      if (from.IsBool() || to.IsBool() || from.bits() != to.bits()) continue;
      Values a = RandomValues(from, rng);
      CheckOp(Op::kBitcast, to, {from}, {a},
              [&](const Value* v) { return FromBytes(Bytes({v[0]}, from), to)[0]; });
    }
  }
}

TEST(ElementwiseTest, Threefry) {
  std::mt19937_64 rng(8);
  const Values a = RandomValues(ir::kUInt64, rng), b = RandomValues(ir::kUInt64, rng);
  CheckOp(Op::kThreefry, ir::kUInt64, {ir::kUInt64, ir::kUInt64}, {a, b}, [](const Value* v) {
    return Value{static_cast<int64_t>(ir::Threefry2x32(static_cast<uint64_t>(v[0].i),
                                                       static_cast<uint64_t>(v[1].i))),
                 0};
  });
}

TEST(ElementwiseTest, ArithmeticErrors) {
  Values one(kCount, Value{1, 0}), zero(kCount, Value{0, 0}), many(kCount, Value{32, 0});
  Values negative(kCount, Value{-1, 0});
  struct {
    Op op;
    const Values& b;
    const char* want;
  } rows[] = {
      {Op::kCdiv, zero, "Cdiv divides by zero"},
      {Op::kCmod, zero, "Cmod divides by zero"},
      {Op::kFloorDiv, zero, "FloorDiv divides by zero"},
      {Op::kFloorMod, zero, "FloorMod divides by zero"},
      {Op::kShl, many, "Shl shifts by"},
      {Op::kShr, negative, "Shr shifts by"},
      {Op::kPow, negative, "Pow raises an integer"},
  };
  for (const auto& r : rows) {
    absl::StatusOr<Values> got = RunOp(r.op, ir::kInt32, {ir::kInt32, ir::kInt32}, {one, r.b}, 4);
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(got.status().message()).find(r.want), std::string::npos) << got.status();
  }
}

}  // namespace
}  // namespace tg::interp
