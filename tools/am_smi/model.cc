#include "tools/am_smi/model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/process.h"
#include "drivers/amd/am_observer.h"
#include "drivers/pci/device_lock.h"
#include "drivers/pci/linux/linux_function.h"
#include "drivers/pci/lock_holders.h"
#include "tools/am_smi/observe.h"

namespace tg::am_smi {
namespace {

namespace fs = std::filesystem;

constexpr char kNoFile[] = "the kernel's driver does not report it";

// A small sysfs file without white space at its end; none where it cannot be read.
std::optional<std::string> ReadText(const fs::path& path) {
  std::ifstream file(path);
  std::string text(4096, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.empty()) return std::nullopt;
  return std::string(absl::StripTrailingAsciiWhitespace(text));
}

std::string TextOr(const fs::path& path, const char* otherwise) {
  return ReadText(path).value_or(otherwise);
}

Value ReadNumber(const fs::path& path, double scale) {
  const std::optional<std::string> text = ReadText(path);
  double number;
  if (!text.has_value()) return Value::None(kNoFile);
  if (!absl::SimpleAtod(*text, &number) || !std::isfinite(number)) {
    return Value::None(absl::StrCat(path.filename().string(), " is \"", *text, "\", no number"));
  }
  return Value::Of(number * scale);
}

// hwmon's channels have labels: temp2_label is "junction", freq1_label "sclk". The channel's number
// by kind and label.
class Hwmon {
 public:
  explicit Hwmon(const fs::path& device) {
    std::error_code error;
    for (fs::directory_iterator it(device / "hwmon", error), end; !error && it != end;
         it.increment(error)) {
      folder_ = it->path();
      break;
    }
    if (folder_.empty()) return;
    for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
      const std::string file = it->path().filename().string();
      absl::string_view name = file;
      if (!absl::ConsumeSuffix(&name, "_label")) continue;
      channels_[TextOr(it->path(), "")] = std::string(name);
    }
  }

  Value Labelled(absl::string_view label, const char* suffix, double scale) const {
    if (folder_.empty()) return Value::None("the device has no hwmon folder");
    const auto it = channels_.find(std::string(label));
    if (it == channels_.end()) return Value::None(kNoFile);
    return ReadNumber(folder_ / absl::StrCat(it->second, suffix), scale);
  }
  Value File(const char* name, double scale) const {
    if (folder_.empty()) return Value::None("the device has no hwmon folder");
    return ReadNumber(folder_ / name, scale);
  }

 private:
  fs::path folder_;
  std::map<std::string, std::string> channels_;  // "junction": "temp2"
};

std::vector<Reading> ReadSensors(const fs::path& device) {
  const Hwmon hwmon(device);
  // Newer chips report what they draw now, older ones an average.
  Value power = hwmon.File("power1_average", 1e-6);
  if (!power.value.has_value()) power = hwmon.File("power1_input", 1e-6);
  const std::map<std::string, Value> values = {
      {"temperature_edge_c", hwmon.Labelled("edge", "_input", 1e-3)},
      {"temperature_hotspot_c", hwmon.Labelled("junction", "_input", 1e-3)},
      {"temperature_memory_c", hwmon.Labelled("mem", "_input", 1e-3)},
      {"power_w", power},
      {"power_limit_w", hwmon.File("power1_cap", 1e-6)},
      {"clock_gfx_mhz", hwmon.Labelled("sclk", "_input", 1e-6)},
      {"clock_memory_mhz", hwmon.Labelled("mclk", "_input", 1e-6)},
      {"voltage_gfx_mv", hwmon.Labelled("vddgfx", "_input", 1)},
      {"fan_rpm", hwmon.File("fan1_input", 1)},
      {"activity_gfx_percent", ReadNumber(device / "gpu_busy_percent", 1)},
      {"activity_memory_percent", ReadNumber(device / "mem_busy_percent", 1)},
      {"vram_used_bytes", ReadNumber(device / "mem_info_vram_used", 1)},
      {"vram_total_bytes", ReadNumber(device / "mem_info_vram_total", 1)},
  };
  std::vector<Reading> readings = NoReadings(kNoFile);
  for (Reading& r : readings) r.value = values.at(r.name);
  return readings;
}

// Display controllers (class 03) and processing accelerators (12) of AMD.
bool IsAmdGpu(const fs::path& device) {
  if (TextOr(device / "vendor", "") != "0x1002") return false;
  const std::string type = TextOr(device / "class", "");
  return absl::StartsWith(type, "0x03") || absl::StartsWith(type, "0x12");
}

// Users of kernel drivers, from the files that they opened: fdinfo has "drm-pdev:\t0000:03:00.0"
// and "drm-memory-vram:\t123 KiB". A process may have several such files of one client.
void AddDrmClients(std::map<std::string, std::vector<Process>>* by_bus) {
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    pid_t pid;
    if (!absl::SimpleAtoi(it->path().filename().string(), &pid)) continue;
    std::map<std::string, std::map<std::string, double>> clients;  // Bus, client, bytes.
    std::error_code inner;
    for (fs::directory_iterator fd(it->path() / "fdinfo", inner), last; !inner && fd != last;
         fd.increment(inner)) {
      const std::string text = TextOr(fd->path(), "");
      if (!absl::StrContains(text, "drm-pdev:")) continue;
      std::string bus, client;
      double bytes = 0;
      for (absl::string_view line : absl::StrSplit(text, '\n')) {
        const std::pair<absl::string_view, absl::string_view> field =
            absl::StrSplit(line, absl::MaxSplits(':', 1));
        const absl::string_view value = absl::StripAsciiWhitespace(field.second);
        if (field.first == "drm-pdev") bus = std::string(value);
        if (field.first == "drm-client-id") client = std::string(value);
        double kib;
        if (field.first == "drm-memory-vram" &&
            absl::SimpleAtod(value.substr(0, value.find(' ')), &kib)) {
          bytes = kib * 1024;
        }
      }
      clients[bus][client] = bytes;
    }
    for (const auto& [bus, files] : clients) {
      Process p{pid, base::ProcessName(pid), 0.0};
      for (const auto& [client, bytes] : files) *p.vram_bytes += bytes;
      (*by_bus)[bus].push_back(p);
    }
  }
}

// Looks through the card's BARs without disturbing who drives it.
absl::StatusOr<amd::AmObservation> Observe(const std::string& root, const std::string& bus) {
  const pci::LinuxHost host = {.sys = absl::StrCat(root, "/sys"),
                               .proc = absl::StrCat(root, "/proc"),
                               .locks = absl::StrCat(root, pci::kLockFolder)};
  absl::StatusOr<std::unique_ptr<pci::Function>> card =
      pci::OpenLinuxFunction(host, bus, {.observe = true});
  if (!card.ok()) return card.status();
  return amd::ObserveAmCard(card->get());
}

Gpu ReadGpu(const fs::path& device, const std::string& root) {
  Gpu gpu;
  gpu.bus = device.filename().string();
  auto id = [&](const char* file) {
    const std::string text = TextOr(device / file, "");
    return text.size() > 2 ? text.substr(2) : "?";
  };
  gpu.name = absl::StrCat(id("vendor"), ":", id("device"));
  if (const std::string product = TextOr(device / "product_name", ""); !product.empty()) {
    absl::StrAppend(&gpu.name, " ", product);
  }
  std::error_code error;
  gpu.driver = fs::read_symlink(device / "driver", error).filename().string();
  gpu.power_state = TextOr(device / "power_state", "");
  const std::string speed = TextOr(device / "current_link_speed", "");
  if (!speed.empty()) {
    gpu.link = absl::StrCat(speed, " x", TextOr(device / "current_link_width", "?"));
  }
  gpu.readings = ReadSensors(device);

  const std::string lock =
      pci::LockPath(absl::StrCat(root, pci::kLockFolder), pci::kAmdLocks, gpu.bus);
  const bool has_lock = fs::exists(fs::symlink_status(lock, error));
  if (has_lock) {
    absl::StatusOr<pci::LockHolders> holders = pci::FindLockHolders(lock);
    if (!holders.ok()) {
      gpu.note = absl::StrCat("its lock cannot be trusted: ", holders.status().message());
      return gpu;
    }
    for (pid_t pid : holders->pids) {
      gpu.processes.push_back({pid, base::ProcessName(pid), std::nullopt});
    }
    gpu.locked = !holders->pids.empty();
  }
  if (gpu.driver == "amdgpu") return gpu;
  if (!gpu.driver.empty() && gpu.driver != "vfio-pci") {
    gpu.note = absl::StrCat(gpu.driver, " is bound to it, not amdgpu");
  } else if (has_lock) {
    // A driver in user space has started it, and may have it now.
    AddObservation(Observe(root, gpu.bus), &gpu);
    return gpu;
  } else {
    gpu.note = "no driver is bound to it: nothing reads its sensors";
  }
  // A reason that is more to the point than that a file is missing.
  for (Reading& r : gpu.readings) {
    if (!r.value.value.has_value()) r.value.absent = gpu.note;
  }
  return gpu;
}

}  // namespace

std::vector<Reading> NoReadings(absl::string_view reason) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"temperature_edge_c", "C"},
      {"temperature_hotspot_c", "C"},
      {"temperature_memory_c", "C"},
      {"power_w", "W"},
      {"power_limit_w", "W"},
      {"clock_gfx_mhz", "MHz"},
      {"clock_memory_mhz", "MHz"},
      {"voltage_gfx_mv", "mV"},
      {"fan_rpm", "rpm"},
      {"activity_gfx_percent", "%"},
      {"activity_memory_percent", "%"},
      {"vram_used_bytes", "B"},
      {"vram_total_bytes", "B"},
  };
  std::vector<Reading> readings;
  for (const auto& [name, unit] : kNames) {
    readings.push_back({name, unit, Value::None(std::string(reason))});
  }
  return readings;
}

absl::StatusOr<std::vector<Gpu>> ReadGpus(const std::string& root, absl::string_view bus) {
  const std::string folder = absl::StrCat(root, "/sys/bus/pci/devices");
  std::error_code error;
  std::vector<Gpu> gpus;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!bus.empty() && it->path().filename().string() != bus) continue;
    if (IsAmdGpu(it->path())) gpus.push_back(ReadGpu(it->path(), root));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot read ", folder));
  }
  if (!bus.empty() && gpus.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no AMD GPU at ", bus));
  }
  std::sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) { return a.bus < b.bus; });
  std::map<std::string, std::vector<Process>> clients;
  if (!gpus.empty()) AddDrmClients(&clients);
  for (Gpu& gpu : gpus) {
    const std::vector<Process>& more = clients[gpu.bus];
    gpu.processes.insert(gpu.processes.end(), more.begin(), more.end());
  }
  return gpus;
}

const Value* Find(const Gpu& gpu, absl::string_view name) {
  for (const Reading& r : gpu.readings) {
    if (name == r.name) return &r.value;
  }
  return nullptr;
}

}  // namespace tg::am_smi
