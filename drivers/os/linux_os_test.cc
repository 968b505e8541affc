#include "drivers/os/linux_os.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tg::os {
namespace {

TEST(LinuxOsTest, OpensReadsAndMapsFiles) {
  LinuxOs os;
  std::string folder = testing::TempDir() + "/linux_os_test";
  ASSERT_EQ(std::system(("mkdir -p " + folder).c_str()), 0);
  std::ofstream(folder + "/b") << "hello";
  std::ofstream(folder + "/a") << "";
  std::vector<std::string> names;
  ASSERT_EQ(os.ListFolder(folder, &names), 0);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
  std::string text;
  ASSERT_EQ(os.ReadFile(folder + "/b", &text), 0);
  EXPECT_EQ(text, "hello");

  int fd = os.Open(folder + "/b", O_RDONLY);
  ASSERT_GE(fd, 0);
  char word[3] = {};
  EXPECT_EQ(os.Read(fd, word, 2), 2);
  EXPECT_EQ(std::string(word), "he");
  void* mapped = nullptr;
  ASSERT_EQ(os.Mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0, &mapped), 0);
  EXPECT_EQ(std::string(static_cast<char*>(mapped)), "hello");
  EXPECT_EQ(os.Munmap(mapped, 4096), 0);
  pollfd p = {fd, POLLIN, 0};
  EXPECT_EQ(os.Poll(&p, 1, 0), 1);
  EXPECT_EQ(os.Close(fd), 0);
}

TEST(LinuxOsTest, ErrorsAreNegativeNumbers) {
  LinuxOs os;
  std::string text;
  std::vector<std::string> names;
  void* mapped = nullptr;
  EXPECT_EQ(os.Open("/nowhere/at/all", O_RDWR), -ENOENT);
  EXPECT_EQ(os.ReadFile("/nowhere/at/all", &text), -ENOENT);
  EXPECT_EQ(os.ReadFile("/dev/zero", &text), -EFBIG);
  EXPECT_EQ(os.ListFolder("/nowhere/at/all", &names), -ENOENT);
  EXPECT_EQ(os.Close(-1), -EBADF);
  EXPECT_EQ(os.Read(-1, &text, 0), -EBADF);
  EXPECT_EQ(os.Mmap(nullptr, 4096, PROT_READ, MAP_SHARED, -1, 0, &mapped), -EBADF);
  EXPECT_EQ(os.Munmap(reinterpret_cast<void*>(1), 4096), -EINVAL);
  int fd = os.Open("/dev/null", O_RDWR);
  EXPECT_EQ(os.Ioctl(fd, TIOCGWINSZ, nullptr), -ENOTTY);
  EXPECT_EQ(os.Close(fd), 0);
}

TEST(LinuxOsTest, DoorbellsAreWritten) {
  LinuxOs os;
  uint64_t doorbell = 0;
  os.RingDoorbell(&doorbell, 7);
  EXPECT_EQ(doorbell, 7u);
  EXPECT_TRUE(os.Relax().ok());
}

}  // namespace
}  // namespace tg::os
