#include "codegen/render/cstyle/compiler_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

extern char** environ;

namespace tg::render {
namespace {

constexpr size_t kMaxMessage = 16 << 10;

class Stream {
 public:
  Stream() : fd_(memfd_create("tg-compiler", MFD_CLOEXEC)) {}
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

}  // namespace

absl::StatusOr<std::string> RunCompiler(const std::vector<std::string>& arguments,
                                        absl::string_view input) {
  const std::string& program = arguments[0];
  const Stream in, out, err;
  if (in.fd() < 0 || out.fd() < 0 || err.fd() < 0 || !in.Write(input)) {
    return absl::InternalError(
        absl::StrCat(program, ": no memory for its input: ", strerror(errno)));
  }
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.fd(), 0);
  posix_spawn_file_actions_adddup2(&actions, out.fd(), 1);
  posix_spawn_file_actions_adddup2(&actions, err.fd(), 2);
  // The child starts with no signal blocked, whatever the calling thread blocks.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = -1;
  const int error =
      posix_spawnp(&child, program.c_str(), &actions, &attributes, argv.data(), environ);
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
  std::string result, message;
  const bool read = out.Read(&result) && err.Read(&message);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    if (message.size() > kMaxMessage) message.resize(kMaxMessage);
    const std::string how = WIFSIGNALED(status)
                                ? absl::StrCat("died of signal ", WTERMSIG(status))
                                : absl::StrCat("failed with status ", WEXITSTATUS(status));
    return absl::InternalError(absl::StrCat(program, " ", how, ":\n", message));
  }
  if (!read) return absl::InternalError(absl::StrCat(program, ": its output cannot be read"));
  return result;
}

}  // namespace tg::render
