#ifndef TG_DRIVERS_SIM_PCI_SIM_FUNCTION_H_
#define TG_DRIVERS_SIM_PCI_SIM_FUNCTION_H_

// A simulated PCI function, of which device models are made: config space with the write behaviour
// of real registers, BARs whose registers are callbacks or memory, and a host whose memory the
// device can reach. Drivers open it as a pci::Function. Not thread safe.
//
//   SimFunction card("sim:0", {.vendor = 0x1002, .device = 0x744c});
//   card.AddMemoryBar(0, 16 << 20);
//   card.AddRegisterBar(5, 1 << 20, {read, write});

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "drivers/pci/config_space.h"
#include "drivers/pci/function.h"

namespace tg::sim {

class SimFunction final : public pci::Function {
 public:
  // Registers of a device model. Offsets are aligned and within the BAR. An error reaches the
  // driver, so models report what they do not understand instead of guessing.
  struct Registers {
    std::function<absl::StatusOr<uint64_t>(uint64_t offset, pci::Width width)> read;
    std::function<absl::Status(uint64_t offset, pci::Width width, uint64_t value)> write;
  };

  SimFunction(std::string bus, const pci::Identity& identity);
  ~SimFunction() override;

  // Before the function is used. Sizes are powers of two of at least 16 bytes; addresses are
  // assigned as firmware does. A 64-bit BAR takes the next index, too.
  void AddMemoryBar(int index, uint64_t size, bool is_64bit = true);
  void AddRegisterBar(int index, uint64_t size, Registers registers, bool is_64bit = false);
  // A memory BAR can take the sizes of `sizes` (pci::ResizableBarSizes) from now on.
  void MakeResizable(int index, uint64_t sizes);
  void set_on_reset(std::function<void()> on_reset) { on_reset_ = std::move(on_reset); }

  // What the device does by itself. Memory of the host: FailedPrecondition unless the driver has
  // made the function a bus master, OutOfRange outside of what it has allocated.
  absl::Status ReadHost(uint64_t address, absl::Span<uint8_t> bytes);
  absl::Status WriteHost(uint64_t address, absl::Span<const uint8_t> bytes);
  void RaiseInterrupt() { ++interrupts_; }

  // The contents of a memory BAR.
  absl::Span<uint8_t> memory(int index);
  // For models of devices with registers of their own in config space.
  void SetConfig(uint32_t offset, pci::Width width, uint32_t value, uint32_t writable = 0);

  const std::string& bus() const override { return bus_; }
  // Physical pages are handed out in descending order unless they must be contiguous: a driver that
  // takes them for contiguous fails.
  absl::StatusOr<std::unique_ptr<pci::DmaMemory>> AllocateDma(uint64_t size,
                                                              bool contiguous) override;
  absl::Status Reset() override;
  absl::StatusOr<std::unique_ptr<pci::Interrupt>> EnableInterrupt() override;

 private:
  class BarRegion;
  class HostMemory;
  class MsiInterrupt;
  struct BarState {
    uint64_t size = 0;
    bool is_64bit = false;
    Registers registers;          // or
    std::vector<uint8_t> memory;  // as large as the largest size
  };

  absl::StatusOr<uint32_t> DoReadConfig(uint32_t offset, pci::Width width) override;
  absl::Status DoWriteConfig(uint32_t offset, pci::Width width, uint32_t value) override;
  absl::StatusOr<pci::Bar> DoGetBar(int index) override;
  absl::StatusOr<std::unique_ptr<pci::Region>> DoMapBar(int index, const pci::Bar& bar) override;
  absl::Status DoResizeBar(int index, uint64_t size) override;

  void SetBar(int index, uint64_t size, uint32_t flags);
  void SetBarMask(int index, uint64_t size);
  // What a write to the Resizable BAR capability has chosen.
  void ApplyChosenSize();
  uint64_t BarAddress(int index) const;
  absl::StatusOr<uint64_t> ReadBar(int index, uint64_t offset, pci::Width width);
  absl::Status WriteBar(int index, uint64_t offset, pci::Width width, uint64_t value);
  uint8_t* HostByte(uint64_t address);
  absl::Status CheckMaster();

  const std::string bus_;
  std::array<uint8_t, kConfigSize> config_ = {};
  std::array<uint8_t, kConfigSize> writable_ = {};  // bits that a write changes
  std::array<BarState, kBars> bars_;
  int resizable_ = -1;
  uint64_t sizes_ = 0;
  uint64_t next_address_ = 0xd000'0000;
  std::function<void()> on_reset_;
  std::map<uint64_t, uint8_t*> host_pages_;  // by physical address
  uint64_t next_host_page_ = 0x1'4000'0000;
  uint64_t interrupts_ = 0;
};

}  // namespace tg::sim

#endif  // TG_DRIVERS_SIM_PCI_SIM_FUNCTION_H_
