// The 64 bytes that tell an AMD GPU's command processor how to start a kernel, and the description
// they are made from. Layouts: LLVM 22, User Guide for AMDGPU Backend, "Kernel Descriptor".
#ifndef TG_CODEGEN_OBJECT_AMD_KERNEL_DESCRIPTOR_H_
#define TG_CODEGEN_OBJECT_AMD_KERNEL_DESCRIPTOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/object/amd_processor.h"

namespace tg::object {

// As it lies in memory, little-endian, aligned to 64 bytes.
struct AmdKernelDescriptor {
  uint32_t group_segment_fixed_size = 0;    // Bytes of LDS.
  uint32_t private_segment_fixed_size = 0;  // Bytes of scratch for one work-item.
  uint32_t kernarg_size = 0;                // Bytes.
  uint8_t reserved0[4] = {};
  int64_t kernel_code_entry_byte_offset = 0;  // From the descriptor to the first instruction.
  uint8_t reserved1[20] = {};
  uint32_t compute_pgm_rsrc3 = 0;
  uint32_t compute_pgm_rsrc1 = 0;
  uint32_t compute_pgm_rsrc2 = 0;
  uint16_t kernel_code_properties = 0;
  uint16_t kernarg_preload = 0;
  uint8_t reserved3[4] = {};
};
static_assert(sizeof(AmdKernelDescriptor) == 64);
static_assert(offsetof(AmdKernelDescriptor, kernel_code_entry_byte_offset) == 16);
static_assert(offsetof(AmdKernelDescriptor, compute_pgm_rsrc3) == 44);
static_assert(offsetof(AmdKernelDescriptor, kernarg_preload) == 58);

// What a kernel needs, under the names that assemblers know with `.amdhsa_` before them. Values
// that a processor does not have must keep their default.
struct AmdKernelDescription {
  uint32_t group_segment_fixed_size = 0;
  uint32_t private_segment_fixed_size = 0;
  uint32_t kernarg_size = 0;

  // Vector registers: the highest number used, plus one. On CDNA accumulation registers follow the
  // others: accum_offset (a multiple of 4, at most 256) plus their number.
  uint32_t next_free_vgpr = 0;
  uint32_t accum_offset = 0;
  uint32_t next_free_sgpr = 0;      // Without VCC.
  uint32_t reserve_vcc = 1;         // Without effect, likewise.
  uint32_t reserve_xnack_mask = 0;  // Without effect: CDNA always allocates it.

  // Scalar registers that are set before the kernel starts. Count unset: those asked for below.
  std::optional<uint32_t> user_sgpr_count;
  uint32_t user_sgpr_dispatch_ptr = 0;
  uint32_t user_sgpr_queue_ptr = 0;
  uint32_t user_sgpr_kernarg_segment_ptr = 0;
  uint32_t user_sgpr_dispatch_id = 0;
  uint32_t user_sgpr_private_segment_size = 0;
  uint32_t user_sgpr_kernarg_preload_length = 0;  // 32-bit words.
  uint32_t user_sgpr_kernarg_preload_offset = 0;
  uint32_t enable_private_segment = 0;
  uint32_t system_sgpr_workgroup_id_x = 1;
  uint32_t system_sgpr_workgroup_id_y = 0;
  uint32_t system_sgpr_workgroup_id_z = 0;
  uint32_t system_sgpr_workgroup_info = 0;
  uint32_t system_vgpr_workitem_id = 0;  // 0: x; 1: and y; 2: and z.

  std::optional<uint32_t> wavefront_size32;  // Unset: 1 on RDNA.
  uint32_t uses_dynamic_stack = 0;

  uint32_t float_round_mode_32 = 0;
  uint32_t float_round_mode_16_64 = 0;
  uint32_t float_denorm_mode_32 = 0;
  uint32_t float_denorm_mode_16_64 = 3;
  uint32_t dx10_clamp = 1;
  uint32_t ieee_mode = 1;
  uint32_t fp16_overflow = 0;
  uint32_t tg_split = 0;
  uint32_t workgroup_processor_mode = 1;
  uint32_t memory_ordered = 1;
  uint32_t forward_progress = 1;
  uint32_t shared_vgpr_count = 0;
  uint32_t inst_pref_size = 0;
  uint32_t round_robin_scheduling = 0;
  uint32_t exception_fp_ieee_invalid_op = 0;
  uint32_t exception_fp_denorm_src = 0;
  uint32_t exception_fp_ieee_div_zero = 0;
  uint32_t exception_fp_ieee_overflow = 0;
  uint32_t exception_fp_ieee_underflow = 0;
  uint32_t exception_fp_ieee_inexact = 0;
  uint32_t exception_int_div_zero = 0;
};

// Sets one value by the name that it has above. NotFound when `processor` has none of that name,
// OutOfRange when the value does not fit.
absl::Status SetAmdKernelValue(const AmdProcessor& processor, absl::string_view name,
                               uint64_t value, AmdKernelDescription* description);

// The descriptor, but for the code's offset. InvalidArgument or OutOfRange names the value that is
// wrong; Unimplemented where the processor's family is not known.
absl::StatusOr<AmdKernelDescriptor> MakeAmdKernelDescriptor(
    const AmdProcessor& processor, const AmdKernelDescription& description);

// A descriptor's values by name, in the order of the registers, without the code's offset; vgprs
// and sgprs are the number that is allocated. Names and bits that are reserved or of another
// processor are left out.
std::vector<std::pair<absl::string_view, uint64_t>> AmdKernelValues(
    const AmdProcessor& processor, const AmdKernelDescriptor& descriptor);

}  // namespace tg::object

#endif  // TG_CODEGEN_OBJECT_AMD_KERNEL_DESCRIPTOR_H_
