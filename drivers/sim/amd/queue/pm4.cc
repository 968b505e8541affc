#include "drivers/sim/amd/queue/pm4.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drivers/sim/amd/queue/atomic_op.h"
#include "drivers/sim/amd/queue/compute_registers.h"

namespace tg::amd::sim {
namespace {

enum Opcode : uint32_t {
  kNop = 0x10,
  kDispatchDirect = 0x15,
  kDispatchIndirect = 0x16,
  kAtomicMem = 0x1e,
  kPredExec = 0x23,
  kWriteData = 0x37,
  kWaitRegMem = 0x3c,
  kIndirectBuffer = 0x3f,
  kCopyData = 0x40,
  kEventWrite = 0x46,
  kReleaseMem = 0x49,
  kAcquireMem = 0x58,
  kSetShReg = 0x76,
  kSetUconfigReg = 0x79,
};

// A NOP of this count has no body: one dword of padding.
constexpr uint32_t kPadCount = 0x3fff;

// Register apertures, by dword address.
constexpr uint32_t kShStart = 0x2c00, kShEnd = 0x3000;
constexpr uint32_t kUconfigStart = 0xc000, kUconfigEnd = 0x10000;

uint64_t Address(absl::Span<const uint32_t> p, int at) {
  return p[at] | static_cast<uint64_t>(p[at + 1]) << 32;
}

absl::Status NotModelled(absl::string_view packet, absl::string_view field, uint64_t value) {
  return absl::UnimplementedError(
      absl::StrFormat("%s: %s %u is not modelled", packet, field, value));
}

// How many dwords the body of a packet may have.
absl::Status CheckSize(Isa isa, uint32_t op, size_t body) {
  struct Range {
    size_t low, high;
  };
  Range r = {0, kPadCount};
  switch (op) {
    case kDispatchDirect:
      r = {4, 4};
      break;
    case kDispatchIndirect:
    case kIndirectBuffer:
      r = {3, 3};
      break;
    case kAtomicMem:
      r = {8, 8};
      break;
    case kPredExec:
      r = {1, 1};
      break;
    case kWriteData:
      r.low = 4;
      break;
    case kWaitRegMem:
      r = {6, 6};
      break;
    case kCopyData:
      r = {5, 5};
      break;
    case kEventWrite:
      r = {1, 1};
      break;
    case kReleaseMem:
      r = {7, 7};
      break;
    case kAcquireMem:  // GCR_CNTL is a word of its own since gfx10.
      r = IsCdna(isa) ? Range{6, 6} : Range{7, 7};
      break;
    case kSetShReg:
    case kSetUconfigReg:
      r.low = 2;
      break;
    default:
      break;
  }
  if (body >= r.low && body <= r.high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("PM4 packet 0x%02x with a body of %u dwords, expected %u%s", op, body, r.low,
                      r.low == r.high ? "" : " or more"));
}

}  // namespace

absl::StatusOr<uint32_t> Pm4Processor::Length(uint32_t header) {
  uint32_t type = header >> 30, count = header >> 16 & 0x3fff;
  if (type == 2) return 1;  // Filler.
  if (type != 3) return absl::InvalidArgumentError(absl::StrCat("PM4 packet of type ", type));
  if ((header >> 8 & 0xff) == kNop && count == kPadCount) return 1;
  return count + 2;
}

absl::StatusOr<Outcome> Pm4Processor::DispatchPacket(const uint32_t dim[3], uint32_t initiator) {
  absl::StatusOr<Dispatch> dispatch = DispatchOfRegisters(gpu_, dim, initiator);
  if (!dispatch.ok()) return dispatch.status();
  for (uint32_t n : dispatch->grid) {
    if (n == 0) return Outcome();
  }
  absl::Status status = gpu_->Run(*dispatch);
  if (!status.ok()) return status;
  return Outcome();
}

absl::StatusOr<Outcome> Pm4Processor::WaitRegMem(absl::Span<const uint32_t> p) {
  uint32_t function = p[1] & 7, space = p[1] >> 4 & 3, operation = p[1] >> 6 & 3;
  if (function == 7) return NotModelled("WAIT_REG_MEM", "function", function);
  if (space > 1) return NotModelled("WAIT_REG_MEM", "mem_space", space);
  uint32_t value;
  std::string what;
  if (operation == 1) {  // Writes the reference to the first register, waits for the second.
    if (space != 0) return NotModelled("WAIT_REG_MEM", "operation on memory", operation);
    gpu_->registers().Write(p[2] & 0x3ffff, p[4]);
    value = gpu_->registers().Read(p[3] & 0x3ffff);
    what = absl::StrFormat("register 0x%x", p[3] & 0x3ffff);
  } else if (operation == 2) {
    return NotModelled("WAIT_REG_MEM", "operation", operation);
  } else if (space == 1) {
    absl::StatusOr<uint32_t> read = gpu_->Read32(Address(p, 2));
    if (!read.ok()) return read.status();
    value = *read;
    what = absl::StrFormat("memory 0x%x", Address(p, 2));
  } else {
    value = gpu_->registers().Read(p[2] & 0x3ffff);
    what = absl::StrFormat("register 0x%x", p[2] & 0x3ffff);
  }
  if (Compare(function, value & p[5], p[4])) return Outcome();
  return Outcome{.kind = Outcome::Kind::kWait,
                 .reason = absl::StrFormat("%s & 0x%x is 0x%x, waits for %s 0x%x", what, p[5],
                                           value & p[5], kComparisons[function], p[4])};
}

absl::StatusOr<Outcome> Pm4Processor::WriteData(absl::Span<const uint32_t> p) {
  uint32_t target = p[1] >> 8 & 15;
  bool increment = !(p[1] >> 16 & 1);
  absl::Span<const uint32_t> data = p.subspan(4);
  if (target == 0) {
    for (size_t i = 0; i < data.size(); ++i) {
      gpu_->registers().Write((p[2] + (increment ? static_cast<uint32_t>(i) : 0)) & 0x3ffff,
                              data[i]);
    }
    return Outcome();
  }
  if (target != 2 && target != 5) return NotModelled("WRITE_DATA", "dst_sel", target);
  absl::Status status;
  if (increment) {
    status = gpu_->Write(Address(p, 2), data.data(), data.size() * 4, 4);
  } else {
    status = gpu_->Write32(Address(p, 2), data.back());
  }
  if (!status.ok()) return status;
  return Outcome();
}

absl::StatusOr<Outcome> Pm4Processor::CopyData(absl::Span<const uint32_t> p) {
  uint32_t source = p[1] & 15, target = p[1] >> 8 & 15;
  bool wide = p[1] >> 16 & 1;
  uint64_t value;
  switch (source) {
    case 0:    // Register.
    case 4: {  // Performance counter: a register that reads its accumulated value.
      value = gpu_->registers().Read(p[2] & 0x3ffff);
      if (wide) {
        value |= static_cast<uint64_t>(gpu_->registers().Read((p[2] + 1) & 0x3ffff)) << 32;
      }
      break;
    }
    case 1:
    case 2: {  // Memory, L2.
      absl::StatusOr<uint64_t> read =
          wide ? gpu_->Read64(Address(p, 2)) : absl::StatusOr<uint64_t>(0);
      if (!wide) {
        absl::StatusOr<uint32_t> narrow = gpu_->Read32(Address(p, 2));
        if (!narrow.ok()) return narrow.status();
        read = *narrow;
      }
      if (!read.ok()) return read.status();
      value = *read;
      break;
    }
    case 5:  // Immediate.
      value = Address(p, 2);
      break;
    case 9:  // GPU clock.
      value = gpu_->clock().Read();
      break;
    default:
      return NotModelled("COPY_DATA", "src_sel", source);
  }
  switch (target) {
    case 0:
      gpu_->registers().Write(p[4] & 0x3ffff, static_cast<uint32_t>(value));
      if (wide) {
        gpu_->registers().Write((p[4] + 1) & 0x3ffff, static_cast<uint32_t>(value >> 32));
      }
      return Outcome();
    case 1:
    case 2:
    case 5: {
      absl::Status status = wide ? gpu_->Write64(Address(p, 4), value)
                                 : gpu_->Write32(Address(p, 4), static_cast<uint32_t>(value));
      if (!status.ok()) return status;
      return Outcome();
    }
    default:
      return NotModelled("COPY_DATA", "dst_sel", target);
  }
}

absl::StatusOr<Outcome> Pm4Processor::ReleaseMem(absl::Span<const uint32_t> p) {
  uint32_t event = p[1] & 0x3f, index = p[1] >> 8 & 15;
  uint32_t data = p[2] >> 29, interrupt = p[2] >> 24 & 7, target = p[2] >> 16 & 3;
  // CACHE_FLUSH_AND_INV_TS_EVENT and BOTTOM_OF_PIPE_TS, at the end of the pipe.
  if (event != 0x14 && event != 0x28) return NotModelled("RELEASE_MEM", "event_type", event);
  if (index != 5) return NotModelled("RELEASE_MEM", "event_index", index);
  if (target > 1) return NotModelled("RELEASE_MEM", "dst_sel", target);
  if (interrupt > 3) return NotModelled("RELEASE_MEM", "int_sel", interrupt);
  uint64_t address = Address(p, 3);
  absl::Status status;
  switch (data) {
    case 0:
      break;
    case 1:
      status = gpu_->Write32(address, p[5]);
      break;
    case 2:
      status = gpu_->Write64(address, Address(p, 5));
      break;
    case 3:
      status = gpu_->Write64(address, gpu_->clock().Read());
      break;
    default:
      return NotModelled("RELEASE_MEM", "data_sel", data);
  }
  if (!status.ok()) return status;
  if (interrupt == 1 || interrupt == 2) gpu_->Interrupt(p[7] & 0xfffffff);
  return Outcome();
}

absl::StatusOr<Outcome> Pm4Processor::AtomicMem(absl::Span<const uint32_t> p) {
  uint32_t op = p[1] & 0x7f, command = p[1] >> 8 & 15;
  if (command > 1) return NotModelled("ATOMIC_MEM", "command", command);
  absl::StatusOr<uint64_t> old =
      AtomicOnMemory(gpu_, op, Address(p, 2), Address(p, 4), Address(p, 6));
  if (!old.ok()) return old.status();
  uint64_t compare = Address(p, 6);
  if (!(op >> 5 & 1)) compare &= 0xffffffff;
  if (command == 1 && IsCompareSwap(op) && *old != compare) {  // Loops until it compares.
    return Outcome{.kind = Outcome::Kind::kWait,
                   .reason = absl::StrFormat("memory 0x%x is 0x%x, a compare-and-swap waits for "
                                             "0x%x",
                                             Address(p, 2), *old, compare)};
  }
  return Outcome();
}

absl::StatusOr<Outcome> Pm4Processor::EventWrite(absl::Span<const uint32_t> p) {
  // CACHE_FLUSH, CS_PARTIAL_FLUSH, CACHE_FLUSH_AND_INV_EVENT: all work before is done already.
  uint32_t event = p[1] & 0x3f;
  if (event != 6 && event != 7 && event != 0x16) {
    return NotModelled("EVENT_WRITE", "event_type", event);
  }
  return Outcome();
}

absl::StatusOr<Outcome> Pm4Processor::SetRegisters(absl::Span<const uint32_t> p, uint32_t start,
                                                   uint32_t end) {
  uint32_t first = start + (p[1] & 0xffff);
  uint64_t count = p.size() - 2;
  if (first + count > end) {
    return absl::InvalidArgumentError(
        absl::StrFormat("registers 0x%x and %u more: the aperture is 0x%x to 0x%x", first,
                        count - 1, start, end - 1));
  }
  for (uint32_t i = 0; i < count; ++i) gpu_->registers().Write(first + i, p[2 + i]);
  return Outcome();
}

absl::StatusOr<Outcome> Pm4Processor::Execute(absl::Span<const uint32_t> p) {
  gpu_->clock().Advance(1);
  if (p.size() == 1) return Outcome();  // Filler and padding.
  uint32_t op = p[0] >> 8 & 0xff;
  absl::Status size = CheckSize(gpu_->isa(), op, p.size() - 1);
  if (!size.ok()) return size;
  switch (op) {
    case kNop:
    case kAcquireMem:
      return Outcome();
    case kDispatchDirect:
      return DispatchPacket(&p[1], p[4]);
    case kDispatchIndirect: {
      uint32_t dim[3];
      absl::Status status = gpu_->Read(Address(p, 1), dim, sizeof(dim), 4);
      if (!status.ok()) return status;
      return DispatchPacket(dim, p[3]);
    }
    case kAtomicMem:
      return AtomicMem(p);
    case kPredExec:
      // DEVICE_SELECT has a bit for each XCC; there is one here.
      if (p[1] >> 24 & 1) return Outcome();
      return Outcome{.kind = Outcome::Kind::kSkip, .dwords = p[1] & 0x3fff};
    case kWriteData:
      return WriteData(p);
    case kWaitRegMem:
      return WaitRegMem(p);
    case kIndirectBuffer: {
      if ((p[1] & 3) != 0) return NotModelled("INDIRECT_BUFFER", "address modulo 4", p[1] & 3);
      return Outcome{.kind = p[3] >> 20 & 1 ? Outcome::Kind::kChain : Outcome::Kind::kCall,
                     .address = Address(p, 1),
                     .dwords = p[3] & 0xfffff};
    }
    case kCopyData:
      return CopyData(p);
    case kEventWrite:
      return EventWrite(p);
    case kReleaseMem:
      return ReleaseMem(p);
    case kSetShReg:
      return SetRegisters(p, kShStart, kShEnd);
    case kSetUconfigReg:
      return SetRegisters(p, kUconfigStart, kUconfigEnd);
    default:
      return absl::UnimplementedError(absl::StrFormat("unknown PM4 packet 0x%02x", op));
  }
}

}  // namespace tg::amd::sim
