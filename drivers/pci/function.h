#ifndef TG_DRIVERS_PCI_FUNCTION_H_
#define TG_DRIVERS_PCI_FUNCTION_H_

// A PCI function that is driven from user space: in this machine, behind a USB bridge, in another
// machine, or simulated. Drivers are written against this and do not see the difference, except
// where a transport lacks something: that is an Unimplemented error which says so.
//
// Numbers are the host's; on the bus everything is little-endian. Accesses happen in the order of
// the calls. Except where said otherwise an error means that the access may or may not have reached
// the device. Nothing here is thread safe; different functions are independent.
//
// Layouts are those of the PCI Express Base Specification, chapter 7 (config space, capabilities).

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace tg::pci {

// How many bytes one access moves.
enum class Width : uint8_t { k8 = 1, k16 = 2, k32 = 4, k64 = 8 };

// What a read of that width gives when nobody answers: a device that left the bus, or sleeps.
constexpr uint64_t AllOnes(Width width) {
  return width == Width::k64 ? ~uint64_t{0} : (uint64_t{1} << (8 * static_cast<int>(width))) - 1;
}

// Unavailable: "0000:03:00.0 does not answer: MP1 status reads all ones; ...".
absl::Status DoesNotAnswer(absl::string_view function, absl::string_view what);

// A mapped BAR: registers or memory of the device.
class Region {
 public:
  virtual ~Region() = default;

  uint64_t size() const { return size_; }

  // One access. OutOfRange: not within the region; InvalidArgument: not aligned to its width. Both
  // before anything reaches the device. `value` may only have bits of the width.
  absl::StatusOr<uint64_t> Read(uint64_t offset, Width width);
  absl::Status Write(uint64_t offset, Width width, uint64_t value);

  absl::StatusOr<uint32_t> Read32(uint64_t offset);
  absl::StatusOr<uint64_t> Read64(uint64_t offset) { return Read(offset, Width::k64); }
  absl::Status Write32(uint64_t offset, uint32_t value) { return Write(offset, Width::k32, value); }
  absl::Status Write64(uint64_t offset, uint64_t value) { return Write(offset, Width::k64, value); }

  // Many bytes at any alignment, in accesses of widths that the transport chooses: for memory, and
  // for registers only where a device allows any width.
  absl::Status ReadBytes(uint64_t offset, absl::Span<uint8_t> bytes);
  absl::Status WriteBytes(uint64_t offset, absl::Span<const uint8_t> bytes);

  // The region in this process's memory, for code that cannot afford a call for each access; null
  // where the transport has no such thing. Aligned volatile accesses only; see barriers.h. Lives as
  // long as the region.
  virtual volatile uint8_t* direct() { return nullptr; }

 protected:
  explicit Region(uint64_t size) : size_(size) {}

 private:
  // Within bounds and aligned; byte spans are not empty.
  virtual absl::StatusOr<uint64_t> DoRead(uint64_t offset, Width width) = 0;
  virtual absl::Status DoWrite(uint64_t offset, Width width, uint64_t value) = 0;
  // By default accesses of 32 bits, and of 8 where less is left or the offset is odd.
  virtual absl::Status DoReadBytes(uint64_t offset, absl::Span<uint8_t> bytes);
  virtual absl::Status DoWriteBytes(uint64_t offset, absl::Span<const uint8_t> bytes);

  const uint64_t size_;
};

// Memory of the host that the device can read and write by itself.
class DmaMemory {
 public:
  static constexpr uint64_t kPageSize = 4096;

  virtual ~DmaMemory() = default;

  uint64_t size() const { return size_; }
  // Addresses for the device, one for each page of kPageSize bytes. Pages stay where they are.
  absl::Span<const uint64_t> pages() const { return pages_; }

  // OutOfRange: not within the memory.
  absl::Status Read(uint64_t offset, absl::Span<uint8_t> bytes);
  absl::Status Write(uint64_t offset, absl::Span<const uint8_t> bytes);

  // As of Region.
  virtual volatile uint8_t* direct() { return nullptr; }

 protected:
  DmaMemory(uint64_t size, std::vector<uint64_t> pages) : size_(size), pages_(std::move(pages)) {}

 private:
  virtual absl::Status DoRead(uint64_t offset, absl::Span<uint8_t> bytes) = 0;
  virtual absl::Status DoWrite(uint64_t offset, absl::Span<const uint8_t> bytes) = 0;

  const uint64_t size_;
  const std::vector<uint64_t> pages_;
};

// The device's message-signalled interrupt. Off again when destroyed.
class Interrupt {
 public:
  virtual ~Interrupt() = default;
  // How many interrupts have come since the last call, waiting for one if none has.
  // DeadlineExceeded: none within `timeout`.
  virtual absl::StatusOr<uint64_t> Wait(absl::Duration timeout) = 0;
};

struct Bar {
  uint64_t address = 0;  // on the bus; 0: not assigned
  uint64_t size = 0;  // 0: the function has no such BAR, or it is the upper half of the one before
  bool prefetchable = false;
  bool is_64bit = false;
};

class Function {
 public:
  static constexpr uint32_t kConfigSize = 4096;
  static constexpr int kBars = 6;

  virtual ~Function() = default;

  // "0000:03:00.0", "usb:1:4", "remote:10.0.0.2:6667:0": unique among what one machine can open.
  virtual const std::string& bus() const = 0;

  // Config space, one access of at most 32 bits. OutOfRange and InvalidArgument as in Region.
  absl::StatusOr<uint32_t> ReadConfig(uint32_t offset, Width width);
  absl::Status WriteConfig(uint32_t offset, Width width, uint32_t value);

  // OutOfRange: `index` is not in [0, kBars).
  absl::StatusOr<Bar> GetBar(int index);
  // NotFound: no such BAR. The region must not outlive the function.
  absl::StatusOr<std::unique_ptr<Region>> MapBar(int index);
  // Sets the size of a resizable BAR, a power of two of at least 1 MiB. Regions of this function
  // must be gone: addresses change. FailedPrecondition when the device or the host cannot.
  absl::Status ResizeBar(int index, uint64_t size);

  // At least `size` bytes, zeroed, locked in memory; must not outlive the function. `contiguous`:
  // in one piece of the device's addresses. ResourceExhausted when there is no such memory.
  virtual absl::StatusOr<std::unique_ptr<DmaMemory>> AllocateDma(uint64_t size,
                                                                 bool contiguous) = 0;
  // Back to the state after power on, as far as the device can; memory of the device is lost.
  virtual absl::Status Reset() = 0;
  virtual absl::StatusOr<std::unique_ptr<Interrupt>> EnableInterrupt() = 0;

 private:
  virtual absl::StatusOr<uint32_t> DoReadConfig(uint32_t offset, Width width) = 0;
  virtual absl::Status DoWriteConfig(uint32_t offset, Width width, uint32_t value) = 0;
  virtual absl::StatusOr<Bar> DoGetBar(int index) = 0;
  virtual absl::StatusOr<std::unique_ptr<Region>> DoMapBar(int index, const Bar& bar) = 0;
  virtual absl::Status DoResizeBar(int index, uint64_t size) = 0;
};

}  // namespace tg::pci

#endif  // TG_DRIVERS_PCI_FUNCTION_H_
