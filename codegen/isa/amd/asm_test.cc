#include "codegen/isa/amd/asm.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/isa/amd/asm_object.h"
#include "codegen/isa/amd/names.h"
#include "codegen/isa/amd/print.h"
#include "codegen/object/amd_code_object.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

std::string Hex(const std::vector<uint8_t>& bytes) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// The code in hexadecimal, or the first error.
std::string Code(std::string_view text, Arch arch = Arch::kGfx1100, AsmOptions options = {}) {
  const Assembly assembly = Assemble(text, arch, options);
  if (assembly.ok()) return Hex(assembly.text);
  const AsmError& e = assembly.errors[0];
  return absl::StrCat(e.line, ":", e.column, ": ", e.message);
}

TEST(AsmTest, ANameAloneMeansTheShortestEncoding) {
  EXPECT_EQ(Code("v_add_f32 v0, v1, v2"), "01050006");
  EXPECT_EQ(Code("v_add_f32_e32 v0, v1, v2"), "01050006");
  EXPECT_EQ(Code("v_add_f32_e64 v0, v1, v2"), "000003d501050200");
  EXPECT_EQ(Code("v_add_f32 v0, v1, s2"), "000003d501050000") << "only VOP3 takes it";
  EXPECT_EQ(Code("v_add_f32 v0, |v1|, -v2 clamp"), "008103d501050240");
  EXPECT_EQ(Code("v_add_f32 v0, abs(v1), neg(v2) clamp"), "008103d501050240");
  EXPECT_EQ(Code("v_mov_b32 v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf"),
            "fa02007e01e400ff");
  EXPECT_EQ(Code("v_add_f32_dpp v0, v1, v2 dpp8:[7,6,5,4,3,2,1,0]"), "e904000601773905");
}

TEST(AsmTest, ConstantsAndLiterals) {
  EXPECT_EQ(Code("v_mov_b32 v0, 64"), "c002007e");
  EXPECT_EQ(Code("v_mov_b32 v0, -16"), "d002007e");
  EXPECT_EQ(Code("v_mov_b32 v0, 1.0"), "f202007e");
  EXPECT_EQ(Code("v_mov_b32 v0, 0x3f800000"), "f202007e") << "the same bits";
  EXPECT_EQ(Code("v_mov_b32 v0, lit(1.0)"), "ff02007e0000803f");
  EXPECT_EQ(Code("v_mov_b32 v0, lit(0x3f800000)"), "ff02007e0000803f");
  // Halves of integers and packed numbers take fewer numbers for inline constants than half floats.
  EXPECT_EQ(Code("v_add_f16 v0, 0xfff0, v0"), "d0000064");
  EXPECT_EQ(Code("v_cmp_eq_i16 vcc_lo, 0xfff0, v1.l"), "ff02647cf0ff0000");
  EXPECT_EQ(Code("v_pk_add_f16 v0, 0xfff0, v1"), "00400fccff020218f0ff0000");
  EXPECT_EQ(Code("v_pk_add_u16 v0, 0x3f800000, v1"), "00400accf2020218");
  EXPECT_EQ(Code("v_mov_b32 v0, 65"), "ff02007e41000000");
  EXPECT_EQ(Code("v_mov_b32 v0, 2*(3+1)-1 << 1"), "8e02007e") << "C's precedence: 7 << 1";
  EXPECT_EQ(Code("s_mov_b64 s[0:1], 0.5"), "f00180be");
  EXPECT_EQ(Code("v_add_f64 v[0:1], v[2:3], 0x12345678"), "000027d702ff010078563412");
}

TEST(AsmTest, HalvesInBothSpellings) {
  EXPECT_EQ(Code("v_add_f16 v0.l, v1.l, v2.h"), Code("v_add_f16_e32 v0.l, v1.l, v2.h"));
  EXPECT_EQ(Code("v_add_f16_e64 v0.h, v1.l, v2.h"),
            Code("v_add_f16_e64 v0, v1, v2 op_sel:[0,1,1]"));
}

TEST(AsmTest, EveryHardwareRegisterThatIsPrintedIsTaken) {
  for (Arch arch : {Arch::kGfx1100, Arch::kGfx1150, Arch::kGfx1201, Arch::kGfx942}) {
    for (const Name& reg : HwregNames(IsaOf(arch))) {
      const Assembly number =
          Assemble(absl::StrCat("s_getreg_b32 s0, ", reg.value | 31 << 11), arch);
      ASSERT_TRUE(number.ok());
      std::string text;
      ASSERT_EQ(Disassemble(number.text, arch, &text), 4);
      EXPECT_NE(text.find(reg.name), std::string::npos) << text;
      EXPECT_EQ(Code(text, arch), Hex(number.text)) << text;
    }
  }
}

TEST(AsmTest, LabelsForwardAndBackward) {
  EXPECT_EQ(Code("loop:\n s_branch loop\n"), "ffffa0bf");
  EXPECT_EQ(Code(" s_branch end\n s_nop 0\nend: s_endpgm\n"), "0100a0bf000080bf0000b0bf");
  EXPECT_EQ(Code("s_mov_b32 s0, end - start\nstart: s_nop 0\ns_nop 0\nend:\n"),
            "ff0080be08000000000080bf000080bf");
  EXPECT_EQ(Code("a:\n.long b - a, 0x12\nb: .byte 1, 2\n.short 0x1234\n"),
            "080000001200000001023412");
  EXPECT_EQ(
      Code("s_getpc_b64 s[0:1]\ns_add_u32 s0, s0, f@rel32@lo+4\ns_addc_u32 s1, s1, f@rel32@hi+12\n"
           "f: s_endpgm\n"),
      "004780be00ff00801000000001ff0182000000000000b0bf");
}

TEST(AsmTest, Data) {
  EXPECT_EQ(Code(".fill 2, 4, 0xbf9f0000\n"), "00009fbf00009fbf");
  EXPECT_EQ(Code(".ascii \"a\\n\"\n.asciz \"b\"\n.byte 7\n"), "610a620007");
  EXPECT_EQ(Code("s_nop 1\n.p2align 4\ns_endpgm\n"), "010080bf000080bf000080bf000080bf0000b0bf");
  EXPECT_EQ(Code("x = 3\n.set y, x * 2\n.byte x, y\nx = 4\n.byte x\n"), "030604");
  EXPECT_EQ(Code("; comment\n# another\ns_nop 0 // third\n/* over\nlines */ s_nop 1 /* in */\n"),
            "000080bf010080bf");
}

TEST(AsmTest, Waits) {
  EXPECT_EQ(Code("s_waitcnt vmcnt(0) lgkmcnt(0)"), "070089bf");
  EXPECT_EQ(Code("s_waitcnt vmcnt(0) & lgkmcnt(0)"), "070089bf");
  EXPECT_EQ(Code("s_waitcnt lgkmcnt_sat(100)"), Code("s_waitcnt lgkmcnt(63)"));
  EXPECT_EQ(Code("s_waitcnt 0"), "000089bf");
  EXPECT_EQ(Code("s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)"),
            "910087bf");
  EXPECT_EQ(Code("s_waitcnt vmcnt(0)", Arch::kGfx942), "700f8cbf");
}

TEST(AsmTest, Exports) {
  EXPECT_EQ(Code("exp mrt0 v0, v1, v2, v3 done"), "0f0800f800010203");
  EXPECT_EQ(Code("exp pos0 v0, off, v2, off"), "c50000f800000200");
}

TEST(AsmTest, FewScalarsForVectorInstructions) {
  EXPECT_EQ(Code("v_fma_f32 v0, s1, s2, s1"), "000013d601040400");
  EXPECT_EQ(Code("v_fma_f32 v0, s1, s2, s3"),
            "1:23: v_fma_f32: operand 4: more scalar registers and literals than the instruction "
            "can read");
  EXPECT_EQ(Code("v_add_f32 v0, s1, s2", Arch::kGfx942),
            "1:19: v_add_f32: operand 3: more scalar registers and literals than the instruction "
            "can read");
}

TEST(AsmTest, WaveSizes) {
  AsmOptions wave64;
  wave64.wave64 = true;
  EXPECT_EQ(Code("v_cmp_eq_f32 vcc_lo, v0, v1"), "0003247c");
  EXPECT_EQ(Code("v_cmp_eq_f32 vcc, v0, v1", Arch::kGfx1100, wave64), "0003247c");
  EXPECT_EQ(Code("v_cmp_eq_f32 vcc, v0, v1", Arch::kGfx942), "0003847c");
}

TEST(AsmTest, SeveralErrorsEachWithItsPlace) {
  constexpr std::string_view kSource =
      "v_add_f32 v0, v1\n"
      "  v_add_f33 v0, v1, v2\n"
      "s_nop 0\n"
      "\tv_mov_b32 v0, v256\n"
      "s_waitcnt vmcnt(64)\n"
      "s_branch nowhere\n";
  const Assembly assembly = Assemble(kSource, Arch::kGfx1100);
  EXPECT_EQ(FormatErrors(assembly, kSource, "k.s"),
            "k.s:1:1: error: v_add_f32: too few operands\n"
            "v_add_f32 v0, v1\n"
            "^\n"
            "k.s:2:3: error: 'v_add_f33' is no instruction of gfx1100; did you mean 'v_add_f32'?\n"
            "  v_add_f33 v0, v1, v2\n"
            "  ^\n"
            "k.s:4:16: error: there is no register v256; the last one is v255\n"
            "\tv_mov_b32 v0, v256\n"
            "\t              ^\n"
            "k.s:5:17: error: vmcnt is 64; it must be from 0 to 63\n"
            "s_waitcnt vmcnt(64)\n"
            "                ^\n"
            "k.s:6:10: error: no symbol is called nowhere\n"
            "s_branch nowhere\n"
            "         ^\n");
  EXPECT_EQ(Hex(assembly.text), "000080bf0000a0bf") << "instructions with an error emit nothing";
}

TEST(AsmTest, NamesTheFamilyThatHasAnInstruction) {
  EXPECT_EQ(Code("s_wait_kmcnt 0"),
            "1:1: 's_wait_kmcnt' is no instruction of gfx1100; gfx1201 has it");
}

constexpr char kKernel[] = R"(
.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
.text
.globl scale
.p2align 8
.type scale,@function
scale:
  s_load_b64 s[2:3], s[0:1], 0x0
  v_lshlrev_b32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_b32 v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32 v1, v1, v1
  global_store_b32 v0, v1, s[2:3]
  s_endpgm
.Lend:
.size scale, .Lend-scale
.section .rodata,"a"
.p2align 6
.amdhsa_kernel scale
  .amdhsa_kernarg_size 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr .amdgcn.next_free_vgpr
  .amdhsa_next_free_sgpr .amdgcn.next_free_sgpr
.end_amdhsa_kernel
)";

TEST(AsmTest, KernelsBecomeCodeObjects) {
  const Assembly assembly = Assemble(kKernel, Arch::kGfx1100);
  ASSERT_TRUE(assembly.ok()) << FormatErrors(assembly, kKernel, "k.s");
  ASSERT_EQ(assembly.kernels.size(), 1u);
  EXPECT_EQ(assembly.kernels[0].description.next_free_vgpr, 2u);
  EXPECT_EQ(assembly.kernels[0].description.next_free_sgpr, 4u);
  EXPECT_EQ(assembly.text_align, 256u);
  const absl::StatusOr<std::string> bytes = MakeCodeObject(assembly, Arch::kGfx1100);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const absl::StatusOr<object::AmdCodeObject> object = object::AmdCodeObject::Read(*bytes);
  ASSERT_TRUE(object.ok()) << object.status();
  const object::AmdKernel* kernel = object->FindKernel("scale");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->code_size, assembly.text.size());
  EXPECT_EQ(kernel->descriptor.kernarg_size, 8u);
}

TEST(AsmTest, KernelDirectivesAreChecked) {
  const auto in_kernel = [](const std::string& line) {
    return Code(".amdhsa_kernel k\n" + line + "\n.end_amdhsa_kernel\n");
  };
  EXPECT_EQ(in_kernel(".amdhsa_kernarg_size 8"), "");
  EXPECT_EQ(in_kernel(".amdhsa_tg_split 1"), "2:1: gfx1100 has no tg_split");
  EXPECT_EQ(in_kernel(".amdhsa_ieee_mode 2"),
            "2:19: ieee_mode is 2; the largest possible value is 1");
  EXPECT_EQ(in_kernel(".amdhsa_nonsense 2"), "2:1: no value is called nonsense");
  EXPECT_EQ(in_kernel("s_nop 0"), "2:1: expected a directive of a kernel");
  EXPECT_EQ(in_kernel(".amdhsa_next_free_vgpr 300"),
            "1:16: next_free_vgpr is 300; the largest possible value is 256");
  EXPECT_EQ(Code(".amdhsa_kernel k\n"), "1:1: .end_amdhsa_kernel is missing");
  EXPECT_EQ(
      MakeCodeObject(Assemble("s_endpgm\n.amdhsa_kernel k\n.end_amdhsa_kernel\n", Arch::kGfx1100),
                     Arch::kGfx1100)
          .status()
          .message(),
      "kernel k has no label");
}

TEST(AsmTest, MetadataErrorsHaveTheirLine) {
  EXPECT_EQ(
      Code(
          ".amdgpu_metadata\namdhsa.version: [1, 2]\n---\namdhsa.target 3\n.end_amdgpu_metadata\n"),
      "4:1: expected 'key: value'");
  EXPECT_EQ(Code(".amdgpu_metadata\n"), "1:1: .end_amdgpu_metadata is missing");
}

TEST(AsmTest, DirectivesAreChecked) {
  EXPECT_EQ(Code(".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\""),
            "1:1: the text is for gfx942, not for gfx1100");
  EXPECT_EQ(Code(".byte 256"), "1:7: the value 256 does not fit 1 bytes");
  EXPECT_EQ(Code("a: .byte a"), "1:10: an address is not known before loading; take a distance");
  EXPECT_EQ(Code(".fill 100000000000, 8, 0"), "1:1: the text would be larger than 256 MiB");
  EXPECT_EQ(Code(".p2align 40"), "1:1: the alignment must be from 0 to 16");
  EXPECT_EQ(Code(".bogus"), "1:1: unknown directive .bogus");
  EXPECT_EQ(Code("a:\na:\n"), "2:1: a is defined already");
  EXPECT_EQ(Code(".long 1/0"), "1:8: division by zero");
  EXPECT_EQ(Code(".section .data"), "1:1: only the sections .text and .rodata are supported");
  EXPECT_EQ(Code("/* open"), "1:1: the comment is not closed");
}

// Whatever the bytes, an error and nothing else.
TEST(AsmTest, TruncatedTextNeverCrashes) {
  const std::string_view text = kKernel;
  for (size_t size = 0; size < text.size(); ++size) {
    (void)Assemble(std::string(text.substr(0, size)), Arch::kGfx1100);
  }
}

}  // namespace
}  // namespace tg::amd
