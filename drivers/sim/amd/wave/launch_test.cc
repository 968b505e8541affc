#include "drivers/sim/amd/wave/launch.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/runfiles.h"
#include "codegen/object/amd_code_object.h"
#include "drivers/sim/amd/wave/kernel.h"
#include "drivers/sim/amd/wave/memory.h"
#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

class LaunchTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto path = base::FindRunfile(std::string("testdata/amd_kernels/kernels_") + GetParam() + ".o");
    ASSERT_TRUE(path.ok()) << path.status();
    auto file = base::ReadFile(*path);
    ASSERT_TRUE(file.ok());
    bytes_ = *file;
  }

  template <class T>
  uint64_t Buffer(const std::vector<T>& values, const char* name) {
    uint64_t address = *memory_.Allocate(values.size() * sizeof(T), name);
    EXPECT_TRUE(memory_.Write(address, values.data(), values.size() * sizeof(T)).ok());
    return address;
  }
  template <class T>
  std::vector<T> Get(uint64_t address, size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(memory_.Read(address, values.data(), count * sizeof(T)).ok());
    return values;
  }
  template <class T>
  void Arg(T value) {
    args_.explicit_bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  absl::StatusOr<LaunchStats> Run(const char* kernel, const LaunchOptions& options) {
    auto object = object::AmdCodeObject::Read(bytes_);
    if (!object.ok()) return object.status();
    auto image = LoadImage(*object, &memory_);
    if (!image.ok()) return image.status();
    auto dispatch = MakeDispatch(*object, kernel, *image, args_, &memory_);
    if (!dispatch.ok()) return dispatch.status();
    return Launch(*dispatch, &memory_, options);
  }

  std::string bytes_;
  Memory memory_;
  KernelArguments args_;
};

TEST_P(LaunchTest, AddsVectorsWithAPartialGroup) {
  std::vector<float> a(100), b(100);
  for (int i = 0; i < 100; ++i) a[i] = static_cast<float>(i), b[i] = 0.5f;
  uint64_t c = Buffer(std::vector<float>(100), "c");
  Arg(c);
  Arg(Buffer(a, "a"));
  Arg(Buffer(b, "b"));
  args_.grid = {100, 1, 1};
  args_.block = {64, 1, 1};
  auto stats = Run("add", {.strict = true});
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->workgroups, 2u);
  std::vector<float> got = Get<float>(c, 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(got[i], a[i] + 0.5f);
}

TEST_P(LaunchTest, MultipliesMatricesThroughLds) {
  constexpr int kN = 32;
  std::vector<float> a(kN * kN), b(kN * kN);
  for (int i = 0; i < kN * kN; ++i)
    a[i] = static_cast<float>(i % 7), b[i] = static_cast<float>(i % 5 - 2);
  uint64_t c = Buffer(std::vector<float>(kN * kN), "c");
  Arg(c);
  Arg(Buffer(a, "a"));
  Arg(Buffer(b, "b"));
  Arg(kN);
  args_.grid = {kN, kN, 1};
  args_.block = {16, 16, 1};
  auto stats = Run("mm", {.strict = true});
  ASSERT_TRUE(stats.ok()) << stats.status();
  std::vector<float> got = Get<float>(c, kN * kN);
  for (int y = 0; y < kN; ++y) {
    for (int x = 0; x < kN; ++x) {
      float sum = 0;
      for (int k = 0; k < kN; ++k) sum += a[y * kN + k] * b[k * kN + x];
      ASSERT_EQ(got[y * kN + x], sum);
    }
  }
}

TEST_P(LaunchTest, CountsWithAtomicsFromManyThreads) {
  std::vector<uint32_t> a(4096);
  for (uint32_t i = 0; i < 4096; ++i) a[i] = i * i;
  uint64_t h = Buffer(std::vector<uint32_t>(16), "histogram");
  Arg(h);
  Arg(Buffer(a, "a"));
  args_.grid = {4096, 1, 1};
  args_.block = {128, 1, 1};
  auto stats = Run("hist", {.threads = 4});
  ASSERT_TRUE(stats.ok()) << stats.status();
  std::vector<uint32_t> want(16), got = Get<uint32_t>(h, 16);
  for (uint32_t x : a) ++want[x & 15];
  EXPECT_EQ(got, want);
}

TEST_P(LaunchTest, NamesTheNearestAllocationOfAStoreOutOfRange) {
  Arg(Buffer(std::vector<float>(60), "c"));
  Arg(Buffer(std::vector<float>(64), "a"));
  Arg(Buffer(std::vector<float>(64), "b"));
  args_.grid = {64, 1, 1};
  args_.block = {64, 1, 1};
  absl::Status status = Run("add", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_NE(std::string(status.message()).find("0 bytes behind the end of 'c'"), std::string::npos)
      << status;
}

TEST_P(LaunchTest, AHangIsAnError) {
  Arg(Buffer(std::vector<uint32_t>(1), "flag"));
  args_.grid = {64, 1, 1};
  args_.block = {64, 1, 1};
  absl::Status status = Run("spin", {.instruction_budget = 10000}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_NE(std::string(status.message()).find("wave 0: running at pc"), std::string::npos)
      << status;
}

INSTANTIATE_TEST_SUITE_P(All, LaunchTest,
                         testing::Values("gfx1100", "gfx1201", "gfx942", "gfx950"));

}  // namespace
}  // namespace tg::amd::sim
