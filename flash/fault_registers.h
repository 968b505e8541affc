#ifndef TG_FLASH_FAULT_REGISTERS_H_
#define TG_FLASH_FAULT_REGISTERS_H_

// Registers over a link that breaks at a chosen access: for tests, and for rehearsals of a
// recovery on an image file.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "flash/registers.h"

namespace tg::flash {

enum class LinkFault {
  kNone,
  kError,      // this access fails, the next ones work
  kLost,       // this and all later accesses fail
  kAllOnes,    // from here on reads are all ones and writes go nowhere, without an error
  kDropWrite,  // this write, or the next one after this access, goes nowhere without an error
  kFlipRead,   // this read, or the next one after this access, has a wrong bit
};

class FaultRegisters final : public Registers {
 public:
  // `card` outlives this.
  explicit FaultRegisters(Registers* card) : card_(*card) {}

  // The access with index `at`, counted from 0 over the life of this object, meets `fault`.
  void Inject(LinkFault fault, int64_t at) {
    fault_ = fault;
    at_ = at;
  }
  // Accesses so far.
  int64_t count() const { return count_; }

  absl::StatusOr<uint32_t> Read32(uint32_t offset) override {
    const bool due = count_++ >= at_ && fault_ != LinkFault::kNone;
    if (!due || fault_ == LinkFault::kDropWrite) return card_.Read32(offset);
    switch (fault_) {
      case LinkFault::kAllOnes:
        return kAllOnes;
      case LinkFault::kFlipRead: {
        fault_ = LinkFault::kNone;
        absl::StatusOr<uint32_t> value = card_.Read32(offset);
        if (value.ok()) *value ^= 1u << (at_ % 32);
        return value;
      }
      default:
        return Fail("read");
    }
  }

  absl::Status Write32(uint32_t offset, uint32_t value) override {
    const bool due = count_++ >= at_ && fault_ != LinkFault::kNone;
    if (!due || fault_ == LinkFault::kFlipRead) return card_.Write32(offset, value);
    switch (fault_) {
      case LinkFault::kAllOnes:
        return absl::OkStatus();
      case LinkFault::kDropWrite:
        fault_ = LinkFault::kNone;
        return absl::OkStatus();
      default:
        return Fail("write");
    }
  }

 private:
  absl::Status Fail(const char* what) {
    const bool once = fault_ == LinkFault::kError;
    if (once) fault_ = LinkFault::kNone;
    return absl::UnavailableError(std::string("the link to the card failed: ") + what +
                                  (once ? " error" : ": no answer"));
  }

  Registers& card_;
  LinkFault fault_ = LinkFault::kNone;
  int64_t at_ = 0;
  int64_t count_ = 0;
};

}  // namespace tg::flash

#endif  // TG_FLASH_FAULT_REGISTERS_H_
