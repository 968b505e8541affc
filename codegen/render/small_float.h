// Bit layouts of the 8-bit floats, as the numbers that conversion code is made from.
//
// Sources: OCP 8-bit Floating Point Specification 1.0 (E4M3, E5M2); for the FNUZ kinds AMD's CDNA3
// instruction set manual, section "FP8 and BF8". What a conversion must give is ir::EncodeFloat's
// and ir::DecodeFloat's business (codegen/ir/dtype.h): renderers emit code that agrees with them.
#ifndef TG_CODEGEN_RENDER_SMALL_FLOAT_H_
#define TG_CODEGEN_RENDER_SMALL_FLOAT_H_

#include <cstdint>

#include "codegen/ir/dtype.h"

namespace tg::render {

struct Fp8Layout {
  int mantissa_bits;
  int bias;
  uint32_t max_code;  // of the largest finite value, without sign
  uint32_t nan_code;  // with the sign bit where that is part of it
  bool has_infinity;  // its code follows max_code
  bool has_negative_zero;

  // The float32 with these exponent and mantissa fields has the layout's value times this power of
  // two: a code shifted left by 23 - mantissa_bits is a float32 of the wrong bias.
  int rebias() const { return 127 - bias; }
  int shift() const { return 23 - mantissa_bits; }
  // float32 bits of the largest finite value and of the smallest normal one.
  uint32_t max_float_bits() const {
    return (max_code << shift()) + (static_cast<uint32_t>(rebias()) << 23);
  }
  uint32_t min_normal_float_bits() const { return static_cast<uint32_t>(rebias() + 1) << 23; }
  // float32 bits of 2^23 units in the last place of a subnormal: added to a smaller number it
  // leaves that number, rounded to such units, in the low bits.
  uint32_t subnormal_magic_bits() const {
    return static_cast<uint32_t>(rebias() + 1 + shift()) << 23;
  }
};

// `d` is one of the four fp8 kinds.
constexpr Fp8Layout LayoutOf(ir::ScalarType d) {
  switch (d) {
    case ir::ScalarType::kFp8E4M3:
      return {3, 7, 0x7E, 0x7F, false, true};
    case ir::ScalarType::kFp8E5M2:
      return {2, 15, 0x7B, 0x7F, true, true};
    case ir::ScalarType::kFp8E4M3Fnuz:
      return {3, 8, 0x7F, 0x80, false, false};
    default:
      return {2, 16, 0x7F, 0x80, false, false};
  }
}

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_SMALL_FLOAT_H_
