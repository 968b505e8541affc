#ifndef TG_BASE_DISK_CACHE_H_
#define TG_BASE_DISK_CACHE_H_

// What was expensive to find out, kept on disk between runs: compiled programs, results of
// searches.

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace tg::base {

// One kind of entries. The name becomes an SQLite table: small letters, digits and underscores. Put
// the version of the values' format in it ("program_v1"): older tables are then left alone.
struct CacheTable {
  const char* name;
  int level;  // kept when CACHELEVEL is at least this: 1 searches, 2 all else
};

// Blobs by table and key in one SQLite file that any number of processes and threads may share.
//
// A cache never makes a program fail: when the file cannot be used, a line on stderr says so once,
// reads find nothing and writes do nothing. A damaged file (each value carries a checksum) is
// renamed to <file>.corrupt-<pid>-<time>, with a line on stderr, and a new one begun.
//
// Thread safe. The file is opened at the first use, for its owner alone. Do not use one object on
// both sides of a fork().
class DiskCache {
 public:
  // `path` empty: no cache at all.
  explicit DiskCache(std::string path);
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  std::optional<std::string> Get(const CacheTable& table, absl::string_view key);
  // Replaces what is there. The value is on disk, for others to read, when this returns.
  void Put(const CacheTable& table, absl::string_view key, absl::string_view value);

  const std::string& path() const { return path_; }

  // The process's cache, at DefaultPath(); never destroyed.
  static DiskCache& Default();

  // CACHEDB; or tg/cache.db below $XDG_CACHE_HOME, or else ~/.cache. Under a test runner that gives
  // the test a folder, below $TEST_TMPDIR: tests depend on nothing that other programs left. Empty
  // when there is none of them.
  static std::string DefaultPath();

 private:
  class Connection;

  const std::string path_;
  const std::unique_ptr<Connection> connection_;
};

}  // namespace tg::base

#endif  // TG_BASE_DISK_CACHE_H_
