#include "base/disk_cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/settings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sqlite3.h"

namespace tg::base {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr CacheTable kPrograms = {"program_v1", 2};
constexpr CacheTable kSearches = {"search_v1", 1};

class DiskCacheTest : public testing::Test {
 protected:
  DiskCacheTest() : folder_(absl::StrCat(testing::TempDir(), "/disk_cache_", getpid())) {
    fs::remove_all(folder_);
    path_ = absl::StrCat(folder_, "/below/cache.db");
  }
  ~DiskCacheTest() override { fs::remove_all(folder_); }

  int SetAsideFiles() {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder_ + "/below")) {
      const std::string name = entry.path().filename();
      count +=
          name.find(".corrupt-") != std::string::npos && name.back() != 'l' && name.back() != 'm';
    }
    return count;
  }

  std::string folder_;
  std::string path_;
};

TEST_F(DiskCacheTest, KeepsBlobsByTableAndKey) {
  const std::string binary("\0\xff\n'\";--", 8);
  {
    DiskCache cache(path_);
    EXPECT_EQ(cache.Get(kPrograms, "a"), std::nullopt);
    cache.Put(kPrograms, "a", "1");
    cache.Put(kSearches, "a", "2");
    cache.Put(kPrograms, binary, binary);
    cache.Put(kPrograms, "", "");
    cache.Put(kPrograms, "a", "3");
  }
  DiskCache cache(path_);
  EXPECT_EQ(cache.Get(kPrograms, "a"), "3");
  EXPECT_EQ(cache.Get(kSearches, "a"), "2");
  EXPECT_EQ(cache.Get(kPrograms, binary), binary);
  EXPECT_EQ(cache.Get(kPrograms, ""), "");
  EXPECT_EQ(cache.Get(kPrograms, "b"), std::nullopt);
}

TEST_F(DiskCacheTest, LargeValues) {
  DiskCache cache(path_);
  std::string large(5 << 20, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * i >> 3);
  cache.Put(kPrograms, "large", large);
  EXPECT_TRUE(cache.Get(kPrograms, "large") == large);
}

TEST_F(DiskCacheTest, LevelsDecideWhatIsKept) {
  DiskCache cache(path_);
  {
    Scoped<int> none(kCacheLevel, 0);
    cache.Put(kPrograms, "a", "1");
    cache.Put(kSearches, "a", "1");
    EXPECT_FALSE(fs::exists(path_));
  }
  {
    Scoped<int> searches(kCacheLevel, 1);
    cache.Put(kPrograms, "a", "1");
    cache.Put(kSearches, "a", "1");
  }
  EXPECT_EQ(cache.Get(kPrograms, "a"), std::nullopt);
  EXPECT_EQ(cache.Get(kSearches, "a"), "1");
  Scoped<int> none(kCacheLevel, 0);
  EXPECT_EQ(cache.Get(kSearches, "a"), std::nullopt);
}

TEST_F(DiskCacheTest, FilesAreTheOwnersAlone) {
  const mode_t before = umask(0);
  DiskCache cache(path_);
  cache.Put(kPrograms, "a", "1");
  umask(before);
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    struct stat info;
    ASSERT_EQ(stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 077, 0u) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 3);
}

TEST_F(DiskCacheTest, GarbageIsSetAsideAndBegunAnew) {
  ASSERT_TRUE(CreateFolders(folder_ + "/below").ok());
  std::mt19937 random(5);
  std::string garbage(100000, '\0');
  for (char& c : garbage) c = static_cast<char>(random());
  const std::string header("SQLite format 3\0", 16);
  int expected = 0;
  for (const std::string& contents :
       {std::string("hello"), garbage, header + garbage, header, std::string(4096, '\0')}) {
    ASSERT_TRUE(WriteFileAtomically(path_, contents).ok());
    testing::internal::CaptureStderr();
    DiskCache cache(absl::StrCat(path_, expected));
    fs::rename(path_, cache.path());
    cache.Put(kPrograms, "a", "1");
    EXPECT_EQ(cache.Get(kPrograms, "a"), "1");
    const std::string warning = testing::internal::GetCapturedStderr();
    EXPECT_THAT(warning, HasSubstr("warning: disk cache: " + cache.path() + ": damaged"));
    EXPECT_EQ(std::count(warning.begin(), warning.end(), '\n'), 1) << warning;
    EXPECT_EQ(SetAsideFiles(), ++expected);
  }
}

TEST_F(DiskCacheTest, AnEmptyFileIsANewOne) {
  ASSERT_TRUE(CreateFolders(folder_ + "/below").ok());
  ASSERT_TRUE(WriteFileAtomically(path_, "").ok());
  DiskCache cache(path_);
  cache.Put(kPrograms, "a", "1");
  EXPECT_EQ(cache.Get(kPrograms, "a"), "1");
  EXPECT_EQ(SetAsideFiles(), 0);
}

TEST_F(DiskCacheTest, FlippedBytesNeverGiveAWrongValue) {
  const std::string value(3000, 'v');
  {
    DiskCache cache(path_);
    for (int i = 0; i < 20; ++i) cache.Put(kPrograms, absl::StrCat("key", i), value);
  }
  const std::string intact = ReadFile(path_).value();
  std::mt19937 random(9);
  testing::internal::CaptureStderr();
  int lost = 0;
  for (int round = 0; round < 60; ++round) {
    for (const auto& entry : fs::directory_iterator(folder_ + "/below")) fs::remove(entry.path());
    std::string damaged = intact;
    for (int flips = 0; flips < 20; ++flips) {
      damaged[random() % damaged.size()] ^= 1 << random() % 8;
    }
    ASSERT_TRUE(WriteFileAtomically(path_, damaged).ok());
    DiskCache cache(path_);
    for (int i = 0; i < 20; ++i) {
      const std::optional<std::string> found = cache.Get(kPrograms, absl::StrCat("key", i));
      if (found.has_value()) {
        ASSERT_EQ(*found, value);
      } else {
        ++lost;
      }
    }
    cache.Put(kPrograms, "after", "1");
    EXPECT_EQ(cache.Get(kPrograms, "after"), "1");
  }
  EXPECT_GT(lost, 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("damaged"));
}

TEST_F(DiskCacheTest, ATableInAnotherFormIsDamage) {
  ASSERT_TRUE(CreateFolders(folder_ + "/below").ok());
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "CREATE TABLE program_v1 (x)", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  testing::internal::CaptureStderr();
  DiskCache cache(path_);
  cache.Put(kPrograms, "a", "1");
  EXPECT_EQ(cache.Get(kPrograms, "a"), "1");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("damaged"));
}

TEST_F(DiskCacheTest, UnusablePlacesWarnOnceAndDoNothing) {
  ASSERT_TRUE(CreateFolders(folder_).ok());
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/file", "x").ok());
  ASSERT_TRUE(CreateFolders(folder_ + "/a_folder").ok());
  for (const std::string& path :
       {folder_ + "/file/cache.db", folder_ + "/a_folder", std::string("/proc/none/cache.db")}) {
    testing::internal::CaptureStderr();
    DiskCache cache(path);
    cache.Put(kPrograms, "a", "1");
    EXPECT_EQ(cache.Get(kPrograms, "a"), std::nullopt);
    cache.Put(kPrograms, "a", "1");
    const std::string warning = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(warning.begin(), warning.end(), '\n'), 1) << path << "\n" << warning;
  }
  testing::internal::CaptureStderr();
  DiskCache none("");
  none.Put(kPrograms, "a", "1");
  EXPECT_EQ(none.Get(kPrograms, "a"), std::nullopt);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
}

// Runs `body` in a child process that shares nothing but the file; its exit code is 0 when it
// holds.
template <typename Body>
pid_t InChild(Body body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body() ? 0 : 1);
  return pid;
}

bool Succeeded(pid_t pid) {
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(DiskCacheTest, SeveralProcessesWriteAtOnce) {
  constexpr int kProcesses = 4, kEntries = 100;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    children.push_back(InChild([&, p] {
      DiskCache cache(path_);
      for (int i = 0; i < kEntries; ++i) {
        const std::string key = absl::StrCat(p, "/", i);
        cache.Put(kPrograms, key, key + std::string(1000, 'x'));
        cache.Put(kPrograms, "shared", key);
        if (cache.Get(kPrograms, key) != key + std::string(1000, 'x')) return false;
        if (!cache.Get(kPrograms, "shared").has_value()) return false;
      }
      return true;
    }));
  }
  for (pid_t child : children) EXPECT_TRUE(Succeeded(child));
  DiskCache cache(path_);
  for (int p = 0; p < kProcesses; ++p) {
    for (int i = 0; i < kEntries; ++i) {
      EXPECT_TRUE(cache.Get(kPrograms, absl::StrCat(p, "/", i)).has_value()) << p << "/" << i;
    }
  }
  EXPECT_EQ(SetAsideFiles(), 0);
}

TEST_F(DiskCacheTest, SeveralProcessesMeetADamagedFile) {
  ASSERT_TRUE(CreateFolders(folder_ + "/below").ok());
  ASSERT_TRUE(WriteFileAtomically(path_, std::string(50000, 'g')).ok());
  std::vector<pid_t> children;
  for (int p = 0; p < 4; ++p) {
    children.push_back(InChild([&, p] {
      // The warning of whichever comes first is not this test's output.
      if (freopen("/dev/null", "w", stderr) == nullptr) return false;
      DiskCache cache(path_);
      for (int i = 0; i < 20; ++i) cache.Put(kPrograms, absl::StrCat(p, "/", i), "v");
      return cache.Get(kPrograms, absl::StrCat(p, "/19")) == "v";
    }));
  }
  for (pid_t child : children) EXPECT_TRUE(Succeeded(child));
  EXPECT_EQ(SetAsideFiles(), 1);
  DiskCache cache(path_);
  for (int p = 0; p < 4; ++p) EXPECT_EQ(cache.Get(kPrograms, absl::StrCat(p, "/19")), "v");
}

TEST_F(DiskCacheTest, SeveralThreadsShareOneObject) {
  DiskCache cache(path_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string key = absl::StrCat(t, "/", i);
        cache.Put(kPrograms, key, key);
        EXPECT_EQ(cache.Get(kPrograms, key), key);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(DiskCachePathTest, FollowsTheEnvironment) {
  Scoped<std::string> unnamed(kCacheDb, "");
  setenv("TEST_TMPDIR", "/t", 1);
  setenv("XDG_CACHE_HOME", "/x", 1);
  setenv("HOME", "/h", 1);
  EXPECT_EQ(DiskCache::DefaultPath(), "/t/tg/cache.db");
  unsetenv("TEST_TMPDIR");
  EXPECT_EQ(DiskCache::DefaultPath(), "/x/tg/cache.db");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(DiskCache::DefaultPath(), "/h/.cache/tg/cache.db");
  unsetenv("HOME");
  EXPECT_EQ(DiskCache::DefaultPath(), "");
  Scoped<std::string> named(kCacheDb, "/somewhere.db");
  EXPECT_EQ(DiskCache::DefaultPath(), "/somewhere.db");
}

TEST(DiskCacheDeathTest, TableNamesAreChecked) {
  DiskCache cache("");
  EXPECT_DEATH(cache.Get({"x; DROP TABLE y", 1}, "a"), "IsTableName");
}

}  // namespace
}  // namespace tg::base
