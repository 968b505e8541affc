#ifndef TG_DRIVERS_SIM_USB_SIM_ASM24_H_
#define TG_DRIVERS_SIM_USB_SIM_ASM24_H_

// A simulated ASM2464PD (drivers/usb/asm24.h) with a chain of PCI bridges and a device at its end.
// Out of power on nothing is numbered and no window is open: what a driver forgets to set up does
// not answer.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "drivers/sim/pci/sim_function.h"
#include "drivers/usb/transport.h"

namespace tg::sim {

class SimAsm24 final : public usb::Transport {
 public:
  // `device` outlives this. `bridges`: those between the controller and the device.
  SimAsm24(SimFunction* device, int bridges);

  // What the device reads and writes by itself: the page in XDATA at 0x820000, the SRAM at
  // 0x200000. OutOfRange: the bridge has no memory there.
  absl::Status DeviceRead(uint64_t address, absl::Span<uint8_t> bytes);
  absl::Status DeviceWrite(uint64_t address, absl::Span<const uint8_t> bytes);

  // From now on every transfer fails.
  void Unplug() { unplugged_ = true; }
  // That many completions do not come.
  void LoseCompletions(int count) { lost_ = count; }
  // The next completion has this status.
  void SpoilCompletion(uint8_t status) { spoiled_ = status; }
  // The state that the link has when it should be up.
  void set_link_state(uint8_t state) { link_state_ = state; }

  absl::Status ControlOut(uint8_t request, uint16_t value, uint16_t index,
                          absl::Span<const uint8_t> data, absl::Duration timeout) override;
  absl::Status ControlIn(uint8_t request, uint16_t value, uint16_t index, absl::Span<uint8_t> data,
                         absl::Duration timeout) override;
  absl::Status BulkOut(uint8_t endpoint, absl::Span<const uint8_t> data,
                       absl::Duration timeout) override;
  absl::Status BulkIn(uint8_t endpoint, absl::Span<uint8_t> data, absl::Duration timeout) override;

 private:
  using Header = std::array<uint8_t, 64>;  // of a bridge

  void PowerOn();
  // Whether requests for that bus, or to that address, get past all bridges before the device.
  bool Routed(int bus) const;
  bool Passes(uint64_t address) const;
  uint32_t Register(const Header& bridge, uint32_t at) const;
  void Config(uint8_t type, uint8_t enables, uint64_t address, uint32_t value);
  // Moves the enabled bytes of a dword; false: nobody claims the address.
  bool Memory(bool write, uint8_t enables, uint64_t address, uint32_t& value);
  void Complete(uint32_t data, uint8_t status);
  absl::Status AnnounceSram(uint16_t value, uint16_t index);
  // What is at an address of the device's side; empty: nothing of that size.
  absl::Span<uint8_t> Shared(uint64_t address, size_t bytes);

  SimFunction& device_;
  std::vector<Header> bridges_;
  std::vector<uint8_t> xdata_;
  std::vector<uint8_t> sram_;
  std::map<int, std::unique_ptr<pci::Region>> regions_;
  uint8_t link_state_ = 0x78;
  bool power_ = false;
  bool unplugged_ = false;
  int lost_ = 0;
  uint8_t spoiled_ = 0;
  std::array<uint8_t, 8> completion_ = {};
  // A stream that has been announced.
  uint16_t stream_ = 0;
  uint64_t stream_address_ = 0;
  size_t stream_bytes_ = 0;
  // A transfer of the SRAM that has been announced: its bytes, and whether they are read.
  absl::Span<uint8_t> sram_transfer_;
  bool sram_read_ = false;
};

}  // namespace tg::sim

#endif  // TG_DRIVERS_SIM_USB_SIM_ASM24_H_
