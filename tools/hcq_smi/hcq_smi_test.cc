// The tool as users start it, with processes that hold real locks below a temporary root and
// stand-ins for modprobe, sudo and nvidia-smi on PATH.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/run_tool.h"
#include "drivers/pci/device_lock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tg::hcq_smi {
namespace {

using ::testing::HasSubstr;

using Outcome = base::ProcessResult;

class HcqSmiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = absl::StrCat(::testing::TempDir(), "/hcq_",
                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(root_);
    for (const char* folder : {"/tmp", "/proc", "/bin", "/sys/bus/pci/devices/0000:41:00.0"}) {
      std::filesystem::create_directories(root_ + folder);
    }
    Modules("ext4 1 0 - Live 0x0\n");
    // Each writes down how it was called.
    for (const char* name : {"modprobe", "sudo", "nvidia-smi"}) {
      const std::string file = absl::StrCat(root_, "/bin/", name);
      std::ofstream(file) << "#!/bin/sh\necho " << name << " \"$@\" >>" << root_
                          << "/calls\nexit ${TOOL_STATUS:-0}\n";
      chmod(file.c_str(), 0755);
    }
  }
  void TearDown() override {
    for (pid_t pid : children_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }

  void Modules(const std::string& text) { std::ofstream(root_ + "/proc/modules") << text; }
  std::string Lock(const std::string& prefix, const std::string& bus) {
    return pci::LockPath(root_ + "/tmp", prefix, bus);
  }
  std::string Calls() {
    absl::StatusOr<std::string> calls = base::ReadFile(root_ + "/calls");
    return calls.ok() ? *calls : "";
  }

  // A process that holds a device until it is ended; `stubborn` ones ignore SIGTERM.
  pid_t Hold(const std::string& lock, bool stubborn = false) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      if (stubborn) signal(SIGTERM, SIG_IGN);
      new pci::DeviceLock(pci::DeviceLock::Acquire(lock).value());
      if (write(ready[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char c;
    EXPECT_EQ(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    children_.push_back(pid);
    return pid;
  }

  Outcome RunTool(const std::string& args, std::vector<std::string> environment = {}) {
    environment.push_back(absl::StrCat("PATH=", root_, "/bin:", std::getenv("PATH")));
    return base::RunTool("tools/hcq_smi/hcq_smi", absl::StrCat("--root ", root_, " ", args),
                         {.environment = std::move(environment)});
  }

  std::string root_;
  std::vector<pid_t> children_;
};

TEST_F(HcqSmiTest, WithoutDevices) {
  for (const char* command : {"amd kill_pids", "NV kill_pids --sudoless", "nv reset"}) {
    const Outcome o = RunTool(command);
    EXPECT_EQ(o.status, 0) << command;
    EXPECT_EQ(o.out + o.err, "") << command;
  }
  const Outcome pids = RunTool("AMD pids --pci_bus 0000");
  EXPECT_EQ(pids.status, 0);
  EXPECT_EQ(pids.out, "");
  EXPECT_EQ(pids.err, absl::StrCat("no device: there is no ", root_, "/tmp/am_0000*.lock\n"));
  EXPECT_EQ(RunTool("amd pids --json").out + RunTool("amd pids --json").err, "{\"devices\":[]}\n");
}

TEST_F(HcqSmiTest, Pids) {
  const pid_t a = Hold(Lock("am", "0000:03:00.0"));
  std::ofstream{Lock("am", "0000:83:00.0")};
  const pid_t n = Hold(Lock("nv", "0000:41:00.0"));
  EXPECT_EQ(
      RunTool("amd pids").out,
      absl::StrCat("0000:03:00.0: ", a, "\n0000:83:00.0: No processes found using this device\n"));
  EXPECT_EQ(RunTool("nv pids").out, absl::StrCat("0000:41:00.0: ", n, "\n"));
  EXPECT_EQ(RunTool("amd pids --pci_bus 0000:8").out,
            "0000:83:00.0: No processes found using this device\n");
  const nlohmann::json j = nlohmann::json::parse(RunTool("amd pids --json").out);
  EXPECT_EQ(j["devices"][0]["pids"][0], a);
  EXPECT_EQ(j["devices"][1]["pci_bus"], "0000:83:00.0");
}

TEST_F(HcqSmiTest, KillsWhoHoldsAndNobodyElse) {
  const std::string lock = Lock("am", "0000:03:00.0");
  const pid_t holder = Hold(lock), stubborn = Hold(Lock("am", "0000:04:00.0"), true);
  const pid_t other = Hold(Lock("nv", "0000:41:00.0"));
  const Outcome dry = RunTool("amd kill_pids --dry_run");
  EXPECT_EQ(dry.out, absl::StrCat("Would kill process ", holder, " (which uses 0000:03:00.0)\n",
                                  "Would kill process ", stubborn, " (which uses 0000:04:00.0)\n"));
  EXPECT_EQ(kill(holder, 0), 0);
  const Outcome o = RunTool("amd kill_pids --sudoless --grace 0.1");
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.out, absl::StrCat("Killing process ", holder, " (which uses 0000:03:00.0)\n",
                                "Killing process ", stubborn, " (which uses 0000:04:00.0)\n"));
  int status;
  ASSERT_EQ(waitpid(holder, &status, 0), holder);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  ASSERT_EQ(waitpid(stubborn, &status, 0), stubborn);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(kill(other, 0), 0);
  children_ = {other};
  EXPECT_EQ(Calls(), "");
}

TEST_F(HcqSmiTest, KillPidsAsJson) {
  const pid_t holder = Hold(Lock("nv", "0000:41:00.0"));
  const nlohmann::json j = nlohmann::json::parse(RunTool("NV kill_pids --json").out);
  EXPECT_EQ(j["killed"][0]["pid"], holder);
  EXPECT_EQ(j["killed"][0]["pci_bus"], "0000:41:00.0");
  EXPECT_EQ(j["dry_run"], false);
}

TEST_F(HcqSmiTest, LocksThatCannotBeTrusted) {
  const pid_t victim = Hold(root_ + "/elsewhere");
  std::filesystem::create_symlink(root_ + "/elsewhere", Lock("am", "0000:03:00.0"));
  for (const char* command : {"amd pids", "amd kill_pids"}) {
    const Outcome o = RunTool(command);
    EXPECT_EQ(o.status, 1);
    EXPECT_THAT(o.err, HasSubstr("error: cannot trust the lock of 0000:03:00.0: "));
    EXPECT_THAT(o.err, HasSubstr("is a symbolic link"));
  }
  EXPECT_EQ(kill(victim, 0), 0);
}

TEST_F(HcqSmiTest, Rmmod) {
  EXPECT_EQ(RunTool("amd rmmod").out, "Kernel modules are not loaded\n");
  EXPECT_EQ(RunTool("amd rmmod --expect").status, 0);
  Modules("nvidia_drm 1 0 - Live 0x0\nast 1 0 - Live 0x0\nnvidia 1 0 - Live 0x0\n");
  const Outcome expect = RunTool("nv rmmod --expect");
  EXPECT_EQ(expect.status, 1);
  EXPECT_EQ(expect.out, "Kernel modules are loaded: ['nvidia_drm', 'nvidia']\n");
  EXPECT_EQ(RunTool("amd rmmod").out, "Kernel modules are not loaded\n");
  EXPECT_EQ(Calls(), "");
  const Outcome removed = RunTool("nv rmmod --sudoless");
  EXPECT_EQ(removed.status, 0);
  EXPECT_EQ(removed.out, "Removing kernel modules: nvidia_drm, nvidia\n");
  EXPECT_EQ(Calls(), "modprobe -r nvidia_drm nvidia\n");
  const Outcome failed = RunTool("nv rmmod --sudoless", {"TOOL_STATUS=3"});
  EXPECT_EQ(failed.status, 3);
  EXPECT_EQ(failed.err, "Failed to unload all modules — they may be in use.\n");
}

TEST_F(HcqSmiTest, Insmod) {
  EXPECT_EQ(RunTool("amd insmod --sudoless").out,
            "Kernel modules are not loaded\n"
            "AMD devices are reset by the driver that starts them next: nothing to do\n"
            "Inserting kernel module: amdgpu\n");
  EXPECT_EQ(Calls(), "modprobe amdgpu\n");
  EXPECT_EQ(RunTool("nv insmod --sudoless").status, 0);
  EXPECT_THAT(Calls(), HasSubstr("nvidia-smi\n"));
}

TEST_F(HcqSmiTest, Reset) {
  std::ofstream{Lock("nv", "0000:41:00.0")};
  const std::string file = root_ + "/sys/bus/pci/devices/0000:41:00.0/reset";
  std::ofstream{file};
  EXPECT_EQ(RunTool("nv reset --dry_run").out, "Would reset device 0000:41:00.0\n");
  EXPECT_EQ(base::ReadFile(file).value(), "");
  EXPECT_EQ(RunTool("nv reset").out, "Resetting device 0000:41:00.0\n");
  EXPECT_EQ(base::ReadFile(file).value(), "1");
  std::filesystem::remove(file);
  const Outcome gone = RunTool("nv reset");
  EXPECT_EQ(gone.status, 1);
  EXPECT_THAT(gone.err, HasSubstr("error: cannot reset 0000:41:00.0: "));
}

TEST_F(HcqSmiTest, Mistakes) {
  EXPECT_EQ(RunTool("").status, 2);
  EXPECT_EQ(RunTool("intel pids").err,
            "error: the GPU is amd or nv, not intel; see hcq_smi --help\n");
  EXPECT_EQ(RunTool("amd dance").err, "error: there is no command dance; see hcq_smi --help\n");
  EXPECT_EQ(RunTool("amd pids --expect").status, 2);
  EXPECT_EQ(RunTool("amd kill_pids --grace -1").status, 2);
  EXPECT_EQ(RunTool("--help").status, 0);
}

}  // namespace
}  // namespace tg::hcq_smi
