#include "drivers/sim/amd/kfd/user_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

constexpr uint64_t kPage = 4096;

// Three pages, of which the middle one is missing.
class UserMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    void* at = mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    pages_ = static_cast<char*>(at);
    ASSERT_EQ(mprotect(pages_ + kPage, kPage, PROT_NONE), 0);
    address_ = reinterpret_cast<uint64_t>(at);
  }
  void TearDown() override { munmap(pages_, 3 * kPage); }

  char* pages_ = nullptr;
  uint64_t address_ = 0;
};

TEST_F(UserMemoryTest, Copies) {
  EXPECT_EQ(CopyToUser(address_ + kPage - 5, "hello", 5), 0);
  char word[5];
  EXPECT_EQ(CopyFromUser(word, address_ + kPage - 5, 5), 0);
  EXPECT_EQ(std::string(word, 5), "hello");
  EXPECT_EQ(CopyFromUser(word, 0, 0), 0) << "nothing is anywhere";
}

TEST_F(UserMemoryTest, WhatIsNotThereIsAFault) {
  char word[8] = {};
  for (uint64_t address : {uint64_t{0}, uint64_t{8}, ~uint64_t{0} - 3, uint64_t{1} << 63,
                           address_ + kPage - 4, address_ + kPage, address_ + 2 * kPage - 4}) {
    EXPECT_EQ(CopyFromUser(word, address, 8), -EFAULT) << address;
    EXPECT_EQ(CopyToUser(address, word, 8), -EFAULT) << address;
  }
}

TEST_F(UserMemoryTest, Ranges) {
  EXPECT_EQ(CheckUserRange(address_, kPage), 0);
  EXPECT_EQ(CheckUserRange(address_ + 1, kPage), -EFAULT);
  EXPECT_EQ(CheckUserRange(address_, 3 * kPage), -EFAULT);
  EXPECT_EQ(CheckUserRange(address_ + 2 * kPage, kPage), 0);
  EXPECT_EQ(CheckUserRange(address_, 0), -EFAULT);
  EXPECT_EQ(CheckUserRange(address_, ~uint64_t{0}), -EFAULT);
  std::vector<char> large(8 << 20);
  EXPECT_EQ(CheckUserRange(reinterpret_cast<uint64_t>(large.data()), large.size()), 0);
}

}  // namespace
}  // namespace tg::amd::sim
