#include "flash/test_image.h"

#include <algorithm>
#include <cstring>

#include "flash/ifwi.h"

namespace tg::flash {

void PutU32(std::vector<uint8_t>& image, size_t at, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) image[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

std::vector<uint8_t> TestImage(uint32_t seed) {
  std::vector<uint8_t> image(kIfwiSize, 0xff);
  const auto noise = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      seed = seed * 1664525 + 1013904223;
      image[i] = static_cast<uint8_t>(seed >> 24);
    }
  };
  noise(0x0, 0x8000);
  noise(0x10000, 0x14000);
  noise(0x20000, 0x150000);
  noise(0x1ef000, 0x1f0100);
  std::memcpy(image.data(), "\xaa\x55\xaa\x55", 4);
  for (size_t directory : {0x2000, 0x3000}) {
    std::memcpy(image.data() + directory, "$PSP", 4);
    PutU32(image, directory + 8, 12);
  }
  PutU32(image, 0x1000, 0x4000);
  std::memcpy(image.data() + 0x4000, "$SGN", 4);
  PutU32(image, 0x4008, 7);
  for (uint32_t type = 1; type <= 7; ++type) {
    const size_t entry = 0x4000 + 0x10 * type;
    PutU32(image, entry, type);
    PutU32(image, entry + 8, 0x100 * type);
    PutU32(image, entry + 12, 0x5000 + 0x800 * type);
  }
  PutU32(image, 0x12010, 0x30000);
  PutU32(image, 0x12018, 0x8000);
  return image;
}

}  // namespace tg::flash
