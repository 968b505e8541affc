// LDS instructions with two addresses, with lanes instead of memory, and transposed loads.
//
// Sources: AMD RDNA3, RDNA4, CDNA3 and CDNA4 Instruction Set Architecture documents, chapters "Data
// share operations" and "LDS & GDS instructions".
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>

#include "drivers/sim/amd/wave/memory_access.h"

namespace tg::amd::sim {
namespace {

void Nothing(Wave&, const MicroOp&) {}

uint32_t Address(const Wave& w, const MicroOp& u, int lane) {
  return u.memory.vaddr < 0 ? 0 : w.row(u.memory.vaddr)[lane];
}
uint64_t Exec(const Wave& w) { return w.exec(); }
template <class F>
void EachLane(Wave& w, F f) {
  for (uint64_t exec = Exec(w); exec != 0 && w.stop != Stop::kFault; exec &= exec - 1) {
    f(std::countr_zero(exec));
  }
}

// Two elements, at offset0 and offset1 times their size and `kStride`.
template <int kBytes, int kStride>
void Load2(Wave& w, const MicroOp& u) {
  EachLane(w, [&](int lane) {
    uint32_t words[2][2] = {};
    for (int i = 0; i < 2; ++i) {
      uint32_t offset = u.inst.Get(i == 0 ? Mod::kOffset0 : Mod::kOffset1) * kBytes * kStride;
      const uint8_t* at = LdsBytes(w, static_cast<uint64_t>(Address(w, u, lane)) + offset, kBytes,
                                   false, false, lane);
      if (at != nullptr) std::memcpy(words[i], at, kBytes);
    }
    for (int d = 0; d < kBytes / 2; ++d) {
      w.row(u.memory.vdst + d)[lane] = words[d / (kBytes / 4)][d % (kBytes / 4)];
    }
  });
}
template <int kBytes, int kStride>
void Store2(Wave& w, const MicroOp& u) {
  EachLane(w, [&](int lane) {
    for (int i = 0; i < 2; ++i) {
      uint32_t offset = u.inst.Get(i == 0 ? Mod::kOffset0 : Mod::kOffset1) * kBytes * kStride;
      uint8_t* at = LdsBytes(w, static_cast<uint64_t>(Address(w, u, lane)) + offset, kBytes, true,
                             false, lane);
      if (at == nullptr) continue;
      int data = i == 0 ? u.memory.vdata : u.memory.vdata1;
      uint32_t words[2] = {w.row(data)[lane], kBytes == 8 ? w.row(data + 1)[lane] : 0};
      std::memcpy(at, words, kBytes);
    }
  });
}
template <int kBytes, int kStride>
void Exchange2(Wave& w, const MicroOp& u) {
  EachLane(w, [&](int lane) {
    uint32_t old[2][2] = {};
    uint8_t* at[2];
    for (int i = 0; i < 2; ++i) {  // Both are read before either is written.
      uint32_t offset = u.inst.Get(i == 0 ? Mod::kOffset0 : Mod::kOffset1) * kBytes * kStride;
      at[i] = LdsBytes(w, static_cast<uint64_t>(Address(w, u, lane)) + offset, kBytes, true, true,
                       lane);
      if (at[i] != nullptr) std::memcpy(old[i], at[i], kBytes);
    }
    for (int i = 0; i < 2; ++i) {
      int data = i == 0 ? u.memory.vdata : u.memory.vdata1;
      uint32_t next[2] = {w.row(data)[lane], kBytes == 8 ? w.row(data + 1)[lane] : 0};
      if (at[i] != nullptr) std::memcpy(at[i], next, kBytes);
    }
    for (int d = 0; d < kBytes / 2; ++d) {
      w.row(u.memory.vdst + d)[lane] = old[d / (kBytes / 4)][d % (kBytes / 4)];
    }
  });
}
// Each dword whose new value has bit 31 set is replaced by it without that bit.
void ConditionalExchange(Wave& w, const MicroOp& u) {
  EachLane(w, [&](int lane) {
    uint8_t* at = LdsBytes(w, static_cast<uint64_t>(Address(w, u, lane)) + u.memory.offset, 8, true,
                           true, lane);
    for (int d = 0; d < 2; ++d) {
      uint32_t old = 0, next = w.row(u.memory.vdata + d)[lane];
      if (at != nullptr) {
        std::memcpy(&old, at + 4 * d, 4);
        if (next >> 31) {
          next &= 0x7fffffff;
          std::memcpy(at + 4 * d, &next, 4);
        }
      }
      w.row(u.memory.vdst + d)[lane] = old;
    }
  });
}

// The address is M0 and the lane's number.
void LoadAddTid(Wave& w, const MicroOp& u) {
  EachLane(w, [&](int lane) {
    uint64_t address = (w.sgpr[w.m0] & 0xffff) + u.memory.offset + 4 * static_cast<uint64_t>(lane);
    const uint8_t* at = LdsBytes(w, address, 4, false, false, lane);
    uint32_t x = 0;
    if (at != nullptr) std::memcpy(&x, at, 4);
    w.row(u.memory.vdst)[lane] = x;
  });
}
void StoreAddTid(Wave& w, const MicroOp& u) {
  EachLane(w, [&](int lane) {
    uint64_t address = (w.sgpr[w.m0] & 0xffff) + u.memory.offset + 4 * static_cast<uint64_t>(lane);
    uint8_t* at = LdsBytes(w, address, 4, true, false, lane);
    if (at != nullptr) std::memcpy(at, w.row(u.memory.vdata) + lane, 4);
  });
}
// A counter in LDS moves by the number of active lanes; all get what it was.
template <bool kAppend>
void Count(Wave& w, const MicroOp& u) {
  if (w.exec() == 0) return;
  uint64_t address = (w.sgpr[w.m0] & 0xffff) + static_cast<uint64_t>(u.memory.offset);
  uint8_t* at = LdsBytes(w, address, 4, true, true, std::countr_zero(w.exec()));
  if (at == nullptr) return;
  uint32_t old, lanes = static_cast<uint32_t>(std::popcount(w.exec()));
  std::memcpy(&old, at, 4);
  uint32_t next = kAppend ? old + lanes : old - lanes;
  std::memcpy(at, &next, 4);
  EachLane(w, [&](int lane) { w.row(u.memory.vdst)[lane] = old; });
}

// Lanes to lanes, without memory. Addresses are bytes.
void Permute(Wave& w, const MicroOp& u) {
  uint32_t out[kRow] = {};
  EachLane(w, [&](int lane) {
    uint32_t to = (Address(w, u, lane) + static_cast<uint32_t>(u.memory.offset)) / 4 & (w.size - 1);
    out[to] = w.row(u.memory.vdata)[lane];
  });
  EachLane(w, [&](int lane) { w.row(u.memory.vdst)[lane] = out[lane]; });
}
template <bool kFetchInactive>
void BackwardPermute(Wave& w, const MicroOp& u) {
  uint32_t out[kRow];
  EachLane(w, [&](int lane) {
    uint32_t from =
        (Address(w, u, lane) + static_cast<uint32_t>(u.memory.offset)) / 4 & (w.size - 1);
    bool valid = kFetchInactive || (w.exec() >> from & 1);
    out[lane] = valid ? w.row(u.memory.vdata)[from] : 0;
  });
  EachLane(w, [&](int lane) { w.row(u.memory.vdst)[lane] = out[lane]; });
}
// The lane that `lane` reads by the 16 bits of the instruction's offset.
int SwizzleSource(int lane, uint32_t offset) {
  int group = lane & ~31, l = lane & 31;
  if (offset >= 0xc000) {  // Rotation.
    int amount = offset >> 5 & 31, mask = offset & 31;
    bool right = offset >> 10 & 1;
    int moved = (l + (right ? -amount : amount)) & 31;
    return group + ((l & mask) | (moved & ~mask & 31));
  }
  if (offset & 0x8000) return (lane & ~3) + static_cast<int>(offset >> (2 * (lane & 3)) & 3);
  int and_mask = offset & 31, or_mask = offset >> 5 & 31, xor_mask = offset >> 10 & 31;
  return group + (((l & and_mask) | or_mask) ^ xor_mask);
}
void Swizzle(Wave& w, const MicroOp& u) {
  uint32_t offset = static_cast<uint32_t>(u.memory.offset) & 0xffff;
  if (offset >= 0xe000) return w.Fault("unknown instruction: ds_swizzle_b32 in FFT mode");
  uint32_t out[kRow];
  EachLane(w, [&](int lane) {
    int from = SwizzleSource(lane, offset);
    out[lane] = (w.exec() >> from & 1) ? w.row(u.memory.vaddr)[from] : 0;
  });
  EachLane(w, [&](int lane) { w.row(u.memory.vdst)[lane] = out[lane]; });
}

// CDNA 4's transposed loads: each lane loads 64 (or 96) bits; within groups of lanes the elements
// are then transposed as a matrix.
//
// Groups have 16 lanes. Of 16-bit elements, four to a lane, lane i of the group ends with element i
// / 4 of ... the lanes whose number is i % 4 * 4 and on; 8-bit and 4-bit elements likewise with 8
// and 16 lanes of source.
template <int kBits>
void LoadTransposed(Wave& w, const MicroOp& u) {
  constexpr int kElements = 64 / kBits;  // In a lane.
  constexpr int kSources = kElements;    // Lanes that one result is gathered from.
  constexpr int kGroups = 16 / kSources > 0 ? 16 / kSources : 1;
  uint64_t data[kRow] = {}, out[kRow] = {};
  EachLane(w, [&](int lane) {
    const uint8_t* at = LdsBytes(w, static_cast<uint64_t>(Address(w, u, lane)) + u.memory.offset, 8,
                                 false, false, lane);
    if (at != nullptr) std::memcpy(&data[lane], at, 8);
  });
  for (int lane = 0; lane < w.size; ++lane) {
    int base = lane & ~15, i = lane & 15;
    for (int e = 0; e < kElements; ++e) {
      // Element e of lane i is row e of the block, column i: its row lies in kGroups lanes of
      // kElements columns.
      int from = base + (kSources == 16 ? e : e * kGroups % 16 + i / kElements);
      int element = i % kElements;
      uint64_t mask = kBits == 64 ? ~uint64_t{0} : (uint64_t{1} << kBits) - 1;
      out[lane] |= (data[from] >> (element * kBits) & mask) << (e * kBits);
    }
  }
  EachLane(w, [&](int lane) {
    w.row(u.memory.vdst)[lane] = static_cast<uint32_t>(out[lane]);
    w.row(u.memory.vdst + 1)[lane] = static_cast<uint32_t>(out[lane] >> 32);
  });
}

constexpr Semantics kOps[] = {
    {"ds_load_2addr_b32", &Load2<4, 1>},
    {"ds_load_2addr_b64", &Load2<8, 1>},
    {"ds_load_2addr_stride64_b32", &Load2<4, 64>},
    {"ds_load_2addr_stride64_b64", &Load2<8, 64>},
    {"ds_store_2addr_b32", &Store2<4, 1>},
    {"ds_store_2addr_b64", &Store2<8, 1>},
    {"ds_store_2addr_stride64_b32", &Store2<4, 64>},
    {"ds_store_2addr_stride64_b64", &Store2<8, 64>},
    {"ds_storexchg_2addr_rtn_b32", &Exchange2<4, 1>},
    {"ds_storexchg_2addr_rtn_b64", &Exchange2<8, 1>},
    {"ds_storexchg_2addr_stride64_rtn_b32", &Exchange2<4, 64>},
    {"ds_storexchg_2addr_stride64_rtn_b64", &Exchange2<8, 64>},
    {"ds_condxchg32_rtn_b64", &ConditionalExchange},
    {"ds_load_addtid_b32", &LoadAddTid},
    {"ds_store_addtid_b32", &StoreAddTid},
    {"ds_append", &Count<true>},
    {"ds_consume", &Count<false>},
    {"ds_permute_b32", &Permute},
    {"ds_bpermute_b32", &BackwardPermute<false>},
    {"ds_bpermute_fi_b32", &BackwardPermute<true>},
    {"ds_swizzle_b32", &Swizzle},
    {"ds_read_b64_tr_b16", &LoadTransposed<16>},
    {"ds_read_b64_tr_b8", &LoadTransposed<8>},
    {"ds_read_b64_tr_b4", &LoadTransposed<4>},
    {"ds_nop", &Nothing},
};

}  // namespace

absl::Span<const Semantics> LdsOps() { return kOps; }

}  // namespace tg::amd::sim
