// Every word that decodes encodes to the same bytes; its text fits and is not empty. Random words,
// half of them with the leading bits of some instruction. TG_ISA_WORDS sets how many for each
// instruction set.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "absl/strings/numbers.h"
#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/encode.h"
#include "codegen/isa/amd/print.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

int64_t Words() {
  const char* text = std::getenv("TG_ISA_WORDS");
  int64_t n = 0;
  return text != nullptr && absl::SimpleAtoi(text, &n) ? n : 1 << 16;
}

void RunWords(Arch arch) {
  Isa isa = IsaOf(arch);
  std::mt19937_64 random(20240501 + static_cast<uint64_t>(arch));
  int64_t decoded = 0, wrong = 0;
  for (int64_t n = Words(), i = 0; i < n; ++i) {
    uint8_t bytes[24];
    for (int j = 0; j < 3; ++j) {
      // Sparse bits reach further than dense ones: reserved fields must be zero.
      uint64_t w = random();
      if (i & 1) w &= random();
      if (i & 2) w &= random();
      std::memcpy(bytes + 8 * j, &w, 8);
    }
    if (i & 4) {
      auto forms = FormsOf(isa);
      uint64_t mask, value;
      OpcodeBits(*forms[random() % forms.size()], &mask, &value);
      uint64_t first;
      std::memcpy(&first, bytes, 8);
      first = (first & ~mask) | value;
      std::memcpy(bytes, &first, 8);
    }
    Inst inst;
    if (DecodeFast(bytes, isa, &inst) != DecodeError::kOk) continue;
    ++decoded;
    char text[kMaxText];
    ASSERT_GT(PrintTo(inst, isa, text), text);
    uint8_t out[kMaxInstBytes + 4];
    EncodeResult result = Encode(inst, isa, out, EncodeChecks::kLayout);
    if (result.ok() && result.size == inst.size && std::memcmp(out, bytes, inst.size) == 0)
      continue;
    if (++wrong > 20) continue;
    std::string hex;
    for (int j = 0; j < inst.size; ++j) {
      char digits[4];
      std::snprintf(digits, sizeof(digits), "%02x", bytes[j]);
      hex += digits;
    }
    ADD_FAILURE() << std::string(ArchName(arch)) << " " << hex << " " << ToString(inst, isa) << ": "
                  << (result.ok() ? "other bytes" : result.reason);
  }
  std::printf("%s: %lld of %lld words are instructions, %lld differ\n",
              std::string(ArchName(arch)).c_str(), static_cast<long long>(decoded),
              static_cast<long long>(Words()), static_cast<long long>(wrong));
  EXPECT_GT(decoded, Words() / 100);
  EXPECT_EQ(wrong, 0);
}

TEST(IdentityTest, Gfx1100) { RunWords(Arch::kGfx1100); }
TEST(IdentityTest, Gfx1150) { RunWords(Arch::kGfx1150); }
TEST(IdentityTest, Gfx1201) { RunWords(Arch::kGfx1201); }
TEST(IdentityTest, Gfx942) { RunWords(Arch::kGfx942); }
TEST(IdentityTest, Gfx950) { RunWords(Arch::kGfx950); }

}  // namespace
}  // namespace tg::amd
