#include "tg/schedule/split_reduce.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/settings.h"
#include "codegen/ir/rewrite.h"
#include "codegen/ir/shape.h"
#include "tg/schedule/data_layout.h"

namespace tg::schedule {
namespace {

using ir::Op;
using ir::Shape;
using ir::UOp;

constexpr int64_t kMostParts = 256;
constexpr int64_t kFewestParts = 8;

// Matrix products and convolutions read their operands once for each tile of the result, so parts
// that stay in a cache pay much earlier.
constexpr int64_t kContractionThreshold = 4096;

struct Options {
  int64_t threshold;
  int64_t max_outputs;
  absl::flat_hash_map<UOp, DataLayout> layouts;
};

// Layouts of the graph below `u`, which is rewritten while it is walked: computed as needed.
const DataLayout& Layout(const UOp& root, Options& options) {
  auto known = [&options](const UOp& u) -> const DataLayout& { return options.layouts.at(u); };
  for (const UOp& u :
       ir::Toposort(root, [&options](const UOp& u) { return !options.layouts.contains(u); })) {
    if (!options.layouts.contains(u)) {
      DataLayout l = LayoutOf(u, known);
      options.layouts.emplace(u, std::move(l));
    }
  }
  return options.layouts.at(root);
}

UOp Split(const UOp& u, Options& options) {
  const ir::ReduceArg& a = u.arg_as<ir::ReduceArg>();
  const Shape& from = ir::ShapeOf(u.src(0));
  if (!ir::IsConst(from)) return UOp();
  const int64_t outputs = ir::NumElements(ir::ShapeOf(u)).value();
  const int64_t inputs = ir::NumElements(from).value();
  if (outputs == 0) return UOp();
  const int64_t ratio = inputs / outputs;
  if (ratio < std::min(options.threshold, kContractionThreshold)) return UOp();
  if (ratio < options.threshold) {
    Layout(u, options);
    if (!IsContraction(
            u, [&options](const UOp& s) -> const DataLayout& { return options.layouts.at(s); })) {
      return UOp();
    }
  }
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
                     .max_outputs = int64_t{1} << base::Get(base::kReduceOpSplitSize),
                     .layouts = {}};
  static const ir::RuleSet* rules = new ir::RuleSet{
      ir::On<Options>({Op::kReduce}, Split, "split_reduce"),
  };
  return ir::GraphRewrite(sink, *rules, {.order = ir::RewriteOrder::kWalk, .ctx = &options});
}

}  // namespace tg::schedule
