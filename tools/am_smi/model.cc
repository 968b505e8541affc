#include "tools/am_smi/model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/process.h"
#include "drivers/pci/device_lock.h"
#include "drivers/pci/lock_holders.h"

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
  return {
      {"temperature_edge_c", "C", hwmon.Labelled("edge", "_input", 1e-3)},
      {"temperature_hotspot_c", "C", hwmon.Labelled("junction", "_input", 1e-3)},
      {"temperature_memory_c", "C", hwmon.Labelled("mem", "_input", 1e-3)},
      {"power_w", "W", power},
      {"power_limit_w", "W", hwmon.File("power1_cap", 1e-6)},
      {"clock_gfx_mhz", "MHz", hwmon.Labelled("sclk", "_input", 1e-6)},
      {"clock_memory_mhz", "MHz", hwmon.Labelled("mclk", "_input", 1e-6)},
      {"voltage_gfx_mv", "mV", hwmon.Labelled("vddgfx", "_input", 1)},
      {"fan_rpm", "rpm", hwmon.File("fan1_input", 1)},
      {"activity_gfx_percent", "%", ReadNumber(device / "gpu_busy_percent", 1)},
      {"activity_memory_percent", "%", ReadNumber(device / "mem_busy_percent", 1)},
      {"vram_used_bytes", "B", ReadNumber(device / "mem_info_vram_used", 1)},
      {"vram_total_bytes", "B", ReadNumber(device / "mem_info_vram_total", 1)},
  };
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
  if (fs::exists(fs::symlink_status(lock, error))) {
    absl::StatusOr<pci::LockHolders> holders = pci::FindLockHolders(lock);
    if (!holders.ok()) {
      gpu.note = absl::StrCat("its lock cannot be trusted: ", holders.status().message());
    } else {
      for (pid_t pid : holders->pids) gpu.processes.push_back({pid, base::ProcessName(pid), std::nullopt});
      gpu.locked = !holders->pids.empty();
    }
  }
  if (!gpu.note.empty()) return gpu;
  if (gpu.locked) {
    gpu.note = "a program drives it from user space: the kernel knows little of it";
  } else if (gpu.driver != "amdgpu") {
    gpu.note = gpu.driver.empty() ? "no driver is bound to it: nothing reads its sensors"
                                  : absl::StrCat(gpu.driver, " is bound to it, not amdgpu");
  }
  // Reasons that are more to the point than that a file is missing.
  if (!gpu.note.empty()) {
    for (Reading& r : gpu.readings) {
      if (!r.value.value.has_value()) r.value.absent = gpu.note;
    }
  }
  return gpu;
}

}  // namespace

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
