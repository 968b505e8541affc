// Runs a function of single values over a wave.
//
// A vector operation is written as a function without state whose parameters say how its operands
// are read:
//
//   Vector("v_add_f32", [](float a, float b) { return a + b; }),
//   Vector("v_fma_f16", [](Half a, Half b, Half c) { return Half{FmaForHalf(a.f, b.f, c.f)}; }),
//   Vector("v_cndmask_b32", [](uint32_t a, uint32_t b, Bit c) { return c.set ? b : a; }),
//
// Parameters are src0, src1, ... in order, then registers that are destinations too. Operand
// modifiers, halves of registers, DPP and SDWA, clamp, output modifiers and EXEC are applied here.
// All lanes are computed, results of inactive ones are dropped: functions must be defined for every
// input.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_LANES_H_
#define TG_DRIVERS_SIM_AMD_WAVE_LANES_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "drivers/sim/amd/wave/micro_op.h"
#include "drivers/sim/amd/wave/numeric.h"

namespace tg::amd::sim {

// Lanes that are computed together; a wave of 64 takes two steps.
inline constexpr int kChunk = 32;

// Types of parameters and results beside int32_t, uint32_t, int64_t, uint64_t, int16_t, uint16_t,
// float, double.
struct Half {  // f16, computed as float.
  float f;
};
struct Bf16 {
  float f;
};
struct Bit {  // This lane's bit of a lane mask.
  bool set;
};
struct Ctx {  // Where we are. Takes no operand.
  const Wave& wave;
  const MicroOp& op;
  int lane;
};
// Results.
template <class T>
struct Wide {  // Saturates to T when the instruction clamps, else wraps.
  int64_t v;
};
struct Carry {  // A value and a bit of a lane mask. Clamp makes `limit` of what overflows.
  uint32_t value;
  uint32_t carry;
  uint32_t limit;
};
template <class T>
struct WithBit {
  T value;
  bool bit;
};

// 32 raw bits of each lane from `base` on: broadcasts, DPP and SDWA selection done, modifiers not.
void RawLanes(const Wave& w, const MicroOp& u, const Source& s, int dword, int base, uint32_t* out);
// Lanes that are written: EXEC, and what DPP lets through.
uint64_t WriteMask(const Wave& w, const MicroOp& u);
// Writes 32 or 16 bits of each lane in `mask`, which counts from `base`.
void StoreRaw(Wave& w, const MicroOp& u, int dword, int base, const uint32_t* bits, uint32_t mask);
void Store16(Wave& w, const MicroOp& u, int base, const uint32_t* bits, uint32_t mask);
// A scalar source, any width up to 64.
uint64_t ScalarValue(const Wave& w, const Source& s);
void StoreMask(Wave& w, const MicroOp& u, const Dest& d, uint64_t bits);

namespace lanes {

template <class T>
struct Arg;

template <class T, class Alias>
struct Arg32 {
  static constexpr bool kTakesSource = true;
  struct alignas(64) Buf {
    uint32_t v[kChunk];
  };
  static const Alias* Fetch(const Wave& w, const MicroOp& u, int i, int base, Buf& buf) {
    const Source& s = u.src[i];
    bool flush = std::is_same_v<Alias, float> && !(w.mode.denorm32 & 1);
    if (s.plain && !flush) return reinterpret_cast<const Alias*>(w.row(s.index) + base);
    RawLanes(w, u, s, 0, base, buf.v);
    if (flush) {
      for (uint32_t& x : buf.v) x &= (x & 0x7f800000) == 0 ? 0x80000000 : ~0u;
    }
    if (s.abs) {
      for (uint32_t& x : buf.v) x &= 0x7fffffff;
    }
    if (s.neg) {
      for (uint32_t& x : buf.v) x ^= 0x80000000;
    }
    return reinterpret_cast<const Alias*>(buf.v);
  }
};
template <>
struct Arg<uint32_t> : Arg32<uint32_t, uint32_t> {};
template <>
struct Arg<int32_t> : Arg32<int32_t, int32_t> {};
template <>
struct Arg<float> : Arg32<float, float> {};

template <class T>
struct Arg64 {
  static constexpr bool kTakesSource = true;
  struct alignas(64) Buf {
    uint64_t v[kChunk];
    T t[kChunk];
  };
  static const T* Fetch(const Wave& w, const MicroOp& u, int i, int base, Buf& buf) {
    const Source& s = u.src[i];
    alignas(64) uint32_t lo[kChunk], hi[kChunk];
    RawLanes(w, u, s, 0, base, lo);
    RawLanes(w, u, s, 1, base, hi);
    if (std::is_same_v<T, double> && !(w.mode.denorm16_64 & 1)) {
      for (int l = 0; l < kChunk; ++l) {
        if ((hi[l] & 0x7ff00000) != 0) continue;
        hi[l] &= 0x80000000;
        lo[l] = 0;
      }
    }
    if (s.abs) {
      for (uint32_t& x : hi) x &= 0x7fffffff;
    }
    if (s.neg) {
      for (uint32_t& x : hi) x ^= 0x80000000;
    }
    for (int l = 0; l < kChunk; ++l) {
      buf.t[l] = std::bit_cast<T>(lo[l] | static_cast<uint64_t>(hi[l]) << 32);
    }
    return buf.t;
  }
};
template <>
struct Arg<uint64_t> : Arg64<uint64_t> {};
template <>
struct Arg<int64_t> : Arg64<int64_t> {};
template <>
struct Arg<double> : Arg64<double> {};

// 16 raw bits of each lane, modifiers applied.
void Fetch16(const Wave& w, const MicroOp& u, int i, int base, uint32_t* out);
// Denormals of f16 to 0 where the mode says so.
void FlushHalves(const Wave& w, uint32_t* bits);
void HalvesToFloats(const uint32_t* bits, float* out);
void FloatsToHalves(const float* x, uint32_t* bits);

template <class T>
struct Arg16 {
  static constexpr bool kTakesSource = true;
  struct alignas(64) Buf {
    uint32_t v[kChunk];
    T t[kChunk];
  };
  static const T* Fetch(const Wave& w, const MicroOp& u, int i, int base, Buf& buf) {
    Fetch16(w, u, i, base, buf.v);
    for (int l = 0; l < kChunk; ++l) buf.t[l] = static_cast<T>(buf.v[l]);
    return buf.t;
  }
};
template <>
struct Arg<uint16_t> : Arg16<uint16_t> {};
template <>
struct Arg<int16_t> : Arg16<int16_t> {};

template <>
struct Arg<Half> {
  static constexpr bool kTakesSource = true;
  struct alignas(64) Buf {
    uint32_t v[kChunk];
    float f[kChunk];
  };
  struct Access {
    const float* f;
    Half operator[](int l) const { return {f[l]}; }
  };
  static Access Fetch(const Wave& w, const MicroOp& u, int i, int base, Buf& buf) {
    Fetch16(w, u, i, base, buf.v);
    if (!(w.mode.denorm16_64 & 1)) FlushHalves(w, buf.v);
    HalvesToFloats(buf.v, buf.f);
    return {buf.f};
  }
};
template <>
struct Arg<Bf16> {
  static constexpr bool kTakesSource = true;
  using Buf = Arg<Half>::Buf;
  struct Access {
    const float* f;
    Bf16 operator[](int l) const { return {f[l]}; }
  };
  static Access Fetch(const Wave& w, const MicroOp& u, int i, int base, Buf& buf) {
    Fetch16(w, u, i, base, buf.v);
    for (int l = 0; l < kChunk; ++l) buf.f[l] = Bf16ToFloat(buf.v[l]);
    return {buf.f};
  }
};
template <>
struct Arg<Bit> {
  static constexpr bool kTakesSource = true;
  struct Buf {};
  struct Access {
    uint32_t bits;
    Bit operator[](int l) const { return {(bits >> l & 1) != 0}; }
  };
  static Access Fetch(const Wave& w, const MicroOp& u, int i, int base, Buf&) {
    return {static_cast<uint32_t>(ScalarValue(w, u.src[i]) >> base)};
  }
};
template <>
struct Arg<Ctx> {
  static constexpr bool kTakesSource = false;
  struct Buf {};
  struct Access {
    const Wave& w;
    const MicroOp& u;
    int base;
    Ctx operator[](int l) const { return {w, u, base + l}; }
  };
  static Access Fetch(const Wave& w, const MicroOp& u, int, int base, Buf&) { return {w, u, base}; }
};
template <size_t N>
struct Arg<std::array<uint32_t, N>> {
  static constexpr bool kTakesSource = true;
  using T = std::array<uint32_t, N>;
  struct Buf {
    T t[kChunk];
  };
  static const T* Fetch(const Wave& w, const MicroOp& u, int i, int base, Buf& buf) {
    uint32_t v[kChunk];
    for (size_t d = 0; d < N; ++d) {
      RawLanes(w, u, u.src[i], static_cast<int>(d), base, v);
      for (int l = 0; l < kChunk; ++l) buf.t[l][d] = v[l];
    }
    return buf.t;
  }
};

// Results of a chunk to their destination. `bits` collects lane masks over the chunks.
inline void Put(Wave& w, const MicroOp& u, int base, const uint32_t* r, uint32_t mask, uint64_t*) {
  StoreRaw(w, u, 0, base, r, mask);
}
inline void Put(Wave& w, const MicroOp& u, int base, const int32_t* r, uint32_t mask, uint64_t*) {
  StoreRaw(w, u, 0, base, reinterpret_cast<const uint32_t*>(r), mask);
}
// Output modifiers are ignored where results keep denormals; they make +0 of -0. Halves are passed
// as floats.
template <class T>
T Modified(const Wave& w, const MicroOp& u, T x, bool half = false) {
  bool scales =
      u.omod && !(std::is_same_v<T, float> && !half ? w.mode.denorm32 & 2 : w.mode.denorm16_64 & 2);
  if (scales) {
    x = x * (u.omod == 1 ? T{2} : u.omod == 2 ? T{4} : T{0.5});
    if (x == 0) x = 0;
  }
  return u.clamp ? Clamp01(x) : x;
}
inline void Put(Wave& w, const MicroOp& u, int base, const float* r, uint32_t mask, uint64_t*) {
  alignas(64) uint32_t bits[kChunk];
  if (u.clamp || u.omod) {
    for (int l = 0; l < kChunk; ++l) bits[l] = Bits(Modified(w, u, r[l]));
  } else {
    std::memcpy(bits, r, sizeof(bits));
  }
  StoreRaw(w, u, 0, base, bits, mask);
}
inline void Put64(Wave& w, const MicroOp& u, int base, const uint64_t* r, uint32_t mask) {
  alignas(64) uint32_t lo[kChunk], hi[kChunk];
  for (int l = 0; l < kChunk; ++l) {
    lo[l] = static_cast<uint32_t>(r[l]);
    hi[l] = static_cast<uint32_t>(r[l] >> 32);
  }
  StoreRaw(w, u, 0, base, lo, mask);
  StoreRaw(w, u, 1, base, hi, mask);
}
inline void Put(Wave& w, const MicroOp& u, int base, const uint64_t* r, uint32_t mask, uint64_t*) {
  Put64(w, u, base, r, mask);
}
inline void Put(Wave& w, const MicroOp& u, int base, const int64_t* r, uint32_t mask, uint64_t*) {
  Put64(w, u, base, reinterpret_cast<const uint64_t*>(r), mask);
}
inline void Put(Wave& w, const MicroOp& u, int base, const double* r, uint32_t mask, uint64_t*) {
  alignas(64) uint64_t bits[kChunk];
  for (int l = 0; l < kChunk; ++l) bits[l] = Bits(Modified(w, u, r[l]));
  Put64(w, u, base, bits, mask);
}
inline void Put(Wave& w, const MicroOp& u, int base, const uint16_t* r, uint32_t mask, uint64_t*) {
  alignas(64) uint32_t bits[kChunk];
  for (int l = 0; l < kChunk; ++l) bits[l] = r[l];
  Store16(w, u, base, bits, mask);
}
inline void Put(Wave& w, const MicroOp& u, int base, const int16_t* r, uint32_t mask, uint64_t*) {
  alignas(64) uint32_t bits[kChunk];
  for (int l = 0; l < kChunk; ++l) bits[l] = static_cast<uint16_t>(r[l]);
  Store16(w, u, base, bits, mask);
}
inline void Put(Wave& w, const MicroOp& u, int base, const Half* r, uint32_t mask, uint64_t*) {
  alignas(64) float f[kChunk];
  alignas(64) uint32_t bits[kChunk];
  for (int l = 0; l < kChunk; ++l) f[l] = Modified(w, u, r[l].f, true);
  FloatsToHalves(f, bits);
  if (!(w.mode.denorm16_64 & 2)) FlushHalves(w, bits);
  Store16(w, u, base, bits, mask);
}
inline void Put(Wave& w, const MicroOp& u, int base, const Bf16* r, uint32_t mask, uint64_t*) {
  alignas(64) uint32_t bits[kChunk];
  for (int l = 0; l < kChunk; ++l) bits[l] = FloatToBf16(Modified(w, u, r[l].f, true));
  Store16(w, u, base, bits, mask);
}
template <class T>
void Put(Wave& w, const MicroOp& u, int base, const Wide<T>* r, uint32_t mask, uint64_t* bits) {
  alignas(64) T out[kChunk];
  if (u.clamp) {
    for (int l = 0; l < kChunk; ++l) {
      int64_t lo = std::numeric_limits<T>::min(), hi = std::numeric_limits<T>::max();
      out[l] = static_cast<T>(r[l].v < lo ? lo : r[l].v > hi ? hi : r[l].v);
    }
  } else {
    for (int l = 0; l < kChunk; ++l) out[l] = static_cast<T>(r[l].v);
  }
  Put(w, u, base, out, mask, bits);
}
inline void Put(Wave&, const MicroOp&, int base, const bool* r, uint32_t mask, uint64_t* bits) {
  uint32_t m = 0;
  for (int l = 0; l < kChunk; ++l) m |= static_cast<uint32_t>(r[l]) << l;
  *bits |= static_cast<uint64_t>(m & mask) << base;
}
inline void Put(Wave& w, const MicroOp& u, int base, const Carry* r, uint32_t mask,
                uint64_t* bits) {
  alignas(64) uint32_t out[kChunk];
  uint32_t m = 0;
  for (int l = 0; l < kChunk; ++l) {
    out[l] = u.clamp && r[l].carry ? r[l].limit : r[l].value;
    m |= (r[l].carry & 1) << l;
  }
  StoreRaw(w, u, 0, base, out, mask);
  *bits |= static_cast<uint64_t>(m & mask) << base;
}
template <class T>
void Put(Wave& w, const MicroOp& u, int base, const WithBit<T>* r, uint32_t mask, uint64_t* bits) {
  alignas(64) T out[kChunk];
  uint32_t m = 0;
  for (int l = 0; l < kChunk; ++l) {
    out[l] = r[l].value;
    m |= static_cast<uint32_t>(r[l].bit) << l;
  }
  Put(w, u, base, out, mask, bits);
  *bits |= static_cast<uint64_t>(m & mask) << base;
}
template <size_t N>
void Put(Wave& w, const MicroOp& u, int base, const std::array<uint32_t, N>* r, uint32_t mask,
         uint64_t*) {
  uint32_t out[kChunk];
  for (size_t d = 0; d < N; ++d) {
    for (int l = 0; l < kChunk; ++l) out[l] = r[l][d];
    StoreRaw(w, u, static_cast<int>(d), base, out, mask);
  }
}

template <class R>
inline constexpr bool kIsMask = std::is_same_v<R, bool>;
template <class R>
inline constexpr bool kHasBit = false;
template <>
inline constexpr bool kHasBit<Carry> = true;
template <class T>
inline constexpr bool kHasBit<WithBit<T>> = true;
template <class R>
inline constexpr bool kIsWord =
    std::is_same_v<R, uint32_t> || std::is_same_v<R, int32_t> || std::is_same_v<R, float>;

template <class F, class R, class... A>
struct Runner {
  static constexpr std::array<int, sizeof...(A) + 1> Positions() {
    std::array<int, sizeof...(A) + 1> p{};
    int i = 0, n = 0;
    ((p[i++] = n, n += Arg<A>::kTakesSource ? 1 : 0), ...);
    return p;
  }

  template <size_t... I>
  static void Go(Wave& w, const MicroOp& u, std::index_sequence<I...>) {
    constexpr auto kPosition = Positions();
    uint64_t lanes = WriteMask(w, u);
    uint64_t bits = 0;
    for (int base = 0; base < w.size; base += kChunk) {
      uint32_t mask = static_cast<uint32_t>(lanes >> base);
      if (mask == 0) continue;
      std::tuple<typename Arg<A>::Buf...> buf;
      auto in = std::make_tuple(Arg<A>::Fetch(w, u, kPosition[I], base, std::get<I>(buf))...);
      if constexpr (kIsWord<R>) {
        if (u.simple_dst && mask == 0xffffffff) {
          // A source is the same row or another one, never one that overlaps.
          R* out = reinterpret_cast<R*>(w.row(u.dst[0].index) + base);
#pragma GCC ivdep
          for (int l = 0; l < kChunk; ++l) out[l] = F{}(std::get<I>(in)[l]...);
          continue;
        }
      }
      alignas(64) R out[kChunk];
      for (int l = 0; l < kChunk; ++l) out[l] = F{}(std::get<I>(in)[l]...);
      Put(w, u, base, out, mask, &bits);
    }
    if constexpr (kIsMask<R>) {
      if (u.num_dst > 0) StoreMask(w, u, u.dst[0], bits);
      if (u.writes_exec) w.set_exec(bits);
    }
    if constexpr (kHasBit<R>) StoreMask(w, u, u.dst[1], bits);
  }

  static void Run(Wave& w, const MicroOp& u) { Go(w, u, std::index_sequence_for<A...>{}); }
};

template <class T>
inline constexpr int kFloatClass = 0;
template <>
inline constexpr int kFloatClass<float> = 1;
template <>
inline constexpr int kFloatClass<double> = 2;
template <>
inline constexpr int kFloatClass<Half> = 2;
template <class T>
inline constexpr int kFloatClass<WithBit<T>> = kFloatClass<T>;

template <class F, class R, class C, class... A>
constexpr Semantics Describe(const char* name, R (C::*)(A...) const) {
  int c = kFloatClass<R>;
  if (c == 0) ((c = c == 0 ? kFloatClass<A> : c), ...);
  // Widening reads f32 denormals by the f32 mode, and makes none.
  if (std::is_same_v<R, double> && (std::is_same_v<A, float> || ...)) c = 1;
  return {name, &Runner<F, R, A...>::Run, static_cast<FloatClass>(c)};
}

}  // namespace lanes

// The operation `name` on each lane.
template <class F>
constexpr Semantics Vector(const char* name, F) {
  return lanes::Describe<F>(name, &F::operator());
}

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_LANES_H_
