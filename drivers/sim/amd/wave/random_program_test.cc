// Random words that decode, as programs: each ends, waits for ever or faults, and never harms the
// host.
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/inst.h"
#include "drivers/sim/amd/wave/launch.h"
#include "drivers/sim/amd/wave/memory.h"
#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

// Words of an instruction of `isa`; heads of each encoding come up more often than by chance.
void AppendRandom(std::mt19937& random, Isa isa, std::vector<uint32_t>* code) {
  static constexpr uint32_t kHeads[] = {0x80000000, 0xbe800000, 0x7e000000, 0x02000000, 0x7c000000,
                                        0xd5000000, 0xd1000000, 0xcc000000, 0xd3800000, 0xd8000000,
                                        0xdc000000, 0xc8000000, 0xf4000000, 0xb0000000};
  for (int tries = 0; tries < 1000; ++tries) {
    uint32_t words[4];
    for (uint32_t& word : words) word = static_cast<uint32_t>(random());
    words[0] = kHeads[random() % std::size(kHeads)] | (words[0] & 0x03ffffff);
    uint8_t bytes[16];
    std::memcpy(bytes, words, 16);
    Inst inst;
    if (DecodeFast(bytes, isa, &inst) != DecodeError::kOk) continue;
    code->insert(code->end(), words, words + inst.size / 4);
    return;
  }
}

TEST(RandomProgram, EndsOrFaults) {
  std::mt19937 random(11);
  int ended = 0, faulted = 0;
  for (int i = 0; i < 6000; ++i) {
    static constexpr Arch kArchs[] = {Arch::kGfx1100, Arch::kGfx1201, Arch::kGfx942, Arch::kGfx950};
    Arch arch = kArchs[i % 4];
    std::vector<uint32_t> code;
    for (int k = 0; k < 12; ++k) AppendRandom(random, IsaOf(arch), &code);
    code.push_back(IsRdna(IsaOf(arch)) ? 0xbfb00000 : 0xbf810000);  // s_endpgm
    Memory memory;
    uint64_t address = *memory.Allocate(code.size() * 4 + 64, "code");
    ASSERT_TRUE(memory.Write(address, code.data(), code.size() * 4).ok());
    Dispatch d;
    d.arch = arch;
    d.entry = address;
    d.grid = d.block = {64, 1, 1};
    d.grid[0] = 64;
    d.wave32 = i % 8 < 4;
    d.lds_bytes = 1024;
    d.scratch_bytes = 64;
    LaunchOptions options;
    options.threads = 1;
    options.instruction_budget = 500;
    options.strict = i % 3 == 0;
    options.count = i % 5 == 0;
    ++(Launch(d, &memory, options).ok() ? ended : faulted);
  }
  EXPECT_GT(ended, 100);
  EXPECT_GT(faulted, 100);
}

}  // namespace
}  // namespace tg::amd::sim
