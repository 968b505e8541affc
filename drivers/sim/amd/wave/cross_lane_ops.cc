// Instructions that move values between lanes, between registers chosen at run time, and
// interpolation over quads.
//
// Sources: AMD RDNA3, RDNA4, CDNA3 and CDNA4 Instruction Set Architecture documents, chapters "VOP1
// instructions", "VOP3 instructions" and "VINTERP instructions".
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drivers/sim/amd/wave/lanes.h"

namespace tg::amd::sim {
namespace {

void WriteScalar(Wave& w, const MicroOp& u, uint32_t value) {
  if (u.dst[0].kind == Dest::Kind::kSgpr) w.sgpr[u.dst[0].index] = value;
}
void ReadFirstLane(Wave& w, const MicroOp& u) {
  WriteScalar(w, u, static_cast<uint32_t>(ScalarValue(w, u.src[0])));
}
void ReadLane(Wave& w, const MicroOp& u) {
  const Source& s = u.src[0];
  uint32_t lane = static_cast<uint32_t>(ScalarValue(w, u.src[1])) & (w.size - 1);
  WriteScalar(w, u,
              s.kind == Source::Kind::kRow ? w.row(s.index)[lane]
                                           : static_cast<uint32_t>(ScalarValue(w, s)));
}
void WriteLane(Wave& w, const MicroOp& u) {
  uint32_t lane = static_cast<uint32_t>(ScalarValue(w, u.src[1])) & (w.size - 1);
  w.row(u.dst[0].index)[lane] = static_cast<uint32_t>(ScalarValue(w, u.src[0]));
}

// v_permlane16 and its kin: lane i of each row reads the lane of its own or of the other row of the
// pair that `select(i)` names.
template <class Select>
void PermuteRows(Wave& w, const MicroOp& u, bool other_row, Select select) {
  bool fetch_inactive = u.inst.Get(Mod::kOpSel) & 1, bound = u.inst.Get(Mod::kOpSel) >> 1 & 1;
  uint64_t exec = w.exec();
  uint32_t in[kRow], out[kRow];
  const uint32_t* old = w.row(u.dst[0].index);
  for (int base = 0; base < w.size; base += kChunk) RawLanes(w, u, u.src[0], 0, base, in + base);
  for (int l = 0; l < w.size; ++l) {
    int from = ((l & ~15) ^ (other_row ? 16 : 0)) + select(l);
    bool valid = fetch_inactive || (exec >> from & 1);
    out[l] = valid ? in[from] : bound ? 0 : old[l];
  }
  for (int base = 0; base < w.size; base += kChunk) {
    StoreRaw(w, u, 0, base, out + base, static_cast<uint32_t>(exec >> base));
  }
}
template <bool kOther>
void PermlaneScalar(Wave& w, const MicroOp& u) {
  uint64_t lo = static_cast<uint32_t>(ScalarValue(w, u.src[1])),
           hi = static_cast<uint32_t>(ScalarValue(w, u.src[2]));
  uint64_t select = lo | hi << 32;
  PermuteRows(w, u, kOther, [&](int l) { return static_cast<int>(select >> (4 * (l & 15)) & 15); });
}
template <bool kOther>
void PermlaneVar(Wave& w, const MicroOp& u) {
  uint32_t select[kRow];
  for (int base = 0; base < w.size; base += kChunk)
    RawLanes(w, u, u.src[1], 0, base, select + base);
  PermuteRows(w, u, kOther, [&](int l) { return static_cast<int>(select[l] & 15); });
}
// Swaps the halves of a wave of 64.
void Permlane64(Wave& w, const MicroOp& u) {
  if (w.size == 32) return;
  uint32_t in[kRow];
  std::memcpy(in, w.row(u.src[0].index), sizeof(in));
  StoreRaw(w, u, 0, 0, in + 32, static_cast<uint32_t>(w.exec()));
  StoreRaw(w, u, 0, 32, in, static_cast<uint32_t>(w.exec() >> 32));
}
// Swaps rows of the destination with rows of the source: odd ones with the even ones before them,
// or the upper half with the lower one.
template <int kLanes>
void PermlaneSwap(Wave& w, const MicroOp& u) {
  const Operand& second = u.inst.operands[1];
  if (second.kind != OperandKind::kVgpr) return w.Fault("a swap needs two VGPRs");
  uint32_t* d = w.row(u.dst[0].index);
  uint32_t* s = w.row(second.code - code::kVgpr0);
  uint64_t exec = w.exec();
  for (int l = 0; l < w.size; ++l) {
    if (!(l & kLanes)) continue;
    int other = l - kLanes;
    uint32_t from_s = s[other], from_d = d[l];
    if (exec >> l & 1) d[l] = from_s;
    if (exec >> other & 1) s[other] = from_d;
  }
}

// Both operands are read and written.
void Swap32(Wave& w, const MicroOp& u) {
  const Operand& second = u.inst.operands[1];
  if (second.kind != OperandKind::kVgpr) return w.Fault("a swap needs two VGPRs");
  uint32_t* a = w.row(u.dst[0].index);
  uint32_t* b = w.row(second.code - code::kVgpr0);
  for (int l = 0; l < w.size; ++l) {
    if (w.exec() >> l & 1) std::swap(a[l], b[l]);
  }
}
void Swap16(Wave& w, const MicroOp& u) {
  const Operand& first = u.inst.operands[0];
  const Operand& second = u.inst.operands[1];
  if (second.kind != OperandKind::kVgpr) return w.Fault("a swap needs two VGPRs");
  uint32_t* a = w.row(first.code - code::kVgpr0);
  uint32_t* b = w.row(second.code - code::kVgpr0);
  int sa = first.mods & kHigh ? 16 : 0, sb = second.mods & kHigh ? 16 : 0;
  for (int l = 0; l < w.size; ++l) {
    if (!(w.exec() >> l & 1)) continue;
    uint32_t x = a[l] >> sa & 0xffff, y = b[l] >> sb & 0xffff;
    a[l] = (a[l] & ~(0xffffu << sa)) | y << sa;
    b[l] = (b[l] & ~(0xffffu << sb)) | x << sb;
  }
}

// Registers whose number has M0 added.
bool Relative(Wave& w, int index, uint32_t offset, int* row) {
  uint64_t r = static_cast<uint64_t>(index) + offset;
  if (index < 256 && r < 256) {
    *row = static_cast<int>(r);
    return true;
  }
  w.Fault(absl::StrCat("v", r, ", relative to M0, is no VGPR"));
  return false;
}
void MoveRow(Wave& w, int to, int from) {
  uint64_t exec = w.exec();
  uint32_t* d = w.row(to);
  const uint32_t* s = w.row(from);
  for (int l = 0; l < w.size; ++l) {
    if (exec >> l & 1) d[l] = s[l];
  }
}
void MoveRelD(Wave& w, const MicroOp& u) {
  int to;
  if (!Relative(w, u.dst[0].index, w.sgpr[w.m0], &to)) return;
  uint64_t exec = w.exec();
  for (int base = 0; base < w.size; base += kChunk) {
    uint32_t in[kChunk];
    RawLanes(w, u, u.src[0], 0, base, in);
    for (int l = 0; l < kChunk; ++l) {
      if (exec >> (base + l) & 1) w.row(to)[base + l] = in[l];
    }
  }
}
void MoveRelS(Wave& w, const MicroOp& u) {
  int from;
  if (u.src[0].kind == Source::Kind::kRow && Relative(w, u.src[0].index, w.sgpr[w.m0], &from)) {
    MoveRow(w, u.dst[0].index, from);
  }
}
void MoveRelSD(Wave& w, const MicroOp& u) {
  int from, to;
  if (u.src[0].kind == Source::Kind::kRow && Relative(w, u.src[0].index, w.sgpr[w.m0], &from) &&
      Relative(w, u.dst[0].index, w.sgpr[w.m0], &to)) {
    MoveRow(w, to, from);
  }
}
void MoveRelSD2(Wave& w, const MicroOp& u) {
  uint32_t m0 = w.sgpr[w.m0];
  int from, to;
  if (u.src[0].kind == Source::Kind::kRow && Relative(w, u.src[0].index, m0 & 0x3ff, &from) &&
      Relative(w, u.dst[0].index, m0 >> 16 & 0x3ff, &to)) {
    MoveRow(w, to, from);
  }
}
void SwapRel(Wave& w, const MicroOp& u) {
  const Operand& second = u.inst.operands[1];
  uint32_t m0 = w.sgpr[w.m0];
  int a, b;
  if (second.kind == OperandKind::kVgpr &&
      Relative(w, second.code - code::kVgpr0, m0 & 0x3ff, &a) &&
      Relative(w, u.dst[0].index, m0 >> 16 & 0x3ff, &b)) {
    for (int l = 0; l < w.size; ++l) {
      if (w.exec() >> l & 1) std::swap(w.row(a)[l], w.row(b)[l]);
    }
  }
}

// Interpolation: parameters of a triangle lie in the lanes of each quad, P0 in lane 0, P10 in lane
// 1, P20 in lane 2, as LDSDIR loads them.
float Parameter(const Wave& w, const MicroOp& u, int source, int lane, bool half) {
  const Source& s = u.src[source];
  uint32_t raw = s.kind == Source::Kind::kRow ? w.row(s.index)[lane]
                                              : static_cast<uint32_t>(ScalarValue(w, s));
  float x = half ? HalfToFloat(s.high ? raw >> 16 : raw & 0xffff) : Float(raw);
  return s.neg ? -x : x;
}
enum class Step { kP10, kP2 };
template <Step kStep, bool kHalf, bool kToZero>
void Interpolate(Wave& w, const MicroOp& u) {
  for (int base = 0; base < w.size; base += kChunk) {
    alignas(64) uint32_t out[kChunk];
    for (int l = 0; l < kChunk; ++l) {
      int lane = base + l, quad = lane & ~3;
      float r;
      if (kStep == Step::kP10) {
        r = std::fma(Parameter(w, u, 0, quad + 1, kHalf), Parameter(w, u, 1, lane, false),
                     Parameter(w, u, 2, quad, kHalf));
      } else {
        r = std::fma(Parameter(w, u, 0, quad + 2, kHalf), Parameter(w, u, 1, lane, false),
                     Parameter(w, u, 2, lane, false));
      }
      r = lanes::Modified(w, u, r);
      out[l] =
          kHalf && kStep == Step::kP2 ? (kToZero ? FloatToHalfToZero(r) : FloatToHalf(r)) : Bits(r);
    }
    uint32_t mask = static_cast<uint32_t>(w.exec() >> base);
    if (kHalf && kStep == Step::kP2) {
      Store16(w, u, base, out, mask);
    } else {
      StoreRaw(w, u, 0, base, out, mask);
    }
  }
}

constexpr Semantics kOps[] = {
    {"v_readfirstlane_b32", &ReadFirstLane},
    {"v_readlane_b32", &ReadLane},
    {"v_writelane_b32", &WriteLane},
    {"v_permlane16_b32", &PermlaneScalar<false>},
    {"v_permlanex16_b32", &PermlaneScalar<true>},
    {"v_permlane16_var_b32", &PermlaneVar<false>},
    {"v_permlanex16_var_b32", &PermlaneVar<true>},
    {"v_permlane64_b32", &Permlane64},
    {"v_permlane16_swap_b32", &PermlaneSwap<16>},
    {"v_permlane32_swap_b32", &PermlaneSwap<32>},
    {"v_swap_b32", &Swap32},
    {"v_swap_b16", &Swap16},
    {"v_movreld_b32", &MoveRelD},
    {"v_movrels_b32", &MoveRelS},
    {"v_movrelsd_b32", &MoveRelSD},
    {"v_movrelsd_2_b32", &MoveRelSD2},
    {"v_swaprel_b32", &SwapRel},
    {"v_interp_p10_f32", &Interpolate<Step::kP10, false, false>, FloatClass::k32},
    {"v_interp_p2_f32", &Interpolate<Step::kP2, false, false>, FloatClass::k32},
    {"v_interp_p10_f16_f32", &Interpolate<Step::kP10, true, false>, FloatClass::k32},
    {"v_interp_p2_f16_f32", &Interpolate<Step::kP2, true, false>, FloatClass::k32},
    {"v_interp_p10_rtz_f16_f32", &Interpolate<Step::kP10, true, true>, FloatClass::k32},
    {"v_interp_p2_rtz_f16_f32", &Interpolate<Step::kP2, true, true>, FloatClass::k32},
};

}  // namespace

absl::Span<const Semantics> CrossLaneOps() { return kOps; }

}  // namespace tg::amd::sim
