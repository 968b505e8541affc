#include "codegen/ir/simplify/order.h"

#include <algorithm>

namespace tg::ir {
namespace {

// Deeper than this the hash decides.
constexpr int kDepth = 3;

template <typename T>
int Sign(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int CompareLeaves(const UOp& a, const UOp& b) {
  switch (a.op()) {
    case Op::kConst: {
      const int64_t* x = std::get_if<int64_t>(&a.arg());
      const int64_t* y = std::get_if<int64_t>(&b.arg());
      return x != nullptr && y != nullptr ? Sign(*x, *y) : 0;
    }
    case Op::kRange: {
      const RangeArg &x = a.arg_as<RangeArg>(), &y = b.arg_as<RangeArg>();
      if (x.type != y.type) return Sign(x.type, y.type);
      return Sign(x.id, y.id);
    }
    case Op::kVariable:
      return Sign(a.arg_as<VariableArg>().name, b.arg_as<VariableArg>().name);
    case Op::kParam:
      return Sign(a.arg_as<ParamArg>().slot, b.arg_as<ParamArg>().slot);
    case Op::kBuffer:
      return Sign(a.arg_as<BufferArg>().id, b.arg_as<BufferArg>().id);
    default:
      return 0;
  }
}

int Compare(const UOp& a, const UOp& b, int depth) {
  if (a == b) return 0;
  if (a.op() != b.op()) {
    if (a.IsConst() || b.IsConst()) return a.IsConst() ? 1 : -1;
    return Sign(a.op(), b.op());
  }
  if (int c = CompareLeaves(a, b); c != 0) return c;
  if (depth > 0) {
    const int n = std::min(a.src_count(), b.src_count());
    for (int i = 0; i < n; ++i) {
      if (int c = Compare(a.src(i), b.src(i), depth - 1); c != 0) return c;
    }
  }
  if (a.hash() != b.hash()) return Sign(a.hash(), b.hash());
  return Sign(a.id(), b.id());
}

}  // namespace

int CompareOrder(const UOp& a, const UOp& b) { return Compare(a, b, kDepth); }

}  // namespace tg::ir
