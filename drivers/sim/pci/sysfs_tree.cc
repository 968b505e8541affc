#include "drivers/sim/pci/sysfs_tree.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"

namespace tg::sim {
namespace {

namespace fs = std::filesystem;

void Write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  TG_CHECK(file.good());
}

void Put(std::string& bytes, uint32_t offset, uint32_t value, int count) {
  for (int i = 0; i < count; ++i) bytes[offset + i] = static_cast<char>(value >> (8 * i));
}

}  // namespace

SysfsTree::SysfsTree(std::string root) : root_(std::move(root)) {
  fs::create_directories(root_ + "/bus/pci/devices");
}

void SysfsTree::Add(const SysfsFunction& function) {
  const pci::Identity& id = function.identity;
  // The entry in the list is a link to where the device really is.
  const std::string place = absl::StrCat(root_, "/devices/pci0000:00/", function.bus);
  fs::create_directories(place);
  fs::create_directory_symlink("../../../devices/pci0000:00/" + function.bus, Folder(function.bus));
  Write(place + "/vendor", absl::StrFormat("0x%04x\n", id.vendor));
  Write(place + "/device", absl::StrFormat("0x%04x\n", id.device));
  Write(place + "/class", absl::StrFormat("0x%06x\n", id.class_code));
  Write(place + "/enable", "0\n");
  if (function.can_reset) Write(place + "/reset", "");
  if (function.resizable) Write(place + "/resource0_resize", "");
  std::string config(pci::Function::kConfigSize, '\0');
  Put(config, pci::kConfigVendor, id.vendor, 2);
  Put(config, pci::kConfigDevice, id.device, 2);
  Put(config, pci::kConfigClass, id.class_code << 8 | id.revision, 4);
  Put(config, pci::kConfigSubsystemVendor, id.subsystem_vendor, 2);
  Put(config, pci::kConfigSubsystem, id.subsystem, 2);
  Write(place + "/config", config);
  std::string resources;
  uint64_t address = 0x8000000000;
  for (int i = 0; i < 13; ++i) {  // BARs, the ROM, and windows of bridges
    const uint64_t size = i < pci::Function::kBars ? function.bar_sizes[static_cast<size_t>(i)] : 0;
    if (size == 0) {
      absl::StrAppend(&resources, "0x0000000000000000 0x0000000000000000 0x0000000000000000\n");
      continue;
    }
    absl::StrAppendFormat(&resources, "0x%016x 0x%016x 0x%016x\n", address, address + size - 1,
                          i == 0 ? 0x14220c : 0x40200);
    const std::string path = absl::StrCat(place, "/resource", i);
    Write(path, "");
    fs::resize_file(path, size);
    address += size;
  }
  Write(place + "/resource", resources);
  if (!function.driver.empty()) {
    fs::create_directories(root_ + "/bus/pci/drivers/" + function.driver);
    fs::create_directory_symlink(root_ + "/bus/pci/drivers/" + function.driver, place + "/driver");
  }
}

}  // namespace tg::sim
