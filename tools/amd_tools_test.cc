// amd_asm and amd_disasm from their command lines to their files and exit status.
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/run_tool.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tg::tools {
namespace {

using Outcome = base::ProcessResult;

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string Temp(const std::string& name) { return testing::TempDir() + "/" + name; }

Outcome RunTool(const std::string& tool, const std::string& args) {
  return base::RunTool("tools/" + tool, args);
}

constexpr char kSource[] = R"(.text
.globl count
.p2align 8
.type count,@function
count:
  s_mov_b32 s2, 10
loop:
  s_sub_u32 s2, s2, 1
  s_cmp_lg_u32 s2, 0
  s_cbranch_scc1 loop
  s_endpgm
.amdhsa_kernel count
  .amdhsa_kernarg_size 16
  .amdhsa_next_free_vgpr 1
  .amdhsa_next_free_sgpr 3
.end_amdhsa_kernel
)";

void Write(const std::string& name, const std::string& text) {
  std::ofstream(Temp(name), std::ios::binary) << text;
}

TEST(AmdToolsTest, BytesThereAndBack) {
  Write("raw.s", "s_nop 1\nv_add_f32 v0, v1, v2\ns_endpgm\n");
  const Outcome made = RunTool(
      "amd_asm", absl::StrCat("--arch gfx1100 --raw ", Temp("raw.s"), " -o ", Temp("raw.bin")));
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(ReadAll(Temp("raw.bin")), std::string("\1\0\x80\xbf\1\5\0\6\0\0\xb0\xbf", 12));
  const Outcome shown =
      RunTool("amd_disasm", absl::StrCat("--arch gfx1100 --raw ", Temp("raw.bin"), " --plain"));
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_EQ(shown.out,
            "010080bf\ts_nop 1\n01050006\tv_add_f32_e32 v0, v1, v2\n0000b0bf\ts_endpgm\n");
}

TEST(AmdToolsTest, CodeObjects) {
  Write("count.s", kSource);
  const Outcome made = RunTool("amd_asm", absl::StrCat("--arch gfx1100 ", Temp("count.s"), " -o ",
                                                       Temp("count.co"), " --json"));
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(nlohmann::json::parse(made.out)["instructions"], 5);
  const Outcome shown = RunTool("amd_disasm", absl::StrCat("--arch gfx1100 ", Temp("count.co")));
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_TRUE(absl::StrContains(shown.out, "amdgcn-amd-amdhsa--gfx1100")) << shown.out;
  EXPECT_TRUE(absl::StrContains(shown.out, "kernel count")) << shown.out;
  EXPECT_TRUE(absl::StrContains(shown.out, "kernarg_size 16")) << shown.out;
  EXPECT_TRUE(absl::StrContains(shown.out, "\nloop:\n")) << shown.out;
  EXPECT_TRUE(absl::StrContains(shown.out, "-> loop")) << shown.out;
  EXPECT_TRUE(absl::StrContains(shown.out, "▶ s_sub_u32 s2, s2, 1")) << shown.out;
  EXPECT_TRUE(absl::StrContains(shown.out, "─ s_cbranch_scc1")) << shown.out;
  EXPECT_FALSE(absl::StrContains(shown.out, "\x1b")) << "colours are for terminals";
  const nlohmann::json json =
      nlohmann::json::parse(RunTool("amd_disasm", absl::StrCat("--json ", Temp("count.co"))).out);
  EXPECT_EQ(json["kernels"][0]["name"], "count");
  EXPECT_EQ(json["instructions"].size(), 5u);
  EXPECT_EQ(json["instructions"][3]["target"], json["instructions"][1]["address"]);
}

TEST(AmdToolsTest, Errors) {
  Write("bad.s", "s_nop 1\n  v_mov_b32 v0, v300\n");
  const Outcome bad = RunTool(
      "amd_asm", absl::StrCat("--arch gfx1100 --json ", Temp("bad.s"), " -o ", Temp("bad.co")));
  EXPECT_EQ(bad.status, 1);
  EXPECT_TRUE(absl::StrContains(bad.err, "bad.s:2:17: error: there is no register v300"))
      << bad.err;
  EXPECT_EQ(nlohmann::json::parse(bad.out)["errors"][0]["line"], 2);
  EXPECT_EQ(ReadAll(Temp("bad.co")), "");
  EXPECT_EQ(RunTool("amd_asm", Temp("bad.s")).status, 2);
  EXPECT_EQ(RunTool("amd_asm", absl::StrCat("--arch gfx1 ", Temp("bad.s"))).status, 2);
  EXPECT_EQ(RunTool("amd_asm", "--arch gfx1100 /nonexistent").status, 1);
  EXPECT_EQ(RunTool("amd_disasm", absl::StrCat("--raw ", Temp("bad.s"))).status, 2);
  const Outcome not_elf = RunTool("amd_disasm", absl::StrCat("--arch gfx1100 ", Temp("bad.s")));
  EXPECT_EQ(not_elf.status, 1);
  EXPECT_TRUE(absl::StrContains(not_elf.err, "; bare instructions need --raw")) << not_elf.err;
  for (const char* tool : {"amd_asm", "amd_disasm"}) {
    const Outcome help = RunTool(tool, "--help");
    EXPECT_EQ(help.status, 0);
    EXPECT_TRUE(absl::StrContains(help.out, "EXAMPLES")) << help.out;
  }
}

}  // namespace
}  // namespace tg::tools
