#include "codegen/opt/access.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "codegen/ir/simplify/linear.h"

namespace tg::opt {
namespace {

using ir::Op;
using ir::UOp;

constexpr double kUnknownSize = 64;

int64_t MemorySize(const UOp& memory) {
  if (memory.Is(Op::kParam)) return memory.arg_as<ir::ParamArg>().size;
  if (memory.Is(Op::kBuffer)) return memory.arg_as<ir::BufferArg>().size;
  return 0;
}

// WHERE(c, x, 0) costs nothing where x is made of loads under that condition.
bool IsPadding(const UOp& u) {
  return u.Is(Op::kWhere) && (u.src(2).IsConstFloat(0) || u.src(2).IsConstInt(0)) &&
         (u.src(1).Is(Op::kMul) || u.src(1).Is(Op::kLoad));
}

class Analyzer {
 public:
  explicit Analyzer(const Kernel& kernel) : kernel_(kernel), roots_(kernel.roots().size()) {}

  AccessMap Run() {
    for (const UOp& u : ir::Toposort(kernel_.original())) {
      if (u.Is(Op::kReduce) && u.src_count() > 1) AddNest(u);
    }
    AddNest(UOp());
    return std::move(map_);
  }

 private:
  // The nest of `reduce`, or of the outputs.
  void AddNest(const UOp& reduce) {
    Nest nest;
    nest.reduce = reduce;
    nest.condition.assign(roots_, false);
    const UOp& root = reduce ? reduce.src(0) : kernel_.original();
    std::vector<bool> around(roots_, false);
    if (reduce) {
      for (const UOp& r : reduce.src().subspan(1)) nest.reduces.push_back(kernel_.RootOf(r));
      for (const UOp& r : reduce.ranges()) {
        if (int i = kernel_.RootOf(r); i >= 0) around[i] = true;
      }
    } else {
      for (size_t i = 0; i < roots_; ++i) around[i] = !kernel_.roots()[i].reduce;
    }
    for (size_t i = 0; i < roots_; ++i) {
      if (around[i]) nest.outputs.push_back(static_cast<int>(i));
    }
    auto count = [&nest, this](const std::vector<int>& roots) {
      for (int r : roots) {
        const int64_t size = kernel_.roots()[r].padded;
        nest.iterations *= size < 0 ? kUnknownSize : static_cast<double>(size);
      }
    };
    count(nest.reduces);
    count(nest.outputs);

    for (const UOp& u : ir::Toposort(root, [](const UOp& v) { return !v.Is(Op::kReduce); })) {
      if (u.Is(Op::kLoad) || u.Is(Op::kStore)) nest.accesses.push_back(Add(u));
      if (u.Is(Op::kWhere)) Mark(u.src(0), nest.condition);
      if (ir::IsAlu(u.op()) && u.dtype().Scalar() != ir::kIndex && !u.dtype().IsBool() &&
          !IsPadding(u)) {
        ++nest.ops;
      }
    }
    // A product that is added is one operation.
    const UOp& value = IsPadding(root) ? root.src(1) : root;
    if (reduce && reduce.arg_as<ir::ReduceArg>().op == Op::kAdd && value.Is(Op::kMul)) --nest.ops;
    nest.ops = std::max(nest.ops + (reduce ? 1 : 0), 1);
    std::sort(nest.accesses.begin(), nest.accesses.end());
    nest.accesses.erase(std::unique(nest.accesses.begin(), nest.accesses.end()),
                        nest.accesses.end());
    map_.nests.push_back(std::move(nest));
  }

  // The number of the access of a kLoad or kStore.
  int Add(const UOp& u) {
    const UOp& index = u.src(0);
    auto [it, added] = known_.emplace(u, static_cast<int>(map_.accesses.size()));
    if (!added) return it->second;
    const UOp& memory = index.src(0);
    Access a{.index = index,
             .slot = memory.Is(Op::kParam) ? memory.arg_as<ir::ParamArg>().slot : -1,
             .bytes = memory.dtype().bytes(),
             .elements = MemorySize(memory),
             .store = u.Is(Op::kStore),
             .coef = std::vector<int64_t>(roots_, 0),
             .irregular = std::vector<bool>(roots_, false),
             .gate = std::vector<bool>(roots_, false)};
    Mark(ir::GetValid(index.src(1)), a.gate);
    for (int i = 2; i < index.src_count(); ++i) Mark(index.src(i), a.gate);
    for (const ir::LinearTerm& t : ir::SumTerms(ir::GetIndex(index.src(1))).terms) {
      const int root = t.term.Is(Op::kRange) ? kernel_.RootOf(t.term) : -1;
      if (root >= 0) {
        a.coef[root] = t.coef;
      } else {
        Mark(t.term, a.irregular);
      }
    }
    map_.accesses.push_back(std::move(a));
    return it->second;
  }

  void Mark(const UOp& u, std::vector<bool>& roots) const {
    for (const UOp& r : u.ranges()) {
      if (int i = kernel_.RootOf(r); i >= 0) roots[i] = true;
    }
  }

  const Kernel& kernel_;
  const size_t roots_;
  AccessMap map_;
  absl::flat_hash_map<UOp, int> known_;
};

}  // namespace

AccessMap AnalyzeAccesses(const Kernel& kernel) { return Analyzer(kernel).Run(); }

}  // namespace tg::opt
