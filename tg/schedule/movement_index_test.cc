#include "tg/schedule/movement_index.h"

#include <functional>
#include <random>
#include <vector>

#include "codegen/ir/simplify/simplify.h"
#include "gtest/gtest.h"

namespace tg::schedule {
namespace {

using ir::Op;
using ir::Shape;
using ir::UOp;

UOp Input(const Shape& shape) {
  return ir::Reshape(UOp::Make(Op::kBuffer, ir::kFloat32, {},
                               ir::Arg(ir::BufferArg{.id = 0,
                                                     .size = ir::NumElements(shape).value(),
                                                     .space = ir::AddrSpace::kGlobal,
                                                     .device = "CPU",
                                                     .storage = nullptr})),
                     shape);
}

using Ints = std::vector<int64_t>;

Ints Sizes(const UOp& u) {
  Ints r;
  for (const ir::Sint& s : ir::ShapeOf(u)) r.push_back(s.value());
  return r;
}

void ForEach(const Ints& sizes, const std::function<void(const Ints&)>& f) {
  Ints at(sizes.size(), 0);
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  for (int64_t i = 0; i < n; ++i) {
    f(at);
    for (size_t a = sizes.size(); a-- > 0;) {
      if (++at[a] < sizes[a]) break;
      at[a] = 0;
    }
  }
}

// The definition of the movements: where an element comes from; false: from nowhere.
bool Source(const UOp& u, const Ints& at, Ints* from) {
  const Ints shape = Sizes(u.src(0));
  *from = at;
  switch (u.op()) {
    case Op::kReshape: {
      int64_t flat = 0;
      const Ints to = Sizes(u);
      for (size_t i = 0; i < to.size(); ++i) flat = flat * to[i] + at[i];
      from->assign(shape.size(), 0);
      for (size_t i = shape.size(); i-- > 0; flat /= shape[i]) (*from)[i] = flat % shape[i];
      return true;
    }
    case Op::kExpand:
      for (size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == 1) (*from)[i] = 0;
      }
      return true;
    case Op::kPermute: {
      const ir::Ints& order = u.arg_as<ir::Ints>();
      for (size_t i = 0; i < order.size(); ++i) (*from)[order[i]] = at[i];
      return true;
    }
    case Op::kFlip:
      for (int64_t a : u.arg_as<ir::Ints>()) (*from)[a] = shape[a] - 1 - at[a];
      return true;
    case Op::kPad:
    case Op::kShrink:
      for (size_t i = 0; i < shape.size(); ++i) {
        const int64_t begin = u.src(1 + 2 * static_cast<int>(i)).const_int();
        (*from)[i] += u.Is(Op::kPad) ? -begin : begin;
      }
      break;
    case Op::kShear: {
      const auto& a = u.arg_as<ir::ShearArg>();
      (*from)[a.axis] += a.coef * at[a.by] + u.src(1).const_int();
      break;
    }
    default:
      ADD_FAILURE() << "no movement";
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if ((*from)[i] < 0 || (*from)[i] >= shape[i]) return false;
  }
  return true;
}

class Random {
 public:
  explicit Random(uint32_t seed) : rng_(seed) {}
  int64_t Between(int64_t a, int64_t b) {
    return a + static_cast<int64_t>(rng_() % static_cast<uint32_t>(b - a + 1));
  }
  Shape AnyShape() {
    Shape s;
    for (int64_t n = Between(1, 4); n > 0; --n) s.push_back(Between(1, 5));
    return s;
  }
  UOp AnyMovement(const UOp& x) {
    const Ints sizes = Sizes(x);
    const int64_t n = static_cast<int64_t>(sizes.size());
    switch (Between(0, 6)) {
      case 0: {
        Shape to;
        int64_t rest = 1;
        for (int64_t s : sizes) rest *= s;
        while (rest > 1) {
          int64_t f = Between(2, rest);
          while (rest % f != 0) ++f;
          to.push_back(f);
          rest /= f;
          if (Between(0, 4) == 0) to.push_back(1);
        }
        return ir::Reshape(x, to);
      }
      case 1: {
        Shape to;
        for (int64_t s : sizes) to.push_back(s == 1 ? Between(1, 4) : s);
        return ir::Expand(x, to);
      }
      case 2: {
        Ints order(n);
        for (int64_t i = 0; i < n; ++i) order[i] = i;
        std::shuffle(order.begin(), order.end(), rng_);
        return ir::Permute(x, order);
      }
      case 3: {
        Ints axes;
        for (int64_t i = 0; i < n; ++i) {
          if (Between(0, 1) == 1) axes.push_back(i);
        }
        return ir::Flip(x, axes);
      }
      case 4: {
        ir::Bounds2 pads;
        for (int64_t i = 0; i < n; ++i) pads.emplace_back(Between(0, 2), Between(0, 2));
        return ir::Pad(x, pads);
      }
      case 5: {
        ir::Bounds2 box;
        for (int64_t s : sizes) {
          const int64_t begin = Between(0, s - 1);
          box.emplace_back(begin, Between(begin + 1, s));
        }
        return ir::Shrink(x, box);
      }
      default: {
        if (n < 2) return x;
        const int axis = static_cast<int>(Between(0, n - 1));
        const int by = static_cast<int>((axis + Between(1, n - 1)) % n);
        return ir::Shear(x, axis, by, Between(-2, 2), Between(-2, 2), Between(1, 6));
      }
    }
  }

 private:
  std::mt19937 rng_;
};

int64_t Value(const UOp& x, const ir::UOpMap& at) {
  const UOp v = ir::Simplify(ir::Substitute(x, at));
  EXPECT_TRUE(v.IsConst());
  return v.IsConst() ? v.const_int() : -1;
}

// Chains of movements, as expressions of loops, against their definition element by element.
TEST(MovementIndexTest, RandomChains) {
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    std::vector<UOp> chain = {Input(random.AnyShape())};
    for (int64_t n = random.Between(1, 4); n > 0; --n) {
      const UOp next = random.AnyMovement(chain.back());
      if (next == chain.back() || ir::NumElements(ir::ShapeOf(next)).value() > 400) continue;
      chain.push_back(next);
    }
    const UOp base = chain.front(), top = chain.back();
    const Ints sizes = Sizes(top);
    Indices index, loops;
    for (size_t i = 0; i < sizes.size(); ++i) {
      loops.push_back(ir::Range(sizes[i], static_cast<int>(i)));
      index.push_back(sizes[i] == 1 ? ir::IndexConst(0) : loops.back());
    }
    // Builders collapse chains, so the graph itself is followed.
    UOp valid, u = top;
    while (!(u == base) && ir::IsMovement(u.op())) {
      SourceIndex m = MapThroughMovement(u, index, valid);
      index = std::move(m.index);
      valid = AndValid(valid, m.valid);
      u = u.src(0);
    }
    const UOp end = u;
    int checked = 0;
    ForEach(sizes, [&](const Ints& at) {
      if (++checked > 60) return;
      ir::UOpMap values;
      for (size_t i = 0; i < at.size(); ++i) values[loops[i]] = ir::IndexConst(at[i]);
      Ints want = at;
      bool inside = true;
      for (UOp v = top; inside && !(v == end); v = v.src(0)) {
        Ints from;
        inside = Source(v, want, &from);
        want = from;
      }
      const bool is_valid = !valid || Value(valid, values) != 0;
      ASSERT_EQ(is_valid, inside) << "seed " << seed;
      if (!inside) return;
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(Value(index[i], values), want[i]) << "seed " << seed << " axis " << i;
      }
    });
    if (HasFatalFailure()) return;
  }
}

TEST(MovementIndexTest, ReshapeLeavesUntouchedAxesAlone) {
  const UOp u = ir::Reshape(ir::Permute(Input({2, 3, 4}), Ints{1, 0, 2}), {6, 4});
  const UOp i = ir::Range(6, 0), j = ir::Range(4, 1);
  const SourceIndex m = MapThroughMovement(u, {i, j}, UOp());
  ASSERT_EQ(m.index.size(), 3u);
  EXPECT_EQ(m.index[2], j);
  EXPECT_FALSE(m.valid);
}

TEST(MovementIndexTest, SplittingAndJoiningBackIsNothing) {
  const UOp x = Input({24});
  const UOp i = ir::Range(24, 0);
  const UOp split = ir::Permute(ir::Reshape(x, {4, 6}), Ints{1, 0});
  const UOp joined = ir::Reshape(ir::Permute(split, Ints{1, 0}), {24});
  EXPECT_EQ(joined, x);
  const SourceIndex m =
      MapThroughMovement(ir::Reshape(x, {4, 6}), {ir::FloorDiv(i, 6), ir::FloorMod(i, 6)}, UOp());
  EXPECT_EQ(m.index[0], i);
}

// What is known of an index is used: between the pads a padded flip needs no test.
TEST(MovementIndexTest, UsesWhatIsGiven) {
  const UOp x = Input({4});
  const UOp i = ir::Range(8, 0);
  const UOp u = ir::Pad(x, {{2, 2}});
  const SourceIndex m = MapThroughMovement(u, {i}, UOp());
  ASSERT_TRUE(m.valid);
  ir::UOpMap at = {{i, ir::IndexConst(1)}};
  EXPECT_EQ(Value(m.valid, at), 0);
  at[i] = ir::IndexConst(5);
  EXPECT_EQ(Value(m.valid, at), 1);
  EXPECT_EQ(Value(m.index[0], at), 3);
  // Nothing to test where the index cannot leave the source.
  const SourceIndex inside = MapThroughMovement(u, {ir::Range(4, 1) + 2}, UOp());
  EXPECT_FALSE(inside.valid);
}

TEST(MovementIndexTest, SymbolicSizes) {
  const UOp n = ir::Variable("n", 1, 10);
  const UOp x = ir::Shrink(Input({10, 3}), {{0, ir::Sint(n)}, {0, 3}});
  const UOp flat = ir::Reshape(x, {ir::Sint(n * 3)});
  const UOp i = ir::Range(ir::ShapeOf(flat)[0].uop(), 0);
  SourceIndex m = MapThroughMovement(flat, {i}, UOp());
  ASSERT_EQ(m.index.size(), 2u);
  const ir::UOpMap at = {{i, ir::IndexConst(7)}, {n, ir::IndexConst(4)}};
  EXPECT_EQ(Value(m.index[0], at), 2);
  EXPECT_EQ(Value(m.index[1], at), 1);
  const UOp flipped = ir::Flip(x, Ints{0});
  m = MapThroughMovement(flipped, {ir::Range(n, 1), ir::IndexConst(2)}, UOp());
  EXPECT_EQ(Value(m.index[0], {{ir::Range(n, 1), ir::IndexConst(1)}, {n, ir::IndexConst(4)}}), 2);
}

TEST(MovementIndexTest, FlatIndexAndValidity) {
  const UOp i = ir::Range(3, 0), j = ir::Range(5, 1);
  const UOp flat = FlatIndex({3, 1, 5}, {i, ir::IndexConst(0), j});
  EXPECT_EQ(Value(flat, {{i, ir::IndexConst(2)}, {j, ir::IndexConst(4)}}), 14);
  EXPECT_FALSE(AndValid(UOp(), UOp()));
  const UOp c = i < 2;
  EXPECT_EQ(AndValid(c, UOp()), c);
  EXPECT_EQ(AndValid(UOp(), c), c);
}

}  // namespace
}  // namespace tg::schedule
