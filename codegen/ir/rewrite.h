// GraphRewrite: applies a rule set to every node of a graph until nothing changes.
#ifndef TG_CODEGEN_IR_REWRITE_H_
#define TG_CODEGEN_IR_REWRITE_H_

#include "absl/status/statusor.h"
#include "codegen/ir/pattern.h"
#include "codegen/ir/uop.h"

namespace tg::ir {

enum class RewriteOrder {
  // Sources first, then the node built from them; what a rule returns is processed again. The
  // usual choice: a rule sees rewritten sources.
  kBottomUp,
  // The node first, until no rule applies, then its sources. A rule sees the graph as it was above
  // and may stop descent into what it consumed.
  kTopDown,
  // Sources first, each original node once: what a rule returns is not looked at again.
  kWalk,
};

struct RewriteOptions {
  RewriteOrder order = RewriteOrder::kBottomUp;
  void* ctx = nullptr;  // handed to rules
  // A bit that is set in each node of a result of kBottomUp, which these rules leave as it is, and
  // lets the next rewrite with the same bit pass over it with all that is below. Only for a set of
  // pure rules that use no ctx, and one set for each bit; 0: none. Simplify has 1.
  uint8_t settled_mark = 0;
  // Upper bound of rule applications in a row at one place, and in total, before giving up.
  int max_chain = 10000;
  int64_t max_applications = 200'000'000;
};

// The rewritten graph. Nodes are memoised, so shared nodes are rewritten once; iterative, for
// graphs of any depth. Rules that never settle are our own bug: the process aborts with a message
// that names the rules of the cycle and shows the node.
UOp GraphRewrite(const UOp& root, const RuleSet& rules, const RewriteOptions& options = {});

// The same with the failure as a status (FailedPrecondition), for tools and tests.
absl::StatusOr<UOp> TryGraphRewrite(const UOp& root, const RuleSet& rules,
                                    const RewriteOptions& options = {});

// Rule applications in this process so far: for benchmarks.
int64_t RewriteCount();

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_REWRITE_H_
