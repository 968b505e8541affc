// Locks between real processes.
#include "drivers/pci/device_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "drivers/pci/lock_holders.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::pci {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DeviceLockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = ::testing::TempDir() + "/locks_" +
           ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
    path_ = LockPath(dir_, kAmdLocks, "0000:03:00.0");
  }

  // A process that runs `body`, then waits to be ended.
  static pid_t Spawn(const std::function<void()>& body) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      body();
      if (write(ready[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char c;
    EXPECT_EQ(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
  }
  pid_t SpawnHolder() {
    return Spawn([this] {
      if (absl::StatusOr<DeviceLock> lock = DeviceLock::Acquire(path_); lock.ok()) {
        new DeviceLock(*std::move(lock));  // Until the process ends.
      }
    });
  }
  static int Reap(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  }

  std::string dir_, path_;
};

TEST_F(DeviceLockTest, OneHolderAtATime) {
  absl::StatusOr<DeviceLock> lock = DeviceLock::Acquire(path_);
  ASSERT_TRUE(lock.ok()) << lock.status();
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  const absl::Status second = DeviceLock::Acquire(path_).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.message()),
              HasSubstr("Failed to acquire lock file am_0000:03:00.0.lock: another process holds "
                        "it; `hcq_smi amd pids` says which"));
  lock->Release();
  EXPECT_TRUE(DeviceLock::Acquire(path_).ok());
  // The file stays.
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(DeviceLockTest, SharedBetweenUsersWhereAsked) {
  umask(077);
  ASSERT_TRUE(DeviceLock::Acquire(path_, 0666).ok());
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666);
}

TEST_F(DeviceLockTest, RefusesWhatOthersMayHavePutThere) {
  const std::string target = dir_ + "/victim";
  std::ofstream(target) << "text";
  std::filesystem::create_symlink(target, path_);
  EXPECT_EQ(DeviceLock::Acquire(path_).status().message(),
            path_ + " is a symbolic link, which a lock file never is");
  EXPECT_FALSE(FindLockHolders(path_).ok());
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(DeviceLock::Acquire(path_).status().message(), path_ + " is not a regular file");
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_FALSE(DeviceLock::Acquire(path_).ok());
  std::filesystem::remove(path_);
  // Only root can give a file away.
  std::ofstream{path_};
  if (chown(path_.c_str(), 4321, 4321) == 0) {
    EXPECT_EQ(DeviceLock::Acquire(path_).status().message(),
              path_ + " belongs to user 4321, neither to root nor to this one");
    EXPECT_EQ(FindLockHolders(path_).status().code(), absl::StatusCode::kPermissionDenied);
  }
}

TEST_F(DeviceLockTest, FindsFilesByPrefix) {
  for (const char* name : {"am_0000:83:00.0.lock", "am_0000:03:00.0.lock", "nv_0000:03:00.0.lock",
                           "am_.lock", "am_0000:03:00.0", "xam_0000:03:00.0.lock"}) {
    std::ofstream{dir_ + "/" + name};
  }
  auto buses = [&](const char* prefix, const char* bus) {
    std::vector<std::string> found;
    const std::vector<LockFile> files = FindLockFiles(dir_, prefix, bus).value();
    for (const LockFile& f : files) found.push_back(f.bus);
    return found;
  };
  EXPECT_THAT(buses("am", ""), ElementsAre("0000:03:00.0", "0000:83:00.0"));
  EXPECT_THAT(buses("am", "0000:8"), ElementsAre("0000:83:00.0"));
  EXPECT_THAT(buses("nv", ""), ElementsAre("0000:03:00.0"));
  EXPECT_FALSE(FindLockFiles(dir_ + "/none", "am", "").ok());
}

TEST_F(DeviceLockTest, HoldersAreThoseThatLock) {
  const pid_t holder = SpawnHolder();
  // Open without a lock is nobody's business.
  const pid_t reader = Spawn([this] { static_cast<void>(open(path_.c_str(), O_RDONLY)); });
  EXPECT_THAT(FindLockHolders(path_)->pids, ElementsAre(holder));
  EXPECT_FALSE(FindLockHolders(path_)->incomplete);
  EXPECT_FALSE(EndLockHolder(reader, path_, absl::Seconds(1)).value());
  EXPECT_EQ(kill(reader, 0), 0);
  EXPECT_TRUE(EndLockHolder(holder, path_, absl::Seconds(1)).value());
  EXPECT_EQ(WTERMSIG(Reap(holder)), SIGTERM);
  EXPECT_THAT(FindLockHolders(path_)->pids, IsEmpty());
  kill(reader, SIGKILL);
  Reap(reader);
}

TEST_F(DeviceLockTest, ChildrenInheritLocks) {
  int child_pipe[2];
  ASSERT_EQ(pipe(child_pipe), 0);
  const pid_t parent = Spawn([&] {
    absl::StatusOr<DeviceLock> lock = DeviceLock::Acquire(path_);
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    if (write(child_pipe[1], &child, sizeof(child)) < 0) _exit(1);
    new DeviceLock(*std::move(lock));
  });
  pid_t child;
  ASSERT_EQ(read(child_pipe[0], &child, sizeof(child)), static_cast<ssize_t>(sizeof(child)));
  EXPECT_THAT(FindLockHolders(path_)->pids, ::testing::UnorderedElementsAre(parent, child));
  // Also when who took the lock is gone.
  EXPECT_TRUE(EndLockHolder(parent, path_, absl::ZeroDuration()).value());
  EXPECT_EQ(WTERMSIG(Reap(parent)), SIGKILL);
  EXPECT_THAT(FindLockHolders(path_)->pids, ElementsAre(child));
  EXPECT_TRUE(EndLockHolder(child, path_, absl::ZeroDuration()).value());
  EXPECT_THAT(FindLockHolders(path_)->pids, IsEmpty());
}

TEST_F(DeviceLockTest, SigkillForThoseThatStay) {
  const pid_t holder = Spawn([this] {
    signal(SIGTERM, SIG_IGN);
    new DeviceLock(DeviceLock::Acquire(path_).value());
  });
  EXPECT_TRUE(EndLockHolder(holder, path_, absl::Milliseconds(50)).value());
  EXPECT_EQ(WTERMSIG(Reap(holder)), SIGKILL);
}

TEST_F(DeviceLockTest, ProcessesThatEndedOrNeverWere) {
  const pid_t holder = SpawnHolder();
  kill(holder, SIGKILL);
  Reap(holder);
  EXPECT_FALSE(EndLockHolder(holder, path_, absl::Seconds(1)).value());
  // Its number now belongs to a process that holds nothing: this one.
  EXPECT_FALSE(EndLockHolder(getpid(), path_, absl::Seconds(1)).value());
}

}  // namespace
}  // namespace tg::pci
