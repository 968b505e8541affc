#include "drivers/sim/amd/queue/atomic_op.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "drivers/sim/amd/queue/gpu.h"

namespace tg::amd::sim {
namespace {

// The low five bits say what is done; bit 5 that it is done to 64 bits, bit 6 that the old value
// is not wanted.
constexpr uint32_t kSwap = 0x07, kCompareSwap = 0x08, kAdd = 0x0f, kSub = 0x10, kSmin = 0x11,
                   kUmin = 0x12, kSmax = 0x13, kUmax = 0x14, kAnd = 0x15, kOr = 0x16, kXor = 0x17,
                   kInc = 0x18, kDec = 0x19;

template <class U, class S>
U Apply(uint32_t op, U old, U source, U compare) {
  switch (op) {
    case kSwap:
      return source;
    case kCompareSwap:
      return old == compare ? source : old;
    case kAdd:
      return old + source;
    case kSub:
      return old - source;
    case kSmin:
      return static_cast<U>(std::min(static_cast<S>(old), static_cast<S>(source)));
    case kUmin:
      return std::min(old, source);
    case kSmax:
      return static_cast<U>(std::max(static_cast<S>(old), static_cast<S>(source)));
    case kUmax:
      return std::max(old, source);
    case kAnd:
      return old & source;
    case kOr:
      return old | source;
    case kXor:
      return old ^ source;
    case kInc:
      return old >= source ? 0 : old + 1;
    default:  // kDec.
      return old == 0 || old > source ? source : old - 1;
  }
}

}  // namespace

bool IsCompareSwap(uint32_t op) { return (op & 0x1f) == kCompareSwap; }

absl::StatusOr<uint64_t> AtomicOnMemory(Gpu* gpu, uint32_t op, uint64_t address, uint64_t source,
                                        uint64_t compare) {
  uint32_t what = op & 0x1f;
  if (op > 0x7f || (what != kSwap && what != kCompareSwap && (what < kAdd || what > kDec))) {
    return absl::UnimplementedError(absl::StrFormat("unknown atomic operation 0x%x", op));
  }
  bool wide = op >> 5 & 1;
  if (!wide) {
    absl::StatusOr<uint32_t> old = gpu->Read32(address);
    if (!old.ok()) return old.status();
    uint32_t value = Apply<uint32_t, int32_t>(what, *old, static_cast<uint32_t>(source),
                                              static_cast<uint32_t>(compare));
    absl::Status status = gpu->Write32(address, value);
    if (!status.ok()) return status;
    return *old;
  }
  absl::StatusOr<uint64_t> old = gpu->Read64(address);
  if (!old.ok()) return old.status();
  absl::Status status =
      gpu->Write64(address, Apply<uint64_t, int64_t>(what, *old, source, compare));
  if (!status.ok()) return status;
  return *old;
}

}  // namespace tg::amd::sim
