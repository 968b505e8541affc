#ifndef TG_FLASH_SPI_NOR_H_
#define TG_FLASH_SPI_NOR_H_

// SPI NOR flash chips: which there are, and what is done with them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "flash/registers.h"
#include "flash/spi_bus.h"

namespace tg::flash {

// How far an operation of this library has been tried with a chip. Users see it before a write.
enum class Tried {
  kUntested,   // written from the data sheet only; the tool refuses to erase and program
  kSimulated,  // in tests, against a simulation of the chip
};
// "on a simulated chip only", "never".
absl::string_view TriedName(Tried tried);

// A chip, after its data sheet. Times are the data sheet's maximum, with room.
struct Chip {
  const char* vendor;
  const char* name;
  std::array<uint8_t, 3> jedec;  // answer to command 9f
  uint32_t size;
  uint32_t sector;  // unit of erase command 20
  uint32_t page;    // unit of program command 02
  absl::Duration sector_erase;
  absl::Duration page_program;
  absl::Duration write_status;
  Tried read, erase, program, protection;
};

// All rows. They share commands and the layout of status registers: 1 = WIP WEL BP0 BP1 BP2
// BP3/TB BP4/SEC SRP0 (from bit 0), 2 bit 6 = CMP.
absl::Span<const Chip> Chips();

// The chip whose identification appears in a capture of command 9f. The capture may be rotated:
// engines have been seen to start in the middle.
const Chip* FindChip(absl::Span<const uint8_t> capture);

// What the status registers protect from erasing and programming: [begin, end), empty when equal.
// With CMP the protected part can be two pieces; then it is the smallest range around them.
struct Range {
  uint32_t begin, end;
  bool operator==(const Range&) const = default;
};
Range ProtectedRange(const Chip& chip, uint8_t status1, uint8_t status2);

// A chip on a bus. Not thread safe.
class SpiNor {
 public:
  // Identifies the chip. NotFound with the bytes that came when it is none of Chips().
  static absl::StatusOr<SpiNor> Probe(SpiBus* bus, Clock* clock);

  const Chip& chip() const { return *chip_; }
  // Four bytes of command 9f as they were captured.
  const std::vector<uint8_t>& capture() const { return capture_; }

  absl::StatusOr<uint8_t> Status1() { return ReadRegister(0x05); }
  absl::StatusOr<uint8_t> Status2() { return ReadRegister(0x35); }
  absl::StatusOr<uint8_t> Status3() { return ReadRegister(0x15); }

  // The first bytes of the discoverable parameters. The dummy byte that precedes them is kept.
  absl::StatusOr<std::vector<uint8_t>> ReadSfdp(size_t count);

  // Fills `to` from `address` on. OutOfRange unless all of it is in the chip.
  absl::Status Read(uint32_t address, absl::Span<uint8_t> to);

  // Makes a sector all ones. InvalidArgument unless `address` is a sector's first.
  absl::Status EraseSector(uint32_t address);

  // Clears the bits that are 0 in `data`. InvalidArgument when the data is empty or crosses a page.
  absl::Status ProgramPage(uint32_t address, absl::Span<const uint8_t> data);

  // Erases the sector, programs its pages that are not all ones, reads it back and compares.
  // DataLoss names the first byte that is different.
  absl::Status WriteSector(uint32_t address, absl::Span<const uint8_t> data);

  // Clears CMP in status register 2 if it is set, and checks that it is then; whether it was.
  absl::StatusOr<bool> ClearCmp();

 private:
  SpiNor(SpiBus* bus, Clock* clock) : bus_(bus), clock_(clock) {}

  absl::StatusOr<uint8_t> ReadRegister(uint8_t opcode);
  absl::Status EnableWrite();
  absl::Status WaitIdle(absl::Duration timeout);

  SpiBus* bus_;
  Clock* clock_;
  const Chip* chip_ = nullptr;
  std::vector<uint8_t> capture_;
};

// The error for a byte that is not what it should be.
absl::Status Mismatch(uint32_t address, uint8_t flash, uint8_t image);

}  // namespace tg::flash

#endif  // TG_FLASH_SPI_NOR_H_
