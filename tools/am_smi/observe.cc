#include "tools/am_smi/observe.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "drivers/pci/config_space.h"
#include "drivers/pci/match.h"
#include "drivers/pci/remote/remotes.h"
#include "drivers/sim/amd/am_card.h"

namespace tg::am_smi {
namespace {

constexpr std::pair<const char*, sim::SmuFault> kFaults[] = {
    {"no-response", sim::SmuFault::kNoResponse},
    {"taken", sim::SmuFault::kTaken},
    {"busy", sim::SmuFault::kBusy},
    {"rejected", sim::SmuFault::kRejected},
    {"unknown", sim::SmuFault::kUnknown},
    {"failed", sim::SmuFault::kFailed},
    {"all-ones", sim::SmuFault::kAllOnes},
    {"nothing", sim::SmuFault::kNothing},
    {"short", sim::SmuFault::kShort},
    {"garbage", sim::SmuFault::kGarbage},
};

Reading& Find(Gpu* gpu, const char* name, const char* unit) {
  for (Reading& r : gpu->readings) {
    if (absl::string_view(r.name) == name) return r;
  }
  return gpu->readings.emplace_back(Reading{name, unit, {}});
}

void SetUnknown(Gpu* gpu, absl::string_view reason) {
  for (Reading& r : gpu->readings) {
    if (!r.value.value.has_value()) r.value.absent = std::string(reason);
  }
}

// A card that this machine's sysfs does not have; null: it cannot be opened, as `error` says.
Gpu ObserveFunction(const std::string& bus, pci::Function* function, const absl::Status& error) {
  Gpu gpu;
  gpu.bus = bus;
  gpu.readings = NoReadings("");
  if (function == nullptr) {
    AddObservation(error, &gpu);
    return gpu;
  }
  const absl::StatusOr<pci::Identity> id = pci::ReadIdentity(*function);
  if (id.ok()) gpu.name = absl::StrFormat("%04x:%04x", id->vendor, id->device);
  AddObservation(amd::ObserveAmCard(function), &gpu);
  return gpu;
}

}  // namespace

void AddObservation(const absl::StatusOr<amd::AmObservation>& seen, Gpu* gpu) {
  if (!seen.ok()) {
    gpu->note = absl::StrCat("it cannot be asked: ", seen.status().message());
    SetUnknown(gpu, gpu->note);
    return;
  }
  gpu->blocks = absl::StrCat("GC ", seen->gc.ToString(), ", SMU ", seen->mp1.ToString());
  if (seen->metrics.ok()) {
    for (const amd::Metric& m : *seen->metrics) {
      Reading& reading = Find(gpu, m.field->name, m.field->unit);
      reading.value = m.value.has_value() ? Value::Of(*m.value) : Value::None(m.absent);
      // Averages go a little beyond.
      if (m.value.has_value() && absl::string_view(reading.unit) == "%") {
        reading.value.value = std::min(*reading.value.value, 100.0);
      }
    }
  }
  Find(gpu, "vram_total_bytes", "B").value = Value::Of(static_cast<double>(seen->vram_bytes));
  Find(gpu, "vram_used_bytes", "B").value =
      seen->vram_mapped.ok() ? Value::Of(static_cast<double>(*seen->vram_mapped))
                             : Value::None(std::string(seen->vram_mapped.status().message()));
  for (Reading& r : gpu->readings) {
    if (r.value.value.has_value()) continue;
    if (!seen->metrics.ok() && absl::string_view(r.unit) != "B") {
      r.value.absent = std::string(seen->metrics.status().message());
    } else if (r.value.absent.empty()) {
      r.value.absent = absl::StrCat("SMU ", seen->mp1.ToString(), " does not report it");
    }
  }
}

absl::StatusOr<std::vector<Gpu>> ReadSimulated(absl::string_view description) {
  sim::AmCard::Options options;
  bool first = true;
  for (absl::string_view word : absl::StrSplit(description, ',')) {
    if (std::exchange(first, false)) {
      options.chip = std::string(word);
      continue;
    }
    bool known = word == "small-bar" || word == "vf" || word == "cold";
    if (word == "small-bar") options.small_bar = true;
    if (word == "vf") options.virtual_function = true;
    if (word == "cold") options.started = false;
    std::string faults;
    for (const auto& [name, fault] : kFaults) {
      absl::StrAppend(&faults, faults.empty() ? "" : "|", name);
      if (word != absl::StrCat("fault=", name)) continue;
      options.fault = fault;
      known = true;
    }
    if (!known) {
      return absl::InvalidArgumentError(absl::StrCat("\"", word,
                                                     "\" is none of small-bar, vf, cold, "
                                                     "fault=",
                                                     faults));
    }
  }
  const absl::StatusOr<std::unique_ptr<sim::AmCard>> card = sim::AmCard::Create(options);
  if (!card.ok()) return card.status();
  pci::Function& function = (*card)->function();
  return std::vector<Gpu>{ObserveFunction(function.bus(), &function, absl::OkStatus())};
}

absl::StatusOr<std::vector<Gpu>> ReadRemote(absl::string_view addresses, absl::Duration timeout,
                                            const std::string& locks, absl::string_view bus) {
  const auto clients = pci::remote::ConnectRemotes(addresses, timeout);
  if (!clients.ok()) return clients.status();
  std::vector<Gpu> gpus;
  for (uint8_t base_class : {uint8_t{0x03}, uint8_t{0x12}}) {
    const auto devices =
        pci::remote::ListRemoteDevices(*clients, {.vendor = 0x1002, .base_class = base_class});
    if (!devices.ok()) return devices.status();
    for (const pci::remote::RemoteDevice& device : *devices) {
      if (!bus.empty() && device.name != bus) continue;
      const absl::StatusOr<std::unique_ptr<pci::Function>> function = device.Open(locks);
      gpus.push_back(ObserveFunction(device.name, function.ok() ? function->get() : nullptr,
                                     function.status()));
    }
  }
  if (!bus.empty() && gpus.empty()) {
    return absl::NotFoundError(absl::StrCat("REMOTE has no AMD GPU \"", bus, "\""));
  }
  std::sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) { return a.bus < b.bus; });
  return gpus;
}

}  // namespace tg::am_smi
