#include "codegen/isa/amd/hazard_sgpr.h"

#include <algorithm>

#include "codegen/isa/amd/names.h"

namespace tg::amd {
namespace {

bool IsVcc(int sgpr) { return sgpr == code::kVccLo || sgpr == code::kVccHi; }

// m0, null, exec and what follows are no registers of this file.
template <typename Function>
void ForEach(const RegisterList& registers, Function function) {
  constexpr int kEnd = code::kNullRdna;
  for (const Registers& r : registers) {
    for (int i = r.first; i < std::min<int>(r.first + r.count, kEnd); ++i) function(i);
  }
}

}  // namespace

uint16_t NoDependencyWait() {
  uint32_t value = 0;
  for (const CounterField& field : DependencyCounters()) value |= field.Put(field.Max());
  return static_cast<uint16_t>(value);
}

uint16_t SgprReuse::Needed(const Effects& e) const {
  if (scalar_.none() && vector_.none()) return 0;
  const bool scalar_reader = e.Is(Actor::kSalu);
  if (!scalar_reader && !e.Is(Actor::kValu)) return 0;
  uint16_t fields = 0;
  ForEach(e.reads, [&](int i) {
    if (scalar_[i]) fields |= kSaSdst;
    // On gfx12 a scalar reader waits for vector writers by itself.
    if (vector_[i] && (!scalar_reader || isa_ != Isa::kGfx12)) {
      fields |= IsVcc(i) ? kVaVcc : kVaSdst;
    }
  });
  return fields;
}

void SgprReuse::Waited(uint16_t fields) {
  if ((fields & kSaSdst) != 0) scalar_.reset();
  for (int i = 0; i < kNumSgprs; ++i) {
    if ((fields & (IsVcc(i) ? kVaVcc : kVaSdst)) != 0) vector_.reset(static_cast<size_t>(i));
  }
}

void SgprReuse::Track(const RegisterList& registers, int granule) {
  ForEach(registers, [&](int i) {
    const int first = i / granule * granule;
    for (int k = first; k < first + granule; ++k) tracked_.set(static_cast<size_t>(k));
  });
}

void SgprReuse::Execute(const Effects& e) {
  if (isa_ != Isa::kGfx12 && !(IsRdna3(isa_) && wave64_)) return;
  const bool scalar = e.Is(Actor::kSalu);
  const bool vector = e.Is(Actor::kValu);
  if (isa_ == Isa::kGfx12) {
    const Format format = e.form->format;
    // These wait for SGPRs, and all the others come with them.
    if (format == Format::kSmem || format == Format::kMubuf || format == Format::kMtbuf ||
        format == Format::kVimage || format == Format::kVsample) {
      scalar_.reset();
      vector_.reset();
      return;
    }
    if (scalar) {
      ForEach(e.reads, [&](int i) {
        if (Tracked(i)) Waited(IsVcc(i) ? (vector_[i] ? kVaVcc : 0) : kVaSdst);
      });
    }
  }
  if (!scalar && !vector) return;
  ForEach(e.writes, [&](int i) {
    if (!Tracked(i)) return;
    const size_t bit = static_cast<size_t>(i);
    (scalar ? scalar_ : vector_).set(bit);
    if (IsVcc(i)) (scalar ? vector_ : scalar_).reset(bit);
  });
  if (!vector) return;
  if (isa_ == Isa::kGfx12) {
    Track(e.reads, 2);
  } else {
    Track(e.masks, 1);
  }
}

}  // namespace tg::amd
