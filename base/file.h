#ifndef TG_BASE_FILE_H_
#define TG_BASE_FILE_H_

// Whole files: read with a cap, map into memory, replace atomically. Every error names the file and
// says what the system said.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tg::base {

inline constexpr int64_t kDefaultFileCap = int64_t{1} << 30;

// The contents of a file, a pipe or a device. ResourceExhausted when there is more than
// `max_bytes`; no more than about that is ever allocated.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes = kDefaultFileCap);

// Writes `contents` to a file beside `path`, flushes it to the disk and renames it over `path`: a
// reader, or a crash, sees the old contents or the new ones. Keeps the permissions of a file that
// is there, follows symbolic links. What is not a regular file (/dev/stdout, a pipe) is written
// directly.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents);
// The same for contents in several pieces, one after the other.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::Span<const absl::string_view> pieces);

// A file's bytes in memory, loaded by the system as they are touched. Move only; unmaps when
// destroyed. When another process shortens the file meanwhile, touching what is gone raises SIGBUS.
class MappedFile {
 public:
  // For reading. The mapping is private: what others write later may or may not be seen.
  static absl::StatusOr<MappedFile> Open(const std::string& path);

  // For reading and writing: writes reach the file. The file is created when it is not there and
  // lengthened with zeros to `size` bytes when it is shorter.
  static absl::StatusOr<MappedFile> OpenWritable(const std::string& path, int64_t size);

  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  absl::Span<const uint8_t> bytes() const { return {data_, size_}; }
  // Empty unless opened by OpenWritable.
  absl::Span<uint8_t> mutable_bytes() const {
    return writable_ ? absl::Span<uint8_t>(data_, size_) : absl::Span<uint8_t>();
  }

 private:
  MappedFile(uint8_t* data, size_t size, bool writable)
      : data_(data), size_(size), writable_(writable) {}

  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  bool writable_ = false;
};

// A path as the user typed it, made to work from where the program runs: `bazel run` starts
// programs in another folder and says in BUILD_WORKING_DIRECTORY where the user was. "~/" is the
// home folder.
std::string ResolveUserPath(absl::string_view path);

// Creates a folder and those above it, readable by their owner alone. Fine when it is there.
absl::Status CreateFolders(const std::string& path);

// `text` as bytes and the other way round; neither copies.
inline absl::Span<const uint8_t> AsBytes(absl::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
inline absl::string_view AsText(absl::Span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tg::base

#endif  // TG_BASE_FILE_H_
