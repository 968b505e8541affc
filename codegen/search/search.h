// Beam search for the steps (codegen/opt) that make a kernel fastest on this machine.
//
//   absl::StatusOr<SearchResult> r = SearchBest(ast, renderer, timer);
//   lower::Lower(r->kernel, renderer.target());
//
// The search starts from the kernel as it is and from the one that the heuristics make. Each
// generation extends those of the beam by every legal step, compiles the new ones in parallel and
// measures them one after another; the fastest `width` of old and new are the next beam. It ends
// when a generation but the first gains nothing. So a result is as measured never slower than the
// heuristics.
//
// Candidates are measured in a fixed order and ties go to the earlier one: a timer that repeats its
// answers gives the same result every time, for any number of compiling threads.
#ifndef TG_CODEGEN_SEARCH_SEARCH_H_
#define TG_CODEGEN_SEARCH_SEARCH_H_

#include <functional>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "base/disk_cache.h"
#include "codegen/ir/uop.h"
#include "codegen/opt/actions.h"
#include "codegen/render/renderer.h"
#include "codegen/search/timer.h"

namespace tg::search {

struct SearchOptions {
  int width = 2;                    // kernels of a generation that are extended
  int threads = 1;                  // cores that a kernel may be split over
  int parallel = 1;                 // threads that compile, the calling one among them
  opt::ActionOptions actions = {};  // PADTO or not; limits of registers and work groups
  int max_ops = 3000;               // instructions of a program that is still compiled
  double cutoff = 3;           // times the fastest so far: slower ones are left before they end
  double min_progress = 1e-8;  // seconds that a generation must gain for the search to go on
  // Where results are kept, by kernel, target and these options; null: nowhere.
  base::DiskCache* cache = nullptr;
  // Results of earlier searches are not used (but replaced).
  bool ignore_cache = false;
  // A progress line on stderr where that is a terminal.
  bool progress = false;
  // Asked between candidates, from any of the compiling threads; true ends the search with the best
  // so far, which is not cached.
  std::function<bool()> interrupted = nullptr;

  // From the settings BEAM, PARALLEL, BEAM_PADTO, BEAM_UPCAST_MAX, BEAM_LOCAL_MAX, BEAM_UOPS_MAX
  // and IGNORE_BEAM_CACHE, with the process's cache. `threads` stays 1.
  static SearchOptions FromSettings();
};

// One candidate that was faster than all before it.
struct Improvement {
  int candidate;   // number of candidates measured before it
  double elapsed;  // seconds since the search began
  double seconds;  // of one run
};

struct SearchResult {
  std::vector<ir::Opt> opts;
  ir::UOp kernel;                                            // with the steps applied, for lowering
  double seconds = std::numeric_limits<double>::infinity();  // infinity: nothing could be measured
  bool from_cache = false;
  bool interrupted = false;
  int measured = 0;    // candidates with a time
  int slow = 0;        // beyond the cutoff
  int duplicates = 0;  // left out: machine code equal to an earlier candidate's
  int rejected = 0;    // left out: too large, or refused by lowering or the compiler
  int crashed = 0;     // Timer: Aborted
  int endless = 0;     // Timer: DeadlineExceeded
  std::vector<Improvement> curve;
};

// `ast`: a kernel as the scheduler makes it (opt::PrepareKernel). When nothing can be measured the
// result is what the heuristics say. Errors: InvalidArgument for what is no kernel; an error of the
// timer itself.
absl::StatusOr<SearchResult> SearchBest(const ir::UOp& ast, const render::Renderer& renderer,
                                        Timer& timer, const SearchOptions& options = {});

}  // namespace tg::search

#endif  // TG_CODEGEN_SEARCH_SEARCH_H_
