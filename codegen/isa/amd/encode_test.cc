#include "codegen/isa/amd/encode.h"

#include <cstdint>
#include <vector>

#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/print.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

const Form& One(const char* mnemonic, Isa isa) {
  auto forms = FormsNamed(mnemonic, isa);
  EXPECT_FALSE(forms.empty()) << mnemonic;
  return *forms[0];
}

Inst Make(const char* mnemonic, Isa isa, std::initializer_list<Operand> operands) {
  Inst inst(One(mnemonic, isa));
  inst.num_operands = static_cast<uint8_t>(operands.size());
  std::copy(operands.begin(), operands.end(), inst.operands.begin());
  return inst;
}

TEST(EncodeTest, AppendsAndLeavesAloneOnError) {
  std::vector<uint8_t> out = {1, 2};
  Inst good = Make("v_mov_b32_e32", Isa::kGfx11, {Vgpr(3), Sgpr(5)});
  EXPECT_TRUE(Encode(good, Arch::kGfx1100, &out).ok());
  EXPECT_EQ(out, (std::vector<uint8_t>{1, 2, 0x05, 0x02, 0x06, 0x7e}));
  Inst bad = Make("v_mov_b32_e32", Isa::kGfx11, {Sgpr(3), Sgpr(5)});
  EncodeResult result = Encode(bad, Arch::kGfx1100, &out);
  EXPECT_EQ(result.code, EncodeError::kOperandKind);
  EXPECT_EQ(result.operand, 0);
  EXPECT_EQ(result.ToStatus(bad).message(), "v_mov_b32_e32: operand 0: must be a VGPR");
  EXPECT_EQ(out.size(), 6u);
}

TEST(EncodeTest, Errors) {
  struct Case {
    Inst inst;
    Isa isa;
    EncodeError code;
    int operand;
  };
  Inst two_literals =
      Make("v_fma_f32", Isa::kGfx11, {Vgpr(0), Literal(0x12345678), Vgpr(1), Literal(0x1234)});
  Inst omod = Make("v_add_f32_e32", Isa::kGfx11, {Vgpr(0), Vgpr(1), Vgpr(2)});
  omod.Set(Mod::kOmod, 1);
  Inst wide_offset = Make("ds_load_b32", Isa::kGfx11, {Vgpr(0), Vgpr(1)});
  wide_offset.Set(Mod::kOffset, 65536);
  Inst negated = Make("v_and_b32_e64", Isa::kGfx11, {Vgpr(0), Vgpr(1), Vgpr(2)});
  negated.operands[1].mods = kNeg;
  const Case kCases[] = {
      {Inst(), Isa::kGfx11, EncodeError::kNoInstruction, -1},
      {Make("v_add_f32_e32", Isa::kGfx942, {Vgpr(0), Vgpr(1), Vgpr(2)}), Isa::kGfx12,
       EncodeError::kNoInstruction, -1},
      {Make("v_add_f32_e32", Isa::kGfx11, {Vgpr(0), Vgpr(1)}), Isa::kGfx11,
       EncodeError::kOperandCount, -1},
      {Make("v_add_f32_e32", Isa::kGfx11, {Vgpr(0), Vgpr(1), Sgpr(2)}), Isa::kGfx11,
       EncodeError::kOperandKind, 2},
      {Make("s_mov_b64", Isa::kGfx11, {Sgpr(2, 2), Sgpr(4)}), Isa::kGfx11,
       EncodeError::kOperandWidth, 1},
      {Make("s_mov_b64", Isa::kGfx11, {Sgpr(3, 2), Sgpr(4, 2)}), Isa::kGfx11,
       EncodeError::kOperandAlign, 0},
      {Make("s_mov_b32", Isa::kGfx11, {Sgpr(106), Sgpr(4)}), Isa::kGfx11, EncodeError::kOperandKind,
       0},
      {Make("v_add_f64", Isa::kGfx942, {Vgpr(1, 2), Vgpr(2, 2), Vgpr(4, 2)}), Isa::kGfx942,
       EncodeError::kOperandAlign, 0},
      {Make("v_add_f16_e32", Isa::kGfx11,
            {VgprHalf(128, false), VgprHalf(1, true), VgprHalf(2, false)}),
       Isa::kGfx11, EncodeError::kOperandRange, 0},
      {negated, Isa::kGfx11, EncodeError::kOperandModifier, 1},
      {two_literals, Isa::kGfx11, EncodeError::kLiteral, 3},
      {Make("v_add_f32_e64", Isa::kGfx942, {Vgpr(0), Literal(5000), Vgpr(2)}), Isa::kGfx942,
       EncodeError::kLiteral, 1},
      {Make("v_fma_f32", Isa::kGfx11, {Vgpr(0), Sgpr(1), Sgpr(2), Sgpr(3)}), Isa::kGfx11,
       EncodeError::kConstantBus, 3},
      {Make("v_add_f32_e64", Isa::kGfx942, {Vgpr(0), Sgpr(1), Sgpr(2)}), Isa::kGfx942,
       EncodeError::kConstantBus, 2},
      {omod, Isa::kGfx11, EncodeError::kModifier, -1},
      {wide_offset, Isa::kGfx11, EncodeError::kModifier, -1},
      {Make("s_nop", Isa::kGfx11, {Imm(65536)}), Isa::kGfx11, EncodeError::kOperandRange, 0},
  };
  for (const Case& c : kCases) {
    uint8_t out[kMaxInstBytes + 4] = {0xaa};
    EncodeResult result = Encode(c.inst, c.isa, out);
    std::string what = c.inst.form == nullptr ? "" : c.inst.form->mnemonic;
    EXPECT_EQ(EncodeErrorName(result.code), std::string(EncodeErrorName(c.code)))
        << what << ": " << result.reason;
    EXPECT_EQ(result.operand, c.operand) << what;
    EXPECT_EQ(out[0], 0xaa) << what;
  }
}

TEST(EncodeTest, DualIssueRules) {
  const Form* form = nullptr;
  for (const Form* f : FormsNamed("v_dual_mul_f32", Isa::kGfx11)) {
    if (SecondMnemonic(*f) == "v_dual_mul_f32") form = f;
  }
  ASSERT_NE(form, nullptr);
  auto encode = [&](int dx, int x0, int x1, int dy, int y0, int y1) {
    Inst inst(*form);
    int i = 0;
    for (int v : {dx, x0, x1, dy, y0, y1}) inst.operands[static_cast<size_t>(i++)] = Vgpr(v);
    std::vector<uint8_t> out;
    return Encode(inst, Arch::kGfx1100, &out).code;
  };
  EXPECT_EQ(encode(0, 1, 2, 3, 2, 4), EncodeError::kOk);
  EXPECT_EQ(encode(0, 1, 2, 2, 2, 4), EncodeError::kConstraint);  // Both destinations even.
  EXPECT_EQ(encode(0, 1, 2, 3, 5, 4), EncodeError::kConstraint);  // Sources 1 and 5 share a bank.
}

}  // namespace
}  // namespace tg::amd
