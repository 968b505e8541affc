#include "codegen/opt/pack.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/ir/simplify/linear.h"
#include "codegen/ir/simplify/simplify.h"
#include "codegen/opt/access.h"
#include "codegen/opt/kernel.h"
#include "codegen/opt/loop_order.h"
#include "codegen/opt/optimize.h"
#include "codegen/opt/tile.h"

namespace tg::opt {
namespace {

using ir::Op;
using ir::UOp;

constexpr double kMinUses = 16;    // of each element
constexpr int64_t kMaxGrowth = 2;  // of the memory
constexpr double kCopyCycles = 1;  // per element
constexpr double kTransposeCycles = 3.5;
// Per cache line that is fetched while others are worked on, from the third-level cache or, where
// the operands are larger than this, from memory.
constexpr double kLineCycles = 3.5;
constexpr double kMemoryLineCycles = 7;
constexpr double kThirdLevelBytes = 16 << 20;
constexpr double kWorthwhile = 0.85;  // of the time before
// Wider lane axes are stored in panels of this many lanes: a panel is contiguous.
constexpr int64_t kPanels[] = {64, 32};

bool Contains(const std::vector<int>& v, int x) {
  return std::find(v.begin(), v.end(), x) != v.end();
}

class Packer {
 public:
  Packer(const Kernel& kernel, const render::Target& target)
      : kernel_(kernel), target_(target), map_(AnalyzeAccesses(kernel)) {}

  std::optional<OperandPack> Run() {
    const Tile now = ChooseTile(kernel_, map_, CoreOf(kernel_, map_, target_));
    double best_cycles = Cycles(kernel_, map_, now) * kWorthwhile;
    std::optional<OperandPack> best;
    for (const Nest& nest : map_.nests) {
      if (!nest.reduce) continue;
      for (int access : nest.accesses) {
        for (int lane : nest.outputs) {
          if (!IsPackable(nest, access, lane)) continue;
          OperandPack pack = Make(nest, access, lane);
          const absl::StatusOr<Kernel> packed = PrepareKernel(pack.kernel, target_);
          if (!packed.ok()) continue;
          const AccessMap map = AnalyzeAccesses(*packed);
          const Tile tile = ChooseTile(*packed, map, CoreOf(*packed, map, target_));
          const double cycles =
              Cycles(*packed, map, tile) +
              (map_.accesses[access].coef[lane] == 1 ? kCopyCycles : kTransposeCycles) *
                  static_cast<double>(pack.size);
          if (cycles < best_cycles) {
            best_cycles = cycles;
            best = std::move(pack);
          }
        }
      }
    }
    return best;
  }

 private:
  static double Cycles(const Kernel& kernel, const AccessMap& map, const Tile& tile) {
    double bytes = 0;
    for (const Access& a : map.accesses) bytes += static_cast<double>(a.elements) * a.bytes;
    return std::max(tile.cycles, LinesFetched(kernel, map, tile) *
                                     (bytes > kThirdLevelBytes ? kMemoryLineCycles : kLineCycles));
  }

  bool IsWritten(int slot) const {
    return std::any_of(map_.accesses.begin(), map_.accesses.end(),
                       [slot](const Access& a) { return a.store && a.slot == slot; });
  }

  // Whether `access` may be packed so that `lane` is innermost, and is not so already.
  bool IsPackable(const Nest& nest, int access, int lane) const {
    const Access& a = map_.accesses[access];
    if (a.store || a.slot < 0 || IsWritten(a.slot)) return false;
    if (a.coef[lane] == 0) return false;
    // Lanes are neighbours already; but panels may be better than rows that are far apart.
    if (a.coef[lane] == 1 &&
        (PanelOf(lane) == kernel_.roots()[lane].size || !StepsFar(kernel_, map_, nest, access))) {
      return false;
    }
    if (a.index.src_count() != 2) return false;
    const UOp at = ir::GetIndex(a.index.src(1));
    // The copy has no condition: it must be inside of the operand without.
    if (!ir::GetValid(a.index.src(1)).IsConstInt(1) && (at.vmin() < 0 || at.vmax() >= a.elements)) {
      return false;
    }
    double places = 1;
    for (const ir::LinearTerm& t : ir::SumTerms(at).terms) {
      const int root = kernel_.RootOf(t.term);
      if (root < 0 || kernel_.roots()[root].size < 1) return false;
      places *= static_cast<double>(kernel_.roots()[root].size);
    }
    return places <= static_cast<double>(kMaxGrowth * a.elements) &&
           nest.iterations / places >= kMinUses;
  }

  // Lanes of a panel; all of the axis where it is not divided.
  int64_t PanelOf(int lane) const {
    const int64_t lanes = kernel_.roots()[lane].size;
    for (int64_t p : kPanels) {
      if (lanes > p && lanes % p == 0) return p;
    }
    return lanes;
  }

  // The axes of the packed memory, outermost first: outputs, reductions as the other operands
  // order them, the lanes.
  std::vector<int> Layout(const Nest& nest, int access, int lane) const {
    const Access& a = map_.accesses[access];
    std::vector<int> layout;
    for (int r : nest.outputs) {
      if (r != lane && a.coef[r] != 0) layout.push_back(r);
    }
    Nest others = nest;
    others.accesses.erase(std::find(others.accesses.begin(), others.accesses.end(), access));
    for (int r : OrderReduces(map_, others)) {
      if (a.coef[r] != 0) layout.push_back(r);
    }
    // Ranges of other reductions that the address depends on.
    for (size_t r = 0; r < kernel_.roots().size(); ++r) {
      const int root = static_cast<int>(r);
      if (a.coef[r] != 0 && root != lane && !Contains(layout, root)) layout.push_back(root);
    }
    layout.push_back(lane);
    return layout;
  }

  // The place of an element: `value[i]` is the value of axis layout[i].
  UOp Place(const std::vector<int>& layout, const std::vector<UOp>& value) const {
    const int64_t lanes = kernel_.roots()[layout.back()].size;
    const int64_t panel = PanelOf(layout.back());
    UOp at = panel == lanes ? ir::IndexConst(0) : ir::FloorDiv(value.back(), panel);
    for (size_t i = 0; i + 1 < layout.size(); ++i) {
      at = at * kernel_.roots()[layout[i]].size + value[i];
    }
    const UOp lane = panel == lanes ? value.back() : ir::FloorMod(value.back(), panel);
    return ir::Simplify(at * panel + lane);
  }

  OperandPack Make(const Nest& nest, int access, int lane) const {
    const Access& a = map_.accesses[access];
    const UOp& operand = a.index.src(0);
    const std::vector<int> layout = Layout(nest, access, lane);
    OperandPack pack{.slot = a.slot,
                     .packed_slot = a.slot,
                     .dtype = operand.dtype(),
                     .size = 1,
                     .pack = UOp(),
                     .kernel = UOp()};
    std::vector<UOp> ranges, values, here;
    std::optional<UOp> rows;  // the axis of neighbours in the operand, where that is another one
    auto range = [id = 0](int64_t size) mutable { return ir::Range(size, id++); };
    ir::UOpMap copy;
    for (int r : layout) {
      const Root& root = kernel_.roots()[r];
      pack.size *= root.size;
      here.push_back(root.range);
      const int64_t w = target_.vector_bytes / operand.dtype().bytes();
      if (r == lane && a.coef[lane] != 1 && w > 1 && root.size % w == 0 && root.size > w) {
        // A register of lanes at a time along the operand's rows: so few lines fit in the caches.
        const UOp block = range(root.size / w), in_block = range(w);
        ranges.push_back(block);
        if (rows.has_value()) ranges.push_back(*rows);
        ranges.push_back(in_block);
        rows.reset();
        values.push_back(block * w + in_block);
      } else {
        values.push_back(range(root.size));
        if (a.coef[r] == 1 && r != lane && !rows.has_value()) {
          rows = values.back();
        } else {
          ranges.push_back(values.back());
        }
      }
      copy.emplace(root.range, values.back());
    }
    if (rows.has_value()) ranges.insert(ranges.end() - 1, *rows);

    int users = 0, most = 0;
    for (const Access& other : map_.accesses) {
      users += other.slot == a.slot ? 1 : 0;
      most = std::max(most, other.slot);
    }
    if (users > 1) pack.packed_slot = most + 1;
    auto load = [](const UOp& memory, const UOp& at) {
      return UOp::Make(Op::kLoad, memory.dtype(),
                       {UOp::Make(Op::kIndex, memory.dtype(), {memory, at})});
    };
    const UOp old = UOp::Make(Op::kLoad, operand.dtype(), {a.index});
    const UOp packed = ir::Param(pack.packed_slot, operand.dtype(), pack.size);
    const UOp place = ir::Valid(Place(layout, here), ir::GetValid(a.index.src(1)));
    pack.kernel = ir::Substitute(kernel_.original(), {{old, load(packed, place)}});

    const UOp source = ir::Param(1, operand.dtype(), operand.arg_as<ir::ParamArg>().size);
    const UOp target = ir::Param(0, operand.dtype(), pack.size);
    const UOp to = UOp::Make(Op::kIndex, target.dtype(), {target, Place(layout, values)});
    const UOp from = load(source, ir::Simplify(ir::Substitute(ir::GetIndex(a.index.src(1)), copy)));
    std::vector<UOp> end = {UOp::Make(Op::kStore, ir::kVoid, {to, from})};
    end.insert(end.end(), ranges.begin(), ranges.end());
    pack.pack = ir::Sink({UOp::Make(Op::kEnd, ir::kVoid, end)});
    return pack;
  }

  const Kernel& kernel_;
  const render::Target& target_;
  const AccessMap map_;
};

}  // namespace

std::optional<OperandPack> FindPack(const UOp& kernel, const render::Target& target) {
  const absl::StatusOr<Kernel> k = PrepareKernel(kernel, target);
  if (!k.ok()) return std::nullopt;
  return Packer(*k, target).Run();
}

}  // namespace tg::opt
