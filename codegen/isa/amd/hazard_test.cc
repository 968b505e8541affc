#include "codegen/isa/amd/hazard.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/isa/amd/asm.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

std::vector<uint8_t> Code(const std::string& text, Arch arch) {
  const Assembly assembly = Assemble(text, arch);
  EXPECT_TRUE(assembly.ok()) << FormatErrors(assembly, text, "test.s");
  return assembly.text;
}

// "offset: message" of each finding.
std::string Findings(const std::string& text, Arch arch) {
  std::string out;
  for (const HazardFinding& f : CheckHazards(Code(text, arch), arch)) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", f.offset, ": ", f.message);
  }
  return out;
}

TEST(HazardTest, LoadsAreWaitedFor) {
  EXPECT_EQ(Findings("global_load_b32 v1, v0, s[0:1]\nv_mov_b32 v2, v1\n", Arch::kGfx1100),
            "8: v1 is still to be written by the instruction at 0x0: wait for vmcnt(0)");
  EXPECT_EQ(Findings("global_load_b32 v1, v0, s[0:1]\ns_waitcnt vmcnt(0)\nv_mov_b32 v2, v1\n",
                     Arch::kGfx1100),
            "");
  EXPECT_EQ(Findings("global_load_b32 v1, v0, s[0:1]\nglobal_load_b32 v2, v0, s[0:1]\n"
                     "v_mov_b32 v3, v1\n",
                     Arch::kGfx1100),
            "16: v1 is still to be written by the instruction at 0x0: wait for vmcnt(1)");
  EXPECT_EQ(Findings("s_load_b32 s2, s[0:1], 0\ns_load_b32 s3, s[0:1], 4\ns_mov_b32 s4, s2\n",
                     Arch::kGfx1100),
            "16: s2 is still to be written by the instruction at 0x0: wait for lgkmcnt(0)")
      << "scalar loads come back in any order";
  EXPECT_EQ(Findings("ds_load_b32 v1, v0\nv_mov_b32 v1, 0\n", Arch::kGfx1201),
            "8: v1 is still to be written by the instruction at 0x0: wait for dscnt(0)")
      << "overwriting counts, too";
  EXPECT_EQ(Findings("ds_load_b32 v1, v0\ns_wait_dscnt 0x0\nv_mov_b32 v2, v1\n", Arch::kGfx1201),
            "");
  EXPECT_EQ(Findings("buffer_load_b32 v1, off, s[0:3], 0\nv_mov_b32 v2, v1\n", Arch::kGfx1100),
            "8: v1 is still to be written by the instruction at 0x0: wait for vmcnt(0)");
  EXPECT_EQ(Findings("buffer_store_b32 v1, off, s[0:3], 0\nv_mov_b32 v1, v2\n", Arch::kGfx1100),
            "");
  EXPECT_EQ(
      Findings("buffer_atomic_add_u32 v1, off, s[0:3], 0 glc\nv_mov_b32 v2, v1\n", Arch::kGfx1100),
      "8: v1 is still to be written by the instruction at 0x0: wait for vmcnt(0)");
  EXPECT_EQ(Findings("global_store_dword v0, v1, s[0:1]\nv_mov_b32 v1, 0\n", Arch::kGfx942), "")
      << "stores have read their data";
}

// Each row: how the finding's message starts, and a text with the hazard.
struct Row {
  const char* name;
  Arch arch;
  const char* text;
};

constexpr Row kRows[] = {
    {"VALU writes SGPR, VMEM", Arch::kGfx942,
     "v_readfirstlane_b32 s0, v1\nbuffer_load_dword v0, off, s[0:3], 0\n"},
    {"VALU writes VCC, v_div_fmas", Arch::kGfx942,
     "v_cmp_eq_f32 vcc, v0, v1\nv_div_fmas_f32 v0, v1, v2, v3\n"},
    {"VALU writes SGPR, lane select", Arch::kGfx942,
     "v_readfirstlane_b32 s0, v1\nv_readlane_b32 s1, v2, s0\n"},
    {"VALU writes VGPR, VALU with DPP", Arch::kGfx942,
     "v_mov_b32 v1, v2\nv_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf\n"},
    {"s_setreg, s_getreg", Arch::kGfx942,
     "s_setreg_b32 hwreg(HW_REG_MODE), s0\ns_getreg_b32 s1, hwreg(HW_REG_MODE)\n"},
    {"s_setreg, s_setreg", Arch::kGfx950,
     "s_setreg_b32 hwreg(HW_REG_MODE), s0\ns_setreg_b32 hwreg(HW_REG_MODE), s1\n"},
    {"SALU writes M0", Arch::kGfx942, "s_mov_b32 m0, s0\ns_sendmsg sendmsg(MSG_INTERRUPT)\n"},
    {"store of more than 64 bits", Arch::kGfx942,
     "global_store_dwordx4 v0, v[4:7], s[0:1]\nv_mov_b32 v5, 0\n"},
    {"VALU writes VGPR, MFMA", Arch::kGfx942,
     "v_mov_b32 v0, 0\nv_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]\n"},
    {"transcendental", Arch::kGfx942, "v_exp_f32 v0, v1\nv_mov_b32 v2, v0\n"},
    {"MFMA writes VGPR, VALU", Arch::kGfx950,
     "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]\nv_mov_b32 v20, v3\n"},
    {"transcendental", Arch::kGfx1100, "v_exp_f32 v0, v1\nv_mov_b32 v2, v0\n"},
    {"WMMA writes VGPR, WMMA", Arch::kGfx1100,
     "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]\n"
     "v_wmma_f32_16x16x16_f16 v[24:31], v[0:7], v[16:23], v[24:31]\n"},
};

TEST(HazardTest, EachRowIsFoundAndCured) {
  for (const Row& row : kRows) {
    const std::vector<uint8_t> code = Code(row.text, row.arch);
    const std::vector<HazardFinding> found = CheckHazards(code, row.arch);
    ASSERT_FALSE(found.empty()) << row.text;
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const HazardFinding& f) {
      return absl::StartsWith(f.message, row.name);
    })) << found[0].message;
    const absl::StatusOr<std::vector<uint8_t>> cured = InsertWaits(code, row.arch);
    ASSERT_TRUE(cured.ok()) << cured.status();
    EXPECT_GT(cured->size(), code.size());
    EXPECT_TRUE(CheckHazards(*cured, row.arch).empty()) << row.text;
  }
}

TEST(HazardTest, WhatHasNoHazardStaysAsItIs) {
  for (const char* text :
       {"v_mov_b32 v0, v1\nv_mov_b32 v2, v0\n", "s_mov_b32 s0, 1\ns_add_u32 s1, s0, s0\n",
        "v_exp_f32 v0, v1\nv_mov_b32 v2, v3\n",
        "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]\n"
        "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]\n"}) {
    const std::vector<uint8_t> code = Code(text, Arch::kGfx1100);
    EXPECT_EQ(*InsertWaits(code, Arch::kGfx1100), code) << text;
  }
}

TEST(HazardTest, BranchesGoWhereTheyWent) {
  const std::vector<uint8_t> code = Code(
      "start: s_load_b32 s2, s[0:1], 0\nloop: s_sub_u32 s2, s2, 1\ns_cmp_lg_u32 s2, 0\n"
      "s_cbranch_scc1 loop\ns_branch start\n",
      Arch::kGfx1100);
  const absl::StatusOr<std::vector<uint8_t>> cured = InsertWaits(code, Arch::kGfx1100);
  ASSERT_TRUE(cured.ok()) << cured.status();
  EXPECT_EQ(*cured, Code("start: s_load_b32 s2, s[0:1], 0\nloop: s_waitcnt lgkmcnt(0)\n"
                         "s_sub_u32 s2, s2, 1\ns_cmp_lg_u32 s2, 0\n"
                         "s_cbranch_scc1 loop\ns_branch start\n",
                         Arch::kGfx1100));
  EXPECT_FALSE(InsertWaits(Code("s_getpc_b64 s[0:1]\n", Arch::kGfx1100), Arch::kGfx1100).ok());
  EXPECT_FALSE(InsertWaits({1, 2, 3}, Arch::kGfx1100).ok());
}

TEST(HazardTest, MatrixDistancesGoByPasses) {
  // Passes 4, 8, 16; what a vector instruction and one that multiplies wait for.
  const auto nops = [](const std::string& text, Arch arch) {
    int sum = 0;
    for (const HazardFinding& f : CheckHazards(Code(text, arch), arch)) sum += f.nops;
    return sum;
  };
  const std::string read = "v_mov_b32 v200, v1\n";
  const std::string four = "v_mfma_f32_16x16x16_f16 v[0:3], v[64:65], v[66:67], v[0:3]\n";
  const std::string eight = "v_mfma_f32_32x32x8_f16 v[0:15], v[64:65], v[66:67], v[0:15]\n";
  const std::string sixteen = "v_mfma_f32_32x32x4_2b_f16 v[0:31], v[64:65], v[66:67], v[0:31]\n";
  EXPECT_EQ(nops(four + read, Arch::kGfx942), 7);
  EXPECT_EQ(nops(eight + read, Arch::kGfx942), 11);
  EXPECT_EQ(nops(sixteen + read, Arch::kGfx942), 19);
  EXPECT_EQ(nops(four + read, Arch::kGfx950), 8);
  EXPECT_EQ(nops(sixteen + read, Arch::kGfx950), 20);
  EXPECT_EQ(nops(four + four, Arch::kGfx942), 0) << "the whole sum is forwarded";
  EXPECT_EQ(nops(eight + four, Arch::kGfx942), 9) << "a part of it is not";
  EXPECT_EQ(nops(four + "s_nop 3\n" + read, Arch::kGfx942), 3);
}

TEST(HazardTest, SgprsReadByVectorInstructions) {
  EXPECT_EQ(Findings("v_mov_b32 v0, s2\ns_mov_b32 s3, 0\ns_mov_b32 s4, s3\n", Arch::kGfx1201),
            "8: SGPR read by VALU is written and read, SALU: put s_wait_alu depctr_sa_sdst(0) "
            "before it")
      << "pairs of SGPRs are cached together";
  EXPECT_EQ(Findings("v_mov_b32 v0, s2\ns_mov_b32 s4, 0\ns_mov_b32 s5, s4\n", Arch::kGfx1201), "");
  EXPECT_EQ(Findings("v_mov_b32 v0, s2\ns_mov_b32 s3, 0\ns_load_b32 s9, s[10:11], 0\n"
                     "v_mov_b32 v1, s3\n",
                     Arch::kGfx1201),
            "")
      << "scalar loads wait";
  const std::vector<uint8_t> code =
      Code("v_cndmask_b32_e64 v0, v1, v2, s2\ns_mov_b32 s3, 0\ns_mov_b32 s4, s3\n", Arch::kGfx1100);
  EXPECT_TRUE(CheckHazards(code, Arch::kGfx1100).empty());
  HazardOptions wave64;
  wave64.wave64 = true;
  const std::vector<HazardFinding> found = CheckHazards(code, Arch::kGfx1100, wave64);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "SGPR read as a mask is written and read, SALU: put s_waitcnt_depctr depctr_sa_sdst(0) "
            "before it");
}

TEST(HazardTest, DelaysAreHintedAt) {
  const auto delayed = [](const std::string& text) {
    return *InsertDelays(Code(text, Arch::kGfx1100), Arch::kGfx1100);
  };
  EXPECT_EQ(delayed("v_mov_b32 v0, v1\nv_mov_b32 v2, v3\nv_add_f32 v4, v0, v2\n"),
            Code("v_mov_b32 v0, v1\nv_mov_b32 v2, v3\ns_delay_alu instid0(VALU_DEP_1)\n"
                 "v_add_f32 v4, v0, v2\n",
                 Arch::kGfx1100));
  EXPECT_EQ(delayed("v_mov_b32 v0, v1\nv_mov_b32 v2, v0\nv_add_f32 v4, v5, v2\n"),
            Code("v_mov_b32 v0, v1\ns_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | "
                 "instid1(VALU_DEP_1)\nv_mov_b32 v2, v0\nv_add_f32 v4, v5, v2\n",
                 Arch::kGfx1100))
      << "one word for two";
  EXPECT_EQ(delayed("s_mov_b32 s0, 1\nv_mov_b32 v2, s0\n"),
            Code("s_mov_b32 s0, 1\ns_delay_alu instid0(SALU_CYCLE_1)\nv_mov_b32 v2, s0\n",
                 Arch::kGfx1100));
  const std::string loop = "loop: v_exp_f32 v0, v1\nv_mov_b32 v2, v3\ns_cbranch_scc1 loop\n";
  EXPECT_EQ(delayed(loop), Code(loop, Arch::kGfx1100));
  EXPECT_FALSE(InsertDelays(Code("s_nop 0\n", Arch::kGfx942), Arch::kGfx942).ok());
}

TEST(HazardTest, RandomWordsAreHarmless) {
  std::mt19937 random(1);
  for (const Arch arch : {Arch::kGfx1100, Arch::kGfx1201, Arch::kGfx942, Arch::kGfx950}) {
    std::vector<uint8_t> bytes(20000);
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
    (void)CheckHazards(bytes, arch);
    (void)InsertWaits(bytes, arch);
    (void)InsertDelays(bytes, arch);
  }
}

}  // namespace
}  // namespace tg::amd
