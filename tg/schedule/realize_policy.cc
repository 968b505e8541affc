#include "tg/schedule/realize_policy.h"

#include <algorithm>

#include "codegen/ir/shape.h"

namespace tg::schedule {
namespace {

using ir::Op;
using ir::ShapeOf;
using ir::UOp;

// A kernel larger than this is cut: compilers are not linear in the size of a function.
constexpr int kMaxKernelOps = 400;
// Storing one element, and loading it again, in additions: 4 bytes at the bandwidth of memory
// against vector arithmetic.
constexpr double kStoreCost = 16;
constexpr double kLoadCost = 4;
// How many more evaluations than elements a reduction may have to be inlined: windows look at a
// few elements beyond the edges.
constexpr double kReduceSlack = 1.6;
// Of a sum in a sum, which become one: a convolution's input gradient multiplies with the zeros
// around its operand, which is still much less than storing all products.
constexpr double kSumSlack = 4;
// A reduction that is shared by inner loops is computed inside of the outer ones when these give
// enough to do in parallel, or when it is no work at all.
constexpr int64_t kMinOuterLoops = 64;
constexpr int64_t kMaxSerialWork = 1 << 15;
// And when a row stays in the cache between the reduction and its use (elements).
constexpr int64_t kMaxRow = 1 << 16;

double OpCost(Op op) {
  switch (op) {
    case Op::kCast:
    case Op::kBitcast:
    case Op::kNeg:
      return 0.5;
    case Op::kExp2:
    case Op::kLog2:
    case Op::kSin:
    case Op::kPow:
      return 12;
    case Op::kSqrt:
    case Op::kReciprocal:
    case Op::kFdiv:
    case Op::kCdiv:
    case Op::kCmod:
    case Op::kFloorDiv:
    case Op::kFloorMod:
      return 4;
    case Op::kThreefry:
      return 100;
    default:
      return 1;
  }
}

int64_t MaxSize(const UOp& range) { return range.src(0).vmax(); }

double Product(absl::Span<const UOp> ranges) {
  double n = 1;
  for (const UOp& r : ranges) n *= static_cast<double>(MaxSize(r));
  return n;
}

// The loops that the index depends on, in loop order.
std::vector<UOp> UsedLoops(const DemandView& d) {
  std::vector<UOp> used;
  for (const UOp& loop : d.loops) {
    for (const UOp& i : d.index) {
      if (i.DependsOnRange(loop)) {
        used.push_back(loop);
        break;
      }
    }
  }
  return used;
}

bool IsPassThrough(Op op) {
  return op == Op::kDetach || op == Op::kContiguousBackward || op == Op::kNoop;
}

bool MakesMemory(Op op) {
  return op == Op::kBuffer || op == Op::kAfter || op == Op::kContiguous || op == Op::kCopy;
}

}  // namespace

RealizePolicy::RealizePolicy(absl::Span<const UOp> order, const ir::UOpSet& assumed) {
  for (const UOp& u : order) {
    for (const UOp& s : u.src()) {
      users_[s].push_back(u);
      ++info_[s].users;
    }
    Info& i = info_[u];
    i.layout =
        LayoutOf(u, [this](const UOp& s) -> const DataLayout& { return info_.at(s).layout; });
    if (MakesMemory(u.op()) || u.IsConst() || u.Is(Op::kReduce)) {
      i.has_reduce = u.Is(Op::kReduce);
      i.loads = u.IsConst() ? 0 : 1;
      continue;
    }
    if (!ir::IsElementwise(u.op()) && !ir::IsMovement(u.op()) && !IsPassThrough(u.op())) continue;
    double cost = ir::IsElementwise(u.op()) ? OpCost(u.op()) : 0;
    double loads = 0;
    bool has_reduce = false;
    for (const UOp& s : u.src()) {
      // What is repeated is better stored before it is.
      if (u.Is(Op::kExpand)) continue;
      if (!assumed.contains(s)) cost += info_[s].cost;
      loads += assumed.contains(s) ? 1 : info_[s].loads;
      has_reduce |= info_[s].has_reduce;
    }
    // Shared subexpressions are counted more than once; the cap keeps that from running away.
    i.cost = std::min(cost, 1e4);
    i.loads = std::min(loads, 16.0);
    i.has_reduce = has_reduce;
  }
}

bool RealizePolicy::ShouldRealize(const UOp& u, absl::Span<const DemandView> demands,
                                  absl::Span<const UOp> users) const {
  if (u.Is(Op::kReduce)) return ShouldRealizeReduce(u, demands, users);
  if (ir::IsMovement(u.op()) || IsPassThrough(u.op())) return false;
  for (const DemandView& d : demands) {
    if (d.root_ops > kMaxKernelOps) return true;
  }
  const Info& info = info_.at(u);
  const double size = static_cast<double>(ir::NumElements(ShapeOf(u)).max());
  double evaluations = 0;
  for (const DemandView& d : demands) evaluations += Product(UsedLoops(d));
  if (demands.size() > 1 && EndsReduction(u)) return true;
  // Values in several kernels share nothing; in one kernel the compiler hoists what it can.
  const double inline_cost = evaluations * (info.cost + info.loads * kLoadCost);
  const double realize_cost =
      size * (info.cost + info.loads * kLoadCost + kStoreCost) + evaluations * kLoadCost;
  return inline_cost > realize_cost;
}

// Whether `u` is at the end of a chain of elementwise operations on the result of a reduction that
// nothing else reads: then storing u instead of the reduction's result saves the chain.
bool RealizePolicy::EndsReduction(const UOp& u) const {
  const double size = static_cast<double>(ir::NumElements(ShapeOf(u)).max());
  UOp n = u;
  while (true) {
    UOp next;
    for (const UOp& s : n.src()) {
      auto it = info_.find(s);
      if (it == info_.end() || !it->second.has_reduce) continue;
      if (static_cast<double>(ir::NumElements(ShapeOf(s)).max()) != size) continue;
      next = s;
      break;
    }
    if (!next || info_.at(next).users > 1) return false;
    if (next.Is(Op::kReduce)) return true;
    if (ir::IsMovement(next.op()) && !next.Is(Op::kPermute) && !next.Is(Op::kReshape)) return false;
    n = next;
  }
}

bool RealizePolicy::ShouldRealizeReduce(const UOp& u, absl::Span<const DemandView> demands,
                                        absl::Span<const UOp> users) const {
  if (demands.size() != 1) return true;
  const DemandView& d = demands[0];
  if (d.root_ops > kMaxKernelOps) return true;
  const std::vector<UOp> used = UsedLoops(d);
  // The loops that it depends on must be the outer ones.
  if (!std::equal(used.begin(), used.end(), d.loops.begin())) return true;
  const double size = static_cast<double>(ir::NumElements(ShapeOf(u)).max());
  const double evaluations = Product(used);
  const bool one_sum = used.size() == d.loops.size() && FeedsSumDirectly(u, users);
  if (evaluations > size * (one_sum ? kSumSlack : kReduceSlack) + 64) return true;
  const double row = static_cast<double>(ir::NumElements(ShapeOf(u.src(0))).max()) / size;

  const bool in_reduction = std::any_of(d.loops.begin(), d.loops.end(), [](const UOp& r) {
    return ir::IsReduceAxis(r.arg_as<ir::RangeArg>().type);
  });
  if (used.size() == d.loops.size()) {
    if (!in_reduction) return false;  // only what follows it elementwise
    if (one_sum) return false;        // one sum over all of the ranges
    return evaluations * row > kMaxSerialWork;
  }
  // Shared by inner loops. A sum of sums is work that wants the optimizer's full attention.
  if (info_.at(u.src(0)).has_reduce) return true;
  double outer = 1;
  for (const UOp& r : used) {
    if (!ir::IsReduceAxis(r.arg_as<ir::RangeArg>().type)) outer *= static_cast<double>(MaxSize(r));
  }
  if (evaluations * row <= kMaxSerialWork)
    return Product(d.loops) > kMaxSerialWork && outer < kMinOuterLoops;
  return outer < kMinOuterLoops || row > kMaxRow;
}

// Whether `u`, a sum, goes through movements only into another sum.
bool RealizePolicy::FeedsSumDirectly(const UOp& u, absl::Span<const UOp> users) const {
  if (u.arg_as<ir::ReduceArg>().op != Op::kAdd) return false;
  UOp n = u;
  std::vector<UOp> next(users.begin(), users.end());
  while (next.size() == 1) {
    n = next[0];
    if (n.Is(Op::kReduce)) return n.arg_as<ir::ReduceArg>().op == Op::kAdd;
    if (!ir::IsMovement(n.op()) && !IsPassThrough(n.op())) return false;
    auto it = users_.find(n);
    if (it == users_.end()) return false;
    next = it->second;
  }
  return false;
}

std::vector<int64_t> RealizePolicy::MemoryOrder(const UOp& u) const {
  const std::vector<int64_t>& order = info_.at(u).layout.order;
  return std::is_sorted(order.begin(), order.end()) ? std::vector<int64_t>() : order;
}

}  // namespace tg::schedule
