#ifndef TG_DRIVERS_SIM_PCI_FAULTY_FUNCTION_H_
#define TG_DRIVERS_SIM_PCI_FAULTY_FUNCTION_H_

// Faults of the way to a device, around any function: one fault at a chosen transaction, so tests
// can go through all of them one by one. A transaction is one read or write of config space, of a
// register, or of a span of bytes in a BAR. DMA memory, resets and interrupts pass as they are.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drivers/pci/function.h"

namespace tg::sim {

enum class PciFault {
  kNone,
  kError,      // the transaction fails and does not reach the device
  kFlipBit,    // the first read from there on has one bit wrong
  kStuck,      // the first register that is read from there on keeps its value for ever
  kDropWrite,  // the first write from there on is lost, with success
  kShortRead,  // the first read of a span from there on brings half of it, and fails
  kLinkLoss,   // from there on reads are all ones and writes are lost
};

class FaultyFunction final : public pci::Function {
 public:
  // `function` outlives this.
  explicit FaultyFunction(pci::Function* function) : function_(*function) {}

  // `fault` happens at the transaction with the number `at`, counted from now on and from zero.
  // `seed` chooses what is random about it: which bit.
  void Arm(PciFault fault, int64_t at, uint64_t seed = 1);
  int64_t transactions() const { return transactions_; }
  bool happened() const { return happened_; }

  const std::string& bus() const override { return function_.bus(); }
  absl::StatusOr<std::unique_ptr<pci::DmaMemory>> AllocateDma(uint64_t size,
                                                              bool contiguous) override {
    return function_.AllocateDma(size, contiguous);
  }
  absl::Status Reset() override { return function_.Reset(); }
  absl::StatusOr<std::unique_ptr<pci::Interrupt>> EnableInterrupt() override {
    return function_.EnableInterrupt();
  }

 private:
  class FaultyRegion;
  // Config space is 6, after the BARs.
  using Place = std::pair<int, uint64_t>;

  // Counts a transaction; whether the fault is due.
  bool Due();
  template <typename Read>
  absl::StatusOr<uint64_t> ReadOne(Place place, pci::Width width, Read read);
  template <typename Write>
  absl::Status WriteOne(Write write);

  absl::StatusOr<uint32_t> DoReadConfig(uint32_t offset, pci::Width width) override;
  absl::Status DoWriteConfig(uint32_t offset, pci::Width width, uint32_t value) override;
  absl::StatusOr<pci::Bar> DoGetBar(int index) override { return function_.GetBar(index); }
  absl::StatusOr<std::unique_ptr<pci::Region>> DoMapBar(int index, const pci::Bar& bar) override;
  absl::Status DoResizeBar(int index, uint64_t size) override {
    return function_.ResizeBar(index, size);
  }

  pci::Function& function_;
  PciFault fault_ = PciFault::kNone;
  int64_t at_ = 0;
  uint64_t seed_ = 1;
  int64_t transactions_ = 0;
  bool happened_ = false;
  Place stuck_{-1, 0};
  uint64_t stuck_value_ = 0;
};

}  // namespace tg::sim

#endif  // TG_DRIVERS_SIM_PCI_FAULTY_FUNCTION_H_
