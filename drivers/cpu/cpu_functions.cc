// The functions that CPU objects may call. Compilers turn loops and operators into calls of their
// own accord, so the list is the C math library and what LLVM's code generator may ask for.
#include <math.h>
#include <string.h>

#include <bit>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "drivers/cpu/cpu_device.h"

#if defined(__x86_64__)
// Conversions of half precision, in the compiler's run-time library; only their addresses matter
// here, and C++ has no name for their type in every compiler.
extern "C" {
void __extendhfsf2();
void __truncsfhf2();
void __truncdfhf2();
}
#endif

namespace tg::drivers {
namespace {

// The ABI passes a bfloat16 in the low 16 bits of a vector register, as it does a float.
float AsBfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits}); }

// Rounds to nearest, ties to even; NaN stays NaN.
float TruncateFloatToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return AsBfloat16(static_cast<uint16_t>(bits >> 16 | 0x40));
  return AsBfloat16(static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
}

// Through float, rounded to odd, so that no information is lost that the second rounding needs.
float TruncateDoubleToBfloat16(double value) {
  float narrow = static_cast<float>(value);
  const uint32_t bits = std::bit_cast<uint32_t>(narrow);
  const double back = static_cast<double>(narrow);
  if (value == value && back != value && (bits & 1) == 0) {
    narrow = std::bit_cast<float>(fabs(back) > fabs(value) ? bits - 1 : bits + 1);
  }
  return TruncateFloatToBfloat16(narrow);
}

using FunctionMap = absl::flat_hash_map<absl::string_view, void*>;

template <typename Function>
void* AddressOf(Function* function) {
  return reinterpret_cast<void*>(function);
}

FunctionMap MakeFunctions() {
  FunctionMap map = {
    {"memcpy", AddressOf(&::memcpy)},
    {"memmove", AddressOf(&::memmove)},
    {"memset", AddressOf(&::memset)},
    {"sincos", AddressOf(&::sincos)},
    {"sincosf", AddressOf(&::sincosf)},
    {"ldexp", AddressOf(static_cast<double (*)(double, int)>(&::ldexp))},
    {"ldexpf", AddressOf(&::ldexpf)},
    {"fma", AddressOf(static_cast<double (*)(double, double, double)>(&::fma))},
    {"fmaf", AddressOf(&::fmaf)},
    {"__truncsfbf2", AddressOf(&TruncateFloatToBfloat16)},
    {"__truncdfbf2", AddressOf(&TruncateDoubleToBfloat16)},
#if defined(__x86_64__)
    {"__extendhfsf2", AddressOf(&__extendhfsf2)},
    {"__truncsfhf2", AddressOf(&__truncsfhf2)},
    {"__truncdfhf2", AddressOf(&__truncdfhf2)},
#endif
  };
#define TG_UNARY(name)                                              \
  map[#name] = AddressOf(static_cast<double (*)(double)>(&::name)); \
  map[#name "f"] = AddressOf(static_cast<float (*)(float)>(&::name##f));
#define TG_BINARY(name)                                                     \
  map[#name] = AddressOf(static_cast<double (*)(double, double)>(&::name)); \
  map[#name "f"] = AddressOf(static_cast<float (*)(float, float)>(&::name##f));
  TG_UNARY(sin)
  TG_UNARY(cos)
  TG_UNARY(tan)
  TG_UNARY(asin)
  TG_UNARY(acos)
  TG_UNARY(atan)
  TG_UNARY(sinh)
  TG_UNARY(cosh)
  TG_UNARY(tanh)
  TG_UNARY(asinh)
  TG_UNARY(acosh)
  TG_UNARY(atanh)
  TG_UNARY(exp)
  TG_UNARY(exp2)
  TG_UNARY(exp10)
  TG_UNARY(expm1)
  TG_UNARY(log)
  TG_UNARY(log2)
  TG_UNARY(log10)
  TG_UNARY(log1p)
  TG_UNARY(sqrt)
  TG_UNARY(cbrt)
  TG_UNARY(floor)
  TG_UNARY(ceil)
  TG_UNARY(trunc)
  TG_UNARY(rint)
  TG_UNARY(nearbyint)
  TG_UNARY(round)
  TG_UNARY(roundeven)
  TG_UNARY(fabs)
  TG_UNARY(erf)
  TG_UNARY(erfc)
  TG_UNARY(tgamma)
  TG_UNARY(lgamma)
  TG_BINARY(pow)
  TG_BINARY(fmod)
  TG_BINARY(remainder)
  TG_BINARY(atan2)
  TG_BINARY(hypot)
  TG_BINARY(fmax)
  TG_BINARY(fmin)
  TG_BINARY(fdim)
  TG_BINARY(copysign)
#undef TG_UNARY
#undef TG_BINARY
  return map;
}

}  // namespace

void* FindCpuFunction(absl::string_view name) {
  static const FunctionMap* const functions = new FunctionMap(MakeFunctions());
  const auto found = functions->find(name);
  return found == functions->end() ? nullptr : found->second;
}

}  // namespace tg::drivers
