#ifndef TG_DRIVERS_PCI_REMOTE_BORROWED_SOURCE_H_
#define TG_DRIVERS_PCI_REMOTE_BORROWED_SOURCE_H_

// Serves one function that somebody else owns: a simulated one in tests, or one that is already
// open.

#include <memory>
#include <string>
#include <vector>

#include "drivers/pci/config_space.h"
#include "drivers/pci/remote/server.h"

namespace tg::pci::remote {

class BorrowedSource final : public FunctionSource {
 public:
  // `function` outlives this and all clients.
  explicit BorrowedSource(Function* function) : function_(*function) {}

  absl::StatusOr<std::vector<std::string>> List(const Match& match) override {
    absl::StatusOr<Identity> identity = ReadIdentity(function_);
    if (!identity.ok()) return identity.status();
    if (!match.Accepts(*identity)) return std::vector<std::string>();
    return std::vector<std::string>{function_.bus()};
  }
  absl::StatusOr<std::unique_ptr<Function>> Open(const std::string&) override {
    return std::make_unique<Borrowed>(function_);
  }

 private:
  class Borrowed final : public Function {
   public:
    explicit Borrowed(Function& function) : function_(function) {}
    const std::string& bus() const override { return function_.bus(); }
    absl::StatusOr<std::unique_ptr<DmaMemory>> AllocateDma(uint64_t size,
                                                           bool contiguous) override {
      return function_.AllocateDma(size, contiguous);
    }
    absl::Status Reset() override { return function_.Reset(); }
    absl::StatusOr<std::unique_ptr<Interrupt>> EnableInterrupt() override {
      return function_.EnableInterrupt();
    }

   private:
    absl::StatusOr<uint32_t> DoReadConfig(uint32_t offset, Width width) override {
      return function_.ReadConfig(offset, width);
    }
    absl::Status DoWriteConfig(uint32_t offset, Width width, uint32_t value) override {
      return function_.WriteConfig(offset, width, value);
    }
    absl::StatusOr<Bar> DoGetBar(int index) override { return function_.GetBar(index); }
    absl::StatusOr<std::unique_ptr<Region>> DoMapBar(int index, const Bar&) override {
      return function_.MapBar(index);
    }
    absl::Status DoResizeBar(int index, uint64_t size) override {
      return function_.ResizeBar(index, size);
    }
    Function& function_;
  };

  Function& function_;
};

}  // namespace tg::pci::remote

#endif  // TG_DRIVERS_PCI_REMOTE_BORROWED_SOURCE_H_
