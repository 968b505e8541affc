#include "drivers/pci/linux/linux_function.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "drivers/pci/linux/locked_memory.h"
#include "drivers/pci/linux/mapped_region.h"
#include "drivers/pci/linux/vfio.h"

namespace tg::pci {
namespace {

// Flags of a line of the attribute `resource` (include/linux/ioport.h).
constexpr uint64_t kResourceMemory = 0x200;
constexpr uint64_t kResourcePrefetch = 0x2000;
constexpr uint64_t kResource64 = 0x100000;

constexpr char kWhoMay[] =
    "run as root, or give the program cap_dac_override, cap_sys_rawio, cap_sys_admin and "
    "cap_ipc_lock";

// "0000:03:00.0": it becomes part of paths.
bool IsBusName(absl::string_view bus) {
  constexpr absl::string_view kForm = "xxxx:xx:xx.x";
  if (bus.size() != kForm.size()) return false;
  for (size_t i = 0; i < bus.size(); ++i) {
    if (kForm[i] == 'x' ? !absl::ascii_isxdigit(static_cast<unsigned char>(bus[i]))
                        : bus[i] != kForm[i]) {
      return false;
    }
  }
  return true;
}

std::string DevicesFolder(const LinuxHost& host) { return host.sys + "/bus/pci/devices"; }

absl::StatusOr<std::string> ReadAttribute(const std::string& path) {
  absl::StatusOr<std::string> text = base::ReadFile(path, 1 << 16);
  if (!text.ok()) return text.status();
  return std::string(absl::StripAsciiWhitespace(*text));
}

absl::StatusOr<uint32_t> ReadHexAttribute(const std::string& path) {
  absl::StatusOr<std::string> text = ReadAttribute(path);
  if (!text.ok()) return text.status();
  uint32_t value;
  if (!absl::SimpleHexAtoi(*text, &value)) {
    return absl::DataLossError(absl::StrCat(path, ": \"", *text, "\" is no number"));
  }
  return value;
}

// Attributes take one write and answer with an error number; they are no files to be replaced.
absl::Status WriteAttribute(const std::string& path, absl::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  const ssize_t n = write(fd, text.data(), text.size());
  const int error = errno;
  close(fd);
  if (n == static_cast<ssize_t>(text.size())) return absl::OkStatus();
  return absl::ErrnoToStatus(n < 0 ? error : EIO,
                             absl::StrCat("cannot write \"", text, "\" to ", path));
}

class LinuxFunction final : public Function {
 public:
  // Without a lock it is one that is only looked at. `vfio`: the error says why there is none.
  LinuxFunction(const LinuxHost& host, absl::string_view bus, DeviceLock lock,
                absl::StatusOr<std::unique_ptr<VfioDevice>> vfio, int config)
      : bus_(bus),
        folder_(absl::StrCat(DevicesFolder(host), "/", bus)),
        proc_(host.proc),
        lock_(std::move(lock)),
        vfio_(std::move(vfio)),
        config_(config) {}
  ~LinuxFunction() override { close(config_); }

  const std::string& bus() const override { return bus_; }

  absl::StatusOr<std::unique_ptr<DmaMemory>> AllocateDma(uint64_t size, bool contiguous) override {
    if (absl::Status s = MustOwn(); !s.ok()) return s;
    return AllocateLockedMemory(proc_, size, contiguous);
  }

  absl::Status Reset() override {
    if (absl::Status s = MustOwn(); !s.ok()) return s;
    const std::string path = folder_ + "/reset";
    if (access(path.c_str(), F_OK) != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat(bus_, ": neither it nor its port can be reset by itself"));
    }
    return WriteAttribute(path, "1");
  }

  absl::StatusOr<std::unique_ptr<Interrupt>> EnableInterrupt() override {
    if (absl::Status s = MustOwn(); !s.ok()) return s;
    if (!vfio_.ok()) return vfio_.status();
    return (*vfio_)->EnableInterrupt();
  }

 private:
  absl::StatusOr<uint32_t> DoReadConfig(uint32_t offset, Width width) override {
    std::array<uint8_t, 4> bytes = {};
    const auto count = static_cast<size_t>(width);
    const ssize_t n = pread(config_, bytes.data(), count, offset);
    if (n != static_cast<ssize_t>(count)) return ConfigError(n, offset);
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i) value |= uint32_t{bytes[i]} << (8 * i);
    return value;
  }
  absl::Status DoWriteConfig(uint32_t offset, Width width, uint32_t value) override {
    if (absl::Status s = MustOwn(); !s.ok()) return s;
    std::array<uint8_t, 4> bytes;
    for (size_t i = 0; i < 4; ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
    const auto count = static_cast<size_t>(width);
    const ssize_t n = pwrite(config_, bytes.data(), count, offset);
    return n == static_cast<ssize_t>(count) ? absl::OkStatus() : ConfigError(n, offset);
  }
  absl::Status MustOwn() const {
    if (lock_.held()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(bus_, " was opened to be looked at, not to be changed"));
  }
  absl::Status ConfigError(ssize_t n, uint32_t offset) const {
    if (n < 0) return absl::ErrnoToStatus(errno, absl::StrCat(bus_, ": config space"));
    // Without the capability the first 64 bytes are there, and a conventional device ends at 256.
    return absl::PermissionDeniedError(
        absl::StrCat(bus_, ": config space ends before byte ", offset, "; ", kWhoMay));
  }

  // Lines "start end flags" in hexadecimal: the BARs, then what does not concern us.
  absl::StatusOr<Bar> DoGetBar(int index) override {
    const std::string path = folder_ + "/resource";
    absl::StatusOr<std::string> text = ReadAttribute(path);
    if (!text.ok()) return text.status();
    const std::vector<absl::string_view> lines = absl::StrSplit(*text, '\n');
    Bar bar;
    if (static_cast<size_t>(index) >= lines.size()) return bar;
    const std::vector<absl::string_view> words =
        absl::StrSplit(lines[static_cast<size_t>(index)], ' ', absl::SkipEmpty());
    uint64_t start, end, flags;
    if (words.size() != 3 || !absl::SimpleHexAtoi(words[0], &start) ||
        !absl::SimpleHexAtoi(words[1], &end) || !absl::SimpleHexAtoi(words[2], &flags)) {
      return absl::DataLossError(
          absl::StrCat(path, ": \"", lines[static_cast<size_t>(index)], "\" is no resource"));
    }
    if ((flags & kResourceMemory) == 0 || end <= start) return bar;
    bar.address = start;
    bar.size = end - start + 1;
    bar.prefetchable = (flags & kResourcePrefetch) != 0;
    bar.is_64bit = (flags & kResource64) != 0;
    return bar;
  }

  absl::StatusOr<std::unique_ptr<Region>> DoMapBar(int index, const Bar& bar) override {
    // Not resourceN_wc: accesses through it would not keep their order.
    return MapRegion(absl::StrCat(folder_, "/resource", index), bar.size);
  }

  absl::Status DoResizeBar(int index, uint64_t size) override {
    if (absl::Status s = MustOwn(); !s.ok()) return s;
    // Takes the power of two over 1 MiB (Linux 5.14 and later).
    const absl::Status s = WriteAttribute(absl::StrCat(folder_, "/resource", index, "_resize"),
                                          absl::StrCat(std::countr_zero(size) - 20));
    if (s.ok()) return s;
    return absl::FailedPreconditionError(
        absl::StrCat("Cannot resize BAR ", index, ": ", s.message(),
                     ". Ensure the resizable BAR option is enabled."));
  }

  const std::string bus_;
  const std::string folder_;
  const std::string proc_;
  const DeviceLock lock_;
  const absl::StatusOr<std::unique_ptr<VfioDevice>> vfio_;
  const int config_;
};

// Whether a function can be looked at without changing it.
absl::Status CheckAwake(absl::string_view bus, const std::string& folder) {
  const absl::StatusOr<std::string> enabled = ReadAttribute(folder + "/enable");
  if (!enabled.ok()) return enabled.status();
  if (*enabled == "0") {
    return absl::FailedPreconditionError(absl::StrCat(bus, " is disabled: nobody drives it"));
  }
  // Linux before 5.10 has no such attribute.
  const absl::StatusOr<std::string> power = ReadAttribute(folder + "/power_state");
  if (power.ok() && *power != "D0" && *power != "unknown") {
    return absl::FailedPreconditionError(absl::StrCat(bus, " is asleep (", *power, ")"));
  }
  return absl::OkStatus();
}

// Observers use a device's mailboxes in turn. This is a lock on the file of its config space,
// which nobody else locks, so that none in the folder of locks can be mistaken for a driver's.
absl::Status WaitForOtherObservers(absl::string_view bus, int config) {
  const absl::Time end = absl::Now() + absl::Seconds(1);
  while (flock(config, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock the config space of ", bus));
    }
    if (absl::Now() >= end) {
      return absl::UnavailableError(absl::StrCat("another program is looking at ", bus));
    }
    absl::SleepFor(absl::Milliseconds(5));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ListLinuxFunctions(const LinuxHost& host,
                                                            const Match& match) {
  std::vector<std::string> buses;
  std::error_code error;
  const std::string folder = DevicesFolder(host);
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string bus = it->path().filename().string();
    const std::string device = absl::StrCat(folder, "/", bus);
    const absl::StatusOr<uint32_t> vendor = ReadHexAttribute(device + "/vendor");
    const absl::StatusOr<uint32_t> id = ReadHexAttribute(device + "/device");
    const absl::StatusOr<uint32_t> kind = ReadHexAttribute(device + "/class");
    // One may go away while the list is read.
    if (!vendor.ok() || !id.ok() || !kind.ok()) continue;
    Identity identity;
    identity.vendor = static_cast<uint16_t>(*vendor);
    identity.device = static_cast<uint16_t>(*id);
    identity.class_code = *kind;
    if (match.Accepts(identity)) buses.push_back(bus);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot read the folder ", folder));
  }
  std::sort(buses.begin(), buses.end());
  return buses;
}

absl::StatusOr<std::unique_ptr<Function>> OpenLinuxFunction(const LinuxHost& host,
                                                            absl::string_view bus,
                                                            const LinuxOpenOptions& options) {
  if (!IsBusName(bus)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", bus, "\" is no PCI function; they look like 0000:03:00.0"));
  }
  const std::string folder = absl::StrCat(DevicesFolder(host), "/", bus);
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) {
    return absl::NotFoundError(absl::StrCat("there is no PCI function ", bus));
  }
  // The bridge to user space is what such functions are given to.
  const std::filesystem::path driver = std::filesystem::read_symlink(folder + "/driver", error);
  const bool has_vfio = !error && driver.filename() == "vfio-pci";
  if (!error && !has_vfio) {
    return absl::FailedPreconditionError(
        absl::StrCat("Driver is bound to ", bus, ": ", driver.filename().string(),
                     "; unload it, or `echo ", bus, " > ", folder, "/driver/unbind`"));
  }
  absl::StatusOr<DeviceLock> lock = DeviceLock();
  if (options.observe) {
    if (absl::Status s = CheckAwake(bus, folder); !s.ok()) return s;
  } else {
    lock = DeviceLock::Acquire(LockPath(host.locks, options.lock_prefix, bus), options.lock_mode);
    if (!lock.ok()) return lock.status();
  }
  absl::StatusOr<std::unique_ptr<VfioDevice>> vfio = absl::UnimplementedError(absl::StrCat(
      bus, ": sysfs has no interrupts; bind it to vfio-pci, or poll the device's memory"));
  if (has_vfio && !options.observe) {
    vfio = VfioDevice::Open({.sys = host.sys, .dev = host.dev, .ioctl = host.vfio_ioctl}, bus);
  }
  const int config = open((folder + "/config").c_str(),
                          (options.observe ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_SYNC);
  if (config < 0) {
    if (errno != EACCES && errno != EPERM) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot open the config space of ", bus));
    }
    return absl::PermissionDeniedError(
        absl::StrCat("Cannot access PCI device ", bus, ": ", kWhoMay));
  }
  auto function =
      std::make_unique<LinuxFunction>(host, bus, *std::move(lock), std::move(vfio), config);
  if (options.observe) {
    if (absl::Status s = WaitForOtherObservers(bus, config); !s.ok()) return s;
    if (absl::Status s = ReadIdentity(*function).status(); !s.ok()) return s;
    return function;
  }
  // While it is disabled or asleep, Linux neither decodes its addresses nor lets them be mapped.
  const absl::StatusOr<std::string> enabled = ReadAttribute(folder + "/enable");
  if (!enabled.ok()) return enabled.status();
  if (*enabled == "0") {
    if (absl::Status s = WriteAttribute(folder + "/enable", "1"); !s.ok()) return s;
  }
  if (absl::Status s = ReadIdentity(*function).status(); !s.ok()) return s;
  return function;
}

}  // namespace tg::pci
