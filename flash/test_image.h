#ifndef TG_FLASH_TEST_IMAGE_H_
#define TG_FLASH_TEST_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tg::flash {

// 2 MiB in the layout of ifwi.h with every item there, different for each seed, and with blank
// stretches as real images have them. No code of anybody's is in it.
std::vector<uint8_t> TestImage(uint32_t seed);

// Writes a little-endian number.
void PutU32(std::vector<uint8_t>& image, size_t at, uint32_t value);

}  // namespace tg::flash

#endif  // TG_FLASH_TEST_IMAGE_H_
