#include "drivers/disk/disk_device.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "drivers/runtime/buffer.h"
#include "gtest/gtest.h"

namespace tg::drivers {
namespace {

absl::Span<const std::byte> Bytes(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

absl::Status Read(const Buffer& buffer, std::string* text = nullptr) {
  std::string bytes(buffer.size(), '?');
  const absl::Status status =
      buffer.CopyOut(absl::MakeSpan(reinterpret_cast<std::byte*>(bytes.data()), bytes.size()));
  if (text != nullptr) *text = bytes;
  return status;
}

std::string Contents(const Buffer& buffer) {
  std::string text;
  const absl::Status status = Read(buffer, &text);
  return status.ok() ? text : status.ToString();
}

class DiskDeviceTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) {
    return absl::StrCat(std::getenv("TEST_TMPDIR"), "/", name);
  }
  std::string Write(const std::string& name, const std::string& contents) {
    const std::string path = Path(name);
    EXPECT_TRUE(base::WriteFileAtomically(path, contents).ok());
    return path;
  }
  BufferRef Open(const std::string& path, int64_t size) {
    absl::StatusOr<std::shared_ptr<Device>> device = MakeDiskDevice(path);
    EXPECT_TRUE(device.ok()) << device.status();
    return Buffer::Create(*device, size);
  }
  void ExpectError(const absl::Status& status, absl::StatusCode code, const std::string& message) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), message)) << status;
  }
};

TEST_F(DiskDeviceTest, ReadsPartsOfAFile) {
  BufferRef file = Open(Write("read", "hello, world"), 12);
  ASSERT_TRUE(file->Allocate().ok());
  EXPECT_EQ(Contents(*file), "hello, world");
  EXPECT_EQ(Contents(**Buffer::View(file, 5, 7)), "world");
  ASSERT_NE(file->host_pointer(), nullptr);
  EXPECT_EQ(std::string(reinterpret_cast<char*>(file->host_pointer()), 5), "hello");
  EXPECT_EQ((*Buffer::View(file, 5, 7))->host_pointer(), file->host_pointer() + 7);
}

TEST_F(DiskDeviceTest, WritesInPlaceAndCreates) {
  const std::string path = Write("write", "hello, world");
  BufferRef file = Open(path, 12);
  ASSERT_TRUE((*Buffer::View(file, 5, 7))->CopyIn(Bytes("paper")).ok());
  EXPECT_EQ(*base::ReadFile(path), "hello, paper");

  const std::string fresh = Path("fresh");
  BufferRef made = Open(fresh, 10);
  ASSERT_TRUE(made->Allocate().ok());
  EXPECT_NE(access(fresh.c_str(), F_OK), 0) << "allocating creates nothing";
  EXPECT_EQ(made->host_pointer(), nullptr);
  ExpectError(Read(*made), absl::StatusCode::kNotFound, "opening " + fresh);
  ASSERT_TRUE((*Buffer::View(made, 3, 2))->CopyIn(Bytes("abc")).ok());
  EXPECT_EQ(*base::ReadFile(fresh), std::string("\0\0abc\0\0\0\0\0", 10));
  EXPECT_NE(made->host_pointer(), nullptr);
}

TEST_F(DiskDeviceTest, WritesThroughTheMappingReachTheFile) {
  const std::string path = Write("mapped", "0123456789");
  BufferRef file = Open(path, 10);
  ASSERT_TRUE(file->Allocate().ok());
  file->host_pointer()[4] = std::byte{'x'};
  EXPECT_EQ(Contents(*file), "0123x56789");
  file.reset();
  EXPECT_EQ(*base::ReadFile(path), "0123x56789");
}

TEST_F(DiskDeviceTest, AllocatingAndReadingChangeNothing) {
  const std::string path = Write("short", "abc");
  BufferRef file = Open(path, 100);
  ASSERT_TRUE(file->Allocate().ok());
  EXPECT_EQ(file->host_pointer(), nullptr) << "the file is shorter";
  EXPECT_EQ(Contents(**Buffer::View(file, 3, 0)), "abc");
  ExpectError(Read(**Buffer::View(file, 4, 1)), absl::StatusCode::kOutOfRange,
              path + ": it ends at byte 3, 2 bytes before");
  EXPECT_EQ(*base::ReadFile(path), "abc");
}

TEST_F(DiskDeviceTest, AFileThatShrinksIsAnErrorNotACrash) {
  const std::string path = Write("shrinks", "0123456789");
  BufferRef file = Open(path, 10);
  ASSERT_TRUE(file->Allocate().ok());
  ASSERT_NE(file->host_pointer(), nullptr);
  ASSERT_EQ(truncate(path.c_str(), 4), 0);
  ExpectError(Read(*file), absl::StatusCode::kOutOfRange, "ends at byte 4");
}

TEST_F(DiskDeviceTest, WhatCannotBeAFileIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(MakeDiskDevice("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(MakeDiskDevice("shm:").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(MakeDiskDevice("shm:a/../b").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(MakeDiskDevice(absl::string_view("a\0b", 3)).status()));
  const std::string folder = Path("");
  EXPECT_TRUE(absl::StrContains(Open(folder, 4)->Allocate().message(), folder));
  const std::string pipe = Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ExpectError(Open(pipe, 4)->Allocate(), absl::StatusCode::kInvalidArgument,
              pipe + ": neither a file nor a block device");
  const std::string nowhere = Path("no/such/folder/file");
  ExpectError(Open(nowhere, 3)->CopyIn(Bytes("abc")), absl::StatusCode::kNotFound, nowhere);
  ExpectError((*MakeDiskDevice(Path("x")))->LoadProgram("k", "", 1).status(),
              absl::StatusCode::kUnimplemented, "computes nothing");
}

TEST_F(DiskDeviceTest, ReadOnlyFilesMayBeReadOnly) {
  const std::string path = Write("read_only", "abc");
  ASSERT_EQ(chmod(path.c_str(), 0400), 0);
  if (access(path.c_str(), W_OK) == 0) return;  // The superuser may write anything.
  BufferRef file = Open(path, 3);
  ASSERT_TRUE(file->Allocate().ok());
  EXPECT_EQ(Contents(*file), "abc");
  ExpectError(file->CopyIn(Bytes("xyz")), absl::StatusCode::kPermissionDenied, path);
}

TEST_F(DiskDeviceTest, FilesThatDoNotFitAreReported) {
  // No file system holds a file of that size.
  const std::string path = Path("huge");
  BufferRef file = Open(path, int64_t{1} << 62);
  const absl::Status status = (*Buffer::View(file, 3, 0))->CopyIn(Bytes("abc"));
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(absl::StrContains(status.message(), "extending to 4611686018427387904 bytes"))
      << status;
  EXPECT_TRUE(absl::StrContains(status.message(), path)) << status;
}

TEST_F(DiskDeviceTest, SharedMemoryHasAName) {
  const std::string name = absl::StrCat("tg_disk_device_test_", getpid());
  BufferRef file = Open("shm:" + name, 3);
  ASSERT_TRUE(file->CopyIn(Bytes("abc")).ok());
  EXPECT_EQ(*base::ReadFile("/dev/shm/" + name), "abc");
  EXPECT_EQ(unlink(("/dev/shm/" + name).c_str()), 0);
}

}  // namespace
}  // namespace tg::drivers
