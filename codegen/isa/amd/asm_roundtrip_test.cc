// Random operands of every form: our bytes, LLVM's text of them, which must be ours, our assembler,
// and the same bytes again.
//
// testdata/llvm22_differences.txt lists where the two part; an entry that nothing needs is an
// error. TG_ROUNDTRIP_COUNT is how many instructions of each form.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/process.h"
#include "base/runfiles.h"
#include "codegen/isa/amd/asm.h"
#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/encode.h"
#include "codegen/isa/amd/print.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

constexpr int kTries = 400;

std::string Hex(const uint8_t* bytes, size_t size) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(bytes), size));
}

// Whether text says all of the instruction. It does not say the bits that mean nothing (signs of
// integers, halves of constants), and it is refused where more scalar registers are read than the
// hardware can or where names of cache policies leave open whether an atomic returns; then the
// words are no case. Everything else must come back.
bool TextSaysAll(const std::vector<uint8_t>& bytes, Arch arch) {
  std::string text;
  EXPECT_EQ(Disassemble(bytes, arch, &text), static_cast<int>(bytes.size()));
  const Assembly back = Assemble(text + "\n", arch);
  if (!back.ok()) {
    const std::string& message = back.errors[0].message;
    EXPECT_TRUE(absl::StrContains(message, "more scalar registers") ||
                absl::StrContains(message, "an atomic with a result") ||
                absl::StrContains(message, "a number that is known here"))
        << text << ": " << message;
    return false;
  }
  if (back.text == bytes) return true;
  if (absl::StartsWith(text, "ds_swizzle")) return false;  // The same by another name.
  std::string again;
  Disassemble(back.text, arch, &again);
  EXPECT_EQ(again, text) << Hex(bytes.data(), bytes.size());
  return false;
}

// Instructions in hexadecimal: random bits where a form has fields.
std::set<std::string> RandomInstructions(Arch arch, int count, int* forms_covered) {
  const Isa isa = IsaOf(arch);
  std::set<std::string> all;
  for (const Form* form : FormsOf(isa)) {
    // By form, so that a new row changes no other's.
    std::mt19937_64 random(std::hash<std::string_view>()(form->mnemonic) + form->opcode);
    uint64_t mask[2] = {0, 0};
    uint64_t value[2] = {0, 0};
    OpcodeBits(*form, &mask[0], &value[0]);
    int found = 0;
    for (int i = 0; i < kTries * count && found < count; ++i) {
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
      // Encode refuses what hardware cannot read.
      if (!encoded.ok()) continue;
      EXPECT_EQ(std::memcmp(again, bytes, inst.size), 0) << form->mnemonic;
      if (!TextSaysAll({bytes, bytes + inst.size}, arch)) continue;
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
                                                          const char* processor, bool rdna,
                                                          bool* ended) {
  std::vector<std::string> command = {"llvm-mc-22", "-triple=amdgcn",
                                      absl::StrCat("-mcpu=", processor)};
  if (rdna) command.push_back("-mattr=+real-true16");
  command.insert(command.end(), options.begin(), options.end());
  std::multimap<std::string, std::string> texts;
  const absl::StatusOr<base::ProcessResult> run = base::RunProcess(command, {.input = input});
  if (!run.ok()) return texts;
  *ended = run->signal != 0 || run->status >= 128;
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
// Such portions are run again in halves.
std::multimap<std::string, std::string> LlvmTexts(const std::vector<std::string>& lines,
                                                  const std::vector<std::string>& options,
                                                  const char* processor, bool rdna) {
  std::multimap<std::string, std::string> texts;
  std::vector<std::pair<size_t, size_t>> portions;
  constexpr size_t kPortion = 1024;
  for (size_t i = 0; i < lines.size(); i += kPortion) {
    portions.emplace_back(i, std::min(lines.size(), i + kPortion));
  }
  while (!portions.empty()) {
    const auto [begin, end] = portions.back();
    portions.pop_back();
    std::string input;
    for (size_t i = begin; i < end; ++i) absl::StrAppend(&input, lines[i], "\n");
    bool ended = false;
    std::multimap<std::string, std::string> some =
        LlvmTextsOfOneRun(input, options, processor, rdna, &ended);
    if (ended && end - begin > 1) {
      portions.emplace_back(begin, begin + (end - begin) / 2);
      portions.emplace_back(begin + (end - begin) / 2, end);
      continue;
    }
    texts.merge(some);
  }
  return texts;
}

std::vector<uint8_t> Bytes(const std::string& hex) {
  const std::string bytes = absl::HexStringToBytes(hex);
  return {bytes.begin(), bytes.end()};
}

// White space single, no remarks.
std::string Normal(absl::string_view text) {
  std::string s;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "/*") {
      i = std::min(text.find("*/", i), text.size() - 2) + 1;
      continue;
    }
    const char c = text[i] == '\t' ? ' ' : text[i];
    if (c != ' ' || (!s.empty() && s.back() != ' ')) s += c;
  }
  while (!s.empty() && s.back() == ' ') s.pop_back();
  return s;
}

// How LLVM can do otherwise.
enum class Fault { kNotDecoded, kOtherText };
constexpr const char* kFaultNames[] = {"not-decoded", "other-text"};

struct Difference {
  std::vector<std::string> processors;
  Fault fault = Fault::kNotDecoded;
  std::string mnemonic;  // Of our text; a "*" at an end or inside stands for anything.
  std::string ours;      // What our text must have; empty: anything.
  int line = 0;
  int needed = 0;
};

std::vector<Difference> Differences() {
  std::vector<Difference> listed;
  const absl::StatusOr<std::string> path =
      base::FindRunfile("codegen/isa/amd/testdata/llvm22_differences.txt");
  const absl::StatusOr<std::string> text = base::ReadFile(*path);
  EXPECT_TRUE(text.ok()) << text.status();
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> columns = absl::StrSplit(line, '|');
    EXPECT_EQ(columns.size(), 5u) << number;
    if (columns.size() != 5) continue;
    Difference& entry = listed.emplace_back();
    entry.processors = absl::StrSplit(columns[0], ' ', absl::SkipEmpty());
    const std::string fault(absl::StripAsciiWhitespace(columns[1]));
    const auto found = std::find(std::begin(kFaultNames), std::end(kFaultNames), fault);
    EXPECT_NE(found, std::end(kFaultNames)) << number << ": " << fault;
    entry.fault = static_cast<Fault>(found - std::begin(kFaultNames));
    entry.mnemonic = std::string(absl::StripAsciiWhitespace(columns[2]));
    entry.ours = std::string(absl::StripAsciiWhitespace(columns[3]));
    entry.line = number;
  }
  return listed;
}

bool Matches(const std::string& pattern, absl::string_view mnemonic) {
  absl::string_view p = pattern;
  const bool before = absl::ConsumePrefix(&p, "*");
  const bool after = absl::ConsumeSuffix(&p, "*");
  const size_t star = p.find("*");
  if (!before && !after && star != absl::string_view::npos) {
    return absl::StartsWith(mnemonic, p.substr(0, star)) &&
           absl::EndsWith(mnemonic, p.substr(star + 1));
  }
  if (before && after) return absl::StrContains(mnemonic, p);
  if (before) return absl::EndsWith(mnemonic, p);
  return after ? absl::StartsWith(mnemonic, p) : mnemonic == p;
}

bool Known(std::vector<Difference>* listed, const std::string& processor, Fault fault,
           const std::string& text) {
  const absl::string_view mnemonic = absl::string_view(text).substr(0, text.find(' '));
  for (Difference& entry : *listed) {
    if (entry.fault != fault || !Matches(entry.mnemonic, mnemonic)) continue;
    if (!entry.ours.empty() && !absl::StrContains(text, entry.ours)) continue;
    if (std::find(entry.processors.begin(), entry.processors.end(), processor) ==
        entry.processors.end()) {
      continue;
    }
    ++entry.needed;
    return true;
  }
  return false;
}

struct Case {
  const char* processor;
  Arch arch;
};

class RoundtripTest : public testing::TestWithParam<Case> {};

TEST_P(RoundtripTest, TextIsLlvmsAndGivesTheBytes) {
  if (!base::RunProcess({"llvm-mc-22", "--version"}).ok()) {
    GTEST_SKIP() << "llvm-mc-22 is not installed";
  }
  const std::string processor = GetParam().processor;
  const Arch arch = GetParam().arch;
  const Isa isa = IsaOf(arch);
  int count = 3;
  const char* const wanted = std::getenv("TG_ROUNDTRIP_COUNT");
  if (wanted != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(wanted, &count));
  }
  int forms = 0;
  const std::set<std::string> instructions = RandomInstructions(arch, count, &forms);
  std::vector<std::string> words;
  for (const std::string& hex : instructions) {
    std::string& line = words.emplace_back();
    for (size_t i = 0; i < hex.size(); i += 2) absl::StrAppend(&line, "0x", hex.substr(i, 2), " ");
  }
  const bool rdna = IsRdna(isa);
  auto printed = LlvmTexts(words, {"--disassemble", "-show-encoding"}, processor.c_str(), rdna);
  // A word that llvm-mc stumbles over takes its neighbours along: alone, those decode.
  size_t at = 0;
  for (const std::string& hex : instructions) {
    const std::string& line = words[at++];
    if (printed.count(hex) != 0) continue;
    printed.merge(LlvmTexts({line}, {"--disassemble", "-show-encoding"}, processor.c_str(), rdna));
  }
  std::vector<std::string> lines;
  for (const auto& [hex, text] : printed) lines.push_back(text);
  const auto again = LlvmTexts(lines, {"-show-encoding"}, processor.c_str(), rdna);

  std::vector<Difference> listed = Differences();
  std::array<int, 2> faults = {};
  int same = 0;
  int not_read = 0;
  std::map<std::string, int> unknown;  // Shown per mnemonic.
  const auto fault = [&](Fault f, const std::string& ours, const std::string& what) {
    ++faults[static_cast<size_t>(f)];
    if (Known(&listed, processor, f, ours)) return;
    const std::string key =
        absl::StrCat(kFaultNames[static_cast<int>(f)], " ", ours.substr(0, ours.find(' ')));
    if (++unknown[key] > 1 || unknown.size() > 2000) return;
    ADD_FAILURE() << processor << " " << key << ": " << ours << "\n  " << what;
  };
  for (const std::string& hex : instructions) {
    const std::vector<uint8_t> bytes = Bytes(hex);
    std::string ours;
    EXPECT_EQ(Disassemble(bytes, arch, &ours), static_cast<int>(bytes.size()));
    const std::string normal = Normal(ours);
    const auto llvm = printed.find(hex);
    if (llvm == printed.end()) {
      fault(Fault::kNotDecoded, normal, hex);
      continue;
    }
    if (Normal(llvm->second) != normal) {
      fault(Fault::kOtherText, normal, llvm->second + "\n  " + hex);
      continue;
    }
    ++same;
    const Assembly theirs = Assemble(llvm->second + "\n", arch);
    EXPECT_TRUE(theirs.ok() && theirs.text == bytes) << llvm->second << "\n  expected " << hex;
    // What LLVM makes of its own text is its affair: it refuses some, and gives other bytes for
    // some.
    if (again.count(hex) == 0) ++not_read;
  }
  std::printf(
      "%s: %d forms, %zu instructions: %d texts are LLVM's; of the others LLVM decodes %d "
      "not, prints %d otherwise; it does not read %d of its own\n",
      processor.c_str(), forms, instructions.size(), same, faults[0], faults[1], not_read);
  for (const Difference& entry : listed) {
    const bool here = std::find(entry.processors.begin(), entry.processors.end(), processor) !=
                      entry.processors.end();
    EXPECT_TRUE(!here || entry.needed > 0)
        << "llvm22_differences.txt:" << entry.line << ": nothing on " << processor << " needs this";
  }
  EXPECT_GT(same, 1000);
}

// An entry must not excuse what is right: with the mnemonic's fault made up, it is unknown.
TEST(LlvmDifferencesTest, EntriesAreNarrow) {
  std::vector<Difference> listed = Differences();
  ASSERT_FALSE(listed.empty());
  EXPECT_FALSE(Known(&listed, "gfx1100", Fault::kOtherText, "v_add_f32_e32 v0, v1, v2"));
  EXPECT_FALSE(Known(&listed, "gfx942", Fault::kNotDecoded, "s_mov_b32 s0, s1"));
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
