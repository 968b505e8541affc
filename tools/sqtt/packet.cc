#include "tools/sqtt/packet.h"

#include <array>

#include "absl/strings/str_cat.h"

namespace tg::sqtt {
namespace {

constexpr uint8_t kRdna3Bit = 1, kRdna4Bit = 2, kCdnaBit = 4;
constexpr uint8_t kRdnaBits = kRdna3Bit | kRdna4Bit, kAll = kRdnaBits | kCdnaBit;

// A row a kind: name, bits, bits of its code, code, layouts, fields.
constexpr PacketSpec kSpecs[] = {
    {PacketType::kNop, "NOP", 4, 4, 0x0, kRdnaBits, {}},
    {PacketType::kLayoutHeader,
     "LAYOUT_HEADER",
     64,
     7,
     0x11,
     kAll,
     {{"layout", 12, 7},
      {"simd", 14, 13},
      {"group", 17, 15},
      {"sel_a", 31, 28},
      {"sel_b", 36, 33},
      {"flag4", 59, 59}}},
    {PacketType::kValuInst,
     "VALUINST",
     12,
     3,
     0x3,
     kRdnaBits,
     {{"delta", 5, 3}, {"flag", 6, 6}, {"wave", 11, 7}}},
    {PacketType::kVmemExec, "VMEMEXEC", 8, 4, 0xf, kRdnaBits, {{"delta", 5, 4}, {"src", 7, 6}}},
    {PacketType::kAluExec, "ALUEXEC", 8, 4, 0xe, kRdnaBits, {{"delta", 5, 4}, {"src", 7, 6}}},
    {PacketType::kImmediate,
     "IMMEDIATE",
     12,
     4,
     0xd,
     kRdnaBits,
     {{"delta", 6, 4}, {"wave", 11, 7}}},
    {PacketType::kImmediateMask,
     "IMMEDIATE_MASK",
     24,
     5,
     0x4,
     kRdnaBits,
     {{"delta", 7, 5}, {"mask", 23, 8}}},
    {PacketType::kWaveRdy, "WAVERDY", 24, 5, 0x14, kRdnaBits, {{"delta", 7, 5}, {"mask", 23, 8}}},
    {PacketType::kTsDeltaS8W3, "TS_DELTA_S8_W3", 72, 7, 0x21, kRdnaBits, {{"delta", 10, 8}}},
    {PacketType::kWaveEnd,
     "WAVEEND",
     20,
     5,
     0x15,
     kRdna3Bit,
     {{"delta", 7, 5}, {"sa", 8, 8}, {"simd", 10, 9}, {"wgp", 13, 11}, {"wave", 19, 15}}},
    {PacketType::kWaveStart,
     "WAVESTART",
     32,
     5,
     0xc,
     kRdna3Bit,
     {{"delta", 6, 5},
      {"sa", 7, 7},
      {"simd", 9, 8},
      {"wgp", 12, 10},
      {"wave", 17, 13},
      {"id7", 31, 18}}},
    {PacketType::kTsDeltaS5W2, "TS_DELTA_S5_W2", 48, 5, 0x1c, kRdna3Bit, {{"delta", 6, 5}}},
    {PacketType::kWaveAlloc, "WAVEALLOC", 20, 5, 0x5, kRdna3Bit, {{"delta", 7, 5}}},
    {PacketType::kTsDeltaS5W3, "TS_DELTA_S5_W3", 52, 5, 0x6, kRdna3Bit, {{"delta", 7, 5}}},
    {PacketType::kPerf, "PERF", 28, 5, 0x16, kRdna3Bit, {{"delta", 7, 5}, {"arg", 27, 8}}},
    {PacketType::kUtilCtr, "UTILCTR", 48, 7, 0x31, kRdnaBits, {{"delta", 8, 7}, {"ctr", 47, 9}}},
    {PacketType::kTsDeltaShort, "TS_DELTA_SHORT", 8, 4, 0x8, kRdnaBits, {{"delta", 7, 4}}},
    {PacketType::kTsWaveState,
     "TS_WAVE_STATE",
     24,
     7,
     0x51,
     kRdnaBits,
     {{"delta", 15, 7}, {"coarse", 23, 16}}},
    {PacketType::kEvent, "EVENT", 24, 8, 0x61, kRdnaBits, {{"delta", 10, 8}, {"event", 23, 11}}},
    {PacketType::kEventBig,
     "EVENT_BIG",
     32,
     8,
     0xe1,
     kRdnaBits,
     {{"delta", 10, 8}, {"event", 31, 11}}},
    {PacketType::kReg,
     "REG",
     64,
     4,
     0x9,
     kRdnaBits,
     {{"delta", 6, 4}, {"slot", 9, 7}, {"hi_byte", 15, 8}, {"subop", 31, 16}, {"val32", 63, 32}}},
    {PacketType::kSnapshot,
     "SNAPSHOT",
     64,
     7,
     0x71,
     kRdnaBits,
     {{"delta", 9, 7}, {"snap", 63, 10}}},
    {PacketType::kTsDeltaOrMark,
     "TS_DELTA_OR_MARK",
     48,
     7,
     0x1,
     kRdna3Bit,
     {{"delta", 47, 12}, {"pl", 8, 8}, {"rt", 9, 9}}},
    {PacketType::kInst,
     "INST",
     20,
     3,
     0x2,
     kRdna3Bit,
     {{"delta", 6, 4}, {"flag1", 3, 3}, {"flag2", 7, 7}, {"wave", 12, 8}, {"op", 19, 13}}},
    {PacketType::kWaveEndRdna4,
     "WAVEEND_RDNA4",
     20,
     5,
     0x15,
     kRdna4Bit,
     {{"delta", 7, 5}, {"sa", 8, 8}, {"simd", 10, 9}, {"wgp", 14, 11}, {"wave", 19, 15}}},
    {PacketType::kWaveStartRdna4,
     "WAVESTART_RDNA4",
     32,
     5,
     0xc,
     kRdna4Bit,
     {{"delta", 6, 5},
      {"sa", 7, 7},
      {"simd", 9, 8},
      {"wgp", 13, 10},
      {"wave", 19, 15},
      {"id7", 31, 20}}},
    {PacketType::kTsDeltaS5W2Rdna4,
     "TS_DELTA_S5_W2_RDNA4",
     40,
     5,
     0x1c,
     kRdna4Bit,
     {{"delta", 6, 5}}},
    {PacketType::kWaveAllocRdna4, "WAVEALLOC_RDNA4", 24, 5, 0x5, kRdna4Bit, {{"delta", 7, 5}}},
    {PacketType::kTsDeltaS5W3Rdna4,
     "TS_DELTA_S5_W3_RDNA4",
     56,
     5,
     0x6,
     kRdna4Bit,
     {{"delta", 9, 7}}},
    {PacketType::kPerfRdna4,
     "PERF_RDNA4",
     32,
     5,
     0x16,
     kRdna4Bit,
     {{"delta", 9, 7}, {"arg", 31, 10}}},
    {PacketType::kTsDeltaOrMarkRdna4,
     "TS_DELTA_OR_MARK_RDNA4",
     64,
     7,
     0x1,
     kRdna4Bit,
     {{"delta", 63, 12}, {"rt", 7, 7}, {"pl", 8, 8}, {"tl", 9, 9}}},
    {PacketType::kInstRdna4,
     "INST_RDNA4",
     20,
     3,
     0x2,
     kRdna4Bit,
     {{"delta", 5, 3}, {"w64h", 6, 6}, {"wave", 11, 7}, {"op", 19, 12}}},
    {PacketType::kCdnaMisc,
     "CDNA_MISC",
     16,
     4,
     0x0,
     kCdnaBit,
     {{"delta", 11, 4}, {"sh", 12, 12}, {"misc_type", 15, 13}}},
    {PacketType::kCdnaTimestamp, "CDNA_TIMESTAMP", 64, 4, 0x1, kCdnaBit, {{"timestamp", 63, 16}}},
    {PacketType::kCdnaReg,
     "CDNA_REG",
     64,
     4,
     0x2,
     kCdnaBit,
     {{"pipe", 6, 5}, {"regaddr", 31, 16}, {"regdata", 63, 32}}},
    {PacketType::kCdnaWaveStart,
     "CDNA_WAVESTART",
     32,
     4,
     0x3,
     kCdnaBit,
     {{"sh", 5, 5},
      {"cu", 9, 6},
      {"wave", 13, 10},
      {"simd", 15, 14},
      {"pipe", 17, 16},
      {"me", 19, 18},
      {"count", 28, 22}}},
    {PacketType::kCdnaWaveAlloc,
     "CDNA_WAVEALLOC",
     16,
     4,
     0x4,
     kCdnaBit,
     {{"sh", 5, 5}, {"cu", 9, 6}, {"wave", 13, 10}, {"simd", 15, 14}}},
    {PacketType::kCdnaRegCs,
     "CDNA_REG_CS",
     48,
     4,
     0x5,
     kCdnaBit,
     {{"pipe", 6, 5}, {"regaddr", 15, 9}, {"regdata", 47, 16}}},
    {PacketType::kCdnaWaveEnd,
     "CDNA_WAVEEND",
     16,
     4,
     0x6,
     kCdnaBit,
     {{"sh", 5, 5}, {"cu", 9, 6}, {"wave", 13, 10}, {"simd", 15, 14}}},
    {PacketType::kCdnaEvent, "CDNA_EVENT", 16, 4, 0x7, kCdnaBit, {}},
    {PacketType::kCdnaEventCs, "CDNA_EVENT_CS", 16, 4, 0x8, kCdnaBit, {}},
    {PacketType::kCdnaEventGfx1, "CDNA_EVENT_GFX1", 16, 4, 0x9, kCdnaBit, {}},
    {PacketType::kCdnaInst,
     "CDNA_INST",
     16,
     4,
     0xa,
     kCdnaBit,
     {{"wave", 8, 5}, {"simd", 10, 9}, {"op", 15, 11}}},
    {PacketType::kCdnaInstPc,
     "CDNA_INST_PC",
     64,
     4,
     0xb,
     kCdnaBit,
     {{"wave", 8, 5}, {"simd", 10, 9}, {"err", 15, 15}, {"pc", 63, 16}}},
    {PacketType::kCdnaUserData,
     "CDNA_USERDATA",
     48,
     4,
     0xc,
     kCdnaBit,
     {{"sh", 5, 5}, {"cu", 9, 6}, {"wave", 13, 10}, {"simd", 15, 14}, {"data", 47, 16}}},
    {PacketType::kCdnaIssue,
     "CDNA_ISSUE",
     32,
     4,
     0xd,
     kCdnaBit,
     {{"simd", 6, 5},
      {"inst0", 9, 8},
      {"inst1", 11, 10},
      {"inst2", 13, 12},
      {"inst3", 15, 14},
      {"inst4", 17, 16},
      {"inst5", 19, 18},
      {"inst6", 21, 20},
      {"inst7", 23, 22},
      {"inst8", 25, 24},
      {"inst9", 27, 26}}},
    {PacketType::kCdnaPerf,
     "CDNA_PERF",
     64,
     4,
     0xe,
     kCdnaBit,
     {{"sh", 5, 5},
      {"cu", 9, 6},
      {"cntr_bank", 11, 10},
      {"cntr0", 24, 12},
      {"cntr1", 37, 25},
      {"cntr2", 50, 38},
      {"cntr3", 63, 51}}},
    {PacketType::kCdnaRegCsPriv,
     "CDNA_REG_CS_PRIV",
     48,
     4,
     0xf,
     kCdnaBit,
     {{"pipe", 6, 5}, {"regaddr", 15, 9}, {"regdata", 47, 16}}},
};
static_assert(std::size(kSpecs) == kNumPacketTypes);

struct Named {
  uint8_t value;
  const char* name;
};

// Numbers that end a name are clocks of issue.
constexpr Named kRdna3Ops[] = {
    {0x0, "SALU"},           {0x1, "SMEM_RD"},        {0x3, "JUMP"},
    {0x4, "JUMP_NO"},        {0x5, "CALL"},           {0x9, "MESSAGE"},
    {0xb, "VALUT_4"},        {0xd, "VALUB_2"},        {0xe, "VALUB_4"},
    {0xf, "VALUB_16"},       {0x12, "VINTERP"},       {0x13, "BARRIER"},
    {0x1c, "FLAT_RD_2"},     {0x1d, "FLAT_WR_3"},     {0x1e, "FLAT_WR_4"},
    {0x1f, "FLAT_WR_5"},     {0x20, "FLAT_WR_6"},     {0x21, "SGMEM_RD_1"},
    {0x22, "SGMEM_RD_2"},    {0x24, "SGMEM_WR_2"},    {0x25, "SGMEM_WR_3"},
    {0x26, "SGMEM_WR_4"},    {0x27, "SGMEM_WR_5"},    {0x28, "SGMEM_WR_6"},
    {0x29, "LDS_RD"},        {0x2a, "LDS_WR_1"},      {0x2b, "LDS_WR_2"},
    {0x2c, "LDS_WR_3"},      {0x2d, "LDS_WR_4"},      {0x2e, "LDS_WR_5"},
    {0x50, "OTHER_LDS_1"},   {0x51, "OTHER_LDS_2"},   {0x52, "OTHER_LDS_3"},
    {0x53, "OTHER_LDS_4"},   {0x54, "OTHER_LDS_5"},   {0x55, "OTHER_FLAT_2"},
    {0x56, "OTHER_FLAT_3"},  {0x57, "OTHER_FLAT_4"},  {0x58, "OTHER_FLAT_5"},
    {0x59, "OTHER_FLAT_6"},  {0x5a, "OTHER_VMEM_1"},  {0x5b, "OTHER_VMEM_2"},
    {0x5c, "OTHER_VMEM_3"},  {0x5d, "OTHER_VMEM_4"},  {0x5e, "OTHER_VMEM_5"},
    {0x5f, "OTHER_VMEM_6"},  {0x60, "OTHER_VMEM_7"},  {0x61, "OTHER_VMEM_8"},
    {0x62, "OTHER_VMEM_9"},  {0x63, "OTHER_VMEM_10"}, {0x64, "OTHER_VMEM_11"},
    {0x65, "OTHER_VMEM_12"}, {0x66, "OTHER_VMEM_13"}, {0x72, "SALU_WR_EXEC"},
    {0x73, "VALU1_WR_EXEC"},
};
constexpr Named kRdna4Ops[] = {
    {0x0, "SALU"},
    {0x1, "SMEM"},
    {0x2, "SMEM_WR"},
    {0x3, "JUMP"},
    {0x4, "JUMP_NO"},
    {0x5, "CALL"},
    {0x7, "SALU_NO_EXEC"},
    {0x9, "MESSAGE"},
    {0xa, "VALU_1"},
    {0xb, "VALUT_4"},
    {0xc, "VALUB_1"},
    {0xd, "VALUB_2"},
    {0xe, "VALUB_4"},
    {0xf, "VALUB_16"},
    {0x12, "VINTERP"},
    {0x13, "BARRIER_WAIT"},
    {0x1c, "FLAT_RD_2"},
    {0x1d, "FLAT_WR_3"},
    {0x1e, "FLAT_WR_4"},
    {0x1f, "FLAT_WR_5"},
    {0x20, "FLAT_WR_6"},
    {0x21, "VMEM_RD_1"},
    {0x22, "VMEM_RD_2"},
    {0x23, "VMEM_WR_1"},
    {0x24, "VMEM_WR_2"},
    {0x25, "VMEM_WR_3"},
    {0x26, "VMEM_WR_4"},
    {0x27, "VMEM_WR_5"},
    {0x28, "VMEM_WR_6"},
    {0x29, "LDS_RD"},
    {0x2a, "LDS_WR_1"},
    {0x2b, "LDS_WR_2"},
    {0x2c, "LDS_WR_3"},
    {0x2d, "LDS_WR_4"},
    {0x2e, "LDS_WR_5"},
    {0x2f, "BUF_RD_1"},
    {0x30, "BUF_RD_2"},
    {0x31, "BUF_WR_1"},
    {0x32, "BUF_WR_2"},
    {0x33, "BUF_WR_3"},
    {0x34, "BUF_WR_4"},
    {0x35, "BUF_WR_5"},
    {0x36, "BUF_WR_6"},
    {0x50, "OTHER_LDS_1"},
    {0x51, "OTHER_LDS_2"},
    {0x52, "OTHER_LDS_3"},
    {0x53, "OTHER_LDS_4"},
    {0x54, "OTHER_LDS_5"},
    {0x55, "OTHER_FLAT_2"},
    {0x56, "OTHER_FLAT_3"},
    {0x57, "OTHER_FLAT_4"},
    {0x58, "OTHER_FLAT_5"},
    {0x59, "OTHER_FLAT_6"},
    {0x6e, "LDS_DIR_LOAD"},
    {0x6f, "LDS_PARAM_LOAD"},
    {0x72, "SALU_WR_EXEC"},
    {0x73, "VALU1_WR_EXEC"},
    {0x74, "VALU_WR_EXEC_2"},
    {0x77, "OTHER_LDS_6"},
    {0x78, "OTHER_LDS_10"},
    {0x7a, "BARRIER_SIGNAL"},
    {0x87, "DYN_VGPR"},
    {0x8a, "BARRIER_JOIN"},
    {0x8c, "WMMA_8"},
    {0x8d, "WMMA_16"},
    {0x8e, "WMMA_32"},
    {0x8f, "WMMA_64"},
    {0x92, "VALU_DPFP"},
    {0x98, "SALU_FLOAT_3"},
    {0x99, "VALU_SCL_TRANS"},
    {0x9b, "SALU_2"},
    {0x9c, "SALU_5"},
    {0xbc, "OTHER_VMEM_1"},
    {0xbd, "OTHER_VMEM_2"},
    {0xbe, "OTHER_VMEM_3"},
    {0xbf, "OTHER_VMEM_4"},
    {0xc0, "OTHER_VMEM_5"},
    {0xc1, "OTHER_VMEM_6"},
    {0xc2, "OTHER_VMEM_7"},
    {0xc3, "OTHER_VMEM_8"},
    {0xc4, "OTHER_VMEM_9"},
    {0xc5, "OTHER_VMEM_10"},
    {0xc6, "OTHER_VMEM_11"},
    {0xc7, "OTHER_VMEM_12"},
    {0xc8, "OTHER_VMEM_13"},
    {0xc9, "OTHER_VMEM_14"},
    {0xca, "OTHER_VMEM_15"},
    {0xcb, "OTHER_VMEM_16"},
    {0xcc, "OTHER_VMEM_17"},
    {0xcd, "OTHER_VMEM_18"},
    {0xce, "OTHER_VMEM_19"},
    {0xcf, "OTHER_VMEM_20"},
    {0xd0, "OTHER_VMEM_21"},
    {0xd1, "OTHER_VMEM_22"},
    {0xd2, "OTHER_VMEM_23"},
    {0xd3, "OTHER_VMEM_24"},
    {0xd4, "OTHER_VMEM_25"},
    {0xd5, "OTHER_VMEM_26"},
    {0xd6, "OTHER_VMEM_27"},
    {0xd7, "OTHER_VMEM_28"},
    {0xd8, "OTHER_VMEM_29"},
    {0xd9, "OTHER_VMEM_30"},
    {0xda, "OTHER_VMEM_31"},
    {0xdb, "OTHER_VMEM_32"},
    {0xdc, "OTHER_VMEM_33"},
    {0xdd, "OTHER_VMEM_34"},
};
constexpr Named kCdnaOps[] = {
    {0x0, "SMEM_RD"},  {0x1, "SALU_32"},  {0x2, "VMEM_RD"},  {0x3, "VMEM_WR"},
    {0x4, "FLAT_WR"},  {0x5, "VALU_32"},  {0x6, "LDS"},      {0x7, "PC"},
    {0xc, "JUMP"},     {0xd, "NEXT"},     {0xe, "FLAT_RD"},  {0xf, "OTHER_MSG"},
    {0x10, "SMEM_WR"}, {0x11, "SALU_64"}, {0x12, "VALU_64"}, {0x1c, "VALU_MAI"},
};

struct OpTable {
  std::array<const char*, kNumInstOps> names{};
  std::array<uint8_t, kNumInstOps> durations{};
  std::array<bool, kNumInstOps> other{};
};

template <size_t N>
constexpr OpTable MakeOpTable(const Named (&rows)[N]) {
  OpTable t;
  for (int i = 0; i < kNumInstOps; ++i) t.names[i] = "", t.durations[i] = 1;
  for (const Named& row : rows) {
    t.names[row.value] = row.name;
    const std::string_view name = row.name;
    t.other[row.value] = name.substr(0, 6) == "OTHER_" && name != "OTHER_MSG";
    int number = 0;
    size_t digits = name.size();
    for (int scale = 1; digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9';
         --digits, scale *= 10) {
      number += (name[digits - 1] - '0') * scale;
    }
    if (number > 0 && digits > 0 && name[digits - 1] == '_') {
      t.durations[row.value] = static_cast<uint8_t>(number);
    }
  }
  return t;
}

// SALU_32, VALU_64 of CDNA: widths, no clocks.
constexpr OpTable WithoutDurations(OpTable t) {
  for (uint8_t& d : t.durations) d = 1;
  return t;
}

constexpr OpTable kOpTables[kNumLayouts] = {MakeOpTable(kRdna3Ops), MakeOpTable(kRdna4Ops),
                                            WithoutDurations(MakeOpTable(kCdnaOps))};

const OpTable& Ops(Layout layout) { return kOpTables[static_cast<int>(layout)]; }

}  // namespace

absl::string_view LayoutName(Layout layout) {
  switch (layout) {
    case Layout::kRdna3:
      return "RDNA 3";
    case Layout::kRdna4:
      return "RDNA 4";
    case Layout::kCdna:
      return "CDNA";
  }
  return "";
}

absl::Span<const Field> PacketSpec::field_span() const {
  size_t n = 0;
  while (n < std::size(fields) && fields[n].name != nullptr) ++n;
  return {fields, n};
}

absl::Span<const PacketSpec> PacketSpecs() { return kSpecs; }
const PacketSpec& Spec(PacketType type) { return kSpecs[static_cast<int>(type)]; }
absl::string_view PacketName(PacketType type) { return Spec(type).name; }

uint64_t FieldValue(const Packet& packet, absl::string_view name) {
  for (const Field& f : Spec(packet.type).field_span()) {
    if (name == f.name) return Bits(packet.raw, f.hi, f.lo);
  }
  return 0;
}

absl::string_view InstOpName(Layout layout, int op) {
  return op >= 0 && op < kNumInstOps ? Ops(layout).names[op] : "";
}

int FindInstOp(Layout layout, absl::string_view name) {
  for (int i = 0; i < kNumInstOps; ++i) {
    if (!name.empty() && name == Ops(layout).names[i]) return i;
  }
  return -1;
}

int InstOpDuration(Layout layout, int op) {
  return op >= 0 && op < kNumInstOps ? Ops(layout).durations[op] : 1;
}

bool IsOtherSimd(Layout layout, int op) {
  return op >= 0 && op < kNumInstOps && Ops(layout).other[op];
}

absl::string_view AluSourceName(int src) {
  constexpr absl::string_view kNames[] = {"NONE", "SALU", "VALU", "VALU_SALU"};
  return kNames[src & 3];
}

absl::string_view MemSourceName(int src) {
  constexpr absl::string_view kNames[] = {"LDS", "LDS_ALT", "VMEM", "VMEM_ALT"};
  return kNames[src & 3];
}

absl::string_view MiscTypeName(int type) {
  constexpr absl::string_view kNames[] = {"TIME",      "TIME_RESET",         "PACKET_LOST",
                                          "SURF_SYNC", "TTRACE_STALL_BEGIN", "TTRACE_STALL_END",
                                          "SAVECTX",   "SHOOT_DOWN"};
  return kNames[type & 7];
}

std::string ToString(const Packet& packet) {
  std::string s = absl::StrCat(packet.time, " ", PacketName(packet.type), " @", packet.offset,
                               " 0x", absl::Hex(packet.raw));
  for (const Field& f : Spec(packet.type).field_span()) {
    absl::StrAppend(&s, " ", f.name, "=", Bits(packet.raw, f.hi, f.lo));
  }
  return s;
}

}  // namespace tg::sqtt
