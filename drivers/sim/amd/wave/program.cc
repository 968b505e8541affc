#include "drivers/sim/amd/wave/program.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/print.h"

namespace tg::amd::sim {
namespace {

// Code that is looked at from one entry on; larger allocations get several regions.
constexpr uint64_t kRegionBytes = 1 << 20;

}  // namespace

const MicroOp* Program::At(uint64_t pc, std::string* error) {
  for (std::atomic<Region*>& slot : regions_) {
    Region* r = slot.load(std::memory_order_acquire);
    if (r == nullptr) break;
    uint64_t i = (pc - r->address) / 4;
    if (pc < r->address || i >= r->count || pc % 4 != 0) continue;
    const MicroOp* op = r->ops[i].load(std::memory_order_acquire);
    if (op != nullptr) return op;
    break;
  }
  return Decode(pc, error);
}

const MicroOp* Program::Decode(uint64_t pc, std::string* error) {
  const Allocation* a = memory_->Find(pc, 4);
  if (pc % 4 != 0 || a == nullptr) {
    *error =
        absl::StrCat("pc at ", memory_->Describe(pc), pc % 4 != 0 ? ": not a multiple of 4" : "");
    return nullptr;
  }
  uint64_t offset = pc - a->address;
  const uint8_t* bytes = a->host + offset;
  absl::StatusOr<Inst> inst =
      amd::Decode({bytes, static_cast<size_t>(std::min<uint64_t>(a->size - offset, 24))}, arch_);
  auto words = [&](int n) {
    std::string text;
    for (int i = 0; i + 4 <= n; i += 4) {
      uint32_t word;
      std::memcpy(&word, bytes + i, 4);
      absl::StrAppendFormat(&text, "%s0x%08x", i == 0 ? "" : " ", word);
    }
    return text;
  };
  if (!inst.ok()) {
    *error = absl::StrFormat("unknown instruction at 0x%x: %s on %s: %s", pc,
                             words(static_cast<int>(std::min<uint64_t>(a->size - offset, 8))),
                             std::string(ArchName(arch_)), std::string(inst.status().message()));
    return nullptr;
  }
  std::unique_ptr<MicroOp> op = MakeMicroOp(*inst, IsaOf(arch_));
  if (op == nullptr) {
    *error = absl::StrFormat("unknown instruction at 0x%x: %s on %s: %s is not modelled", pc,
                             words(inst->size), std::string(ArchName(arch_)),
                             ToString(*inst, IsaOf(arch_)));
    return nullptr;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  Region* region = nullptr;
  int slots = 0;
  for (; slots < kMaxRegions; ++slots) {
    Region* r = regions_[slots].load(std::memory_order_relaxed);
    if (r == nullptr) break;
    if (pc >= r->address && (pc - r->address) / 4 < r->count) region = r;
  }
  if (region == nullptr) {
    if (slots == kMaxRegions) {
      *error = absl::StrFormat("code at 0x%x: a program in more than %d pieces of 1 MiB", pc,
                               kMaxRegions);
      return nullptr;
    }
    uint64_t start = offset / kRegionBytes * kRegionBytes;
    uint64_t size = std::min(kRegionBytes, a->size - start);
    owned_regions_.push_back(std::make_unique<Region>(a->address + start, size));
    region = owned_regions_.back().get();
    regions_[slots].store(region, std::memory_order_release);
  }
  std::atomic<const MicroOp*>& slot = region->ops[(pc - region->address) / 4];
  const MicroOp* present = slot.load(std::memory_order_relaxed);
  if (present != nullptr) return present;
  owned_ops_.push_back(std::move(op));
  slot.store(owned_ops_.back().get(), std::memory_order_release);
  return owned_ops_.back().get();
}

}  // namespace tg::amd::sim
