#include "drivers/sim/amd/wave/lanes.h"

#include <algorithm>
#include <bit>

namespace tg::amd::sim {

uint64_t ScalarValue(const Wave& w, const Source& s) {
  switch (s.kind) {
    case Source::Kind::kConst:
      return s.bits;
    case Source::Kind::kSgpr:
      return w.sgpr64(s.index);
    case Source::Kind::kRow: {  // As v_readfirstlane: scalar operands are never vectors otherwise.
      uint64_t exec = w.exec();
      return w.row(s.index)[exec == 0 ? 0 : std::countr_zero(exec)];
    }
    case Source::Kind::kScc:
      return w.scc;
    case Source::Kind::kExecz:
      return w.exec() == 0;
    case Source::Kind::kVccz:
      return w.mask(code::kVccLo) == 0;
    case Source::Kind::kNone:
      break;
  }
  return 0;
}

namespace {

uint32_t Select(uint32_t x, int sel, bool sext) {
  if (sel <= 3) {
    x = x >> (8 * sel) & 0xff;
    return sext ? static_cast<uint32_t>(static_cast<int8_t>(x)) : x;
  }
  if (sel <= 5) {
    x = x >> (16 * (sel - 4)) & 0xffff;
    return sext ? static_cast<uint32_t>(static_cast<int16_t>(x)) : x;
  }
  return x;
}

// Whether lane `l` gets a value through DPP.
bool DppValid(const Wave& w, const Dpp& d, int l) {
  int from = d.from[l];
  return from >= 0 && from < w.size && (d.fetch_inactive || (w.exec() >> from & 1));
}

}  // namespace

void RawLanes(const Wave& w, const MicroOp& u, const Source& s, int dword, int base,
              uint32_t* out) {
  if (s.kind == Source::Kind::kRow) {
    const uint32_t* row = w.row(s.index + dword);
    if (s.dpp) {
      for (int l = 0; l < kChunk; ++l) {
        out[l] = DppValid(w, *u.dpp, base + l) ? row[u.dpp->from[base + l]] : 0;
      }
    } else {
      std::memcpy(out, row + base, kChunk * sizeof(uint32_t));
    }
  } else {
    uint32_t value = s.kind == Source::Kind::kSgpr
                         ? w.sgpr[s.index + dword]
                         : static_cast<uint32_t>(ScalarValue(w, s) >> (32 * dword));
    for (int l = 0; l < kChunk; ++l) out[l] = value;
  }
  if (s.sel != 6) {
    for (int l = 0; l < kChunk; ++l) out[l] = Select(out[l], s.sel, s.sext);
  } else if (s.sext) {
    for (int l = 0; l < kChunk; ++l) out[l] = Select(out[l], 6, true);
  }
}

uint64_t WriteMask(const Wave& w, const MicroOp& u) {
  uint64_t exec = w.exec();
  if (!u.dpp) return exec;
  uint64_t mask = exec & u.dpp->write;
  if (u.dpp->bound_ctrl) return mask;
  for (int l = 0; l < w.size; ++l) {
    if (!DppValid(w, *u.dpp, l)) mask &= ~(uint64_t{1} << l);
  }
  return mask;
}

void StoreMask(Wave& w, const MicroOp&, const Dest& d, uint64_t bits) {
  if (d.kind == Dest::Kind::kSgpr) w.set_mask(d.index, bits);
}

void StoreRaw(Wave& w, const MicroOp& u, int dword, int base, const uint32_t* bits, uint32_t mask) {
  const Dest& d = u.dst[0];
  if (d.kind == Dest::Kind::kSgpr) {  // The first active lane.
    if (mask != 0) w.sgpr[d.index + dword] = bits[std::countr_zero(mask)];
    return;
  }
  if (d.kind != Dest::Kind::kRow) return;
  uint32_t* row = w.row(d.index + dword) + base;
  if (u.sdwa && u.dst_sel != 6) {
    int width = u.dst_sel <= 3 ? 8 : 16;
    int shift = u.dst_sel <= 3 ? 8 * u.dst_sel : 16 * (u.dst_sel - 4);
    uint32_t field = (width == 8 ? 0xffu : 0xffffu) << shift;
    for (int l = 0; l < kChunk; ++l) {
      if (!(mask >> l & 1)) continue;
      uint32_t value = bits[l] << shift & field;
      if (u.dst_unused == 2) {
        value |= row[l] & ~field;
      } else if (u.dst_unused == 1 && (value >> (shift + width - 1) & 1)) {
        value |= shift + width == 32 ? 0 : ~0u << (shift + width);
      }
      row[l] = value;
    }
    return;
  }
  if (mask == 0xffffffff) {
    std::memcpy(row, bits, kChunk * sizeof(uint32_t));
    return;
  }
  for (int l = 0; l < kChunk; ++l) row[l] = (mask >> l & 1) ? bits[l] : row[l];
}

void Store16(Wave& w, const MicroOp& u, int base, const uint32_t* bits, uint32_t mask) {
  const Dest& d = u.dst[0];
  if (d.kind != Dest::Kind::kRow || u.sdwa || (!u.merge16 && !d.high)) {
    StoreRaw(w, u, 0, base, bits, mask);
    return;
  }
  const uint32_t* row = w.row(d.index) + base;
  alignas(64) uint32_t merged[kChunk];
  if (d.high) {
    for (int l = 0; l < kChunk; ++l) merged[l] = (row[l] & 0xffff) | bits[l] << 16;
  } else {
    for (int l = 0; l < kChunk; ++l) merged[l] = (row[l] & 0xffff0000) | (bits[l] & 0xffff);
  }
  StoreRaw(w, u, 0, base, merged, mask);
}

namespace lanes {

void Fetch16(const Wave& w, const MicroOp& u, int i, int base, uint32_t* out) {
  const Source& s = u.src[i];
  RawLanes(w, u, s, 0, base, out);
  int shift = s.high ? 16 : 0;
  for (int l = 0; l < kChunk; ++l) out[l] = out[l] >> shift & 0xffff;
  if (s.abs) {
    for (int l = 0; l < kChunk; ++l) out[l] &= 0x7fff;
  }
  if (s.neg) {
    for (int l = 0; l < kChunk; ++l) out[l] ^= 0x8000;
  }
}

void FlushHalves(const Wave&, uint32_t* bits) {
  for (int l = 0; l < kChunk; ++l) {
    if ((bits[l] & 0x7c00) == 0) bits[l] &= 0x8000;
  }
}

void HalvesToFloats(const uint32_t* bits, float* out) {
  for (int l = 0; l < kChunk; l += 8) {
    __m128i lo = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bits + l));
    __m128i hi = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bits + l + 4));
    _mm256_storeu_ps(out + l, _mm256_cvtph_ps(_mm_packus_epi32(lo, hi)));
  }
}

void FloatsToHalves(const float* x, uint32_t* bits) {
  for (int l = 0; l < kChunk; l += 8) {
    __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(x + l), _MM_FROUND_CUR_DIRECTION);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(bits + l), _mm256_cvtepu16_epi32(h));
  }
}

}  // namespace lanes
}  // namespace tg::amd::sim
