#ifndef TG_FLASH_SPI_BUS_H_
#define TG_FLASH_SPI_BUS_H_

// The bus to an SPI chip, whatever drives it.

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace tg::flash {

// One command to a chip: the code, an address of 0 to 3 bytes, and data in one direction.
struct SpiCommand {
  uint8_t opcode;
  uint32_t address = 0;
  int address_size = 0;
  absl::Span<const uint8_t> out = {};
};

class SpiBus {
 public:
  virtual ~SpiBus() = default;

  // The most bytes of data in one command.
  virtual size_t max_data() const = 0;

  // Sends the command and fills `in` with the chip's answer to it. Commands that fill `in` must be
  // harmless to repeat: a bus may send them more than once. On an error the chip may have heard
  // the command or not.
  virtual absl::Status Transfer(const SpiCommand& command, absl::Span<uint8_t> in) = 0;
};

}  // namespace tg::flash

#endif  // TG_FLASH_SPI_BUS_H_
