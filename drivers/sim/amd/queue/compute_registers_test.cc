#include "drivers/sim/amd/queue/compute_registers.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

using Registers = std::vector<std::pair<uint32_t, uint32_t>>;

class ComputeRegistersTest : public testing::Test {
 protected:
  absl::StatusOr<Dispatch> Make(Arch arch, const Registers& registers, uint32_t initiator,
                                std::array<uint32_t, 3> dim = {2, 3, 4}) {
    Gpu gpu(arch, &memory_, &clock_);
    for (int i = 0; i < 3; ++i) gpu.registers().Write(kComputeNumThreadX + i, 8);
    for (auto [index, value] : registers) gpu.registers().Write(index, value);
    return DispatchOfRegisters(&gpu, dim.data(), initiator);
  }

  Memory memory_;
  GpuClock clock_;
};

TEST_F(ComputeRegistersTest, TakesRegistersApart) {
  auto d = Make(Arch::kGfx1100,
                {{kComputePgmLo, 0x33000017},
                 {kComputePgmLo + 1, 0x7f},
                 {kComputePgmRsrc1, 0x600f0041},
                 {kComputePgmRsrc2, 2 << 1 | 3 << 15},
                 {kComputePgmRsrc3Rdna, 5},
                 {kComputePgmRsrc3Cdna, 6},
                 {kComputeUserData0, 0x11},
                 {kComputeUserData0 + 1, 0x22},
                 {kComputeUserData0 + 2, 0x33}},
                kComputeShaderEn | kForceStartAt000 | kCsW32En);
  ASSERT_TRUE(d.ok()) << d.status();
  EXPECT_EQ(d->entry, 0x7f3300001700u);
  EXPECT_EQ(d->rsrc1, 0x600f0041u);
  EXPECT_EQ(d->rsrc3, 5u);
  EXPECT_TRUE(d->wave32);
  EXPECT_EQ(d->lds_bytes, 3 * 512u);
  EXPECT_EQ(d->user_sgprs[1], 0x22u);
  EXPECT_EQ(d->user_sgprs[2], 0u) << "USER_SGPR is 2";
  EXPECT_EQ(d->grid, (std::array<uint32_t, 3>{16, 24, 32}));
  EXPECT_EQ(d->block, (std::array<uint32_t, 3>{8, 8, 8}));
  EXPECT_EQ(d->scratch_bytes, 0u);
  d = Make(Arch::kGfx942, {{kComputePgmRsrc3Rdna, 5}, {kComputePgmRsrc3Cdna, 6}},
           kComputeShaderEn | kCsW32En | kUseThreadDimensions);
  ASSERT_TRUE(d.ok()) << d.status();
  EXPECT_EQ(d->rsrc3, 6u);
  EXPECT_FALSE(d->wave32) << "CDNA has waves of 64";
  EXPECT_EQ(d->grid, (std::array<uint32_t, 3>{2, 3, 4}));
}

// WAVESIZE counts 256 dwords of a wave, since gfx11 64.
TEST_F(ComputeRegistersTest, Scratch) {
  std::vector<uint8_t> host(1 << 20);
  ASSERT_TRUE(memory_.Map(0x7f0000000000, host.size(), host.data(), "scratch").ok());
  Registers r = {{kComputePgmRsrc2, 1},
                 {kComputeTmpringSize, 32u << 12 | 32},
                 {kComputeDispatchScratchBaseLo, 0},
                 {kComputeDispatchScratchBaseLo + 1, 0x7f}};
  auto d = Make(Arch::kGfx1100, r, kComputeShaderEn | kCsW32En);
  ASSERT_TRUE(d.ok()) << d.status();
  EXPECT_EQ(d->scratch_bytes, 256u);
  d = Make(Arch::kGfx1201, r, kComputeShaderEn);
  ASSERT_TRUE(d.ok()) << d.status();
  EXPECT_EQ(d->scratch_bytes, 128u);
  d = Make(Arch::kGfx950, r, kComputeShaderEn);
  ASSERT_TRUE(d.ok()) << d.status();
  EXPECT_EQ(d->scratch_bytes, 512u);
  r[1].second = 32u << 12 | 2000;  // More waves than the memory has room for.
  EXPECT_EQ(Make(Arch::kGfx950, r, kComputeShaderEn).status().code(), absl::StatusCode::kAborted);
  r[1].second = 0;
  EXPECT_EQ(Make(Arch::kGfx950, r, kComputeShaderEn).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ComputeRegistersTest, Errors) {
  struct Case {
    Registers registers;
    uint32_t initiator;
    const char* message;
  };
  const Case cases[] = {
      {{}, 0, "COMPUTE_SHADER_EN"},
      {{}, kComputeShaderEn | kRestore, "RESTORE is not modelled"},
      {{{kComputeStartX + 1, 1}}, kComputeShaderEn, "COMPUTE_START other than 0"},
      {{{kComputeNumThreadX + 2, 0}}, kComputeShaderEn, "COMPUTE_NUM_THREAD_Z is 0"},
      {{{kComputeNumThreadX, 4 | 5 << 16}}, kComputeShaderEn | kPartialTgEn, "larger than a full"},
      {{{kComputePgmRsrc2, 17 << 1}}, kComputeShaderEn, "USER_SGPR is 17"},
  };
  for (const Case& c : cases) {
    absl::Status status = Make(Arch::kGfx1100, c.registers, c.initiator).status();
    EXPECT_NE(std::string(status.message()).find(c.message), std::string::npos) << status;
  }
  EXPECT_FALSE(Make(Arch::kGfx1100, {}, kComputeShaderEn, {0xffffffff, 1, 1}).ok());
}

}  // namespace
}  // namespace tg::amd::sim
