#include "codegen/isa/amd/asm_constant.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace tg::amd {
namespace {

// The constants with codes 240 to 248: 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi).
constexpr uint16_t kHalfBits[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                  0xc000, 0x4400, 0xc400, 0x3118};
constexpr uint16_t kBfloatBits[] = {0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000,
                                    0xc000, 0x4080, 0xc080, 0x3e22};
constexpr uint32_t kFloatBits[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                   0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr uint64_t kDoubleBits[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                    0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                    0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

template <typename T>
bool FindFloat(const T (&table)[9], T bits, Operand* operand) {
  for (int i = 0; i < 9; ++i) {
    if (table[i] == bits) {
      *operand = InlineFloat(static_cast<uint16_t>(code::kInlineFloat0 + i));
      return true;
    }
  }
  return false;
}

bool FindInteger(int64_t value, Operand* operand) {
  if (value < -16 || value > 64) return false;
  *operand = InlineInt(static_cast<int>(value));
  return true;
}

// How an operand's numbers are looked at: which integers are inline constants is not the same for
// all of 16 bits. LLVM 22 takes 0xfff0 as -16 where a half float stands, elsewhere as a literal.
enum class Kind : uint8_t { k32, kF16, kBf16, kI16, kPkF16, kPkBf16, kPkI16, kF64, kI64 };

Kind KindOf(DataType type) {
  switch (type) {
    case DataType::kF16:
      return Kind::kF16;
    case DataType::kPkF16:
      return Kind::kPkF16;
    case DataType::kBf16:
      return Kind::kBf16;
    case DataType::kPkBf16:
      return Kind::kPkBf16;
    case DataType::kB16:
    case DataType::kI16:
    case DataType::kU16:
      return Kind::kI16;
    case DataType::kPkI16:
    case DataType::kPkU16:
      return Kind::kPkI16;
    case DataType::kF64:
      return Kind::kF64;
    case DataType::kB64:
    case DataType::kI64:
    case DataType::kU64:
      return Kind::kI64;
    default:
      return Kind::k32;
  }
}

bool Fits(int64_t value, int bits) {
  return value >= -(int64_t{1} << (bits - 1)) && value < (int64_t{1} << bits);
}

uint32_t FloatBits(double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }

// Rounds to nearest even, from a double: `mantissa` bits of fraction, bias of the exponent.
uint16_t SmallFloatBits(double value, int mantissa, int bias) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const int exponent_bits = 15 - mantissa;
  const uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa);
  const double magnitude = std::fabs(value);
  if (std::isnan(magnitude)) return static_cast<uint16_t>(sign | infinity | 1 << (mantissa - 1));
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = f * 2^exponent, f in [0.5, 1)
  const int lowest = 1 - bias;       // Exponent of the smallest normal number.
  const int e = exponent - 1 < lowest ? lowest : exponent - 1;
  const double scaled = std::nearbyint(std::ldexp(magnitude, mantissa - e));
  // The fraction's carry moves into the exponent by itself.
  const double bits = scaled + std::ldexp(static_cast<double>(e - lowest), mantissa);
  if (bits >= infinity) return static_cast<uint16_t>(sign | infinity);
  return static_cast<uint16_t>(sign | static_cast<uint16_t>(bits));
}

uint16_t HalfBits(double value) { return SmallFloatBits(value, 10, 15); }
uint16_t BfloatBits(double value) { return SmallFloatBits(value, 7, 127); }

}  // namespace

const char* IntegerLiteral(int64_t value, DataType type, Operand* operand) {
  const Kind kind = KindOf(type);
  if (kind == Kind::kF16 || kind == Kind::kBf16 || kind == Kind::kI16) {
    // Hardware ignores a literal's upper half here; a sign in it would only confuse.
    if (value < 0 && Fits(value, 16)) value &= 0xffff;
  }
  if (!Fits(value, 32)) return "the number does not fit 32 bits";
  *operand = Literal(static_cast<uint32_t>(value));
  return nullptr;
}

const char* IntegerSource(int64_t value, DataType type, Operand* operand) {
  const Kind kind = KindOf(type);
  switch (kind) {
    case Kind::k32:
    case Kind::kPkI16:
      if (Fits(value, 32)) {
        const uint32_t bits = static_cast<uint32_t>(value);
        if (FindInteger(static_cast<int32_t>(bits), operand)) return nullptr;
        if (FindFloat(kFloatBits, bits, operand)) return nullptr;
      }
      break;
    case Kind::kF16:
    case Kind::kBf16: {
      if (!Fits(value, 16)) break;
      const uint16_t bits = static_cast<uint16_t>(value);
      if (FindInteger(static_cast<int16_t>(bits), operand)) return nullptr;
      if (FindFloat(kind == Kind::kF16 ? kHalfBits : kBfloatBits, bits, operand)) return nullptr;
      break;
    }
    case Kind::kI16:
      if (FindInteger(value, operand)) return nullptr;
      break;
    case Kind::kPkF16:
    case Kind::kPkBf16:
      if (!Fits(value, 32)) break;
      if (FindInteger(static_cast<int32_t>(static_cast<uint32_t>(value)), operand)) return nullptr;
      if (value < 0 || value > 0xffff) break;
      if (FindFloat(kind == Kind::kPkF16 ? kHalfBits : kBfloatBits, static_cast<uint16_t>(value),
                    operand)) {
        return nullptr;
      }
      break;
    case Kind::kF64:
    case Kind::kI64:
      if (FindInteger(value, operand)) return nullptr;
      if (FindFloat(kDoubleBits, static_cast<uint64_t>(value), operand)) return nullptr;
      break;
  }
  return IntegerLiteral(value, type, operand);
}

bool LiteralReadsAsInline(uint32_t value, DataType type) {
  Operand operand;
  return IntegerSource(value, type, &operand) == nullptr && operand.kind == OperandKind::kInline;
}

const char* FloatLiteral(double value, DataType type, Operand* operand) {
  switch (KindOf(type)) {
    case Kind::kF16:
    case Kind::kPkF16:
      *operand = Literal(HalfBits(value));
      break;
    case Kind::kBf16:
    case Kind::kPkBf16:
      *operand = Literal(BfloatBits(value));
      break;
    case Kind::k32:
      *operand = Literal(FloatBits(value));
      break;
    case Kind::kI16:
    case Kind::kPkI16:
      *operand = Literal(HalfBits(value));
      break;
    case Kind::kF64:
      // The literal is the upper half.
      *operand = Literal(static_cast<uint32_t>(std::bit_cast<uint64_t>(value) >> 32));
      break;
    case Kind::kI64:
      return "a 64-bit integer takes no floating point literal";
  }
  return nullptr;
}

const char* FloatSource(double value, DataType type, Operand* operand) {
  switch (KindOf(type)) {
    case Kind::kF16:
    case Kind::kPkF16:
      if (FindFloat(kHalfBits, HalfBits(value), operand)) return nullptr;
      break;
    case Kind::kBf16:
    case Kind::kPkBf16:
      // 1/(2 pi) is written with more digits than a bfloat holds; its constant is cut, not rounded.
      if (FloatBits(value) == kFloatBits[8]) {
        *operand = InlineFloat(code::kInlineInv2Pi);
        return nullptr;
      }
      if (FindFloat(kBfloatBits, BfloatBits(value), operand)) return nullptr;
      break;
    case Kind::k32:
    case Kind::kI16:
    case Kind::kPkI16:
      if (FindFloat(kFloatBits, FloatBits(value), operand)) return nullptr;
      break;
    case Kind::kF64:
    case Kind::kI64:
      if (FindFloat(kDoubleBits, std::bit_cast<uint64_t>(value), operand)) return nullptr;
      break;
  }
  if (value == 0 && !std::signbit(value)) {
    *operand = InlineInt(0);
    return nullptr;
  }
  return FloatLiteral(value, type, operand);
}

}  // namespace tg::amd
