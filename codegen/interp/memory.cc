// Loads and stores: bounds, gates, and the conversion between bytes and cells.
#include <cstring>
#include <limits>

#include "codegen/interp/machine.h"
#include "codegen/ir/dtype.h"

namespace tg::interp {
namespace {

using ir::DType;
using ir::ScalarType;

constexpr const char* kOutOfBounds = "is out of bounds";
constexpr const char* kUninitialised = "reads memory of the program that it has not written";

template <typename T>
struct IntCodec {
  static Cell Read(const uint8_t* p) {
    T v;
    std::memcpy(&v, p, sizeof(T));
    return Cell{.i = static_cast<int64_t>(v)};
  }
  static void Write(uint8_t* p, Cell c) {
    const T v = static_cast<T>(c.i);
    std::memcpy(p, &v, sizeof(T));
  }
  static constexpr int kBytes = sizeof(T);
};

struct BoolCodec {
  static Cell Read(const uint8_t* p) { return Cell{.i = *p != 0}; }
  static void Write(uint8_t* p, Cell c) { *p = c.i != 0; }
  static constexpr int kBytes = 1;
};

template <typename T>
struct FloatCodec {
  static Cell Read(const uint8_t* p) {
    T v;
    std::memcpy(&v, p, sizeof(T));
    return Cell{.f = static_cast<double>(v)};
  }
  static void Write(uint8_t* p, Cell c) {
    const T v = static_cast<T>(c.f);
    std::memcpy(p, &v, sizeof(T));
  }
  static constexpr int kBytes = sizeof(T);
};

template <ScalarType type, typename Bits>
struct SmallCodec {
  static Cell Read(const uint8_t* p) {
    Bits v;
    std::memcpy(&v, p, sizeof(Bits));
    return Cell{.f = ir::DecodeFloat(v, DType(type))};
  }
  static void Write(uint8_t* p, Cell c) {
    const Bits v = static_cast<Bits>(ir::EncodeFloat(c.f, DType(type)));
    std::memcpy(p, &v, sizeof(Bits));
  }
  static constexpr int kBytes = sizeof(Bits);
};

// What a gated load without an alternative leaves in a lane that is off: nobody may use it, so it
// is made noticeable.
Cell Poison(ScalarType type) {
  if (DType(type).IsFloat()) return Cell{.f = std::numeric_limits<double>::quiet_NaN()};
  return Cell{.i = ir::WrapToInt(0x5A5A5A5A5A5A5A5A, DType(type))};
}

// The element that lane `l` accesses.
inline uint64_t ElementOf(const Instruction& i, const Machine& m, uint32_t l) {
  const Cell* index = &m.cells[i.in[0]];
  return i.index_lanes == 1 ? static_cast<uint64_t>(index->i) + l
                            : static_cast<uint64_t>(index[l].i);
}

inline bool GateOpen(const Instruction& i, const Machine& m, uint32_t l) {
  return i.gate == kNoCell || m.cells[i.gate + (i.gate_lanes == 1 ? 0 : l)].i != 0;
}

template <typename Codec>
const char* RunLoad(const Instruction& i, Machine& m) {
  const MemoryRef& memory = m.memories[i.memory];
  Cell* out = &m.cells[i.out];
  for (uint32_t l = 0; l < i.lanes; ++l) {
    if (!GateOpen(i, m, l)) {
      out[l] = i.in[1] == kNoCell ? Poison(i.type) : m.cells[i.in[1] + l];
      continue;
    }
    const uint64_t e = ElementOf(i, m, l);
    if (e >= static_cast<uint64_t>(memory.size)) {
      m.detail = static_cast<int64_t>(e);
      return kOutOfBounds;
    }
    if (memory.written != nullptr && memory.written[e] == 0) return kUninitialised;
    out[l] = Codec::Read(memory.base + e * Codec::kBytes);
  }
  return nullptr;
}

template <typename Codec>
const char* RunStore(const Instruction& i, Machine& m) {
  const MemoryRef& memory = m.memories[i.memory];
  const Cell* value = &m.cells[i.in[1]];
  for (uint32_t l = 0; l < i.lanes; ++l) {
    if (!GateOpen(i, m, l)) continue;
    const uint64_t e = ElementOf(i, m, l);
    if (e >= static_cast<uint64_t>(memory.size)) {
      m.detail = static_cast<int64_t>(e);
      return kOutOfBounds;
    }
    if (memory.written != nullptr) memory.written[e] = 1;
    Codec::Write(memory.base + e * Codec::kBytes, value[l]);
  }
  return nullptr;
}

template <typename Codec>
struct Access {
  static Handler Get(bool load) { return load ? RunLoad<Codec> : RunStore<Codec>; }
};

Handler Find(ScalarType type, bool load) {
  switch (type) {
    case ScalarType::kBool:
      return Access<BoolCodec>::Get(load);
    case ScalarType::kInt8:
      return Access<IntCodec<int8_t>>::Get(load);
    case ScalarType::kUInt8:
      return Access<IntCodec<uint8_t>>::Get(load);
    case ScalarType::kInt16:
      return Access<IntCodec<int16_t>>::Get(load);
    case ScalarType::kUInt16:
      return Access<IntCodec<uint16_t>>::Get(load);
    case ScalarType::kInt32:
      return Access<IntCodec<int32_t>>::Get(load);
    case ScalarType::kUInt32:
      return Access<IntCodec<uint32_t>>::Get(load);
    case ScalarType::kInt64:
      return Access<IntCodec<int64_t>>::Get(load);
    case ScalarType::kUInt64:
      return Access<IntCodec<uint64_t>>::Get(load);
    case ScalarType::kFloat32:
      return Access<FloatCodec<float>>::Get(load);
    case ScalarType::kFloat64:
      return Access<FloatCodec<double>>::Get(load);
    case ScalarType::kFloat16:
      return Access<SmallCodec<ScalarType::kFloat16, uint16_t>>::Get(load);
    case ScalarType::kBFloat16:
      return Access<SmallCodec<ScalarType::kBFloat16, uint16_t>>::Get(load);
    case ScalarType::kFp8E4M3:
      return Access<SmallCodec<ScalarType::kFp8E4M3, uint8_t>>::Get(load);
    case ScalarType::kFp8E5M2:
      return Access<SmallCodec<ScalarType::kFp8E5M2, uint8_t>>::Get(load);
    case ScalarType::kFp8E4M3Fnuz:
      return Access<SmallCodec<ScalarType::kFp8E4M3Fnuz, uint8_t>>::Get(load);
    case ScalarType::kFp8E5M2Fnuz:
      return Access<SmallCodec<ScalarType::kFp8E5M2Fnuz, uint8_t>>::Get(load);
    case ScalarType::kVoid:
    case ScalarType::kWeakInt:
    case ScalarType::kWeakFloat:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

Handler FindLoad(ScalarType type) { return Find(type, true); }
Handler FindStore(ScalarType type) { return Find(type, false); }

}  // namespace tg::interp
