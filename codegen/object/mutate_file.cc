#include "codegen/object/mutate_file.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace tg::object {

std::string ReadFileOrDie(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::abort();
  }
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

std::string Mutate(absl::string_view bytes, std::mt19937_64& random) {
  std::string result(bytes);
  const auto value = [&]() -> uint64_t {
    switch (random() % 6) {
      case 0:
        return 0;
      case 1:
        return ~uint64_t{0};
      case 2:
        return uint64_t{1} << (random() % 64);
      case 3:
        return bytes.size() + random() % 17 - 8;
      case 4:
        return random() % 256;
      default:
        return random();
    }
  };
  const size_t changes = 1 + random() % 8;
  for (size_t i = 0; i < changes && !result.empty(); ++i) {
    const size_t width = std::min<size_t>(result.size(), size_t{1} << (random() % 4));
    // Fields are aligned, and those of headers matter most.
    const bool in_header = random() % 4 == 0;
    const size_t range = in_header ? std::min<size_t>(64, result.size()) : result.size();
    const size_t offset = random() % (range - std::min(range, width) + 1) / width * width;
    const uint64_t v = value();
    std::memcpy(result.data() + offset, &v, width);
  }
  return result;
}

}  // namespace tg::object
