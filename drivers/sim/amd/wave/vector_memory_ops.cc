// Vector memory instructions that are no plain access: into LDS, transposed, addressed by lane; and
// caches.
//
// Sources: AMD RDNA3, RDNA4, CDNA3 and CDNA4 Instruction Set Architecture documents, chapters
// "Vector memory operations" and "Flat memory instructions".
#include <bit>
#include <cstdint>
#include <cstring>

#include "drivers/sim/amd/wave/memory_access.h"

namespace tg::amd::sim {
namespace {

void Nothing(Wave&, const MicroOp&) {}

uint64_t GlobalAddress(const Wave& w, const MicroOp& u, int lane) {
  const MemoryOperands& m = u.memory;
  uint64_t address = static_cast<uint64_t>(m.offset);
  if (m.vaddr >= 0) {
    address += w.row(m.vaddr)[lane];
    if (m.vaddr_dwords == 2 && m.saddr < 0) {
      address += static_cast<uint64_t>(w.row(m.vaddr + 1)[lane]) << 32;
    }
  }
  if (m.saddr >= 0) address += w.sgpr64(m.saddr);
  return address;
}

// Lanes write to LDS one behind the other, from M0 and the instruction's offset on.
template <int kBytes, bool kSigned, bool kScratch>
void LoadLds(Wave& w, const MicroOp& u) {
  constexpr int kStored = kBytes < 4 ? 4 : kBytes;
  uint64_t base = (w.sgpr[w.m0] & 0xffffff) + static_cast<uint64_t>(u.memory.offset);
  for (uint64_t exec = w.exec(); exec != 0; exec &= exec - 1) {
    int lane = std::countr_zero(exec);
    const uint8_t* at;
    if (kScratch) {
      int64_t address = u.memory.offset;
      if (u.memory.vaddr >= 0) address += static_cast<int32_t>(w.row(u.memory.vaddr)[lane]);
      if (u.memory.saddr >= 0) address += static_cast<int32_t>(w.sgpr[u.memory.saddr]);
      at = ScratchBytes(w, address, kBytes, lane);
    } else {
      at = GlobalBytes(w, GlobalAddress(w, u, lane), kBytes, false, lane);
    }
    if (at == nullptr) return;
    uint32_t words[4] = {};
    std::memcpy(words, at, kBytes);
    if (kSigned) {
      words[0] = kBytes == 1 ? static_cast<uint32_t>(static_cast<int8_t>(words[0]))
                             : static_cast<uint32_t>(static_cast<int16_t>(words[0]));
    }
    uint8_t* to =
        LdsBytes(w, base + static_cast<uint64_t>(lane) * kStored, kStored, true, false, lane);
    if (w.stop == Stop::kFault) return;
    if (to != nullptr) std::memcpy(to, words, kStored);
    if (w.count) w.bytes_read += kBytes;
  }
}

// RDNA 4: a matrix of 16 by 16 elements, one row (or half of one) loaded by each lane, becomes
// columns.
//
// b128 is for 16-bit elements: 8 to a lane in a wave of 32; lanes 2r and 2r + 1 load row r. b64 is
// for 8-bit ones.
template <int kBits>
void LoadTransposed(Wave& w, const MicroOp& u) {
  constexpr int kBytes = kBits == 16 ? 16 : 8;
  constexpr int kPerLane = kBytes * 8 / kBits;  // 8 elements.
  if (w.size != 32) return w.Fault("unknown instruction: a transposed load in a wave of 64");
  uint16_t matrix[16][16] = {};
  for (uint64_t exec = w.exec(); exec != 0; exec &= exec - 1) {
    int lane = std::countr_zero(exec);
    const uint8_t* at = GlobalBytes(w, GlobalAddress(w, u, lane), kBytes, false, lane);
    if (at == nullptr) return;
    if (w.count) w.bytes_read += kBytes;
    for (int e = 0; e < kPerLane; ++e) {
      uint16_t x = 0;
      std::memcpy(&x, at + e * kBits / 8, kBits / 8);
      matrix[lane / 2][lane % 2 * 8 + e] = x;
    }
  }
  for (uint64_t exec = w.exec(); exec != 0; exec &= exec - 1) {
    int lane = std::countr_zero(exec);
    uint8_t bytes[kBytes];
    for (int e = 0; e < kPerLane; ++e) {
      uint16_t x = matrix[lane / 16 * 8 + e][lane % 16];
      std::memcpy(bytes + e * kBits / 8, &x, kBits / 8);
    }
    for (int d = 0; d < kBytes / 4; ++d)
      std::memcpy(w.row(u.memory.vdst + d) + lane, bytes + 4 * d, 4);
  }
}

// The address is the scalar base and the lane's number.
uint64_t TidAddress(const Wave& w, const MicroOp& u, int lane) {
  return (u.memory.saddr >= 0 ? w.sgpr64(u.memory.saddr) : 0) +
         static_cast<uint64_t>(u.memory.offset) + 4 * static_cast<uint64_t>(lane);
}
void LoadAddTid(Wave& w, const MicroOp& u) {
  for (uint64_t exec = w.exec(); exec != 0; exec &= exec - 1) {
    int lane = std::countr_zero(exec);
    const uint8_t* at = GlobalBytes(w, TidAddress(w, u, lane), 4, false, lane);
    if (at == nullptr) return;
    std::memcpy(w.row(u.memory.vdst) + lane, at, 4);
  }
}
void StoreAddTid(Wave& w, const MicroOp& u) {
  for (uint64_t exec = w.exec(); exec != 0; exec &= exec - 1) {
    int lane = std::countr_zero(exec);
    uint8_t* at = GlobalBytes(w, TidAddress(w, u, lane), 4, true, lane);
    if (at == nullptr) return;
    std::memcpy(at, w.row(u.memory.vdata) + lane, 4);
  }
}

constexpr Semantics kOps[] = {
    {"global_load_lds_ubyte", &LoadLds<1, false, false>},
    {"global_load_lds_sbyte", &LoadLds<1, true, false>},
    {"global_load_lds_ushort", &LoadLds<2, false, false>},
    {"global_load_lds_sshort", &LoadLds<2, true, false>},
    {"global_load_lds_dword", &LoadLds<4, false, false>},
    {"global_load_lds_dwordx3", &LoadLds<12, false, false>},
    {"global_load_lds_dwordx4", &LoadLds<16, false, false>},
    {"scratch_load_lds_ubyte", &LoadLds<1, false, true>},
    {"scratch_load_lds_sbyte", &LoadLds<1, true, true>},
    {"scratch_load_lds_ushort", &LoadLds<2, false, true>},
    {"scratch_load_lds_sshort", &LoadLds<2, true, true>},
    {"scratch_load_lds_dword", &LoadLds<4, false, true>},
    {"global_load_tr_b128", &LoadTransposed<16>},
    {"global_load_tr_b64", &LoadTransposed<8>},
    {"global_load_addtid_b32", &LoadAddTid},
    {"global_store_addtid_b32", &StoreAddTid},
    // Caches: there are none.
    {"buffer_gl0_inv", &Nothing},
    {"buffer_gl1_inv", &Nothing},
    {"buffer_inv", &Nothing},
    {"buffer_wbl2", &Nothing},
    {"global_inv", &Nothing},
    {"global_wb", &Nothing},
    {"global_wbinv", &Nothing},
};

}  // namespace

absl::Span<const Semantics> VectorMemoryOps() { return kOps; }

}  // namespace tg::amd::sim
