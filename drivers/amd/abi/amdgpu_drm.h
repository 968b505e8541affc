// The one ioctl of AMD render nodes (/dev/dri/renderD128 and on) that compute without graphics
// needs.
//
// Source: Linux 6.12, include/uapi/drm/amdgpu_drm.h. Field names are the kernel's.
#ifndef TG_DRIVERS_AMD_ABI_AMDGPU_DRM_H_
#define TG_DRIVERS_AMD_ABI_AMDGPU_DRM_H_

#include <sys/ioctl.h>

#include <cstddef>
#include <cstdint>

namespace tg::amd::drm {

struct Info {
  uint64_t return_pointer;
  uint32_t return_size, query;
};
static_assert(sizeof(Info) == 16);

inline constexpr unsigned long kIoctlInfo = _IOW('d', 0x45, Info);
static_assert(kIoctlInfo == 0x40106445);
inline constexpr uint32_t kInfoDevInfo = 0x16;

struct InfoDevice {
  uint32_t device_id, chip_rev, external_rev, pci_rev, family;
  uint32_t num_shader_engines, num_shader_arrays_per_engine, gpu_counter_freq;
  uint64_t max_engine_clock, max_memory_clock;
  uint32_t cu_active_number, cu_ao_mask;
  uint32_t cu_bitmap[4][4];  // By shader engine modulo 4; engines from 4 on are in columns 2 and 3.
  uint32_t enabled_rb_pipes_mask, num_rb_pipes, num_hw_gfx_contexts, pcie_gen;
  uint64_t ids_flags, virtual_address_offset, virtual_address_max;
  uint32_t virtual_address_alignment, pte_fragment_size, gart_page_size, ce_ram_size;
  uint32_t vram_type, vram_bit_width, vce_harvest_config, gc_double_offchip_lds_buf;
  uint64_t prim_buf_gpu_addr, pos_buf_gpu_addr, cntl_sb_buf_gpu_addr, param_buf_gpu_addr;
  uint32_t prim_buf_size, pos_buf_size, cntl_sb_buf_size, param_buf_size;
  uint32_t wave_front_size, num_shader_visible_vgprs, num_cu_per_sh, num_tcc_blocks;
  uint32_t gs_vgt_table_depth, gs_prim_buffer_depth, max_gs_waves_per_vgt, pcie_num_lanes;
  uint32_t cu_ao_bitmap[4][4];
  uint64_t high_va_offset, high_va_max;
  uint32_t pa_sc_tile_steering_override;
  uint32_t pad0;
  uint64_t tcc_disabled_mask, min_engine_clock, min_memory_clock;
  uint32_t tcp_cache_size, num_sqc_per_wgp, sqc_data_cache_size, sqc_inst_cache_size;
  uint32_t gl1c_cache_size, gl2c_cache_size;
  uint64_t mall_size;
  uint32_t enabled_rb_pipes_mask_hi, shadow_size, shadow_alignment, csa_size, csa_alignment;
  uint32_t userq_ip_mask;
  uint32_t pad;
  uint32_t pad1;
};
static_assert(sizeof(InfoDevice) == 448);
static_assert(offsetof(InfoDevice, cu_bitmap) == 56);
static_assert(offsetof(InfoDevice, wave_front_size) == 240);
static_assert(offsetof(InfoDevice, high_va_offset) == 336);
static_assert(offsetof(InfoDevice, mall_size) == 408);

}  // namespace tg::amd::drm

#endif  // TG_DRIVERS_AMD_ABI_AMDGPU_DRM_H_
