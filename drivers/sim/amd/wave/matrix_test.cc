// Every matrix instruction against plain loops over matrices.
#include <random>
#include <string>
#include <string_view>

#include "codegen/isa/amd/table.h"
#include "drivers/sim/amd/wave/matrix_reference.h"
#include "drivers/sim/amd/wave/transition.h"
#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

bool Has(std::string_view s, std::string_view part) {
  return s.find(part) != std::string_view::npos;
}
bool IsMatrix(const Form& form) {
  std::string_view name = form.name;
  return Has(name, "wmma") || Has(name, "swmmac") || Has(name, "mfma_") || Has(name, "smfmac");
}

// Bits of numbers that are finite and of one magnitude or so; `wild` ones are any bits.
uint32_t Word(std::string_view type, std::mt19937& random, bool wild) {
  uint32_t x = static_cast<uint32_t>(random());
  if (wild) return x;
  if (type == "f16") return (x & 0xbfffbfff) | 0x20002000;
  if (type == "bf16") return (x & 0x83ff83ff) | 0x3c003c00;
  if (type == "f32") return (x & 0x83ffffff) | 0x3c000000;
  if (type == "f64") return (x & 0x801fffff) | 0x3fe00000;
  if (type == "fp8" || type == "bf8") return x & 0xbfbfbfbf;
  return x;
}

struct Types {
  std::string a, b, c;
};
Types TypesOf(std::string_view name) {
  Types t;
  size_t last = name.rfind('_');
  t.b = std::string(name.substr(last + 1));
  std::string_view before = name.substr(0, last);
  t.a = std::string(before.substr(before.rfind('_') + 1));
  if (t.a != "fp8" && t.a != "bf8") t.a = t.b;
  t.c = Has(name, "i32") ? "i32" : t.a == "f64" ? "f64" : "f32";
  if (Has(name, "mma_f16") || Has(name, "mmac_f16")) t.c = "f16";
  if (Has(name, "mma_bf16") || Has(name, "mmac_bf16")) t.c = "bf16";
  return t;
}

Transition RandomCase(Isa isa, const Form& form, std::mt19937& random, bool wild) {
  Transition t;
  t.isa = isa;
  t.mode = 0xf0;
  t.inst = Inst(form);
  t.inst.num_operands = form.num_operands;
  t.inst.size = static_cast<uint8_t>(4 * form.dwords);
  t.in.rows.assign(512 * 64, 0);
  t.in.sgprs.assign(128, 0);
  t.in.sgprs[126] = t.in.sgprs[127] = 0xffffffff;
  Types types = TypesOf(form.name);
  const std::string* order[] = {&types.a, &types.b, &types.c};
  int source = 0;
  for (int i = 0; i < form.num_operands; ++i) {
    const OperandSpec& spec = form.specs[i];
    bool dest = spec.role == Role::kDst || spec.role == Role::kDstSrc;
    int row = 40 * i;
    t.inst.operands[i] = Vgpr(row, spec.dwords);
    std::string type = dest ? types.c : source < 3 ? *order[source++] : "bits";
    bool index = Has(form.name, "mmac") && i == 3;
    for (int d = 0; d < spec.dwords; ++d) {
      for (int l = 0; l < 64; ++l) {
        uint32_t x = Word(index ? "bits" : type, random, wild);
        if (type == "f64" && d % 2 == 0) x = static_cast<uint32_t>(random());
        // Scales near 1.
        if (type == "bits" && !index) x = 0x7d7e7f80 ^ (x & 0x03030303);
        t.in.lane(row + d, l) = x;
      }
    }
  }
  auto set = [&](Mod m, uint32_t values) {
    if (form.Has(m)) t.inst.Set(m, static_cast<uint32_t>(random()) % values);
  };
  set(Mod::kNegLo, Has(form.name, "swmmac") && !Has(form.name, "i32") ? 1 : 8);
  set(Mod::kNegHi, Has(form.name, "swmmac") ? 1 : 8);
  set(Mod::kClamp, 2);
  set(Mod::kIndexKey, 2);
  set(Mod::kAbid, 4);
  if (Has(form.name, "f8f6f4")) {
    set(Mod::kCbsz, 5);
    set(Mod::kBlgp, 5);
    set(Mod::kOpSel, 4);
    set(Mod::kOpSelHi, 4);
  } else {
    set(Mod::kCbsz, Has(form.name, "smfmac")  ? 2
                    : Has(form.name, "_16b_") ? 5
                    : Has(form.name, "4b_")   ? 3
                                              : 2);
    set(Mod::kBlgp, 8);
  }
  return t;
}

class MatrixTest : public testing::TestWithParam<Isa> {};

TEST_P(MatrixTest, MultipliesAsPlainLoopsDo) {
  std::mt19937 random(7);
  int instructions = 0;
  for (const Form* form : FormsOf(GetParam())) {
    if (!IsMatrix(*form) || Has(form->name, "xf32") || Has(form->name, "ld_scale")) continue;
    ++instructions;
    for (int round = 0; round < 6; ++round) {
      Transition t = RandomCase(GetParam(), *form, random,
                                /*wild=*/round >= 4 && !Has(form->name, "f64"));
      ASSERT_EQ(RunTransition(t, t.inst, &t.got), "") << form->name;
      std::vector<MatrixElement> elements = MatrixResult(t);
      ASSERT_FALSE(elements.empty()) << form->name;
      int wrong = 0;
      for (const MatrixElement& e : elements) wrong += !HasElement(t.got, e);
      EXPECT_EQ(wrong, 0) << form->name << " of " << elements.size() << " in round " << round;
      // A changed exponent is noticed.
      const MatrixElement& e = elements[static_cast<size_t>(round)];
      int row = e.row + (e.bits == 64 ? 1 : 0);
      t.got.lane(row, e.lane) ^= e.bits == 16 ? 0x0c000c00 : 0x03000000;
      EXPECT_TRUE(e.nan || !HasElement(t.got, e)) << form->name;
    }
  }
  EXPECT_GE(instructions, GetParam() == Isa::kGfx11 ? 6 : 20);
}

INSTANTIATE_TEST_SUITE_P(All, MatrixTest,
                         testing::Values(Isa::kGfx11, Isa::kGfx12, Isa::kGfx942, Isa::kGfx950));

}  // namespace
}  // namespace tg::amd::sim
