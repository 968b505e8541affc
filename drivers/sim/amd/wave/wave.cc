#include "drivers/sim/amd/wave/wave.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "drivers/sim/amd/wave/strict.h"

namespace tg::amd::sim {

Wave::Wave(Isa wave_isa, int wave_size)
    : vgpr_storage(new uint32_t[kNumRows * kRow + 16]()), isa(wave_isa), size(wave_size) {
  // Rows start at cache lines, for aligned vectors.
  uintptr_t address = reinterpret_cast<uintptr_t>(vgpr_storage.get());
  vgpr = reinterpret_cast<uint32_t*>((address + 63) / 64 * 64);
  m0 = IsRdna(isa) ? 125 : 124;
}

Wave::~Wave() = default;

void Wave::Reset() {
  scc = false;
  stop = Stop::kNone;
  fault.clear();
  instructions = 0;
  barrier_phase = 0;
  barrier_signalled = false;
  std::fill(std::begin(class_counts), std::end(class_counts), 0);
  lane_ops = bytes_read = bytes_written = 0;
  set_exec(0);
  strict_state = strict ? std::make_unique<StrictState>() : nullptr;
}

void Wave::InitSgpr(int code, uint32_t value) {
  sgpr[code] = value;
  if (strict_state != nullptr) strict_state->sgpr_written[code] = true;
}

void Wave::InitVgpr(int r, uint64_t lanes) {
  if (strict_state != nullptr) strict_state->vgpr_written[r] = lanes;
}

void Wave::SetMode(uint32_t bits) {
  mode_bits = bits;
  mode.round32 = bits & 3;
  mode.round16_64 = bits >> 2 & 3;
  mode.denorm32 = bits >> 4 & 3;
  mode.denorm16_64 = bits >> 6 & 3;
  // RDNA 4 has neither bit: clamp makes 0 of NaN, and the _num_ operations quiet.
  mode.dx10_clamp = isa == Isa::kGfx12 || (bits >> 8 & 1);
  mode.ieee = isa == Isa::kGfx12 || (bits >> 9 & 1);
  default_mode = (bits & 0xff) == 0xf0;
}

void Wave::Fault(std::string why) {
  if (stop == Stop::kFault) return;
  stop = Stop::kFault;
  fault = std::move(why);
}

}  // namespace tg::amd::sim
