#include "flash/card.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/settings.h"
#include "drivers/sim/amd/navi31_flash.h"
#include "drivers/sim/spi/gd25lq16e.h"
#include "flash/fault_registers.h"
#include "flash/pci_card.h"
#include "flash/sim_card.h"

namespace tg::flash {
namespace {

struct SimOptions {
  bool cmp = false;
  int status1 = 0;
  absl::string_view boot;
  LinkFault fault = LinkFault::kNone;
  int64_t fault_at = 0;
};

absl::StatusOr<SimOptions> ParseSimOptions(absl::string_view text) {
  static constexpr std::pair<const char*, LinkFault> kFaults[] = {
      {"fail-at", LinkFault::kError},
      {"lose-at", LinkFault::kLost},
      {"ones-at", LinkFault::kAllOnes},
      {"drop-at", LinkFault::kDropWrite},
      {"flip-at", LinkFault::kFlipRead}};
  SimOptions options;
  for (absl::string_view word : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(word, absl::MaxSplits('=', 1));
    bool known = false;
    if (word == "cmp") {
      options.cmp = known = true;
    } else if (pair.first == "boot" &&
               (pair.second == "romless" || pair.second == "firmware" || pair.second == "sos")) {
      options.boot = pair.second;
      known = true;
    } else if (pair.first == "bp" && absl::SimpleAtoi(pair.second, &options.status1) &&
               options.status1 >= 0 && options.status1 < 32) {
      options.status1 <<= 2;
      known = true;
    }
    for (const auto& [name, fault] : kFaults) {
      if (pair.first != name || !absl::SimpleAtoi(pair.second, &options.fault_at)) continue;
      options.fault = fault;
      known = options.fault_at >= 0;
    }
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("--sim: \"", word,
                       "\" is none of cmp, bp=0..31, boot=romless|firmware|sos, fail-at=N, "
                       "lose-at=N, ones-at=N, drop-at=N, flip-at=N"));
    }
  }
  return options;
}

// The flash of a simulated card: the image file itself, or a copy of it.
struct SimFlash {
  base::MappedFile file;
  std::vector<uint8_t> copy;
  absl::Span<uint8_t> bytes() { return copy.empty() ? file.mutable_bytes() : absl::MakeSpan(copy); }
};

class SimulatedCard final : public Card {
 public:
  SimulatedCard(const SimOptions& options, Path path, std::string file, SimFlash flash)
      : file_(std::move(file)),
        flash_(std::move(flash)),
        boot_(BootState(options, path)),
        card_(boot_, flash_.bytes()) {
    card_.chip().set_status(0, static_cast<uint8_t>(options.status1));
    card_.chip().set_status(1, options.cmp ? 0x40 : 0);
    card_.registers().Inject(options.fault, options.fault_at);
  }

  Registers& registers() override { return card_.registers(); }
  Clock& clock() override { return card_.clock(); }
  std::string description() const override {
    const char* const state = boot_ == sim::Navi31Boot::kRomless    ? "boot firmware not running"
                              : boot_ == sim::Navi31Boot::kFirmware ? "boot firmware running"
                                                                    : "secure OS running";
    return absl::StrCat("simulated Navi 31, ", state, ", flash in ", file_);
  }

 private:
  static sim::Navi31Boot BootState(const SimOptions& options, Path path) {
    if (options.boot == "sos") return sim::Navi31Boot::kSos;
    if (options.boot == "romless") return sim::Navi31Boot::kRomless;
    if (options.boot == "firmware") return sim::Navi31Boot::kFirmware;
    return path == Path::kRomSw ? sim::Navi31Boot::kRomless : sim::Navi31Boot::kFirmware;
  }

  const std::string file_;
  SimFlash flash_;
  const sim::Navi31Boot boot_;
  SimCard card_;
};

absl::StatusOr<std::unique_ptr<Card>> OpenSimulated(const CardOptions& options, Path path,
                                                    bool writable) {
  const absl::StatusOr<SimOptions> sim = ParseSimOptions(options.sim);
  if (!sim.ok()) return sim.status();
  if (options.device != 0) {
    return absl::NotFoundError(
        absl::StrFormat("device index %d out of range (found 1)", options.device));
  }
  const std::string name(absl::StripPrefix(options.transport, "sim:"));
  const std::string file = base::ResolveUserPath(name);
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(file, error);
  if (error) {
    return absl::NotFoundError(
        absl::StrCat(name, ": ", error.message(), "; --transport sim: takes an image of a flash"));
  }
  if (size != sim::Gd25lq16e::kSize) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: %d bytes; the flash of a simulated card has %d", name, size, sim::Gd25lq16e::kSize));
  }
  SimFlash flash;
  if (writable) {
    absl::StatusOr<base::MappedFile> mapped =
        base::MappedFile::OpenWritable(file, sim::Gd25lq16e::kSize);
    if (!mapped.ok()) return mapped.status();
    flash.file = *std::move(mapped);
  } else {
    const absl::StatusOr<std::string> bytes = base::ReadFile(file, sim::Gd25lq16e::kSize);
    if (!bytes.ok()) return bytes.status();
    flash.copy.assign(bytes->begin(), bytes->end());
  }
  if (flash.bytes().size() != sim::Gd25lq16e::kSize) {
    return absl::AbortedError(absl::StrCat(name, ": changed its size while it was opened"));
  }
  return std::make_unique<SimulatedCard>(*sim, path, name, std::move(flash));
}

}  // namespace

absl::Status CheckCardOptions(const CardOptions& options) {
  if (options.device < 0) return absl::InvalidArgumentError("--device: expected 0 or more");
  if (absl::StartsWith(options.transport, "sim:")) {
    return ParseSimOptions(options.sim).status();
  }
  if (!options.sim.empty()) {
    return absl::InvalidArgumentError("--sim goes with --transport sim:FILE");
  }
  for (const char* known : {"auto", "usb", "pci"}) {
    if (options.transport == known) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("unsupported transport '", options.transport,
                                                 "': expected auto, usb, pci or sim:FILE"));
}

absl::StatusOr<std::unique_ptr<Card>> OpenCard(const CardOptions& options, Path path,
                                               bool writable) {
  if (absl::StartsWith(options.transport, "sim:")) return OpenSimulated(options, path, writable);
  // Registers are written more boldly through ROM_SW than through the firmware: cards of this
  // machine, which may be in use, have to be asked for.
  return OpenPciCard({.transport = options.transport,
                      .pci_in_auto = path == Path::kFirmware,
                      .remote = base::Get(base::kRemote),
                      .remote_timeout = absl::Seconds(base::Get(base::kRemoteTimeout))},
                     options.device);
}

}  // namespace tg::flash
