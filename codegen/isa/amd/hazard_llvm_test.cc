// Random programs with hazards: what LLVM's hazard recognizer puts in against InsertWaits.
//
// Programs are made of testdata/hazard_mir.txt in LLVM's machine code representation, which llc
// takes just before that pass. TG_HAZARD_PROGRAMS is how many for each processor.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/process.h"
#include "base/runfiles.h"
#include "codegen/isa/amd/asm.h"
#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/hazard.h"
#include "codegen/isa/amd/print.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

using Lines = std::vector<std::string>;

struct Template {
  std::string text;
  bool last = false;        // May only end a program.
  bool documented = false;  // LLVM does otherwise, and the file says so.
};

std::vector<Template> Templates(const std::string& processor) {
  const absl::StatusOr<std::string> path =
      base::FindRunfile("codegen/isa/amd/testdata/hazard_mir.txt");
  const std::string text = *base::ReadFile(*path);
  std::vector<Template> templates;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> columns = absl::StrSplit(line, absl::MaxSplits(" | ", 1));
    if (line.empty() || line[0] == '#' || columns.size() != 2) continue;
    const std::vector<std::string> processors = absl::StrSplit(columns[0], ' ');
    if (std::find(processors.begin(), processors.end(), processor) == processors.end()) continue;
    Template t;
    absl::string_view body = columns[1];
    t.documented = absl::ConsumePrefix(&body, "* ");
    t.last = absl::ConsumeSuffix(&body, " last");
    t.text = std::string(body);
    templates.push_back(std::move(t));
  }
  return templates;
}

// "$vgpr4_vgpr5" for {v2}. Few registers, so that instructions meet.
std::string RandomRegister(char kind, int count, std::mt19937* random) {
  const auto pick = [&](int n) { return static_cast<int>((*random)() % static_cast<unsigned>(n)); };
  int first = 0;
  if (kind == 's') {
    first = count == 1 ? pick(4) : pick(2) * count;
  } else if (count <= 2) {
    first = pick(8) / count * count;
  } else {
    first = count >= 32 ? pick(2) * 16 : pick(3) * 4;
  }
  const char* file = kind == 's' ? "sgpr" : kind == 'a' ? "agpr" : "vgpr";
  std::string name = "$";
  for (int i = 0; i < count; ++i) absl::StrAppend(&name, i == 0 ? "" : "_", file, first + i);
  return name;
}

std::string Fill(const std::string& text, std::mt19937* random) {
  std::string out;
  std::map<char, std::string> named;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{') {
      out += text[i];
      continue;
    }
    const size_t end = text.find('}', i);
    std::string token = text.substr(i + 1, end - i - 1);
    i = end;
    char name = 0;
    if (std::isupper(static_cast<unsigned char>(token[0])) != 0) {
      name = token[0];
      if (token.size() == 1) {
        out += named[name];
        continue;
      }
      token = token.substr(2);
    }
    int count = 1;
    EXPECT_TRUE(absl::SimpleAtoi(token.substr(1), &count)) << text;
    std::string reg = RandomRegister(token[0], count, random);
    for (const auto& [other, taken] : named) {
      while (name != 0 && reg == taken) reg = RandomRegister(token[0], count, random);
    }
    if (name != 0) named[name] = reg;
    out += reg;
  }
  return out;
}

// The programs' texts as llc prints them.
std::vector<std::string> Llvm(const std::vector<Lines>& programs, const std::string& processor,
                              bool wave64, bool delays) {
  std::string mir = "--- |\n";
  for (size_t i = 0; i < programs.size(); ++i) {
    absl::StrAppend(&mir, "  define amdgpu_kernel void @f", i, "() #0 { ret void }\n");
  }
  absl::StrAppend(&mir, "  attributes #0 = { ",
                  wave64 ? "\"target-features\"=\"+wavefrontsize64\"" : "nounwind", " }\n...\n");
  for (size_t i = 0; i < programs.size(); ++i) {
    absl::StrAppend(&mir, "---\nname: f", i, "\nbody: |\n  bb.0:\n");
    for (const std::string& line : programs[i]) absl::StrAppend(&mir, "    ", line, "\n");
    absl::StrAppend(&mir, "    S_ENDPGM 0\n...\n");
  }
  std::vector<std::string> command = {"llc-22",
                                      "-mtriple=amdgcn",
                                      "-mcpu=" + processor,
                                      "-start-before=post-RA-hazard-rec",
                                      "-x=mir",
                                      "-",
                                      "-o",
                                      "-"};
  // Hints for speed are another pass.
  if (!delays) command.push_back("-amdgpu-enable-delay-alu=0");
  const absl::StatusOr<base::ProcessResult> run = base::RunProcess(command, {.input = mir});
  std::vector<std::string> texts;
  if (!run.ok() || run->status != 0) {
    ADD_FAILURE() << (run.ok() ? run->err.substr(0, 3000) : run.status().ToString());
    return texts;
  }
  bool inside = false;
  for (const absl::string_view line : absl::StrSplit(run->out, '\n')) {
    if (line.size() > 2 && line[0] == 'f' && std::isdigit(static_cast<unsigned char>(line[1]))) {
      inside = true;
      texts.emplace_back();
    } else if (inside && line.size() > 1 && line[0] == '\t' &&
               std::isalpha(static_cast<unsigned char>(line[1])) != 0) {
      if (line == "\ts_endpgm") {
        inside = false;
        continue;
      }
      std::string instruction(line.substr(1));
      // Masks of waves of 64 have the code of their first register, which is how waves of 32 write
      // them.
      if (wave64 && instruction[0] == 'v') {
        instruction = absl::StrReplaceAll(instruction, {{"s[2:3]", "s2"}, {"s[6:7]", "s6"}});
      }
      absl::StrAppend(&texts.back(), instruction, "\n");
    }
  }
  return texts;
}

// One instruction a line; s_nops together.
Lines Disassembled(absl::Span<const uint8_t> code, Arch arch) {
  Lines lines;
  uint32_t nops = 0;
  const auto flush = [&] {
    if (nops > 0) lines.push_back(absl::StrCat("s_nop * ", nops));
    nops = 0;
  };
  for (size_t at = 0; at < code.size();) {
    Inst inst;
    if (DecodeFast(code.subspan(at), IsaOf(arch), &inst) != DecodeError::kOk) break;
    at += inst.size;
    if (inst.form->op == Op::kSNop) {
      nops += static_cast<uint32_t>(inst.operands[0].value) + 1;
      continue;
    }
    flush();
    lines.push_back(ToString(inst, IsaOf(arch)));
  }
  flush();
  return lines;
}

// What either of the two puts in.
bool IsPutIn(const std::string& line) {
  for (const char* name : {"s_nop", "v_nop", "s_waitcnt_depctr", "s_wait_alu"}) {
    if (absl::StartsWith(line, name)) return true;
  }
  const std::vector<std::string> words =
      absl::StrSplit(line, absl::ByAnyChar(" ,"), absl::SkipEmpty());
  return words.size() == 3 && words[0] == "v_mov_b32_e32" && words[1] == words[2];
}

// Several that are put in at one place may have any order.
Lines Sorted(Lines lines) {
  for (size_t i = 0; i < lines.size();) {
    size_t end = i;
    while (end < lines.size() && IsPutIn(lines[end])) ++end;
    std::sort(lines.begin() + static_cast<std::ptrdiff_t>(i),
              lines.begin() + static_cast<std::ptrdiff_t>(end));
    i = end + 1;
  }
  return lines;
}

struct Case {
  const char* processor;
  Arch arch;
};

// Compares; returns how many differ of those that should not.
int Differences(const std::vector<Lines>& programs, const std::string& processor, Arch arch,
                bool wave64, const std::set<size_t>& documented, int* put_in) {
  const std::vector<std::string> texts = Llvm(programs, processor, wave64, false);
  EXPECT_EQ(texts.size(), programs.size());
  AsmOptions options;
  options.wave64 = wave64;
  int bad = 0;
  int excused = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Assembly llvm = Assemble(texts[i], arch, options);
    if (!llvm.ok()) {
      ADD_FAILURE() << FormatErrors(llvm, texts[i], "llvm.s");
      return 1;
    }
    std::string bare_text;
    for (const absl::string_view line : absl::StrSplit(texts[i], '\n')) {
      if (!IsPutIn(std::string(line))) absl::StrAppend(&bare_text, line, "\n");
    }
    const Assembly bare = Assemble(bare_text, arch, options);
    EXPECT_TRUE(bare.ok());
    HazardOptions hazard_options;
    hazard_options.wave64 = wave64;
    const absl::StatusOr<std::vector<uint8_t>> ours = InsertWaits(bare.text, arch, hazard_options);
    EXPECT_TRUE(ours.ok()) << ours.status() << bare_text;
    if (!ours.ok()) return 1;
    const Lines expected = Sorted(Disassembled(llvm.text, arch));
    const Lines got = Sorted(Disassembled(*ours, arch));
    if (llvm.text != bare.text) ++*put_in;
    if (expected == got) continue;
    if (documented.count(i) != 0) {
      ++excused;
      continue;
    }
    if (++bad <= 12) {
      ADD_FAILURE() << processor << "\nLLVM:\n  " << absl::StrJoin(expected, "\n  ")
                    << "\nours:\n  " << absl::StrJoin(got, "\n  ");
    }
  }
  // An excuse that nothing needs is stale.
  EXPECT_TRUE(documented.empty() || excused > 0);
  return bad;
}

class HazardLlvmTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!base::RunProcess({"llc-22", "--version"}).ok()) GTEST_SKIP() << "llc-22 is not installed";
  }
};

TEST_P(HazardLlvmTest, RandomPrograms) {
  const auto [processor, arch] = GetParam();
  const std::vector<Template> templates = Templates(processor);
  ASSERT_GT(templates.size(), 15u);
  const char* const wanted = std::getenv("TG_HAZARD_PROGRAMS");
  int count = 1500;
  if (wanted != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(wanted, &count));
  }
  std::mt19937 random(7);
  std::vector<Lines> programs;
  std::set<size_t> documented;
  for (int p = 0; p < count; ++p) {
    Lines& program = programs.emplace_back();
    // Hazards of RDNA take three instructions.
    const int length = 2 + static_cast<int>(random() % (IsRdna(IsaOf(arch)) ? 12 : 4));
    for (int i = 0; i < length; ++i) {
      const Template& t = templates[random() % templates.size()];
      if (t.documented) documented.insert(programs.size() - 1);
      program.push_back(Fill(t.text, &random));
      if (t.last) break;
    }
  }
  int put_in = 0;
  const int bad = Differences(programs, processor, arch, false, documented, &put_in);
  std::printf("%s: %d programs of %zu instructions, LLVM put something in %d, %d differ\n",
              processor, count, templates.size(), put_in, bad);
  EXPECT_EQ(bad, 0);
  EXPECT_GT(put_in, count / 50);
}

INSTANTIATE_TEST_SUITE_P(All, HazardLlvmTest,
                         testing::Values(Case{"gfx942", Arch::kGfx942},
                                         Case{"gfx950", Arch::kGfx950},
                                         Case{"gfx1100", Arch::kGfx1100},
                                         Case{"gfx1150", Arch::kGfx1150},
                                         Case{"gfx1201", Arch::kGfx1201}),
                         [](const auto& info) { return std::string(info.param.processor); });

// On LLVM's code without its s_delay_alu, InsertDelays puts the same ones in.
TEST_P(HazardLlvmTest, Delays) {
  const auto [processor, arch] = GetParam();
  if (!IsRdna(IsaOf(arch))) return;
  // LLVM does not see dependencies on VCC that is no operand.
  std::vector<Template> templates = Templates(processor);
  templates.erase(std::remove_if(templates.begin(), templates.end(),
                                 [](const Template& t) {
                                   return absl::StrContains(t.text, "implicit $vcc") ||
                                          absl::StrContains(t.text, "implicit-def $vcc");
                                 }),
                  templates.end());
  std::mt19937 random(11);
  std::vector<Lines> programs;
  constexpr int kPrograms = 1000;
  for (int p = 0; p < kPrograms; ++p) {
    Lines& program = programs.emplace_back();
    for (int i = 0; i < 12; ++i) {
      program.push_back(Fill(templates[random() % templates.size()].text, &random));
    }
  }
  const std::vector<std::string> texts = Llvm(programs, processor, false, true);
  ASSERT_EQ(texts.size(), programs.size());
  int put_in = 0;
  int bad = 0;
  for (const std::string& text : texts) {
    std::string bare_text;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      if (!absl::StartsWith(line, "s_delay_alu")) absl::StrAppend(&bare_text, line, "\n");
    }
    // LLVM has a delay behind s_wait_alu even where that has waited for the same register.
    if (absl::StrContains(text, "s_wait_alu")) continue;
    const Assembly llvm = Assemble(text, arch);
    const Assembly bare = Assemble(bare_text, arch);
    ASSERT_TRUE(llvm.ok() && bare.ok()) << text;
    const absl::StatusOr<std::vector<uint8_t>> ours = InsertDelays(bare.text, arch);
    ASSERT_TRUE(ours.ok()) << ours.status();
    put_in += bare.text == llvm.text ? 0 : 1;
    if (*ours == llvm.text) continue;
    if (++bad > 12) continue;
    ADD_FAILURE() << processor << "\nLLVM:\n  "
                  << absl::StrJoin(Disassembled(llvm.text, arch), "\n  ") << "\nours:\n  "
                  << absl::StrJoin(Disassembled(*ours, arch), "\n  ");
  }
  std::printf("%s: %d programs, s_delay_alu in %d, %d differ\n", processor, kPrograms, put_in, bad);
  EXPECT_GT(put_in, kPrograms / 2);
  EXPECT_EQ(bad, 0);
}

// LLVM waits after the write of an SGPR that was a mask, we before it is read: the same where the
// reader comes next.
TEST_P(HazardLlvmTest, MasksOfWavesOf64) {
  const auto [processor, arch] = GetParam();
  if (!IsRdna3(IsaOf(arch))) return;
  const Lines masks = {
      "$vgpr0 = V_CNDMASK_B32_e64 0, $vgpr1, 0, $vgpr2, $sgpr2_sgpr3, implicit $exec",
      "$vgpr0 = V_CNDMASK_B32_e32 $vgpr1, $vgpr2, implicit $exec, implicit $vcc",
      "$vgpr0, $sgpr6_sgpr7 = V_ADDC_U32_e64 $vgpr1, $vgpr2, $sgpr2_sgpr3, 0, implicit $exec",
      "$vgpr0 = V_DIV_FMAS_F32_e64 0, $vgpr1, 0, $vgpr2, 0, $vgpr3, 0, 0, implicit $mode, "
      "implicit $vcc, implicit $exec",
      "$vgpr0 = V_MOV_B32_e32 $sgpr2, implicit $exec"};
  const Lines writers = {"$sgpr2 = S_MOV_B32 0",
                         "$sgpr2_sgpr3 = S_MOV_B64 0",
                         "$sgpr2 = V_READFIRSTLANE_B32 $vgpr9, implicit $exec",
                         "$sgpr2_sgpr3 = V_CMP_EQ_U32_e64 $vgpr8, $vgpr9, implicit $exec",
                         "V_CMP_EQ_U32_e32 $vgpr8, $vgpr9, implicit-def $vcc, implicit $exec",
                         "$vcc = S_MOV_B64 -1"};
  const Lines readers = {"$sgpr4 = S_MOV_B32 $sgpr2", "$sgpr4_sgpr5 = S_MOV_B64 $vcc",
                         "$vgpr4 = V_MOV_B32_e32 $sgpr2, implicit $exec",
                         "$vgpr4 = V_MOV_B32_e32 $vcc_lo, implicit $exec"};
  std::vector<Lines> programs;
  for (const std::string& mask : masks) {
    for (const std::string& writer : writers) {
      for (const std::string& reader : readers) {
        const bool vcc = writer.find("vcc") != std::string::npos;
        if (vcc != (reader.find("vcc") != std::string::npos)) continue;
        programs.push_back({mask, writer, reader});
      }
    }
  }
  int put_in = 0;
  const int bad = Differences(programs, processor, arch, true, {}, &put_in);
  std::printf("%s: %zu programs of waves of 64, LLVM put something in %d, %d differ\n", processor,
              programs.size(), put_in, bad);
  EXPECT_EQ(bad, 0);
  EXPECT_GT(put_in, 10);
}

}  // namespace
}  // namespace tg::amd
