#include "drivers/cpu/cpu_device.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/file.h"
#include "drivers/runtime/buffer.h"
#include "gtest/gtest.h"

namespace tg::drivers {
namespace {

std::string ReadObject(const std::string& name) {
  absl::StatusOr<std::string> bytes = base::ReadFile("drivers/cpu/" + name + ".o");
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *bytes : "";
}

class CpuDeviceTest : public testing::Test {
 protected:
  std::unique_ptr<Program> Load(const std::string& name, int thread_count) {
    absl::StatusOr<std::unique_ptr<Program>> program =
        device_->LoadProgram(name, object_, thread_count);
    EXPECT_TRUE(program.ok()) << program.status();
    return program.ok() ? *std::move(program) : nullptr;
  }

  std::string object_ = ReadObject("kernels");
  std::shared_ptr<Device> device_ = MakeCpuDevice(CpuOptions());
};

TEST_F(CpuDeviceTest, RunsOnBuffersWithAnyNumberOfThreads) {
  constexpr int64_t kCount = 10007;
  const int64_t bytes = kCount * sizeof(float);
  BufferRef a = Buffer::Create(device_, bytes);
  BufferRef b = Buffer::Create(device_, bytes);
  ASSERT_TRUE(a->Allocate().ok() && b->Allocate().ok());
  float* const a_data = reinterpret_cast<float*>(a->host_pointer());
  float* const b_data = reinterpret_cast<float*>(b->host_pointer());
  std::iota(a_data, a_data + kCount, 0.0f);
  std::iota(b_data, b_data + kCount, 0.5f);
  for (const int threads : {1, 2, 3, 8, 64}) {
    BufferRef out = Buffer::Create(device_, bytes);
    ASSERT_TRUE(out->Allocate().ok());
    const std::unique_ptr<Program> add = Load("Add", threads);
    double seconds = -1;
    void* const buffers[] = {out->device_pointer(), a->device_pointer(), b->device_pointer()};
    ASSERT_TRUE(add->Run(buffers, {kCount, threads}, &seconds).ok());
    EXPECT_GE(seconds, 0);
    EXPECT_LT(seconds, 100);
    const float* const data = reinterpret_cast<const float*>(out->host_pointer());
    for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(data[i], 2 * i + 0.5f) << threads << " " << i;
  }
}

TEST_F(CpuDeviceTest, RunsOnceForEachCore) {
  for (const int threads : {1, 2, 5, 33}) {
    const std::unique_ptr<Program> count = Load("Count", threads);
    std::vector<int> runs(threads + 1);
    void* const buffers[] = {runs.data()};
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(count->Run(buffers, {1}).ok());
    std::vector<int> expected(threads + 1, 100);
    expected.back() = 0;
    EXPECT_EQ(runs, expected);
  }
}

TEST_F(CpuDeviceTest, ThreadsMayRunOneProgram) {
  const std::unique_ptr<Program> count = Load("Count", 4);
  std::vector<std::thread> threads;
  std::vector<std::vector<int>> runs(4, std::vector<int>(4));
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      void* const buffers[] = {runs[t].data()};
      for (int i = 0; i < 100; ++i) EXPECT_TRUE(count->Run(buffers, {t}).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) EXPECT_EQ(runs[t], std::vector<int>(4, 100 * t));
}

TEST_F(CpuDeviceTest, MayCallTheMathLibrary) {
  const std::unique_ptr<Program> program = Load("CallsOut", 1);
  double out[3] = {0, 3, 0};
  void* const buffers[] = {out};
  ASSERT_TRUE(program->Run(buffers, {4, sizeof(double)}).ok());
  EXPECT_EQ(out[0], std::sin(1.0f));
  EXPECT_EQ(out[1], 81);
  EXPECT_EQ(out[2], 81);
}

TEST_F(CpuDeviceTest, SaysWhyItDoesNotLoad) {
  const absl::Status forbidden =
      device_->LoadProgram("Kernel", ReadObject("forbidden"), 1).status();
  EXPECT_TRUE(absl::IsNotFound(forbidden));
  EXPECT_TRUE(absl::StrContains(forbidden.message(), "program Kernel: ")) << forbidden;
  EXPECT_TRUE(absl::StrContains(forbidden.message(), "'system'")) << forbidden;
  const absl::Status missing = device_->LoadProgram("Sub", object_, 1).status();
  EXPECT_TRUE(absl::StrContains(missing.message(), "Add, CallsOut, Count")) << missing;
  EXPECT_TRUE(absl::IsInvalidArgument(device_->LoadProgram("Add", object_, 0).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(device_->LoadProgram("Add", "nonsense", 1).status()));
}

TEST_F(CpuDeviceTest, WithoutProgramsItIsMemoryOnly) {
  CpuOptions options;
  options.name = "INTERP";
  options.run_programs = false;
  const std::shared_ptr<Device> device = MakeCpuDevice(options);
  EXPECT_FALSE(device->capabilities().runs_programs);
  EXPECT_TRUE(device->capabilities().host_visible);
  EXPECT_TRUE(absl::IsUnimplemented(device->LoadProgram("Add", object_, 1).status()));
}

TEST(CpuFunctionsTest, AreThoseOfTheMathLibraryOnly) {
  for (const char* name : {"memcpy", "memset", "memmove", "expf", "exp2f", "log2", "sincosf",
                           "fmaf", "ldexpf", "roundevenf"}) {
    EXPECT_NE(FindCpuFunction(name), nullptr) << name;
  }
  for (const char* name : {"", "malloc", "system", "dlopen", "printf", "expff"}) {
    EXPECT_EQ(FindCpuFunction(name), nullptr) << name;
  }
  const auto fmod = reinterpret_cast<double (*)(double, double)>(FindCpuFunction("fmod"));
  EXPECT_EQ(fmod(7.5, 2), 1.5);
  const auto sqrtf = reinterpret_cast<float (*)(float)>(FindCpuFunction("sqrtf"));
  EXPECT_EQ(sqrtf(9), 3);
}

uint16_t Truncate(float value) {
  const auto f = reinterpret_cast<float (*)(float)>(FindCpuFunction("__truncsfbf2"));
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(f(value)));
}

uint16_t Truncate(double value) {
  const auto f = reinterpret_cast<float (*)(double)>(FindCpuFunction("__truncdfbf2"));
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(f(value)));
}

TEST(CpuFunctionsTest, BfloatRoundsToNearestEven) {
  EXPECT_EQ(Truncate(1.0f), 0x3f80);
  EXPECT_EQ(Truncate(-2.0f), 0xc000);
  EXPECT_EQ(Truncate(1.0f + 0x1p-8f), 0x3f80) << "a tie, to even";
  EXPECT_EQ(Truncate(1.0f + 0x3p-8f), 0x3f82) << "a tie, to even";
  EXPECT_EQ(Truncate(1.0f + 0x1.01p-8f), 0x3f81);
  EXPECT_EQ(Truncate(3.4e38f), 0x7f80) << "rounds to infinity";
  EXPECT_EQ(Truncate(std::nanf("")) & 0x7fc0, 0x7fc0);
  EXPECT_EQ(Truncate(INFINITY), 0x7f80);
  // Just above a tie by less than a float can hold: rounding twice would give 0x3f80.
  EXPECT_EQ(Truncate(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(Truncate(1.0 + 0x1p-8), 0x3f80);
  EXPECT_EQ(Truncate(1.0 + 0x3p-8 - 0x1p-40), 0x3f81);
  EXPECT_EQ(Truncate(-1.0 - 0x1p-8 - 0x1p-40), 0xbf81);
  EXPECT_EQ(Truncate(1e300), 0x7f80);
  EXPECT_EQ(Truncate(static_cast<double>(NAN)) & 0x7fc0, 0x7fc0);
}

}  // namespace
}  // namespace tg::drivers
