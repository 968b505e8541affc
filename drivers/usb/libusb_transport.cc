#include "drivers/usb/libusb_transport.h"

#include <libusb-1.0/libusb.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drivers/usb/asm24_function.h"

namespace tg::usb {
namespace {

constexpr int kInterface = 0;
constexpr size_t kMaxControl = 0xffff;
constexpr size_t kMaxBulk = 16 << 20;

// What firmware for the bridge that takes PCI Express requests calls itself.
constexpr absl::string_view kAsm24Products[] = {"custom", "AS2462"};

absl::Status ToStatus(int error, absl::string_view what) {
  const std::string text = absl::StrCat(what, ": ", libusb_strerror(error));
  switch (error) {
    case LIBUSB_ERROR_TIMEOUT:
      return absl::DeadlineExceededError(text);
    case LIBUSB_ERROR_ACCESS:
      return absl::PermissionDeniedError(absl::StrCat(text, "; run as root, or add a udev rule"));
    case LIBUSB_ERROR_BUSY:
      return absl::FailedPreconditionError(absl::StrCat(text, "; another program has it"));
    case LIBUSB_ERROR_NO_MEM:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::UnavailableError(text);
  }
}

struct ContextDeleter {
  void operator()(libusb_context* context) const { libusb_exit(context); }
};
using Context = std::unique_ptr<libusb_context, ContextDeleter>;

struct ListDeleter {
  void operator()(libusb_device** list) const { libusb_free_device_list(list, /*unref=*/1); }
};
using List = std::unique_ptr<libusb_device*, ListDeleter>;

struct HandleDeleter {
  void operator()(libusb_device_handle* handle) const { libusb_close(handle); }
};
using Handle = std::unique_ptr<libusb_device_handle, HandleDeleter>;

absl::StatusOr<Context> NewContext() {
  libusb_context* context = nullptr;
  if (const int error = libusb_init(&context); error != 0) return ToStatus(error, "no USB");
  return Context(context);
}

unsigned Milliseconds(absl::Duration timeout) {
  // Zero would be for ever.
  return static_cast<unsigned>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(timeout), 1, 3600'000));
}

class LibusbTransport final : public Transport {
 public:
  LibusbTransport(Context context, Handle handle)
      : context_(std::move(context)), handle_(std::move(handle)) {}
  ~LibusbTransport() override { libusb_release_interface(handle_.get(), kInterface); }

  absl::Status ControlOut(uint8_t request, uint16_t value, uint16_t index,
                          absl::Span<const uint8_t> data, absl::Duration timeout) override {
    return Control(LIBUSB_ENDPOINT_OUT, request, value, index, const_cast<uint8_t*>(data.data()),
                   data.size(), timeout);
  }
  absl::Status ControlIn(uint8_t request, uint16_t value, uint16_t index, absl::Span<uint8_t> data,
                         absl::Duration timeout) override {
    return Control(LIBUSB_ENDPOINT_IN, request, value, index, data.data(), data.size(), timeout);
  }
  absl::Status BulkOut(uint8_t endpoint, absl::Span<const uint8_t> data,
                       absl::Duration timeout) override {
    return Bulk(endpoint, const_cast<uint8_t*>(data.data()), data.size(), timeout);
  }
  absl::Status BulkIn(uint8_t endpoint, absl::Span<uint8_t> data, absl::Duration timeout) override {
    return Bulk(endpoint, data.data(), data.size(), timeout);
  }

 private:
  static absl::Status CheckDone(absl::string_view what, size_t done, size_t wanted) {
    if (done == wanted) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(what, ": ", done, " of ", wanted, " bytes"));
  }

  // libusb takes pointers that are not const for both directions, and writes only for IN.
  absl::Status Control(uint8_t direction, uint8_t request, uint16_t value, uint16_t index,
                       uint8_t* data, size_t size, absl::Duration timeout) {
    const std::string what = absl::StrCat("USB request 0x", absl::Hex(request));
    if (size > kMaxControl) return absl::InvalidArgumentError(absl::StrCat(what, ": too much"));
    const int n = libusb_control_transfer(
        handle_.get(), static_cast<uint8_t>(direction | LIBUSB_REQUEST_TYPE_VENDOR), request, value,
        index, data, static_cast<uint16_t>(size), Milliseconds(timeout));
    if (n < 0) return ToStatus(n, what);
    return CheckDone(what, static_cast<size_t>(n), size);
  }
  absl::Status Bulk(uint8_t endpoint, uint8_t* data, size_t size, absl::Duration timeout) {
    const std::string what = absl::StrCat("USB endpoint 0x", absl::Hex(endpoint));
    if (size > kMaxBulk) return absl::InvalidArgumentError(absl::StrCat(what, ": too much"));
    int done = 0;
    const int error = libusb_bulk_transfer(handle_.get(), endpoint, data, static_cast<int>(size),
                                           &done, Milliseconds(timeout));
    if (error != 0) return ToStatus(error, what);
    return CheckDone(what, static_cast<size_t>(done), size);
  }

  const Context context_;
  const Handle handle_;
};

}  // namespace

absl::StatusOr<std::vector<UsbDevice>> ListUsbDevices(absl::Span<const UsbId> ids) {
  // Machines without USB have no context either.
  absl::StatusOr<Context> context = NewContext();
  if (!context.ok()) return std::vector<UsbDevice>();
  libusb_device** raw = nullptr;
  const ssize_t count = libusb_get_device_list(context->get(), &raw);
  if (count < 0) return ToStatus(static_cast<int>(count), "cannot list USB devices");
  const List list(raw);
  std::vector<std::pair<size_t, UsbDevice>> found;
  for (ssize_t i = 0; i < count; ++i) {
    libusb_device_descriptor descriptor;
    if (libusb_get_device_descriptor(raw[i], &descriptor) != 0) continue;
    for (size_t k = 0; k < ids.size(); ++k) {
      if (descriptor.idVendor != ids[k].vendor || descriptor.idProduct != ids[k].product) continue;
      UsbDevice device;
      device.bus = libusb_get_bus_number(raw[i]);
      device.address = libusb_get_device_address(raw[i]);
      device.name = absl::StrCat("usb:", device.bus, ":", device.address);
      found.emplace_back(k, std::move(device));
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first, a.second.bus, a.second.address) <
           std::tuple(b.first, b.second.bus, b.second.address);
  });
  std::vector<UsbDevice> devices;
  for (auto& [order, device] : found) devices.push_back(std::move(device));
  return devices;
}

absl::StatusOr<std::unique_ptr<Transport>> OpenUsbDevice(
    const UsbDevice& device, absl::Span<const absl::string_view> products) {
  absl::StatusOr<Context> context = NewContext();
  if (!context.ok()) return context.status();
  libusb_device** raw = nullptr;
  const ssize_t count = libusb_get_device_list(context->get(), &raw);
  if (count < 0) return ToStatus(static_cast<int>(count), "cannot list USB devices");
  const List list(raw);
  libusb_device** const at = std::find_if(raw, raw + count, [&](libusb_device* d) {
    return libusb_get_bus_number(d) == device.bus && libusb_get_device_address(d) == device.address;
  });
  if (at == raw + count) return absl::NotFoundError(absl::StrCat(device.name, " is gone"));
  libusb_device_handle* opened = nullptr;
  if (const int error = libusb_open(*at, &opened); error != 0) {
    return ToStatus(error, absl::StrCat("cannot open ", device.name));
  }
  Handle handle(opened);
  libusb_device_descriptor descriptor;
  if (const int error = libusb_get_device_descriptor(*at, &descriptor); error != 0) {
    return ToStatus(error, device.name);
  }
  unsigned char text[256] = "";
  const int length = libusb_get_string_descriptor_ascii(opened, descriptor.iProduct, text,
                                                        static_cast<int>(sizeof(text)));
  const std::string product(reinterpret_cast<const char*>(text),
                            static_cast<size_t>(std::max(length, 0)));
  if (std::none_of(products.begin(), products.end(),
                   [&](absl::string_view p) { return absl::StartsWith(product, p); })) {
    return absl::FailedPreconditionError(
        absl::StrCat(device.name, ": its firmware is \"", product, "\", not one of ",
                     absl::StrJoin(products, ", "), "; install that first"));
  }
  // The kernel takes it for a disk.
  static_cast<void>(libusb_set_auto_detach_kernel_driver(opened, 1));
  if (const int error = libusb_claim_interface(opened, kInterface); error != 0) {
    return ToStatus(error, absl::StrCat("cannot claim ", device.name));
  }
  return std::make_unique<LibusbTransport>(*std::move(context), std::move(handle));
}

absl::StatusOr<std::unique_ptr<pci::Function>> OpenAsm24Device(const UsbDevice& device,
                                                               const std::string& locks) {
  absl::StatusOr<pci::DeviceLock> lock =
      pci::DeviceLock::Acquire(pci::LockPath(locks, pci::kAmdLocks, device.name));
  if (!lock.ok()) return lock.status();
  absl::StatusOr<std::unique_ptr<Transport>> transport = OpenUsbDevice(device, kAsm24Products);
  if (!transport.ok()) return transport.status();
  return OpenAsm24Function(*std::move(transport), device.name, *std::move(lock));
}

}  // namespace tg::usb
