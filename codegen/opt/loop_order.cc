#include "codegen/opt/loop_order.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace tg::opt {
namespace {

constexpr double kLineBytes = 64;
// Shares of caches that data may be expected to stay in, in lines, and what a line from the level
// behind costs in cycles.
struct CacheLevel {
  double lines;
  double cycles;
};
constexpr CacheLevel kCaches[] = {{24 * 1024 / kLineBytes, 2}, {640 * 1024 / kLineBytes, 8}};

constexpr size_t kMaxPermuted = 4;
constexpr double kWorthwhile = 0.9;

// Whether the estimates below hold: one loop nest, sizes known.
bool HasOrder(const Kernel& kernel, const AccessMap& map) {
  const std::vector<int>& outputs = map.outputs().outputs;
  if (map.nests.size() > 2 || map.nests[0].outputs.size() != outputs.size()) return false;
  return std::all_of(outputs.begin(), outputs.end(),
                     [&kernel](int r) { return kernel.roots()[r].size >= 1; });
}

class OutputOrder {
 public:
  OutputOrder(const Kernel& kernel, const AccessMap& map, const Tile& tile)
      : kernel_(kernel), map_(map) {
    for (const Root& r : kernel.roots())
      extent_.push_back(r.reduce ? std::max<int64_t>(r.size, 1) : 1);
    Expand(tile.lane.root, tile.lane.count);
    for (const auto& [root, f] : tile.upcasts) Expand(root, f);
  }

  // Lines that come from behind the second-level cache, in the best order.
  double Fetched() const { return Traffic(Run(), kCaches[1].lines); }

  std::vector<int> Run() const {
    std::vector<int> outputs = map_.outputs().outputs;
    std::vector<size_t> at;  // positions of the loops that are left
    std::vector<int> loops;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (Trips(outputs[i]) <= 1) continue;
      at.push_back(i);
      loops.push_back(outputs[i]);
    }
    if (loops.size() < 2 || loops.size() > kMaxPermuted) return outputs;
    std::vector<int> best = loops;
    double best_cost = Cost(loops) * kWorthwhile;
    std::vector<int> order = loops;
    std::sort(order.begin(), order.end());
    do {
      const double cost = Cost(order);
      if (cost < best_cost) {
        best_cost = cost;
        best = order;
      }
    } while (std::next_permutation(order.begin(), order.end()));
    for (size_t i = 0; i < at.size(); ++i) outputs[at[i]] = best[i];
    return outputs;
  }

 private:
  void Expand(int root, int64_t by) {
    if (root >= 0) extent_[root] *= by;
  }
  int64_t Trips(int root) const { return kernel_.roots()[root].padded / extent_[root]; }

  double Cost(const std::vector<int>& order) const {
    double cost = 0;
    for (const CacheLevel& cache : kCaches) cost += Traffic(order, cache.lines) * cache.cycles;
    return cost;
  }

  // Lines that are fetched into a cache of `capacity` lines.
  double Traffic(const std::vector<int>& order, double capacity) const {
    std::vector<int64_t> extent = extent_;
    const size_t count = map_.accesses.size();
    std::vector<double> inside(count), fetched(count);
    double total = 0;
    for (size_t i = 0; i < count; ++i) {
      fetched[i] = inside[i] = CacheLines(map_.accesses[i], extent);
      total += inside[i];
    }
    for (size_t l = order.size(); l-- > 0;) {
      const double trips = static_cast<double>(Trips(order[l]));
      const bool fits = total <= capacity;
      extent[order[l]] = kernel_.roots()[order[l]].padded;
      total = 0;
      for (size_t i = 0; i < count; ++i) {
        const double now = CacheLines(map_.accesses[i], extent);
        fetched[i] *= fits ? now / inside[i] : trips;
        inside[i] = now;
        total += now;
      }
    }
    double sum = 0;
    for (double f : fetched) sum += f;
    return sum;
  }

  const Kernel& kernel_;
  const AccessMap& map_;
  std::vector<int64_t> extent_;  // of the tile, by root; reductions run inside of all loops
};

}  // namespace

double CacheLines(const Access& a, const std::vector<int64_t>& extent) {
  // Axes with the same step (the x + kx of a window) make one longer axis.
  std::map<int64_t, int64_t> steps;
  double pieces = 1;
  for (size_t r = 0; r < extent.size(); ++r) {
    if (a.irregular[r]) pieces *= static_cast<double>(extent[r]);
    if (a.coef[r] == 0 || extent[r] <= 1) continue;
    int64_t& n = steps.emplace(std::abs(a.coef[r]), 1).first->second;
    n += extent[r] - 1;
  }
  double run = a.bytes;
  for (const auto& [coef, n] : steps) {
    const double step = static_cast<double>(coef) * a.bytes;
    if (step <= std::max(run, kLineBytes)) {
      run += step * static_cast<double>(n - 1);
    } else {
      pieces *= static_cast<double>(n);
    }
  }
  const double lines = pieces * std::max(1.0, run / kLineBytes);
  if (a.elements == 0) return lines;
  return std::min(lines, std::max(1.0, static_cast<double>(a.elements) * a.bytes / kLineBytes));
}

std::vector<int> OrderOutputs(const Kernel& kernel, const AccessMap& map, const Tile& tile) {
  if (!HasOrder(kernel, map)) return map.outputs().outputs;
  return OutputOrder(kernel, map, tile).Run();
}

double LinesFetched(const Kernel& kernel, const AccessMap& map, const Tile& tile) {
  return HasOrder(kernel, map) ? OutputOrder(kernel, map, tile).Fetched() : 0;
}

std::vector<int> OrderReduces(const AccessMap& map, const Nest& nest) {
  struct Key {
    int root;
    bool gates;
    double distance;
  };
  std::vector<Key> keys;
  for (int r : nest.reduces) {
    Key key{.root = r, .gates = nest.condition[r], .distance = 0};
    for (int i : nest.accesses) {
      const Access& a = map.accesses[i];
      // Beyond a page it does not get worse.
      const double step = static_cast<double>(std::abs(a.coef[r])) * a.bytes;
      key.distance += a.irregular[r] ? 4096 : std::min(step, 4096.0);
    }
    keys.push_back(key);
  }
  std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return a.gates != b.gates ? a.gates : a.distance > b.distance;
  });
  std::vector<int> order;
  for (const Key& k : keys) order.push_back(k.root);
  return order;
}

}  // namespace tg::opt
