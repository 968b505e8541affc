// Vectors of testdata/vectors.tsv, and words that are no instruction with what the error says.
#include "codegen/isa/amd/decode.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/runfiles.h"
#include "codegen/isa/amd/encode.h"
#include "codegen/isa/amd/print.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

std::vector<uint8_t> Bytes(const std::string& hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16)));
  }
  return bytes;
}

TEST(DecodeTest, Vectors) {
  absl::StatusOr<std::string> path = base::FindRunfile("codegen/isa/amd/testdata/vectors.tsv");
  ASSERT_TRUE(path.ok()) << path.status();
  std::ifstream in(*path);
  int count = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> columns = absl::StrSplit(line, '\t');
    ASSERT_EQ(columns.size(), 3u) << line;
    std::optional<Arch> arch = FindArch(columns[0]);
    ASSERT_TRUE(arch.has_value()) << line;
    std::vector<uint8_t> bytes = Bytes(columns[1]);
    absl::StatusOr<Inst> inst = Decode(bytes, *arch);
    if (!inst.ok()) {
      ADD_FAILURE() << line << "\n" << inst.status();
      continue;
    }
    EXPECT_EQ(ToString(*inst, IsaOf(*arch)), columns[2]) << line;
    EXPECT_EQ(inst->size, bytes.size()) << line;
    std::vector<uint8_t> out;
    EncodeResult result = Encode(*inst, *arch, &out);
    EXPECT_TRUE(result.ok()) << line << "\n" << result.ToStatus(*inst);
    EXPECT_EQ(out, bytes) << line;
    // Every cut is an error, not a read behind the end.
    for (size_t n = 0; n < bytes.size(); ++n) {
      Inst cut;
      DecodeError error = DecodeFast(absl::MakeConstSpan(bytes).first(n), IsaOf(*arch), &cut);
      EXPECT_TRUE(error != DecodeError::kOk || cut.size < bytes.size()) << line;
    }
    ++count;
  }
  EXPECT_GT(count, 80);
}

struct Bad {
  Arch arch;
  const char* bytes;
  const char* message;
};

TEST(DecodeTest, NoInstruction) {
  const Bad kBad[] = {
      // Other families' words are named.
      {Arch::kGfx942, "000510f400000000", "decodes as s_load_b512 on gfx1100"},
      {Arch::kGfx1100, "7c0005ee0000000000000000", "decodes as global_load_b32 on gfx1201"},
      // SOP1, SOPP: no such opcode, a pair at an odd register.
      {Arch::kGfx1100, "00ff80be", "no instruction has this encoding"},
      {Arch::kGfx1100, "0001ffbf", "no instruction has this encoding"},
      {Arch::kGfx1100, "010180be", "register that cannot stand there"},
      // VOP1: source code 209, and the literal cut off.
      {Arch::kGfx1100, "d102007e", "register that cannot stand there"},
      {Arch::kGfx1100, "ff02007e", "the bytes end inside the instruction"},
      // VOP3: bits that nothing reads.
      {Arch::kGfx1100, "000003d5000000e0", "reserved bits"},
      {Arch::kGfx942, "00c001d100000000", "reserved bits"},
      // DPP: a control without meaning; SDWA: selection 7.
      {Arch::kGfx1100, "fa02007e000001ff", "reserved bits"},
      {Arch::kGfx942, "f902007e00070600", "reserved bits"},
      // Odd tuples on CDNA.
      {Arch::kGfx942, "00005cdc0100000000", "register that cannot stand there"},
      // VOPD: both sources of v0 and v4 are in one bank.
      {Arch::kGfx1100, "0003c6c8040b0200", "reserved bits"},
      {Arch::kGfx1100, "00", "needs at least 4 bytes"},
      {Arch::kGfx1100, "", "needs at least 4 bytes"},
  };
  for (const Bad& bad : kBad) {
    absl::StatusOr<Inst> inst = Decode(Bytes(bad.bytes), bad.arch);
    ASSERT_FALSE(inst.ok()) << bad.bytes << ": " << ToString(*inst, IsaOf(bad.arch));
    EXPECT_TRUE(absl::StrContains(inst.status().message(), bad.message))
        << bad.bytes << ": " << inst.status();
  }
}

TEST(DecodeTest, DisassembleNeverStops) {
  std::vector<uint8_t> bytes = {0xff, 0xff, 0xff, 0xff, 0x12};
  std::string text;
  EXPECT_EQ(Disassemble(bytes, Arch::kGfx1100, &text), 4);
  EXPECT_TRUE(absl::StartsWith(text, ".long 0xffffffff // ")) << text;
  text.clear();
  EXPECT_EQ(Disassemble(absl::MakeConstSpan(bytes).subspan(4), Arch::kGfx1100, &text), 1);
  EXPECT_EQ(text, ".byte 0x12");
}

}  // namespace
}  // namespace tg::amd
