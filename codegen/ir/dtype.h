// Element types: their widths, their order of promotion, and the exact conversion of one value.
//
// A `DType` is a scalar type and a lane count. Tensors and kernels before lowering use one lane;
// lowering makes vector values (`kFloat32.Vec(16)`). Pointers are not types: a memory object is a
// `kParam` or `kBuffer` node that carries the type of its elements (see op.h).
//
// `kWeakInt` and `kWeakFloat` are the types of literals and of index arithmetic: a weak operand
// takes the type of its strong neighbour. Index arithmetic is exact (an unbounded integer, held in
// 64 bits; lowering picks int32 or int64 from the value bounds). No memory holds a weak type.
//
// Promotion is JAX's lattice (JEP 9407) with the four fp8 kinds between weak float and the
// 16-bit floats. fp8 formats: OCP 8-bit Floating Point Specification 1.0 (E4M3, E5M2) and the
// "FNUZ" variants (one zero, one NaN, no infinity).
#ifndef TG_CODEGEN_IR_DTYPE_H_
#define TG_CODEGEN_IR_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tg::ir {

enum class ScalarType : uint8_t {
  kVoid,
  kWeakInt,
  kBool,
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kWeakFloat,
  kFp8E4M3,
  kFp8E5M2,
  kFp8E4M3Fnuz,
  kFp8E5M2Fnuz,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
};
inline constexpr int kScalarTypeCount = 20;

class DType {
 public:
  constexpr DType() = default;
  constexpr DType(ScalarType scalar, int lanes = 1)  // NOLINT: a scalar type is a type
      : scalar_(scalar), lanes_(static_cast<uint16_t>(lanes)) {}

  constexpr ScalarType scalar() const { return scalar_; }
  constexpr int lanes() const { return lanes_; }
  // The same scalar with `lanes` lanes, and with one.
  constexpr DType Vec(int lanes) const { return DType(scalar_, lanes); }
  constexpr DType Scalar() const { return DType(scalar_); }

  constexpr bool operator==(const DType& o) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const DType& d) {
    return H::combine(std::move(h), d.scalar_, d.lanes_);
  }

  // Bits and bytes of one lane. Weak types have no size (0); bool is one byte in memory, one bit.
  int bits() const;
  int bytes() const { return (bits() + 7) / 8; }
  // Bytes of all lanes.
  int size() const { return bytes() * lanes_; }

  bool IsVoid() const { return scalar_ == ScalarType::kVoid; }
  bool IsBool() const { return scalar_ == ScalarType::kBool; }
  // Integer kinds include kWeakInt and exclude bool; float kinds include kWeakFloat.
  bool IsInt() const;
  bool IsUnsigned() const;
  bool IsSigned() const { return IsInt() && !IsUnsigned(); }
  bool IsFloat() const;
  bool IsFp8() const;
  bool IsWeak() const {
    return scalar_ == ScalarType::kWeakInt || scalar_ == ScalarType::kWeakFloat;
  }

  // Smallest and largest integer value (bool: 0 and 1). uint64's largest does not fit: INT64_MAX.
  // Weak int: INT64_MIN and INT64_MAX.
  int64_t MinInt() const;
  int64_t MaxInt() const;

  // "float32", and "float32x16" with lanes.
  std::string ToString() const;
  // The inverse; also takes aliases ("float", "half", "int", "uchar", ...). nullopt if unknown.
  static std::optional<DType> Parse(absl::string_view name);

 private:
  ScalarType scalar_ = ScalarType::kVoid;
  uint16_t lanes_ = 1;
};

std::ostream& operator<<(std::ostream& os, const DType& d);

inline constexpr DType kVoid{ScalarType::kVoid};
inline constexpr DType kWeakInt{ScalarType::kWeakInt};
// Index arithmetic uses the weak integer.
inline constexpr DType kIndex{ScalarType::kWeakInt};
inline constexpr DType kBool{ScalarType::kBool};
inline constexpr DType kInt8{ScalarType::kInt8};
inline constexpr DType kUInt8{ScalarType::kUInt8};
inline constexpr DType kInt16{ScalarType::kInt16};
inline constexpr DType kUInt16{ScalarType::kUInt16};
inline constexpr DType kInt32{ScalarType::kInt32};
inline constexpr DType kUInt32{ScalarType::kUInt32};
inline constexpr DType kInt64{ScalarType::kInt64};
inline constexpr DType kUInt64{ScalarType::kUInt64};
inline constexpr DType kWeakFloat{ScalarType::kWeakFloat};
inline constexpr DType kFp8E4M3{ScalarType::kFp8E4M3};
inline constexpr DType kFp8E5M2{ScalarType::kFp8E5M2};
inline constexpr DType kFp8E4M3Fnuz{ScalarType::kFp8E4M3Fnuz};
inline constexpr DType kFp8E5M2Fnuz{ScalarType::kFp8E5M2Fnuz};
inline constexpr DType kFloat16{ScalarType::kFloat16};
inline constexpr DType kBFloat16{ScalarType::kBFloat16};
inline constexpr DType kFloat32{ScalarType::kFloat32};
inline constexpr DType kFloat64{ScalarType::kFloat64};

// The least type that holds every one of `types` (lattice join; one lane). Empty: kVoid.
DType LeastUpperDType(absl::Span<const DType> types);
inline DType LeastUpperDType(std::initializer_list<DType> types) {
  return LeastUpperDType(absl::MakeConstSpan(types.begin(), types.size()));
}
// `d` if it is a float, else the join of `d` with `default_float`.
DType LeastUpperFloat(DType d, DType default_float = kFloat32);
// Whether each value of `from` is a value of `to`.
bool CanLosslessCast(DType from, DType to);
// The type a sum of `d` accumulates in: unsigned at least uint32, signed and bool at least int32,
// floats at least `sum_dtype`.
DType SumAccDType(DType d, DType sum_dtype = kFloat32);

struct FloatInfo {
  int exponent_bits;
  int mantissa_bits;
};
// Field widths of a float kind; nullopt for anything else.
std::optional<FloatInfo> Finfo(DType d);

// --- Values -------------------------------------------------------------------------------------
// Rounds `v` to the nearest value of the float kind `d` (ties to even) and returns it as a double.
// Overflow: infinity for half, bfloat16, float32; the largest finite value for fp8 (saturating).
// kFloat64 and weak: `v` itself.
double RoundToFloat(double v, DType d);
// Wraps `v` to the width of the integer kind `d` (two's complement), sign- or zero-extended to 64
// bits. bool: v != 0. kUInt64 values are held as the int64 with the same bits.
int64_t WrapToInt(int64_t v, DType d);
// Float to integer kind `d`: truncates toward zero, then takes the value modulo 2^bits, so -1.5
// to uint8 is 255. NaN and magnitudes of 2^63 and above give 0 (2^64 for kUInt64).
int64_t FloatToInt(double v, DType d);
// Integer (held as WrapToInt holds it) to double; honours that uint64 is unsigned.
double IntToDouble(int64_t v, DType from);

// Bit patterns of small floats. Encode rounds as RoundToFloat; Decode is exact.
uint64_t EncodeFloat(double v, DType d);
double DecodeFloat(uint64_t bits, DType d);

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_DTYPE_H_
