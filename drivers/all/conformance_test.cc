// The promises of drivers/runtime (allocator.h, device.h, buffer.h), checked on each device by the
// same tests. A new device is a new row of kSubjects.
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "drivers/all/devices.h"
#include "drivers/runtime/buffer.h"
#include "drivers/runtime/counters.h"
#include "gtest/gtest.h"

namespace tg::drivers {
namespace {

struct Subject {
  const char* label;
  const char* name;  // TMP stands for the test's folder.
  bool keeps_data;   // What is copied in can be copied out.
  bool one_memory;   // Every allocation is the same bytes, as of a file.
};

constexpr Subject kSubjects[] = {
    {"Cpu", "CPU", true, false},           {"SecondCpu", "CPU:1", true, false},
    {"Interp", "INTERP", true, false},     {"Null", "NULL", false, false},
    {"Disk", "DISK:TMP/file", true, true},
};

using Bytes = std::vector<std::byte>;

Bytes RandomBytes(int64_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

class ConformanceTest : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    std::string name = GetParam().name;
    const size_t tmp = name.find("TMP");
    if (tmp != std::string::npos) {
      const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
      std::string unique = info->name();
      for (char& c : unique) {
        if (c == '/') c = '_';
      }
      name.replace(tmp, 3, std::getenv("TEST_TMPDIR"));
      name += unique;
    }
    absl::StatusOr<std::shared_ptr<Device>> device = Devices().Open(name);
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *device;
  }

  bool keeps_data() const { return GetParam().keeps_data; }

  BufferRef Make(const Bytes& bytes) {
    BufferRef buffer = Buffer::Create(device_, bytes.size());
    const absl::Status status = buffer->CopyIn(bytes);
    EXPECT_TRUE(status.ok()) << status;
    return buffer;
  }

  // Checks the contents, where the device keeps them.
  void ExpectContents(const Buffer& buffer, const Bytes& expected) {
    if (!keeps_data()) return;
    Bytes bytes(buffer.size());
    const absl::Status status = buffer.CopyOut(absl::MakeSpan(bytes));
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(bytes == expected) << buffer.ToString();
  }

  std::shared_ptr<Device> device_;
};

constexpr int64_t kSizes[] = {1, 7, 64, 4096, 100001, (2 << 20) + 5, 9 << 20};

TEST_P(ConformanceTest, BytesComeBack) {
  for (const int64_t size : kSizes) {
    const Bytes bytes = RandomBytes(size, size);
    BufferRef buffer = Make(bytes);
    ExpectContents(*buffer, bytes);
    EXPECT_TRUE(device_->Synchronize().ok());
    if (keeps_data()) {
      Bytes wrong = bytes;
      wrong[size / 2] ^= std::byte{1};
      Bytes out(size);
      ASSERT_TRUE(buffer->CopyOut(absl::MakeSpan(out)).ok());
      EXPECT_FALSE(out == wrong) << "the comparison notices one bit";
    }
  }
}

TEST_P(ConformanceTest, CopyingOutIsRefusedOrTrue) {
  BufferRef buffer = Make(RandomBytes(16, 1));
  Bytes out(16);
  EXPECT_EQ(buffer->CopyOut(absl::MakeSpan(out)).ok(), keeps_data());
}

TEST_P(ConformanceTest, ViewsAreWindows) {
  Bytes bytes = RandomBytes(10000, 2);
  BufferRef base = Make(bytes);
  BufferRef outer = *Buffer::View(base, 5000, 1001);
  BufferRef inner = *Buffer::View(outer, 77, 4000);
  ExpectContents(*inner, Bytes(bytes.begin() + 5001, bytes.begin() + 5078));
  const Bytes patch = RandomBytes(77, 3);
  ASSERT_TRUE(inner->CopyIn(patch).ok());
  std::copy(patch.begin(), patch.end(), bytes.begin() + 5001);
  ExpectContents(*base, bytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(inner->device_pointer()),
            reinterpret_cast<uintptr_t>(base->device_pointer()) + 5001);
  // The last view keeps the memory.
  base.reset();
  outer.reset();
  ExpectContents(*inner, patch);
}

TEST_P(ConformanceTest, HostPointersSeeTheBytes) {
  const Bytes bytes = RandomBytes(5000, 4);
  BufferRef buffer = Buffer::Create(device_, 5000);
  EXPECT_EQ(buffer->host_pointer(), nullptr) << "there is no memory yet";
  ASSERT_TRUE(buffer->CopyIn(bytes).ok());
  std::byte* const host = buffer->host_pointer();
  if (device_->capabilities().host_visible) {
    ASSERT_NE(host, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(host) % 64, 0u);
  }
  if (host == nullptr) return;
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), host));
  host[4999] ^= std::byte{0xff};
  Bytes changed = bytes;
  changed[4999] ^= std::byte{0xff};
  ExpectContents(*buffer, changed);
}

TEST_P(ConformanceTest, CopiesToAndFromTheCpu) {
  const std::shared_ptr<Device> cpu = *Devices().Open("CPU");
  for (const int64_t size : kSizes) {
    const Bytes bytes = RandomBytes(size, size + 1);
    BufferRef there = Make(bytes);
    BufferRef here = Buffer::Create(cpu, size);
    EXPECT_EQ(Buffer::Copy(*here, *there).ok(), keeps_data());
    if (!keeps_data()) continue;
    Bytes out(size);
    ASSERT_TRUE(here->CopyOut(absl::MakeSpan(out)).ok());
    EXPECT_TRUE(out == bytes);
    const Bytes other = RandomBytes(size, size + 2);
    ASSERT_TRUE(here->CopyIn(other).ok());
    ASSERT_TRUE(Buffer::Copy(*there, *here).ok());
    ExpectContents(*there, other);
  }
}

TEST_P(ConformanceTest, CopiesToEveryDevice) {
  const Bytes bytes = RandomBytes(70001, 5);
  BufferRef from = Make(bytes);
  for (const std::string& name : {std::string("CPU"), std::string("CPU:2"), std::string("INTERP"),
                                  absl::StrCat("DISK:", std::getenv("TEST_TMPDIR"), "/every")}) {
    BufferRef to = Buffer::Create(*Devices().Open(name), 70001);
    EXPECT_EQ(Buffer::Copy(*to, *from).ok(), keeps_data()) << name;
    ExpectContents(*to, keeps_data() ? bytes : Bytes());
  }
  BufferRef null = Buffer::Create(*Devices().Open("NULL"), 70001);
  EXPECT_TRUE(Buffer::Copy(*null, *from).ok());
}

TEST_P(ConformanceTest, OverlappingCopies) {
  for (const int64_t shift : {1, 64, 5000}) {
    for (const bool up : {false, true}) {
      Bytes bytes = RandomBytes(100000, 6);
      BufferRef base = Make(bytes);
      const int64_t size = 100000 - shift;
      BufferRef low = *Buffer::View(base, size, 0);
      BufferRef high = *Buffer::View(base, size, shift);
      ASSERT_TRUE(Buffer::Copy(up ? *high : *low, up ? *low : *high).ok());
      const Bytes before = bytes;
      std::copy_n(before.begin() + (up ? 0 : shift), size, bytes.begin() + (up ? shift : 0));
      ExpectContents(*base, bytes);
    }
  }
}

TEST_P(ConformanceTest, SizesAreChecked) {
  BufferRef buffer = Make(RandomBytes(100, 7));
  EXPECT_TRUE(absl::IsInvalidArgument(buffer->CopyIn(RandomBytes(99, 0))));
  EXPECT_TRUE(absl::IsInvalidArgument(buffer->CopyIn(RandomBytes(101, 0))));
  Bytes out(101);
  EXPECT_TRUE(absl::IsInvalidArgument(buffer->CopyOut(absl::MakeSpan(out))));
  EXPECT_TRUE(absl::IsOutOfRange(Buffer::View(buffer, 1, 100).status()));
  for (const int64_t size : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(device_->allocator().Alloc(size, {}).status())) << size;
  }
}

TEST_P(ConformanceTest, EmptyBuffers) {
  BufferRef empty = Buffer::Create(device_, 0);
  EXPECT_TRUE(empty->Allocate().ok());
  EXPECT_TRUE(empty->CopyIn({}).ok());
  EXPECT_TRUE(empty->CopyOut({}).ok());
  EXPECT_EQ(empty->device_pointer(), nullptr);
  BufferRef base = Make(RandomBytes(10, 8));
  EXPECT_TRUE((*Buffer::View(base, 0, 10))->CopyIn({}).ok());
}

TEST_P(ConformanceTest, MemoryIsCounted) {
  const int64_t before = device_->mem_used();
  const int64_t all_before = GlobalCounters().Read().mem_used;
  {
    BufferRef buffer = Buffer::Create(device_, 12345);
    EXPECT_EQ(device_->mem_used(), before);
    ASSERT_TRUE(buffer->Allocate().ok());
    EXPECT_EQ(device_->mem_used(), before + 12345);
    EXPECT_EQ(GlobalCounters().Read().mem_used, all_before + 12345);
    EXPECT_GE(GlobalCounters().Read().mem_used_peak, all_before + 12345);
  }
  EXPECT_EQ(device_->mem_used(), before);
  EXPECT_EQ(GlobalCounters().Read().mem_used, all_before);
}

TEST_P(ConformanceTest, AllocationsAreApart) {
  if (GetParam().one_memory || !keeps_data()) return;
  std::mt19937_64 random(9);
  std::vector<BufferRef> buffers;
  std::vector<Bytes> contents;
  for (int i = 0; i < 300; ++i) {
    if (!buffers.empty() && random() % 3 == 0) {
      const size_t index = random() % buffers.size();
      ExpectContents(*buffers[index], contents[index]);
      buffers.erase(buffers.begin() + index);
      contents.erase(contents.begin() + index);
    } else {
      contents.push_back(RandomBytes(1 + random() % 30000, i));
      buffers.push_back(Make(contents.back()));
    }
  }
  for (size_t i = 0; i < buffers.size(); ++i) ExpectContents(*buffers[i], contents[i]);
}

TEST_P(ConformanceTest, ThreadsMayAllocateAndCopy) {
  if (GetParam().one_memory) return;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 50; ++i) {
        const Bytes bytes = RandomBytes(1000 + 37 * i, 100 * t + i);
        ExpectContents(*Make(bytes), bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(ConformanceTest, ProgramsLoadOrSayWhyNot) {
  const absl::Status status =
      device_->LoadProgram("kernel", "these are no instructions", 1).status();
  if (!device_->capabilities().runs_programs) {
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  } else if (keeps_data()) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "kernel")) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ConformanceTest, testing::ValuesIn(kSubjects),
                         [](const testing::TestParamInfo<Subject>& info) {
                           return std::string(info.param.label);
                         });

}  // namespace
}  // namespace tg::drivers
