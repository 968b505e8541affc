// Timer: how a search learns the time that a candidate takes. The search knows no device; whoever
// starts it brings the timer of one (drivers/cpu/cpu_timer.h for CPUs).
#ifndef TG_CODEGEN_SEARCH_TIMER_H_
#define TG_CODEGEN_SEARCH_TIMER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/lower/program.h"

namespace tg::search {

class Timer {
 public:
  virtual ~Timer() = default;

  // Seconds of one run of `program`, at most what its repetitions took, on buffers of its
  // parameters' sizes and with variables at their upper bounds. `object` is what the renderer made
  // of it, with a symbol named program.name.
  //
  // `cutoff`, seconds: the answer for a candidate that takes longer may be infinity; no cutoff is
  // infinity. Errors, each the candidate's own, after which the timer is ready for the next one:
  // DeadlineExceeded, it did not end in time and was stopped; Aborted, it crashed. Any other is one
  // of the timer.
  virtual absl::StatusOr<double> Time(const lower::LinearProgram& program, absl::string_view object,
                                      double cutoff) = 0;
};

}  // namespace tg::search

#endif  // TG_CODEGEN_SEARCH_TIMER_H_
