#ifndef TG_FLASH_CARD_H_
#define TG_FLASH_CARD_H_

// The card that a command works on.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "flash/registers.h"

namespace tg::flash {

class Card {
 public:
  virtual ~Card() = default;
  virtual Registers& registers() = 0;
  virtual Clock& clock() = 0;
  // "simulated card, flash in card.bin".
  virtual std::string description() const = 0;
};

struct CardOptions {
  std::string transport = "auto";  // auto, usb, pci, sim:FILE
  int device = 0;
  std::string sim;  // how a simulated card differs from a good one; see ParseSimOptions
};

// Through what the command reaches the flash; a simulated card starts in the state for that.
enum class Path { kRomSw, kFirmware };

// InvalidArgument: no such transport, or options that do not go with it. To be checked before
// anything else is done.
absl::Status CheckCardOptions(const CardOptions& options);

// `writable`: the command will write the flash. A simulated card's image file is changed only then.
absl::StatusOr<std::unique_ptr<Card>> OpenCard(const CardOptions& options, Path path,
                                               bool writable);

}  // namespace tg::flash

#endif  // TG_FLASH_CARD_H_
