#ifndef TG_DRIVERS_USB_ASM24_H_
#define TG_DRIVERS_USB_ASM24_H_

// ASMedia ASM2464PD, a USB4 to PCI Express bridge, with firmware that passes single PCI Express
// requests (TLPs) on. Its vendor requests:
//
//   0xE4 in   value: address in XDATA (the controller's memory). Reads up to 255 bytes.
//   0xE5 out  value: address, index: the byte to write there.
//   0xF0 out  value: type of the TLP | byte enables << 8; index: 0 one request, 1 a write whose
//   data
//             follows on bulk endpoint 0x02, 2 a read whose data follows on 0x81.
//             Data: u32 address low, address high, value or number of dwords.
//   0xF0 in   The completion, 8 bytes: u32 data; byte 4 bits 7:5 completion status; byte 7 not 0
//             when there was none.
//   0xF2 out  value: sectors of 512 bytes, bit 15 set to read; index: first slot | slots << 8.
//             Announces that many bytes of the SRAM, from a slot of 16 KiB on, which follow on bulk
//             endpoint 0x02, or 0x81 to read.
//   0xF3 out  value: 1 switches the PCI Express side on, 0 off.
//
// XDATA 0xB450 is the state of the link; 0x78 is up. PCI Express devices see XDATA 0xA000 to 0xAFFF
// at 0x820000, and the SRAM, 512 KiB in 32 slots, at 0x200000.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "drivers/usb/transport.h"

namespace tg::usb {

// Vendor and product ids, in the order in which amdflash looks for them.
struct UsbId {
  uint16_t vendor;
  uint16_t product;
};
inline constexpr UsbId kAsm24Ids[] = {{0x3801, 0x0001}, {0xadd1, 0x0001}};

// Not thread safe.
class Asm24 {
 public:
  static constexpr uint16_t kLinkState = 0xb450;
  static constexpr uint8_t kLinkUp = 0x78;
  static constexpr uint16_t kSharedMemory = 0xa000;
  static constexpr uint64_t kSharedMemoryOnBus = 0x820000;
  static constexpr uint32_t kSharedMemorySize = 4096;
  static constexpr uint64_t kSramOnBus = 0x200000;
  static constexpr uint32_t kSramSize = 512 << 10;
  static constexpr uint32_t kSramSlot = 16 << 10;
  static constexpr uint32_t kSramSector = 512;

  // `transport` outlives this.
  explicit Asm24(Transport* transport) : transport_(*transport) {}

  absl::Status ReadXdata(uint16_t address, absl::Span<uint8_t> bytes);
  absl::Status WriteXdata(uint16_t address, absl::Span<const uint8_t> bytes);

  // Whole sectors from the start of a slot on; InvalidArgument for others, OutOfRange beyond the
  // SRAM.
  absl::Status ReadSram(uint32_t slot, absl::Span<uint8_t> bytes);
  absl::Status WriteSram(uint32_t slot, absl::Span<const uint8_t> bytes);

  absl::Status SetPower(bool on);
  // Switches PCI Express on if it is off. Unavailable: "PCIe link not up (LTSSM=0x01), ...".
  absl::Status BringLinkUp();

  // Requests. Sizes are 1, 2 or 4 bytes within one dword. NotFound: nobody is there (Unsupported
  // Request); Aborted: completer abort; Unavailable: no completion after ten tries, or config
  // retry.
  absl::StatusOr<uint32_t> ReadConfig(int bus, uint32_t offset, int bytes);
  absl::Status WriteConfig(int bus, uint32_t offset, int bytes, uint32_t value);
  absl::StatusOr<uint32_t> ReadMemory(uint64_t address, int bytes);
  absl::Status WriteMemory(uint64_t address, int bytes, uint32_t value);
  // Whole dwords. Split so that no transfer crosses a page of 4 KiB. Streams have no completions: a
  // read that nobody answers gives all ones.
  absl::Status ReadStream(uint64_t address, absl::Span<uint8_t> bytes);
  absl::Status WriteStream(uint64_t address, absl::Span<const uint8_t> bytes);

 private:
  absl::Status AnnounceSram(uint32_t slot, size_t bytes, bool read);
  absl::Status Send(uint8_t type, uint8_t enables, uint16_t mode, uint64_t address, uint32_t value);
  absl::StatusOr<uint32_t> Complete(uint8_t type, uint64_t address, int bytes, uint32_t value);

  Transport& transport_;
};

}  // namespace tg::usb

#endif  // TG_DRIVERS_USB_ASM24_H_
