#include "drivers/sim/amd/wave/aliases.h"

namespace tg::amd::sim {
namespace {

constexpr Alias kAliases[] = {
    // Scalar: CDNA's and RDNA 4's names for RDNA 3's.
    {"s_add_co_u32", "s_add_u32"},
    {"s_sub_co_u32", "s_sub_u32"},
    {"s_add_co_i32", "s_add_i32"},
    {"s_sub_co_i32", "s_sub_i32"},
    {"s_add_co_ci_u32", "s_addc_u32"},
    {"s_sub_co_ci_u32", "s_subb_u32"},
    {"s_addk_co_i32", "s_addk_i32"},
    {"s_andn2_b32", "s_and_not1_b32"},
    {"s_andn2_b64", "s_and_not1_b64"},
    {"s_orn2_b32", "s_or_not1_b32"},
    {"s_orn2_b64", "s_or_not1_b64"},
    {"s_andn1_saveexec_b64", "s_and_not0_saveexec_b64"},
    {"s_andn2_saveexec_b64", "s_and_not1_saveexec_b64"},
    {"s_orn1_saveexec_b64", "s_or_not0_saveexec_b64"},
    {"s_orn2_saveexec_b64", "s_or_not1_saveexec_b64"},
    {"s_andn1_wrexec_b64", "s_and_not0_wrexec_b64"},
    {"s_andn2_wrexec_b64", "s_and_not1_wrexec_b64"},
    {"s_ff1_i32_b32", "s_ctz_i32_b32"},
    {"s_ff1_i32_b64", "s_ctz_i32_b64"},
    {"s_flbit_i32_b32", "s_clz_i32_u32"},
    {"s_flbit_i32_b64", "s_clz_i32_u64"},
    {"s_flbit_i32", "s_cls_i32"},
    {"s_flbit_i32_i64", "s_cls_i32_i64"},
    {"s_min_f32", "s_min_num_f32"},
    {"s_max_f32", "s_max_num_f32"},
    {"s_min_f16", "s_min_num_f16"},
    {"s_max_f16", "s_max_num_f16"},

    // Vector integers.
    {"v_add_u32", "v_add_nc_u32"},
    {"v_sub_u32", "v_sub_nc_u32"},
    {"v_subrev_u32", "v_subrev_nc_u32"},
    {"v_add_i32", "v_add_nc_i32"},
    {"v_sub_i32", "v_sub_nc_i32"},
    {"v_add_u16", "v_add_nc_u16"},
    {"v_sub_u16", "v_sub_nc_u16"},
    {"v_add_i16", "v_add_nc_i16"},
    {"v_sub_i16", "v_sub_nc_i16"},
    {"v_addc_co_u32", "v_add_co_ci_u32"},
    {"v_subb_co_u32", "v_sub_co_ci_u32"},
    {"v_subbrev_co_u32", "v_subrev_co_ci_u32"},
    {"v_mad_legacy_u16", "v_mad_u16"},
    {"v_mad_legacy_i16", "v_mad_i16"},
    {"v_mad_u64_u32", "v_mad_co_u64_u32"},
    {"v_mad_i64_i32", "v_mad_co_i64_i32"},
    {"v_ffbh_u32", "v_clz_i32_u32"},
    {"v_ffbl_b32", "v_ctz_i32_b32"},
    {"v_ffbh_i32", "v_cls_i32"},

    // Vector floats.
    {"v_mul_legacy_f32", "v_mul_dx9_zero_f32"},
    {"v_exp_legacy_f32", "v_exp_f32"},
    {"v_log_legacy_f32", "v_log_f32"},
    {"v_mac_f16", "v_mad_f16"},
    {"v_mad_legacy_f16", "v_mad_f16"},
    {"v_fma_legacy_f16", "v_fma_f16"},
    {"v_div_fixup_legacy_f16", "v_div_fixup_f16"},
    {"v_min_num_f16", "v_min_f16"},
    {"v_max_num_f16", "v_max_f16"},
    {"v_min3_num_f16", "v_min3_f16"},
    {"v_max3_num_f16", "v_max3_f16"},
    {"v_med3_num_f16", "v_med3_f16"},
    {"v_maxmin_num_f16", "v_maxmin_f16"},
    {"v_minmax_num_f16", "v_minmax_f16"},
    {"v_cvt_rpi_i32_f32", "v_cvt_nearest_i32_f32"},
    {"v_cvt_flr_i32_f32", "v_cvt_floor_i32_f32"},
    {"v_cvt_pknorm_i16_f32", "v_cvt_pk_norm_i16_f32"},
    {"v_cvt_pknorm_u16_f32", "v_cvt_pk_norm_u16_f32"},
    {"v_cvt_pknorm_i16_f16", "v_cvt_pk_norm_i16_f16"},
    {"v_cvt_pknorm_u16_f16", "v_cvt_pk_norm_u16_f16"},
    {"v_cvt_pkrtz_f16_f32", "v_cvt_pk_rtz_f16_f32"},

    // LDS.
    {"ds_read2_b32", "ds_load_2addr_b32"},
    {"ds_read2_b64", "ds_load_2addr_b64"},
    {"ds_read2st64_b32", "ds_load_2addr_stride64_b32"},
    {"ds_read2st64_b64", "ds_load_2addr_stride64_b64"},
    {"ds_write2_b32", "ds_store_2addr_b32"},
    {"ds_write2_b64", "ds_store_2addr_b64"},
    {"ds_write2st64_b32", "ds_store_2addr_stride64_b32"},
    {"ds_write2st64_b64", "ds_store_2addr_stride64_b64"},
    {"ds_wrxchg2_rtn_b32", "ds_storexchg_2addr_rtn_b32"},
    {"ds_wrxchg2_rtn_b64", "ds_storexchg_2addr_rtn_b64"},
    {"ds_wrxchg2st64_rtn_b32", "ds_storexchg_2addr_stride64_rtn_b32"},
    {"ds_wrxchg2st64_rtn_b64", "ds_storexchg_2addr_stride64_rtn_b64"},
    {"ds_read_addtid_b32", "ds_load_addtid_b32"},
    {"ds_write_addtid_b32", "ds_store_addtid_b32"},

    // Scalar memory.
    {"s_load_dword", "s_load_b32"},
    {"s_load_dwordx2", "s_load_b64"},
    {"s_load_dwordx4", "s_load_b128"},
    {"s_load_dwordx8", "s_load_b256"},
    {"s_load_dwordx16", "s_load_b512"},
    {"s_buffer_load_dword", "s_buffer_load_b32"},
    {"s_buffer_load_dwordx2", "s_buffer_load_b64"},
    {"s_buffer_load_dwordx4", "s_buffer_load_b128"},
    {"s_buffer_load_dwordx8", "s_buffer_load_b256"},
    {"s_buffer_load_dwordx16", "s_buffer_load_b512"},
};

}  // namespace

absl::Span<const Alias> Aliases() { return kAliases; }

}  // namespace tg::amd::sim
