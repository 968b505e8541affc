#include "codegen/lower/replicate.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "codegen/lower/fold_node.h"
#include "codegen/lower/reduce_op.h"

namespace tg::lower {
namespace {

using ir::AxisType;
using ir::Op;
using ir::UOp;

// Registers in flight that hide the latency of an addition (4 cycles, 2 a cycle).
constexpr int64_t kAccumulators = 8;

bool IsExpanded(const UOp& u) {
  if (!u.Is(Op::kRange)) return false;
  const AxisType type = u.arg_as<ir::RangeArg>().type;
  return type == AxisType::kUpcast || type == AxisType::kUnroll;
}

int64_t Size(const UOp& range) { return range.src(0).const_int(); }

using Axes = absl::InlinedVector<UOp, 4>;

// The copies of one node: one for each combination of values of `axes`, the last fastest.
struct Copies {
  Axes axes;
  std::vector<UOp> nodes;
};

int64_t Product(const Axes& axes) {
  int64_t n = 1;
  for (const UOp& a : axes) n *= Size(a);
  return n;
}

// Counts through all combinations of `axes`; `value` of one axis at a time.
class Counter {
 public:
  explicit Counter(const Axes& axes) : axes_(axes), values_(axes.size(), 0) {}
  void Next() {
    for (size_t i = axes_.size(); i-- > 0;) {
      if (++values_[i] < Size(axes_[i])) return;
      values_[i] = 0;
    }
  }
  // Position among the copies of a node with `axes`, all of which are counted here or in `more`.
  int64_t Position(const Axes& axes, const Counter* more = nullptr) const {
    int64_t p = 0;
    for (const UOp& a : axes) p = p * Size(a) + Value(a, more);
    return p;
  }

 private:
  int64_t Value(const UOp& axis, const Counter* more) const {
    for (size_t i = 0; i < axes_.size(); ++i) {
      if (axes_[i] == axis) return values_[i];
    }
    return more != nullptr ? more->Value(axis, nullptr) : 0;
  }

  const Axes& axes_;
  absl::InlinedVector<int64_t, 4> values_;
};

class Replicator {
 public:
  explicit Replicator(const render::Target& target) : target_(target) {}

  absl::StatusOr<UOp> Run(const UOp& sink) {
    int64_t total = 0;
    for (const UOp& u : ir::Toposort(sink)) {
      Copies c;
      for (const UOp& r : u.ranges()) {
        if (IsExpanded(r)) c.axes.push_back(r);
      }
      const int64_t n = Product(c.axes);
      total += n;
      if (n > kMaxCopies || total > kMaxCopies) {
        return absl::ResourceExhaustedError(
            absl::StrCat("lower: the kernel expands to more than ", kMaxCopies, " nodes"));
      }
      c.nodes.reserve(n);
      Counter at(c.axes);
      for (int64_t i = 0; i < n; ++i, at.Next()) c.nodes.push_back(Make(u, c, at, i));
      copies_.emplace(u.id(), std::move(c));
    }
    return copies_.find(sink.id())->second.nodes[0];
  }

 private:
  const UOp& CopyOf(const UOp& s, const Counter& at, const Counter* more = nullptr) const {
    const Copies& c = copies_.find(s.id())->second;
    return c.nodes[c.axes.empty() ? 0 : at.Position(c.axes, more)];
  }

  UOp Make(const UOp& u, const Copies& mine, const Counter& at, int64_t copy) {
    if (IsExpanded(u)) return ir::IndexConst(copy);
    if ((u.Is(Op::kReduce) && u.src_count() > 1) || u.Is(Op::kEnd)) {
      return MakeClosing(u, mine, at);
    }
    absl::InlinedVector<UOp, 8> src;
    for (const UOp& s : u.src()) src.push_back(CopyOf(s, at));
    if (u.Is(Op::kIndex) && src.size() == 3 && src[2].vmin() == 1) {
      return UOp::Make(Op::kIndex, u.dtype(), absl::MakeConstSpan(src).subspan(0, 2));
    }
    if (u.Is(Op::kLoad) && src.size() == 2) {
      if (src[0].src_count() < 3) return UOp::Make(Op::kLoad, u.dtype(), {src[0]});
      if (src[0].src(2).vmax() == 0) return src[1];
    }
    return FoldNode(u, src);
  }

  // kReduce or kEnd: the copies of what it closes, and the loops that are left.
  UOp MakeClosing(const UOp& u, const Copies& mine, const Counter& at) {
    Axes closed;
    absl::InlinedVector<UOp, 8> loops;
    for (const UOp& r : u.src().subspan(1)) {
      if (IsExpanded(r)) {
        closed.push_back(r);
      } else {
        loops.push_back(CopyOf(r, at));
      }
    }
    std::vector<UOp> parts;
    const int64_t n = Product(closed);
    Counter inner(closed);
    for (int64_t i = 0; i < n; ++i, inner.Next()) parts.push_back(CopyOf(u.src(0), at, &inner));
    if (u.Is(Op::kEnd)) return MakeEnd(u, parts, loops);

    const Op op = u.arg_as<ir::ReduceArg>().op;
    if (loops.empty()) return CombineAll(op, parts);
    const int64_t registers =
        std::max<int64_t>(u.dtype().size() / std::max(target_.vector_bytes, 1), 1);
    const int64_t have = Product(mine.axes) * registers;
    const int64_t groups =
        std::clamp<int64_t>(kAccumulators / have, 1, static_cast<int64_t>(parts.size()));
    std::vector<UOp> partial;
    for (int64_t g = 0; g < groups; ++g) {
      std::vector<UOp> values;
      for (size_t i = g; i < parts.size(); i += groups) values.push_back(parts[i]);
      absl::InlinedVector<UOp, 8> src = {
          values.size() == 1 ? values[0] : UOp::Make(Op::kTuple, u.dtype(), values)};
      src.insert(src.end(), loops.begin(), loops.end());
      partial.push_back(UOp::Make(Op::kReduce, u.dtype(), src, u.arg()));
    }
    // Pairwise: the additions after the loop do not wait for each other.
    while (partial.size() > 1) {
      std::vector<UOp> next;
      for (size_t i = 0; i + 1 < partial.size(); i += 2) {
        next.push_back(Combine(op, partial[i], partial[i + 1], target_));
      }
      if (partial.size() % 2 != 0) next.push_back(partial.back());
      partial = std::move(next);
    }
    return partial[0];
  }

  UOp CombineAll(Op op, const std::vector<UOp>& parts) const {
    UOp result = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) result = Combine(op, result, parts[i], target_);
    return result;
  }

  static UOp MakeEnd(const UOp& u, const std::vector<UOp>& parts,
                     const absl::InlinedVector<UOp, 8>& loops) {
    std::vector<UOp> stores;
    for (const UOp& p : parts) {
      if (p.Is(Op::kGroup)) {
        stores.insert(stores.end(), p.src().begin(), p.src().end());
      } else {
        stores.push_back(p);
      }
    }
    // A copy that is never valid stores nothing.
    stores.erase(std::remove_if(stores.begin(), stores.end(),
                                [](const UOp& s) {
                                  return s.src(0).src_count() == 3 && s.src(0).src(2).vmax() == 0;
                                }),
                 stores.end());
    const UOp body = stores.size() == 1 ? stores[0] : UOp::Make(Op::kGroup, ir::kVoid, stores);
    if (loops.empty() || stores.empty()) return body;
    absl::InlinedVector<UOp, 8> src = {body};
    src.insert(src.end(), loops.begin(), loops.end());
    return UOp::Make(Op::kEnd, u.dtype(), src);
  }

  const render::Target& target_;
  absl::flat_hash_map<const void*, Copies> copies_;
};

}  // namespace

absl::StatusOr<UOp> Replicate(const UOp& sink, const render::Target& target) {
  return Replicator(target).Run(sink);
}

}  // namespace tg::lower
