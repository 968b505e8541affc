// What hcq_smi does: kernel modules, resets and processes of GPUs that are driven from user space.
#ifndef TG_TOOLS_HCQ_SMI_HCQ_SMI_H_
#define TG_TOOLS_HCQ_SMI_HCQ_SMI_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace tg::hcq_smi {

enum class Backend { kAmd, kNvidia };

struct Options {
  Backend backend = Backend::kAmd;
  std::string pci_bus;  // Only devices whose bus begins with it.
  bool expect = false;
  bool sudoless = false;
  bool dry_run = false;
  bool json = false;
  absl::Duration grace = absl::Seconds(2);
  // A folder that stands for /: /tmp, /sys and /proc/modules are looked up below it.
  std::string root;
};

// Where output goes, and how other programs are run. Real ones by default.
struct Host {
  std::function<void(absl::string_view line)> print;
  std::function<void(absl::string_view line)> print_error;
  // Runs a program from PATH and waits: its exit status, 128 + n where signal n ended it. An error
  // when it cannot be started.
  std::function<absl::StatusOr<int>(const std::vector<std::string>& args)> run;
  // Replaces this process by itself under sudo; returns only where that fails. Empty: not possible.
  std::function<void()> become_root;

  static Host Real(const std::vector<std::string>& command_line);
};

// Kernel modules that drive the backend's GPUs, in the order in which they are removed.
std::vector<std::string> KernelModules(Backend backend);

// Each returns the exit status.
//
// Removes the backend's kernel modules; with `expect` only says whether any is loaded: 1 if so.
int RemoveModules(const Options& options, const Host& host);
// Removes the modules, resets the devices, and loads the kernel's driver.
int InsertModules(const Options& options, const Host& host);
// NVIDIA: a function level reset through sysfs. AMD devices are reset by what drives them next.
int ResetDevices(const Options& options, const Host& host);
// Processes that hold a device.
int ListPids(const Options& options, const Host& host);
// Ends them, those that appear meanwhile too: up to 128 rounds, 0.2 s apart.
int KillPids(const Options& options, const Host& host);

}  // namespace tg::hcq_smi

#endif  // TG_TOOLS_HCQ_SMI_HCQ_SMI_H_
