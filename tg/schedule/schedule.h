// Scheduling: from a tensor graph to an ordered list of kernels and copies over buffers.
//
//   tensor graph ──SplitReduces──► ──Rangeify──► kernels ──Order──► Schedule ──PlanMemory──►
//   offsets
//
// A `Schedule` is a pure function of the graph: it names buffers by number and holds no memory, so
// that it can be kept and run again on other buffers (the cache does that).
#ifndef TG_TG_SCHEDULE_SCHEDULE_H_
#define TG_TG_SCHEDULE_SCHEDULE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "codegen/ir/uop.h"

namespace tg::schedule {

// A memory that a schedule works on.
struct ScheduleBuffer {
  enum class Kind {
    kInput,     // a kBuffer of the graph (read, or written in place by a kStore)
    kOutput,    // made here and given to the caller
    kInternal,  // lives only while the schedule runs
  };
  Kind kind;
  ir::DType dtype;
  int64_t size;  // elements
  std::string device;
};

struct ScheduleItem {
  enum class Kind { kKernel, kCopy };
  Kind kind;
  // kKernel: the kernel's kSink, with kParam slots 0.. for `buffers`. kCopy: null; buffers are
  // {destination, source}.
  ir::UOp ast;
  std::vector<int> buffers;  // indices into Schedule::buffers, by slot
  std::string device;        // where a kernel runs
};

struct Schedule {
  std::vector<ScheduleBuffer> buffers;
  std::vector<ScheduleItem> items;
  // For input i of the normalised graph, and for output root j, its index in `buffers`. A root that
  // is a kAfter has the buffer it writes.
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::vector<ir::UOp> variables;  // kVariable, sorted by name
};

// A graph with its buffers and bound values taken out, so that equal computations are equal nodes.
struct NormalizedGraph {
  ir::UOp sink;
  std::vector<ir::UOp> buffers;                       // the kBuffer nodes, by input number
  std::vector<std::pair<ir::UOp, int64_t>> bindings;  // variable and its value
};

// Replaces each kBuffer by a numbered one without storage and each kBind by its variable. Throws
// tg::UsageError where one variable is bound to two values.
NormalizedGraph Normalize(const ir::UOp& sink);

// The schedule of a normalised graph: a kSink whose sources are kContiguous or kCopy (a new
// buffer, row-major) or kAfter(buffer, kStore(view of the buffer, value)) (an assignment).
// Throws tg::DeviceError where one operation mixes devices. `default_device` is that of constants.
Schedule CreateSchedule(const ir::UOp& normalized_sink, const std::string& default_device);

// CreateSchedule and then `finish`, through a process-wide cache (setting SCACHE). `key` tells
// apart what else the result depends on: the default device, and what `finish` does. Thread-safe.
std::shared_ptr<const Schedule> CachedSchedule(const ir::UOp& normalized_sink,
                                               const std::string& default_device,
                                               const std::string& key,
                                               absl::FunctionRef<Schedule(Schedule)> finish);

// What DEBUG=3 prints: each item with its buffers and expression.
std::string ToString(const Schedule& schedule);

}  // namespace tg::schedule

#endif  // TG_TG_SCHEDULE_SCHEDULE_H_
