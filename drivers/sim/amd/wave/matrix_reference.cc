#include "drivers/sim/amd/wave/matrix_reference.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "drivers/sim/amd/wave/float_format.h"
#include "drivers/sim/amd/wave/transition_lanes.h"

namespace tg::amd::sim {
namespace {

using Real = __float128;

// v_mfma_scale_f32_16x16x128_f8f6f4: what the parts of a name say.
struct Name {
  bool rdna = false, sparse = false, scaled = false, small = false;
  int m = 0, n = 0, k = 0, blocks = 1;
  std::string out, a, b;
};

bool Parse(std::string_view name, Name* r) {
  auto eat = [&](std::string_view prefix) {
    if (name.substr(0, prefix.size()) != prefix) return false;
    name.remove_prefix(prefix.size());
    return true;
  };
  auto word = [&] {
    std::string_view w = name.substr(0, name.find('_'));
    name.remove_prefix(std::min(w.size() + 1, name.size()));
    return std::string(w);
  };
  if (eat("v_wmma_")) {
    r->rdna = true;
  } else if (eat("v_swmmac_")) {
    r->rdna = r->sparse = true;
  } else if (eat("v_smfmac_")) {
    r->sparse = true;
  } else if (eat("v_mfma_scale_")) {
    r->scaled = true;
  } else if (!eat("v_mfma_")) {
    return false;
  }
  r->out = word();
  std::string shape = word();
  char* end = nullptr;
  r->m = static_cast<int>(std::strtol(shape.c_str(), &end, 10));
  if (*end != 'x') return false;
  r->n = static_cast<int>(std::strtol(end + 1, &end, 10));
  if (*end != 'x') return false;
  r->k = static_cast<int>(std::strtol(end + 1, &end, 10));
  r->a = word();
  if (r->a.size() >= 2 && r->a.back() == 'b') {  // "4b": blocks.
    r->blocks = std::atoi(r->a.c_str());
    r->a = word();
  }
  r->b = name.empty() ? r->a : word();
  r->small = r->a == "f8f6f4";
  return r->m > 0 && r->n == r->m && r->k > 0;
}

int Width(std::string_view type) {
  if (type == "f64") return 64;
  if (type == "f32" || type == "i32") return 32;
  if (type == "f16" || type == "bf16") return 16;
  if (type == "fp6" || type == "bf6") return 6;
  if (type == "fp4" || type == "iu4") return 4;
  return 8;
}

Real Number(const Transition& t, std::string_view type, uint64_t x, bool is_signed) {
  uint32_t low = static_cast<uint32_t>(x);
  if (type == "f64") return std::bit_cast<double>(x);
  if (type == "f32") return std::bit_cast<float>(low);
  if (type == "f16") return HalfValue(static_cast<uint16_t>(x));
  if (type == "bf16") return Bf16Value(static_cast<uint16_t>(x));
  if (type == "i32") return static_cast<int32_t>(low);
  if (type == "fp8") return Decode(Fp8Of(t.isa), low);
  if (type == "bf8") return Decode(Bf8Of(t.isa), low);
  if (type == "fp6") return Decode(kE2M3, low);
  if (type == "bf6") return Decode(kE3M2, low);
  if (type == "fp4") return Decode(kE2M1, low);
  int bits = type == "iu4" ? 4 : 8;
  int value = static_cast<int>(low);
  return is_signed && value >> (bits - 1) ? value - (1 << bits) : value;
}

// Operand `n`, a tuple of registers or a constant: element `index` of a lane.
uint64_t ElementBits(const Transition& t, int n, int lane, int index, int bits) {
  int p = SourcePosition(t.inst, n);
  const Operand& o = t.inst.operands[p];
  if (o.kind != OperandKind::kVgpr && o.kind != OperandKind::kAccVgpr) {
    return SourceBits(t, n, lane);
  }
  uint64_t x = 0;
  for (int b = 0; b < bits; ++b) {
    int at = index * bits + b;
    uint32_t word = t.in.lane(o.code - code::kVgpr0 + at / 32, lane);
    x |= static_cast<uint64_t>(word >> (at % 32) & 1) << b;
  }
  return x;
}

uint32_t Mask(const Transition& t, Mod m) { return t.inst.form->Has(m) ? t.inst.Get(m) : 0; }

struct Matrices {
  // [block][row or column][k]
  std::vector<Real> a, b;
  int m, k;
  std::vector<std::vector<std::pair<int, Real>>> sparse;  // [row]: place along K, number.
  Real& A(int block, int i, int kk) { return a[static_cast<size_t>((block * m + i) * k + kk)]; }
  Real& B(int block, int j, int kk) { return b[static_cast<size_t>((block * m + j) * k + kk)]; }
};

std::string SmallType(uint32_t code) {
  static constexpr const char* kTypes[] = {"fp8", "bf8", "fp6", "bf6", "fp4"};
  return code < 5 ? kTypes[code] : "fp8";
}

Real ScaleOf(const Transition& t, int source, int which, int lane) {
  uint32_t byte = (Mask(t, Mod::kOpSel) >> which & 1) + 2 * (Mask(t, Mod::kOpSelHi) >> which & 1);
  uint32_t e = SourceBits(t, source, lane) >> (8 * byte) & 0xff;
  return e == 255 ? std::numeric_limits<double>::quiet_NaN()
                  : std::ldexp(1.0, static_cast<int>(e) - 127);
}

// Lanes of B that BLGP swaps.
int SwizzledLane(int lane, uint32_t blgp) {
  switch (blgp) {
    case 1:
      return lane & 31;  // The first 32 lanes to all.
    case 2:
      return 32 | (lane & 31);
    case 3:
      return (lane + 16) & 63;  // Rotation by 16.
    case 4:
    case 5:
    case 6:
    case 7:
      return static_cast<int>(16 * (blgp - 4)) | (lane & 15);
    default:
      return lane;
  }
}

void Load(const Transition& t, const Name& name, Matrices* r) {
  const int waves = t.wave_size(), m = name.m, k = name.k;
  std::string ta = name.small ? SmallType(Mask(t, Mod::kCbsz)) : name.a;
  std::string tb = name.small ? SmallType(Mask(t, Mod::kBlgp)) : name.b;
  bool gfx11 = t.isa == Isa::kGfx11;
  int groups = gfx11 ? 1 : waves / (m * name.blocks);  // Lane groups that share K.
  int per = k / groups, per_a = name.sparse ? per / 2 : per;
  uint32_t neg_lo = Mask(t, Mod::kNegLo), neg_hi = Mask(t, Mod::kNegHi);
  bool f64 = name.a == "f64";
  uint32_t blgp = f64 || name.small || name.rdna ? 0 : Mask(t, Mod::kBlgp);
  uint32_t f64_neg = f64 ? Mask(t, Mod::kBlgp) : 0;
  for (int block = 0; block < name.blocks; ++block) {
    for (int i = 0; i < m; ++i) {
      for (int g = 0; g < groups; ++g) {
        int lane = i + m * (block + name.blocks * g);
        // RDNA: the integer types' neg_lo are signs of types, not of numbers.
        auto sign = [&](int e, int operand) {
          bool integer = name.out == "i32";
          if (!name.rdna || integer || Width(ta) != 16) return false;
          return ((e % 2 ? neg_hi : neg_lo) >> operand & 1) != 0;
        };
        for (int e = 0; e < per_a; ++e) {
          Real x = Number(t, ta, ElementBits(t, 0, lane, e, Width(ta)), !name.rdna || (neg_lo & 1));
          if (sign(e, 0) && !name.sparse) x = -x;
          if (f64_neg & 1) x = -x;
          if (name.scaled) x *= ScaleOf(t, 3, 0, lane);
          int at = g * per + e;
          if (name.sparse) {
            uint32_t bits = static_cast<uint32_t>(2 * per_a), part = 0;
            if (name.rdna) {
              part = bits < 32 ? Mask(t, Mod::kIndexKey) % (32 / bits) : 0;
            } else if (Mask(t, Mod::kCbsz) == 0) {
              part = Mask(t, Mod::kAbid) % (32 / bits);
            }
            uint32_t index = static_cast<uint32_t>(SourceBits(t, 2, lane)) >>
                                 (part * bits + 2 * static_cast<uint32_t>(e)) &
                             3;
            r->sparse[static_cast<size_t>(i)].push_back(
                {g * per + e / 2 * 4 + static_cast<int>(index), x});
            continue;
          }
          r->A(block, i, at) = x;
        }
        for (int e = 0; e < per; ++e) {
          Real y = Number(t, tb, ElementBits(t, 1, SwizzledLane(lane, blgp), e, Width(tb)),
                          !name.rdna || (neg_lo >> 1 & 1));
          if (sign(e, 1) && !name.sparse) y = -y;
          if (f64_neg & 2) y = -y;
          if (name.scaled) y *= ScaleOf(t, 4, 1, lane);
          r->B(block, i, g * per + e) = y;
        }
      }
    }
  }
}

struct Where {
  int lane, element;
};
// Row i, column j of a block of the result.
Where ResultPlace(const Transition& t, const Name& name, int block, int i, int j) {
  if (t.isa == Isa::kGfx11) {
    int groups = t.wave_size() / 16;
    return {j + 16 * (i % groups), i / groups};
  }
  if (name.rdna) {
    int rows = 256 / t.wave_size();
    return {j + 16 * (i / rows), i % rows};
  }
  if (name.out == "f64") {
    if (name.m == 4) return {j + 4 * block + 16 * i, 0};
    return {j + 16 * (i % 4), i / 4};
  }
  if (name.m == 4) return {j + 4 * block, i};
  if (name.m == 16) return {j + 16 * (i / 4), i % 4 + 4 * block};
  return {j + 32 * (i / 4 % 2), i % 4 + 4 * (i / 8) + 16 * block};
}

}  // namespace

std::vector<MatrixElement> MatrixResult(const Transition& t) {
  Name name;
  std::vector<MatrixElement> result;
  if (!Parse(t.inst.form->name, &name) || DestRow(t) < 0) return result;
  Matrices x;
  x.m = name.m;
  x.k = name.k;
  x.a.assign(static_cast<size_t>(name.blocks * name.m * name.k), 0);
  x.b = x.a;
  x.sparse.resize(static_cast<size_t>(name.m));
  Load(t, name, &x);
  uint32_t cbsz = name.rdna || name.sparse || name.small ? 0 : Mask(t, Mod::kCbsz);
  int width = Width(name.out);
  bool integer = name.out == "i32", clamp = Mask(t, Mod::kClamp);
  bool halves_apart = width == 16 && t.isa == Isa::kGfx11;
  bool high = halves_apart && (Mask(t, Mod::kOpSel) >> 2 & 1);
  for (int block = 0; block < name.blocks; ++block) {
    int from = block;
    if (cbsz != 0 && name.blocks > 1) {
      int size = std::min(1 << cbsz, name.blocks);
      from = block / size * size + static_cast<int>(Mask(t, Mod::kAbid)) % size;
    }
    for (int i = 0; i < name.m; ++i) {
      for (int j = 0; j < name.m; ++j) {
        Where at = ResultPlace(t, name, block, i, j);
        int element = halves_apart ? 2 * at.element + high : at.element;
        uint64_t old;
        if (name.sparse) {
          old = 0;
          for (int b = 0; b < width; ++b) {
            int bit = element * width + b;
            old |=
                static_cast<uint64_t>(t.in.lane(DestRow(t) + bit / 32, at.lane) >> (bit % 32) & 1)
                << b;
          }
        } else {
          old = ElementBits(t, 2, at.lane, element, width);
        }
        Real sum = Number(t, name.out, old, true);
        if (name.rdna && !integer && !name.sparse) {
          if (Mask(t, Mod::kNegHi) >> 2 & 1) sum = sum < 0 ? -sum : sum;
          if (Mask(t, Mod::kNegLo) >> 2 & 1) sum = -sum;
        }
        if (name.out == "f64" && (Mask(t, Mod::kBlgp) & 4)) sum = -sum;
        Real magnitude = sum < 0 ? -sum : sum;
        auto add = [&](Real a, Real b) {
          sum += a * b;
          magnitude += a * b < 0 ? -(a * b) : a * b;
        };
        for (int k = 0; !name.sparse && k < name.k; ++k) {
          add(x.A(from, i, k), x.B(block, j, k));
        }
        for (size_t e = 0; name.sparse && e < x.sparse[static_cast<size_t>(i)].size(); ++e) {
          const auto& [k, a] = x.sparse[static_cast<size_t>(i)][e];
          add(a, x.B(block, j, k));
        }
        MatrixElement e;
        int bit = element * width;
        e.row = DestRow(t) + bit / 32;
        e.lane = at.lane;
        e.bits = width;
        e.high = bit % 32 == 16;
        e.integer = integer;
        e.bf16 = name.out == "bf16";
        e.nan = sum != sum;
        Real slack = integer || sum != sum || magnitude > std::numeric_limits<double>::max()
                         ? 0
                         : magnitude * static_cast<double>(name.k + 1) * 0x1p-52;
        if (integer && clamp) {
          sum = sum > 2147483647      ? Real{2147483647}
                : sum < -2147483648.0 ? Real{-2147483648.0}
                                      : sum;
        }
        e.least = static_cast<long double>(sum - slack);
        e.greatest = static_cast<long double>(sum + slack);
        result.push_back(e);
      }
    }
  }
  return result;
}

bool HasElement(const WaveState& state, const MatrixElement& e) {
  uint64_t bits = state.lane(e.row, e.lane);
  if (e.bits == 64) bits |= static_cast<uint64_t>(state.lane(e.row + 1, e.lane)) << 32;
  if (e.bits == 16) bits = bits >> (e.high ? 16 : 0) & 0xffff;
  if (e.integer) return bits == static_cast<uint32_t>(static_cast<int64_t>(e.least));
  double value = e.bits == 64   ? std::bit_cast<double>(bits)
                 : e.bits == 32 ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                 : e.bf16       ? Bf16Value(static_cast<uint16_t>(bits))
                                : HalfValue(static_cast<uint16_t>(bits));
  if (e.nan) return value != value;
  auto rounded = [&](long double x) -> double {
    if (e.bits == 64) return static_cast<double>(x);
    if (e.bits == 32) return static_cast<float>(x);
    if (!e.bf16) return HalfValue(NearestHalf(static_cast<double>(x)));
    return Decode(kBf16, Encode(kBf16, static_cast<float>(x)));
  };
  if (rounded(e.least) <= value && value <= rounded(e.greatest)) return true;
  // Denormals may be flushed.
  double tiny = e.bits == 64 ? 0x1p-1022 : 0x1p-126;
  return value == 0 && e.bits != 16 && std::fabs(e.least) < tiny && std::fabs(e.greatest) < tiny;
}

}  // namespace tg::amd::sim
