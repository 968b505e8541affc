#include "base/disk_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/settings.h"
#include "sqlite3.h"
#include "zlib.h"

namespace tg::base {
namespace {

// How long a process waits for another one that is writing.
constexpr int kBusyMilliseconds = 10000;
// SQLite's own limit for one value is 1 GB; larger ones are not worth keeping.
constexpr size_t kMaxValueBytes = size_t{512} << 20;

bool IsDamage(int result) {
  const int primary = result & 0xff;
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_FORMAT;
}

// Ties a value to its place, so that a mixed up page is noticed, too.
int64_t Checksum(absl::string_view key, absl::string_view value) {
  const auto add = [](uLong crc, absl::string_view text) {
    return crc32_z(crc, reinterpret_cast<const Bytef*>(text.data()), text.size());
  };
  return static_cast<int64_t>(add(add(crc32_z(0, nullptr, 0), key), value)) |
         static_cast<int64_t>(value.size()) << 32;
}

bool IsTableName(absl::string_view name) {
  if (name.empty()) return false;
  for (char c : name) {
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_') return false;
  }
  return true;
}

// Holds <path>.lock, which all processes take while they open the file or set it aside.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : fd_(open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ < 0) return;
    while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FileLock() {
    if (fd_ >= 0) close(fd_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool held() const { return fd_ >= 0; }

 private:
  const int fd_;
};

// Which file a path names at the moment; {0, 0} for none.
std::pair<dev_t, ino_t> Identity(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return {0, 0};
  return {info.st_dev, info.st_ino};
}

}  // namespace

// The open database. Every operation runs under the mutex and is tried again once after the damaged
// file has been replaced.
class DiskCache::Connection {
 public:
  explicit Connection(const std::string& path) : path_(path), usable_(!path.empty()) {}
  ~Connection() { Close(); }

  std::optional<std::string> Get(const std::string& table, absl::string_view key) {
    std::optional<std::string> found;
    Run([&] { return TryGet(table, key, found); });
    return found;
  }

  void Put(const std::string& table, absl::string_view key, absl::string_view value) {
    Run([&] { return TryPut(table, key, value); });
  }

 private:
  template <typename Operation>
  void Run(Operation operation) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (int attempt = 0; attempt < 2 && usable_; ++attempt) {
      int result = Open();
      if (result == SQLITE_OK) result = operation();
      if (result == SQLITE_OK) return;
      if (!IsDamage(result)) {
        // Somebody else writes for a long time: this entry is not worth more waiting.
        if ((result & 0xff) != SQLITE_BUSY) GiveUp(result);
        return;
      }
      SetAside();
    }
  }

  int Open() {
    if (database_ != nullptr) return SQLITE_OK;
    const size_t slash = path_.rfind('/');
    if (slash != std::string::npos && slash > 0) {
      if (absl::Status status = CreateFolders(path_.substr(0, slash)); !status.ok()) {
        Warn(std::string(status.message()));
        usable_ = false;
        return SQLITE_CANTOPEN;
      }
    }
    FileLock lock(path_);
    if (!lock.held()) return SQLITE_CANTOPEN;
    // SQLite would create it for everybody to read, and gives its other files the same permissions.
    // Only a new file is closed here: closing one that SQLite has open would drop SQLite's locks.
    const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    int result = sqlite3_open_v2(path_.c_str(), &database_,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    identity_ = Identity(path_);
    if (result == SQLITE_OK) result = sqlite3_busy_timeout(database_, kBusyMilliseconds);
    // A write-ahead log: readers and a writer do not wait for each other. A crash of the machine
    // may lose the last entries but not damage the file.
    if (result == SQLITE_OK) result = Execute("PRAGMA journal_mode=WAL");
    if (result == SQLITE_OK) result = Execute("PRAGMA synchronous=NORMAL");
    if (result != SQLITE_OK) Close();
    return result;
  }

  void Close() {
    tables_.clear();
    sqlite3_close(std::exchange(database_, nullptr));
  }

  int Execute(const std::string& sql) {
    return sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr);
  }

  int EnsureTable(const std::string& table) {
    if (tables_.count(table) > 0) return SQLITE_OK;
    const int result = Execute(absl::StrCat("CREATE TABLE IF NOT EXISTS ", table,
                                            " (key BLOB PRIMARY KEY, value BLOB, sum INTEGER)"));
    if (result == SQLITE_OK) tables_.insert(table);
    return result;
  }

  int TryGet(const std::string& table, absl::string_view key, std::optional<std::string>& found) {
    found.reset();
    if (int result = EnsureTable(table); result != SQLITE_OK) return result;
    sqlite3_stmt* statement = nullptr;
    int result = sqlite3_prepare_v2(
        database_, absl::StrCat("SELECT value, sum FROM ", table, " WHERE key = ?").c_str(), -1,
        &statement, nullptr);
    const absl::Cleanup finalize = [&] { sqlite3_finalize(statement); };
    if (result == SQLITE_ERROR) return SQLITE_CORRUPT;  // a table of that name in another form
    if (result != SQLITE_OK) return result;
    sqlite3_bind_blob64(statement, 1, key.data(), key.size(), SQLITE_STATIC);
    result = sqlite3_step(statement);
    if (result == SQLITE_DONE) return SQLITE_OK;
    if (result != SQLITE_ROW) return result;
    const void* data = sqlite3_column_blob(statement, 0);
    const int size = sqlite3_column_bytes(statement, 0);
    std::string value(static_cast<const char*>(data), data != nullptr ? size : 0);
    if (sqlite3_column_int64(statement, 1) != Checksum(key, value)) return SQLITE_CORRUPT;
    found = std::move(value);
    return SQLITE_OK;
  }

  int TryPut(const std::string& table, absl::string_view key, absl::string_view value) {
    if (int result = EnsureTable(table); result != SQLITE_OK) return result;
    sqlite3_stmt* statement = nullptr;
    int result = sqlite3_prepare_v2(
        database_,
        absl::StrCat("INSERT OR REPLACE INTO ", table, " (key, value, sum) VALUES (?, ?, ?)")
            .c_str(),
        -1, &statement, nullptr);
    const absl::Cleanup finalize = [&] { sqlite3_finalize(statement); };
    if (result == SQLITE_ERROR) return SQLITE_CORRUPT;
    if (result != SQLITE_OK) return result;
    sqlite3_bind_blob64(statement, 1, key.data(), key.size(), SQLITE_STATIC);
    sqlite3_bind_blob64(statement, 2, value.data(), value.size(), SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, Checksum(key, value));
    result = sqlite3_step(statement);
    return result == SQLITE_DONE ? SQLITE_OK : result;
  }

  // Renames the damaged file, unless another process has already done so.
  void SetAside() {
    const std::pair<dev_t, ino_t> damaged = identity_.second != 0 ? identity_ : Identity(path_);
    Close();
    identity_ = {0, 0};
    FileLock lock(path_);
    if (!lock.held() || Identity(path_) != damaged) return;
    const std::string aside =
        absl::StrCat(path_, ".corrupt-", getpid(), "-", static_cast<int64_t>(time(nullptr)));
    // The log goes first: left behind, it would be read into the new file.
    for (const char* suffix : {"-wal", "-shm"}) {
      rename((path_ + suffix).c_str(), (aside + suffix).c_str());
    }
    if (rename(path_.c_str(), aside.c_str()) != 0) {
      Warn(absl::StrCat(path_, ": damaged, and cannot be renamed: ", strerror(errno)));
      usable_ = false;
      return;
    }
    Warn(absl::StrCat(path_, ": damaged; set aside as ", aside, " and begun anew"));
  }

  void GiveUp(int result) {
    if (usable_) {
      Warn(absl::StrCat(path_, ": ", sqlite3_errstr(result), "; going on without the disk cache"));
    }
    usable_ = false;
    Close();
  }

  static void Warn(const std::string& what) {
    std::fprintf(stderr, "warning: disk cache: %s\n", what.c_str());
  }

  const std::string path_;
  std::mutex mutex_;
  bool usable_;
  sqlite3* database_ = nullptr;
  std::pair<dev_t, ino_t> identity_{0, 0};  // of the file that is, or was last, open
  std::set<std::string> tables_;            // known to exist
};

DiskCache::DiskCache(std::string path)
    : path_(std::move(path)), connection_(std::make_unique<Connection>(path_)) {}

DiskCache::~DiskCache() = default;

std::optional<std::string> DiskCache::Get(const CacheTable& table, absl::string_view key) {
  TG_CHECK(IsTableName(table.name)) << table.name;
  if (table.level > base::Get(kCacheLevel)) return std::nullopt;
  return connection_->Get(table.name, key);
}

void DiskCache::Put(const CacheTable& table, absl::string_view key, absl::string_view value) {
  TG_CHECK(IsTableName(table.name)) << table.name;
  if (table.level > base::Get(kCacheLevel) || value.size() > kMaxValueBytes) return;
  connection_->Put(table.name, key, value);
}

DiskCache& DiskCache::Default() {
  static DiskCache* cache = new DiskCache(DefaultPath());
  return *cache;
}

std::string DiskCache::DefaultPath() {
  const std::string& named = base::Get(kCacheDb);
  if (!named.empty()) return ResolveUserPath(named);
  const auto below = [](const char* variable, absl::string_view rest) -> std::string {
    const char* folder = getenv(variable);
    // The XDG specification: relative paths are invalid.
    return folder != nullptr && *folder == '/' ? absl::StrCat(folder, rest) : "";
  };
  std::string path = below("TEST_TMPDIR", "/tg/cache.db");
  if (path.empty()) path = below("XDG_CACHE_HOME", "/tg/cache.db");
  if (path.empty()) path = below("HOME", "/.cache/tg/cache.db");
  return path;
}

}  // namespace tg::base
