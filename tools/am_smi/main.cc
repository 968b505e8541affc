// Shows what AMD GPUs are doing. See --help.

#include <csignal>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/terminal.h"
#include "tools/am_smi/model.h"
#include "tools/am_smi/print.h"

namespace tg::am_smi {
namespace {

constexpr char kDescription[] =
    "Shows temperatures, power, clocks, activity, memory and processes of AMD GPUs, again every "
    "second on a "
    "terminal, once elsewhere.\n"
    "\n"
    "Values come from the kernel's sysfs files. What a card or its driver does not report is "
    "absent, never "
    "zero, and the reason is printed. A card that a program drives from user space is shown with "
    "that "
    "program; of its sensors the kernel then knows little.";

constexpr char kExamples[] =
    "  am_smi\n"
    "  am_smi --list\n"
    "  am_smi --dev 0000:03:00.0 --json\n"
    "  am_smi --interval 0.2";

volatile std::sig_atomic_t g_stop = 0;
void OnInterrupt(int) { g_stop = 1; }

int Main(int argc, char** argv) {
  std::string dev, root;
  bool list = false, json = false;
  double interval = 1;
  base::Flags flags("am_smi", "shows what AMD GPUs are doing");
  flags.SetDescription(kDescription);
  flags.Add("list", &list, "print once and end");
  flags.Add("dev", &dev, "BUS", "only this device, as 0000:03:00.0");
  flags.Add("json", &json, "print one JSON object and end");
  flags.Add("interval", &interval, "SECONDS", "between two pictures on a terminal");
  flags.Add("root", &root, "DIR", "look for /sys and /tmp below this folder");
  flags.AddSection("EXAMPLES", kExamples);
  flags.ParseOrExit(argc, argv);
  if (!(interval >= 0.05 && interval <= 3600)) {
    std::fprintf(stderr, "error: --interval takes 0.05 to 3600 seconds; see am_smi --help\n");
    return 2;
  }
  if (!root.empty()) root = base::ResolveUserPath(root);

  const bool watch = !list && !json && base::IsTerminal(stdout);
  if (watch) std::signal(SIGINT, OnInterrupt);
  for (;;) {
    absl::StatusOr<std::vector<Gpu>> gpus = ReadGpus(root, dev);
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
