#ifndef TG_FLASH_SHA256_H_
#define TG_FLASH_SHA256_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace tg::flash {

// The SHA-256 of the bytes (FIPS 180-4), as 64 hexadecimal digits, like `sha256sum` prints it.
// People tell images apart by it; nothing is authenticated, so no cryptographic library is linked.
std::string Sha256(absl::Span<const uint8_t> bytes);

}  // namespace tg::flash

#endif  // TG_FLASH_SHA256_H_
