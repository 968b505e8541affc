#include "codegen/search/search.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/progress.h"
#include "base/settings.h"
#include "codegen/ir/print.h"
#include "codegen/lower/lower.h"
#include "codegen/opt/heuristics.h"
#include "codegen/opt/opt_text.h"
#include "codegen/opt/optimize.h"

namespace tg::search {
namespace {

using ir::Opt;
using ir::UOp;
using Clock = std::chrono::steady_clock;

constexpr base::CacheTable kSearches = {"beam_search_v1", 1};
constexpr double kNever = std::numeric_limits<double>::infinity();
// Candidates that are compiled before they are measured: objects of one batch are in memory.
constexpr size_t kBatch = 64;

struct Candidate {
  opt::Kernel kernel;
  double seconds = kNever;
  bool extended = false;
};

struct Compiled {
  bool ok = false;
  lower::LinearProgram program;
  std::string object;
};

// Kernels with equal keys run alike.
std::string KeyOf(const opt::Kernel& kernel) {
  std::string key;
  for (const opt::Axis& a : kernel.axes()) {
    absl::StrAppend(&key, static_cast<int>(a.type), ",", a.size, ",", a.root, ",", a.stride, ";");
  }
  for (const opt::Root& r : kernel.roots()) absl::StrAppend(&key, "/", r.padded);
  return key;
}

int64_t ThreadsOf(const opt::Kernel& kernel) {
  int64_t threads = 1;
  for (const opt::Axis& a : kernel.axes()) {
    if (a.type == ir::AxisType::kThread) threads *= a.size;
  }
  return threads;
}

std::string CacheKey(const UOp& ast, const render::Target& target, const SearchOptions& o) {
  return absl::StrCat(target.name, " width ", o.width, " threads ", o.threads, " pad ",
                      o.actions.pad, " upcast ", o.actions.max_upcast, " local ",
                      o.actions.max_local, " ops ", o.max_ops, "\n", ir::Print(ast));
}

class Search {
 public:
  Search(const render::Renderer& renderer, Timer& timer, const SearchOptions& options)
      : renderer_(renderer), timer_(timer), options_(options), start_(Clock::now()) {
    if (options.progress && isatty(fileno(stderr))) {
      progress_ = std::make_unique<base::Progress>(
          base::Progress::Options{.label = "search", .unit = "kernel"});
    }
  }

  // `plain`: without steps; `heuristic`: as the heuristics make it.
  absl::Status Run(const opt::Kernel& plain, const opt::Kernel& heuristic) {
    std::vector<Candidate> beam;
    for (const opt::Kernel* k : {&heuristic, &plain}) {
      if (keys_.insert(KeyOf(*k)).second) beam.push_back({.kernel = *k});
    }
    if (absl::Status s = Measure(beam, /*limit_size=*/false); !s.ok()) return s;
    double before = kNever;
    while (!result_.interrupted) {
      std::vector<Candidate> next = Extend(beam);
      if (next.empty()) break;
      if (absl::Status s = Measure(next, /*limit_size=*/true); !s.ok()) return s;
      std::move(next.begin(), next.end(), std::back_inserter(beam));
      std::stable_sort(beam.begin(), beam.end(), [](const Candidate& a, const Candidate& b) {
        return a.seconds < b.seconds;
      });
      if (static_cast<int>(beam.size()) > options_.width) {
        beam.erase(beam.begin() + options_.width, beam.end());
      }
      const double fastest = beam.front().seconds;
      if (!(fastest <= before - options_.min_progress)) break;
      before = fastest;
    }
    return absl::OkStatus();
  }

  SearchResult TakeResult() { return std::move(result_); }

 private:
  // Every kernel that one legal step makes of those that were not extended yet, each new one once.
  std::vector<Candidate> Extend(std::vector<Candidate>& beam) {
    std::vector<Candidate> next;
    for (Candidate& c : beam) {
      if (c.extended) continue;
      c.extended = true;
      for (const Opt& opt : opt::LegalOpts(c.kernel, options_.actions)) {
        opt::Kernel k = c.kernel;
        if (!k.Apply(opt).ok() || ThreadsOf(k) > options_.threads) continue;
        if (keys_.insert(KeyOf(k)).second) next.push_back({.kernel = std::move(k)});
      }
    }
    return next;
  }

  bool Interrupted() const { return options_.interrupted != nullptr && options_.interrupted(); }

  // Gives each candidate its time; kNever to those without one.
  absl::Status Measure(std::vector<Candidate>& candidates, bool limit_size) {
    for (size_t first = 0; first < candidates.size(); first += kBatch) {
      const size_t count = std::min(kBatch, candidates.size() - first);
      std::vector<Compiled> compiled = CompileBatch(&candidates[first], count, limit_size);
      for (size_t i = 0; i < count; ++i) {
        if (Interrupted()) {
          result_.interrupted = true;
          return absl::OkStatus();
        }
        if (absl::Status s = MeasureOne(candidates[first + i], compiled[i]); !s.ok()) return s;
      }
    }
    return absl::OkStatus();
  }

  std::vector<Compiled> CompileBatch(const Candidate* candidates, size_t count, bool limit_size) {
    std::vector<Compiled> compiled(count);
    std::atomic<size_t> next{0};
    auto work = [&] {
      for (size_t i; (i = next.fetch_add(1)) < count && !Interrupted();) {
        compiled[i] = CompileOne(candidates[i].kernel, limit_size);
      }
    };
    std::vector<std::thread> workers;
    const base::Overrides settings = base::Overrides::OfThisThread();
    for (size_t t = 1; t < std::min(static_cast<size_t>(options_.parallel), count); ++t) {
      workers.emplace_back([&work, &settings] {
        base::ScopedOverrides scope(settings);
        work();
      });
    }
    work();
    for (std::thread& w : workers) w.join();
    return compiled;
  }

  Compiled CompileOne(const opt::Kernel& kernel, bool limit_size) const {
    Compiled c;
    absl::StatusOr<lower::LinearProgram> program = lower::Lower(kernel.Ast(), renderer_.target());
    if (!program.ok()) return c;
    if (limit_size && static_cast<int>(program->ops.size()) > options_.max_ops) return c;
    c.program = *std::move(program);
    // One name for all, so that equal code is equal bytes.
    c.program.name = "kernel";
    absl::StatusOr<std::string> object = renderer_.Compile(c.program);
    if (!object.ok()) return c;
    c.object = *std::move(object);
    c.ok = true;
    return c;
  }

  absl::Status MeasureOne(Candidate& candidate, const Compiled& compiled) {
    if (!compiled.ok) {
      ++result_.rejected;
      return absl::OkStatus();
    }
    // Other numbers of parts may come from equal code: the value of core_id is all that differs.
    if (!objects_.insert(absl::StrCat(compiled.program.threads, " ", compiled.object)).second) {
      ++result_.duplicates;
      return absl::OkStatus();
    }
    absl::StatusOr<double> seconds =
        timer_.Time(compiled.program, compiled.object, result_.seconds * options_.cutoff);
    if (absl::IsDeadlineExceeded(seconds.status())) {
      ++result_.endless;
    } else if (absl::IsAborted(seconds.status())) {
      ++result_.crashed;
    } else if (!seconds.ok()) {
      return seconds.status();
    } else if (std::isinf(*seconds)) {
      ++result_.slow;
    } else {
      candidate.seconds = *seconds;
      if (*seconds < result_.seconds) {
        result_.seconds = *seconds;
        result_.opts.assign(candidate.kernel.applied().begin(), candidate.kernel.applied().end());
        result_.kernel = candidate.kernel.Ast();
        result_.curve.push_back(
            {.candidate = result_.measured,
             .elapsed = std::chrono::duration<double>(Clock::now() - start_).count(),
             .seconds = *seconds});
      }
      ++result_.measured;
    }
    if (progress_ != nullptr) {
      progress_->Update(result_.measured + result_.slow,
                        absl::StrFormat("best %.3f ms", result_.seconds * 1e3));
    }
    return absl::OkStatus();
  }

  const render::Renderer& renderer_;
  Timer& timer_;
  const SearchOptions& options_;
  const Clock::time_point start_;
  std::set<std::string> keys_;
  std::set<std::string> objects_;
  std::unique_ptr<base::Progress> progress_;
  SearchResult result_;
};

// The cached value is "0.0012\nSPLIT(...), ...". A value that does not apply (the optimizer has
// changed its rules) is none.
std::optional<SearchResult> FromCache(const opt::Kernel& plain, absl::string_view value) {
  const size_t line = value.find('\n');
  SearchResult result;
  if (line == absl::string_view::npos) return std::nullopt;
  if (!absl::SimpleAtod(value.substr(0, line), &result.seconds)) return std::nullopt;
  absl::StatusOr<std::vector<Opt>> opts = opt::ParseOpts(value.substr(line + 1));
  if (!opts.ok()) return std::nullopt;
  opt::Kernel kernel = plain;
  for (const Opt& o : *opts) {
    if (!kernel.Apply(o).ok()) return std::nullopt;
  }
  result.opts = *std::move(opts);
  result.kernel = kernel.Ast();
  result.from_cache = true;
  return result;
}

}  // namespace

SearchOptions SearchOptions::FromSettings() {
  SearchOptions o;
  o.width = base::Get(base::kBeam);
  o.parallel = std::max(1, base::Get(base::kParallel));
  o.actions.pad = base::Get(base::kBeamPadTo) != 0;
  o.actions.max_upcast = base::Get(base::kBeamUpcastMax);
  o.actions.max_local = base::Get(base::kBeamLocalMax);
  o.max_ops = base::Get(base::kBeamUopsMax);
  o.cache = &base::DiskCache::Default();
  o.ignore_cache = base::Get(base::kIgnoreBeamCache) != 0;
  return o;
}

absl::StatusOr<SearchResult> SearchBest(const UOp& ast, const render::Renderer& renderer,
                                        Timer& timer, const SearchOptions& options) {
  absl::StatusOr<opt::Kernel> plain = opt::PrepareKernel(ast, renderer.target());
  if (!plain.ok()) return plain.status();
  std::string key;
  if (options.cache != nullptr) {
    key = CacheKey(ast, renderer.target(), options);
    std::optional<std::string> value;
    if (!options.ignore_cache) value = options.cache->Get(kSearches, key);
    if (value.has_value()) {
      if (std::optional<SearchResult> r = FromCache(*plain, *value)) return *std::move(r);
    }
  }
  opt::Kernel heuristic = *plain;
  for (const Opt& o : opt::HandCodedOpts(*plain, renderer.target(), options.threads)) {
    if (absl::Status s = heuristic.Apply(o); !s.ok()) return s;
  }
  Search search(renderer, timer, options);
  if (absl::Status s = search.Run(*plain, heuristic); !s.ok()) return s;
  SearchResult result = search.TakeResult();
  if (std::isinf(result.seconds)) {
    result.opts.assign(heuristic.applied().begin(), heuristic.applied().end());
    result.kernel = heuristic.Ast();
  } else if (options.cache != nullptr && !result.interrupted) {
    options.cache->Put(kSearches, key,
                       absl::StrFormat("%.17g\n%s", result.seconds, opt::ToString(result.opts)));
  }
  return result;
}

}  // namespace tg::search
