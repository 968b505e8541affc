// Times candidates of a kernel search on this machine's processor, in a process of their own.
//
// A candidate is machine code that nobody has run before: it may crash, or never end. So it is
// loaded and run by a worker, a forked child that is killed when its time is over and replaced
// where it dies. One that is slower than the cutoff is interrupted at that moment, without an end
// of the worker. Buffers are memory that the worker maps, each between guard pages, and new for
// each worker: what a bad candidate wrote is not there for the next one. Elements of floating point
// types are between 0 and 1, all others 0 (a valid index into anything).
#ifndef TG_DRIVERS_CPU_CPU_TIMER_H_
#define TG_DRIVERS_CPU_CPU_TIMER_H_

#include <memory>

#include "codegen/search/timer.h"

namespace tg::drivers {

struct CpuTimerOptions {
  // Seconds after which the worker is killed with its candidate, loading and all runs together.
  // With a cutoff it is earlier: `grace` and three times the cutoff.
  double limit = 10;
  double grace = 1;
  // Runs after the first one, where that was promising; the least time of all counts. They end
  // after `enough` seconds.
  int runs = 5;
  double enough = 0.05;
  // Threads that run the parts of a candidate.
  int threads = 1;
};

// Of any kernel: the worker starts at the first candidate, and again when parameters or variables
// differ from those before. Errors of Time that are the timer's own: ResourceExhausted (no process,
// no memory for the buffers: that is found out by the worker), InvalidArgument (an object that does
// not load). Use it from one thread at a time; the worker ends with the timer, and with the thread
// that called Time first.
std::unique_ptr<search::Timer> MakeCpuTimer(const CpuTimerOptions& options = {});

}  // namespace tg::drivers

#endif  // TG_DRIVERS_CPU_CPU_TIMER_H_
