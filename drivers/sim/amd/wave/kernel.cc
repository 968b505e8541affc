#include "drivers/sim/amd/wave/kernel.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "drivers/sim/amd/wave/wave.h"

namespace tg::amd::sim {
namespace {

// hsa_kernel_dispatch_packet_t.
struct AqlPacket {
  uint16_t header = 2 | 1 << 9 | 1 << 11;  // Kernel dispatch; acquire and release at agent scope.
  uint16_t setup = 3;                      // Three dimensions.
  uint16_t workgroup_size[3] = {};
  uint16_t reserved0 = 0;
  uint32_t grid_size[3] = {};
  uint32_t private_segment_size = 0;
  uint32_t group_segment_size = 0;
  uint64_t kernel_object = 0;
  uint64_t kernarg_address = 0;
  uint64_t reserved2 = 0;
  uint64_t completion_signal = 0;
};
static_assert(sizeof(AqlPacket) == 64);

// A hidden argument's value by its kind; those that only runtimes with a host service need stay 0.
std::optional<uint64_t> HiddenValue(absl::string_view kind, const KernelArguments& a) {
  static constexpr absl::string_view kAxes = "xyz";
  size_t axis = kAxes.find(kind.empty() ? ' ' : kind.back());
  if (axis != absl::string_view::npos) {
    absl::string_view what = kind.substr(0, kind.size() - 1);
    if (what == "hidden_block_count_") return a.grid[axis] / a.block[axis];
    if (what == "hidden_group_size_") return a.block[axis];
    if (what == "hidden_remainder_") return a.grid[axis] % a.block[axis];
    if (what == "hidden_global_offset_") return 0;
  }
  if (kind == "hidden_grid_dims") return a.grid[2] > 1 ? 3 : a.grid[1] > 1 ? 2 : 1;
  if (kind == "hidden_private_base") return kPrivateAperture;
  if (kind == "hidden_shared_base") return kSharedAperture;
  if (kind == "hidden_dynamic_lds_size") return a.dynamic_lds_bytes;
  return std::nullopt;
}

}  // namespace

absl::StatusOr<LoadedImage> LoadImage(const object::AmdCodeObject& object, Memory* memory) {
  LoadedImage image;
  std::string name(object.processor().name.data(), object.processor().name.size());
  std::optional<Arch> arch = FindArch(std::string_view(name));
  if (!arch.has_value()) return absl::UnimplementedError(absl::StrCat("no simulation of ", name));
  image.arch = *arch;
  // Instruction fetch may run past the end of the code.
  absl::StatusOr<uint64_t> address = memory->Allocate(object.image_size() + 256, "code");
  if (!address.ok()) return address.status();
  image.address = *address;
  absl::StatusOr<std::string> bytes = object.Image(*address);
  if (!bytes.ok()) return bytes.status();
  absl::Status written = memory->Write(*address, bytes->data(), bytes->size());
  if (!written.ok()) return written;
  return image;
}

absl::StatusOr<Dispatch> MakeDispatch(const object::AmdCodeObject& object, absl::string_view name,
                                      const LoadedImage& image, const KernelArguments& a,
                                      Memory* memory) {
  const object::AmdKernel* kernel = object.FindKernel(name);
  if (kernel == nullptr)
    return absl::NotFoundError(absl::StrCat("the code object has no kernel '", name, "'"));
  for (uint32_t b : a.block) {
    if (b == 0) return absl::InvalidArgumentError("a block of no work-items");
  }
  const object::AmdKernelDescriptor& k = kernel->descriptor;
  const object::AmdKernelMetadata* metadata =
      kernel->metadata < 0 ? nullptr : &object.metadata().kernels[kernel->metadata];
  uint64_t kernarg_size =
      std::max<uint64_t>(k.kernarg_size, metadata == nullptr ? 0 : metadata->kernarg_segment_size);
  if (a.explicit_bytes.size() > kernarg_size) {
    return absl::InvalidArgumentError(absl::StrCat(
        a.explicit_bytes.size(), " bytes of arguments; the kernel takes ", kernarg_size));
  }
  std::string kernargs(kernarg_size, '\0');
  std::memcpy(kernargs.data(), a.explicit_bytes.data(), a.explicit_bytes.size());
  for (size_t i = 0; metadata != nullptr && i < metadata->args.size(); ++i) {
    const object::AmdKernelArgument& arg = metadata->args[i];
    std::optional<uint64_t> value = HiddenValue(arg.value_kind, a);
    if (!value.has_value() || arg.size > 8 || arg.offset > kernarg_size ||
        arg.size > kernarg_size - arg.offset)
      continue;
    std::memcpy(kernargs.data() + arg.offset, &*value, arg.size);
  }

  Dispatch d;
  d.arch = image.arch;
  d.entry = image.address + kernel->entry;
  d.rsrc1 = k.compute_pgm_rsrc1;
  d.rsrc2 = k.compute_pgm_rsrc2;
  d.rsrc3 = k.compute_pgm_rsrc3;
  d.wave32 = k.kernel_code_properties >> 10 & 1;
  d.grid = a.grid;
  d.block = a.block;
  d.lds_bytes = k.group_segment_fixed_size + a.dynamic_lds_bytes;
  d.scratch_bytes = k.private_segment_fixed_size;
  // What calls through pointers and recursion take is not known beforehand.
  if (k.kernel_code_properties >> 11 & 1)
    d.scratch_bytes = std::max<uint32_t>(d.scratch_bytes, 16 << 10);

  AqlPacket packet;
  for (int i = 0; i < 3; ++i) {
    packet.workgroup_size[i] = static_cast<uint16_t>(a.block[i]);
    packet.grid_size[i] = a.grid[i];
  }
  packet.private_segment_size = d.scratch_bytes;
  packet.group_segment_size = d.lds_bytes;
  packet.kernel_object = image.address + kernel->descriptor_address;
  constexpr uint64_t kKernargs = 64;
  absl::StatusOr<uint64_t> block =
      memory->Allocate(kKernargs + std::max<uint64_t>(kernarg_size, 4), "kernel arguments");
  if (!block.ok()) return block.status();
  packet.kernarg_address = *block + kKernargs;
  absl::Status status = memory->Write(*block, &packet, sizeof(packet));
  if (status.ok()) status = memory->Write(packet.kernarg_address, kernargs.data(), kernargs.size());
  if (!status.ok()) return status;

  uint32_t n = 0;
  auto put = [&](uint64_t value, int dwords) {
    for (int i = 0; i < dwords && n < d.user_sgprs.size(); ++i) {
      d.user_sgprs[n++] = static_cast<uint32_t>(value >> (32 * i));
    }
  };
  uint32_t properties = k.kernel_code_properties;
  if (properties & 1) n += 4;  // The scratch descriptor, which no processor here uses.
  if (properties >> 1 & 1) put(*block, 2);
  if (properties >> 2 & 1) put(0, 2);  // No queue.
  if (properties >> 3 & 1) put(packet.kernarg_address, 2);
  if (properties >> 4 & 1) put(1, 2);
  if (properties >> 5 & 1) put(0, 2);
  if (properties >> 6 & 1) put(d.scratch_bytes, 1);
  uint32_t preload = k.kernarg_preload & 0x7f, offset = k.kernarg_preload >> 7;
  for (uint32_t i = 0; i < preload; ++i) {
    uint32_t word = 0;
    if (4 * (offset + i) + 4 <= kernargs.size())
      std::memcpy(&word, kernargs.data() + 4 * (offset + i), 4);
    put(word, 1);
  }
  // Firmware that preloads skips the 256 bytes that do it for older firmware.
  if (preload > 0) d.entry += 256;
  return d;
}

}  // namespace tg::amd::sim
