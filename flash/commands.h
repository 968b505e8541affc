#ifndef TG_FLASH_COMMANDS_H_
#define TG_FLASH_COMMANDS_H_

// The commands of amdflash. Each opens the card, does its work, leaves the card's registers as they
// were and reports; an error is what the user is told. Nothing is opened before every refusal that
// needs no card was made.

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "flash/card.h"
#include "flash/report.h"

namespace tg::flash {

struct CommandOptions {
  CardOptions card;
  int prescale = 8;
  int start_sector = 0;
  int sector_count = -1;  // all that are left
  bool clear_cmp = false;
  bool diff = false;
  bool dry_run = false;
  bool yes = false;
  bool json = false;
  // Whether the user wants to stop; asked between sectors.
  std::function<bool()> interrupted;
};

// Over the ROM_SW engine.
absl::Status RunInfo(const CommandOptions& options, Report& report);
// `output` empty: hexadecimal digits on stdout.
absl::Status RunRead(const CommandOptions& options, uint32_t address, uint32_t size,
                     const std::string& output, Report& report);
absl::Status RunDump(const CommandOptions& options, const std::string& output, Report& report);
absl::Status RunVerify(const CommandOptions& options, const std::string& image, Report& report);
absl::Status RunFlash(const CommandOptions& options, const std::string& image, Report& report);

// Through the boot firmware.
absl::Status RunProbe(const CommandOptions& options, Report& report);
absl::Status RunFirmwareDump(const CommandOptions& options, const std::string& output,
                             Report& report);
absl::Status RunIfwiAll(const CommandOptions& options, const std::string& image, Report& report);

// Commands that are always refused; `verb` is what is not done without --yes.
absl::Status RefuseFirmwareWrite(const CommandOptions& options, const std::string& verb);

// A word as a shell takes it.
std::string ShellQuote(const std::string& word);

}  // namespace tg::flash

#endif  // TG_FLASH_COMMANDS_H_
