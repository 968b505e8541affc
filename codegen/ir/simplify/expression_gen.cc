#include "codegen/ir/simplify/expression_gen.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace tg::ir::testing {
namespace {

constexpr DType kInts[] = {kInt8, kUInt8, kInt16, kUInt16, kInt32, kUInt32, kInt64, kUInt64};
constexpr DType kFloats[] = {kFloat32, kFloat64, kFloat16};

}  // namespace

void Generator::NewLeaves(int64_t max_points) {
  static constexpr int kSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 28, 60};
  leaves_.clear();
  const int count = 1 + Below(4);
  int64_t points = 1;
  for (int i = 0; i < count; ++i) {
    int64_t size = kSizes[Below(std::size(kSizes))];
    while (size > 1 && points * size > max_points) --size;
    points *= size;
    if (OneIn(2)) {
      leaves_.push_back(Range(size, i, OneIn(3) ? AxisType::kReduce : AxisType::kLoop));
    } else {
      const int64_t low = OneIn(2) ? 0 : Below(20) - 12;
      leaves_.push_back(Variable(std::string(1, static_cast<char>('a' + i)), low, low + size - 1));
    }
  }
  // A range of symbolic size.
  if (OneIn(6)) {
    const UOp n = Variable("n", 1, 5);
    leaves_.resize(std::min<size_t>(leaves_.size(), 2));
    leaves_.push_back(n);
    leaves_.push_back(Range(OneIn(2) ? n : n * (2 + Below(2)), 7));
  }
}

DType Generator::AnyInt() { return OneIn(2) ? kIndex : kInts[Below(std::size(kInts))]; }
DType Generator::AnyType() {
  const int n = Below(10);
  return n == 0 ? kBool : n == 1 ? kFloats[Below(std::size(kFloats))] : AnyInt();
}

UOp Generator::Constant(DType d) {
  if (d.IsBool()) return Const(d, OneIn(2));
  if (d.IsFloat()) {
    static constexpr double kValues[] = {0, 1, -1, 2, 0.5, 3.25, -7};
    return Const(d, kValues[Below(std::size(kValues))]);
  }
  static constexpr int kValues[] = {0, 1, -1, 2,  2,  3,  4,  4,  5, 6,
                                    7, 8, 12, 16, 28, -2, -3, -4, -7};
  if (OneIn(12) && !d.IsWeak()) return Const(d, OneIn(2) ? d.MinInt() : d.MaxInt());
  if (OneIn(20) && d.IsWeak()) {
    return Const(d, (OneIn(2) ? int64_t{1} : int64_t{-1}) << (40 + Below(23)));
  }
  return Const(d, kValues[Below(std::size(kValues))]);
}

UOp Generator::Leaf(DType d) {
  if (d.IsWeak()) {
    if (leaves_.empty()) NewLeaves();
    return leaves_[Below(static_cast<int>(leaves_.size()))];
  }
  if (!d.IsFloat() && !d.IsBool() && OneIn(2)) return Cast(Leaf(kIndex), d);
  // Memory: any value of the type.
  const UOp memory = Param(Below(3), d, 1);
  return UOp::Make(Op::kLoad, d, {UOp::Make(Op::kIndex, d, {memory, IndexConst(0)})});
}

UOp Generator::Condition(int depth) {
  if (depth <= 0) return OneIn(3) ? Leaf(kBool) : Integer(kIndex, 0) < Constant(kIndex);
  switch (Below(10)) {
    case 0:
      return Not(Condition(depth - 1));
    case 1:
      return Condition(depth - 1) & Condition(depth - 1);
    case 2:
      return Condition(depth - 1) | Condition(depth - 1);
    case 3:
      return Alu(OneIn(2) ? Op::kXor : Op::kCmpEq, {Condition(depth - 1), Condition(depth - 1)});
    case 4:
      return OneIn(2) ? Where(Condition(depth - 1), Condition(depth - 1), Condition(depth - 1))
                      : Cast(Expression(AnyInt(), depth - 1), kBool);
    default:
      break;
  }
  const DType d = OneIn(12) ? AnyType() : AnyInt();
  static constexpr Op kOps[] = {Op::kCmpLt, Op::kCmpLt, Op::kCmpEq, Op::kCmpNe};
  UOp a = Expression(d, depth - 1), b = OneIn(2) ? Constant(d) : Expression(d, depth - 1);
  if (OneIn(5)) std::swap(a, b);
  return Alu(kOps[Below(4)], {a, b});
}

UOp Generator::Integer(DType d, int depth) {
  if (depth <= 0) return OneIn(5) ? Constant(d) : Leaf(d);
  auto sub = [&] { return Integer(d, depth - 1 - (OneIn(4) ? 1 : 0)); };
  auto divisor = [&] {
    if (OneIn(12)) return Leaf(d);
    UOp c = Constant(d);
    while (c.const_int() == 0) c = Constant(d);
    return c;
  };
  switch (Below(22)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return sub() + sub();
    case 4:
      return sub() + Constant(d);
    case 5:
      return Constant(d) + sub();
    case 6:
    case 7:
    case 8:
      return sub() * Constant(d);
    case 9:
      return OneIn(2) ? sub() * sub() : Constant(d) * sub();
    case 10:
    case 11:
    case 12:
      return FloorDiv(sub(), divisor());
    case 13:
    case 14:
      return FloorMod(sub(), divisor());
    case 15:
      return Cdiv(sub(), divisor());
    case 16:
      return Cmod(sub(), divisor());
    case 17:
      return Max(sub(), OneIn(2) ? Constant(d) : sub());
    case 18:
      return Where(Condition(depth - 1), sub(), OneIn(2) ? Constant(d) : sub());
    case 19:
      if (OneIn(3)) return Alu(Op::kNeg, {sub()});
      return OneIn(2) ? Alu(Op::kSub, {sub(), sub()}) : sub() - sub();
    case 20: {
      static constexpr Op kOps[] = {Op::kAnd, Op::kOr, Op::kXor, Op::kShl, Op::kShr};
      const Op op = kOps[Below(5)];
      const bool shift = op == Op::kShl || op == Op::kShr;
      return Alu(op, {sub(), shift ? Const(d, Below(9)) : OneIn(2) ? Constant(d) : sub()});
    }
    default:
      return OneIn(3) ? Cast(Condition(depth - 1), d)
                      : Cast(Expression(OneIn(8) ? AnyType() : AnyInt(), depth - 1), d);
  }
}

UOp Generator::Float(DType d, int depth) {
  if (depth <= 0) return OneIn(4) ? Constant(d) : Leaf(d);
  auto sub = [&] { return Float(d, depth - 1); };
  // Rules may change the sign of a zero: nothing here may show it.
  auto nonzero = [&] {
    UOp c = Constant(d);
    while (c.const_float() == 0) c = Constant(d);
    return c;
  };
  switch (Below(10)) {
    case 0:
    case 1:
      return sub() + sub();
    case 2:
      return sub() * sub();
    case 3:
      return Max(sub(), sub());
    case 4:
      return Alu(Op::kSub, {sub(), sub()});
    case 5:
      return Alu(OneIn(2) ? Op::kNeg : Op::kTrunc, {sub()});
    case 6:
      return Alu(Op::kFdiv, {sub(), nonzero()});
    case 7:
      return Where(Condition(depth - 1), sub(), sub());
    case 8:
      return Alu(Op::kPow, {sub(), Const(d, Below(3))});
    default:
      return Cast(OneIn(2) ? Expression(AnyType(), depth - 1) : Leaf(kIndex), d);
  }
}

UOp Generator::Expression(DType d, int depth) {
  if (d.IsBool()) return Condition(depth);
  return d.IsFloat() ? Float(d, depth) : Integer(d, depth);
}

UOp Generator::WithRoot(Op op, DType d, int depth, bool guards) {
  const bool constants = OneIn(6);
  auto sub = [&](DType t) {
    if (constants) return Constant(t);
    const UOp u = Expression(t, depth - 1);
    return guards && OneIn(3) ? Where(Condition(1), u, InvalidConst(t)) : u;
  };
  if (op == Op::kWhere) {
    if (guards) return Where(sub(kBool), Expression(d, 1), Expression(d, 1));
    if (OneIn(3)) return Where(Condition(depth - 1), sub(d), InvalidConst(d));
    return Where(Condition(depth - 1), sub(d), sub(d));
  }
  if (op == Op::kCast) {
    const DType from = OneIn(4) ? d : AnyType();
    const UOp x = OneIn(4) ? Where(Condition(1), Constant(from), Constant(from)) : sub(from);
    return UOp::Make(op, d, {OneIn(2) ? Cast(x, AnyInt()) : x});
  }
  if (op == Op::kBitcast) {
    const DType same = d == kInt32 ? kUInt32 : d == kUInt32 ? kInt32 : d == kInt8 ? kUInt8 : d;
    if (d.IsWeak() || d.IsBool()) return UOp();
    return UOp::Make(op, d, {OneIn(2) ? UOp::Make(op, same, {sub(d)}) : sub(same)});
  }
  if (IsComparison(op)) {
    if (!d.IsBool()) return UOp();
    const DType in = OneIn(8) ? kBool : AnyInt();
    UOp a = sub(in), b = OneIn(2) ? Constant(in) : sub(in);
    if (OneIn(4)) a = Cast(sub(kBool), in);
    if (OneIn(5)) a = Where(sub(kBool), Constant(in), Constant(in));
    return Alu(op, {a, b});
  }
  const bool bits = op == Op::kAnd || op == Op::kOr || op == Op::kXor;
  const bool division = op == Op::kFloorDiv || op == Op::kFloorMod || op == Op::kCdiv ||
                        op == Op::kCmod || op == Op::kShl || op == Op::kShr;
  const bool floats = op == Op::kFdiv || op == Op::kPow || op == Op::kSqrt || op == Op::kExp2 ||
                      op == Op::kLog2 || op == Op::kSin || op == Op::kReciprocal;
  if ((bits && d.IsFloat()) || (division && !d.IsInt()) || (floats && !d.IsFloat())) return UOp();
  if (IsUnary(op)) {
    return op == Op::kTrunc && d.IsBool() ? UOp() : Alu(op, {sub(d)});
  }
  if (!IsBinary(op) || op == Op::kThreefry) return UOp();
  UOp a = sub(d), b = OneIn(2) ? Constant(d) : sub(d);
  if (division && OneIn(4)) a = Where(sub(kBool), Constant(d), Constant(d));
  // Sums of a quotient and its remainder.
  if (op == Op::kAdd && d.IsInt() && OneIn(4)) {
    const UOp c = Const(d, 2 + Below(6));
    a = FloorDiv(sub(d), c);
    b = FloorMod(a.src(0), c);
    a = a * c;
  }
  if (op == Op::kAdd && OneIn(4)) b = OneIn(2) ? a : a * Constant(d);
  return Alu(op, {a, b});
}

UOp Generator::Guarded(DType d, int depth) {
  const UOp guarded = Where(Condition(2), Expression(d, depth - 1), InvalidConst(d));
  if (!d.IsInt()) return guarded;
  switch (Below(5)) {
    case 0:
      return guarded + Integer(d, 1);
    case 1:
      return FloorDiv(guarded, Const(d, 1 + Below(8)));
    case 2:
      return Where(Condition(1), guarded * Constant(d), InvalidConst(d));
    case 3:
      return FloorMod(guarded + Integer(d, 1), Const(d, 1 + Below(8)));
    default:
      return guarded;
  }
}

namespace {

Value RandomValue(DType d, std::mt19937_64& random) {
  if (d.IsBool()) return {.i = static_cast<int>(random() & 1)};
  if (d.IsFloat()) {
    static const double kValues[] = {0,    1,      -1,       0.5,       -2.5, 3,
                                     1e30, -65504, INFINITY, -INFINITY, NAN};
    double v = kValues[random() % std::size(kValues)];
    if (random() % 3 == 0) v = (static_cast<double>(random() % 2000) - 1000) / 16;
    return {.f = RoundToFloat(v, d)};
  }
  __int128 low = d.MinInt(), high = d.MaxInt();
  if (d.scalar() == ScalarType::kUInt64) high = std::numeric_limits<uint64_t>::max();
  const __int128 small = static_cast<__int128>(random() % 41) - 20;
  switch (random() % 5) {
    case 0:
      return {.i = low + static_cast<int>(random() % 3)};
    case 1:
      return {.i = high - static_cast<int>(random() % 3)};
    case 2:
      return {.i = low + static_cast<__int128>(static_cast<unsigned __int128>(random()) %
                                               static_cast<unsigned __int128>(high - low + 1))};
    default:
      return {.i = std::clamp(small, low, high)};
  }
}

}  // namespace

std::optional<Difference> FindDifference(const UOp& before, const UOp& after, uint64_t seed,
                                         int64_t max_points) {
  if (before == after) return std::nullopt;
  // One evaluation gives both: a pair below a node that is neither's.
  Evaluator first(before), second(after);
  std::vector<UOp> leaves = first.leaves();
  for (const UOp& u : second.leaves()) {
    if (std::find(leaves.begin(), leaves.end(), u) == leaves.end()) leaves.push_back(u);
  }
  // The sizes of symbolic ranges.
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i].Is(Op::kRange)) continue;
    for (const UOp& u : Toposort(leaves[i].src(0))) {
      if (u.Is(Op::kVariable) && std::find(leaves.begin(), leaves.end(), u) == leaves.end()) {
        leaves.push_back(u);
      }
    }
  }
  auto positions = [&leaves](const Evaluator& e) {
    std::vector<size_t> r;
    for (const UOp& u : e.leaves()) {
      r.push_back(static_cast<size_t>(std::find(leaves.begin(), leaves.end(), u) - leaves.begin()));
    }
    return r;
  };
  const std::vector<size_t> at_first = positions(first), at_second = positions(second);
  struct Size {
    size_t range;
    Evaluator size;
    std::vector<size_t> at;
  };
  std::vector<Size> sizes;
  int64_t points = 1;
  bool sampled = false;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const UOp& u = leaves[i];
    if (u.Is(Op::kVariable) || u.Is(Op::kRange)) {
      points = std::min<int64_t>(points * (u.vmax() - u.vmin() + 1), int64_t{1} << 40);
    } else {
      sampled = true;
    }
    if (u.Is(Op::kRange) && !u.src(0).IsConst()) {
      Evaluator e(u.src(0));
      std::vector<size_t> at = positions(e);
      sizes.push_back({i, std::move(e), std::move(at)});
    }
  }
  std::mt19937_64 random(seed);
  const bool all = points <= max_points && (!sampled || points <= 64);
  const int64_t repeats = all ? (sampled ? 24 : 1) : 1;
  const int64_t trials = all ? points : std::min<int64_t>(max_points, 400);
  std::vector<Value> values(leaves.size()), a, b;
  auto gather = [&values](const std::vector<size_t>& at, std::vector<Value>& out) -> auto& {
    out.clear();
    for (size_t i : at) out.push_back(values[i]);
    return out;
  };
  for (int64_t repeat = 0; repeat < repeats; ++repeat) {
    for (int64_t point = 0; point < trials; ++point) {
      int64_t rest = point;
      for (size_t i = 0; i < leaves.size(); ++i) {
        const UOp& u = leaves[i];
        if (u.Is(Op::kVariable) || u.Is(Op::kRange)) {
          const int64_t size = u.vmax() - u.vmin() + 1;
          const int64_t offset =
              all ? rest % size : static_cast<int64_t>(random() % static_cast<uint64_t>(size));
          values[i] = {.i = u.vmin() + offset};
          rest /= size;
        } else {
          values[i] = RandomValue(u.dtype(), random);
        }
      }
      const bool inside = std::all_of(sizes.begin(), sizes.end(), [&](Size& s) {
        return values[s.range].i < s.size.Run(gather(s.at, a)).i;
      });
      if (!inside) continue;
      const Value x = first.Run(gather(at_first, a)), y = second.Run(gather(at_second, b));
      if (Refines(x, y, before.dtype())) continue;
      Difference d{
          .point = "", .before = ToString(x, before.dtype()), .after = ToString(y, before.dtype())};
      for (size_t i = 0; i < leaves.size(); ++i) {
        absl::StrAppend(&d.point, i == 0 ? "" : ", ", ToCpp(leaves[i]), " = ",
                        ToString(values[i], leaves[i].dtype()));
      }
      return d;
    }
  }
  return std::nullopt;
}

namespace {

// Leaves the sizes of ranges alone.
UOp ReplaceIn(const UOp& root, const UOp& from, const UOp& to) {
  absl::flat_hash_map<UOp, UOp> done = {{from, to}};
  auto inside = [&from](const UOp& u) { return IsElementwise(u.op()) && !(u == from); };
  for (const UOp& u : Toposort(root, inside)) {
    if (!inside(u)) continue;
    std::vector<UOp> src;
    for (const UOp& s : u.src()) src.push_back(done.contains(s) ? done.at(s) : s);
    done.emplace(u, u.WithSrc(src));
  }
  return done.contains(root) ? done.at(root) : root;
}

}  // namespace

UOp Minimize(const UOp& start, const std::function<bool(const UOp&)>& fails) {
  UOp best = start;
  for (bool smaller = true; smaller;) {
    smaller = false;
    const std::vector<UOp> nodes =
        Toposort(best, [](const UOp& u) { return IsElementwise(u.op()); });
    const size_t size = nodes.size();
    auto accept = [&](const UOp& candidate) {
      if (candidate == best) return false;
      if (candidate.Is(Op::kRange) || Toposort(candidate).size() > Toposort(best).size() ||
          !fails(candidate)) {
        return false;
      }
      best = candidate;
      return true;
    };
    for (size_t n = 0; n + 1 < size && !smaller; ++n) {
      if (IsElementwise(nodes[n].op()) && fails(nodes[n])) {
        best = nodes[n];
        smaller = true;
      }
    }
    for (size_t n = size; n-- > 0 && !smaller;) {
      const UOp& u = nodes[n];
      if (u.IsConst()) {
        if (u.IsInvalid() || u.dtype().IsFloat() || u.IsConstInt(0) || u.IsConstInt(1)) continue;
        for (const int64_t v : {int64_t{0}, int64_t{1}, u.const_int() / 2}) {
          if (v != u.const_int() && (smaller = accept(ReplaceIn(best, u, Const(u.dtype(), v))))) {
            break;
          }
        }
        continue;
      }
      if (!IsElementwise(u.op())) continue;
      for (const UOp& s : u.src()) {
        if (s.dtype() == u.dtype() && (smaller = accept(ReplaceIn(best, u, s)))) break;
      }
      for (const int v : {0, 1}) {
        if (smaller || u.dtype().IsVoid()) break;
        smaller = accept(ReplaceIn(best, u, Const(u.dtype(), v)));
      }
    }
  }
  return best;
}

}  // namespace tg::ir::testing
