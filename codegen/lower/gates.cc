#include "codegen/lower/gates.h"

#include <algorithm>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "codegen/lower/rebuild.h"

namespace tg::lower {
namespace {

using ir::Op;
using ir::UOp;

// The conditions whose conjunction `u` is.
void Conjuncts(const UOp& u, std::vector<UOp>& out) {
  std::vector<UOp> stack = {u};
  while (!stack.empty()) {
    const UOp c = stack.back();
    stack.pop_back();
    if (c.Is(Op::kAnd)) {
      stack.push_back(c.src(0));
      stack.push_back(c.src(1));
    } else if (!c.IsConstInt(1)) {
      out.push_back(c);
    }
  }
}

// Whether `gate` implies `cond` since it has all of its conjuncts.
bool Implies(const UOp& gate, const UOp& cond) {
  if (gate == cond) return true;
  std::vector<UOp> have, want;
  Conjuncts(gate, have);
  Conjuncts(cond, want);
  return std::all_of(want.begin(), want.end(), [&](const UOp& w) {
    return w.vmin() == 1 || std::find(have.begin(), have.end(), w) != have.end();
  });
}

// Whether `x` is 0 where `cond` is false: a product of loads that are all 0 there.
bool IsZeroUnless(const UOp& x, const UOp& cond) {
  absl::InlinedVector<UOp, 4> stack = {x};
  while (!stack.empty()) {
    const UOp u = stack.back();
    stack.pop_back();
    if (u.Is(Op::kMul)) {
      stack.push_back(u.src(0));
      stack.push_back(u.src(1));
    } else if (u.Is(Op::kCast)) {
      stack.push_back(u.src(0));
    } else if (!u.Is(Op::kLoad) || u.src_count() < 2 ||
               !(u.src(1).IsConstFloat(0) || u.src(1).IsConstInt(0)) ||
               !Implies(u.src(0).src(2), cond)) {
      return false;
    }
  }
  return true;
}

UOp And(const UOp& a, const UOp& b) {
  if (a == b || a.vmin() == 1) return b;
  return b.vmin() == 1 ? a : a & b;
}

// kIndex with the validity of its index as its gate.
UOp Gate(const UOp& index, absl::Span<const UOp> src) {
  UOp gate = src.size() > 2 ? src[2] : ir::Const(ir::kBool, true);
  UOp i = src[1];
  if (i.Is(Op::kWhere) && i.src(2).IsInvalid()) {
    gate = And(gate, i.src(0));
    i = i.src(1);
  }
  if (gate.vmin() == 1) return UOp::Make(Op::kIndex, index.dtype(), {src[0], i});
  return UOp::Make(Op::kIndex, index.dtype(), {src[0], i, gate});
}

// WHERE(v, x, Invalid) moves out of the operation `u`: its result is valid where all sources are.
UOp LiftInvalid(const UOp& u, absl::Span<const UOp> src) {
  absl::InlinedVector<UOp, 3> bare(src.begin(), src.end());
  UOp valid = ir::Const(ir::kBool, true);
  bool found = false;
  for (UOp& s : bare) {
    if (s.Is(Op::kWhere) && s.src(2).IsInvalid()) {
      valid = And(valid, s.src(0));
      s = s.src(1);
      found = true;
    }
  }
  if (!found) return WithSources(u, src);
  return ir::Valid(u.WithSrc(bare), valid);
}

}  // namespace

absl::StatusOr<UOp> MoveGates(const UOp& sink) {
  absl::Status status;
  const UOp result = Rebuild(sink, [&](const UOp& u, absl::Span<const UOp> src) -> UOp {
    switch (u.op()) {
      case Op::kIndex:
        return Gate(u, src);
      case Op::kLoad: {
        if (src[0].src_count() < 3) return UOp::Make(Op::kLoad, u.dtype(), {src[0]});
        const UOp alt = src.size() > 1 ? src[1] : ir::Const(u.dtype(), 0);
        return src[0].src(2).vmax() == 0 ? alt : UOp::Make(Op::kLoad, u.dtype(), {src[0], alt});
      }
      case Op::kStore:
        if (src[0].src_count() == 3 && src[0].src(2).vmax() == 0) {
          return UOp::Make(Op::kGroup, ir::kVoid, {});
        }
        return WithSources(u, src);
      case Op::kGroup: {
        std::vector<UOp> kept;
        for (const UOp& s : src) {
          if (s.Is(Op::kStore)) kept.push_back(s);
        }
        return WithSources(u, kept);
      }
      case Op::kEnd:
        return src[0].Is(Op::kGroup) && src[0].src_count() == 0 ? src[0] : WithSources(u, src);
      case Op::kSink: {
        std::vector<UOp> kept;
        for (const UOp& s : src) {
          if (!s.Is(Op::kGroup) || s.src_count() > 0) kept.push_back(s);
        }
        return WithSources(u, kept);
      }
      case Op::kWhere: {
        // Without vectors: this is the kernel stage.
        const UOp &cond = src[0], &x = src[1], &y = src[2];
        if (cond.vmin() == 1) return x;
        if (cond.vmax() == 0 && !y.IsInvalid()) return y;
        if (y.IsInvalid()) return WithSources(u, src);
        if (x.IsInvalid()) return ir::Valid(y, ir::Not(cond));
        if (x.Is(Op::kLoad) && x.src_count() == 2 && x.src(1) == y &&
            Implies(x.src(0).src(2), cond)) {
          return x;
        }
        if ((y.IsConstFloat(0) || y.IsConstInt(0)) && IsZeroUnless(x, cond)) return x;
        return LiftInvalid(u, src);
      }
      default:
        return ir::IsElementwise(u.op()) ? LiftInvalid(u, src) : WithSources(u, src);
    }
  });
  for (const UOp& u : ir::Toposort(result)) {
    if (u.IsInvalid()) {
      return absl::InvalidArgumentError("lower: Invalid is no alternative of an index");
    }
  }
  return result;
}

}  // namespace tg::lower
