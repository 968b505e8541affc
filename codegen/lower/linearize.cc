#include "codegen/lower/linearize.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "codegen/lower/reduce_op.h"

namespace tg::lower {
namespace {

using ir::AxisType;
using ir::Op;
using ir::UOp;

constexpr int kRoot = 0;
constexpr int kNone = -1;

bool IsThread(const UOp& range) { return range.arg_as<ir::RangeArg>().type == AxisType::kThread; }

bool IsLeaf(const UOp& u) {
  return u.Is(Op::kConst) || u.Is(Op::kParam) || u.Is(Op::kBuffer) || u.Is(Op::kVariable) ||
         (u.Is(Op::kRange) && IsThread(u));
}

// The body of one loop, or of the program.
struct Block {
  int parent = kNone;
  int depth = 0;
  int self_item = kNone;  // the item of the parent that this loop is
  UOp range;              // of the input graph; null: the program
  UOp loop;               // the range that the output has
  std::vector<int> items;
  // What the first, second, ... value of each accumulator's turn adds: in this order, so that the
  // operands that accumulators share are needed for a short time.
  std::vector<std::vector<int>> steps;
  std::vector<UOp> reduces;  // that run through this loop
  UOp guard;                 // of the output: the loop runs only where this is true
};

// An instruction of a block, or a loop in it.
struct Item {
  UOp node;             // null: a loop
  int block = kNone;    // of the loop
  bool wanted = false;  // some item of the same block needs it first
  bool done = false;
  bool open = false;
  absl::InlinedVector<int, 4> needs;  // items of the same block
};

// Where a value of the input graph is computed, and what it became.
struct Place {
  int block;
  int item = kNone;  // kNone: a leaf or a loop's range
  UOp node;
  int reduce_loop = kNone;  // kReduce: the innermost and outermost of its loops
  int reduce_top = kNone;
};

struct LoopKey {
  int parent;
  const void* range;
  int level;  // of the reduction; kNone for the loops of an output
  bool operator==(const LoopKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const LoopKey& k) {
    return H::combine(std::move(h), k.parent, k.range, k.level);
  }
};

class Linearizer {
 public:
  Linearizer(const UOp& sink, const render::Target& target)
      : target_(target), order_(ir::Toposort(sink)) {}

  absl::StatusOr<std::vector<UOp>> Run() {
    Prepare();
    if (absl::Status s = PlaceValues(); !s.ok()) return s;
    RenameRanges();
    if (absl::Status s = BuildItems(); !s.ok()) return s;
    OrderHazards();
    for (size_t b = 1; b < blocks_.size(); ++b) GuardLoop(static_cast<int>(b));
    if (absl::Status s = EmitBlock(kRoot); !s.ok()) return s;
    std::vector<UOp> ops = std::move(leaves_);
    ops.insert(ops.end(), std::make_move_iterator(ops_.begin()),
               std::make_move_iterator(ops_.end()));
    return ops;
  }

 private:
  int IndexOf(const UOp& u) const { return index_.find(u.id())->second; }

  // Numbers the nodes and finds, for each, the longest chain of reductions with loops below it:
  // reductions of equal level cannot depend on each other.
  void Prepare() {
    const int n = static_cast<int>(order_.size());
    index_.reserve(n);
    level_.assign(n, 0);
    places_.resize(n);
    for (int i = 0; i < n; ++i) {
      const UOp& u = order_[i];
      index_[u.id()] = i;
      for (const UOp& s : u.src()) level_[i] = std::max(level_[i], level_[IndexOf(s)]);
      if (u.Is(Op::kReduce) && u.src_count() > 1) ++level_[i];
      if (u.Is(Op::kRange)) max_range_ = std::max(max_range_, u.arg_as<ir::RangeArg>().id);
      if (u.Is(Op::kBuffer)) {
        next_buffer_ = std::max(next_buffer_, u.arg_as<ir::BufferArg>().id + 1);
      }
    }
    blocks_.emplace_back();
  }

  // The outermost loop around `block` in which all ranges of `u` are open.
  int Hoist(int block, const UOp& u) const {
    while (block != kRoot && !u.DependsOnRange(blocks_[block].range)) {
      block = blocks_[block].parent;
    }
    return block;
  }

  int LoopIn(int parent, const UOp& range, int level) {
    auto [it, is_new] =
        loops_.try_emplace(LoopKey{parent, range.id(), level}, static_cast<int>(blocks_.size()));
    if (is_new) {
      Block b;
      b.parent = parent;
      b.depth = blocks_[parent].depth + 1;
      b.range = range;
      b.self_item = static_cast<int>(items_.size());
      blocks_[parent].items.push_back(b.self_item);
      items_.emplace_back().block = it->second;
      blocks_.push_back(std::move(b));
      // The size is known before the loop starts.
      Need(range.src(0), parent);
    }
    return it->second;
  }

  // `u` is used in `block`: gives it a place there, or in a loop around it.
  void Need(const UOp& u, int block) {
    const int at = IsLeaf(u) ? kRoot : Hoist(block, u);
    if (at == kRoot && u.Is(Op::kRange) && !IsThread(u)) {
      status_ = absl::InternalError(absl::StrCat("linearize: range ", u.arg_as<ir::RangeArg>().id,
                                                 " is used outside of its loop"));
      return;
    }
    PlaceIn(u, at);
  }

  void PlaceIn(const UOp& u, int block) {
    auto& places = places_[IndexOf(u)];
    for (const Place& p : places) {
      if (p.block == block) return;
    }
    places.push_back(Place{.block = block, .node = {}});
  }

  // Users first: each value is placed where its users need it.
  absl::Status PlaceValues() {
    for (int i = static_cast<int>(order_.size()) - 1; i >= 0; --i) {
      const UOp u = order_[i];
      if (u.Is(Op::kSink)) {
        for (const UOp& s : u.src()) {
          PlaceIn(s, kRoot);
        }
        continue;
      }
      // Needs made on the way add places to other nodes only.
      for (size_t p = 0; p < places_[i].size(); ++p) {
        const int at = places_[i][p].block;
        switch (u.op()) {
          case Op::kEnd: {
            int block = at;
            for (int s = 1; s < u.src_count(); ++s) {
              if (IsThread(u.src(s))) {
                Need(u.src(s), kRoot);
              } else {
                block = LoopIn(block, u.src(s), kNone);
              }
            }
            PlaceIn(u.src(0), block);
            break;
          }
          case Op::kGroup:
            for (const UOp& s : u.src()) PlaceIn(s, at);
            break;
          case Op::kRange:
            if (IsThread(u)) Need(u.src(0), kRoot);
            break;
          case Op::kReduce: {
            int block = at;
            for (int s = 1; s < u.src_count(); ++s) {
              block = LoopIn(block, u.src(s), level_[i]);
              blocks_[block].reduces.push_back(u);
              if (s == 1) places_[i][p].reduce_top = block;
            }
            places_[i][p].reduce_loop = block;
            if (u.src(0).Is(Op::kTuple)) {
              for (const UOp& v : u.src(0).src()) Need(v, block);
            } else {
              Need(u.src(0), block);
            }
            break;
          }
          default:
            for (const UOp& s : u.src()) Need(s, at);
        }
      }
    }
    // Loops were found from the last to the first.
    for (Block& b : blocks_) std::reverse(b.items.begin(), b.items.end());
    return status_;
  }

  // The first loop over a range keeps its id; loops were found from the last to the first.
  void RenameRanges() {
    absl::flat_hash_set<const void*> seen;
    loop_args_.resize(blocks_.size(), ir::RangeArg{.id = 0});
    for (size_t b = blocks_.size() - 1; b > 0; --b) {
      loop_args_[b] = blocks_[b].range.arg_as<ir::RangeArg>();
      if (!seen.insert(blocks_[b].range.id()).second) loop_args_[b].id = ++max_range_;
    }
  }

  Place& PlaceFor(const UOp& u, int block) {
    auto& places = places_[IndexOf(u)];
    if (places.size() == 1) return places[0];
    const int at = IsLeaf(u) ? kRoot : Hoist(block, u);
    for (Place& p : places) {
      if (p.block == at) return p;
    }
    TG_FATAL() << "linearize: " << u.op() << " has no place in block " << at;
  }

  const Place* FindPlace(const UOp& u, int block) {
    const int at = IsLeaf(u) ? kRoot : Hoist(block, u);
    for (const Place& p : places_[IndexOf(u)]) {
      if (p.block == at) return &p;
    }
    return nullptr;
  }

  int AddItem(int block, UOp node) {
    const int id = static_cast<int>(items_.size());
    item_of_[node.id()] = id;
    items_.emplace_back().node = std::move(node);
    blocks_[block].items.push_back(id);
    return id;
  }

  void AddNeed(int item, int first) {
    if (item == first) return;
    items_[item].needs.push_back(first);
    items_[first].wanted = true;
  }

  // The item of block `outer` that `item` of block `block` is in.
  int ItemIn(int outer, int block, int item) const {
    while (block != outer) {
      item = blocks_[block].self_item;
      block = blocks_[block].parent;
    }
    return item;
  }

  // `item` of `block` uses the value at `place`, which is in that block or around it.
  void UsePlace(int block, int item, const Place& place) {
    if (place.item != kNone) AddNeed(ItemIn(place.block, block, item), place.item);
  }

  void AddLeaf(const UOp& u) {
    if (leaf_set_.insert(u.id()).second) leaves_.push_back(u);
  }

  absl::Status BuildItems() {
    for (size_t i = 0; i < order_.size(); ++i) {
      const UOp& u = order_[i];
      for (Place& p : places_[i]) {
        switch (u.op()) {
          case Op::kEnd:
          case Op::kGroup:
            break;
          case Op::kReduce:
            if (u.src_count() > 1) {
              BuildReduce(u, p);
            } else {
              BuildNode(u, p);
            }
            break;
          case Op::kRange:
            if (IsThread(u)) {
              BuildNode(u, p);
            } else {
              BuildLoop(p);
            }
            break;
          default:
            BuildNode(u, p);
        }
      }
    }
    // Loops whose counter nobody uses.
    for (size_t b = 1; b < blocks_.size(); ++b) {
      if (!blocks_[b].loop) MakeLoop(static_cast<int>(b));
    }
    return absl::OkStatus();
  }

  void MakeLoop(int block) {
    Block& b = blocks_[block];
    const Place& size = PlaceFor(b.range.src(0), b.parent);
    b.loop = UOp::Make(Op::kRange, b.range.dtype(), {size.node}, loop_args_[block]);
    UsePlace(b.parent, b.self_item, size);
  }

  void BuildLoop(Place& p) {
    if (!blocks_[p.block].loop) MakeLoop(p.block);
    p.node = blocks_[p.block].loop;
  }

  void BuildNode(const UOp& u, Place& p) {
    absl::InlinedVector<UOp, 8> src;
    absl::InlinedVector<const Place*, 8> used;
    for (const UOp& s : u.src()) {
      used.push_back(&PlaceFor(s, p.block));
      src.push_back(used.back()->node);
    }
    p.node = UOp::Make(u.op(), u.dtype(), src, u.arg());
    if (IsLeaf(u)) {
      AddLeaf(p.node);
      return;
    }
    p.item = AddItem(p.block, p.node);
    for (const Place* s : used) UsePlace(p.block, p.item, *s);
    if (u.Is(Op::kStore)) stores_.push_back({p.block, p.item});
    if (u.Is(Op::kLoad)) loads_.push_back({p.block, p.item});
  }

  // Adds the nodes of the expression `u` that are new to `block`; `known` are items of that block
  // by node. Returns the item of `u`, or kNone for a leaf and for what is computed elsewhere.
  int AddExpression(int block, const UOp& u, absl::flat_hash_map<const void*, int>& known) {
    if (auto it = known.find(u.id()); it != known.end()) return it->second;
    if (leaf_set_.contains(u.id())) return kNone;
    if (IsLeaf(u)) {
      AddLeaf(u);
      return kNone;
    }
    absl::InlinedVector<int, 4> needs;
    for (const UOp& s : u.src()) {
      if (const int item = AddExpression(block, s, known); item != kNone) needs.push_back(item);
    }
    const int item = AddItem(block, u);
    for (int first : needs) AddNeed(item, first);
    known[u.id()] = item;
    return item;
  }

  void BuildReduce(const UOp& u, Place& p) {
    const Op op = u.arg_as<ir::ReduceArg>().op;
    const ir::DType d = u.dtype();
    const UOp buffer = UOp::Make(Op::kBuffer, d.Scalar(), {},
                                 ir::Arg(ir::BufferArg{.id = next_buffer_++,
                                                       .size = d.lanes(),
                                                       .space = ir::AddrSpace::kReg,
                                                       .device = "",
                                                       .storage = nullptr}));
    auto address = [&](ir::DType index) {
      const UOp a = UOp::Make(Op::kIndex, d.Scalar(), {buffer, ir::Const(index, 0)});
      AddLeaf(buffer);
      AddLeaf(a.src(1));
      AddLeaf(a);
      return a;
    };
    const UOp at = address(ir::kInt32);
    const UOp identity = ReduceIdentity(op, d);
    AddLeaf(identity);
    const int init = AddItem(p.block, UOp::Make(Op::kStore, ir::kVoid, {at, identity}));
    const int top_item = blocks_[p.reduce_top].self_item;
    AddNeed(top_item, init);

    // The body: load, combine with each value in turn, store.
    const int body = p.reduce_loop;
    absl::flat_hash_map<const void*, int> known;
    UOp acc = UOp::Make(Op::kLoad, d, {at});
    known[acc.id()] = AddItem(body, acc);
    absl::Span<const UOp> values = u.src().subspan(0, 1);
    if (u.src(0).Is(Op::kTuple)) values = u.src(0).src();
    for (size_t i = 0; i < values.size(); ++i) {
      const UOp& v = values[i];
      const Place& place = PlaceFor(v, body);
      acc = Combine(op, acc, place.node, target_);
      // What the combination takes of the value's own sources (a product's factors) is placed with
      // the value or around it.
      MarkKnown(v, place, body, known);
      const int item = AddExpression(body, acc, known);
      if (blocks_[body].steps.size() <= i) blocks_[body].steps.resize(i + 1);
      blocks_[body].steps[i].push_back(item);
    }
    AddExpression(body, UOp::Make(Op::kStore, ir::kVoid, {at, acc}), known);

    p.node = UOp::Make(Op::kLoad, d, {address(ir::kInt64)});
    p.item = AddItem(p.block, p.node);
    AddNeed(p.item, top_item);
  }

  // Registers the value at `place` and its sources as computed, seen from `body`.
  void MarkKnown(const UOp& v, const Place& place, int body,
                 absl::flat_hash_map<const void*, int>& known) {
    auto mark = [&](const Place& p) {
      if (p.block == body) {
        known[p.node.id()] = p.item;
      } else {
        known[p.node.id()] = kNone;
        if (p.item != kNone) AddNeed(ItemIn(p.block, body, kNone), p.item);
      }
    };
    mark(place);
    if (IsLeaf(v) || v.Is(Op::kRange) || (v.Is(Op::kReduce) && v.src_count() > 1)) return;
    for (const UOp& s : v.src()) mark(PlaceFor(s, place.block));
  }

  // Loads of a parameter that is also written come before the stores to it: a kernel reads and
  // writes such memory at the same index.
  void OrderHazards() {
    auto memory = [&](const std::pair<int, int>& access) {
      return items_[access.second].node.src(0).src(0).id();
    };
    absl::flat_hash_map<const void*, std::vector<std::pair<int, int>>> loads;
    for (const auto& load : loads_) loads[memory(load)].push_back(load);
    for (const auto& store : stores_) {
      auto it = loads.find(memory(store));
      if (it == loads.end()) continue;
      for (const auto& load : it->second) {
        int a = load.first, b = store.first;
        while (a != b) {
          int& deeper = blocks_[a].depth >= blocks_[b].depth ? a : b;
          deeper = blocks_[deeper].parent;
        }
        AddNeed(ItemIn(a, store.first, store.second), ItemIn(a, load.first, load.second));
      }
    }
  }

  // Whether all ranges of `u` are open in `block`.
  bool IsOpen(const UOp& u, int block) const {
    for (const UOp& r : u.ranges()) {
      if (IsThread(r)) continue;
      int b = block;
      while (b != kRoot && !(blocks_[b].range == r)) b = blocks_[b].parent;
      if (b == kRoot) return false;
    }
    return true;
  }

  // A loop that adds to accumulators what is 0 unless some condition holds, known before the loop,
  // runs only where it does. (That a 0 from padding times infinity counts as 0 is not held against
  // it.)
  void GuardLoop(int block) {
    const int outer = blocks_[block].parent;
    std::vector<UOp> common;
    bool first = true;
    for (const UOp& r : blocks_[block].reduces) {
      if (r.arg_as<ir::ReduceArg>().op != Op::kAdd) return;
      absl::Span<const UOp> values = r.src().subspan(0, 1);
      if (r.src(0).Is(Op::kTuple)) values = r.src(0).src();
      for (const UOp& v : values) {
        std::vector<UOp> mine;
        ZeroUnless(v, mine);
        if (first) {
          for (const UOp& c : mine) {
            if (IsOpen(c, outer)) common.push_back(c);
          }
        } else {
          common.erase(std::remove_if(common.begin(), common.end(),
                                      [&](const UOp& c) {
                                        return std::find(mine.begin(), mine.end(), c) == mine.end();
                                      }),
                       common.end());
        }
        first = false;
        if (common.empty()) return;
      }
    }
    // The conjunction, where its conditions are known.
    UOp guard;
    int at = kRoot, item = kNone;
    for (const UOp& c : common) {
      if (guarded_.contains({outer, c.id()})) continue;
      const Place* place = FindPlace(c, outer);
      if (place == nullptr || place->item == kNone) continue;
      const int inner = blocks_[place->block].depth > blocks_[at].depth ? place->block : at;
      if (!guard) {
        guard = place->node;
        item = place->item;
      } else {
        guard = guard & place->node;
        auto it = item_of_.find(guard.id());
        const int both = it != item_of_.end() ? it->second : AddItem(inner, guard);
        AddNeed(ItemIn(at, inner, both), item);
        UsePlace(inner, both, *place);
        item = both;
      }
      at = inner;
    }
    // One kIf is one region.
    if (!guard || !guards_.insert(guard.id()).second) return;
    AddNeed(ItemIn(at, outer, blocks_[block].self_item), item);
    blocks_[block].guard = guard;
    // Loops inside need not ask again.
    for (size_t b = block; b < blocks_.size(); ++b) {
      int up = static_cast<int>(b);
      while (up > block) up = blocks_[up].parent;
      if (up != block) continue;
      for (const UOp& c : common) guarded_.insert({static_cast<int>(b), c.id()});
    }
  }

  // Scalar conditions without which `v` is 0: gates of the loads that it is a product of.
  static void ZeroUnless(const UOp& v, std::vector<UOp>& out) {
    absl::InlinedVector<UOp, 8> stack = {v};
    while (!stack.empty()) {
      const UOp u = stack.back();
      stack.pop_back();
      switch (u.op()) {
        case Op::kMul:
        case Op::kAnd:
          stack.push_back(u.src(0));
          stack.push_back(u.src(1));
          break;
        case Op::kStack:
          if (std::all_of(u.src().begin(), u.src().end(),
                          [&](const UOp& s) { return s == u.src(0); })) {
            stack.push_back(u.src(0));
          }
          break;
        case Op::kCast:
          stack.push_back(u.src(0));
          break;
        case Op::kWhere:
          if (u.src(2).IsConstFloat(0) || u.src(2).IsConstInt(0)) stack.push_back(u.src(0));
          break;
        case Op::kLoad:
          if (u.src_count() == 2 && (u.src(1).IsConstFloat(0) || u.src(1).IsConstInt(0)) &&
              u.src(0).src(2).dtype().lanes() == 1) {
            stack.push_back(u.src(0).src(2));
          }
          break;
        default:
          if (u.dtype() == ir::kBool) out.push_back(u);
      }
    }
  }

  // Depth first from what has an effect: first from what nobody waits for. Values that no effect
  // needs are left out.
  absl::Status EmitBlock(int block) {
    for (const std::vector<int>& step : blocks_[block].steps) {
      for (int item : step) {
        if (items_[item].done) continue;
        if (absl::Status s = EmitItem(item); !s.ok()) return s;
      }
    }
    for (const bool wanted : {false, true}) {
      for (int root : blocks_[block].items) {
        const Item& item = items_[root];
        if (item.done || item.wanted != wanted || (item.node && !item.node.Is(Op::kStore))) {
          continue;
        }
        if (absl::Status s = EmitItem(root); !s.ok()) return s;
      }
    }
    return absl::OkStatus();
  }

  absl::Status EmitItem(int root) {
    std::vector<std::pair<int, size_t>> stack = {{root, 0}};
    items_[root].open = true;
    while (!stack.empty()) {
      const int id = stack.back().first;
      if (stack.back().second < items_[id].needs.size()) {
        const int next = items_[id].needs[stack.back().second++];
        if (items_[next].done) continue;
        if (items_[next].open) {
          return absl::InternalError("linearize: instructions depend on each other in a circle");
        }
        items_[next].open = true;
        stack.push_back({next, 0});
        continue;
      }
      stack.pop_back();
      items_[id].done = true;
      items_[id].open = false;
      if (items_[id].node) {
        ops_.push_back(items_[id].node);
        if (items_[id].node.Is(Op::kStore)) last_void_ = items_[id].node;
        continue;
      }
      const int loop = items_[id].block;
      const UOp range = blocks_[loop].loop;
      UOp region;
      if (blocks_[loop].guard) {
        region = UOp::Make(Op::kIf, ir::kVoid, {blocks_[loop].guard});
        ops_.push_back(region);
      }
      ops_.push_back(range);
      last_void_ = UOp();
      if (absl::Status s = EmitBlock(loop); !s.ok()) return s;
      TG_CHECK(last_void_) << "a loop without effect";
      last_void_ = UOp::Make(Op::kEnd, ir::kVoid, {last_void_, range});
      ops_.push_back(last_void_);
      if (region) {
        last_void_ = UOp::Make(Op::kEndIf, ir::kVoid, {region});
        ops_.push_back(last_void_);
      }
    }
    return absl::OkStatus();
  }

  const render::Target& target_;
  const std::vector<UOp> order_;
  absl::flat_hash_map<const void*, int> index_;
  std::vector<int> level_;
  std::vector<absl::InlinedVector<Place, 1>> places_;
  std::vector<Block> blocks_;
  std::vector<ir::RangeArg> loop_args_;  // by block
  std::vector<Item> items_;
  absl::flat_hash_map<LoopKey, int> loops_;
  absl::flat_hash_map<const void*, int> item_of_;             // by node of the output
  absl::flat_hash_set<const void*> guards_;                   // conditions of kIf
  absl::flat_hash_set<std::pair<int, const void*>> guarded_;  // loops in which a condition holds
  std::vector<std::pair<int, int>> stores_;                   // block, item
  std::vector<std::pair<int, int>> loads_;
  std::vector<UOp> leaves_;
  absl::flat_hash_set<const void*> leaf_set_;
  std::vector<UOp> ops_;
  UOp last_void_;
  absl::Status status_;
  int max_range_ = -1;
  int64_t next_buffer_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<UOp>> Linearize(const UOp& sink, const render::Target& target) {
  return Linearizer(sink, target).Run();
}

}  // namespace tg::lower
