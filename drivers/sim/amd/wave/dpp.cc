#include "drivers/sim/amd/wave/dpp.h"

namespace tg::amd::sim {
namespace {

constexpr int kNoControl = -2;

// The lane that `lane` reads; -1 when none.
int Dpp16Source(int lane, uint32_t control, bool rdna) {
  int row = lane & ~15, i = lane & 15, n = control & 15;
  auto in_row = [&](int j) { return j >= 0 && j < 16 ? row + j : -1; };
  switch (control >> 4) {
    case 0x10:
      return n == 0 ? kNoControl : in_row(i + n);  // row_shl
    case 0x11:
      return n == 0 ? kNoControl : in_row(i - n);  // row_shr
    case 0x12:
      return n == 0 ? kNoControl : row + ((i - n) & 15);  // row_ror
    case 0x13:
      if (rdna) return kNoControl;
      if (n == 0) return lane == 63 ? -1 : lane + 1;  // wave_shl
      if (n == 4) return (lane + 1) & 63;             // wave_rol
      if (n == 8) return lane - 1;                    // wave_shr
      if (n == 12) return (lane - 1) & 63;            // wave_ror
      return kNoControl;
    case 0x14:
      if (n == 0) return row + 15 - i;                 // row_mirror
      if (n == 1) return row + (i & 8) + 7 - (i & 7);  // row_half_mirror
      if (rdna) return kNoControl;
      if (n == 2) return row == 0 ? -1 : row - 1;  // row_bcast:15
      if (n == 3) return lane < 32 ? -1 : 31;      // row_bcast:31
      return kNoControl;
    case 0x15:
      return row + n;  // row_share, row_newbcast
    case 0x16:
      return rdna ? row + (i ^ n) : kNoControl;  // row_xmask
    default:
      return control < 0x100 ? (lane & ~3) + (control >> (2 * (lane & 3)) & 3) : kNoControl;
  }
}

}  // namespace

std::unique_ptr<Dpp> MakeDpp(const Inst& inst, Isa isa) {
  auto dpp = std::make_unique<Dpp>();
  dpp->fetch_inactive = inst.Get(Mod::kFi) != 0;
  if (inst.form->extra == Extra::kDpp8) {
    uint32_t select = inst.Get(Mod::kDpp8);
    for (int l = 0; l < 64; ++l) {
      dpp->from[l] = static_cast<int8_t>((l & ~7) + (select >> (3 * (l & 7)) & 7));
    }
    dpp->write = ~uint64_t{0};
    // A lane that reads an inactive one gets 0.
    dpp->bound_ctrl = true;
    return dpp;
  }
  for (int l = 0; l < 64; ++l) {
    int from = Dpp16Source(l, inst.Get(Mod::kDppCtrl), IsRdna(isa));
    if (from == kNoControl) return nullptr;
    dpp->from[l] = static_cast<int8_t>(from);
    bool row = inst.Get(Mod::kRowMask) >> (l / 16) & 1;
    bool bank = inst.Get(Mod::kBankMask) >> (l % 16 / 4) & 1;
    if (row && bank) dpp->write |= uint64_t{1} << l;
  }
  dpp->bound_ctrl = inst.Get(Mod::kBoundCtrl) != 0;
  return dpp;
}

}  // namespace tg::amd::sim
