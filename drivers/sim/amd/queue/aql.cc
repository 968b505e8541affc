#include "drivers/sim/amd/queue/aql.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "codegen/object/amd_kernel_descriptor.h"
#include "drivers/sim/amd/queue/compute_registers.h"
#include "drivers/sim/amd/queue/pm4.h"

namespace tg::amd::sim {
namespace {

// KERNEL_CODE_PROPERTIES of a kernel descriptor.
constexpr uint32_t kPrivateSegmentBuffer = 1 << 0, kDispatchPtr = 1 << 1, kQueuePtr = 1 << 2,
                   kKernargSegmentPtr = 1 << 3, kDispatchId = 1 << 4, kFlatScratchInit = 1 << 5,
                   kPrivateSegmentSize = 1 << 6, kWavefrontSize32 = 1 << 10;
// Code that preloads arguments starts with 256 bytes that do it for firmware which cannot.
constexpr uint64_t kPreloadProlog = 256;
constexpr uint32_t kProfiling = 1 << 3;  // Of queue_properties.

}  // namespace

absl::Status AqlProcessor::DispatchKernel(const AqlPacket& packet, uint64_t address) {
  if (packet.kernel_object % 64 != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("kernel_object 0x%x is not a multiple of 64", packet.kernel_object));
  }
  object::AmdKernelDescriptor k;
  absl::Status status = gpu_->Read(packet.kernel_object, &k, sizeof(k));
  if (!status.ok()) return status;
  Dispatch d;
  d.arch = gpu_->arch();
  d.entry = packet.kernel_object + static_cast<uint64_t>(k.kernel_code_entry_byte_offset);
  d.rsrc1 = k.compute_pgm_rsrc1;
  d.rsrc2 = k.compute_pgm_rsrc2;
  d.rsrc3 = k.compute_pgm_rsrc3;
  d.wave32 = IsRdna(gpu_->isa()) && (k.kernel_code_properties & kWavefrontSize32);
  uint32_t dimensions = packet.setup & 3;
  if (dimensions == 0) return absl::InvalidArgumentError("AQL dispatch of 0 dimensions");
  for (uint32_t i = 0; i < 3; ++i) {
    d.block[i] = i < dimensions ? packet.workgroup_size[i] : 1;
    d.grid[i] = i < dimensions ? packet.grid_size[i] : 1;
  }
  if (packet.group_segment_size < k.group_segment_fixed_size) {
    return absl::InvalidArgumentError(
        absl::StrFormat("AQL dispatch: group_segment_size %u, but the kernel needs %u",
                        packet.group_segment_size, k.group_segment_fixed_size));
  }
  d.lds_bytes = packet.group_segment_size;
  d.scratch_bytes = packet.private_segment_size;

  std::array<uint32_t, 4> scratch_descriptor{};
  if (d.scratch_bytes > 0 || (k.kernel_code_properties & kPrivateSegmentBuffer)) {
    uint32_t tmpring;
    status = gpu_->Read(amd_queue_ + kAmdQueueTmpringSize, &tmpring, 4);
    if (status.ok()) {
      status = gpu_->Read(amd_queue_ + kAmdQueueScratchDescriptor, scratch_descriptor.data(), 16);
    }
    if (!status.ok()) return status;
    uint64_t wanted = static_cast<uint64_t>(d.scratch_bytes) * (d.wave32 ? 32 : 64);
    uint64_t there = ScratchBytesOfWave(gpu_->isa(), tmpring);
    // Silicon would ask the runtime for more through queue_inactive_signal.
    if (wanted > there) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "AQL dispatch: a wave needs %u bytes of scratch, the queue has %u; growing it on demand "
          "is not modelled",
          wanted, there));
    }
  }

  uint32_t n = 0;
  auto put = [&](uint64_t value, int dwords) {
    for (int i = 0; i < dwords && n < d.user_sgprs.size(); ++i) {
      d.user_sgprs[n++] = static_cast<uint32_t>(value >> (32 * i));
    }
  };
  uint32_t properties = k.kernel_code_properties;
  if (properties & kPrivateSegmentBuffer) {
    for (uint32_t word : scratch_descriptor) put(word, 1);
  }
  if (properties & kDispatchPtr) put(address, 2);
  if (properties & kQueuePtr) put(amd_queue_, 2);
  if (properties & kKernargSegmentPtr) put(packet.kernarg_address, 2);
  if (properties & kDispatchId) {
    absl::StatusOr<uint64_t> id = gpu_->Read64(amd_queue_ + kAmdQueueReadDispatchId);
    if (!id.ok()) return id.status();
    put(*id, 2);
  }
  if (properties & kFlatScratchInit) put(0, 2);  // Scratch is no memory here.
  if (properties & kPrivateSegmentSize) put(d.scratch_bytes, 1);
  uint32_t preload = k.kernarg_preload & 0x7f, offset = k.kernarg_preload >> 7;
  for (uint32_t i = 0; i < preload && n < d.user_sgprs.size(); ++i) {
    absl::StatusOr<uint32_t> word = gpu_->Read32(packet.kernarg_address + 4 * (offset + i));
    if (!word.ok()) return word.status();
    put(*word, 1);
  }
  if (preload > 0) d.entry += kPreloadProlog;
  return gpu_->Run(d);
}

absl::StatusOr<Outcome> AqlProcessor::Barrier(const AqlPacket& packet) {
  uint64_t signals[5];
  std::memcpy(signals, reinterpret_cast<const uint8_t*>(&packet) + 8, sizeof(signals));
  bool all = true, any = false, none = true;
  std::string reason;
  for (uint64_t signal : signals) {
    if (signal == 0) continue;
    none = false;
    absl::StatusOr<uint64_t> value = gpu_->Read64(signal + offsetof(AqlSignal, value));
    if (!value.ok()) return value.status();
    all &= *value == 0;
    any |= *value == 0;
    if (*value != 0) {
      absl::StrAppendFormat(&reason, "%ssignal 0x%x is %d", reason.empty() ? "" : ", ", signal,
                            static_cast<int64_t>(*value));
    }
  }
  // An or of nothing is met, too (HSA 1.2, 2.9.7).
  if (none || (packet.type() == AqlType::kBarrierAnd ? all : any)) return Outcome();
  return Outcome{.kind = Outcome::Kind::kWait, .reason = reason + "; waits for 0"};
}

absl::StatusOr<Outcome> AqlProcessor::Execute(const AqlPacket& packet, uint64_t address) {
  gpu_->clock().Advance(1);
  switch (packet.type()) {
    case AqlType::kKernelDispatch: {
      uint64_t start = gpu_->clock().Read();
      absl::Status status = DispatchKernel(packet, address);
      if (!status.ok()) return status;
      uint64_t end = gpu_->clock().Read();
      uint32_t properties = 0;
      status = gpu_->Read(amd_queue_ + kAmdQueueProperties, &properties, 4);
      if (!status.ok()) return status;
      if ((properties & kProfiling) && packet.completion_signal != 0) {
        status = gpu_->Write64(packet.completion_signal + offsetof(AqlSignal, start_ts), start);
        if (status.ok()) {
          status = gpu_->Write64(packet.completion_signal + offsetof(AqlSignal, end_ts), end);
        }
        if (!status.ok()) return status;
      }
      return Outcome();
    }
    case AqlType::kBarrierAnd:
    case AqlType::kBarrierOr:
      return Barrier(packet);
    case AqlType::kVendorSpecific: {
      // Format 1 wraps an INDIRECT_BUFFER; ten more dwords follow it in the packet.
      uint32_t words[16];
      std::memcpy(words, &packet, sizeof(words));
      if ((words[0] >> 16 & 0xff) != 1 || words[5] != 10) {
        return absl::UnimplementedError(absl::StrFormat(
            "vendor AQL packet of format %u with %u more dwords", words[0] >> 16 & 0xff, words[5]));
      }
      if ((words[1] >> 8 & 0xff) != 0x3f) {
        return absl::UnimplementedError(
            absl::StrFormat("vendor AQL packet with PM4 header 0x%08x", words[1]));
      }
      return Pm4Processor(gpu_).Execute({words + 1, 4});
    }
    default:
      return absl::UnimplementedError(
          absl::StrCat("AQL packet of type ", static_cast<int>(packet.type())));
  }
}

absl::Status AqlProcessor::Complete(const AqlPacket& packet) {
  uint64_t signal = packet.completion_signal;
  if (signal == 0) return absl::OkStatus();
  AqlSignal s;
  absl::Status status = gpu_->Read(signal, &s, sizeof(s), 8);
  if (!status.ok()) return status;
  status = gpu_->Write64(signal + offsetof(AqlSignal, value), static_cast<uint64_t>(s.value) - 1);
  if (!status.ok() || s.event_mailbox_ptr == 0) return status;
  status = gpu_->Write64(s.event_mailbox_ptr, s.event_id);
  if (status.ok()) gpu_->Interrupt(s.event_id);
  return status;
}

}  // namespace tg::amd::sim
