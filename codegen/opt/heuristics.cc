#include "codegen/opt/heuristics.h"

#include <algorithm>

#include "codegen/opt/access.h"
#include "codegen/opt/loop_order.h"
#include "codegen/opt/tile.h"

namespace tg::opt {
namespace {

using ir::AxisType;
using ir::Opt;
using ir::OptOp;

// Operations in an expanded loop body: enough that the loop costs nothing. More only makes
// compilers keep loads that copies share in registers, and then spill. Iterations of a reduction
// loop that is expanded as a whole.
constexpr int64_t kMaxBody = 128;
constexpr int64_t kMaxWholeUnroll = 32;
constexpr int64_t kMaxPartialUnroll = 4;
// Operations that a part for a core has at least; parts per core at most.
constexpr double kMinPartOps = 32768;
constexpr int64_t kMaxPartsPerThread = 8;

class HandCoder {
 public:
  HandCoder(const Kernel& kernel, const render::Target& target, int threads)
      : kernel_(kernel), target_(target), threads_(threads) {}

  std::vector<Opt> Run() {
    map_ = AnalyzeAccesses(kernel_);
    tile_ = ChooseTile(kernel_, map_, CoreOf(kernel_, map_, target_));
    ExpandOutputs();
    for (size_t i = 0; i + 1 < map_.nests.size(); ++i) ExpandReduction(i);
    Sort(OrderOutputs(kernel_, map_, tile_), AxisType::kLoop);
    SplitOverCores();
    return {kernel_.applied().begin(), kernel_.applied().end()};
  }

 private:
  // Applies a step; those that are not legal (limits) are left out.
  bool Step(const Opt& opt) { return kernel_.Apply(opt).ok(); }

  void Split(int root, AxisType from, int64_t amount, AxisType to) {
    const int axis = kernel_.FindAxis(root, from);
    if (axis < 0 || amount < 1) return;
    Step({.op = OptOp::kSplit, .axis = axis, .amount = amount, .type = to});
  }

  void Pad(const Lanes& lanes, AxisType type) {
    const int axis = kernel_.FindAxis(lanes.root, type);
    if (axis >= 0) Step({.op = OptOp::kPadTo, .axis = axis, .amount = lanes.count});
  }

  void ExpandOutputs() {
    if (tile_.lane.root >= 0) {
      if (tile_.lane.pad) Pad(tile_.lane, AxisType::kLoop);
      Split(tile_.lane.root, AxisType::kLoop, tile_.lane.count, AxisType::kUpcast);
    }
    for (const auto& [root, f] : tile_.upcasts) {
      Split(root, AxisType::kLoop, f, AxisType::kUpcast);
    }
  }

  bool IsOutputOf(const Nest& nest, int root) const {
    return std::find(nest.outputs.begin(), nest.outputs.end(), root) != nest.outputs.end();
  }

  // How many copies of the body of `nest` along `root` may be side by side. Loads that such copies
  // share (in[x + kx] with x expanded and kx unrolled) are kept in registers from the first use to
  // the last, and there must be room for them.
  int64_t CopiesThatFit(size_t nest, int root) const {
    const Nest& n = map_.nests[nest];
    const int64_t spare = target_.vector_registers - 2 - tile_.copies[nest];
    int64_t most = kMaxWholeUnroll;
    for (int i : n.accesses) {
      const Access& a = map_.accesses[i];
      int64_t window = 0, others = 1;
      for (const auto& [up, f] : tile_.upcasts) {
        if (!IsOutputOf(n, up) || !a.DependsOn(up)) continue;
        if (a.coef[up] == a.coef[root] && a.coef[root] != 0) {
          window = f;
        } else {
          others *= f;
        }
      }
      // (window + copies - 1) * others values.
      if (window != 0) most = std::min(most, std::max<int64_t>(1, spare / others - window + 1));
    }
    return most;
  }

  void ExpandReduction(size_t nest) {
    const Nest& n = map_.nests[nest];
    const Lanes& lanes = tile_.reduce_lanes[nest];
    if (lanes.root >= 0) {
      if (lanes.pad) Pad(lanes, AxisType::kReduce);
      Split(lanes.root, AxisType::kReduce, lanes.count, AxisType::kUnroll);
    }
    const std::vector<int> order = OrderReduces(map_, n);
    Sort(order, AxisType::kReduce);
    int64_t room = kMaxBody / std::max<int64_t>(1, tile_.copies[nest] * n.ops);
    for (size_t i = order.size(); i-- > 0;) {
      const int axis = kernel_.FindAxis(order[i], AxisType::kReduce);
      if (axis < 0) continue;
      const int64_t size = kernel_.axes()[axis].size;
      if (size < 2) break;
      const int64_t fit = CopiesThatFit(nest, order[i]);
      if (size <= std::min(room, fit)) {
        Split(order[i], AxisType::kReduce, size, AxisType::kUnroll);
        room /= size;
        continue;
      }
      int64_t part = std::min({room, fit, kMaxPartialUnroll});
      while (part > 1 && size % part != 0) --part;
      if (part > 1) Split(order[i], AxisType::kReduce, part, AxisType::kUnroll);
      break;
    }
  }

  // Brings the axes of `roots` that have this type into the order of `roots`.
  void Sort(const std::vector<int>& roots, AxisType type) {
    std::vector<int> places;
    std::vector<int> wanted;
    for (int r : roots) {
      const int axis = kernel_.FindAxis(r, type);
      if (axis < 0) continue;
      places.push_back(axis);
      wanted.push_back(r);
    }
    std::sort(places.begin(), places.end());
    for (size_t i = 0; i < places.size(); ++i) {
      const int now = kernel_.FindAxis(wanted[i], type);
      if (now != places[i]) Step({.op = OptOp::kSwap, .axis = places[i], .amount = now});
    }
  }

  // How evenly `parts` parts fill the threads.
  double Balance(int64_t parts) const {
    const int64_t rounds = (parts + threads_ - 1) / threads_;
    return static_cast<double>(parts) / static_cast<double>(rounds * threads_);
  }

  void SplitOverCores() {
    if (threads_ < 2 || !kernel_.limits().threads) return;
    double ops = 0;
    for (const Nest& n : map_.nests) ops += n.iterations * n.ops;
    const int64_t most = std::min({static_cast<int64_t>(ops / kMinPartOps),
                                   threads_ * kMaxPartsPerThread, kernel_.limits().max_threads});
    int best_axis = -1;
    int64_t best_parts = 1;
    for (size_t i = 0; i < kernel_.axes().size(); ++i) {
      const Axis& axis = kernel_.axes()[i];
      if (axis.type != AxisType::kLoop || axis.size < 2) continue;
      for (int64_t parts = std::min(most, axis.size); parts > 1; --parts) {
        if (axis.size % parts != 0) continue;
        if (best_parts == 1 || Balance(parts) > Balance(best_parts) + 0.05) {
          best_axis = static_cast<int>(i);
          best_parts = parts;
        }
      }
      if (best_parts > 1 && Balance(best_parts) > 0.9) break;
    }
    if (best_axis < 0) return;
    Step({.op = OptOp::kSplit,
          .axis = best_axis,
          .amount = best_parts,
          .type = AxisType::kThread,
          .top = true});
  }

  Kernel kernel_;
  const render::Target& target_;
  const int64_t threads_;
  AccessMap map_;
  Tile tile_;
};

}  // namespace

std::vector<Opt> HandCodedOpts(const Kernel& kernel, const render::Target& target, int threads) {
  return HandCoder(kernel, target, threads).Run();
}

}  // namespace tg::opt
