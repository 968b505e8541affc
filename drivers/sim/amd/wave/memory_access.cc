#include "drivers/sim/amd/wave/memory_access.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drivers/sim/amd/wave/atomics.h"
#include "drivers/sim/amd/wave/memory.h"

namespace tg::amd::sim {
namespace {

using K = AccessKind;
using H = RegisterHalf;

// RDNA's names and CDNA's.
constexpr Access kAccesses[] = {
    {"load_u8", K::kLoad, 1},
    {"load_i8", K::kLoad, 1, true},
    {"load_u16", K::kLoad, 2},
    {"load_i16", K::kLoad, 2, true},
    {"load_b32", K::kLoad, 4},
    {"load_b64", K::kLoad, 8},
    {"load_b96", K::kLoad, 12},
    {"load_b128", K::kLoad, 16},
    {"load_d16_u8", K::kLoad, 1, false, H::kLow},
    {"load_d16_hi_u8", K::kLoad, 1, false, H::kHigh},
    {"load_d16_i8", K::kLoad, 1, true, H::kLow},
    {"load_d16_hi_i8", K::kLoad, 1, true, H::kHigh},
    {"load_d16_b16", K::kLoad, 2, false, H::kLow},
    {"load_d16_hi_b16", K::kLoad, 2, false, H::kHigh},
    {"store_b8", K::kStore, 1},
    {"store_b16", K::kStore, 2},
    {"store_b32", K::kStore, 4},
    {"store_b64", K::kStore, 8},
    {"store_b96", K::kStore, 12},
    {"store_b128", K::kStore, 16},
    {"store_d16_hi_b8", K::kStore, 1, false, H::kHigh},
    {"store_d16_hi_b16", K::kStore, 2, false, H::kHigh},

    {"load_ubyte", K::kLoad, 1},
    {"load_sbyte", K::kLoad, 1, true},
    {"load_ushort", K::kLoad, 2},
    {"load_sshort", K::kLoad, 2, true},
    {"load_dword", K::kLoad, 4},
    {"load_dwordx2", K::kLoad, 8},
    {"load_dwordx3", K::kLoad, 12},
    {"load_dwordx4", K::kLoad, 16},
    {"load_ubyte_d16", K::kLoad, 1, false, H::kLow},
    {"load_ubyte_d16_hi", K::kLoad, 1, false, H::kHigh},
    {"load_sbyte_d16", K::kLoad, 1, true, H::kLow},
    {"load_sbyte_d16_hi", K::kLoad, 1, true, H::kHigh},
    {"load_short_d16", K::kLoad, 2, false, H::kLow},
    {"load_short_d16_hi", K::kLoad, 2, false, H::kHigh},
    {"store_byte", K::kStore, 1},
    {"store_byte_d16_hi", K::kStore, 1, false, H::kHigh},
    {"store_short", K::kStore, 2},
    {"store_short_d16_hi", K::kStore, 2, false, H::kHigh},
    {"store_dword", K::kStore, 4},
    {"store_dwordx2", K::kStore, 8},
    {"store_dwordx3", K::kStore, 12},
    {"store_dwordx4", K::kStore, 16},

    // LDS: what differs from the above.
    {"ds_load_u8_d16", K::kLoad, 1, false, H::kLow},
    {"ds_load_u8_d16_hi", K::kLoad, 1, false, H::kHigh},
    {"ds_load_i8_d16", K::kLoad, 1, true, H::kLow},
    {"ds_load_i8_d16_hi", K::kLoad, 1, true, H::kHigh},
    {"ds_load_u16_d16", K::kLoad, 2, false, H::kLow},
    {"ds_load_u16_d16_hi", K::kLoad, 2, false, H::kHigh},
    {"ds_store_b8_d16_hi", K::kStore, 1, false, H::kHigh},
    {"ds_store_b16_d16_hi", K::kStore, 2, false, H::kHigh},
    {"ds_read_u8", K::kLoad, 1},
    {"ds_read_i8", K::kLoad, 1, true},
    {"ds_read_u16", K::kLoad, 2},
    {"ds_read_i16", K::kLoad, 2, true},
    {"ds_read_b32", K::kLoad, 4},
    {"ds_read_b64", K::kLoad, 8},
    {"ds_read_b96", K::kLoad, 12},
    {"ds_read_b128", K::kLoad, 16},
    {"ds_read_u8_d16", K::kLoad, 1, false, H::kLow},
    {"ds_read_u8_d16_hi", K::kLoad, 1, false, H::kHigh},
    {"ds_read_i8_d16", K::kLoad, 1, true, H::kLow},
    {"ds_read_i8_d16_hi", K::kLoad, 1, true, H::kHigh},
    {"ds_read_u16_d16", K::kLoad, 2, false, H::kLow},
    {"ds_read_u16_d16_hi", K::kLoad, 2, false, H::kHigh},
    {"ds_write_b8", K::kStore, 1},
    {"ds_write_b16", K::kStore, 2},
    {"ds_write_b32", K::kStore, 4},
    {"ds_write_b64", K::kStore, 8},
    {"ds_write_b96", K::kStore, 12},
    {"ds_write_b128", K::kStore, 16},
    {"ds_write_b8_d16_hi", K::kStore, 1, false, H::kHigh},
    {"ds_write_b16_d16_hi", K::kStore, 2, false, H::kHigh},
};

using AccessMap = absl::flat_hash_map<std::string, Access>;

AccessMap MakeMap() {
  AccessMap map;
  for (const Access& a : kAccesses) {
    if (absl::StartsWith(a.name, "ds_")) {
      map.emplace(a.name, a);
      continue;
    }
    for (const char* prefix : {"flat_", "global_", "scratch_", "buffer_", "ds_"}) {
      map.emplace(absl::StrCat(prefix, a.name), a);
    }
  }
  for (const Access& a : MemoryAtomics()) {
    for (const char* prefix : {"flat_atomic_", "global_atomic_", "buffer_atomic_"}) {
      map.emplace(absl::StrCat(prefix, a.name), a);
    }
  }
  for (const Access& a : LdsAtomics()) map.emplace(a.name, a);
  return map;
}

uint64_t DataBits(const Wave& w, int row, int lane, int bytes) {
  uint64_t x = w.row(row)[lane];
  if (bytes == 8) x |= static_cast<uint64_t>(w.row(row + 1)[lane]) << 32;
  return x;
}

template <class T>
uint64_t RunAtomic(uint8_t* at, AtomicFunction f, uint64_t data, uint64_t compare) {
  if (reinterpret_cast<uintptr_t>(at) % sizeof(T) !=
      0) {  // In two pieces, as hardware does: not atomic.
    T old;
    std::memcpy(&old, at, sizeof(T));
    T next = static_cast<T>(f(old, data, compare));
    std::memcpy(at, &next, sizeof(T));
    return old;
  }
  std::atomic_ref<T> cell(*reinterpret_cast<T*>(at));
  T old = cell.load(std::memory_order_relaxed);
  while (!cell.compare_exchange_weak(old, static_cast<T>(f(old, data, compare)),
                                     std::memory_order_relaxed)) {
  }
  return old;
}

// Sources of one instruction lie in the upper bits of the address they are looked up by.
void Fault(Wave& w, int lane, const std::string& what) {
  w.Fault(absl::StrCat("lane ", lane, ": ", what));
}

template <class Place>
void ForLanes(Wave& w, const MicroOp& u, Place place) {
  const MemoryOperands& m = u.memory;
  const Access& a = *m.access;
  bool load = a.kind != K::kStore, store = a.kind != K::kLoad;
  int data = m.vdata, dst = m.vdst;
  uint64_t exec = w.exec();
  if (w.count) {
    uint64_t bytes = static_cast<uint64_t>(std::popcount(exec)) * a.bytes;
    if (load) w.bytes_read += bytes;
    if (store) w.bytes_written += bytes;
  }
  for (; exec != 0; exec &= exec - 1) {
    int lane = std::countr_zero(exec);
    uint8_t* at = place(lane);
    if (w.stop == Stop::kFault) return;
    AccessLane(w, a, lane, at, data, m.vdata1, dst);
  }
}

// Hardware does what it can with addresses that are no multiple; strict mode makes them faults.
bool Misaligned(Wave& w, const Access& a, uint64_t address, int lane) {
  uint64_t align = a.kind == K::kAtomic ? a.bytes : std::min<int>(a.bytes, 4);
  if (!w.strict || address % align == 0) return false;
  Fault(w, lane, absl::StrFormat("address 0x%x is not a multiple of %u", address, align));
  return true;
}

uint64_t LaneAddress(const Wave& w, const MemoryOperands& m, int lane) {
  uint64_t address = static_cast<uint64_t>(m.offset);
  if (m.vaddr >= 0) {
    address +=
        m.saddr >= 0 || m.vaddr_dwords == 1 ? w.row(m.vaddr)[lane] : DataBits(w, m.vaddr, lane, 8);
  }
  if (m.saddr >= 0) address += w.sgpr64(m.saddr);
  return address;
}

void RunGlobal(Wave& w, const MicroOp& u) {
  const MemoryOperands& m = u.memory;
  const Access& a = *m.access;
  ForLanes(w, u, [&](int lane) -> uint8_t* {
    uint64_t address = LaneAddress(w, m, lane);
    if (Misaligned(w, a, address, lane)) return nullptr;
    return GlobalBytes(w, address, a.bytes, a.kind != K::kLoad, lane);
  });
}

// FLAT: the high dword says which memory it is.
void RunFlat(Wave& w, const MicroOp& u) {
  const MemoryOperands& m = u.memory;
  const Access& a = *m.access;
  ForLanes(w, u, [&](int lane) -> uint8_t* {
    uint64_t address = LaneAddress(w, m, lane);
    if (Misaligned(w, a, address, lane)) return nullptr;
    uint32_t low = static_cast<uint32_t>(address);
    switch (address >> 32) {
      case kSharedAperture:
        return LdsBytes(w, low, a.bytes, a.kind != K::kLoad, a.kind == K::kAtomic, lane);
      case kPrivateAperture:
        return ScratchBytes(w, low, a.bytes, lane);
      default:
        return GlobalBytes(w, address, a.bytes, a.kind != K::kLoad, lane);
    }
  });
}

void RunScratch(Wave& w, const MicroOp& u) {
  const MemoryOperands& m = u.memory;
  const Access& a = *m.access;
  ForLanes(w, u, [&](int lane) -> uint8_t* {
    int64_t address = m.offset;
    if (m.vaddr >= 0) address += static_cast<int32_t>(w.row(m.vaddr)[lane]);
    if (m.saddr >= 0) address += static_cast<int32_t>(w.sgpr[m.saddr]);
    if (Misaligned(w, a, static_cast<uint64_t>(address), lane)) return nullptr;
    return ScratchBytes(w, address, a.bytes, lane);
  });
}

void RunLds(Wave& w, const MicroOp& u) {
  const MemoryOperands& m = u.memory;
  const Access& a = *m.access;
  ForLanes(w, u, [&](int lane) -> uint8_t* {
    uint64_t address = (m.vaddr >= 0 ? w.row(m.vaddr)[lane] : 0) + static_cast<uint64_t>(m.offset);
    if (Misaligned(w, a, address, lane)) return nullptr;
    if (a.kind == K::kAtomic) address &= ~uint64_t{3};  // The low bits are ignored.
    return LdsBytes(w, address, a.bytes, a.kind != K::kLoad, a.kind == K::kAtomic, lane);
  });
}

// MUBUF. The descriptor: base in 48 bits, stride in 14, number of records, flags. Swizzled
// addresses are not modelled.
void RunBuffer(Wave& w, const MicroOp& u) {
  const MemoryOperands& m = u.memory;
  const Access& a = *m.access;
  if (m.srsrc < 0) return w.Fault("a buffer instruction without descriptor");
  uint64_t low = w.sgpr64(m.srsrc);
  uint64_t base = low & 0xffffffffffff;
  uint32_t stride = static_cast<uint32_t>(low >> 48) & 0x3fff, records = w.sgpr[m.srsrc + 2];
  uint32_t flags = w.sgpr[m.srsrc + 3];
  bool swizzled = IsRdna(w.isa) ? (low >> 62) != 0 : (low >> 63) != 0;
  bool add_lane = flags >> 23 & 1;
  if (swizzled) return w.Fault("unknown instruction: a swizzled buffer");
  const Operand* scalar = u.inst.Find(OperandName::kSoffset);
  uint64_t soffset = 0;
  if (scalar != nullptr) {
    bool constant = scalar->kind == OperandKind::kInline || scalar->kind == OperandKind::kLiteral;
    bool null = IsRdna(w.isa) && scalar->code == code::kNullRdna;
    soffset = constant ? static_cast<uint32_t>(scalar->value)
              : null || scalar->kind == OperandKind::kNone || scalar->code >= 128
                  ? 0
                  : w.sgpr[scalar->code];
  }
  bool offen = u.inst.Get(Mod::kOffen), idxen = u.inst.Get(Mod::kIdxen);
  ForLanes(w, u, [&](int lane) -> uint8_t* {
    uint64_t index = idxen && m.vaddr >= 0 ? w.row(m.vaddr)[lane] : 0;
    if (add_lane) index += lane;
    uint64_t offset = static_cast<uint64_t>(m.offset);
    if (offen && m.vaddr >= 0) offset += w.row(m.vaddr + (idxen ? 1 : 0))[lane];
    bool outside = stride == 0 || !(idxen || add_lane)
                       ? offset + soffset + a.bytes > records
                       : index >= records || offset + a.bytes > stride;
    if (outside) {
      if (w.strict) {
        Fault(w, lane,
              absl::StrFormat("offset %u of a buffer with %u records of %u bytes", offset, records,
                              std::max(stride, 1u)));
      }
      return nullptr;
    }
    uint64_t address = base + soffset + index * stride + offset;
    if (Misaligned(w, a, address, lane)) return nullptr;
    return GlobalBytes(w, address, a.bytes, a.kind != K::kLoad, lane);
  });
}

}  // namespace

const Access* FindAccess(const char* name) {
  static const AccessMap* const map = new AccessMap(MakeMap());
  auto it = map->find(absl::string_view(name));
  return it == map->end() ? nullptr : &it->second;
}

Handler MemoryHandler(Format format, const char* name) {
  if (FindAccess(name) == nullptr) return nullptr;
  switch (format) {
    case Format::kDs:
      return RunLds;
    case Format::kFlat:
      return RunFlat;
    case Format::kGlobal:
      return RunGlobal;
    case Format::kScratch:
      return RunScratch;
    case Format::kMubuf:
      return RunBuffer;
    default:
      return nullptr;
  }
}

uint8_t* GlobalBytes(Wave& w, uint64_t address, int bytes, bool write, int lane) {
  for (const Allocation*& r : w.last_range) {
    if (r == nullptr) continue;
    uint64_t offset = address - r->address;
    if (offset < r->size && static_cast<uint64_t>(bytes) <= r->size - offset &&
        (!write || r->writable)) {
      return r->host + offset;
    }
  }
  const Allocation* r = w.memory == nullptr ? nullptr : w.memory->Find(address, bytes);
  if (r == nullptr || (write && !r->writable)) {
    Fault(w, lane,
          absl::StrCat(write ? "write" : "read", " of ", bytes, " bytes at ",
                       w.memory == nullptr ? "no memory" : w.memory->Describe(address)));
    return nullptr;
  }
  std::rotate(std::begin(w.last_range), std::end(w.last_range) - 1, std::end(w.last_range));
  w.last_range[0] = r;
  return r->host + (address - r->address);
}

uint8_t* LdsBytes(Wave& w, uint64_t address, int bytes, bool write, bool atomic, int lane) {
  Group& g = *w.group;
  if (address > g.lds.size() || static_cast<uint64_t>(bytes) > g.lds.size() - address) {
    if (w.strict) {
      Fault(w, lane,
            absl::StrFormat("LDS address 0x%x: the group has %u bytes", address, g.lds.size()));
    }
    return nullptr;
  }
  if (w.strict && !atomic) {
    // Between two barriers a dword that one wave writes must be touched by no other.
    for (uint64_t d = address / 4; d <= (address + bytes - 1) / 4; ++d) {
      Group::LdsUse& use = g.lds_use[d];
      bool written_by_other =
          use.writer >= 0 && use.writer != w.id_in_group && use.write_phase == g.barrier_phase;
      bool read_by_other = write && use.reader != -1 && use.reader != w.id_in_group &&
                           use.read_phase == g.barrier_phase;
      if (written_by_other || read_by_other) {
        Fault(
            w, lane,
            absl::StrFormat("race for LDS dword at 0x%x: wave %d %s it, and no barrier is between",
                            d * 4, written_by_other ? use.writer : use.reader,
                            written_by_other ? "writes" : "reads"));
        return nullptr;
      }
      if (write) {
        use.writer = static_cast<int16_t>(w.id_in_group);
        use.write_phase = g.barrier_phase;
      } else {
        bool other =
            use.reader != -1 && use.read_phase == g.barrier_phase && use.reader != w.id_in_group;
        use.reader = other ? -2 : static_cast<int16_t>(w.id_in_group);
        use.read_phase = g.barrier_phase;
      }
    }
  }
  return g.lds.data() + address;
}

uint8_t* ScratchBytes(Wave& w, int64_t address, int bytes, int lane) {
  if (address < 0 || address + bytes > w.scratch_bytes || w.scratch == nullptr) {
    Fault(
        w, lane,
        absl::StrFormat("scratch address %d: a work-item has %u bytes", address, w.scratch_bytes));
    return nullptr;
  }
  return w.scratch.get() + static_cast<uint64_t>(lane) * w.scratch_bytes + address;
}

void AccessLane(Wave& w, const Access& a, int lane, uint8_t* at, int data, int data1, int dst) {
  switch (a.kind) {
    case K::kLoad: {
      if (dst < 0) return;
      uint32_t words[4] = {};
      if (at != nullptr) std::memcpy(words, at, a.bytes);
      if (a.sign) {
        words[0] = a.bytes == 1 ? static_cast<uint32_t>(static_cast<int8_t>(words[0]))
                                : static_cast<uint32_t>(static_cast<int16_t>(words[0]));
      }
      uint32_t* row = w.row(dst) + lane;
      if (a.half == H::kLow) {
        *row = (*row & 0xffff0000) | (words[0] & 0xffff);
      } else if (a.half == H::kHigh) {
        *row = (*row & 0xffff) | words[0] << 16;
      } else {
        for (int d = 0; d < (a.bytes + 3) / 4; ++d) row[d * kRow] = words[d];
      }
      return;
    }
    case K::kStore: {
      if (at == nullptr || data < 0) return;
      uint32_t words[4];
      for (int d = 0; d < (a.bytes + 3) / 4; ++d) words[d] = w.row(data + d)[lane];
      if (a.half == H::kHigh) words[0] >>= 16;
      std::memcpy(at, words, a.bytes);
      return;
    }
    case K::kAtomic: {
      if (data < 0) return;
      uint64_t value = DataBits(w, data, lane, a.bytes), compare = 0;
      // Memory has the new value first and the expected one behind it; LDS apart.
      if (a.compares) {
        compare = DataBits(w, data1 >= 0 ? data1 : data + a.bytes / 4, lane, a.bytes);
      } else if (data1 >= 0) {
        compare = DataBits(w, data1, lane, a.bytes);
      }
      uint64_t old = 0;
      if (at != nullptr) {
        old = a.bytes == 8 ? RunAtomic<uint64_t>(at, a.atomic, value, compare)
                           : RunAtomic<uint32_t>(at, a.atomic, value, compare);
      }
      if (dst >= 0) {
        w.row(dst)[lane] = static_cast<uint32_t>(old);
        if (a.bytes == 8) w.row(dst + 1)[lane] = static_cast<uint32_t>(old >> 32);
      }
      return;
    }
  }
}

}  // namespace tg::amd::sim
