#include "codegen/isa/amd/asm_mnemonics.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <tuple>

#include "codegen/isa/amd/table_data.h"

namespace tg::amd::asm_internal {
namespace {

uint64_t Load(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

// Mnemonics differ at either end: the first and last eight bytes, and the middle of long ones.
inline uint64_t HashOf(std::string_view s) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  uint64_t h = s.size();
  const char* p = s.data();
  size_t n = s.size();
  if (n < 8) {
    for (size_t i = 0; i < n; ++i) h = h << 8 | static_cast<uint8_t>(p[i]);
  } else {
    const uint64_t last = Load(p + n - 8);
    for (; n >= 8; n -= 8, p += 8) h = (h ^ Load(p)) * kMultiplier;
    h ^= last;
  }
  h *= kMultiplier;
  return h ^ h >> 32;
}

// CDNA has two fields that can hold the register which is added to a scalar address. The lower one
// is LLVM's choice.
int OffsetField(const Form& form) {
  if (form.format != Format::kSmem || form.num_operands == 0) return 0;
  return internal::DataOf(&form).encs[form.num_operands - 1].lo;
}

int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

const Mnemonics& Mnemonics::Of(Isa isa) {
  static const Mnemonics* const all[kNumIsas] = {
      new Mnemonics(Isa::kGfx11), new Mnemonics(Isa::kGfx115), new Mnemonics(Isa::kGfx12),
      new Mnemonics(Isa::kGfx942), new Mnemonics(Isa::kGfx950)};
  return *all[static_cast<int>(isa)];
}

Mnemonics::Mnemonics(Isa isa) {
  std::map<std::string_view, std::vector<const Form*>> by_name;
  for (const Form* form : FormsOf(isa)) {
    by_name[form->mnemonic].push_back(form);
    if (std::string_view(form->name) != form->mnemonic) by_name[form->name].push_back(form);
  }
  const size_t size = std::bit_ceil(by_name.size() * 2);
  slots_.resize(size);
  mask_ = size - 1;
  for (auto& [name, forms] : by_name) {
    std::stable_sort(forms.begin(), forms.end(), [](const Form* a, const Form* b) {
      return std::tuple(a->extra, a->dwords, OffsetField(*a)) <
             std::tuple(b->extra, b->dwords, OffsetField(*b));
    });
    uint64_t slot = HashOf(name) & mask_;
    while (slots_[slot].count != 0) slot = (slot + 1) & mask_;
    slots_[slot] = {name, static_cast<uint32_t>(forms_.size()),
                    static_cast<uint32_t>(forms.size())};
    forms_.insert(forms_.end(), forms.begin(), forms.end());
  }
}

absl::Span<const Form* const> Mnemonics::Find(std::string_view name) const {
  for (uint64_t slot = HashOf(name) & mask_; slots_[slot].count != 0; slot = (slot + 1) & mask_) {
    const Entry& entry = slots_[slot];
    if (entry.name == name) return {forms_.data() + entry.first, entry.count};
  }
  return {};
}

std::string Mnemonics::Nearest(std::string_view name) const {
  int best = 3;  // More changes than two make another word.
  std::string_view nearest;
  for (const Entry& entry : slots_) {
    if (entry.count == 0) continue;
    const size_t longer = std::max(entry.name.size(), name.size());
    if (longer - std::min(entry.name.size(), name.size()) >= 3) continue;
    const int distance = EditDistance(entry.name, name);
    if (distance < best || (distance == best && !nearest.empty() && entry.name < nearest)) {
      best = distance;
      nearest = entry.name;
    }
  }
  return std::string(nearest);
}

}  // namespace tg::amd::asm_internal
