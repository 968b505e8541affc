// The cards that the simulated kernel driver can have: numbers, and the files in which Linux shows
// them.
//
// Sources: Linux 6.12, drivers/gpu/drm/amd/amdkfd/kfd_topology.c (names of properties),
// kfd_queue.c (kfd_queue_ctx_save_restore_size), drivers/gpu/drm/amd/amdgpu/amdgpu_discovery.c
// (ip_discovery). The counts are those of the cards' data sheets.
#ifndef TG_DRIVERS_SIM_AMD_KFD_GPU_MODEL_H_
#define TG_DRIVERS_SIM_AMD_KFD_GPU_MODEL_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "codegen/isa/amd/arch.h"

namespace tg::amd::sim {

struct IpVersion {
  int major = 0, minor = 0, revision = 0;
};

struct GpuModel {
  Arch arch = Arch::kGfx1100;
  uint32_t device_id = 0;
  uint32_t gfx_target_version = 0;  // 110000: major, minor and stepping with two digits each.
  uint32_t simd_count = 0, simd_per_cu = 0;
  uint32_t array_count = 0, simd_arrays_per_engine = 0, cu_per_simd_array = 0;
  uint32_t max_waves_per_simd = 0, wave_front_size = 0, lds_size_in_kb = 0;
  uint32_t num_sdma_engines = 0, num_sdma_queues_per_engine = 0;
  uint32_t max_engine_clk_mhz = 0;
  uint64_t vram_bytes = 0;
  IpVersion gc, sdma, nbif;

  uint32_t cus() const { return simd_count / simd_per_cu; }
  uint32_t engines() const { return array_count / simd_arrays_per_engine; }
};

// gfx1100, gfx1201, gfx942 and gfx950. The last two are one XCC of their cards, as CPX mode shows
// them: several XCCs behind one node are not modelled.
std::optional<GpuModel> FindGpuModel(Arch arch);

// What the kernel wants a compute queue's context save area to have, in bytes.
struct ContextSaveSizes {
  uint32_t ctl_stack = 0;  // CREATE_QUEUE's ctl_stack_size, exactly.
  uint32_t cwsr = 0;       // ctx_save_restore_size, at least.
  uint32_t debug = 0;      // More, behind it: the area is cwsr + debug, rounded up to a page.
  uint32_t eop_buffer = 4096;
};
ContextSaveSizes ContextSaveSizesOf(const GpuModel& model);

// Where a card stands among others.
struct GpuPlace {
  uint32_t gpu_id = 0;
  int node = 1;            // Of the topology; 0 is the CPU.
  int render_minor = 128;  // /dev/dri/renderD128.
  int gpus = 1;            // In all: each has links to the CPU and to the others.
};

// Text by path, of a card and of the machine around `gpus` of them.
using FileTree = std::map<std::string, std::string>;
void AddGpuFiles(const GpuModel& model, const GpuPlace& place, FileTree* files);
void AddMachineFiles(int gpus, FileTree* files);

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_KFD_GPU_MODEL_H_
