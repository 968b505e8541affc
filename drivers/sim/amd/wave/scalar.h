// Runs a function of scalar values: SOP1, SOP2, SOPC and SOPK.
//
//   Scalar("s_and_b32", [](Wave& w, uint32_t a, uint32_t b) { return Nonzero(w, a & b); })
//
// The first parameter may be the wave, for SCC, EXEC and M0. The others are the sources in order,
// then the old value of the destination. A result of bool goes to SCC, others to the destination.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_SCALAR_H_
#define TG_DRIVERS_SIM_AMD_WAVE_SCALAR_H_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "drivers/sim/amd/wave/lanes.h"

namespace tg::amd::sim {
namespace scalar {

template <class T>
T Read(const Wave& w, const MicroOp& u, int i) {
  const Source& s = u.src[i];
  uint64_t x = ScalarValue(w, s);
  if constexpr (std::is_same_v<T, float>) {
    uint32_t bits = static_cast<uint32_t>(x);
    if (s.abs) bits &= 0x7fffffff;
    if (s.neg) bits ^= 0x80000000;
    return Float(bits);
  } else if constexpr (std::is_same_v<T, Half>) {
    uint32_t bits = s.high ? x >> 16 & 0xffff : x & 0xffff;
    if (s.abs) bits &= 0x7fff;
    if (s.neg) bits ^= 0x8000;
    return {HalfToFloat(bits)};
  } else {
    return static_cast<T>(x);
  }
}

template <class T>
void Write(Wave& w, const MicroOp& u, T value) {
  const Dest& d = u.dst[0];
  if constexpr (std::is_same_v<T, bool>) {
    w.scc = value;
  } else if constexpr (sizeof(T) == 8) {
    if (d.kind == Dest::Kind::kSgpr) w.set_sgpr64(d.index, static_cast<uint64_t>(value));
  } else if constexpr (std::is_same_v<T, float>) {
    if (d.kind == Dest::Kind::kSgpr) w.sgpr[d.index] = Bits(lanes::Modified(w, u, value));
  } else if constexpr (std::is_same_v<T, Half>) {
    if (d.kind == Dest::Kind::kSgpr)
      w.sgpr[d.index] = FloatToHalf(lanes::Modified(w, u, value.f, true));
  } else {
    if (d.kind == Dest::Kind::kSgpr) w.sgpr[d.index] = static_cast<uint32_t>(value);
  }
}

template <class F, class R, bool kWave, class... A>
struct Runner {
  template <size_t... I>
  static void Go(Wave& w, const MicroOp& u, std::index_sequence<I...>) {
    auto call = [&]() -> R {
      if constexpr (kWave) {
        return F{}(w, Read<A>(w, u, I)...);
      } else {
        return F{}(Read<A>(w, u, I)...);
      }
    };
    if constexpr (std::is_void_v<R>) {
      call();
    } else {
      Write(w, u, call());
    }
  }
  static void Run(Wave& w, const MicroOp& u) { Go(w, u, std::index_sequence_for<A...>{}); }
};

template <class T>
inline constexpr bool kFloating = std::is_same_v<T, float> || std::is_same_v<T, Half>;

template <class F, class R, class... A>
constexpr FloatClass ClassOf() {
  if (std::is_same_v<R, Half>) return FloatClass::k16And64;
  if (std::is_same_v<R, float>) return FloatClass::k32;
  if ((std::is_same_v<A, Half> || ...)) return FloatClass::k16And64;
  return (std::is_same_v<A, float> || ...) ? FloatClass::k32 : FloatClass::kNone;
}

template <class F, class R, class C, class... A>
constexpr Semantics Describe(const char* name, R (C::*)(A...) const) {
  return {name, &Runner<F, R, false, A...>::Run, ClassOf<F, R, A...>()};
}
template <class F, class R, class C, class... A>
constexpr Semantics Describe(const char* name, R (C::*)(Wave&, A...) const) {
  return {name, &Runner<F, R, true, A...>::Run, ClassOf<F, R, A...>()};
}

}  // namespace scalar

// The operation `name` on scalars.
template <class F>
constexpr Semantics Scalar(const char* name, F) {
  return scalar::Describe<F>(name, &F::operator());
}

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_SCALAR_H_
