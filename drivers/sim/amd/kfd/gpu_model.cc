#include "drivers/sim/amd/kfd/gpu_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace tg::amd::sim {
namespace {

constexpr char kNodes[] = "/sys/devices/virtual/kfd/kfd/topology/nodes/";
constexpr uint64_t kGiB = uint64_t{1} << 30;

using Property = std::pair<absl::string_view, uint64_t>;

std::string Lines(const std::vector<Property>& properties) {
  std::string text;
  for (const auto& [name, value] : properties) absl::StrAppend(&text, name, " ", value, "\n");
  return text;
}

uint32_t Align(uint32_t x, uint32_t to) { return (x + to - 1) / to * to; }

// Dwords where the segments of an IP's registers start.
std::vector<uint32_t> IpBases(const GpuModel& model, absl::string_view ip) {
  if (ip == "NBIF") return {0, 0x14, 0xd20, 0x10400, 0x241b000};
  if (IsCdna(IsaOf(model.arch))) return {0x2000, 0xa000};
  return {0x1260, 0xa000, 0x1c000, 0x2402c00};
}

void AddLink(int from, int to, const std::string& folder, FileTree* files) {
  (*files)[folder + "/properties"] = Lines({{"type", 2},  // PCI Express.
                                            {"version_major", 0},
                                            {"version_minor", 0},
                                            {"node_from", from},
                                            {"node_to", to},
                                            {"weight", 20},
                                            {"min_latency", 0},
                                            {"max_latency", 0},
                                            {"min_bandwidth", 312},
                                            {"max_bandwidth", 31507},
                                            {"recommended_transfer_size", 0},
                                            {"recommended_sdma_engine_id_mask", 0},
                                            {"flags", 1}});
}

}  // namespace

std::optional<GpuModel> FindGpuModel(Arch arch) {
  GpuModel m;
  m.arch = arch;
  m.simd_per_cu = IsRdna(IsaOf(arch)) ? 2 : 4;
  m.wave_front_size = IsRdna(IsaOf(arch)) ? 32 : 64;
  m.max_waves_per_simd = IsRdna(IsaOf(arch)) ? 16 : 8;
  m.lds_size_in_kb = 64;
  m.num_sdma_engines = 2;
  m.num_sdma_queues_per_engine = 8;
  switch (arch) {
    case Arch::kGfx1100:  // Radeon RX 7900 XTX.
      m.device_id = 0x744c;
      m.gfx_target_version = 110000;
      m.simd_count = 192;
      m.array_count = 12;
      m.simd_arrays_per_engine = 2;
      m.cu_per_simd_array = 8;
      m.max_engine_clk_mhz = 2500;
      m.vram_bytes = 24 * kGiB;
      m.gc = {11, 0, 0};
      m.sdma = {6, 0, 0};
      m.nbif = {4, 3, 0};
      return m;
    case Arch::kGfx1201:  // Radeon RX 9070 XT.
      m.device_id = 0x7550;
      m.gfx_target_version = 120001;
      m.simd_count = 128;
      m.array_count = 8;
      m.simd_arrays_per_engine = 2;
      m.cu_per_simd_array = 8;
      m.max_engine_clk_mhz = 2970;
      m.vram_bytes = 16 * kGiB;
      m.gc = {12, 0, 1};
      m.sdma = {7, 0, 1};
      m.nbif = {6, 3, 1};
      return m;
    case Arch::kGfx942:  // One XCC of an Instinct MI300X.
      m.device_id = 0x74a1;
      m.gfx_target_version = 90402;
      m.simd_count = 152;
      m.array_count = 4;
      m.simd_arrays_per_engine = 1;
      m.cu_per_simd_array = 10;
      m.max_engine_clk_mhz = 2100;
      m.vram_bytes = 24 * kGiB;
      m.gc = {9, 4, 3};
      m.sdma = {4, 4, 2};
      m.nbif = {7, 9, 0};
      return m;
    case Arch::kGfx950:  // One XCC of an Instinct MI355X.
      m.device_id = 0x75a3;
      m.gfx_target_version = 90500;
      m.simd_count = 128;
      m.array_count = 4;
      m.simd_arrays_per_engine = 1;
      m.cu_per_simd_array = 9;
      m.lds_size_in_kb = 160;
      m.max_engine_clk_mhz = 2400;
      m.vram_bytes = 36 * kGiB;
      m.gc = {9, 5, 0};
      m.sdma = {4, 4, 5};
      m.nbif = {7, 9, 0};
      return m;
    default:
      return std::nullopt;
  }
}

ContextSaveSizes ContextSaveSizesOf(const GpuModel& m) {
  constexpr uint32_t kPage = 4096;
  constexpr uint32_t kSgprBytes = 0x4000, kHwregBytes = 0x1000, kLdsBytes = 0x10000;
  constexpr uint32_t kHeader = 40;  // Of the area, which user space reads.
  uint32_t version = m.gfx_target_version;
  bool gfx10 = version >= 100100;
  // Vector registers of a CU, accumulation registers included.
  uint32_t vgpr_bytes = 0x40000;
  if (version == 90402 || version == 90500) vgpr_bytes = 0x80000;
  if (version == 110000 || version == 110001 || version == 120000 || version == 120001) {
    vgpr_bytes = 0x60000;
  }
  uint32_t lds_bytes = version == 90500 ? m.lds_size_in_kb << 10 : kLdsBytes;
  uint32_t cus = m.cus();
  uint32_t waves = gfx10 ? cus * 32 : std::min(cus * 40, m.engines() * 512);
  ContextSaveSizes s;
  s.ctl_stack = Align(kHeader + waves * (gfx10 ? 12 : 8) + 8, kPage);
  s.cwsr = s.ctl_stack + Align(cus * (vgpr_bytes + kSgprBytes + lds_bytes + kHwregBytes), kPage);
  s.debug = Align(waves * 32, 64);
  return s;
}

void AddGpuFiles(const GpuModel& m, const GpuPlace& place, FileTree* files) {
  std::string node = absl::StrCat(kNodes, place.node);
  (*files)[node + "/gpu_id"] = absl::StrCat(place.gpu_id, "\n");
  (*files)[node + "/name"] =
      absl::StrFormat("ip discovery %d.%d.%d\n", m.gc.major, m.gc.minor, m.gc.revision);
  ContextSaveSizes s = ContextSaveSizesOf(m);
  (*files)[node + "/properties"] =
      Lines({{"cpu_cores_count", 0},
             {"simd_count", m.simd_count},
             {"mem_banks_count", 1},
             {"caches_count", 0},
             {"io_links_count", place.gpus},
             {"p2p_links_count", 0},
             {"cpu_core_id_base", 0},
             {"simd_id_base", 2147487744},
             {"max_waves_per_simd", m.max_waves_per_simd},
             {"lds_size_in_kb", m.lds_size_in_kb},
             {"gds_size_in_kb", 0},
             {"num_gws", 64},
             {"wave_front_size", m.wave_front_size},
             {"array_count", m.array_count},
             {"simd_arrays_per_engine", m.simd_arrays_per_engine},
             {"cu_per_simd_array", m.cu_per_simd_array},
             {"simd_per_cu", m.simd_per_cu},
             {"max_slots_scratch_cu", 32},
             {"gfx_target_version", m.gfx_target_version},
             {"vendor_id", 0x1002},
             {"device_id", m.device_id},
             {"location_id", static_cast<uint64_t>(place.node) << 8},
             {"domain", 0},
             {"drm_render_minor", place.render_minor},
             {"hive_id", 0},
             {"num_sdma_engines", m.num_sdma_engines},
             {"num_sdma_xgmi_engines", 0},
             {"num_sdma_queues_per_engine", m.num_sdma_queues_per_engine},
             {"num_cp_queues", 24},
             {"max_engine_clk_fcompute", m.max_engine_clk_mhz},
             {"local_mem_size", m.vram_bytes},
             {"unique_id", 0x51a0000000000000 + place.gpu_id},
             {"num_xcc", 1},
             {"cwsr_size", s.cwsr},
             {"ctl_stack_size", s.ctl_stack}});
  (*files)[node + "/mem_banks/0/properties"] = Lines({{"heap_type", 1},  // Visible to the CPU.
                                                      {"size_in_bytes", m.vram_bytes},
                                                      {"flags", 0},
                                                      {"width", 384},
                                                      {"mem_clk_max", 1250}});
  int link = 0;
  for (int to = 0; to <= place.gpus; ++to) {
    if (to != place.node) AddLink(place.node, to, absl::StrCat(node, "/io_links/", link++), files);
  }
  std::string device = absl::StrCat("/sys/class/drm/renderD", place.render_minor, "/device");
  (*files)[device + "/vendor"] = "0x1002\n";
  (*files)[device + "/device"] = absl::StrFormat("0x%04x\n", m.device_id);
  (*files)[device + "/power_dpm_force_performance_level"] = "profile_standard\n";
  struct Ip {
    const char* name;
    int hw_id;
    IpVersion version;
  };
  for (const Ip& ip : {Ip{"GC", 11, m.gc}, {"SDMA0", 42, m.sdma}, {"NBIF", 108, m.nbif}}) {
    std::string bases;
    for (uint32_t base : IpBases(m, ip.name)) absl::StrAppendFormat(&bases, "0x%08X\n", base);
    // Folders have the number; links to them the name.
    for (const std::string& name : {std::string(ip.name), absl::StrCat(ip.hw_id)}) {
      std::string at = absl::StrCat(device, "/ip_discovery/die/0/", name, "/0/");
      (*files)[at + "hw_id"] = absl::StrCat(ip.hw_id, "\n");
      (*files)[at + "major"] = absl::StrCat(ip.version.major, "\n");
      (*files)[at + "minor"] = absl::StrCat(ip.version.minor, "\n");
      (*files)[at + "revision"] = absl::StrCat(ip.version.revision, "\n");
      (*files)[at + "base_addr"] = bases;
    }
  }
}

void AddMachineFiles(int gpus, FileTree* files) {
  std::string node = absl::StrCat(kNodes, 0);
  (*files)[node + "/gpu_id"] = "0\n";
  (*files)[node + "/name"] = "\n";
  (*files)[node + "/properties"] = Lines({{"cpu_cores_count", 2},
                                          {"simd_count", 0},
                                          {"mem_banks_count", 1},
                                          {"io_links_count", gpus},
                                          {"wave_front_size", 0},
                                          {"gfx_target_version", 0},
                                          {"vendor_id", 0},
                                          {"device_id", 0}});
  for (int i = 0; i < gpus; ++i) AddLink(0, i + 1, absl::StrCat(node, "/io_links/", i), files);
  (*files)["/sys/devices/virtual/kfd/kfd/topology/generation_id"] = "2\n";
  (*files)["/sys/devices/virtual/kfd/kfd/topology/system_properties"] =
      Lines({{"platform_oem", 0}, {"platform_id", 0}, {"platform_rev", 0}});
  (*files)["/sys/module/amdgpu/initstate"] = "live\n";
  (*files)["/sys/module/amdgpu/parameters/ppfeaturemask"] = "0xfff7bfff\n";
}

}  // namespace tg::amd::sim
