// Strict mode finds what is planted into compiled kernels, and nothing in the kernels as they are.
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "base/file.h"
#include "base/runfiles.h"
#include "codegen/isa/amd/decode.h"
#include "codegen/object/amd_code_object.h"
#include "drivers/sim/amd/wave/kernel.h"
#include "drivers/sim/amd/wave/launch.h"
#include "drivers/sim/amd/wave/memory.h"
#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

constexpr uint32_t kNop = 0xbf800000;  // s_nop 0, on all processors.

class StrictTest : public testing::TestWithParam<const char*> {
 protected:
  // Runs a kernel on three buffers of floats. Instructions from its entry to s_endpgm for which
  // `planted` holds become s_nop.
  absl::StatusOr<LaunchStats> Run(const char* kernel,
                                  const std::function<bool(std::string_view)>& planted,
                                  std::array<uint32_t, 3> block, size_t result_floats = 1024) {
    auto path = base::FindRunfile(std::string("testdata/amd_kernels/kernels_") + GetParam() + ".o");
    if (!path.ok()) return path.status();
    auto file = base::ReadFile(*path);
    if (!file.ok()) return file.status();
    auto object = object::AmdCodeObject::Read(*file);
    if (!object.ok()) return object.status();
    Memory memory;
    auto image = LoadImage(*object, &memory);
    if (!image.ok()) return image.status();
    KernelArguments args;
    for (size_t n : {result_floats, size_t{1024}, size_t{1024}}) {
      std::vector<float> values(n, 1);
      uint64_t address = *memory.Allocate(n * sizeof(float), "buffer");
      absl::Status written = memory.Write(address, values.data(), n * sizeof(float));
      if (!written.ok()) return written;
      args.explicit_bytes.append(reinterpret_cast<const char*>(&address), sizeof(address));
    }
    int n = 32;
    if (std::string_view(kernel) == "mm") {
      args.explicit_bytes.append(reinterpret_cast<const char*>(&n), sizeof(n));
    }
    args.grid = {block[0] * 2, block[1] * (block[1] > 1 ? 2 : 1), 1};
    args.block = block;
    auto dispatch = MakeDispatch(*object, kernel, *image, args, &memory);
    if (!dispatch.ok()) return dispatch.status();
    Plant(dispatch->arch, dispatch->entry, memory, planted);
    return Launch(*dispatch, &memory, {.strict = true, .threads = 1});
  }

  void Plant(Arch arch, uint64_t pc, const Memory& memory,
             const std::function<bool(std::string_view)>& planted) {
    const Allocation* code = memory.Find(pc, 4);
    ASSERT_NE(code, nullptr);
    for (uint64_t at = pc - code->address; at + 4 <= code->size;) {
      auto inst = Decode({code->host + at, static_cast<size_t>(code->size - at)}, arch);
      ASSERT_TRUE(inst.ok()) << inst.status();
      std::string_view name = inst->form->name;
      for (int i = 0; planted(name) && i < inst->size; i += 4) {
        std::memcpy(code->host + at + static_cast<uint64_t>(i), &kNop, 4);
      }
      at += inst->size;
      if (name == "s_endpgm") break;
    }
  }
  static bool Nothing(std::string_view) { return false; }
  static bool IsWait(std::string_view name) { return name.find("s_wait") == 0; }

  void ExpectFault(const absl::StatusOr<LaunchStats>& result, const std::string& text) {
    EXPECT_FALSE(result.ok()) << "no fault";
    EXPECT_TRUE(absl::StrContains(std::string(result.status().message()), text)) << result.status();
  }
};

TEST_P(StrictTest, FindsNothingInCompiledKernels) {
  EXPECT_EQ(Run("add", Nothing, {64, 1, 1}).status(), absl::OkStatus());
  EXPECT_EQ(Run("mm", Nothing, {16, 16, 1}).status(), absl::OkStatus());
}

TEST_P(StrictTest, FindsARemovedWait) {
  ExpectFault(Run("add", IsWait, {64, 1, 1}), "missing wait: ");
  ExpectFault(Run("mm", IsWait, {16, 16, 1}), "missing wait: ");
}

TEST_P(StrictTest, FindsARegisterThatNothingWrites) {
  // What adds an index to a buffer's address.
  auto additions = [](std::string_view name) {
    return name.find("v_add_co") == 0 || name.find("v_lshl_add_u64") == 0;
  };
  ExpectFault(Run("add", additions, {64, 1, 1}), " is read and was never written");
}

TEST_P(StrictTest, FindsAStoreBehindABuffer) {
  ExpectFault(Run("add", Nothing, {64, 1, 1}, /*result_floats=*/100), "write of 4 bytes");
}

TEST_P(StrictTest, FindsAMissingBarrier) {
  auto barriers = [](std::string_view name) { return name.find("s_barrier") == 0; };
  ExpectFault(Run("mm", barriers, {16, 16, 1}), "no barrier is between");
}

// CDNA: a scalar register that a vector instruction writes needs five wait states before a vector
// memory instruction reads it.
TEST(StrictHazards, AreFoundOnTheWayThatIsTaken) {
  constexpr uint32_t kReadFirstLane = 0x7e080500;         // v_readfirstlane_b32 s4, v0
  constexpr uint32_t kLoad[] = {0xdc508000, 0x01040000};  // global_load_dword v1, v0, s[4:5]
  constexpr uint32_t kNop4 = 0xbf800004, kEnd = 0xbf810000;
  for (bool waits : {false, true}) {
    Memory memory;
    uint64_t data = *memory.Allocate(4096, "data");
    std::vector<uint32_t> code = {kReadFirstLane, waits ? kNop4 : kNop, kLoad[0], kLoad[1], kEnd};
    Dispatch d;
    d.arch = Arch::kGfx942;
    d.wave32 = false;
    d.entry = *memory.Allocate(code.size() * 4, "code");
    ASSERT_TRUE(memory.Write(d.entry, code.data(), code.size() * 4).ok());
    d.block = {1, 1, 1};
    d.rsrc1 = 0xf0 << 12;
    d.rsrc2 = 6 << 1;  // Six user registers.
    d.user_sgprs[4] = static_cast<uint32_t>(data);
    d.user_sgprs[5] = static_cast<uint32_t>(data >> 32);
    absl::Status status = Launch(d, &memory, {.strict = true, .threads = 1}).status();
    bool hazard = absl::StrContains(std::string(status.message()), "hazard ");
    EXPECT_EQ(hazard, !waits) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(All, StrictTest,
                         testing::Values("gfx1100", "gfx1201", "gfx942", "gfx950"));

}  // namespace
}  // namespace tg::amd::sim
