#include "tools/hcq_smi/hcq_smi.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/process.h"
#include "drivers/pci/device_lock.h"
#include "drivers/pci/lock_holders.h"
#include "nlohmann/json.hpp"

namespace tg::hcq_smi {
namespace {

using nlohmann::json;

constexpr int kRounds = 128;
constexpr absl::Duration kBetweenRounds = absl::Milliseconds(200);

int Fail(const Host& host, absl::string_view what, absl::string_view why, absl::string_view todo) {
  host.print_error(absl::StrCat("error: ", what, ": ", why, "; ", todo));
  return 1;
}

const char* Prefix(Backend backend) {
  return backend == Backend::kAmd ? pci::kAmdLocks : pci::kNvidiaLocks;
}

absl::StatusOr<std::vector<pci::LockFile>> Devices(const Options& o) {
  return pci::FindLockFiles(absl::StrCat(o.root, pci::kLockFolder), Prefix(o.backend), o.pci_bus);
}

// Those of the backend's modules that the kernel has, by /proc/modules.
std::vector<std::string> LoadedModules(const Options& o) {
  std::ifstream file(absl::StrCat(o.root, "/proc/modules"));
  std::set<std::string> loaded;
  for (std::string line; std::getline(file, line);) {
    loaded.insert(line.substr(0, line.find(' ')));
  }
  std::vector<std::string> modules;
  for (const std::string& m : KernelModules(o.backend)) {
    if (loaded.count(m) != 0) modules.push_back(m);
  }
  return modules;
}

// Runs a program that needs root, under sudo where this process is not.
absl::StatusOr<int> RunAsRoot(const Options& o, const Host& host, std::vector<std::string> args) {
  if (geteuid() != 0 && !o.sudoless) args.insert(args.begin(), "sudo");
  return host.run(args);
}

struct Device {
  std::string bus, path;
  absl::Status error;  // Of reading its lock.
  pci::LockHolders holders;
};

absl::StatusOr<std::vector<Device>> DevicesWithHolders(const Options& o, const Host& host) {
  absl::StatusOr<std::vector<pci::LockFile>> files = Devices(o);
  if (!files.ok()) return files.status();
  std::vector<Device> devices;
  for (const pci::LockFile& f : *files) {
    absl::StatusOr<pci::LockHolders> holders = pci::FindLockHolders(f.path);
    if (holders.ok() && holders->incomplete && !o.sudoless && host.become_root) host.become_root();
    devices.push_back(
        {f.bus, f.path, holders.status(), holders.ok() ? *std::move(holders) : pci::LockHolders()});
  }
  return devices;
}

json ToJson(const Device& d) {
  json j = {{"pci_bus", d.bus}, {"lock", d.path}, {"pids", d.holders.pids}};
  if (!d.error.ok()) j["error"] = std::string(d.error.message());
  if (d.holders.incomplete) j["incomplete"] = true;
  return j;
}

}  // namespace

std::vector<std::string> KernelModules(Backend backend) {
  if (backend == Backend::kAmd) return {"amdgpu"};
  return {"nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia"};
}

int RemoveModules(const Options& o, const Host& host) {
  const std::vector<std::string> modules = LoadedModules(o);
  if (modules.empty()) {
    host.print("Kernel modules are not loaded");
    return 0;
  }
  if (o.expect) {
    host.print(absl::StrCat("Kernel modules are loaded: ['", absl::StrJoin(modules, "', '"), "']"));
    return 1;
  }
  host.print(absl::StrCat(o.dry_run ? "Would remove" : "Removing",
                          " kernel modules: ", absl::StrJoin(modules, ", ")));
  if (o.dry_run) return 0;
  std::vector<std::string> args = {"modprobe", "-r"};
  args.insert(args.end(), modules.begin(), modules.end());
  absl::StatusOr<int> status = RunAsRoot(o, host, args);
  if (!status.ok()) {
    return Fail(host, "cannot remove modules", status.status().message(), "install kmod");
  }
  if (*status != 0) host.print_error("Failed to unload all modules — they may be in use.");
  return *status;
}

int InsertModules(const Options& options, const Host& host) {
  Options o = options;
  o.expect = false;
  if (int status = RemoveModules(o, host); status != 0) return status;
  if (int status = ResetDevices(o, host); status != 0) return status;
  const std::string module = o.backend == Backend::kAmd ? "amdgpu" : "nvidia";
  const std::vector<std::string> loaded = LoadedModules(o);
  if (std::find(loaded.begin(), loaded.end(), module) != loaded.end()) {
    host.print(absl::StrCat(module, " kernel module already loaded"));
    return 0;
  }
  host.print(absl::StrCat(o.dry_run ? "Would insert" : "Inserting", " kernel module: ", module));
  if (o.dry_run) return 0;
  // nvidia-smi loads its modules and makes their device files.
  absl::StatusOr<int> status = o.backend == Backend::kAmd
                                   ? RunAsRoot(o, host, {"modprobe", "amdgpu"})
                                   : host.run({"nvidia-smi"});
  if (!status.ok()) {
    return Fail(host, "cannot insert the module", status.status().message(),
                o.backend == Backend::kAmd ? "install kmod" : "install the NVIDIA driver");
  }
  return *status;
}

int ResetDevices(const Options& o, const Host& host) {
  if (o.backend == Backend::kAmd) {
    host.print("AMD devices are reset by the driver that starts them next: nothing to do");
    return 0;
  }
  absl::StatusOr<std::vector<pci::LockFile>> devices = Devices(o);
  if (!devices.ok()) {
    return Fail(host, "cannot list devices", devices.status().message(), "is /tmp there?");
  }
  int result = 0;
  for (const pci::LockFile& d : *devices) {
    // A bus comes from a file's name, which anybody may have chosen.
    if (d.bus.find('/') != std::string::npos || d.bus.find("..") != std::string::npos) continue;
    host.print(absl::StrCat(o.dry_run ? "Would reset" : "Resetting", " device ", d.bus));
    if (o.dry_run) continue;
    const std::string file = absl::StrCat(o.root, "/sys/bus/pci/devices/", d.bus, "/reset");
    const int fd = open(file.c_str(), O_WRONLY | O_CLOEXEC);
    const bool written = fd >= 0 && write(fd, "1", 1) == 1;
    const int error = errno;
    if (fd >= 0) close(fd);
    if (written) continue;
    if (error == EACCES && !o.sudoless && host.become_root) host.become_root();
    result =
        Fail(host, absl::StrCat("cannot reset ", d.bus), absl::ErrnoToStatus(error, file).message(),
             error == EACCES ? "run as root" : "is the device there, and can it be reset?");
  }
  return result;
}

int ListPids(const Options& o, const Host& host) {
  absl::StatusOr<std::vector<Device>> devices = DevicesWithHolders(o, host);
  if (!devices.ok()) {
    return Fail(host, "cannot list devices", devices.status().message(), "is /tmp there?");
  }
  if (devices->empty() && !o.json) {
    // Nothing at all would leave people wondering; scripts read the other stream.
    host.print_error(absl::StrCat("no device: there is no ", o.root, pci::kLockFolder, "/",
                                  Prefix(o.backend), "_", o.pci_bus, "*.lock"));
  }
  int result = 0;
  json list = json::array();
  for (const Device& d : *devices) {
    if (o.json) {
      list.push_back(ToJson(d));
    } else if (d.error.ok()) {
      for (pid_t pid : d.holders.pids) host.print(absl::StrCat(d.bus, ": ", pid));
      if (d.holders.pids.empty()) {
        host.print(absl::StrCat(d.bus, ": No processes found using this device"));
      }
    }
    if (!d.error.ok()) {
      result = Fail(host, absl::StrCat("cannot trust the lock of ", d.bus), d.error.message(),
                    "look at the file and remove it if it is not yours");
    }
  }
  if (o.json) host.print(json{{"devices", list}}.dump());
  return result;
}

int KillPids(const Options& o, const Host& host) {
  json killed = json::array();
  int result = 0;
  auto finish = [&](int status) {
    if (o.json) host.print(json{{"dry_run", o.dry_run}, {"killed", killed}}.dump());
    return status;
  };
  for (int round = 0; round < kRounds; ++round) {
    absl::StatusOr<std::vector<Device>> devices = DevicesWithHolders(o, host);
    if (!devices.ok()) {
      return finish(
          Fail(host, "cannot list devices", devices.status().message(), "is /tmp there?"));
    }
    bool found = false;
    for (const Device& d : *devices) {
      if (!d.error.ok() && round == 0) {
        result = Fail(host, absl::StrCat("cannot trust the lock of ", d.bus), d.error.message(),
                      "look at the file and remove it if it is not yours");
      }
      for (pid_t pid : d.holders.pids) {
        const json entry = {{"pid", pid}, {"pci_bus", d.bus}, {"command", base::ProcessName(pid)}};
        if (!o.json) {
          host.print(absl::StrCat(o.dry_run ? "Would kill" : "Killing", " process ", pid,
                                  " (which uses ", d.bus, ")"));
        }
        found = true;
        if (o.dry_run) {
          killed.push_back(entry);
          continue;
        }
        absl::StatusOr<bool> ended = pci::EndLockHolder(pid, d.path, o.grace);
        if (ended.ok()) {
          if (*ended) killed.push_back(entry);
          continue;
        }
        const bool denied = absl::IsPermissionDenied(ended.status());
        if (denied && !o.sudoless && host.become_root) host.become_root();
        return finish(Fail(host, absl::StrCat("cannot kill process ", pid),
                           ended.status().message(), denied ? "run as root" : "look at dmesg"));
      }
    }
    if (!found || o.dry_run) return finish(result);
    absl::SleepFor(kBetweenRounds);
  }
  return finish(Fail(host, "devices are still in use", "new processes take them all the time",
                     "stop what starts them"));
}

Host Host::Real(const std::vector<std::string>& command_line) {
  Host host;
  host.print = [](absl::string_view line) {
    std::printf("%s\n", std::string(line).c_str());
    std::fflush(stdout);
  };
  host.print_error = [](absl::string_view line) {
    std::fprintf(stderr, "%s\n", std::string(line).c_str());
  };
  host.run = [](const std::vector<std::string>& args) -> absl::StatusOr<int> {
    absl::StatusOr<base::ProcessResult> result = base::RunProcess(args, {.share_streams = true});
    if (!result.ok()) return result.status();
    return result->status;
  };
  if (geteuid() != 0) {
    host.become_root = [command_line] {
      std::error_code error;
      const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
      if (error) return;
      // Root needs no sudo, so this does not go round in circles.
      std::vector<std::string> args = {"sudo", "--", self};
      args.insert(args.end(), command_line.begin(), command_line.end());
      std::vector<char*> argv;
      for (const std::string& a : args) argv.push_back(const_cast<char*>(a.c_str()));
      argv.push_back(nullptr);
      execvp("sudo", argv.data());
    };
  }
  return host;
}

}  // namespace tg::hcq_smi
