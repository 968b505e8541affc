#include "drivers/sim/amd/queue/sdma.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drivers/sim/amd/queue/atomic_op.h"

namespace tg::amd::sim {
namespace {

enum Op : uint32_t {
  kNop = 0,
  kCopy = 1,
  kWrite = 2,
  kIndirect = 4,
  kFence = 5,
  kTrap = 6,
  kPollRegmem = 8,
  kAtomic = 10,
  kConstFill = 11,
  kTimestamp = 13,
  kGcr = 17,
};

// Bytes that a tick of the clock lets an engine copy.
constexpr uint64_t kBytesPerTick = 1024;

uint64_t Address(absl::Span<const uint32_t> p, int at) {
  return p[at] | static_cast<uint64_t>(p[at + 1]) << 32;
}

}  // namespace

absl::StatusOr<uint32_t> SdmaProcessor::Length(absl::Span<const uint32_t> head) const {
  uint32_t op = head[0] & 0xff, sub_op = head[0] >> 8 & 0xff;
  auto only = [&](uint32_t wanted, uint32_t dwords) -> absl::StatusOr<uint32_t> {
    if (sub_op == wanted) return dwords;
    return absl::UnimplementedError(
        absl::StrFormat("unknown SDMA packet: operation %u, sub-operation %u", op, sub_op));
  };
  switch (op) {
    case kNop:
      return 1 + (head[0] >> 16 & 0x3fff);
    case kCopy:
      return only(0, 7);
    case kWrite: {
      if (sub_op != 0) return only(0, 0);
      if (head.size() < 4) return 0;
      return 5 + (head[3] & 0xfffff);
    }
    case kIndirect:
      return only(0, 6);
    case kFence:
      return only(0, 4);
    case kTrap:
      return only(0, 2);
    case kPollRegmem:
      return only(0, 6);
    case kAtomic:
      return only(0, 8);
    case kConstFill:
      return only(0, 5);
    case kTimestamp:
      return sub_op == 1 ? 3u : only(2, 3);  // Local and global clock; 0 sets the local one.
    case kGcr:
      return only(0, 5);
    default:
      return only(0x100, 0);
  }
}

absl::StatusOr<Outcome> SdmaProcessor::Copy(absl::Span<const uint32_t> p) {
  if (p[0] >> 27 & 1) return absl::UnimplementedError("SDMA copy to two destinations");
  if ((p[2] >> 16 & 3) != 0 || (p[2] >> 24 & 3) != 0) {
    return absl::UnimplementedError("SDMA copy that swaps bytes");
  }
  uint64_t mask = IsCdna(gpu_->isa()) ? 0x3fffff : 0x3fffffff;
  if ((p[1] & ~mask) != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("SDMA copy: count 0x%x is wider than the field", p[1]));
  }
  uint64_t bytes = (p[1] & mask) + 1, from = Address(p, 3), to = Address(p, 5);
  const uint8_t* source = gpu_->Bytes(from, bytes, false);
  uint8_t* target = source == nullptr ? nullptr : gpu_->Bytes(to, bytes, true);
  if (target == nullptr) {
    return absl::AbortedError(
        absl::StrFormat("memory fault: SDMA copy of %u bytes, %s at %s", bytes,
                        source == nullptr ? "read" : "write",
                        gpu_->memory().Describe(source == nullptr ? from : to)));
  }
  if (source < target + bytes && target < source + bytes && source != target) {
    return absl::InvalidArgumentError(
        absl::StrFormat("SDMA copy of %u bytes from 0x%x to 0x%x: they overlap", bytes, from, to));
  }
  std::memmove(target, source, bytes);
  gpu_->clock().Advance(bytes / kBytesPerTick);
  return Outcome();
}

absl::StatusOr<Outcome> SdmaProcessor::Fill(absl::Span<const uint32_t> p) {
  // The count is of bytes, less one. FILLSIZE 2 writes whole dwords.
  uint64_t bytes = static_cast<uint64_t>(p[4] & (IsCdna(gpu_->isa()) ? 0x3fffff : 0x3fffffff)) + 1;
  uint32_t size = p[0] >> 30;
  if (size != 0 && size != 2) {
    return absl::UnimplementedError(absl::StrFormat("SDMA fill with elements of size %u", size));
  }
  if (size == 2) bytes = (bytes + 3) / 4 * 4;
  uint64_t to = Address(p, 1);
  uint8_t* target = gpu_->Bytes(to, bytes, true);
  if (target == nullptr) {
    return absl::AbortedError(absl::StrFormat("memory fault: SDMA fill of %u bytes at %s", bytes,
                                              gpu_->memory().Describe(to)));
  }
  for (uint64_t i = 0; i < bytes; ++i) target[i] = static_cast<uint8_t>(p[3] >> (i % 4 * 8));
  gpu_->clock().Advance(bytes / kBytesPerTick);
  return Outcome();
}

absl::StatusOr<Outcome> SdmaProcessor::Poll(absl::Span<const uint32_t> p) {
  uint32_t function = p[0] >> 28 & 7;
  bool memory = p[0] >> 31;
  if (function == 7) return absl::InvalidArgumentError("SDMA poll: comparison 7 is reserved");
  uint32_t value;
  std::string what;
  if (memory) {
    absl::StatusOr<uint32_t> read = gpu_->Read32(Address(p, 1));
    if (!read.ok()) return read.status();
    value = *read;
    what = absl::StrFormat("memory 0x%x", Address(p, 1));
  } else if (p[0] >> 26 & 1) {  // HDP_FLUSH: request and done registers, as byte addresses.
    gpu_->registers().Write(p[2] / 4, p[3]);
    value = gpu_->registers().Read(p[1] / 4);
    what = absl::StrFormat("register 0x%x", p[1] / 4);
  } else {
    value = gpu_->registers().Read(p[1] / 4);
    what = absl::StrFormat("register 0x%x", p[1] / 4);
  }
  if (Compare(function, value & p[4], p[3])) return Outcome();
  return Outcome{.kind = Outcome::Kind::kWait,
                 .reason = absl::StrFormat("%s & 0x%x is 0x%x, waits for %s 0x%x", what, p[4],
                                           value & p[4], kComparisons[function], p[3])};
}

absl::StatusOr<Outcome> SdmaProcessor::Atomic(absl::Span<const uint32_t> p) {
  uint32_t op = p[0] >> 25;
  uint64_t compare = Address(p, 5);
  absl::StatusOr<uint64_t> old = AtomicOnMemory(gpu_, op, Address(p, 1), Address(p, 3), compare);
  if (!old.ok()) return old.status();
  if (!(op >> 5 & 1)) compare &= 0xffffffff;
  if ((p[0] >> 16 & 1) && IsCompareSwap(op) && *old != compare) {
    return Outcome{.kind = Outcome::Kind::kWait,
                   .reason = absl::StrFormat("memory 0x%x is 0x%x, a compare-and-swap waits for "
                                             "0x%x",
                                             Address(p, 1), *old, compare)};
  }
  return Outcome();
}

absl::StatusOr<Outcome> SdmaProcessor::Execute(absl::Span<const uint32_t> p) {
  gpu_->clock().Advance(1);
  absl::Status status;
  switch (p[0] & 0xff) {
    case kCopy:
      return Copy(p);
    case kWrite:
      status = gpu_->Write(Address(p, 1), p.data() + 4, (p.size() - 4) * 4, 4);
      break;
    case kIndirect:
      if (Address(p, 1) % 32 != 0) {
        return absl::InvalidArgumentError(
            absl::StrFormat("SDMA indirect buffer at 0x%x: not a multiple of 32", Address(p, 1)));
      }
      return Outcome{
          .kind = Outcome::Kind::kCall, .address = Address(p, 1), .dwords = p[3] & 0xfffff};
    case kFence:
      status = gpu_->Write32(Address(p, 1), p[3]);
      break;
    case kTrap:
      gpu_->Interrupt(p[1] & 0xfffffff);
      break;
    case kPollRegmem:
      return Poll(p);
    case kAtomic:
      return Atomic(p);
    case kConstFill:
      return Fill(p);
    case kTimestamp:
      status = gpu_->Write64(Address(p, 1), gpu_->clock().Read());
      break;
    default:  // NOP, and GCR: memory has no caches.
      break;
  }
  if (!status.ok()) return status;
  return Outcome();
}

}  // namespace tg::amd::sim
