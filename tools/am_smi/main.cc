// Shows what AMD GPUs are doing. See --help.

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/settings.h"
#include "base/terminal.h"
#include "drivers/pci/device_lock.h"
#include "tools/am_smi/model.h"
#include "tools/am_smi/observe.h"
#include "tools/am_smi/print.h"

namespace tg::am_smi {
namespace {

constexpr char kDescription[] =
    "Shows temperatures, power, clocks, activity, memory and processes of AMD GPUs, again every "
    "second on a terminal, once elsewhere.\n"
    "\n"
    "Of a card with the kernel's driver the values come from sysfs. A card that a program drives "
    "from user space, or has driven, is asked itself, through its registers: that needs root, and "
    "leaves the program alone. What a card or its driver does not report is absent, never zero, "
    "and the reason is printed.";

constexpr char kSources[] =
    "With REMOTE=HOST[:PORT],... in the environment the cards are those that remote_pci serves "
    "there; --dev then takes a name as --list prints it. --sim shows a card that is not there: "
    "gfx942, gfx950, gfx1100, gfx1200 or gfx1201, and after commas small-bar (BAR 0 shows a part "
    "of "
    "its memory), vf (a virtual function), cold (no driver has started it), fault=no-response, "
    "taken, busy, rejected, unknown, failed, all-ones, nothing, short, or garbage.";

constexpr char kExamples[] =
    "  am_smi\n"
    "  am_smi --list\n"
    "  am_smi --dev 0000:03:00.0 --json\n"
    "  am_smi --interval 0.2\n"
    "  am_smi --list --sim gfx1100\n"
    "  REMOTE=10.0.0.2 am_smi --list";

volatile std::sig_atomic_t g_stop = 0;
void OnInterrupt(int) { g_stop = 1; }

absl::StatusOr<std::vector<Gpu>> Read(const std::string& sim, const std::string& root,
                                      const std::string& dev) {
  if (!sim.empty()) return ReadSimulated(sim);
  const std::string& remote = base::Get(base::kRemote);
  if (remote.empty()) return ReadGpus(root, dev);
  return ReadRemote(remote, absl::Seconds(base::Get(base::kRemoteTimeout)),
                    absl::StrCat(root, pci::kLockFolder), dev);
}

int Main(int argc, char** argv) {
  std::string dev, root, sim;
  bool list = false, json = false;
  double interval = 1;
  base::Flags flags("am_smi", "shows what AMD GPUs are doing");
  flags.SetDescription(kDescription);
  flags.Add("list", &list, "print once and end");
  flags.Add("dev", &dev, "BUS", "only this device, as 0000:03:00.0");
  flags.Add("json", &json, "print one JSON object and end");
  flags.Add("interval", &interval, "SECONDS", "between two pictures on a terminal");
  flags.Add("root", &root, "DIR", "look for /sys and /tmp below this folder");
  flags.Add("sim", &sim, "CARD", "show a simulated card instead");
  flags.AddSection("OTHER CARDS", kSources);
  flags.AddSection("EXAMPLES", kExamples);
  flags.ParseOrExit(argc, argv);
  if (!(interval >= 0.05 && interval <= 3600)) {
    std::fprintf(stderr, "error: --interval takes 0.05 to 3600 seconds; see am_smi --help\n");
    return 2;
  }
  if (!sim.empty() && !dev.empty()) {
    std::fprintf(stderr, "error: --sim shows one card, so --dev has no use; see am_smi --help\n");
    return 2;
  }
  if (!root.empty()) root = base::ResolveUserPath(root);

  const bool watch = !list && !json && base::IsTerminal(stdout);
  if (watch) std::signal(SIGINT, OnInterrupt);
  for (;;) {
    absl::StatusOr<std::vector<Gpu>> gpus = Read(sim, root, dev);
    if (!gpus.ok() && absl::IsInvalidArgument(gpus.status())) {
      std::fprintf(stderr, "error: %s; see am_smi --help\n",
                   std::string(gpus.status().message()).c_str());
      return 2;
    }
    if (!gpus.ok()) {
      std::fprintf(stderr, "error: cannot read the GPUs: %s; am_smi --list shows what is there\n",
                   std::string(gpus.status().message()).c_str());
      return 1;
    }
    if (json) {
      std::printf("%s\n", ToJson(*gpus).c_str());
      return 0;
    }
    const std::string text = ToText(*gpus, base::TerminalWidth(stdout), base::UseColor(stdout));
    if (!watch) {
      std::fputs(text.c_str(), stdout);
      return 0;
    }
    // From the top left, over what was there, so that nothing flickers.
    std::printf("\x1b[H\x1b[J%s", text.c_str());
    std::fflush(stdout);
    for (absl::Time until = absl::Now() + absl::Seconds(interval); absl::Now() < until;) {
      if (g_stop != 0) return 0;
      absl::SleepFor(absl::Milliseconds(20));
    }
  }
}

}  // namespace
}  // namespace tg::am_smi

int main(int argc, char** argv) { return tg::am_smi::Main(argc, argv); }
