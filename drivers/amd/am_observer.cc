#include "drivers/amd/am_observer.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "drivers/amd/am_layout.h"
#include "drivers/amd/page_tables.h"
#include "drivers/amd/smu_mailbox.h"
#include "drivers/amd/vram_window.h"

namespace tg::amd {
namespace {

// The SMU answers within a millisecond, or does not.
constexpr absl::Duration kSmuTimeout = absl::Milliseconds(100);
constexpr int kVramBar = 0, kRegisterBar = 5;
// MMHUB 1.8 (MI300), segment 0: the place of a card's memory in a group of cards. PF_LFB_REGION is
// bits 3:0 of the first, PF_LFB_SIZE bits 16:0 of the second, in 16 MiB.
constexpr uint64_t kXgmiLfbCntl = 0xc97, kXgmiLfbSize = 0xc98;

class AmCard {
 public:
  explicit AmCard(pci::Function* function) : function_(*function) {}

  absl::StatusOr<AmObservation> Observe() {
    if (absl::Status s = Open(); !s.ok()) return s;
    AmObservation seen;
    seen.gc = gc_->version;
    seen.mp1 = mp1_->version;
    seen.vram_bytes = vram_->size();
    seen.metrics = ReadMetrics();
    seen.vram_mapped = ReadMapped();
    return seen;
  }

 private:
  absl::StatusOr<uint32_t> ReadRegister(uint64_t dword, absl::string_view name) {
    absl::StatusOr<uint32_t> value = registers_->Read32(dword * 4);
    if (value.ok() && *value == pci::AllOnes(pci::Width::k32)) {
      return pci::DoesNotAnswer(function_.bus(), name);
    }
    return value;
  }

  absl::Status Open() {
    absl::StatusOr<std::unique_ptr<pci::Region>> registers = function_.MapBar(kRegisterBar);
    if (!registers.ok()) return registers.status();
    registers_ = *std::move(registers);
    const absl::StatusOr<uint32_t> iov =
        ReadRegister(kIovFuncIdentifier, "RCC_IOV_FUNC_IDENTIFIER");
    if (!iov.ok()) return iov.status();
    if ((*iov & 1) != 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          function_.bus(), " is a virtual function: the SMU belongs to the machine that made it"));
    }
    const absl::StatusOr<uint32_t> mib = ReadRegister(kConfigMemsize, "RCC_CONFIG_MEMSIZE");
    if (!mib.ok()) return mib.status();
    absl::StatusOr<std::unique_ptr<pci::Region>> bar0 = function_.MapBar(kVramBar);
    if (!bar0.ok()) return bar0.status();
    bar0_ = *std::move(bar0);
    vram_ = std::make_unique<VramWindow>(bar0_.get(), registers_.get(), uint64_t{*mib} << 20);
    if (absl::Status s = ReadDiscovery(); !s.ok()) return s;
    return CheckStarted();
  }

  absl::Status ReadDiscovery() {
    if (vram_->size() < kDiscoveryFromEnd) {
      return absl::UnimplementedError(
          absl::StrCat(function_.bus(), " has no memory, so no list of its blocks"));
    }
    std::vector<uint8_t> bytes(kDiscoverySize);
    absl::Status s = vram_->Read(vram_->size() - kDiscoveryFromEnd, absl::MakeSpan(bytes));
    if (!s.ok()) return s;
    absl::StatusOr<IpDiscovery> discovery =
        ParseIpDiscovery(bytes, absl::StrCat(function_.bus(), ", discovery binary"));
    if (!discovery.ok()) return discovery.status();
    discovery_ = *std::move(discovery);
    gc_ = discovery_.Find(kIpGc);
    mp1_ = discovery_.Find(kIpMp1);
    if (gc_ == nullptr || gc_->bases.size() < 2 || mp1_ == nullptr || mp1_->bases.empty()) {
      return absl::UnimplementedError(
          absl::StrCat(function_.bus(), ": its list of blocks has no GC or no MP1 with registers"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckStarted() {
    const absl::StatusOr<uint32_t> version =
        ReadRegister(gc_->bases[1] + kScratchReg7, "SCRATCH_REG7");
    if (!version.ok()) return version.status();
    if (*version == kAmVersion) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s was not started by a user-space driver of version 0x%08x: SCRATCH_REG7 is 0x%08x",
        function_.bus(), kAmVersion, *version));
  }

  absl::StatusOr<std::vector<Metric>> ReadMetrics() {
    const MetricsLayout* const layout = FindMetricsLayout(mp1_->version);
    if (layout == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("the metrics table of SMU ", mp1_->version.ToString(), " is not known"));
    }
    SmuMailbox mailbox(registers_.get(), mp1_->bases[0]);
    const absl::StatusOr<uint32_t> sent =
        mailbox.Send(layout->message_name, layout->message, layout->argument, kSmuTimeout);
    if (!sent.ok()) return sent.status();
    std::vector<uint8_t> table(layout->size);
    if (absl::Status s = vram_->Read(kAmSmuTables, absl::MakeSpan(table)); !s.ok()) return s;
    return ParseMetrics(*layout, table, function_.bus());
  }

  absl::StatusOr<uint64_t> ReadMapped() {
    uint64_t base = 0;
    const IpBlock* const mmhub = discovery_.Find(kIpMmhub);
    if (mmhub != nullptr && mmhub->version.major == 1 && !mmhub->bases.empty()) {
      const absl::StatusOr<uint32_t> place =
          ReadRegister(mmhub->bases[0] + kXgmiLfbCntl, "XGMI_LFB_CNTL");
      if (!place.ok()) return place.status();
      const absl::StatusOr<uint32_t> size =
          ReadRegister(mmhub->bases[0] + kXgmiLfbSize, "XGMI_LFB_SIZE");
      if (!size.ok()) return size.status();
      base = uint64_t{*place & 0xf} * (uint64_t{*size & 0x1ffff} << 24);
    }
    return MappedVram(vram_.get(), gc_->version, kAmRootPageTable, base);
  }

  pci::Function& function_;
  std::unique_ptr<pci::Region> registers_, bar0_;
  std::unique_ptr<VramWindow> vram_;
  IpDiscovery discovery_;
  const IpBlock* gc_ = nullptr;
  const IpBlock* mp1_ = nullptr;
};

}  // namespace

absl::StatusOr<AmObservation> ObserveAmCard(pci::Function* function) {
  return AmCard(function).Observe();
}

}  // namespace tg::amd
