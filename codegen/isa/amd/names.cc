#include "codegen/isa/amd/names.h"

namespace tg::amd {
namespace {

constexpr Name kHwregGfx11[] = {
    {1, "HW_REG_MODE"},
    {2, "HW_REG_STATUS"},
    {3, "HW_REG_TRAPSTS"},
    {5, "HW_REG_GPR_ALLOC"},
    {6, "HW_REG_LDS_ALLOC"},
    {7, "HW_REG_IB_STS"},
    {15, "HW_REG_SH_MEM_BASES"},
    {18, "HW_REG_PERF_SNAPSHOT_PC_LO"},
    {19, "HW_REG_PERF_SNAPSHOT_PC_HI"},
    {20, "HW_REG_FLAT_SCR_LO"},
    {21, "HW_REG_FLAT_SCR_HI"},
    {23, "HW_REG_HW_ID1"},
    {24, "HW_REG_HW_ID2"},
    {27, "HW_REG_PERF_SNAPSHOT_DATA"},
    {29, "HW_REG_SHADER_CYCLES"},
};

constexpr Name kHwregGfx12[] = {
    {1, "HW_REG_WAVE_MODE"},
    {2, "HW_REG_WAVE_STATUS"},
    {4, "HW_REG_WAVE_STATE_PRIV"},
    {5, "HW_REG_WAVE_GPR_ALLOC"},
    {6, "HW_REG_WAVE_LDS_ALLOC"},
    {7, "HW_REG_IB_STS"},
    {10, "HW_REG_PERF_SNAPSHOT_DATA"},
    {11, "HW_REG_PERF_SNAPSHOT_PC_LO"},
    {12, "HW_REG_PERF_SNAPSHOT_PC_HI"},
    {15, "HW_REG_PERF_SNAPSHOT_DATA1"},
    {16, "HW_REG_PERF_SNAPSHOT_DATA2"},
    {17, "HW_REG_WAVE_EXCP_FLAG_PRIV"},
    {18, "HW_REG_WAVE_EXCP_FLAG_USER"},
    {19, "HW_REG_WAVE_TRAP_CTRL"},
    {20, "HW_REG_WAVE_SCRATCH_BASE_LO"},
    {21, "HW_REG_WAVE_SCRATCH_BASE_HI"},
    {23, "HW_REG_WAVE_HW_ID1"},
    {24, "HW_REG_WAVE_HW_ID2"},
    {26, "HW_REG_WAVE_SCHED_MODE"},
    {29, "HW_REG_SHADER_CYCLES_LO"},
    {30, "HW_REG_SHADER_CYCLES_HI"},
    {31, "HW_REG_WAVE_DVGPR_ALLOC_LO"},
    {32, "HW_REG_WAVE_DVGPR_ALLOC_HI"},
};

constexpr Name kHwregCdna[] = {
    {1, "HW_REG_MODE"},
    {2, "HW_REG_STATUS"},
    {3, "HW_REG_TRAPSTS"},
    {4, "HW_REG_HW_ID"},
    {5, "HW_REG_GPR_ALLOC"},
    {6, "HW_REG_LDS_ALLOC"},
    {7, "HW_REG_IB_STS"},
    {15, "HW_REG_SH_MEM_BASES"},
    {16, "HW_REG_TBA_LO"},
    {17, "HW_REG_TBA_HI"},
    {18, "HW_REG_TMA_LO"},
    {19, "HW_REG_TMA_HI"},
    {20, "HW_REG_XCC_ID"},
    {21, "HW_REG_SQ_PERF_SNAPSHOT_DATA"},
    {22, "HW_REG_SQ_PERF_SNAPSHOT_DATA1"},
    {23, "HW_REG_SQ_PERF_SNAPSHOT_PC_LO"},
    {24, "HW_REG_SQ_PERF_SNAPSHOT_PC_HI"},
};

constexpr Name kMessagesGfx11[] = {
    {1, "MSG_INTERRUPT"},           {2, "MSG_HS_TESSFACTOR"},   {3, "MSG_DEALLOC_VGPRS"},
    {5, "MSG_STALL_WAVE_GEN"},      {6, "MSG_HALT_WAVES"},      {9, "MSG_GS_ALLOC_REQ"},
    {128, "MSG_RTN_GET_DOORBELL"},  {129, "MSG_RTN_GET_DDID"},  {130, "MSG_RTN_GET_TMA"},
    {131, "MSG_RTN_GET_REALTIME"},  {132, "MSG_RTN_SAVE_WAVE"}, {133, "MSG_RTN_GET_TBA"},
    {134, "MSG_RTN_GET_TBA_TO_PC"},
};

constexpr Name kMessagesGfx12[] = {
    {1, "MSG_INTERRUPT"},     {2, "MSG_HS_TESSFACTOR"},       {3, "MSG_DEALLOC_VGPRS"},
    {9, "MSG_GS_ALLOC_REQ"},  {128, "MSG_RTN_GET_DOORBELL"},  {129, "MSG_RTN_GET_DDID"},
    {130, "MSG_RTN_GET_TMA"}, {131, "MSG_RTN_GET_REALTIME"},  {132, "MSG_RTN_SAVE_WAVE"},
    {133, "MSG_RTN_GET_TBA"}, {134, "MSG_RTN_GET_TBA_TO_PC"}, {135, "MSG_RTN_GET_SE_AID_ID"},
};

constexpr Name kMessagesCdna[] = {
    {1, "MSG_INTERRUPT"},       {2, "MSG_GS"},
    {3, "MSG_GS_DONE"},         {4, "MSG_SAVEWAVE"},
    {5, "MSG_STALL_WAVE_GEN"},  {6, "MSG_HALT_WAVES"},
    {7, "MSG_ORDERED_PS_DONE"}, {8, "MSG_EARLY_PRIM_DEALLOC"},
    {9, "MSG_GS_ALLOC_REQ"},    {10, "MSG_GET_DOORBELL"},
    {15, "MSG_SYSMSG"},
};

constexpr Name kGsOps[] = {
    {0, "GS_OP_NOP"},
    {1, "GS_OP_CUT"},
    {2, "GS_OP_EMIT"},
    {3, "GS_OP_EMIT_CUT"},
};

constexpr Name kSystemOps[] = {
    {1, "SYSMSG_OP_ECC_ERR_INTERRUPT"},
    {2, "SYSMSG_OP_REG_RD"},
    {4, "SYSMSG_OP_TTRACE_PC"},
};

constexpr Name kBufferFormats[] = {
    {0, "BUF_FMT_INVALID"},
    {1, "BUF_FMT_8_UNORM"},
    {2, "BUF_FMT_8_SNORM"},
    {3, "BUF_FMT_8_USCALED"},
    {4, "BUF_FMT_8_SSCALED"},
    {5, "BUF_FMT_8_UINT"},
    {6, "BUF_FMT_8_SINT"},
    {7, "BUF_FMT_16_UNORM"},
    {8, "BUF_FMT_16_SNORM"},
    {9, "BUF_FMT_16_USCALED"},
    {10, "BUF_FMT_16_SSCALED"},
    {11, "BUF_FMT_16_UINT"},
    {12, "BUF_FMT_16_SINT"},
    {13, "BUF_FMT_16_FLOAT"},
    {14, "BUF_FMT_8_8_UNORM"},
    {15, "BUF_FMT_8_8_SNORM"},
    {16, "BUF_FMT_8_8_USCALED"},
    {17, "BUF_FMT_8_8_SSCALED"},
    {18, "BUF_FMT_8_8_UINT"},
    {19, "BUF_FMT_8_8_SINT"},
    {20, "BUF_FMT_32_UINT"},
    {21, "BUF_FMT_32_SINT"},
    {22, "BUF_FMT_32_FLOAT"},
    {23, "BUF_FMT_16_16_UNORM"},
    {24, "BUF_FMT_16_16_SNORM"},
    {25, "BUF_FMT_16_16_USCALED"},
    {26, "BUF_FMT_16_16_SSCALED"},
    {27, "BUF_FMT_16_16_UINT"},
    {28, "BUF_FMT_16_16_SINT"},
    {29, "BUF_FMT_16_16_FLOAT"},
    {30, "BUF_FMT_10_11_11_FLOAT"},
    {31, "BUF_FMT_11_11_10_FLOAT"},
    {32, "BUF_FMT_10_10_10_2_UNORM"},
    {33, "BUF_FMT_10_10_10_2_SNORM"},
    {34, "BUF_FMT_10_10_10_2_UINT"},
    {35, "BUF_FMT_10_10_10_2_SINT"},
    {36, "BUF_FMT_2_10_10_10_UNORM"},
    {37, "BUF_FMT_2_10_10_10_SNORM"},
    {38, "BUF_FMT_2_10_10_10_USCALED"},
    {39, "BUF_FMT_2_10_10_10_SSCALED"},
    {40, "BUF_FMT_2_10_10_10_UINT"},
    {41, "BUF_FMT_2_10_10_10_SINT"},
    {42, "BUF_FMT_8_8_8_8_UNORM"},
    {43, "BUF_FMT_8_8_8_8_SNORM"},
    {44, "BUF_FMT_8_8_8_8_USCALED"},
    {45, "BUF_FMT_8_8_8_8_SSCALED"},
    {46, "BUF_FMT_8_8_8_8_UINT"},
    {47, "BUF_FMT_8_8_8_8_SINT"},
    {48, "BUF_FMT_32_32_UINT"},
    {49, "BUF_FMT_32_32_SINT"},
    {50, "BUF_FMT_32_32_FLOAT"},
    {51, "BUF_FMT_16_16_16_16_UNORM"},
    {52, "BUF_FMT_16_16_16_16_SNORM"},
    {53, "BUF_FMT_16_16_16_16_USCALED"},
    {54, "BUF_FMT_16_16_16_16_SSCALED"},
    {55, "BUF_FMT_16_16_16_16_UINT"},
    {56, "BUF_FMT_16_16_16_16_SINT"},
    {57, "BUF_FMT_16_16_16_16_FLOAT"},
    {58, "BUF_FMT_32_32_32_UINT"},
    {59, "BUF_FMT_32_32_32_SINT"},
    {60, "BUF_FMT_32_32_32_FLOAT"},
    {61, "BUF_FMT_32_32_32_32_UINT"},
    {62, "BUF_FMT_32_32_32_32_SINT"},
    {63, "BUF_FMT_32_32_32_32_FLOAT"},
};

constexpr Name kBufferDataFormats[] = {
    {0, "BUF_DATA_FORMAT_INVALID"},      {1, "BUF_DATA_FORMAT_8"},
    {2, "BUF_DATA_FORMAT_16"},           {3, "BUF_DATA_FORMAT_8_8"},
    {4, "BUF_DATA_FORMAT_32"},           {5, "BUF_DATA_FORMAT_16_16"},
    {6, "BUF_DATA_FORMAT_10_11_11"},     {7, "BUF_DATA_FORMAT_11_11_10"},
    {8, "BUF_DATA_FORMAT_10_10_10_2"},   {9, "BUF_DATA_FORMAT_2_10_10_10"},
    {10, "BUF_DATA_FORMAT_8_8_8_8"},     {11, "BUF_DATA_FORMAT_32_32"},
    {12, "BUF_DATA_FORMAT_16_16_16_16"}, {13, "BUF_DATA_FORMAT_32_32_32"},
    {14, "BUF_DATA_FORMAT_32_32_32_32"}, {15, "BUF_DATA_FORMAT_RESERVED_15"},
};

constexpr Name kBufferNumFormats[] = {
    {0, "BUF_NUM_FORMAT_UNORM"},      {1, "BUF_NUM_FORMAT_SNORM"}, {2, "BUF_NUM_FORMAT_USCALED"},
    {3, "BUF_NUM_FORMAT_SSCALED"},    {4, "BUF_NUM_FORMAT_UINT"},  {5, "BUF_NUM_FORMAT_SINT"},
    {6, "BUF_NUM_FORMAT_RESERVED_6"}, {7, "BUF_NUM_FORMAT_FLOAT"},
};

constexpr Name kImageDims[] = {
    {0, "1D"},       {1, "2D"},       {2, "3D"},      {3, "CUBE"},
    {4, "1D_ARRAY"}, {5, "2D_ARRAY"}, {6, "2D_MSAA"}, {7, "2D_MSAA_ARRAY"},
};

constexpr Name kExportTargets[] = {
    {0, "mrt0"},
    {1, "mrt1"},
    {2, "mrt2"},
    {3, "mrt3"},
    {4, "mrt4"},
    {5, "mrt5"},
    {6, "mrt6"},
    {7, "mrt7"},
    {8, "mrtz"},
    {12, "pos0"},
    {13, "pos1"},
    {14, "pos2"},
    {15, "pos3"},
    {16, "pos4"},
    {20, "prim"},
    {21, "dual_src_blend0"},
    {22, "dual_src_blend1"},
};

constexpr Name kSdwaSelects[] = {
    {0, "BYTE_0"}, {1, "BYTE_1"}, {2, "BYTE_2"}, {3, "BYTE_3"},
    {4, "WORD_0"}, {5, "WORD_1"}, {6, "DWORD"},
};

constexpr Name kSdwaUnused[] = {
    {0, "UNUSED_PAD"},
    {1, "UNUSED_SEXT"},
    {2, "UNUSED_PRESERVE"},
};

constexpr Name kDelayIds[] = {
    {0, "NO_DEP"},        {1, "VALU_DEP_1"},    {2, "VALU_DEP_2"},
    {3, "VALU_DEP_3"},    {4, "VALU_DEP_4"},    {5, "TRANS32_DEP_1"},
    {6, "TRANS32_DEP_2"}, {7, "TRANS32_DEP_3"}, {8, "FMA_ACCUM_CYCLE_1"},
    {9, "SALU_CYCLE_1"},  {10, "SALU_CYCLE_2"}, {11, "SALU_CYCLE_3"},
};

constexpr Name kDelaySkips[] = {
    {0, "SAME"}, {1, "NEXT"}, {2, "SKIP_1"}, {3, "SKIP_2"}, {4, "SKIP_3"}, {5, "SKIP_4"},
};

constexpr Name kScopes[] = {
    {0, "SCOPE_CU"},
    {1, "SCOPE_SE"},
    {2, "SCOPE_DEV"},
    {3, "SCOPE_SYS"},
};

constexpr Name kLoadHints[] = {
    {0, "TH_LOAD_RT"},    {1, "TH_LOAD_NT"},    {2, "TH_LOAD_HT"},    {3, "TH_LOAD_LU"},
    {4, "TH_LOAD_NT_RT"}, {5, "TH_LOAD_RT_NT"}, {6, "TH_LOAD_NT_HT"},
};

constexpr Name kStoreHints[] = {
    {0, "TH_STORE_RT"},    {1, "TH_STORE_NT"},    {2, "TH_STORE_HT"},    {3, "TH_STORE_WB"},
    {4, "TH_STORE_NT_RT"}, {5, "TH_STORE_RT_NT"}, {6, "TH_STORE_NT_HT"}, {7, "TH_STORE_NT_WB"},
};

constexpr Name kAtomicHints[] = {
    {0, "TH_ATOMIC_RT"},
    {1, "TH_ATOMIC_RETURN"},
    {2, "TH_ATOMIC_NT"},
    {3, "TH_ATOMIC_NT_RETURN"},
};

constexpr CounterField kWaitRdna[] = {
    {"vmcnt", 10, 6, 0, 0}, {"expcnt", 0, 3, 0, 0}, {"lgkmcnt", 4, 6, 0, 0}};
constexpr CounterField kWaitCdna[] = {
    {"vmcnt", 0, 4, 14, 2}, {"expcnt", 4, 3, 0, 0}, {"lgkmcnt", 8, 4, 0, 0}};

constexpr CounterField kDependency[] = {
    {"depctr_hold_cnt", 7, 1, 0, 0}, {"depctr_sa_sdst", 0, 1, 0, 0},
    {"depctr_va_vdst", 12, 4, 0, 0}, {"depctr_va_sdst", 9, 3, 0, 0},
    {"depctr_va_ssrc", 8, 1, 0, 0},  {"depctr_va_vcc", 1, 1, 0, 0},
    {"depctr_vm_vsrc", 2, 3, 0, 0}};

}  // namespace

std::string_view NameOf(absl::Span<const Name> names, uint32_t value) {
  // Most tables have a row for each value from 0 on.
  if (value < names.size() && names[value].value == value) return names[value].name;
  for (const Name& n : names) {
    if (n.value == value) return n.name;
  }
  return {};
}

std::optional<uint32_t> ValueOf(absl::Span<const Name> names, std::string_view name) {
  for (const Name& n : names) {
    if (n.name == name) return n.value;
  }
  return std::nullopt;
}

absl::Span<const Name> HwregNames(Isa isa) {
  if (IsCdna(isa)) return kHwregCdna;
  return isa == Isa::kGfx12 ? absl::MakeConstSpan(kHwregGfx12) : absl::MakeConstSpan(kHwregGfx11);
}

absl::Span<const Name> MessageNames(Isa isa) {
  if (IsCdna(isa)) return kMessagesCdna;
  return isa == Isa::kGfx12 ? absl::MakeConstSpan(kMessagesGfx12)
                            : absl::MakeConstSpan(kMessagesGfx11);
}

absl::Span<const Name> MessageOps(uint32_t message, Isa isa) {
  if (!IsCdna(isa)) return {};
  if (message == 2 || message == 3) return kGsOps;
  if (message == 15) return kSystemOps;
  return {};
}

absl::Span<const Name> BufferFormats() { return kBufferFormats; }
absl::Span<const Name> BufferDataFormats() { return kBufferDataFormats; }
absl::Span<const Name> BufferNumFormats() { return kBufferNumFormats; }
absl::Span<const Name> ImageDims() { return kImageDims; }
absl::Span<const Name> ExportTargets() { return kExportTargets; }
absl::Span<const Name> SdwaSelects() { return kSdwaSelects; }
absl::Span<const Name> SdwaUnused() { return kSdwaUnused; }
absl::Span<const Name> DelayIds() { return kDelayIds; }
absl::Span<const Name> DelaySkips() { return kDelaySkips; }
absl::Span<const Name> Scopes() { return kScopes; }

absl::Span<const Name> TemporalHints(Access access) {
  switch (access) {
    case Access::kLoad:
      return kLoadHints;
    case Access::kStore:
      return kStoreHints;
    case Access::kAtomic:
      break;
  }
  return kAtomicHints;
}

absl::Span<const CounterField> WaitCounters(Isa isa) {
  return IsCdna(isa) ? absl::MakeConstSpan(kWaitCdna) : absl::MakeConstSpan(kWaitRdna);
}

absl::Span<const CounterField> DependencyCounters() { return kDependency; }

}  // namespace tg::amd
