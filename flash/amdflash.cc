// Reads and writes the SPI flash of AMD Navi 31 cards. See --help.

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/flags.h"
#include "flash/commands.h"
#include "flash/report.h"

namespace tg::flash {
namespace {

constexpr char kDescription[] =
    "Saves, compares and rewrites the 2 MiB SPI flash that holds the boot firmware of a Radeon RX "
    "7900 (Navi 31), for cards that do not start any more and for those who want a copy first.\n"
    "\n"
    "Nothing is written without --yes. Before a write it shows the chip, the image and its hash, "
    "what the chip protects, which sectors differ and what will happen; each sector is read back "
    "and compared; the card's registers are left as they were found, also after an error. When it "
    "is interrupted, it prints the command that goes on.\n"
    "\n"
    "It never resets the card and never switches its power: do that by hand, and only when the "
    "flash is complete. Do not use it while a driver has the card.";

constexpr char kCommandsText[] =
    "Over the ROM_SW engine, for a card whose boot firmware does not run:\n"
    "\n"
    "  info                 the chip, its status registers, its parameters (SFDP)\n"
    "  read ADDR SIZE       bytes as hexadecimal digits, or to a file with -o\n"
    "  dump FILE            the whole flash; the file appears when it is complete\n"
    "  verify IMAGE         compares the whole flash with an image\n"
    "  flash IMAGE          writes an image, or the range of sectors that --start-sector and\n"
    "                       --sector-count give; --diff writes the sectors that differ\n"
    "\n"
    "Through the boot firmware, before any driver was loaded:\n"
    "\n"
    "  probe                asks the firmware for its state\n"
    "  dump FILE --firmware the whole flash, through the ROM aperture\n"
    "  ifwi-all IMAGE       hands the firmware every item of an image that it asks for\n"
    "\n"
    "Refused always, since what they do did not leave bootable cards: stream ITEM IMAGE, ifwi-step "
    "IMAGE, live-flash IMAGE.\n"
    "\n"
    "Numbers may be hexadecimal (0x1f0000). Options are taken before and after the command.";

constexpr char kRehearsalText[] =
    "--transport sim:FILE works on a simulated card whose flash is FILE, 2 MiB; `flash` changes "
    "the "
    "file (ifwi-all does not: the simulated firmware checks what it is handed). Time is simulated, "
    "so that a flash of minutes takes a second. Take a copy of an image, or begin with an erased "
    "chip:\n"
    "\n"
    "  head -c 2M /dev/zero | tr '\\0' '\\377' >card.bin\n"
    "\n"
    "--sim takes a list of what is to go wrong:\n"
    "\n"
    "  cmp, bp=N            the chip is protected (CMP bit; BP4..BP0 as a number)\n"
    "  boot=romless|firmware|sos\n"
    "                       how far the card has started\n"
    "  fail-at=N lose-at=N ones-at=N drop-at=N flip-at=N\n"
    "                       access N to the card fails; the link is lost from there on; "
    "everything\n"
    "                       reads as ones from there on; a write is dropped; a bit is read wrong";

constexpr char kRemoteText[] =
    "With REMOTE=HOST[:PORT],... in the environment PCI cards are those that remote_pci serves "
    "there: REMOTE=gpubox amdflash --transport pci info.";

constexpr char kJsonText[] =
    "With --json stdout is one object and everything else goes to stderr. It has \"ok\", \"error\" "
    "when that is false, and what the command found: card, chip, status_registers, cmp, protected "
    "[begin, end), image_sha256, image_problems, different_sectors, sectors_to_write, and after an "
    "incomplete flash next_sector and resume.";

constexpr char kExamplesText[] =
    "  amdflash info\n"
    "  amdflash dump before.bin\n"
    "  amdflash flash stock.bin --diff --dry-run\n"
    "  amdflash flash stock.bin --diff --clear-cmp --yes\n"
    "  amdflash verify stock.bin\n"
    "  amdflash --transport sim:copy.bin --sim cmp,lose-at=500000 flash stock.bin --clear-cmp "
    "--yes";

volatile std::sig_atomic_t interrupted = 0;

// One signal asks for a stop at the next safe place; a second one stops at once.
void OnSignal(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

bool ParseNumber(absl::string_view text, uint32_t* value) {
  if (absl::ConsumePrefix(&text, "0x") || absl::ConsumePrefix(&text, "0X")) {
    return !text.empty() && absl::SimpleHexAtoi(text, value);
  }
  return absl::SimpleAtoi(text, value);
}

[[noreturn]] void UsageError(const std::string& what) {
  std::fprintf(stderr, "error: %s; see amdflash --help\n", what.c_str());
  std::exit(2);
}

int Main(int argc, char** argv) {
  CommandOptions options;
  std::vector<std::string> words;
  std::string output;
  bool firmware = false;
  base::Flags flags("amdflash", "saves and rewrites the boot flash of AMD Navi 31 cards");
  flags.SetDescription(kDescription);
  flags.AddArguments("COMMAND ARGUMENT", &words, "what to do; see COMMANDS");
  flags.Add(
      "transport", &options.card.transport, "auto|usb|pci|sim:FILE",
      "how to reach the card; auto: behind a USB bridge, and by commands of the boot firmware also "
      "in this machine");
  flags.Add("device", &options.card.device, "N", "which card, where there are several");
  flags.Add("prescale", &options.prescale, "N", "divisor of the SPI clock, 0 to 15");
  flags.Add("start-sector", &options.start_sector, "N", "flash: first sector of 4 KiB");
  flags.Add("sector-count", &options.sector_count, "N", "flash: how many; -1 is all that are left");
  flags.Add("clear-cmp", &options.clear_cmp, "flash: clear the chip's CMP protection bit first");
  flags.Add("diff", &options.diff, "flash: write only sectors that differ");
  flags.Add("dry-run", &options.dry_run, "flash: show what would be written, and stop");
  flags.Add("yes", &options.yes, "do write");
  flags.Add("firmware", &firmware, "dump: through the boot firmware's ROM aperture");
  flags.Add("o", &output, "FILE", "read: write the bytes there");
  flags.Add("sim", &options.card.sim, "LIST", "what goes wrong with a simulated card");
  flags.Add("json", &options.json, "print one JSON object for scripts");
  flags.AddSection("COMMANDS", kCommandsText);
  flags.AddSection("REHEARSAL", kRehearsalText);
  flags.AddSection("CARDS OF OTHER MACHINES", kRemoteText);
  flags.AddSection("JSON", kJsonText);
  flags.AddSection("EXAMPLES", kExamplesText);
  flags.ParseOrExit(argc, argv);

  if (words.empty()) UsageError("a command is missing");
  if (absl::Status s = CheckCardOptions(options.card); !s.ok()) {
    UsageError(std::string(s.message()));
  }
  const std::string command = words[0];
  const auto takes = [&](size_t count, const char* what) {
    if (words.size() != count + 1) UsageError(absl::StrCat(command, " takes ", what));
  };
  options.interrupted = []() { return interrupted != 0; };
  Report report(options.json);
  report.Set("command", command);
  std::function<absl::Status()> run;
  uint32_t address = 0, size = 0;
  if (command == "info") {
    takes(0, "no argument");
    run = [&]() { return RunInfo(options, report); };
  } else if (command == "read") {
    takes(2, "ADDR SIZE");
    if (!ParseNumber(words[1], &address)) UsageError(absl::StrCat("no address: ", words[1]));
    if (!ParseNumber(words[2], &size)) UsageError(absl::StrCat("no size: ", words[2]));
    run = [&]() { return RunRead(options, address, size, output, report); };
  } else if (command == "dump") {
    takes(1, "FILE");
    run = [&]() {
      return firmware ? RunFirmwareDump(options, words[1], report)
                      : RunDump(options, words[1], report);
    };
  } else if (command == "verify") {
    takes(1, "IMAGE");
    run = [&]() { return RunVerify(options, words[1], report); };
  } else if (command == "flash") {
    takes(1, "IMAGE");
    run = [&]() { return RunFlash(options, words[1], report); };
  } else if (command == "probe") {
    takes(0, "no argument");
    run = [&]() { return RunProbe(options, report); };
  } else if (command == "ifwi-all") {
    takes(1, "IMAGE");
    run = [&]() { return RunIfwiAll(options, words[1], report); };
  } else if (command == "stream") {
    takes(2, "ITEM IMAGE");
    if (!ParseNumber(words[1], &address)) UsageError(absl::StrCat("no item: ", words[1]));
    run = [&]() { return RefuseFirmwareWrite(options, "stream"); };
  } else if (command == "ifwi-step") {
    takes(1, "IFWI");
    run = [&]() { return RefuseFirmwareWrite(options, "stream"); };
  } else if (command == "live-flash") {
    takes(1, "IFWI");
    run = [&]() { return RefuseFirmwareWrite(options, "flash"); };
  } else {
    UsageError(absl::StrCat("unknown command ", command));
  }

  std::signal(SIGINT, OnSignal);
  std::signal(SIGTERM, OnSignal);
  const absl::Status status = run();
  const std::string message(status.message());
  report.Finish(status.ok(), message);
  if (status.ok()) return 0;
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return 1;
}

}  // namespace
}  // namespace tg::flash

int main(int argc, char** argv) { return tg::flash::Main(argc, argv); }
