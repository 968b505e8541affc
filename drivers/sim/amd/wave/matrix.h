// Elements of matrices in registers, for matrix instructions.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_MATRIX_H_
#define TG_DRIVERS_SIM_AMD_WAVE_MATRIX_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "drivers/sim/amd/wave/float_format.h"
#include "drivers/sim/amd/wave/lanes.h"
#include "drivers/sim/amd/wave/numeric.h"

namespace tg::amd::sim {

enum class Element : uint8_t { kF64, kF32, kF16, kBf16, kFp8, kBf8, kFp6, kBf6, kFp4, kI8, kI4 };

inline int BitsOf(Element e) {
  switch (e) {
    case Element::kF64:
      return 64;
    case Element::kF32:
      return 32;
    case Element::kF16:
    case Element::kBf16:
      return 16;
    case Element::kFp6:
    case Element::kBf6:
      return 6;
    case Element::kFp4:
    case Element::kI4:
      return 4;
    default:
      return 8;
  }
}

// `bits` bits at `index` times that of a lane's registers from `row` on.
inline uint64_t Field(const Wave& w, int row, int lane, int index, int bits) {
  int at = index * bits;
  uint64_t x = w.row(row + at / 32)[lane];
  if (at % 32 + bits > 32) x |= static_cast<uint64_t>(w.row(row + at / 32 + 1)[lane]) << 32;
  x >>= at % 32;
  return bits == 64 ? x : x & ((uint64_t{1} << bits) - 1);
}

inline double Value(Isa isa, Element e, uint64_t x, bool is_signed) {
  switch (e) {
    case Element::kF64:
      return Double(x);
    case Element::kF32:
      return Float(static_cast<uint32_t>(x));
    case Element::kF16:
      return HalfToFloat(static_cast<uint32_t>(x));
    case Element::kBf16:
      return Bf16ToFloat(static_cast<uint32_t>(x));
    case Element::kFp8:
      return Decode(Fp8Of(isa), static_cast<uint32_t>(x));
    case Element::kBf8:
      return Decode(Bf8Of(isa), static_cast<uint32_t>(x));
    case Element::kFp6:
      return Decode(kE2M3, static_cast<uint32_t>(x));
    case Element::kBf6:
      return Decode(kE3M2, static_cast<uint32_t>(x));
    case Element::kFp4:
      return Decode(kE2M1, static_cast<uint32_t>(x));
    case Element::kI8:
      return is_signed ? static_cast<int8_t>(x) : static_cast<double>(x);
    case Element::kI4:
      return is_signed && x > 7 ? static_cast<double>(x) - 16 : static_cast<double>(x);
  }
  return 0;
}

inline uint32_t Integer(double sum, bool clamp) {
  int64_t x = static_cast<int64_t>(sum);
  if (clamp)
    x = std::clamp<int64_t>(x, std::numeric_limits<int32_t>::min(),
                            std::numeric_limits<int32_t>::max());
  return static_cast<uint32_t>(x);
}

// The addend's bits: a register or a constant.
inline uint64_t Addend(const Wave& w, const Source& s, int lane, int index, int bits) {
  return s.kind == Source::Kind::kRow ? Field(w, s.index, lane, index, bits) : s.bits;
}

struct Shape {
  int m, k, blocks;
};
// Where element `r` of a lane's accumulator lies.
struct Place {
  int block, row, column;
};
inline Place Accumulator(const Shape& s, bool f64, int lane, int r) {
  if (s.m == 4) {
    if (f64) return {lane / 4 % 4, lane / 16, lane % 4};
    return {lane / 4, r, lane % 4};
  }
  if (s.m == 16) {
    if (f64) return {0, 4 * r + lane / 16, lane % 16};
    return {r / 4, 4 * (lane / 16) + r % 4, lane % 16};
  }
  return {r / 16, 8 * (r % 16 / 4) + 4 * (lane / 32) + r % 4, lane % 32};
}

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_MATRIX_H_
