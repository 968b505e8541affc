// The commands that reach the flash over the ROM_SW engine.

#include <algorithm>
#include <cctype>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "flash/commands.h"
#include "flash/flasher.h"
#include "flash/ifwi.h"
#include "flash/rom_sw.h"
#include "flash/sha256.h"
#include "flash/spi_nor.h"

namespace tg::flash {
namespace {

std::string Hex(absl::Span<const uint8_t> bytes) {
  return absl::BytesToHexString(base::AsText(bytes));
}

std::string JedecText(const Chip& chip) {
  return absl::StrJoin(chip.jedec, " ", [](std::string* out, uint8_t byte) {
    absl::StrAppendFormat(out, "%02X", byte);
  });
}

absl::Status Join(absl::Status first, const absl::Status& second) {
  if (second.ok()) return first;
  if (first.ok()) return second;
  return absl::Status(first.code(), absl::StrCat(first.message(), "; ", second.message()));
}

// An open card with its chip identified.
class Session {
 public:
  static absl::StatusOr<Session> Open(const CommandOptions& options, bool writable) {
    Session session;
    absl::StatusOr<std::unique_ptr<Card>> card = OpenCard(options.card, Path::kRomSw, writable);
    if (!card.ok()) return card.status();
    session.card_ = *std::move(card);
    absl::StatusOr<std::unique_ptr<RomSw>> bus =
        RomSw::Open(&session.card_->registers(), &session.card_->clock(), options.prescale);
    if (!bus.ok()) return bus.status();
    session.bus_ = *std::move(bus);
    absl::StatusOr<SpiNor> nor = SpiNor::Probe(session.bus_.get(), &session.card_->clock());
    if (!nor.ok()) return Join(nor.status(), session.bus_->Close());
    session.nor_ = std::make_unique<SpiNor>(*std::move(nor));
    return session;
  }

  Card& card() { return *card_; }
  SpiNor& nor() { return *nor_; }
  const Chip& chip() const { return nor_->chip(); }

  // Puts the registers back; the error of the work, if any, comes first.
  absl::Status Close(const absl::Status& status) { return Join(status, bus_->Close()); }

 private:
  Session() = default;
  std::unique_ptr<Card> card_;
  std::unique_ptr<RomSw> bus_;
  std::unique_ptr<SpiNor> nor_;
};

absl::Status Interrupted() { return absl::CancelledError("interrupted"); }

// A bar on terminals; elsewhere nothing, since commands print their own lines there.
class Bar {
 public:
  Bar(const char* label, int total, Clock* clock) {
    if (!base::IsTerminal(stderr)) return;
    bar_ = std::make_unique<base::Progress>(base::Progress::Options{
        .label = label, .total = total, .unit = "sector", .clock = [clock]() {
          return absl::ToDoubleSeconds(clock->Now());
        }});
  }
  void Update(int done) {
    if (bar_) bar_->Update(done);
  }
  bool visible() const { return bar_ != nullptr; }

 private:
  std::unique_ptr<base::Progress> bar_;
};

void ReportChip(Session& session, Report& report) {
  const Chip& chip = session.chip();
  report.Set("card", session.card().description());
  report.Set("chip", absl::StrCat(chip.vendor, " ", chip.name));
  report.Set("jedec_capture", Hex(session.nor().capture()));
  report.Line("card       %s", session.card().description());
  report.Line("chip       %s %s (%s), %d MiB", chip.vendor, chip.name, JedecText(chip),
              chip.size >> 20);
  const std::pair<const char*, Tried> operations[] = {{"read", chip.read},
                                                      {"erase", chip.erase},
                                                      {"program", chip.program},
                                                      {"protection", chip.protection}};
  for (const Tried tried : {Tried::kSimulated, Tried::kUntested}) {
    std::vector<absl::string_view> names;
    for (const auto& [name, how] : operations) {
      if (how == tried) names.push_back(name);
    }
    if (names.empty()) continue;
    report.Line("tried      %s: %s", TriedName(tried), absl::StrJoin(names, ", "));
    report.Set(absl::StrCat("tried_", tried == Tried::kSimulated ? "simulated" : "never"),
               std::vector<std::string>(names.begin(), names.end()));
  }
}

absl::StatusOr<std::vector<uint8_t>> ReadAll(Session& session, const CommandOptions& options,
                                             Report& report) {
  const Chip& chip = session.chip();
  std::vector<uint8_t> bytes(chip.size);
  const int sectors = static_cast<int>(chip.size / chip.sector);
  Bar bar("read", sectors, &session.card().clock());
  for (int sector = 0; sector < sectors; ++sector) {
    const uint32_t address = static_cast<uint32_t>(sector) * chip.sector;
    if (absl::Status s =
            session.nor().Read(address, absl::MakeSpan(bytes).subspan(address, chip.sector));
        !s.ok()) {
      return s;
    }
    if (options.interrupted()) return Interrupted();
    bar.Update(sector + 1);
    if (!bar.visible() && (address + chip.sector) % 0x10000 == 0) {
      report.Line("0x%06x/0x%06x", address + chip.sector, chip.size);
    }
  }
  return bytes;
}

absl::StatusOr<std::vector<uint8_t>> LoadImage(const std::string& path) {
  // One byte more than fits is enough to see that it is too long.
  const absl::StatusOr<std::string> bytes =
      base::ReadFile(base::ResolveUserPath(path), kIfwiSize + 1);
  if (bytes.ok() && bytes->size() == kIfwiSize) {
    return std::vector<uint8_t>(bytes->begin(), bytes->end());
  }
  if (!bytes.ok() && bytes.status().code() != absl::StatusCode::kResourceExhausted) {
    return bytes.status();
  }
  return absl::InvalidArgumentError(absl::StrCat(path, ": image must be exactly 0x200000 bytes"));
}

std::string RangeText(Range range) {
  return range.begin == range.end ? "nothing"
                                  : absl::StrFormat("0x%06x to 0x%06x", range.begin, range.end - 1);
}

std::string SectorsText(const std::vector<int>& sectors) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < sectors.size();) {
    size_t last = i;
    while (last + 1 < sectors.size() && sectors[last + 1] == sectors[last] + 1) ++last;
    if (parts.size() == 8) {
      parts.push_back("...");
      break;
    }
    parts.push_back(last == i ? absl::StrCat(sectors[i])
                              : absl::StrCat(sectors[i], "-", sectors[last]));
    i = last + 1;
  }
  return absl::StrJoin(parts, ", ");
}

// All that the user sees before a write.
void ReportPlan(const FlashPlan& plan, const std::vector<uint8_t>& image,
                const std::string& image_path, const Chip& chip, const CommandOptions& options,
                Report& report) {
  const std::string hash = Sha256(image);
  report.Line("status     SR1/SR2/SR3: %02x/%02x/%02x  CMP=%s; protected: %s", plan.status1,
              plan.status2, plan.status3, plan.cmp() ? "set" : "clear",
              RangeText(plan.protected_now));
  report.Line("image      %s, 0x%x bytes, sha256 %s", image_path, image.size(), hash);
  const std::vector<std::string> problems = IfwiProblems(image);
  if (problems.empty()) {
    report.Line("           has the tables of a Navi 31 IFWI (its signatures are not checked)");
  }
  for (const std::string& problem : problems) {
    report.Line("  WARNING  not a Navi 31 IFWI: %s", problem);
  }
  report.Line("range      sectors %d to %d of 0 to %d", plan.range.start,
              plan.range.start + plan.range.count - 1, chip.size / chip.sector - 1);
  report.Line("different  %d sectors%s%s", plan.different.size(),
              plan.different.empty() ? "" : ": ", SectorsText(plan.different));
  std::string will =
      plan.sectors.empty()
          ? "nothing is written; compare the range"
          : absl::StrFormat("erase, program and compare %d sectors (%d KiB)", plan.sectors.size(),
                            plan.sectors.size() * chip.sector / 1024);
  if (plan.cmp() && options.clear_cmp && !plan.sectors.empty()) {
    will = absl::StrCat("clear CMP (it stays clear), then ", will);
  }
  report.Line("plan       %s", will);
  report.Set("image", image_path);
  report.Set("image_size", static_cast<int64_t>(image.size()));
  report.Set("image_sha256", hash);
  report.Set("image_problems", problems);
  report.Set("status_registers", std::vector<int64_t>{plan.status1, plan.status2, plan.status3});
  report.Set("cmp", plan.cmp());
  report.Set("protected", std::vector<int64_t>{plan.protected_now.begin, plan.protected_now.end});
  report.Set("start_sector", int64_t{plan.range.start});
  report.Set("sector_count", int64_t{plan.range.count});
  report.Set("different_sectors",
             std::vector<int64_t>(plan.different.begin(), plan.different.end()));
  report.Set("sectors_to_write", static_cast<int64_t>(plan.sectors.size()));
}

std::string ResumeCommand(const CommandOptions& options, const std::string& image,
                          SectorRange range, int next_sector) {
  std::string command = "amdflash";
  if (options.card.transport != "auto") {
    absl::StrAppend(&command, " --transport ", ShellQuote(options.card.transport));
  }
  if (options.card.device != 0) absl::StrAppend(&command, " --device ", options.card.device);
  if (options.prescale != 8) absl::StrAppend(&command, " --prescale ", options.prescale);
  absl::StrAppend(&command, " flash ", ShellQuote(image), " --start-sector ", next_sector,
                  " --sector-count ", range.start + range.count - next_sector);
  if (options.clear_cmp) absl::StrAppend(&command, " --clear-cmp");
  if (options.diff) absl::StrAppend(&command, " --diff");
  return absl::StrCat(command, " --yes");
}

// Writes what the plan says, and with --diff compares what was right before as well.
absl::Status Execute(Session& session, const CommandOptions& options,
                     const std::vector<uint8_t>& image, const FlashPlan& plan, int* next_sector,
                     Report& report) {
  SpiNor& nor = session.nor();
  Clock& clock = session.card().clock();
  if (plan.cmp() && options.clear_cmp && !plan.sectors.empty()) {
    const absl::StatusOr<bool> cleared = nor.ClearCmp();
    if (!cleared.ok()) return cleared.status();
    if (*cleared) report.Line("cleared SR2.CMP");
  }
  const absl::Duration start = clock.Now();
  const double sector_kib = session.chip().sector / 1024.0;
  const int last = static_cast<int>(session.chip().size / session.chip().sector) - 1;
  {
    Bar bar("flash", static_cast<int>(plan.sectors.size()), &clock);
    if (absl::Status s = WriteSectors(
            nor, image, plan.sectors, next_sector,
            [&](int sector, int done, int total) -> absl::Status {
              const double seconds = absl::ToDoubleSeconds(clock.Now() - start);
              bar.Update(done);
              if (!bar.visible()) {
                report.Line("OK sector %03d/%d @0x%05x elapsed=%.1fs  %.1f KiB/s, %s left", sector,
                            last, static_cast<uint32_t>(sector) * session.chip().sector, seconds,
                            seconds > 0 ? done * sector_kib / seconds : 0.0,
                            base::FormatDuration(seconds / done * (total - done)));
              }
              return options.interrupted() && done < total ? Interrupted() : absl::OkStatus();
            });
        !s.ok()) {
      return s;
    }
  }
  report.Set("seconds", absl::ToDoubleSeconds(clock.Now() - start));
  if (plan.sectors.size() == static_cast<size_t>(plan.range.count)) return absl::OkStatus();
  Bar bar("compare", plan.range.count, &clock);
  *next_sector = plan.range.start;
  return VerifySectors(nor, image, plan.range, [&](int, int done, int) {
    bar.Update(done);
    return options.interrupted() ? Interrupted() : absl::OkStatus();
  });
}

}  // namespace

std::string ShellQuote(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_-./:,=+@%", c);
  });
  return plain ? word : absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

absl::Status RunInfo(const CommandOptions& options, Report& report) {
  absl::StatusOr<Session> session = Session::Open(options, /*writable=*/false);
  if (!session.ok()) return session.status();
  SpiNor& nor = session->nor();
  return session->Close([&]() -> absl::Status {
    const absl::StatusOr<uint8_t> sr1 = nor.Status1();
    if (!sr1.ok()) return sr1.status();
    const absl::StatusOr<uint8_t> sr2 = nor.Status2();
    if (!sr2.ok()) return sr2.status();
    const absl::StatusOr<uint8_t> sr3 = nor.Status3();
    if (!sr3.ok()) return sr3.status();
    const absl::StatusOr<std::vector<uint8_t>> sfdp = nor.ReadSfdp(24);
    if (!sfdp.ok()) return sfdp.status();
    ReportChip(*session, report);
    report.Line("JEDEC capture: %s (%s detected)", Hex(nor.capture()), JedecText(session->chip()));
    const bool cmp = *sr2 & 0x40;
    report.Line("SR1/SR2/SR3: %02x/%02x/%02x  CMP=%s", *sr1, *sr2, *sr3, cmp ? "set" : "clear");
    const Range guarded = ProtectedRange(session->chip(), *sr1, *sr2);
    report.Line("protected: %s", RangeText(guarded));
    const size_t at = base::AsText(*sfdp).find("SFDP");
    const int64_t signature = at == absl::string_view::npos ? -1 : static_cast<int64_t>(at);
    report.Line("SFDP capture: %s  signature_offset=%d", Hex(*sfdp), signature);
    report.Set("status_registers", std::vector<int64_t>{*sr1, *sr2, *sr3});
    report.Set("cmp", cmp);
    report.Set("protected", std::vector<int64_t>{guarded.begin, guarded.end});
    report.Set("sfdp", Hex(*sfdp));
    report.Set("sfdp_signature_offset", signature);
    return absl::OkStatus();
  }());
}

absl::Status RunRead(const CommandOptions& options, uint32_t address, uint32_t size,
                     const std::string& output, Report& report) {
  // Before memory is taken for it. Every chip that is known has this size.
  if (address > kIfwiSize || size > kIfwiSize - address) {
    return absl::OutOfRangeError("read outside 2 MiB flash");
  }
  absl::StatusOr<Session> session = Session::Open(options, /*writable=*/false);
  if (!session.ok()) return session.status();
  std::vector<uint8_t> bytes(size);
  if (absl::Status s = session->Close(session->nor().Read(address, absl::MakeSpan(bytes)));
      !s.ok()) {
    return s;
  }
  report.Set("address", int64_t{address});
  report.Set("size", int64_t{size});
  if (output.empty()) {
    report.Set("data", Hex(bytes));
    report.Line("%s", Hex(bytes));
    return absl::OkStatus();
  }
  report.Set("file", output);
  if (absl::Status s =
          base::WriteFileAtomically(base::ResolveUserPath(output), base::AsText(bytes));
      !s.ok()) {
    return s;
  }
  report.Line("wrote %s sha256=%s", output, Sha256(bytes));
  return absl::OkStatus();
}

absl::Status RunDump(const CommandOptions& options, const std::string& output, Report& report) {
  absl::StatusOr<Session> session = Session::Open(options, /*writable=*/false);
  if (!session.ok()) return session.status();
  const absl::StatusOr<std::vector<uint8_t>> bytes = ReadAll(*session, options, report);
  if (absl::Status s = session->Close(bytes.status()); !s.ok()) return s;
  if (absl::Status s =
          base::WriteFileAtomically(base::ResolveUserPath(output), base::AsText(*bytes));
      !s.ok()) {
    return s;
  }
  const std::string hash = Sha256(*bytes);
  report.Line("wrote %s sha256=%s", output, hash);
  const std::vector<std::string> problems = IfwiProblems(*bytes);
  for (const std::string& problem : problems) {
    report.Line("note: not a Navi 31 IFWI: %s", problem);
  }
  report.Set("file", output);
  report.Set("sha256", hash);
  report.Set("image_problems", problems);
  return absl::OkStatus();
}

absl::Status RunVerify(const CommandOptions& options, const std::string& image_path,
                       Report& report) {
  const absl::StatusOr<std::vector<uint8_t>> image = LoadImage(image_path);
  if (!image.ok()) return image.status();
  absl::StatusOr<Session> session = Session::Open(options, /*writable=*/false);
  if (!session.ok()) return session.status();
  const Chip& chip = session->chip();
  Bar bar("verify", static_cast<int>(chip.size / chip.sector), &session->card().clock());
  const absl::StatusOr<SectorRange> all = CheckSectorRange(0, -1, chip);
  if (absl::Status s = session->Close(VerifySectors(session->nor(), *image, *all,
                                                    [&](int, int done, int) {
                                                      bar.Update(done);
                                                      return options.interrupted()
                                                                 ? Interrupted()
                                                                 : absl::OkStatus();
                                                    }));
      !s.ok()) {
    return s;
  }
  const std::string hash = Sha256(*image);
  report.Line("verified 0x%x bytes sha256=%s", image->size(), hash);
  report.Set("image", image_path);
  report.Set("sha256", hash);
  return absl::OkStatus();
}

absl::Status RunFlash(const CommandOptions& options, const std::string& image_path,
                      Report& report) {
  if (!options.yes && !options.dry_run) {
    return absl::FailedPreconditionError(
        "refusing to write without --yes; --dry-run shows what would be written");
  }
  const absl::StatusOr<std::vector<uint8_t>> image = LoadImage(image_path);
  if (!image.ok()) return image.status();
  // Every chip that is known has the same sectors; the range is checked before one is opened.
  const absl::StatusOr<SectorRange> range =
      CheckSectorRange(options.start_sector, options.sector_count, Chips()[0]);
  if (!range.ok()) return range.status();
  absl::StatusOr<Session> session = Session::Open(options, /*writable=*/!options.dry_run);
  if (!session.ok()) return session.status();
  ReportChip(*session, report);
  const auto read = [&]() -> absl::StatusOr<FlashPlan> {
    Bar bar("compare", range->count, &session->card().clock());
    return PlanFlash(session->nor(), *image, *range, options.diff, [&](int, int done, int) {
      bar.Update(done);
      return options.interrupted() ? Interrupted() : absl::OkStatus();
    });
  };
  const absl::StatusOr<FlashPlan> plan = read();
  if (!plan.ok()) {
    const absl::Status s = session->Close(plan.status());
    return absl::Status(s.code(), absl::StrCat(s.message(), "; nothing was written"));
  }
  ReportPlan(*plan, *image, image_path, session->chip(), options, report);
  if (absl::Status s = CheckPlan(*plan, session->chip(), options.clear_cmp);
      !s.ok() || options.dry_run) {
    s = session->Close(s);
    if (s.ok()) report.Line("dry run: nothing was written");
    return s;
  }
  int next_sector = plan->sectors.empty() ? range->start : plan->sectors.front();
  const absl::Status done =
      session->Close(Execute(*session, options, *image, *plan, &next_sector, report));
  if (done.ok()) {
    report.Line("flashed: %d sectors written, sectors %d to %d are the image's",
                plan->sectors.size(), range->start, range->start + range->count - 1);
    return done;
  }
  const int end = range->start + range->count;
  if (next_sector >= end) return done;  // all is written; what failed is putting registers back
  const std::string resume = ResumeCommand(options, image_path, *range, next_sector);
  report.Set("resume", resume);
  report.Set("next_sector", int64_t{next_sector});
  return absl::Status(
      done.code(),
      absl::StrCat(done.message(), "\nThe flash is not complete: from sector ", next_sector,
                   " on it is not the image's. Do not switch the card off. Resume with:\n  ",
                   resume));
}

}  // namespace tg::flash
