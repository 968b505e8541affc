// Scalar loads, clocks and cache instructions.
//
// Sources: AMD RDNA3, RDNA4 and CDNA3 Instruction Set Architecture documents, chapters "Scalar
// memory operations" and "SMEM instructions".
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_format.h"
#include "drivers/sim/amd/wave/memory_access.h"

namespace tg::amd::sim {
namespace {

void Nothing(Wave&, const MicroOp&) {}

uint64_t Offset(const Wave& w, const MicroOp& u) {
  int64_t offset = u.memory.offset;
  if (const Operand* o = u.inst.Find(OperandName::kOffset)) offset += o->value;
  const Operand* s = u.inst.Find(OperandName::kSoffset);
  if (s != nullptr &&
      (s->kind == OperandKind::kSgpr || s->kind == OperandKind::kSpecial ||
       s->kind == OperandKind::kTtmp) &&
      s->code < 128 && !(IsRdna(w.isa) && s->code == code::kNullRdna)) {
    offset += w.sgpr[s->code];
  }
  return static_cast<uint64_t>(offset);
}

void Put(Wave& w, int to, int dwords, const uint32_t* words) {
  for (int d = 0; d < dwords && to >= 0; ++d) {
    if (to + d < 128) w.sgpr[to + d] = words[d];
  }
}

template <int kBytes, bool kSigned>
void Finish(Wave& w, const MicroOp& u, const uint8_t* at) {
  uint32_t words[16] = {};
  if (at != nullptr) std::memcpy(words, at, kBytes);
  if (kBytes == 1 && kSigned) words[0] = static_cast<uint32_t>(static_cast<int8_t>(words[0]));
  if (kBytes == 2 && kSigned) words[0] = static_cast<uint32_t>(static_cast<int16_t>(words[0]));
  Put(w, u.memory.sdata, std::max(kBytes / 4, 1), words);
}

// Addresses are cut to whole dwords.
uint64_t Cut(uint64_t address, int bytes) {
  return address & ~static_cast<uint64_t>(std::min(bytes, 4) - 1);
}

template <int kBytes, bool kSigned = false>
void Load(Wave& w, const MicroOp& u) {
  if (u.memory.saddr < 0) return w.Fault("a scalar load without base");
  uint64_t address = Cut(w.sgpr64(u.memory.saddr) + Offset(w, u), kBytes);
  const uint8_t* at = GlobalBytes(w, address, kBytes, false, 0);
  if (w.stop == Stop::kFault) return;
  if (w.count) w.bytes_read += kBytes;
  Finish<kBytes, kSigned>(w, u, at);
}

// Of a buffer: what lies behind its end reads as 0.
template <int kBytes, bool kSigned = false>
void BufferLoad(Wave& w, const MicroOp& u) {
  int s = u.memory.saddr;
  if (s < 0) return w.Fault("a scalar buffer load without descriptor");
  uint64_t low = w.sgpr64(s), base = low & 0xffffffffffff, stride = low >> 48 & 0x3fff;
  uint64_t size = w.sgpr[s + 2] * std::max<uint64_t>(stride, 1);
  uint64_t offset = Cut(Offset(w, u), kBytes);
  uint8_t bytes[kBytes] = {};
  for (int d = 0; d < kBytes; d += std::min(kBytes, 4)) {
    int n = std::min(kBytes, 4);
    if (offset + d + n > size) continue;
    const uint8_t* at = GlobalBytes(w, base + offset + d, n, false, 0);
    if (at == nullptr) return;
    std::memcpy(bytes + d, at, n);
  }
  if (w.count) w.bytes_read += kBytes;
  Finish<kBytes, kSigned>(w, u, bytes);
}

void Time(Wave& w, const MicroOp& u) {
  Group* g = w.group;
  uint64_t now = g != nullptr && g->clock != nullptr ? g->clock(g->clock_context) : w.instructions;
  uint32_t words[2] = {static_cast<uint32_t>(now), static_cast<uint32_t>(now >> 32)};
  Put(w, u.memory.sdata, 2, words);
}

constexpr Semantics kOps[] = {
    {"s_load_b32", &Load<4>},
    {"s_load_b64", &Load<8>},
    {"s_load_b96", &Load<12>},
    {"s_load_b128", &Load<16>},
    {"s_load_b256", &Load<32>},
    {"s_load_b512", &Load<64>},
    {"s_load_u8", &Load<1>},
    {"s_load_i8", &Load<1, true>},
    {"s_load_u16", &Load<2>},
    {"s_load_i16", &Load<2, true>},
    {"s_buffer_load_b32", &BufferLoad<4>},
    {"s_buffer_load_b64", &BufferLoad<8>},
    {"s_buffer_load_b96", &BufferLoad<12>},
    {"s_buffer_load_b128", &BufferLoad<16>},
    {"s_buffer_load_b256", &BufferLoad<32>},
    {"s_buffer_load_b512", &BufferLoad<64>},
    {"s_buffer_load_u8", &BufferLoad<1>},
    {"s_buffer_load_i8", &BufferLoad<1, true>},
    {"s_buffer_load_u16", &BufferLoad<2>},
    {"s_buffer_load_i16", &BufferLoad<2, true>},
    {"s_memtime", &Time},
    {"s_memrealtime", &Time},
    // Caches: there are none.
    {"s_gl1_inv", &Nothing},
    {"s_dcache_inv", &Nothing},
    {"s_dcache_inv_vol", &Nothing},
    {"s_dcache_wb", &Nothing},
    {"s_dcache_wb_vol", &Nothing},
    {"s_prefetch_inst", &Nothing},
    {"s_prefetch_inst_pc_rel", &Nothing},
    {"s_prefetch_data", &Nothing},
    {"s_prefetch_data_pc_rel", &Nothing},
    {"s_buffer_prefetch_data", &Nothing},
};

}  // namespace

absl::Span<const Semantics> ScalarMemoryOps() { return kOps; }

}  // namespace tg::amd::sim
