// Random operands of every form: our bytes, LLVM's text of them, our assembler, and the same bytes
// again.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/process.h"
#include "codegen/isa/amd/asm.h"
#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/encode.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

constexpr int kPerForm = 3;
constexpr int kTries = 400;

std::string Hex(const uint8_t* bytes, size_t size) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(bytes), size));
}

// Instructions of `isa`, in hexadecimal: random bits where a form has fields.
std::set<std::string> RandomInstructions(Isa isa, int* forms_covered) {
  std::mt19937_64 random(1);
  std::set<std::string> all;
  for (const Form* form : FormsOf(isa)) {
    uint64_t mask[2] = {0, 0};
    uint64_t value[2] = {0, 0};
    OpcodeBits(*form, &mask[0], &value[0]);
    int found = 0;
    for (int i = 0; i < kTries && found < kPerForm; ++i) {
      uint64_t words[3];
      for (uint64_t& w : words)
        w = random() & random();  // Fewer ones: reserved bits are often zero.
      words[0] = (words[0] & ~mask[0]) | value[0];
      if (i % 2 == 0) words[0] &= ~(random() & 0xe000000000000000) | mask[0];
      uint8_t bytes[24];
      std::memcpy(bytes, words, sizeof(bytes));
      Inst inst;
      if (DecodeFast(bytes, isa, &inst) != DecodeError::kOk || inst.form != form) continue;
      uint8_t again[kMaxInstBytes + 4];
      const EncodeResult encoded = Encode(inst, isa, again);
      EXPECT_TRUE(encoded.ok() && std::memcmp(again, bytes, inst.size) == 0) << form->mnemonic;
      all.insert(Hex(bytes, inst.size));
      ++found;
    }
    *forms_covered += found > 0 ? 1 : 0;
  }
  return all;
}

// What llvm-mc prints for the lines of `input`: texts by the bytes that LLVM has for them.
std::multimap<std::string, std::string> LlvmTextsOfOneRun(const std::string& input,
                                                          const std::vector<std::string>& options,
                                                          const char* processor, bool rdna) {
  std::vector<std::string> command = {"llvm-mc-22", "-triple=amdgcn",
                                      absl::StrCat("-mcpu=", processor)};
  if (rdna) command.push_back("-mattr=+real-true16");
  command.insert(command.end(), options.begin(), options.end());
  std::multimap<std::string, std::string> texts;
  const absl::StatusOr<base::ProcessResult> run = base::RunProcess(command, {.input = input});
  if (!run.ok()) return texts;
  for (const absl::string_view line : absl::StrSplit(run->out, '\n')) {
    const std::string text(line);
    const size_t comment = text.find(" encoding: [");
    if (comment == std::string::npos) continue;
    const std::string bytes = text.substr(comment + 12, text.find(']', comment) - comment - 12);
    std::string hex;
    for (const absl::string_view byte : absl::StrSplit(bytes, ',')) {
      if (byte.size() >= 4) absl::StrAppend(&hex, byte.substr(2, 2));
    }
    std::string body = text.substr(0, comment);
    body = body.substr(0, body.find_last_of(";/"));
    while (!body.empty() && (body.back() == '/' || body.back() == ' ')) body.pop_back();
    texts.emplace(hex, body);
  }
  return texts;
}

// In portions: some words end llvm-mc with an assertion, and then nothing after them is printed.
std::multimap<std::string, std::string> LlvmTexts(const std::vector<std::string>& lines,
                                                  const std::vector<std::string>& options,
                                                  const char* processor, bool rdna) {
  constexpr size_t kPortion = 2500;
  std::multimap<std::string, std::string> texts;
  for (size_t i = 0; i < lines.size(); i += kPortion) {
    std::string input;
    for (size_t j = i; j < std::min(lines.size(), i + kPortion); ++j)
      absl::StrAppend(&input, lines[j], "\n");
    texts.merge(LlvmTextsOfOneRun(input, options, processor, rdna));
  }
  return texts;
}

struct Case {
  const char* processor;
  Arch arch;
};

class RoundtripTest : public testing::TestWithParam<Case> {};

TEST_P(RoundtripTest, LlvmsTextGivesOurBytes) {
  if (!base::RunProcess({"llvm-mc-22", "--version"}).ok()) {
    GTEST_SKIP() << "llvm-mc-22 is not installed";
  }
  const auto [processor, arch] = GetParam();
  int forms = 0;
  const std::set<std::string> instructions = RandomInstructions(IsaOf(arch), &forms);
  const bool rdna = IsRdna(IsaOf(arch));
  std::vector<std::string> words;
  for (const std::string& hex : instructions) {
    std::string& line = words.emplace_back();
    for (size_t i = 0; i < hex.size(); i += 2) absl::StrAppend(&line, "0x", hex.substr(i, 2), " ");
  }
  const auto printed = LlvmTexts(words, {"--disassemble", "-show-encoding"}, processor, rdna);
  std::vector<std::string> lines;
  for (const auto& [hex, text] : printed) lines.push_back(text);
  const auto again = LlvmTexts(lines, {"-show-encoding"}, processor, rdna);
  int same = 0;
  int lossy = 0;
  int bad = 0;
  for (const auto& [hex, text] : printed) {
    // LLVM's text does not always say all, and it does not take all that it prints: what LLVM
    // itself cannot turn back is no measure.
    if (instructions.count(hex) == 0 || again.count(hex) == 0 ||
        text.find("/*") != std::string::npos) {
      ++lossy;
      continue;
    }
    const Assembly assembly = Assemble(text + "\n", arch);
    const std::string got = assembly.ok() ? Hex(assembly.text.data(), assembly.text.size())
                                          : assembly.errors[0].message;
    if (got == hex) {
      ++same;
      continue;
    }
    if (++bad <= 40) ADD_FAILURE() << text << "\n  " << got << "\n  expected " << hex;
  }
  std::printf("%s: %d forms, %zu instructions: %d identical, %d differ, %d that LLVM loses\n",
              processor, forms, instructions.size(), same, bad, lossy);
  EXPECT_EQ(bad, 0);
  EXPECT_GT(same, 1000);
  EXPECT_LT(lossy, same / 2);
}

INSTANTIATE_TEST_SUITE_P(All, RoundtripTest,
                         testing::Values(Case{"gfx1100", Arch::kGfx1100},
                                         Case{"gfx1150", Arch::kGfx1150},
                                         Case{"gfx1201", Arch::kGfx1201},
                                         Case{"gfx942", Arch::kGfx942},
                                         Case{"gfx950", Arch::kGfx950}),
                         [](const auto& info) { return std::string(info.param.processor); });

}  // namespace
}  // namespace tg::amd
