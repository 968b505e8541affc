#include "tg/engine/renderers.h"

#include <memory>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/settings.h"
#include "codegen/interp/renderer.h"
#include "codegen/render/cstyle/clang_renderer.h"
#include "codegen/render/llvm/llvm_cpu_renderer.h"

namespace tg::engine {
namespace {

std::unique_ptr<render::Renderer> Make(const std::string& device, const std::string& renderer,
                                       const std::string& arch) {
  // NULL runs nothing: it is there to see what would run on the CPU.
  if (device == "CPU" || device == "NULL") {
    if (renderer.empty() || renderer == "LLVM") {
      return render::MakeLlvmCpuRenderer({.cpu = arch});
    }
    if (renderer == "CLANG") return render::MakeClangRenderer();
  }
  if (device == "INTERP" && renderer.empty()) return interp::MakeRenderer();
  return nullptr;
}

}  // namespace

absl::StatusOr<const render::Renderer*> RendererFor(const drivers::Target& target) {
  std::string renderer = target.renderer, arch = target.arch;
  if (renderer.empty()) {
    absl::StatusOr<drivers::Target> dev = drivers::ParseTarget(base::Get(base::kDev));
    if (dev.ok() && dev->device == target.device) {
      renderer = dev->renderer;
      arch = dev->arch;
    }
  }
  struct Cache {
    std::mutex mutex;
    absl::flat_hash_map<std::string, std::unique_ptr<render::Renderer>> renderers;
  };
  static Cache* cache = new Cache;
  std::lock_guard<std::mutex> lock(cache->mutex);
  std::unique_ptr<render::Renderer>& slot =
      cache->renderers[absl::StrCat(target.device, ":", renderer, ":", arch)];
  if (slot == nullptr) slot = Make(target.device, renderer, arch);
  if (slot == nullptr) {
    return absl::NotFoundError(
        target.device == "CPU"
            ? absl::StrCat("CPU has no renderer ", renderer, "; it has LLVM and CLANG")
            : absl::StrCat(target.device, renderer.empty() ? "" : ":", renderer,
                           " runs no kernels"));
  }
  return slot.get();
}

}  // namespace tg::engine
