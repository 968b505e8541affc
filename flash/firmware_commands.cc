// The commands that go through the card's boot firmware.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "flash/commands.h"
#include "flash/ifwi.h"
#include "flash/psp_mailbox.h"
#include "flash/rom_aperture.h"
#include "flash/sha256.h"

namespace tg::flash {
namespace {

// The firmware asks for 18 items in all; one more is room, not a plan.
constexpr int kMaxItems = 19;
constexpr uint32_t kTerminalPhase = 2;

}  // namespace

absl::Status RefuseFirmwareWrite(const CommandOptions& options, const std::string& verb) {
  if (!options.yes) {
    return absl::FailedPreconditionError(absl::StrCat("refusing to ", verb, " without --yes"));
  }
  return absl::FailedPreconditionError(
      "firmware writes are disabled: stock reflash validation failed; use `amdflash flash` for "
      "recovery");
}

absl::Status RunProbe(const CommandOptions& options, Report& report) {
  const absl::StatusOr<std::unique_ptr<Card>> card =
      OpenCard(options.card, Path::kFirmware, /*writable=*/false);
  if (!card.ok()) return card.status();
  PspMailbox mailbox(&(*card)->registers(), &(*card)->clock());
  report.Set("card", (*card)->description());
  const struct {
    const char* name;
    uint32_t command;
  } commands[] = {{"boot_partition", PspMailbox::kGetBootPartition},
                  {"fb_state", PspMailbox::kGetFbState},
                  {"model_id", PspMailbox::kSpiGetModelId},
                  {"transfer_type", PspMailbox::kGetTransferType}};
  for (const auto& [name, command] : commands) {
    const absl::StatusOr<PspMailbox::Reply> reply = mailbox.Run(command);
    if (!reply.ok()) return reply.status();
    report.Line("%s: error=0x%x response=0x%x", name, reply->error, reply->response);
    report.Set(name, std::vector<int64_t>{reply->error, reply->response});
    if (command == PspMailbox::kGetTransferType && reply->error == PspMailbox::kGated) {
      std::fprintf(stderr, "update commands gated: reset card and do not initialize AMDev/SOS\n");
    }
  }
  return absl::OkStatus();
}

absl::Status RunFirmwareDump(const CommandOptions& options, const std::string& output,
                             Report& report) {
  const absl::StatusOr<std::unique_ptr<Card>> card =
      OpenCard(options.card, Path::kFirmware, /*writable=*/false);
  if (!card.ok()) return card.status();
  Clock& clock = (*card)->clock();
  const absl::Duration start = clock.Now();
  const absl::StatusOr<std::vector<uint8_t>> dump =
      ReadRomAperture((*card)->registers(), [&](size_t done) {
        report.Line("0x%06x/0x%06x", done, kIfwiSize);
        return options.interrupted() ? absl::CancelledError("interrupted") : absl::OkStatus();
      });
  if (!dump.ok()) return dump.status();
  if (absl::Status s = CheckRomDump(*dump); !s.ok()) return s;
  if (absl::Status s =
          base::WriteFileAtomically(base::ResolveUserPath(output), base::AsText(*dump));
      !s.ok()) {
    return s;
  }
  const std::string hash = Sha256(*dump);
  report.Line("dumped 0x%x bytes in %.1fs sha256=%s", dump->size(),
              absl::ToDoubleSeconds(clock.Now() - start), hash);
  report.Set("file", output);
  report.Set("sha256", hash);
  return absl::OkStatus();
}

absl::Status RunIfwiAll(const CommandOptions& options, const std::string& image_path,
                        Report& report) {
  if (!options.yes) return absl::FailedPreconditionError("refusing to stream without --yes");
  const absl::StatusOr<std::string> bytes =
      base::ReadFile(base::ResolveUserPath(image_path), kIfwiSize + 1);
  if (!bytes.ok() && bytes.status().code() != absl::StatusCode::kResourceExhausted) {
    return bytes.status();
  }
  if (!bytes.ok() || bytes->size() != kIfwiSize) {
    return absl::InvalidArgumentError("Navi31 IFWI image must be exactly 2 MiB");
  }
  const absl::Span<const uint8_t> image = base::AsBytes(*bytes);
  // What the firmware will ask for must all be there: better found now than in the middle.
  if (const std::vector<std::string> problems = IfwiProblems(image); !problems.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(image_path, " is not a Navi 31 IFWI: ", problems.front()));
  }
  const absl::StatusOr<std::unique_ptr<Card>> card =
      OpenCard(options.card, Path::kFirmware, /*writable=*/false);
  if (!card.ok()) return card.status();
  Clock& clock = (*card)->clock();
  PspMailbox mailbox(&(*card)->registers(), &clock);
  report.Line("card       %s", (*card)->description());
  report.Line("image      %s, 0x%x bytes, sha256 %s", image_path, image.size(), Sha256(image));
  absl::StatusOr<uint32_t> current = mailbox.TransferType();
  if (!current.ok()) return current.status();
  std::vector<int64_t> states;
  for (int step = 1; step <= kMaxItems; ++step) {
    const uint32_t item = *current & 0xff, phase = *current >> 8;
    states.push_back(*current);
    report.Set("states", states);
    report.Line("IFWI step %d: state=0x%x item=0x%x phase=%d", step, *current, item, phase);
    const absl::StatusOr<IfwiItem> resolved = ResolveIfwiItem(image, item);
    if (!resolved.ok()) return resolved.status();
    report.Line("resolved requested item 0x%x: offset=0x%x size=0x%x", item, resolved->offset,
                resolved->size);
    const absl::Duration start = clock.Now();
    report.Line("firmware transfer_type=0x%x", *current);
    if (absl::Status s = mailbox.Stream(
            image.subspan(resolved->offset, resolved->size), item, *current,
            [&](size_t sent, size_t total, absl::Duration elapsed) {
              report.Line("0x%x/0x%x (%.1f KiB/s)", sent, total,
                          static_cast<double>(sent) / 1024 /
                              std::max(absl::ToDoubleSeconds(elapsed), 1e-9));
            },
            options.interrupted);
        !s.ok()) {
      return absl::Status(s.code(),
                          absl::StrFormat("%s; the firmware has taken %d items and not this one "
                                          "(0x%x); do not switch the card off before `amdflash "
                                          "probe` says what it waits for",
                                          s.message(), step - 1, item));
    }
    report.Line("stream complete: type=0x%x size=0x%x elapsed=%.1fs", item, resolved->size,
                absl::ToDoubleSeconds(clock.Now() - start));
    if (phase == kTerminalPhase) {
      report.Line("IFWI stream complete after terminal state 0x%x; hard power cycle required",
                  *current);
      return absl::OkStatus();
    }
    current = mailbox.TransferType();
    if (!current.ok()) return current.status();
  }
  return absl::FailedPreconditionError(absl::StrFormat(
      "IFWI stream did not reach terminal phase after %d items (state=0x%x)", kMaxItems, *current));
}

}  // namespace tg::flash
