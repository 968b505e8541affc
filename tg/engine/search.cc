#include "tg/engine/search.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>

#include "base/settings.h"
#include "codegen/opt/opt_text.h"
#include "codegen/search/search.h"
#include "drivers/cpu/cpu_timer.h"

namespace tg::engine {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

// Takes the first SIGINT, unless the program ignores it.
class InterruptScope {
 public:
  InterruptScope() {
    sigaction(SIGINT, nullptr, &before_);
    if (before_.sa_handler == SIG_IGN) return;
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = true; };
    // The second one does what it does without us.
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
  }
  ~InterruptScope() { sigaction(SIGINT, &before_, nullptr); }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction before_ = {};
};

bool IsOptimized(const ir::UOp& ast) {
  const auto* info = std::get_if<ir::Boxed<ir::KernelInfo>>(&ast.arg());
  return info != nullptr && (*info)->optimized;
}

}  // namespace

ir::UOp SearchKernel(const ir::UOp& ast, const render::Renderer& renderer, int threads) {
  if (base::Get(base::kBeam) == 0 || base::Get(base::kNoOpt) != 0 || IsOptimized(ast)) return ast;
  // Searches beside each other would measure each other.
  static std::mutex* mutex = new std::mutex;
  std::lock_guard<std::mutex> lock(*mutex);
  search::SearchOptions options = search::SearchOptions::FromSettings();
  options.threads = threads;
  options.progress = true;
  options.interrupted = [] { return interrupted.load(); };
  const std::unique_ptr<search::Timer> timer = drivers::MakeCpuTimer(
      {.limit = static_cast<double>(base::Get(base::kBeamTimeoutSec)), .threads = threads});
  InterruptScope scope;
  absl::StatusOr<search::SearchResult> r = search::SearchBest(ast, renderer, *timer, options);
  const int debug = base::Get(base::kBeamDebug);
  if (!r.ok()) {
    if (debug >= 1) std::fprintf(stderr, "search: %s\n", r.status().ToString().c_str());
    return ast;
  }
  if (debug >= 1) {
    std::fprintf(stderr,
                 "search: %.3f ms%s, %d measured, %d slow, %d duplicates, %d rejected, "
                 "%d crashed, %d endless: %s\n",
                 r->seconds * 1e3, r->from_cache ? " (cached)" : "", r->measured, r->slow,
                 r->duplicates, r->rejected, r->crashed, r->endless,
                 opt::ToString(r->opts).c_str());
  }
  if (debug >= 2) {
    for (const search::Improvement& i : r->curve) {
      std::fprintf(stderr, "  %7.2f s  %6d  %.3f ms\n", i.elapsed, i.candidate, i.seconds * 1e3);
    }
  }
  return r->kernel;
}

}  // namespace tg::engine
