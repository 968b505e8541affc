#include "base/file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::base {
namespace {

using ::testing::HasSubstr;

std::string Temp(const std::string& name) { return testing::TempDir() + "/file_test_" + name; }

std::string Write(const std::string& name, absl::string_view contents) {
  const std::string path = Temp(name);
  EXPECT_TRUE(WriteFileAtomically(path, contents).ok());
  return path;
}

TEST(ReadFileTest, RoundTripsAllSizes) {
  for (size_t size : {0, 1, 4095, 4096, 4097, 1000000}) {
    std::string contents(size, 'x');
    for (size_t i = 0; i < size; ++i) contents[i] = static_cast<char>(i * 7);
    const std::string path = Write("sizes", contents);
    EXPECT_EQ(ReadFile(path).value(), contents) << size;
  }
}

TEST(ReadFileTest, CapIsExact) {
  const std::string path = Write("cap", "12345");
  EXPECT_EQ(ReadFile(path, 5).value(), "12345");
  const auto result = ReadFile(path, 4);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr(path));
  EXPECT_FALSE(ReadFile(path, 0).ok());
  EXPECT_TRUE(ReadFile(Write("empty", ""), 0).ok());
}

TEST(ReadFileTest, FilesWithoutSizeAndEndlessOnes) {
  EXPECT_FALSE(ReadFile("/proc/self/status").value().empty());
  EXPECT_EQ(ReadFile("/dev/zero", 100000).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(ReadFileTest, ErrorsNameTheFile) {
  const auto missing = ReadFile("/no/such/file");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("/no/such/file: cannot open"));
  EXPECT_FALSE(ReadFile(testing::TempDir()).ok());
}

TEST(WriteFileAtomicallyTest, KeepsPermissionsAndLinks) {
  const std::string path = Write("mode", "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  const std::string link = Temp("link");
  unlink(link.c_str());
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  const absl::string_view pieces[] = {"new", "", " text"};
  ASSERT_TRUE(WriteFileAtomically(link, pieces).ok());
  EXPECT_EQ(ReadFile(path).value(), "new text");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST(WriteFileAtomicallyTest, LeavesNothingBehindOnFailure) {
  const std::string folder = Temp("folder");
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(CreateFolders(folder + "/taken").ok());
  EXPECT_FALSE(WriteFileAtomically(folder + "/taken", "x").ok());
  EXPECT_FALSE(WriteFileAtomically(folder + "/none/x", "x").ok());
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++entries;
    EXPECT_EQ(entry.path().filename(), "taken");
  }
  EXPECT_EQ(entries, 1);
}

TEST(WriteFileAtomicallyTest, ReadersNeverSeeAMixture) {
  const std::string path = Write("race", std::string(50000, 'a'));
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(WriteFileAtomically(path, std::string(50000, i % 2 ? 'a' : 'b')).ok());
    }
  });
  for (int i = 0; i < 200; ++i) {
    const std::string contents = ReadFile(path).value();
    ASSERT_EQ(contents.size(), 50000u);
    ASSERT_EQ(contents.find_first_not_of(contents[0]), std::string::npos);
  }
  writer.join();
}

TEST(WriteFileAtomicallyTest, DevicesAreWrittenDirectly) {
  EXPECT_TRUE(WriteFileAtomically("/dev/null", "gone").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(MappedFileTest, ShowsTheBytes) {
  const std::string path = Write("map", "hello");
  MappedFile file = MappedFile::Open(path).value();
  EXPECT_EQ(AsText(file.bytes()), "hello");
  EXPECT_TRUE(file.mutable_bytes().empty());
  MappedFile moved = std::move(file);
  EXPECT_EQ(AsText(moved.bytes()), "hello");
  EXPECT_TRUE(file.bytes().empty());  // NOLINT: moved from on purpose
  moved = MappedFile();
  EXPECT_TRUE(moved.bytes().empty());
}

TEST(MappedFileTest, EmptyMissingAndIrregular) {
  EXPECT_TRUE(MappedFile::Open(Write("map_empty", ""))->bytes().empty());
  EXPECT_EQ(MappedFile::Open("/no/such").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(MappedFile::Open(testing::TempDir()).ok());
  EXPECT_FALSE(MappedFile::Open("/dev/zero").ok());
}

TEST(MappedFileTest, WritesReachTheFile) {
  const std::string path = Temp("map_write");
  unlink(path.c_str());
  {
    MappedFile file = MappedFile::OpenWritable(path, 8).value();
    ASSERT_EQ(file.mutable_bytes().size(), 8u);
    file.mutable_bytes()[3] = 'x';
  }
  EXPECT_EQ(ReadFile(path).value(), std::string("\0\0\0x\0\0\0\0", 8));
  EXPECT_EQ(MappedFile::OpenWritable(path, 2)->bytes().size(), 8u);
  EXPECT_FALSE(MappedFile::OpenWritable(path, -1).ok());
}

TEST(ResolveUserPathTest, FollowsBazelRun) {
  setenv("BUILD_WORKING_DIRECTORY", "/where/user/was", 1);
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(ResolveUserPath("data/x"), "/where/user/was/data/x");
  EXPECT_EQ(ResolveUserPath("/abs"), "/abs");
  EXPECT_EQ(ResolveUserPath("~/x"), "/home/somebody/x");
  EXPECT_EQ(ResolveUserPath("~x"), "/where/user/was/~x");
  EXPECT_EQ(ResolveUserPath(""), "");
  setenv("BUILD_WORKING_DIRECTORY", "", 1);
  EXPECT_EQ(ResolveUserPath("x/y"), "x/y");
  unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_EQ(ResolveUserPath("data/x"), "data/x");
}

TEST(CreateFoldersTest, CreatesAllAndAcceptsExisting) {
  const std::string top = Temp("deep");
  std::filesystem::remove_all(top);
  EXPECT_TRUE(CreateFolders(top + "/a/b/c").ok());
  EXPECT_TRUE(CreateFolders(top + "/a/b/c").ok());
  EXPECT_TRUE(std::filesystem::is_directory(top + "/a/b/c"));
  struct stat info;
  ASSERT_EQ(stat((top + "/a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0u);
  EXPECT_TRUE(WriteFileAtomically(top + "/file", "x").ok());
  EXPECT_FALSE(CreateFolders(top + "/file").ok());
  EXPECT_FALSE(CreateFolders(top + "/file/below").ok());
}

}  // namespace
}  // namespace tg::base
