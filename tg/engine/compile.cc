#include "tg/engine/compile.h"

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/disk_cache.h"
#include "base/settings.h"
#include "codegen/ir/print.h"
#include "codegen/lower/lower.h"
#include "codegen/opt/opt_text.h"
#include "codegen/opt/optimize.h"
#include "codegen/render/renderer.h"
#include "drivers/all/devices.h"
#include "drivers/runtime/target.h"
#include "tg/engine/code_version.h"
#include "tg/engine/kernel_record.h"
#include "tg/engine/renderers.h"
#include "tg/engine/search.h"

namespace tg::engine {
namespace {

using ir::UOp;

constexpr base::CacheTable kPrograms = {"program_v1", 2};

// A device with the renderer that its kernels are compiled by.
struct CompileTarget {
  std::shared_ptr<drivers::Device> device;
  const render::Renderer* renderer;
  int threads;
  bool searchable = false;  // this machine's processor, whose kernels can be timed
  // All settings that change the code, besides the target.
  std::string settings;
};

absl::StatusOr<CompileTarget> ResolveTarget(const std::string& device_name) {
  absl::StatusOr<drivers::Target> target = drivers::ParseTarget(device_name);
  if (!target.ok()) return target.status();
  CompileTarget t;
  absl::StatusOr<std::shared_ptr<drivers::Device>> device = drivers::Devices().Open(*target);
  if (!device.ok()) return device.status();
  t.device = *std::move(device);
  absl::StatusOr<const render::Renderer*> renderer = RendererFor(*target);
  if (!renderer.ok()) return renderer.status();
  t.renderer = *renderer;
  const bool threads = base::Get(base::kThreads) != 0 && t.renderer->target().has_threads;
  t.threads = threads ? t.device->capabilities().max_threads : 1;
  t.searchable = target->device == "CPU" && t.device->capabilities().runs_programs;
  t.settings =
      absl::StrCat(t.renderer->target().name, " threads ", t.threads, " noopt ",
                   base::Get(base::kNoOpt), " beam ", base::Get(base::kBeam), " transcendental ",
                   base::Get(base::kTranscendental), " idiv ", base::Get(base::kDisableFastIdiv));
  return t;
}

absl::StatusOr<KernelRecord> Compile(const UOp& ast, const CompileTarget& t) {
  const int debug = base::Get(base::kDebug);
  if (debug >= 5) std::fprintf(stderr, "%s\n", ir::PrintTree(ast).c_str());
  const UOp optimized = opt::Optimize(ast, t.renderer->target(), t.threads);
  absl::StatusOr<lower::LinearProgram> program = lower::Lower(optimized, t.renderer->target());
  if (!program.ok()) return program.status();
  if (debug >= 3) {
    std::fprintf(stderr, "%s: %s\n", program->name.c_str(),
                 opt::ToString(optimized.arg_as<ir::KernelInfo>().applied).c_str());
  }
  if (debug >= 6) std::fprintf(stderr, "%s\n", lower::ProgramToString(*program).c_str());
  if (debug >= 4) {
    absl::StatusOr<std::string> source = t.renderer->Render(*program);
    if (source.ok()) std::fprintf(stderr, "%s\n", source->c_str());
  }
  KernelRecord record;
  if (t.device->capabilities().runs_programs) {
    absl::StatusOr<std::string> binary = t.renderer->Compile(*program);
    if (!binary.ok()) return binary.status();
    record.binary = *std::move(binary);
  }
  record.name = program->name;
  record.params = program->params;
  record.variables = program->variables;
  record.threads = program->threads;
  record.estimates = program->estimates;
  return record;
}

absl::StatusOr<KernelRecord> CompileThroughDiskCache(const UOp& ast, const CompileTarget& t) {
  // Printing intermediate steps is the purpose of these levels: then every step must happen.
  const bool use = base::Get(base::kCcache) != 0 && base::Get(base::kDebug) < 3;
  if (!use) return Compile(ast, t);
  const std::string key = absl::StrCat(kCodeVersion, " ", t.settings, "\n", ir::Print(ast));
  base::DiskCache& cache = base::DiskCache::Default();
  if (std::optional<std::string> bytes = cache.Get(kPrograms, key)) {
    absl::StatusOr<KernelRecord> record = DecodeKernelRecord(*bytes);
    if (record.ok()) return record;
  }
  absl::StatusOr<KernelRecord> record = Compile(ast, t);
  if (record.ok()) cache.Put(kPrograms, key, EncodeKernelRecord(*record));
  return record;
}

absl::StatusOr<LoadedKernelRef> Build(const UOp& ast, const CompileTarget& t) {
  // Before the disk cache of programs: what an interrupted search found is not to stay.
  const UOp kernel_ast = t.searchable ? SearchKernel(ast, *t.renderer, t.threads) : ast;
  absl::StatusOr<KernelRecord> record = CompileThroughDiskCache(kernel_ast, t);
  if (!record.ok()) return record.status();
  auto kernel = std::make_shared<LoadedKernel>();
  kernel->name = std::move(record->name);
  kernel->params = std::move(record->params);
  kernel->variables = std::move(record->variables);
  kernel->estimates = record->estimates;
  kernel->device = t.device;
  absl::StatusOr<std::unique_ptr<drivers::Program>> program =
      t.device->LoadProgram(kernel->name, record->binary, record->threads);
  if (!program.ok()) {
    return absl::Status(program.status().code(),
                        absl::StrCat(kernel->name, ": ", program.status().message()));
  }
  kernel->program = *std::move(program);
  return kernel;
}

// Entries are made by the first thread that wants them; others wait.
struct Entry {
  std::once_flag once;
  absl::StatusOr<LoadedKernelRef> kernel = absl::UnknownError("not compiled");
};

struct KernelCache {
  std::mutex mutex;
  absl::flat_hash_map<std::pair<UOp, std::string>, std::shared_ptr<Entry>> entries;
};

KernelCache& Cache() {
  static KernelCache* cache = new KernelCache;
  return *cache;
}

}  // namespace

absl::StatusOr<LoadedKernelRef> GetKernel(const UOp& ast, const std::string& device_name) {
  absl::StatusOr<CompileTarget> target = ResolveTarget(device_name);
  if (!target.ok()) return target.status();
  std::shared_ptr<Entry> entry;
  {
    KernelCache& cache = Cache();
    std::lock_guard<std::mutex> lock(cache.mutex);
    std::shared_ptr<Entry>& slot =
        cache.entries[{ast, absl::StrCat(target->device->name(), " ", target->settings)}];
    if (slot == nullptr) slot = std::make_shared<Entry>();
    entry = slot;
  }
  std::call_once(entry->once, [&] { entry->kernel = Build(ast, *target); });
  return entry->kernel;
}

absl::StatusOr<std::vector<LoadedKernelRef>> GetKernels(
    absl::Span<const std::pair<UOp, std::string>> kernels) {
  std::vector<LoadedKernelRef> result(kernels.size());
  std::vector<absl::Status> errors(kernels.size());
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < kernels.size();) {
      absl::StatusOr<LoadedKernelRef> k = GetKernel(kernels[i].first, kernels[i].second);
      if (k.ok()) {
        result[i] = *std::move(k);
      } else {
        errors[i] = k.status();
      }
    }
  };
  // Threads of their own: compilation may run beside kernels of the pool, and takes long enough.
  const size_t threads = std::min(static_cast<size_t>(base::Get(base::kParallel)), kernels.size());
  std::vector<std::thread> workers;
  const base::Overrides settings = base::Overrides::OfThisThread();
  for (size_t i = 1; i < threads; ++i) {
    workers.emplace_back([&work, &settings] {
      base::ScopedOverrides scope(settings);
      work();
    });
  }
  work();
  for (std::thread& w : workers) w.join();
  for (const absl::Status& e : errors) {
    if (!e.ok()) return e;
  }
  return result;
}

void ClearKernelCache() {
  KernelCache& cache = Cache();
  std::lock_guard<std::mutex> lock(cache.mutex);
  cache.entries.clear();
}

}  // namespace tg::engine
