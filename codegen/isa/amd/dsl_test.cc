#include "codegen/isa/amd/dsl.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "codegen/isa/amd/asm.h"
#include "gtest/gtest.h"

namespace tg::amd::dsl {
namespace {

std::string Hex(const std::vector<uint8_t>& bytes) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

std::string Assembled(const char* text, Arch arch) { return Hex(Assemble(text, arch).text); }

// The header's example.
TEST(DslTest, Example) {
  Kernel k(Arch::kGfx1100);
  Label loop = k.NewLabel();
  k.s_load_b64(s(2, 3), s(0, 1), 0);
  k.v_mov_b32(v[0], 0);
  k.s_waitcnt(Waits{.lgkm = 0});
  EXPECT_TRUE(k.Bind(loop));
  k.v_add_f32(v[0], v[0], 2.0f);
  k.v_fma_f32(v[1], -v[0], abs(v[0]), s[4], clamp);
  k.s_sub_u32(s[4], s[4], 1);
  k.s_cmp_lg_u32(s[4], 0);
  k.s_cbranch_scc1(loop);
  k.global_store_b32(v[0], v[1], s(2, 3), offset(16));
  k.s_endpgm();
  const absl::StatusOr<std::vector<uint8_t>> code = k.Finish();
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(Hex(*code), Assembled("s_load_b64 s[2:3], s[0:1], 0x0\n"
                                  "v_mov_b32 v0, 0\n"
                                  "s_waitcnt lgkmcnt(0)\n"
                                  "loop: v_add_f32 v0, v0, 2.0\n"
                                  "v_fma_f32 v1, -v0, |v0|, s4 clamp\n"
                                  "s_sub_u32 s4, s4, 1\n"
                                  "s_cmp_lg_u32 s4, 0\n"
                                  "s_cbranch_scc1 loop\n"
                                  "global_store_b32 v0, v1, s[2:3] offset:16\n"
                                  "s_endpgm\n",
                                  Arch::kGfx1100));
  EXPECT_EQ(k.next_free_vgpr(), 2);
  EXPECT_EQ(k.next_free_sgpr(), 5);
}

TEST(DslTest, AFailedCallLeavesTheCodeAndSaysWhy) {
  Kernel k(Arch::kGfx942);
  EXPECT_TRUE(k.s_nop(0).ok());
  const std::vector<uint8_t> before = k.bytes();
  const EmitResult wide = k.v_add_f64(v(0, 1), v(3, 4), v(4, 5));
  EXPECT_EQ(wide.code, EncodeError::kOperandAlign);
  EXPECT_EQ(wide.operand, 1);
  EXPECT_STRNE(wide.reason, "");
  EXPECT_EQ(k.v_add_f32(v[0], v[256], v[1]).ok(), false);
  EXPECT_EQ(k.v_add_f32(v(3, 2), v[0], v[1]).ok(), false);
  EXPECT_EQ(k.s_wait_kmcnt(0).code, EncodeError::kNoInstruction);
  EXPECT_EQ(k.v_add_f32(v[0], v[1], v[2], glc).code, EncodeError::kModifier);
  EXPECT_EQ(k.s_branch(Label()).code, EncodeError::kOperandKind);
  EXPECT_EQ(k.bytes(), before);
  EXPECT_FALSE(k.Finish().ok()) << "the first failure stays";
}

TEST(DslTest, EncodingsAndModifiers) {
  Kernel k(Arch::kGfx1100);
  EXPECT_TRUE(k.v_add_f32(v[0], v[1], v[2], e64).ok());
  EXPECT_TRUE(k.v_mov_b32(v[0], v[1], quad_perm(0, 1, 2, 3) | row_mask(15) | bank_mask(15)).ok());
  EXPECT_TRUE(k.v_add_f16(v[0].h(), v[1].l(), v[2].h(), e64).ok());
  EXPECT_TRUE(k.Pair("v_dual_mul_f32", {v[0], v[1], v[2]}, "v_dual_mov_b32", {v[3], 1.0f}).ok());
  EXPECT_TRUE(k.v_cmp_eq_f32(vcc_lo, v[0], v[1]).ok());
  EXPECT_TRUE(k.s_mov_b32(m0, -1).ok());
  EXPECT_TRUE(k.global_load_b32(v[0], v(2, 3), off).ok());
  EXPECT_EQ(Hex(k.bytes()),
            Assembled("v_add_f32_e64 v0, v1, v2\n"
                      "v_mov_b32 v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf\n"
                      "v_add_f16_e64 v0.h, v1.l, v2.h\n"
                      "v_dual_mul_f32 v0, v1, v2 :: v_dual_mov_b32 v3, 1.0\n"
                      "v_cmp_eq_f32 vcc_lo, v0, v1\n"
                      "s_mov_b32 m0, -1\n"
                      "global_load_b32 v0, v[2:3], off\n",
                      Arch::kGfx1100));
}

TEST(DslTest, CdnaHasItsOwn) {
  Kernel k(Arch::kGfx942);
  EXPECT_TRUE(k.v_mfma_f32_32x32x8_f16(a(0, 15), v(0, 1), v(2, 3), a(0, 15)).ok());
  EXPECT_TRUE(k.s_mov_b32(m0, 5).ok());
  EXPECT_TRUE(k.s_waitcnt(Waits{.vm = 0}).ok());
  EXPECT_EQ(Hex(k.bytes()), Assembled("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]\n"
                                      "s_mov_b32 m0, 5\n"
                                      "s_waitcnt vmcnt(0)\n",
                                      Arch::kGfx942));
}

TEST(DslTest, Labels) {
  Kernel k(Arch::kGfx1100);
  Label end = k.NewLabel();
  k.s_branch(end);
  EXPECT_FALSE(k.Finish().ok()) << "not bound";
  EXPECT_TRUE(k.Bind(end));
  EXPECT_FALSE(k.Bind(end)) << "bound twice";
  k.s_endpgm();
  EXPECT_EQ(Hex(*k.Finish()), "0000a0bf0000b0bf");
}

// What must not compile.
template <typename K>
concept TakesScalarDestination = requires(K k) {
  k.v_add_f32(s[0], v[1], v[2]);
};
template <typename K>
concept TakesVectorInScalar = requires(K k) {
  k.s_add_u32(s[0], v[1], s[2]);
};
template <typename K>
concept TakesTooFew = requires(K k) {
  k.v_add_f32(v[0], v[1]);
};
template <typename K>
concept TakesTooMany = requires(K k) {
  k.v_add_f32(v[0], v[1], v[2], v[3], v[4]);
};
template <typename K>
concept TakesNumberAsDestination = requires(K k) {
  k.v_mov_b32(1, v[1]);
};
template <typename K>
concept TakesNumberAsLabel = requires(K k) {
  k.s_branch(1.5f);
};
template <typename K>
concept TakesGoodOnes = requires(K k) {
  k.v_add_f32(v[0], v[1], v[2]);
  k.s_add_u32(s[0], s[1], 7);
};
static_assert(!TakesScalarDestination<Kernel>);
static_assert(!TakesVectorInScalar<Kernel>);
static_assert(!TakesTooFew<Kernel>);
static_assert(!TakesTooMany<Kernel>);
static_assert(!TakesNumberAsDestination<Kernel>);
static_assert(!TakesNumberAsLabel<Kernel>);
static_assert(TakesGoodOnes<Kernel>);

}  // namespace
}  // namespace tg::amd::dsl
