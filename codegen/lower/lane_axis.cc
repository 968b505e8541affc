#include "codegen/lower/lane_axis.h"

#include <algorithm>
#include <bit>

#include "codegen/ir/simplify/linear.h"

namespace tg::lower {
namespace {

using ir::AxisType;
using ir::Op;
using ir::UOp;

constexpr int64_t kMaxLanes = 64;
// Cost of an element that is moved to or from its lane by itself, in vector instructions.
constexpr double kLaneMove = 1.5;

double Size(const UOp& range) {
  return static_cast<double>(std::max<int64_t>(range.src(0).vmax(), 1));
}

// A node that takes time.
struct Cost {
  const UOp* node;
  const UOp* index = nullptr;  // of a load or store
  double times = 1;            // how often it runs, all ranges as loops
  int bytes = 4;               // of an element
};

bool Contains(absl::Span<const UOp> ranges, const UOp& axis) {
  return std::find(ranges.begin(), ranges.end(), axis) != ranges.end();
}

// Whether the index moves by one element along the axis.
bool IsContiguous(const UOp& index, const UOp& axis) {
  bool found = false;
  for (const ir::LinearTerm& t : ir::SumTerms(index).terms) {
    if (t.term == axis) {
      if (t.coef != 1) return false;
      found = true;
    } else if (t.term.DependsOnRange(axis)) {
      return false;
    }
  }
  return found;
}

class Chooser {
 public:
  Chooser(const UOp& sink, const render::Target& target)
      : nodes_(ir::Toposort(sink)), vector_bytes_(std::max(target.vector_bytes, 4)) {
    for (const UOp& u : nodes_) {
      if (u.Is(Op::kRange)) {
        const AxisType type = u.arg_as<ir::RangeArg>().type;
        const bool expands = type == AxisType::kUpcast || type == AxisType::kUnroll;
        const int64_t n = u.src(0).vmax();
        if (expands && n >= 2 && n <= kMaxLanes) candidates_.push_back(u);
        continue;
      }
      Cost c{.node = &u};
      if (u.Is(Op::kLoad) || u.Is(Op::kStore)) {
        c.index = &u.src(0).src(1);
        c.bytes = u.src(0).dtype().bytes();
      } else if (u.Is(Op::kReduce) || (ir::IsAlu(u.op()) && u.dtype() != ir::kIndex)) {
        c.bytes = std::max(u.dtype().bytes(), 1);
      } else {
        continue;
      }
      // A reduction combines once for each iteration of its ranges.
      for (const UOp& r : (u.Is(Op::kReduce) ? u.src(0) : u).ranges()) c.times *= Size(r);
      costs_.push_back(c);
    }
  }

  std::vector<UOp> Run() const {
    std::vector<std::pair<double, UOp>> gains;
    for (const UOp& axis : candidates_) {
      const double gain = Gain(axis);
      if (gain > 0) gains.push_back({gain, axis});
    }
    std::stable_sort(gains.begin(), gains.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<UOp> chosen;
    for (const auto& [gain, axis] : gains) {
      const bool fits = std::none_of(chosen.begin(), chosen.end(),
                                     [&, a = &axis](const UOp& c) { return Together(*a, c); });
      if (fits) chosen.push_back(axis);
    }
    return chosen;
  }

 private:
  // Instructions saved by the axis in lanes.
  double Gain(const UOp& axis) const {
    const int64_t n = axis.src(0).vmax();
    double gain = 0;
    for (const Cost& c : costs_) {
      const UOp& u = *c.node;
      if (!Contains((u.Is(Op::kReduce) ? u.src(0) : u).ranges(), axis)) continue;
      // Registers of a value: odd sizes are rounded up to a power of two.
      const int64_t bytes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))) * c.bytes;
      const double registers =
          static_cast<double>(std::max<int64_t>((bytes + vector_bytes_ - 1) / vector_bytes_, 1));
      double cost = registers / static_cast<double>(n);
      if (c.index != nullptr && Contains(c.index->ranges(), axis) &&
          !IsContiguous(*c.index, axis)) {
        cost = kLaneMove;
      }
      gain += c.times * (1 - cost);
    }
    return gain;
  }

  bool Together(const UOp& a, const UOp& b) const {
    return std::any_of(nodes_.begin(), nodes_.end(), [&](const UOp& u) {
      const absl::Span<const UOp> ranges = u.ranges();
      return Contains(ranges, a) && Contains(ranges, b);
    });
  }

  const std::vector<UOp> nodes_;
  const int64_t vector_bytes_;
  std::vector<UOp> candidates_;
  std::vector<Cost> costs_;
};

}  // namespace

std::vector<UOp> ChooseLaneAxes(const UOp& sink, const render::Target& target) {
  return Chooser(sink, target).Run();
}

}  // namespace tg::lower
