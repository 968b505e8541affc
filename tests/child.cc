#include "tests/child.h"

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/check.h"

extern char** environ;

namespace tg::testing {

std::string ChildRole() {
  const char* role = std::getenv("TG_TEST_ROLE");
  return role == nullptr ? "" : role;
}

Child::Child(const std::string& role, const std::map<std::string, std::string>& environment) {
  int out[2], err[2];
  TG_CHECK(pipe(out) == 0 && pipe(err) == 0) << "pipe: " << std::strerror(errno);
  std::map<std::string, std::string> all;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string entry = *e;
    const size_t equal = entry.find('=');
    all[entry.substr(0, equal)] = entry.substr(equal + 1);
  }
  for (const auto& [name, value] : environment) all[name] = value;
  all["TG_TEST_ROLE"] = role;
  // A child is no test of its own.
  all.erase("XML_OUTPUT_FILE");
  all.erase("GTEST_OUTPUT");
  all.erase("TEST_PREMATURE_EXIT_FILE");
  std::vector<std::string> entries;
  for (const auto& [name, value] : all) entries.push_back(name + "=" + value);
  std::vector<char*> env;
  for (std::string& e : entries) env.push_back(e.data());
  env.push_back(nullptr);
  char path[] = "/proc/self/exe";
  char* argv[] = {path, nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  for (int fd : {out[0], out[1], err[0], err[1]}) {
    posix_spawn_file_actions_addclose(&actions, fd);
  }
  const int failed = posix_spawn(&pid_, path, &actions, nullptr, argv, env.data());
  posix_spawn_file_actions_destroy(&actions);
  TG_CHECK(failed == 0) << "posix_spawn: " << std::strerror(failed);
  close(out[1]);
  close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

Child::~Child() {
  if (pid_ > 0) Wait();
}

ChildResult Child::Wait() {
  ChildResult r;
  pollfd fds[] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  std::string* text[] = {&r.out, &r.err};
  for (int open = 2; open > 0;) {
    poll(fds, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t n = read(fds[i].fd, buffer, sizeof(buffer));
      if (n > 0) {
        text[i]->append(buffer, static_cast<size_t>(n));
      } else {
        fds[i].fd = -1;
        --open;
      }
    }
  }
  close(out_);
  close(err_);
  int status = 0;
  waitpid(pid_, &status, 0);
  r.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  pid_ = -1;
  return r;
}

}  // namespace tg::testing
