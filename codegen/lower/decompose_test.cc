#include "codegen/lower/decompose.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "codegen/ir/fold.h"
#include "codegen/lower/lower_test_util.h"
#include "codegen/render/llvm/llvm_cpu_renderer.h"
#include "codegen/render/testing/run_program.h"
#include "gtest/gtest.h"

namespace tg::lower {
namespace {

using ir::AxisType;
using ir::DType;
using ir::kFloat32;
using ir::kFloat64;
using ir::Op;
using ir::Param;
using ir::Range;
using ir::UOp;

constexpr float kInf = std::numeric_limits<float>::infinity();

const render::Renderer& Llvm() {
  static const render::Renderer& renderer = *render::MakeLlvmCpuRenderer().release();
  return renderer;
}

// out[i] = op(a[i] [, b[i]]), in vectors where n divides by 8: interpreted, on a target that has
// nothing, or as LLVM's machine code, where multiply-adds are native.
template <typename T>
std::vector<T> Compute(Op op, DType d, std::vector<T> a, std::vector<T> b = {},
                       bool machine_code = false) {
  const int n = static_cast<int>(a.size());
  const UOp out = Param(0, d, n), pa = Param(1, d, n), pb = Param(2, d, n);
  std::vector<UOp> ranges = {Range(n % 8 == 0 ? n / 8 : n, 0)};
  UOp i = ranges[0];
  if (n % 8 == 0) {
    ranges.push_back(Range(8, 1, AxisType::kUpcast));
    i = i * 8 + ranges[1];
  }
  std::vector<UOp> src = {LoadAt(pa, i)};
  if (!b.empty()) src.push_back(LoadAt(pb, i));
  std::vector<T> o(n);
  std::vector<absl::Span<uint8_t>> buffers = {Bytes(o), Bytes(a)};
  if (!b.empty()) buffers.push_back(Bytes(b));
  const UOp kernel = Kernel({StoreLoop(out, i, ir::Alu(op, src), ranges)});
  if (machine_code) {
    std::vector<void*> pointers = {o.data(), a.data()};
    if (!b.empty()) pointers.push_back(b.data());
    const absl::Status s =
        render::RunProgram(Llvm(), LowerOrFail(kernel, Llvm().target()), pointers);
    EXPECT_TRUE(s.ok()) << s;
  } else {
    RunKernel(kernel, buffers, Bare());
  }
  return o;
}

// Distance in units in the last place of the result type; equal infinities and NaNs are 0.
template <typename T>
double UlpError(T got, long double want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) == std::isnan(want) ? 0 : 1e30;
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e30;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  const int digits = std::numeric_limits<T>::digits;
  const int least = std::numeric_limits<T>::min_exponent - digits;
  const long double ulp = std::ldexp(1.0L, std::max(exponent - digits, least));
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / ulp);
}

template <typename T, typename Bits>
std::vector<T> RandomBits(int n, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> v(n);
  for (T& x : v) x = std::bit_cast<T>(static_cast<Bits>(random()));
  return v;
}

template <typename T>
void ExpectClose(Op op, DType d, const std::vector<T>& x, long double (*f)(long double),
                 double max_ulp) {
  for (const bool machine_code : {false, true}) {
    const std::vector<T> got = Compute(op, d, x, {}, machine_code);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double e = UlpError(got[i], f(x[i]));
      if (e > worst) worst = e, at = i;
    }
    EXPECT_LE(worst, max_ulp) << op << " of " << d << " at " << x[at] << ": " << got[at];
  }
}

template <typename T>
std::vector<T> Sweep(double from, double to, int n) {
  std::vector<T> v(n);
  for (int i = 0; i < n; ++i) v[i] = static_cast<T>(from + (to - from) * i / (n - 1));
  return v;
}

long double Exp2(long double x) { return exp2l(x); }
long double Log2(long double x) { return log2l(x); }
long double Sin(long double x) { return std::isinf(x) ? NAN : sinl(x); }

TEST(Decompose, Exp2) {
  ExpectClose<float>(Op::kExp2, kFloat32, Sweep<float>(-151, 129, 20000), Exp2, 1.5);
  ExpectClose<float>(Op::kExp2, kFloat32, Sweep<float>(-1, 1, 20000), Exp2, 1.5);
  ExpectClose<float>(Op::kExp2, kFloat32, RandomBits<float, uint32_t>(8000, 1), Exp2, 1.5);
  ExpectClose<double>(Op::kExp2, kFloat64, Sweep<double>(-1080, 1030, 20000), Exp2, 1.5);
  ExpectClose<double>(Op::kExp2, kFloat64, RandomBits<double, uint64_t>(8000, 1), Exp2, 1.5);
  std::vector<float> whole;
  for (int i = -149; i < 128; ++i) whole.push_back(static_cast<float>(i));
  ExpectClose<float>(Op::kExp2, kFloat32, whole, Exp2, 0);
  EXPECT_EQ(Compute<float>(Op::kExp2, kFloat32, {kInf, -kInf, 0, 128, -150}),
            (std::vector<float>{kInf, 0, 1, kInf, 0}));
  EXPECT_TRUE(std::isnan(Compute<float>(Op::kExp2, kFloat32, {NAN})[0]));
}

TEST(Decompose, Log2) {
  ExpectClose<float>(Op::kLog2, kFloat32, Sweep<float>(0.5, 2, 20000), Log2, 2);
  ExpectClose<float>(Op::kLog2, kFloat32, Sweep<float>(1e-3, 1e3, 20000), Log2, 2);
  ExpectClose<float>(Op::kLog2, kFloat32, RandomBits<float, uint32_t>(8000, 2), Log2, 2);
  ExpectClose<double>(Op::kLog2, kFloat64, Sweep<double>(0.5, 2, 20000), Log2, 2);
  ExpectClose<double>(Op::kLog2, kFloat64, RandomBits<double, uint64_t>(8000, 2), Log2, 2);
  std::vector<float> powers;
  for (int i = -149; i < 128; ++i) powers.push_back(std::ldexp(1.0f, i));
  ExpectClose<float>(Op::kLog2, kFloat32, powers, Log2, 0);
  EXPECT_EQ(Compute<float>(Op::kLog2, kFloat32, {kInf, 0, -0.0f, 1}),
            (std::vector<float>{kInf, -kInf, -kInf, 0}));
  for (float x : {-1.0f, -kInf, static_cast<float>(NAN), -1e-40f}) {
    EXPECT_TRUE(std::isnan(Compute<float>(Op::kLog2, kFloat32, {x})[0])) << x;
  }
}

TEST(Decompose, Sin) {
  ExpectClose<float>(Op::kSin, kFloat32, Sweep<float>(-10, 10, 20000), Sin, 2.5);
  ExpectClose<float>(Op::kSin, kFloat32, Sweep<float>(-1e5, 1e5, 8000), Sin, 2.5);
  ExpectClose<float>(Op::kSin, kFloat32, RandomBits<float, uint32_t>(8000, 3), Sin, 2.5);
  // Floats next to multiples of pi, where most digits cancel.
  std::vector<float> near;
  for (int i = 1; i < 4000; ++i) near.push_back(static_cast<float>(i * 3.14159265358979323846));
  for (int i = 1; i < 100; ++i) near.push_back(static_cast<float>(i * 1e30 * M_PI));
  ExpectClose<float>(Op::kSin, kFloat32, near, Sin, 2.5);
  EXPECT_TRUE(std::isnan(Compute<float>(Op::kSin, kFloat32, {kInf})[0]));
  EXPECT_TRUE(std::isnan(Compute<float>(Op::kSin, kFloat32, {NAN})[0]));
}

// libm's sin of long double loses digits near multiples of pi; values from 1,200-bit arithmetic.
TEST(Decompose, SinOfFloat64) {
  ExpectClose<double>(Op::kSin, kFloat64, Sweep<double>(-3, 3, 20000), Sin, 2.5);
  struct Row {
    double x, sin;
  };
  const std::vector<Row> rows = {
      {1e22, -0.85220084976718880177},
      {0x1.6ac5b262ca1ffp+849, 1.0},  // as near as it gets to (n + 1/2)*pi
      {1.7976931348623157e308, 0.0049619547891840617905},
      {3.14159265358979311600, 1.2246467991473531772e-16},
      {1e300, -0.81788191211590859705},
  };
  for (const Row& r : rows) {
    for (const bool machine_code : {false, true}) {
      const double got = Compute<double>(Op::kSin, kFloat64, {r.x}, {}, machine_code)[0];
      EXPECT_NEAR(got / r.sin, 1, 5e-16) << r.x;
    }
  }
}

TEST(Decompose, Pow) {
  const std::vector<float> values = {0,  -0.0f, 1,    -1,    0.5f, -0.5f, 2,      -2,   3,
                                     -3, 0.25f, kInf, -kInf, NAN,  1e10f, 1e-10f, 2.5f, -2.5f};
  std::vector<float> x, y;
  for (float a : values) {
    for (float b : values) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  for (const bool machine_code : {false, true}) {
    const std::vector<float> got = Compute(Op::kPow, kFloat32, x, y, machine_code);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_LE(UlpError(got[i], powl(x[i], y[i])), 0.51)
          << x[i] << " ^ " << y[i] << " = " << got[i];
    }
  }
  const std::vector<double> base = Sweep<double>(0.01, 30, 800),
                            exponent = Sweep<double>(-20, 20, 800);
  const std::vector<double> p = Compute(Op::kPow, kFloat64, base, exponent);
  for (size_t i = 0; i < base.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(p[i] / powl(base[i], exponent[i])), 1, 1e-13);
  }
}

TEST(Decompose, Threefry) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> x(64), key(64);
  for (int i = 0; i < 64; ++i) x[i] = random(), key[i] = random();
  for (const bool machine_code : {false, true}) {
    const std::vector<uint64_t> got = Compute(Op::kThreefry, ir::kUInt64, x, key, machine_code);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(got[i], ir::Threefry2x32(x[i], key[i]));
  }
}

// Integers and bools: the bare target against the interpreter's own operations.
TEST(Decompose, Integers) {
  std::mt19937 random(3);
  for (DType d : {ir::kInt8, ir::kUInt8, ir::kInt32, ir::kUInt32, ir::kInt64, ir::kUInt64}) {
    for (Op op : {Op::kSub, Op::kMax, Op::kCdiv, Op::kCmod, Op::kFloorDiv, Op::kFloorMod}) {
      std::vector<int64_t> a(40), b(40);
      for (int i = 0; i < 40; ++i) {
        a[i] = ir::WrapToInt(static_cast<int64_t>(random()) * 7919 - (1 << 20), d);
        do b[i] = ir::WrapToInt(static_cast<int64_t>(random() % 1000) - 500, d);
        while (b[i] == 0);
      }
      const UOp out = Param(0, ir::kInt64, 40), pa = Param(1, ir::kInt64, 40),
                pb = Param(2, ir::kInt64, 40), i = Range(40, 0);
      const UOp v = ir::Alu(op, {ir::Cast(LoadAt(pa, i), d), ir::Cast(LoadAt(pb, i), d)});
      const UOp kernel = Kernel({StoreLoop(out, i, ir::Cast(v, ir::kInt64), {i})});
      std::vector<int64_t> got(40), want(40);
      RunKernel(kernel, {Bytes(got), Bytes(a), Bytes(b)}, Bare());
      RunKernel(kernel, {Bytes(want), Bytes(a), Bytes(b)}, EverythingNative());
      EXPECT_EQ(got, want) << op << " " << d;
    }
  }
  const UOp out = Param(0, ir::kBool, 4), pa = Param(1, ir::kBool, 4), pb = Param(2, ir::kBool, 4),
            i = Range(4, 0);
  for (Op op : {Op::kAdd, Op::kMul, Op::kMax, Op::kCmpLt, Op::kCmpNe, Op::kCmpEq}) {
    const UOp kernel =
        Kernel({StoreLoop(out, i, ir::Alu(op, {LoadAt(pa, i), LoadAt(pb, i)}), {i})});
    std::vector<uint8_t> a = {0, 0, 1, 1}, b = {0, 1, 0, 1}, got(4), want(4);
    RunKernel(kernel, {Bytes(got), Bytes(a), Bytes(b)}, Bare());
    RunKernel(kernel, {Bytes(want), Bytes(a), Bytes(b)}, EverythingNative());
    EXPECT_EQ(got, want) << op;
  }
}

// Half precision is stored as it is and computed in float32.
TEST(Decompose, NarrowFloats) {
  for (DType d : {ir::kFloat16, ir::kBFloat16, ir::kFp8E4M3}) {
    const int n = 16;
    const UOp out = Param(0, d, n), a = Param(1, kFloat32, n), i = Range(n, 0);
    const UOp x = ir::Cast(LoadAt(a, i), d);
    const UOp kernel = Kernel({StoreLoop(out, i, x * ir::Const(d, 3.0) + x, {i})});
    std::vector<float> va(n);
    for (int k = 0; k < n; ++k) va[k] = 0.3f * static_cast<float>(k - 7);
    std::vector<uint8_t> got(n * d.bytes());
    RunKernel(kernel, {Bytes(got), Bytes(va)}, Bare());
    for (int k = 0; k < n; ++k) {
      uint64_t bits = 0;
      std::memcpy(&bits, got.data() + k * d.bytes(), d.bytes());
      const double v = ir::RoundToFloat(va[k], d);
      EXPECT_EQ(ir::DecodeFloat(bits, d), ir::RoundToFloat(v * 3 + v, d)) << d << " " << k;
    }
    for (const UOp& u : LowerOrFail(kernel, Bare()).ops) {
      if (ir::IsAlu(u.op()) && u.dtype().IsFloat()) {
        EXPECT_EQ(u.dtype(), kFloat32);
      }
    }
  }
}

}  // namespace
}  // namespace tg::lower
