// LDS instructions: sizes, alignment and lanes.
#include <algorithm>
#include <cstring>
#include <optional>

#include "drivers/sim/amd/wave/differences.h"
#include "drivers/sim/amd/wave/transition_lanes.h"

namespace tg::amd::sim {
namespace {

const Operand* Named(const Transition& t, OperandName name) { return t.inst.Find(name); }

uint64_t Address(const Transition& t, int lane) {
  const Operand* addr = Named(t, OperandName::kAddr);
  uint64_t base = addr == nullptr ? 0 : t.in.lane(addr->code - code::kVgpr0, lane);
  return base + (t.inst.form->Has(Mod::kOffset) ? static_cast<uint64_t>(t.inst.offset()) : 0);
}

// A load from behind the end of LDS gives 0; the recorder leaves the destination, or has 0, too.
bool BehindTheEnd(Transition* t) {
  int row = DestRow(*t);
  if (row < 0 || !t->inst.form->Has(Mod::kOffset) || !(t->got.lds == t->in.lds)) return false;
  WaveState expected = t->got;
  for (int l = 0; l < t->wave_size(); ++l) {
    if (!(t->exec() >> l & 1) || Address(*t, l) < t->in.lds.size()) continue;
    for (int d = 0; d < DestDwords(*t); ++d) {
      if (t->got.lane(row + d, l) != 0) return false;
      expected.lane(row + d, l) = t->want.lane(row + d, l);
    }
  }
  t->got = expected;
  return true;
}

// The same for two addresses: each half of the result has its own.
bool SecondBehindTheEnd(Transition* t) {
  int row = DestRow(*t);
  if (row < 0 || !t->inst.form->Has(Mod::kOffset0)) return false;
  std::string_view name = t->inst.form->name;
  int each = DestDwords(*t) / 2;
  uint64_t scale =
      static_cast<uint64_t>(4 * each) * (name.find("stride64") != std::string_view::npos ? 64 : 1);
  WaveState expected = t->got;
  for (int l = 0; l < t->wave_size(); ++l) {
    if (!(t->exec() >> l & 1)) continue;
    for (int i = 0; i < 2; ++i) {
      uint64_t at = Address(*t, l) + scale * t->inst.Get(i == 0 ? Mod::kOffset0 : Mod::kOffset1);
      if (at < t->in.lds.size()) continue;
      for (int d = i * each; d < (i + 1) * each; ++d) {
        if (t->got.lane(row + d, l) != 0) return false;
        expected.lane(row + d, l) = t->want.lane(row + d, l);
      }
    }
  }
  t->got = expected;
  return true;
}

// Loads and stores take addresses byte by byte. Ours: the same instruction at an aligned address,
// on LDS that is moved by the remainder.
bool UnalignedStore(Transition* t) {
  if (!t->inst.form->Has(Mod::kOffset) || DestRow(*t) >= 0) return false;
  int rest = t->inst.offset() & 3;
  if (rest == 0) return false;
  for (int l = 0; l < t->wave_size(); ++l) {
    if ((t->exec() >> l & 1) && (Address(*t, l) & 3) != static_cast<uint64_t>(rest)) return false;
  }
  Inst aligned = t->inst;
  aligned.Set(Mod::kOffset, static_cast<uint32_t>(t->inst.offset() - rest));
  Transition moved = *t;
  std::rotate(moved.in.lds.begin(), moved.in.lds.begin() + rest, moved.in.lds.end());
  if (!RunTransition(moved, aligned, &moved.got).empty()) return false;
  std::rotate(moved.got.lds.begin(), moved.got.lds.end() - rest, moved.got.lds.end());
  if (!(moved.got == t->got)) return false;
  // The recorder stores to the dword.
  if (!RunTransition(*t, aligned, &t->got).empty()) return false;
  return true;
}

// Atomics ignore the low bits of the address. The recorder reads at the byte and writes to the
// dword.
bool UnalignedAtomic(Transition* t) {
  if (!t->inst.form->Has(Mod::kOffset)) return false;
  int rest = t->inst.offset() & 3;
  if (rest == 0) return false;
  Inst aligned = t->inst;
  aligned.Set(Mod::kOffset, static_cast<uint32_t>(t->inst.offset() - rest));
  WaveState ours;
  if (!RunTransition(*t, aligned, &ours).empty() || !(ours == t->got)) return false;
  int row = DestRow(*t);
  WaveState expected = t->got;
  for (int l = 0; l < t->wave_size(); ++l) {
    if (!(t->exec() >> l & 1)) continue;
    uint64_t at = Address(*t, l), dword = at & ~uint64_t{3};
    for (int d = 0; d < 2; ++d) {
      uint64_t from = at + static_cast<uint64_t>(4 * d);
      if (from + 4 > t->in.lds.size()) continue;
      // What the recorder returns is what lay at the byte, unless an earlier lane wrote there.
      if (row >= 0 && d < DestDwords(*t)) expected.lane(row + d, l) = t->want.lane(row + d, l);
      std::memcpy(&expected.lds[(dword & ~uint64_t{3}) + static_cast<uint64_t>(4 * d)],
                  &t->want.lds[(dword & ~uint64_t{3}) + static_cast<uint64_t>(4 * d)], 4);
      if (DestDwords(*t) < 2 &&
          std::string_view(t->inst.form->name).find("64") == std::string_view::npos) {
        break;
      }
    }
  }
  t->got = expected;
  return true;
}

// ds_bpermute_b32: the lane is (address + offset) / 4 modulo the wave's size; the recorder reads 0
// where that is not below it.
bool PermuteModulo(Transition* t) {
  if (std::string_view(t->inst.form->name) != "ds_bpermute_b32") return false;
  const Operand* data = Named(*t, OperandName::kData0);
  if (data == nullptr) return false;
  WaveState want = t->want;
  return ExplainLanes(t, [&](int l, uint64_t got) {
    uint64_t from = static_cast<uint32_t>(Address(*t, l)) / 4;
    uint64_t lane = from % static_cast<uint64_t>(t->wave_size());
    bool active = t->exec() >> lane & 1;
    uint32_t expected = active ? t->in.lane(data->code - code::kVgpr0, static_cast<int>(lane)) : 0;
    return from >= static_cast<uint64_t>(t->wave_size()) && got == expected &&
           want.lane(DestRow(*t), l) == 0;
  });
}

// Loads of 8 and 16 bits into half of a register leave the other half.
bool HalfRegisterLoad(Transition* t) {
  std::string_view name = t->inst.form->name;
  if (name.find("d16") == std::string_view::npos) return false;
  bool high = name.find("_hi") != std::string_view::npos;
  bool byte = name.find("8_d16") != std::string_view::npos;
  bool sign = name.find("_i8_") != std::string_view::npos;
  return ExplainLanes(t, [&](int l, uint64_t got) {
    uint64_t at = Address(*t, l);
    uint16_t x = 0;
    if (at + (byte ? 1 : 2) <= t->in.lds.size()) std::memcpy(&x, &t->in.lds[at], byte ? 1 : 2);
    if (sign && (x & 0x80)) x |= 0xff00;
    uint32_t old = t->in.lane(DestRow(*t), l);
    return got == (high ? (old & 0xffff) | static_cast<uint32_t>(x) << 16 : (old & 0xffff0000) | x);
  });
}

constexpr DifferenceRule kRules[] = {
    {"lds-end", BehindTheEnd},
    {"lds-end-2", SecondBehindTheEnd},
    {"lds-unaligned-store", UnalignedStore},
    {"lds-unaligned-atomic", UnalignedAtomic},
    {"lds-permute-modulo", PermuteModulo},
    {"lds-half-register", HalfRegisterLoad},
};

}  // namespace

absl::Span<const DifferenceRule> LdsDifferences() { return kRules; }

}  // namespace tg::amd::sim
