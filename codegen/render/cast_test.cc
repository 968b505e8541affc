// Conversions between all dtypes on random bit patterns, against codegen/ir/dtype.h.

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "codegen/render/testing/program_builder.h"
#include "codegen/render/testing/run_program.h"
#include "gtest/gtest.h"

namespace tg::render {
namespace {

using ir::DType;
using ir::ScalarType;
using ir::UOp;

std::vector<DType> AllTypes() {
  std::vector<DType> types;
  for (int s = static_cast<int>(ScalarType::kBool); s < ir::kScalarTypeCount; ++s) {
    const DType d(static_cast<ScalarType>(s));
    if (!d.IsWeak()) types.push_back(d);
  }
  return types;
}

Number Expected(Number x, DType from, DType to) {
  if (from.IsFloat()) {
    if (to.IsFloat()) return {.f = ir::RoundToFloat(x.f, to)};
    return {.i = ir::FloatToInt(x.f, to)};
  }
  if (to == ir::kFloat32) {
    // Rounded once.
    return {.f = from == ir::kUInt64 ? static_cast<float>(static_cast<uint64_t>(x.i))
                                     : static_cast<float>(x.i)};
  }
  if (to.IsFloat()) return {.f = ir::RoundToFloat(ir::IntToDouble(x.i, from), to)};
  return {.i = ir::WrapToInt(x.i, to)};
}

// Bit patterns: all of a small type's in turn, else random ones and the neighbourhoods of powers of
// two and of the values of the narrower floats.
uint64_t Pattern(std::mt19937_64& random, DType d, int64_t i) {
  if (d.IsBool()) return i % 2;
  if (d.bits() <= 8) return static_cast<uint64_t>(i);
  if (!d.IsFloat()) {
    uint64_t bits = random();
    bits >>= random() % 64;
    return random() % 2 != 0 ? bits : 0 - bits;
  }
  if (random() % 4 == 0) return random();
  double v = std::ldexp(1.0 + static_cast<double>(random() % 16) / 16,
                        static_cast<int>(random() % 160) - 80);
  if (random() % 2 != 0) v = std::ldexp(std::floor(v), static_cast<int>(random() % 8) - 1);
  if (random() % 2 != 0) v = -v;
  // One unit in the last place to either side decides ties.
  return ir::EncodeFloat(v, d) + random() % 3 - 1;
}

struct Case {
  RendererCase renderer;
  DType from;
};
void PrintTo(const Case& c, std::ostream* os) { *os << c.renderer << " " << c.from; }

class CastTest : public testing::TestWithParam<Case> {};

TEST_P(CastTest, RandomBitPatterns) {
  const DType from = GetParam().from;
  const std::vector<DType> types = AllTypes();
  std::mt19937_64 random(3);
  for (int lanes : {1, 3, 16}) {
    SCOPED_TRACE(absl::StrCat(lanes, " lanes"));
    const int64_t rounds = from.bits() <= 8 ? (256 + lanes - 1) / lanes : 4096 / lanes;
    const int64_t n = rounds * lanes;
    ProgramBuilder b("cast");
    const UOp in = b.Param(from, n);
    std::vector<UOp> out;
    for (DType to : types) out.push_back(b.Param(to, n));
    const UOp i = b.Loop(rounds);
    const UOp x = b.Load(in, i * lanes, lanes);
    for (size_t k = 0; k < types.size(); ++k) {
      b.Store(out[k], i * lanes, ir::Cast(x, types[k].Vec(lanes)));
    }
    b.End(i);

    std::vector<GuardedMemory> memory;
    std::vector<void*> buffers;
    for (const lower::ProgramParam& p : b.Finish().params)
      memory.emplace_back(p.size * p.dtype.bytes());
    for (const GuardedMemory& m : memory) buffers.push_back(m.data());
    for (int64_t k = 0; k < n; ++k) {
      const uint64_t bits = Pattern(random, from, k);
      std::memcpy(static_cast<char*>(buffers[0]) + k * from.bytes(), &bits, from.bytes());
    }
    const absl::Status status = RunProgram(*GetParam().renderer.renderer, b.Finish(), buffers);
    ASSERT_TRUE(status.ok()) << status;

    for (size_t k = 0; k < types.size(); ++k) {
      const DType to = types[k];
      int failures = 0;
      for (int64_t e = 0; e < n && failures < 3; ++e) {
        const Number x_value = ReadElement(buffers[0], from, e);
        const Number got = ReadElement(buffers[1 + k], to, e);
        const Number want = Expected(x_value, from, to);
        const bool same =
            SameNumber(got, want, to) &&
            (!to.IsFloat() || std::isnan(want.f) || std::signbit(got.f) == std::signbit(want.f));
        if (same) continue;
        ++failures;
        ADD_FAILURE() << "to " << to << ": " << NumberToString(x_value, from) << " gives "
                      << NumberToString(got, to) << ", expected " << NumberToString(want, to);
      }
    }
  }
}

TEST_P(CastTest, BitcastKeepsBytes) {
  const DType from = GetParam().from;
  for (DType to : AllTypes()) {
    // As many lanes of each as make 48 bytes: not a power of two.
    const int from_lanes = 48 / from.bytes(), to_lanes = 48 / to.bytes();
    ProgramBuilder b("bitcast");
    const UOp in = b.Param(from, from_lanes), out = b.Param(to, to_lanes);
    const UOp zero = ir::Const(ir::kInt32, 0);
    b.Store(out, zero, ir::Bitcast(b.Load(in, zero, from_lanes), to.Vec(to_lanes)));
    GuardedMemory memory_in(48), memory_out(48);
    std::mt19937 random(5);
    for (uint8_t& byte : memory_in.as<uint8_t>()) {
      byte = from.IsBool() || to.IsBool() ? random() % 2 : random();
    }
    void* buffers[] = {memory_in.data(), memory_out.data()};
    const absl::Status status = RunProgram(*GetParam().renderer.renderer, b.Finish(), buffers);
    ASSERT_TRUE(status.ok()) << "to " << to << ": " << status;
    EXPECT_EQ(std::memcmp(buffers[0], buffers[1], 48), 0) << "to " << to;
  }
}

TEST_P(CastTest, Constants) {
  const DType d = GetParam().from;
  for (int lanes : {1, 4}) {
    const double floats[] = {0.0, -0.0, 1.0,  -1.5,     0.1,    INFINITY, -INFINITY,
                             NAN, 448,  1e30, 0x1p-149, 0x1p-9, 57344,    3.0};
    const int64_t ints[] = {0,         1,         -1,        127, -128,  INT32_MIN,
                            INT32_MAX, INT64_MIN, INT64_MAX, 200, 65535, int64_t{1} << 40,
                            7,         0x80000000};
    ProgramBuilder b("constants");
    const UOp out = b.Param(d, 14 * lanes);
    for (int k = 0; k < 14; ++k) {
      const UOp c =
          d.IsFloat() ? ir::Const(d.Vec(lanes), floats[k]) : ir::Const(d.Vec(lanes), ints[k]);
      b.Store(out, ir::Const(ir::kInt32, k * lanes), c);
    }
    GuardedMemory memory(14 * lanes * d.bytes());
    void* buffers[] = {memory.data()};
    const absl::Status status = RunProgram(*GetParam().renderer.renderer, b.Finish(), buffers);
    ASSERT_TRUE(status.ok()) << status;
    for (int k = 0; k < 14; ++k) {
      const Number want = d.IsFloat() ? Number{.f = ir::RoundToFloat(floats[k], d)}
                                      : Number{.i = ir::WrapToInt(ints[k], d)};
      for (int lane = 0; lane < lanes; ++lane) {
        const Number got = ReadElement(memory.data(), d, k * lanes + lane);
        EXPECT_TRUE(SameNumber(got, want, d))
            << NumberToString(got, d) << ", expected " << NumberToString(want, d);
      }
    }
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const RendererCase& r : AllCpuRenderers()) {
    for (DType d : AllTypes()) cases.push_back({r, d});
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Cpu, CastTest, testing::ValuesIn(Cases()), [](const auto& info) {
  return absl::StrCat(info.param.renderer.name, "_", info.param.from.ToString());
});

}  // namespace
}  // namespace tg::render
