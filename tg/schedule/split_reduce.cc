#include "tg/schedule/split_reduce.h"

#include <algorithm>
#include <vector>

#include "base/settings.h"
#include "codegen/ir/rewrite.h"
#include "codegen/ir/shape.h"

namespace tg::schedule {
namespace {

using ir::Op;
using ir::Shape;
using ir::UOp;

constexpr int64_t kMostParts = 256;
constexpr int64_t kFewestParts = 8;

struct Options {
  int64_t threshold;
  int64_t max_outputs;
};

UOp Split(const UOp& u, const Options& options) {
  const ir::ReduceArg& a = u.arg_as<ir::ReduceArg>();
  const Shape& from = ir::ShapeOf(u.src(0));
  if (!ir::IsConst(from)) return UOp();
  const int64_t outputs = ir::NumElements(ir::ShapeOf(u)).value();
  const int64_t inputs = ir::NumElements(from).value();
  if (outputs == 0 || inputs / outputs < options.threshold) return UOp();
  // The outermost axis that has a good divisor: parts are then far apart in memory and each is
  // contiguous where the whole is.
  for (int32_t axis : a.axes) {
    const int64_t n = from[axis].value();
    for (int64_t parts = std::min({kMostParts, options.max_outputs / outputs, n / 2});
         parts >= kFewestParts; --parts) {
      if (n % parts != 0) continue;
      // (.., n, ..) -> (.., parts, n / parts, ..)
      Shape shape(from.begin(), from.end());
      shape[axis] = parts;
      shape.insert(shape.begin() + axis + 1, n / parts);
      std::vector<int64_t> inner_axes;
      for (int32_t b : a.axes) inner_axes.push_back(b >= axis ? b + 1 : b);
      const UOp inner = ir::Contiguous(ir::Reduce(ir::Reshape(u.src(0), shape), a.op, inner_axes));
      const int64_t outer_axes[] = {axis};
      return ir::Reshape(ir::Reduce(inner, a.op, outer_axes), ir::ShapeOf(u));
    }
  }
  return UOp();
}

}  // namespace

UOp SplitReduces(const UOp& sink) {
  if (base::Get(base::kSplitReduceOp) == 0) return sink;
  Options options = {.threshold = base::Get(base::kReduceOpSplitThreshold),
                     .max_outputs = int64_t{1} << base::Get(base::kReduceOpSplitSize)};
  static const ir::RuleSet* rules = new ir::RuleSet{
      ir::On<Options>({Op::kReduce}, Split, "split_reduce"),
  };
  return ir::GraphRewrite(sink, *rules, {.order = ir::RewriteOrder::kWalk, .ctx = &options});
}

}  // namespace tg::schedule
