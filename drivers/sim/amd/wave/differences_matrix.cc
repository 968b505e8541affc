// Matrix instructions: the recorder rounds and overflows term by term, has other NaNs, and lacks
// blocks, broadcasts, sparsity and some formats. Ours is held against plain loops.
#include "drivers/sim/amd/wave/differences.h"
#include "drivers/sim/amd/wave/matrix_reference.h"

namespace tg::amd::sim {
namespace {

bool MatrixSums(Transition* t) {
  std::vector<MatrixElement> elements = MatrixResult(*t);
  if (elements.empty()) return false;
  WaveState rest = t->got;
  for (const MatrixElement& e : elements) {
    if (!HasElement(t->got, e)) return false;
    for (int d = 0; d < (e.bits == 64 ? 2 : 1); ++d) {
      uint32_t mask = e.bits != 16 ? ~0u : e.high ? 0xffff0000u : 0xffffu;
      uint32_t& word = rest.lane(e.row + d, e.lane);
      word = (word & ~mask) | (t->want.lane(e.row + d, e.lane) & mask);
    }
  }
  // RDNA 3 keeps the other half of a register with a result of 16 bits; the recorder clears it.
  for (const MatrixElement& e : elements) {
    if (e.bits != 16 || t->isa != Isa::kGfx11) continue;
    uint32_t other = e.high ? 0xffffu : 0xffff0000u;
    if ((t->got.lane(e.row, e.lane) ^ t->in.lane(e.row, e.lane)) & other) return false;
    rest.lane(e.row, e.lane) = t->want.lane(e.row, e.lane);
  }
  // The recorder writes eight registers where one block of 4 by 4 doubles fills two.
  int end = elements[0].row + (elements[0].bits == 64 ? 2 : 0);
  for (int row = end; elements.size() == 64 && elements[0].bits == 64 && row < end + 6; ++row) {
    for (int l = 0; l < 64; ++l) {
      if (t->got.lane(row, l) != t->in.lane(row, l)) return false;
      rest.lane(row, l) = t->want.lane(row, l);
    }
  }
  t->got = rest;
  return true;
}

constexpr DifferenceRule kRules[] = {{"matrix-sums", MatrixSums}};

}  // namespace

absl::Span<const DifferenceRule> MatrixDifferences() { return kRules; }

}  // namespace tg::amd::sim
