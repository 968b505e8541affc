#include "base/process.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

extern char** environ;

namespace tg::base {
namespace {

class Stream {
 public:
  Stream() : fd_(memfd_create("tg-process", MFD_CLOEXEC)) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

  bool Write(absl::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return lseek(fd_, 0, SEEK_SET) == 0;
  }

  bool Read(std::string* out) const {
    const off_t size = lseek(fd_, 0, SEEK_END);
    if (size < 0) return false;
    out->resize(static_cast<size_t>(size));
    size_t done = 0;
    while (done < out->size()) {
      const ssize_t n =
          pread(fd_, out->data() + done, out->size() - done, static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      done += static_cast<size_t>(n);
    }
    return true;
  }

 private:
  const int fd_;
};

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// This process's environment with some of it replaced.
std::vector<std::string> Environment(const std::vector<std::string>& replaced) {
  std::vector<std::string> all = replaced;
  for (char** e = environ; *e != nullptr; ++e) {
    const absl::string_view entry = *e;
    const absl::string_view name = entry.substr(0, entry.find('=') + 1);
    const bool is_replaced =
        std::any_of(replaced.begin(), replaced.end(),
                    [name](const std::string& r) { return absl::StartsWith(r, name); });
    if (!is_replaced) all.emplace_back(entry);
  }
  return all;
}

}  // namespace

absl::StatusOr<ProcessResult> RunProcess(const std::vector<std::string>& arguments,
                                         const ProcessOptions& options) {
  const std::string& program = arguments[0];
  const Stream in, out, err;
  if (in.fd() < 0 || out.fd() < 0 || err.fd() < 0 || !in.Write(options.input)) {
    return absl::InternalError(
        absl::StrCat(program, ": no memory for its input: ", strerror(errno)));
  }
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<std::string> environment = Environment(options.environment);
  const std::vector<char*> envp = Pointers(environment);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!options.share_streams) {
    posix_spawn_file_actions_adddup2(&actions, in.fd(), 0);
    posix_spawn_file_actions_adddup2(&actions, out.fd(), 1);
    posix_spawn_file_actions_adddup2(&actions, err.fd(), 2);
  }
  if (!options.directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, options.directory.c_str());
  }
  // The child starts with no signal blocked, whatever the calling thread blocks.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = -1;
  const int error =
      posix_spawnp(&child, program.c_str(), &actions, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return absl::NotFoundError(absl::StrCat(program, ": no such program"));
  if (error != 0) {
    return absl::InternalError(absl::StrCat(program, ": cannot be run: ", strerror(error)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return absl::InternalError(absl::StrCat(program, ": lost: ", strerror(errno)));
    }
  }
  ProcessResult result;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + result.signal;
  if (!out.Read(&result.out) || !err.Read(&result.err)) {
    return absl::InternalError(absl::StrCat(program, ": its output cannot be read"));
  }
  return result;
}

std::string ProcessName(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/comm"));
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace tg::base
