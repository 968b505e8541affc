#include "codegen/opt/tile.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

namespace tg::opt {
namespace {

using ir::Op;
using ir::UOp;

// Estimates for an out-of-order core of some years: two vector operations and two loads a cycle,
// one store, additions that take four cycles.
constexpr double kAluCycles = 0.5;
constexpr double kLoadCycles = 0.5;
// A load of a whole register: its line often comes from the second-level cache.
constexpr double kVectorLoadCycles = 0.75;
// Data that is used once comes from further away.
constexpr double kStreamCycles = 2;
// Rows that are pages apart, see StepsFar.
constexpr int64_t kPage = 4096;
constexpr int64_t kManySteps = 64;
constexpr double kFarFactor = 3;
// Lines that fall on so few sets of the second-level cache that they push each other out come
// from behind it each time. Its sets, of how many lines each the data at hand may take, and what a
// line costs then.
constexpr int64_t kLineBytes = 64;
constexpr int64_t kSets = 1024;
constexpr int64_t kLinesOfSet = 8;
constexpr int64_t kManyBytes = 2048;  // between lines of such a column
constexpr double kThrashCycles = 6;   // for each run of neighbouring lines
constexpr double kThrashScalarCycles = 16;
constexpr double kThrashLineCycles = 1.5;  // and for each line
// Each further stream of such data disturbs the prefetchers.
constexpr double kStreamPenalty = 0.02;
// Rows of such data that are pages apart are read in runs: shorter ones cost more.
constexpr int64_t kRunBytes = 1024;
constexpr double kShortRunFactor = 2;
// Reductions up to this length are expanded as a whole: the additions of several outputs overlap.
constexpr double kShortReduction = 32;
constexpr double kStoreCycles = 1;
constexpr double kLatency = 4;
constexpr double kLoopOverhead = 0.7;
// A load of lanes that are not neighbours, per lane: a scalar load and its way into the vector. A
// store likewise; it dirties a line for each lane.
constexpr double kGatherCycles = 1.5;
constexpr double kScatterCycles = 2.5;
// Computing a condition per lane, and a load under it.
constexpr double kMaskFactor = 1.5;
constexpr double kGateCycles = 0.3;
// What it costs when lowering cannot skip iterations, for each axis that splits a condition.
constexpr double kSplitCondition = 1.15;

// A candidate must be this much better than a smaller one.
constexpr double kWorthwhile = 0.97;
// Factors of one expanded axis, and axes that are looked at.
constexpr int64_t kMaxFactor = 16;
constexpr int kMaxUpcastAxes = 6;
constexpr int kMaxLaneRegisters = 4;

bool Contains(const std::vector<int>& v, int x) {
  return std::find(v.begin(), v.end(), x) != v.end();
}

// Cost of one load or store of `lanes` lanes along `lane` (-1: of one element, perhaps broadcast).
double AccessCycles(const Access& a, bool stream, const Lanes& lane, const Core& core) {
  double cycles = a.store ? kStoreCycles : kLoadCycles;
  if (lane.root >= 0 && a.DependsOn(lane.root)) {
    if (a.coef[lane.root] == 1 && !a.irregular[lane.root]) {
      cycles = stream ? kStreamCycles : a.store ? kStoreCycles : kVectorLoadCycles;
      cycles *= static_cast<double>(Registers(lane.count, core));
      if (!std::has_single_bit(static_cast<uint64_t>(lane.count))) cycles *= kMaskFactor;
    } else if (a.coef[lane.root] != 0 || a.irregular[lane.root]) {
      cycles = (a.store ? kScatterCycles : kGatherCycles) * static_cast<double>(lane.count) *
               (a.irregular[lane.root] ? 2 : 1);
    }
    if (a.gate[lane.root] || lane.pad) cycles *= kMaskFactor;
  }
  if (std::find(a.gate.begin(), a.gate.end(), true) != a.gate.end()) cycles += kGateCycles;
  return cycles;
}

// What one iteration of the reductions of `nest` costs where the lines of `a` thrash. Copies along
// an axis whose elements are neighbours share lines.
double ThrashCycles(const Access& a, const Nest& nest, const Tile& tile, const Lanes& lane) {
  double runs = 1, lines = 1;
  auto add = [&](int root, int64_t count) {
    if (root < 0 || !a.DependsOn(root) || !Contains(nest.outputs, root)) return;
    const double n = static_cast<double>(count);
    const double step = static_cast<double>(std::abs(a.coef[root])) * a.bytes / kLineBytes;
    if (a.irregular[root] || step > 1) runs *= n;
    lines *= a.irregular[root] ? n : std::clamp(step * n, 1.0, n);
  };
  add(lane.root, lane.count);
  for (const auto& [root, f] : tile.upcasts) add(root, f);
  // Single elements: nothing is fetched ahead.
  const bool lanes = lane.root >= 0 && a.DependsOn(lane.root);
  return runs * (lanes ? kThrashCycles : kThrashScalarCycles) + lines * kThrashLineCycles;
}

// Whether `a` reads neighbours in lanes.
bool ReadsRuns(const Access& a, const Lanes& lane) {
  return lane.root >= 0 && a.coef[lane.root] == 1 && !a.irregular[lane.root];
}

// By how much the axis in lanes is expanded besides.
int64_t LaneBlocks(const Tile& tile) {
  for (const auto& [root, f] : tile.upcasts) {
    if (root == tile.lane.root) return f;
  }
  return 1;
}

// Whether a column of `a`, one line for each iteration of the reductions of `nest`, does not stay
// in the second-level cache.
bool Thrashes(const Kernel& kernel, const Nest& nest, const Access& a) {
  int64_t lines = 1, sets = 1;
  for (int r : nest.reduces) {
    const int64_t step = std::abs(a.coef[r]) * a.bytes;
    if (a.irregular[r] || (step != 0 && step < kManyBytes)) return false;
    if (step == 0) continue;
    lines *= std::max<int64_t>(1, kernel.roots()[r].padded);
    if (step % kLineBytes != 0) return false;
    sets = std::max(sets, kSets / std::gcd(step / kLineBytes, kSets));
  }
  return lines > sets * kLinesOfSet;
}

class TileSearch {
 public:
  TileSearch(const Kernel& kernel, const AccessMap& map, const Core& core)
      : kernel_(kernel), map_(map), core_(core) {}

  Tile Run() {
    heaviest_ = HeaviestNest(map_);
    Try(Lanes{});
    for (size_t r = 0; r < kernel_.roots().size(); ++r) {
      if (kernel_.roots()[r].reduce) continue;
      for (const Lanes& lane : LaneCandidates(static_cast<int>(r))) Try(lane);
    }
    return Best();
  }

 private:
  // Whether some access of the heaviest nest serves several values of `root`.
  bool Reused(int root) const {
    const Nest& n = map_.nests[heaviest_];
    return std::any_of(n.accesses.begin(), n.accesses.end(),
                       [&](int i) { return !map_.accesses[i].DependsOn(root); });
  }
  // Numbers of lanes to try along a root: divisors that fill registers, and padding.
  std::vector<Lanes> LaneCandidates(int root) const {
    std::vector<Lanes> result;
    const int64_t n = kernel_.roots()[root].size;
    if (n < 2) return result;
    bool contiguous = false;
    for (const Access& a : map_.accesses) {
      contiguous |= a.coef[root] == 1 && !a.irregular[root];
    }
    if (!contiguous) return result;
    const int64_t w = core_.lanes;
    for (int64_t d = 2; d <= std::min(n, w * kMaxLaneRegisters); ++d) {
      if (n % d == 0) result.push_back({.root = root, .count = d});
    }
    if (n % w != 0 && n > w / 2) {
      result.push_back({.root = root, .count = w, .pad = true});
      if (n > 16 * w * kMaxLaneRegisters) {
        result.push_back({.root = root, .count = w * kMaxLaneRegisters, .pad = true});
      }
    }
    return result;
  }

  // Looks at all ways to expand other axes beside `lane`.
  void Try(const Lanes& lane) {
    Tile tile;
    tile.lane = lane;
    tile.reduce_lanes.resize(map_.nests.size());
    for (size_t i = 0; i + 1 < map_.nests.size(); ++i) {
      if (lane.root < 0 || !Contains(map_.nests[i].outputs, lane.root)) {
        tile.reduce_lanes[i] = BestReduceLanes(static_cast<int>(i), tile);
      }
    }
    const Nest& main = map_.nests[heaviest_];
    if (!main.reduce) {
      Consider(tile);
      return;
    }
    if (lane.root < 0 || !Contains(main.outputs, lane.root)) {
      for (int r : main.reduces) {
        for (const Lanes& own : LaneCandidates(r)) {
          tile.reduce_lanes[heaviest_] = own;
          TryUpcasts(tile);
        }
      }
      tile.reduce_lanes[heaviest_] = Lanes{};
    }
    TryUpcasts(tile);
  }

  void TryUpcasts(Tile& tile) {
    Consider(tile);
    const Nest& main = map_.nests[heaviest_];
    std::vector<int> axes;
    for (int r : main.outputs) {
      if (r != tile.lane.root && kernel_.roots()[r].size > 1) axes.push_back(r);
    }
    // The innermost ones: neighbours in memory.
    if (static_cast<int>(axes.size()) > kMaxUpcastAxes) {
      axes.erase(axes.begin(), axes.end() - kMaxUpcastAxes);
    }
    const Lanes& own = LaneOf(static_cast<int>(heaviest_), tile);
    if (tile.lane.root >= 0 && !tile.lane.pad && own.root == tile.lane.root &&
        ReadsDistantRuns(main, tile.lane)) {
      axes.push_back(tile.lane.root);
    }
    Expand(tile, axes, 0, core_.accumulators / Registers(own.count, core_));
  }

  const Lanes& LaneOf(int nest, const Tile& tile) const {
    const Nest& n = map_.nests[nest];
    return tile.lane.root >= 0 && Contains(n.outputs, tile.lane.root) ? tile.lane
                                                                      : tile.reduce_lanes[nest];
  }

  // Whether `nest` streams data that has its lanes in rows which are far apart.
  bool ReadsDistantRuns(const Nest& nest, const Lanes& lane) const {
    return std::any_of(nest.accesses.begin(), nest.accesses.end(), [&](int i) {
      const Access& a = map_.accesses[i];
      return ReadsRuns(a, lane) && StepsFar(kernel_, map_, nest, i) &&
             std::all_of(nest.outputs.begin(), nest.outputs.end(),
                         [&a](int r) { return a.DependsOn(r); });
    });
  }

  void Expand(Tile& tile, const std::vector<int>& axes, size_t at, int64_t room) {
    if (at == axes.size()) {
      if (!tile.upcasts.empty()) Consider(tile);
      return;
    }
    Expand(tile, axes, at + 1, room);
    int64_t n = kernel_.roots()[axes[at]].size;
    if (axes[at] == tile.lane.root) n /= tile.lane.count;
    for (int64_t f = 2; f <= std::min({n, kMaxFactor, room}); ++f) {
      if (n % f != 0) continue;
      tile.upcasts.emplace_back(axes[at], f);
      Expand(tile, axes, at + 1, room / f);
      tile.upcasts.pop_back();
    }
  }

  Lanes BestReduceLanes(int nest, const Tile& tile) const {
    Tile t = tile;
    Lanes best;
    t.reduce_lanes[nest] = best;
    double best_cycles = NestCycles(kernel_, map_, nest, t, core_);
    for (int r : map_.nests[nest].reduces) {
      for (const Lanes& lane : LaneCandidates(r)) {
        t.reduce_lanes[nest] = lane;
        const double cycles = NestCycles(kernel_, map_, nest, t, core_);
        if (cycles < best_cycles * kWorthwhile) {
          best = lane;
          best_cycles = cycles;
        }
      }
    }
    return best;
  }

  void Consider(const Tile& tile) {
    double cycles = 0;
    for (size_t i = 0; i < map_.nests.size(); ++i) {
      cycles += NestCycles(kernel_, map_, static_cast<int>(i), tile, core_);
    }
    if (candidates_.empty() || cycles < best_cycles_) best_cycles_ = cycles;
    if (cycles * kWorthwhile > best_cycles_) return;
    int64_t size = Registers(LaneOf(static_cast<int>(heaviest_), tile).count, core_);
    for (const auto& [root, f] : tile.upcasts) size *= Reused(root) ? f : 2 * f;
    candidates_.push_back({tile, cycles, size});
  }

  // Of the tiles that are about as good as the best, the smallest.
  Tile Best() const {
    const Candidate* best = nullptr;
    for (const Candidate& c : candidates_) {
      if (c.cycles * kWorthwhile > best_cycles_) continue;
      if (best == nullptr || c.size < best->size ||
          (c.size == best->size && c.cycles < best->cycles)) {
        best = &c;
      }
    }
    Tile tile = best->tile;
    tile.cycles = best->cycles;
    for (size_t i = 0; i < map_.nests.size(); ++i) {
      int64_t copies = Registers(LaneOf(static_cast<int>(i), tile).count, core_);
      for (const auto& [root, f] : tile.upcasts) {
        if (Contains(map_.nests[i].outputs, root)) copies *= f;
      }
      tile.copies.push_back(copies);
    }
    return tile;
  }

  struct Candidate {
    Tile tile;
    double cycles;
    int64_t size;
  };

  const Kernel& kernel_;
  const AccessMap& map_;
  const Core core_;
  size_t heaviest_ = 0;
  std::vector<Candidate> candidates_;
  double best_cycles_ = 0;
};

}  // namespace

Core CoreOf(const Kernel& kernel, const AccessMap& map, const render::Target& target) {
  int bytes = 1;
  for (const Nest& n : map.nests) {
    if (n.reduce) bytes = std::max(bytes, n.reduce.dtype().bytes());
  }
  for (const Access& a : map.accesses) {
    if (a.store || map.nests.size() == 1) bytes = std::max(bytes, a.bytes);
  }
  // Small floats are computed with in float32.
  for (const UOp& u : ir::Toposort(kernel.original())) {
    if (u.dtype().IsFloat() && u.Is(Op::kLoad)) bytes = std::max(bytes, 4);
  }
  Core core;
  core.lanes = std::max(1, target.vector_bytes / std::max(bytes, 1));
  core.accumulators = target.vector_registers >= 32 ? 26 : 12;
  return core;
}

bool StepsFar(const Kernel& kernel, const AccessMap& map, const Nest& nest, int access) {
  const Access& a = map.accesses[access];
  if (Thrashes(kernel, nest, a)) return true;
  int64_t steps = 1;
  for (int r : nest.reduces) {
    if (a.coef[r] == 0) continue;
    if (std::abs(a.coef[r]) * a.bytes < kPage) return false;
    steps *= std::max<int64_t>(1, kernel.roots()[r].padded);
  }
  return steps >= kManySteps;
}

bool SplitsCondition(const Nest& nest, int root) {
  return nest.condition[root] && std::any_of(nest.reduces.begin(), nest.reduces.end(),
                                             [&nest](int r) { return nest.condition[r]; });
}

int HeaviestNest(const AccessMap& map) {
  auto work = [](const Nest& n) { return n.iterations * n.ops; };
  size_t heaviest = 0;
  for (size_t i = 0; i < map.nests.size(); ++i) {
    if (work(map.nests[i]) > work(map.nests[heaviest])) heaviest = i;
  }
  return static_cast<int>(heaviest);
}

int64_t Registers(int64_t lanes, const Core& core) {
  const auto whole = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(lanes)));
  return std::max<int64_t>(1, whole / core.lanes);
}

double NestCycles(const Kernel& kernel, const AccessMap& map, int nest, const Tile& tile,
                  const Core& core) {
  const Nest& n = map.nests[nest];
  const bool output_lane = tile.lane.root >= 0 && Contains(n.outputs, tile.lane.root);
  const Lanes& lane = output_lane ? tile.lane : tile.reduce_lanes[nest];
  const double registers = static_cast<double>(Registers(lane.count, core));
  double copies = 1;
  for (const auto& [root, f] : tile.upcasts) {
    if (Contains(n.outputs, root)) copies *= static_cast<double>(f);
  }

  double memory = 0;
  for (int i : n.accesses) {
    const Access& a = map.accesses[i];
    // What no loop of the reduction changes is loaded before it.
    if (n.reduce &&
        std::none_of(n.reduces.begin(), n.reduces.end(), [&a](int r) { return a.DependsOn(r); })) {
      continue;
    }
    auto depends = [&a](int r) { return a.DependsOn(r); };
    const bool stream = std::all_of(n.reduces.begin(), n.reduces.end(), depends) &&
                        std::all_of(n.outputs.begin(), n.outputs.end(), depends);
    double times = 1;
    for (const auto& [root, f] : tile.upcasts) {
      if (Contains(n.outputs, root) && (a.store || a.DependsOn(root))) {
        times *= static_cast<double>(f);
      }
    }
    if (stream) times *= 1 + kStreamPenalty * (times - 1);
    if (stream && n.reduce && ReadsRuns(a, lane) && StepsFar(kernel, map, n, i) &&
        lane.count * LaneBlocks(tile) * a.bytes < kRunBytes) {
      times *= kShortRunFactor;
    }
    const bool far = !stream && n.reduce && StepsFar(kernel, map, n, i);
    if (far && Thrashes(kernel, n, a)) {
      memory += ThrashCycles(a, n, tile, lane);
    } else if (far && lane.root >= 0 && a.DependsOn(lane.root)) {
      times *= kFarFactor;
    }
    memory += times * AccessCycles(a, stream, lane, core);
  }
  const double alu = n.ops * copies * registers * kAluCycles;
  double cycles = std::max(alu, memory) + 0.2 * std::min(alu, memory);
  double length = 1;
  for (int r : n.reduces) {
    length *= static_cast<double>(std::max<int64_t>(1, kernel.roots()[r].padded));
  }
  if (!n.reduce) {
    cycles += kLoopOverhead;
  } else if (length <= kShortReduction) {
    cycles += kLoopOverhead / length;
  } else {
    cycles = std::max(cycles, kLatency) + kLoopOverhead;
  }

  if (output_lane && SplitsCondition(n, tile.lane.root)) cycles *= kSplitCondition;
  for (const auto& [root, f] : tile.upcasts) {
    if (SplitsCondition(n, root)) cycles *= kSplitCondition;
  }

  double elements = copies * static_cast<double>(lane.count);
  if (lane.pad) {
    const int64_t size = kernel.roots()[lane.root].size;
    const int64_t padded = (size + lane.count - 1) / lane.count * lane.count;
    elements *= static_cast<double>(size) / static_cast<double>(padded);
  }
  double per_element = cycles / elements;
  if (!output_lane && lane.root >= 0) {
    // Adding up the lanes at the end.
    per_element += (6 + registers) / length;
  }
  return per_element * n.iterations;
}

Tile ChooseTile(const Kernel& kernel, const AccessMap& map, const Core& core) {
  return TileSearch(kernel, map, core).Run();
}

}  // namespace tg::opt
