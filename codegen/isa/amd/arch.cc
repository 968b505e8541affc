#include "codegen/isa/amd/arch.h"

namespace tg::amd {
namespace {

constexpr std::string_view kArchNames[kNumArchs] = {"gfx1100", "gfx1101", "gfx1102", "gfx1103",
                                                    "gfx1150", "gfx1151", "gfx1152", "gfx1153",
                                                    "gfx1200", "gfx1201", "gfx942",  "gfx950"};
constexpr std::string_view kIsaNames[kNumIsas] = {"gfx11", "gfx11.5", "gfx12", "gfx942", "gfx950"};

}  // namespace

std::string_view ArchName(Arch arch) { return kArchNames[static_cast<int>(arch)]; }
std::string_view IsaName(Isa isa) { return kIsaNames[static_cast<int>(isa)]; }

std::optional<Arch> FindArch(std::string_view name) {
  for (int i = 0; i < kNumArchs; ++i) {
    if (kArchNames[i] == name) return static_cast<Arch>(i);
  }
  return std::nullopt;
}

}  // namespace tg::amd
