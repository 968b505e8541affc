#include "codegen/opt/rebuild.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace tg::opt {

using ir::Op;
using ir::UOp;

UOp ReduceIdentity(Op op, ir::DType d) {
  switch (op) {
    case Op::kAdd:
      return ir::Const(d, 0);
    case Op::kMul:
      return ir::Const(d, 1);
    case Op::kMax:
      return d.IsFloat() ? ir::Const(d, -std::numeric_limits<double>::infinity())
                         : ir::Const(d, d.MinInt());
    default:
      TG_FATAL() << "no reduction: " << op;
  }
}

UOp ReplaceRanges(const UOp& kernel, const RangeReplacements& replacements,
                  const absl::flat_hash_map<UOp, int>& position) {
  auto rank = [&position](const UOp& r) {
    auto it = position.find(r);
    return it == position.end() ? -1 : it->second;
  };
  // The condition under which the ranges that `ranges` lists are inside.
  auto valid_over = [&replacements](absl::Span<const UOp> ranges) {
    UOp valid;
    for (const UOp& r : ranges) {
      auto it = replacements.find(r);
      if (it == replacements.end() || !it->second.valid) continue;
      valid = valid ? valid & it->second.valid : it->second.valid;
    }
    return valid;
  };

  ir::UOpMap done;
  auto mapped = [&done](const UOp& u) {
    auto it = done.find(u);
    return it == done.end() ? u : it->second;
  };
  std::vector<UOp> src;
  for (const UOp& u : ir::Toposort(kernel)) {
    if (auto it = replacements.find(u); it != replacements.end()) {
      done.emplace(u, it->second.value);
      continue;
    }
    src.clear();
    if (u.Is(Op::kReduce) || u.Is(Op::kEnd)) {
      UOp body = mapped(u.src(0));
      const absl::Span<const UOp> closed = u.src().subspan(1);
      if (u.Is(Op::kReduce)) {
        if (UOp valid = valid_over(closed)) {
          body = ir::Where(valid, body, ReduceIdentity(u.arg_as<ir::ReduceArg>().op, body.dtype()));
        }
      }
      for (const UOp& r : closed) {
        auto it = replacements.find(r);
        if (it == replacements.end()) {
          src.push_back(mapped(r));
        } else {
          src.insert(src.end(), it->second.parts.begin(), it->second.parts.end());
        }
      }
      if (u.Is(Op::kReduce) && src.empty()) {
        done.emplace(u, std::move(body));
        continue;
      }
      std::stable_sort(src.begin(), src.end(),
                       [&rank](const UOp& a, const UOp& b) { return rank(a) < rank(b); });
      src.insert(src.begin(), std::move(body));
    } else {
      for (const UOp& s : u.src()) src.push_back(mapped(s));
      if (u.Is(Op::kIndex)) {
        if (UOp valid = valid_over(u.src(1).ranges())) {
          const UOp before = ir::GetValid(src[1]);
          src[1] = ir::Valid(ir::GetIndex(src[1]), before.IsConstInt(1) ? valid : before & valid);
        }
      }
    }
    if (!std::equal(src.begin(), src.end(), u.src().begin(), u.src().end())) {
      done.emplace(u, u.WithSrc(src));
    }
  }
  return mapped(kernel);
}

}  // namespace tg::opt
