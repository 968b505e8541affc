// The memory of a simulated GPU: ranges of addresses backed by host memory.
//
// Every access of a kernel goes through Find, so that one outside of all allocations is an error
// that names the nearest one, never a crash of the host.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_MEMORY_H_
#define TG_DRIVERS_SIM_AMD_WAVE_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tg::amd::sim {

struct Allocation {
  uint64_t address = 0;
  uint64_t size = 0;
  uint8_t* host = nullptr;
  std::string name;
  bool writable = true;
};

// Allocate, Map and Free must not run beside anything else; Find, Read and Write may be called by
// many threads. Bytes that kernels race for are the kernels' business.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // `size` zeroed bytes at an address of our choice, a multiple of 4096 with an unmapped gap before
  // and behind it. ResourceExhausted for more than 64 GiB in all.
  absl::StatusOr<uint64_t> Allocate(uint64_t size, std::string name);
  // Host memory that stays the caller's and must live until Unmap. AlreadyExists where ranges
  // overlap, InvalidArgument for an empty range or one that wraps.
  absl::Status Map(uint64_t address, uint64_t size, void* host, std::string name,
                   bool writable = true);
  // Allocate's memory and Map's alike. NotFound when no allocation starts there.
  absl::Status Free(uint64_t address);

  // The allocation that holds all of [address, address + size), or null.
  const Allocation* Find(uint64_t address, uint64_t size) const;

  // OutOfRange with Describe's text.
  absl::Status Read(uint64_t address, void* out, uint64_t size) const;
  absl::Status Write(uint64_t address, const void* data, uint64_t size);

  // "0x1f00: 256 bytes behind the end of 'weights' [0x1000, 0x1e00)" for messages.
  std::string Describe(uint64_t address) const;

 private:
  size_t Upper(uint64_t address) const;  // Index of the first allocation that starts above.

  std::vector<Allocation> ranges_;  // By address.
  std::vector<std::pair<uint64_t, std::unique_ptr<uint8_t[]>>> owned_;
  uint64_t next_ = 0x7f0000000000;
  uint64_t total_ = 0;
};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_MEMORY_H_
