// Manages GPUs that programs drive from user space. See --help.

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/flags.h"
#include "tools/hcq_smi/hcq_smi.h"

namespace tg::hcq_smi {
namespace {

constexpr char kDescription[] =
    "Programs that drive a GPU from user space need it for themselves: the kernel's driver must be "
    "out of "
    "the way, and no other program may hold the device. This tool sees to both.\n"
    "\n"
    "GPU is amd or nv. COMMAND is one of\n"
    "\n"
    "  rmmod      remove the kernel's driver; with --expect only say whether it is loaded (then "
    "1)\n"
    "  insmod     remove it, reset the devices, load it again\n"
    "  reset      reset the devices (nv; AMD devices are reset when they are started)\n"
    "  pids       processes that hold a device\n"
    "  kill_pids  end them: SIGTERM, and SIGKILL for those that stay\n"
    "\n"
    "A device is one that has a lock file, /tmp/am_BUS.lock or /tmp/nv_BUS.lock. Only processes "
    "that hold "
    "the lock are touched, not such as merely have the file open. Lock files that are symbolic "
    "links or "
    "belong to other users are refused.";

constexpr char kExamples[] =
    "  hcq_smi amd rmmod --expect\n"
    "  hcq_smi amd pids --json\n"
    "  hcq_smi amd kill_pids --pci_bus 0000:03 --dry_run\n"
    "  hcq_smi nv insmod";

constexpr char kPrivileges[] =
    "modprobe is run by sudo where this is not root. Where processes of other users hold a device, "
    "the tool "
    "starts itself again under sudo. --sudoless does neither, and says what it may not do.";

int Main(int argc, char** argv) {
  std::string gpu, command;
  double grace = 2;
  Options o;
  base::Flags flags("hcq_smi", "manages GPUs that programs drive from user space");
  flags.SetDescription(kDescription);
  flags.AddArgument("GPU", &gpu, "amd or nv, in small or capital letters");
  flags.AddArgument("COMMAND", &command, "insmod, rmmod, reset, pids or kill_pids");
  flags.Add("pci_bus", &o.pci_bus, "BUS", "only devices whose bus begins with this, as 0000:03");
  flags.Add("expect", &o.expect, "rmmod: fail if a module is loaded, and change nothing");
  flags.Add("sudoless", &o.sudoless, "never use sudo");
  flags.Add("grace", &grace, "SECONDS",
            "kill_pids: between SIGTERM and SIGKILL; 0: SIGKILL at once");
  flags.Add("dry_run", &o.dry_run, "say what would be done, and do nothing");
  flags.Add("json", &o.json, "pids, kill_pids: print one JSON object");
  flags.Add("root", &o.root, "DIR", "look for /tmp, /sys and /proc/modules below this folder");
  flags.AddSection("PRIVILEGES", kPrivileges);
  flags.AddSection("EXAMPLES", kExamples);
  flags.ParseOrExit(argc, argv);

  auto usage = [](absl::string_view what) {
    std::fprintf(stderr, "error: %s; see hcq_smi --help\n", std::string(what).c_str());
    return 2;
  };
  const std::string backend = absl::AsciiStrToLower(gpu);
  if (backend != "amd" && backend != "nv") {
    return usage(absl::StrCat("the GPU is amd or nv, not ", gpu));
  }
  o.backend = backend == "amd" ? Backend::kAmd : Backend::kNvidia;
  if (!(grace >= 0 && grace <= 3600)) return usage("--grace takes 0 to 3600 seconds");
  o.grace = absl::Seconds(grace);
  if (o.expect && command != "rmmod") return usage("--expect belongs to rmmod");
  if (!o.root.empty()) o.root = base::ResolveUserPath(o.root);

  const Host host = Host::Real(std::vector<std::string>(argv + 1, argv + argc));
  if (command == "rmmod") return RemoveModules(o, host);
  if (command == "insmod") return InsertModules(o, host);
  if (command == "reset") return ResetDevices(o, host);
  if (command == "pids") return ListPids(o, host);
  if (command == "kill_pids") return KillPids(o, host);
  return usage(absl::StrCat("there is no command ", command));
}

}  // namespace
}  // namespace tg::hcq_smi

int main(int argc, char** argv) { return tg::hcq_smi::Main(argc, argv); }
