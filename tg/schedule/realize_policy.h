// Which values get memory of their own, and how it is laid out. The judgement in Rangeify; all of
// its numbers are here.
#ifndef TG_TG_SCHEDULE_REALIZE_POLICY_H_
#define TG_TG_SCHEDULE_REALIZE_POLICY_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "codegen/ir/uop.h"
#include "tg/schedule/data_layout.h"

namespace tg::schedule {

// One place where a value is wanted, see rangeify.h.
struct DemandView {
  int root;
  absl::Span<const ir::UOp> index;
  absl::Span<const ir::UOp> loops;  // outermost first
  int root_ops;                     // size of that kernel so far
};

class RealizePolicy {
 public:
  // `order`: all nodes of the graph, sources first. `assumed`: nodes that are taken to be in memory
  // where the cost of what uses them is estimated.
  RealizePolicy(absl::Span<const ir::UOp> order, const ir::UOpSet& assumed);

  // Whether `u`, wanted at `demands` by `users`, is stored.
  bool ShouldRealize(const ir::UOp& u, absl::Span<const DemandView> demands,
                     absl::Span<const ir::UOp> users) const;

  // The order of the axes of `u` in memory, outermost first; empty for row-major. It follows the
  // data that u is computed from through permutes and reshapes, so that loops over u walk through
  // its operands in their order: the result of a convolution, whose reduction has the channels
  // innermost, keeps them so, and so does what is computed from it.
  std::vector<int64_t> MemoryOrder(const ir::UOp& u) const;

 private:
  struct Info {
    double cost = 0;          // of computing one element from memory, in additions
    double loads = 0;         // for that, of values that differ from element to element
    bool has_reduce = false;  // below, through elementwise operations and movements but expands
    int users = 0;
    DataLayout layout;
  };

  bool ShouldRealizeReduce(const ir::UOp& u, absl::Span<const DemandView> demands,
                           absl::Span<const ir::UOp> users) const;
  bool FeedsSumDirectly(const ir::UOp& u, absl::Span<const ir::UOp> users) const;
  bool EndsReduction(const ir::UOp& u) const;

  absl::flat_hash_map<ir::UOp, Info> info_;
  absl::flat_hash_map<ir::UOp, std::vector<ir::UOp>> users_;
};

}  // namespace tg::schedule

#endif  // TG_TG_SCHEDULE_REALIZE_POLICY_H_
