#include "tg/schedule/rangeify.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "base/error.h"
#include "codegen/ir/simplify/simplify.h"
#include "tg/schedule/kernel_rules.h"
#include "tg/schedule/movement_index.h"
#include "tg/schedule/realize_policy.h"

namespace tg::schedule {
namespace {

using ir::Op;
using ir::Shape;
using ir::ShapeOf;
using ir::UOp;

// A place where a value is wanted.
struct Demand {
  int root;                // the kernel
  Indices index;           // one per axis
  UOp valid;               // under which the value matters; null: always
  std::vector<UOp> loops;  // ranges around, outermost first
  // For each source of the node, which of that source's demands this one leads to; -1: a constant.
  // For a node that is realized, or a leaf, empty.
  std::vector<int> sources;
  std::vector<UOp> reduce_ranges;  // of a kReduce
  SourceIndex moved;               // of a movement
  UOp value;                       // the expression
};

// A kernel in the making.
struct Root {
  UOp node;  // what is computed: the source of kContiguous, the value of kStore, or the node
  int node_demand = -1;        // on `node`
  bool computes_self = false;  // node is realized itself: node_demand is its computation
  UOp buffer;                  // kBuffer written
  int64_t version = 0;
  UOp store_index;
  UOp store_valid;
  std::vector<UOp> loops;
  std::string device;
  bool copy = false;
  UOp copy_source;
  int ops = 0;  // compute nodes inlined so far
};

struct NodeState {
  std::vector<Demand> demands;
  std::vector<UOp> users;
  int root = -1;   // the kernel that realizes the node
  Demand compute;  // of a node that is realized itself
  UOp memory;      // kBuffer with the value
  int64_t version = 0;
  BufferVersion content;       // of a snapshot: what it copies
  std::vector<int64_t> order;  // of the axes in memory, outermost first; empty: row-major
  std::string device;
};

class Rangeifier {
 public:
  Rangeifier(const UOp& sink, const std::string& default_device, const BufferVersions& snapshots)
      : sink_(sink),
        default_device_(default_device),
        snapshots_(snapshots),
        order_(ir::Toposort(sink)) {}

  // Decides what is realized. `assumed`: what probably is, which tells what computing a value again
  // would cost.
  void Decide(const ir::UOpSet& assumed) {
    for (const UOp& u : order_) {
      NodeState& s = state_[u];
      s.device = DeviceOf(u);
      for (const UOp& src : u.src()) state_[src].users.push_back(u);
    }
    policy_.emplace(order_, assumed);
    for (size_t i = order_.size(); i-- > 0;) Assign(order_[i]);
  }

  ir::UOpSet Realized() const {
    ir::UOpSet realized;
    for (const auto& [u, s] : state_) {
      if (s.root >= 0) realized.insert(u);
    }
    return realized;
  }

  RangeifyResult Build() {
    for (const UOp& u : order_) Express(u);
    return Collect();
  }

 private:
  // --- Devices
  // ---------------------------------------------------------------------------------------

  std::string DeviceOf(const UOp& u) {
    if (u.Is(Op::kBuffer)) return u.arg_as<ir::BufferArg>().device;
    if (u.Is(Op::kCopy)) return *std::get<ir::Boxed<std::string>>(u.src(1).arg());
    if (u.Is(Op::kSink) || u.Is(Op::kDevice)) return "";
    std::string device;
    for (const UOp& s : u.src()) {
      const std::string& d = state_.at(s).device;
      if (d.empty()) continue;
      if (!device.empty() && device != d) {
        throw DeviceError(std::string(ir::OpName(u.op())) +
                          ": operands are on different devices, " + device + " and " + d +
                          "; move one with To()");
      }
      device = d;
    }
    return device;
  }

  std::string DeviceOrDefault(const UOp& u) {
    const std::string& d = state_.at(u).device;
    return d.empty() ? default_device_ : d;
  }

  // --- Demands, from outputs to inputs
  // ---------------------------------------------------------------

  int AddDemand(const UOp& u, Demand d) {
    std::vector<Demand>& demands = state_.at(u).demands;
    for (size_t i = 0; i < demands.size(); ++i) {
      Demand& e = demands[i];
      if (e.root != d.root || e.index != d.index) continue;
      // Wanted without condition: then the index is in bounds without it, too.
      if (!(e.valid == d.valid)) {
        if (e.valid && d.valid) continue;
        e.valid = UOp();
      }
      // The same element wanted at two depths is computed at the outer one.
      if (d.loops.size() < e.loops.size()) e.loops = std::move(d.loops);
      return static_cast<int>(i);
    }
    demands.push_back(std::move(d));
    return static_cast<int>(demands.size()) - 1;
  }

  // Fresh loops over `shape`, outermost first in the order of memory.
  Indices FreshIndex(const Shape& shape, absl::Span<const int64_t> order, std::vector<UOp>& loops) {
    Indices index(shape.size());
    for (size_t n = 0; n < shape.size(); ++n) {
      const size_t k = order.empty() ? n : static_cast<size_t>(order[n]);
      if (shape[k].Is(1)) {
        index[k] = ir::IndexConst(0);
        continue;
      }
      index[k] = ir::Range(shape[k].uop(), next_range_++, ir::AxisType::kLoop);
      loops.push_back(index[k]);
    }
    return index;
  }

  UOp NewBuffer(ir::DType dtype, const Shape& shape, const std::string& device) {
    const ir::Sint n = ir::NumElements(shape);
    return UOp::Make(Op::kBuffer, dtype, {},
                     ir::Arg(ir::BufferArg{.id = kFirstInternalId + next_buffer_++,
                                           .size = n.max(),
                                           .space = ir::AddrSpace::kGlobal,
                                           .device = device,
                                           .storage = nullptr}));
  }

  // Symbolic sizes: memory is laid out for the largest.
  static Shape MaxShape(const Shape& shape) {
    Shape r;
    for (const ir::Sint& s : shape) r.push_back(s.max());
    return r;
  }

  static UOp MemoryIndex(const Shape& shape, absl::Span<const int64_t> order,
                         const Indices& index) {
    if (order.empty()) return ir::Simplify(FlatIndex(shape, index));
    Shape permuted;
    Indices permuted_index;
    for (int64_t k : order) {
      permuted.push_back(shape[k]);
      permuted_index.push_back(index[k]);
    }
    return ir::Simplify(FlatIndex(permuted, permuted_index));
  }

  // Makes the kernel that stores `value` (whose demand is added unless the node is `self`).
  int MakeRoot(const UOp& u, const UOp& value, absl::Span<const int64_t> order) {
    NodeState& s = state_.at(u);
    Root root;
    root.node = value;
    root.device = DeviceOrDefault(u);
    const Shape& shape = ShapeOf(u);
    s.order.assign(order.begin(), order.end());
    root.buffer = s.memory = NewBuffer(u.dtype(), shape, root.device);
    s.root = static_cast<int>(roots_.size());
    Demand d;
    d.root = s.root;
    d.index = FreshIndex(shape, order, d.loops);
    root.loops = d.loops;
    root.store_index = MemoryIndex(MaxShape(shape), order, d.index);
    roots_.push_back(root);
    if (value == u) {
      roots_[s.root].computes_self = true;
      s.compute = std::move(d);
    } else {
      const int n = AddDemand(value, std::move(d));
      roots_[s.root].node_demand = n;
    }
    return s.root;
  }

  bool Empty(const UOp& u) const { return ir::NumElements(ShapeOf(u)).Is(0); }

  void Assign(const UOp& u) {
    NodeState& s = state_.at(u);
    switch (u.op()) {
      case Op::kSink:
        for (const UOp& r : u.src()) is_output_.insert(r);
        return;
      case Op::kConst:
      case Op::kVariable:
      case Op::kIota:
      case Op::kDevice:
        return;
      case Op::kBuffer:
        s.memory = u;
        MaybeSnapshot(u, u, 0);
        return;
      case Op::kAfter:
        AssignAfter(u);
        return;
      case Op::kStore:
        return;  // its kAfter has done it
      case Op::kCopy:
        AssignCopy(u);
        return;
      case Op::kContiguous:
        if (!s.demands.empty() || is_output_.contains(u)) MakeRoot(u, u.src(0), {});
        return;
      default:
        break;
    }
    if (s.demands.empty()) return;
    if (ShouldRealize(u)) {
      MakeRoot(u, u, policy_->MemoryOrder(u));
      Propagate(u, s.compute);
      return;
    }
    for (size_t i = 0; i < s.demands.size(); ++i) Propagate(u, s.demands[i]);
  }

  // Where a snapshot of this content is asked for, a kernel copies it and loads read the copy.
  void MaybeSnapshot(const UOp& u, const UOp& buffer, int64_t version) {
    NodeState& s = state_.at(u);
    if (s.demands.empty() || !snapshots_.contains({buffer, version})) return;
    s.content = {buffer, version};
    MakeRoot(u, u, {});
    s.version = 0;
  }

  // u = kAfter(memory, kStore(view of memory, value)...)
  void AssignAfter(const UOp& u) {
    NodeState& s = state_.at(u);
    UOp base = u.src(0);
    int64_t version = 0;
    for (UOp b = u; !b.Is(Op::kBuffer); b = b.src(0)) {
      TG_CHECK(b.Is(Op::kAfter)) << "an assignment to " << ir::OpName(b.op())
                                 << ", which is no memory";
      base = b.src(0);
      ++version;
    }
    s.memory = base;
    s.version = version;
    MaybeSnapshot(u, base, version);
    if (s.demands.empty() && !is_output_.contains(u) && !wanted_versions_.contains(u)) return;
    if (u.src(0).Is(Op::kAfter)) wanted_versions_.insert(u.src(0));
    for (int i = 1; i < u.src_count(); ++i) {
      const UOp& store = u.src(i);
      TG_CHECK(store.Is(Op::kStore)) << "kAfter of " << ir::OpName(store.op());
      const UOp& target = store.src(0);
      if (Empty(target)) continue;
      // A flat target takes the loops of the shape that its value has below reshapes: no divisions.
      const bool flat = !ir::IsMovement(target.op());
      UOp value = store.src(1);
      while (flat && value.Is(Op::kReshape)) value = value.src(0);
      Root root;
      root.node = value;
      root.device = base.arg_as<ir::BufferArg>().device;
      root.buffer = base;
      root.version = version;
      Demand d;
      d.root = static_cast<int>(roots_.size());
      d.index =
          FreshIndex(ShapeOf(value), flat ? policy_->MemoryOrder(value) : ir::Ints(), d.loops);
      Indices index = d.index;
      if (flat) index = {FlatIndex(ShapeOf(value), index)};
      root.loops = d.loops;
      UOp valid;
      UOp t = target;
      while (ir::IsMovement(t.op())) {
        SourceIndex m = MapThroughMovement(t, index, valid);
        index = std::move(m.index);
        valid = AndValid(valid, m.valid);
        t = t.src(0);
      }
      TG_CHECK(t.Is(Op::kBuffer) || t.Is(Op::kAfter)) << "a store to " << ir::OpName(t.op());
      root.store_index = ir::Simplify(FlatIndex(ShapeOf(t), index));
      root.store_valid = valid;
      d.valid = valid;
      if (t.Is(Op::kAfter)) wanted_versions_.insert(t);
      roots_.push_back(root);
      const int n = AddDemand(value, std::move(d));
      roots_.back().node_demand = n;
    }
  }

  void AssignCopy(const UOp& u) {
    NodeState& s = state_.at(u);
    if (s.demands.empty() && !is_output_.contains(u)) return;
    // CreateSchedule has made the source a whole memory under reshapes.
    UOp source = u.src(0);
    while (source.Is(Op::kReshape)) source = source.src(0);
    TG_CHECK(source.Is(Op::kBuffer) || source.Is(Op::kAfter) || source.Is(Op::kContiguous) ||
             source.Is(Op::kCopy))
        << "a copy of " << ir::OpName(source.op());
    Root root;
    root.node = u;
    root.copy = true;
    root.copy_source = source;
    root.device = DeviceOf(u);
    root.buffer = s.memory = NewBuffer(u.dtype(), ShapeOf(u), root.device);
    s.root = static_cast<int>(roots_.size());
    roots_.push_back(root);
    is_output_.insert(source);  // it must exist, although nobody computes with it here
  }

  // Adds the demands on the sources of `u` that the demand `d` on it leads to.
  void Propagate(const UOp& u, Demand& d) {
    if (ir::IsMovement(u.op())) {
      d.moved = MapThroughMovement(u, d.index, d.valid);
      Demand s;
      s.root = d.root;
      s.index = d.moved.index;
      s.valid = AndValid(d.valid, d.moved.valid);
      if (s.valid) s.valid = ir::Simplify(s.valid);
      s.loops = d.loops;
      d.sources = {AddDemand(u.src(0), std::move(s))};
      return;
    }
    if (u.Is(Op::kReduce)) {
      const ir::ReduceArg& a = u.arg_as<ir::ReduceArg>();
      const Shape& from = ShapeOf(u.src(0));
      Demand s;
      s.root = d.root;
      s.index = d.index;
      s.valid = d.valid;
      s.loops = d.loops;
      for (int32_t axis : a.axes) {
        if (from[axis].Is(1)) continue;
        const UOp r = ir::Range(from[axis].uop(), next_range_++, ir::AxisType::kReduce);
        d.reduce_ranges.push_back(r);
        s.index[axis] = r;
        s.loops.push_back(r);
      }
      d.sources = {AddDemand(u.src(0), std::move(s))};
      return;
    }
    ++roots_[d.root].ops;
    d.sources.clear();
    for (const UOp& src : u.src()) {
      if (src.IsConst() || src.Is(Op::kVariable)) {
        d.sources.push_back(-1);  // means the same everywhere
        continue;
      }
      Demand s;
      s.root = d.root;
      s.valid = d.valid;
      s.loops = d.loops;
      const Shape& shape = ShapeOf(src);
      if (!shape.empty()) {
        TG_CHECK_EQ(shape.size(), d.index.size()) << ir::OpName(u.op());
        s.index = d.index;
      }
      d.sources.push_back(AddDemand(src, std::move(s)));
    }
  }

  bool ShouldRealize(const UOp& u) {
    const NodeState& s = state_.at(u);
    std::vector<DemandView> views;
    for (const Demand& d : s.demands) {
      views.push_back(DemandView{
          .root = d.root, .index = d.index, .loops = d.loops, .root_ops = roots_[d.root].ops});
    }
    return policy_->ShouldRealize(u, views, s.users);
  }

  // --- Expressions, from inputs to outputs
  // -----------------------------------------------------------

  void Express(const UOp& u) {
    NodeState& s = state_.at(u);
    if (s.root >= 0 && roots_[s.root].computes_self) s.compute.value = Compute(u, s.compute);
    for (Demand& d : s.demands) {
      d.value = s.memory ? Load(u, s, d) : Compute(u, d);
    }
  }

  UOp Load(const UOp& u, const NodeState& s, const Demand& d) {
    const UOp flat = MemoryIndex(MaxShape(ShapeOf(u)), s.order, d.index);
    const UOp given = d.valid ? ir::Valid(flat, d.valid) : flat;
    AddRead(d.root, s.memory, s.version);
    return LoadFrom(s.memory, given);
  }

  static UOp LoadFrom(const UOp& buffer, const UOp& index) {
    return UOp::Make(Op::kLoad, buffer.dtype(),
                     {UOp::Make(Op::kIndex, buffer.dtype(), {buffer, index})});
  }

  UOp Compute(const UOp& u, const Demand& d) {
    switch (u.op()) {
      case Op::kConst:
      case Op::kVariable:
        return u;
      case Op::kIota:
        return ir::Cast(d.index[0], u.dtype());
      case Op::kBuffer:
      case Op::kAfter: {
        // A snapshot kernel reads the memory itself.
        const BufferVersion& content = state_.at(u).content;
        AddRead(d.root, content.first, content.second);
        return LoadFrom(content.first, ir::Simplify(FlatIndex(ShapeOf(u), d.index)));
      }
      default:
        break;
    }
    std::vector<UOp> src;
    for (size_t i = 0; i < d.sources.size(); ++i) {
      const UOp& s = u.src(static_cast<int>(i));
      src.push_back(d.sources[i] < 0 ? s : state_.at(s).demands[d.sources[i]].value);
    }
    if (ir::IsMovement(u.op())) {
      if (!d.moved.valid) return src[0];
      return ir::Where(d.moved.valid, src[0], ir::Const(u.dtype(), 0));
    }
    switch (u.op()) {
      case Op::kReduce: {
        if (d.reduce_ranges.empty()) return src[0];
        src.insert(src.end(), d.reduce_ranges.begin(), d.reduce_ranges.end());
        return UOp::Make(Op::kReduce, u.dtype(), src,
                         ir::Arg(ir::ReduceArg{u.arg_as<ir::ReduceArg>().op, {}}));
      }
      case Op::kDetach:
      case Op::kContiguousBackward:
      case Op::kNoop:
        return src[0];
      default:
        TG_CHECK(ir::IsElementwise(u.op()))
            << ir::OpName(u.op()) << " in a kernel has no meaning yet";
        if (d.valid && src.size() == 2) src[1] = Guarded(u.op(), src[1], d.valid);
        return UOp::Make(u.op(), u.dtype(), src, u.arg());
    }
  }

  // The divisor, or number of bits to shift by, of an operation that is computed also where its
  // value does not matter: there nobody has seen to it that it is no zero, or not too many.
  static UOp Guarded(Op op, const UOp& x, const UOp& valid) {
    switch (op) {
      case Op::kShl:
      case Op::kShr:
        if (x.vmin() >= 0 && x.vmax() < x.dtype().bits()) return x;
        break;
      case Op::kCdiv:
      case Op::kCmod:
      case Op::kFloorDiv:
      case Op::kFloorMod:
        if (x.vmin() > 0 || x.vmax() < 0) return x;
        break;
      default:
        return x;
    }
    return ir::Where(valid, x, ir::Const(x.dtype(), 1));
  }

  void AddRead(int root, const UOp& memory, int64_t version) {
    auto& reads = reads_[root];
    const std::pair<UOp, int64_t> read(memory, version);
    if (std::find(reads.begin(), reads.end(), read) == reads.end()) reads.push_back(read);
  }

  RangeifyResult Collect() {
    RangeifyResult result;
    for (size_t i = 0; i < roots_.size(); ++i) {
      const Root& r = roots_[i];
      RangeifiedKernel k;
      k.device = r.device;
      k.target = r.buffer;
      k.target_version = r.version;
      if (r.copy) {
        const NodeState& s = state_.at(r.copy_source);
        k.reads = {{s.memory, s.version}};
        result.kernels.push_back(std::move(k));
        continue;
      }
      if (r.buffer.arg_as<ir::BufferArg>().size == 0) continue;
      const NodeState& s = state_.at(r.node);
      const UOp value = r.computes_self ? s.compute.value : s.demands[r.node_demand].value;
      UOp index = r.store_index;
      if (r.store_valid) index = ir::Valid(index, r.store_valid);
      const UOp store =
          UOp::Make(Op::kStore, ir::kVoid,
                    {UOp::Make(Op::kIndex, r.buffer.dtype(), {r.buffer, index}), value});
      std::vector<UOp> end = {store};
      end.insert(end.end(), r.loops.begin(), r.loops.end());
      k.ast = CleanKernel(ir::Sink({UOp::Make(Op::kEnd, ir::kVoid, end)}));
      k.reads = reads_[static_cast<int>(i)];
      result.kernels.push_back(std::move(k));
    }
    for (const UOp& r : sink_.src()) result.outputs.push_back(state_.at(r).memory);
    return result;
  }

  const UOp sink_;
  const std::string default_device_;
  const BufferVersions& snapshots_;
  const std::vector<UOp> order_;  // sources first
  absl::flat_hash_map<UOp, NodeState> state_;
  ir::UOpSet is_output_;
  ir::UOpSet wanted_versions_;  // kAfter nodes that must happen although nobody reads them
  std::vector<Root> roots_;
  absl::flat_hash_map<int, std::vector<std::pair<UOp, int64_t>>> reads_;
  std::optional<RealizePolicy> policy_;
  int next_range_ = 0;
  int64_t next_buffer_ = 0;
};

}  // namespace

RangeifyResult Rangeify(const UOp& sink, const std::string& default_device,
                        const BufferVersions& snapshots) {
  // Decisions go from outputs to inputs, but depend on those below. A first round guesses; its
  // result is what the second round assumes.
  Rangeifier guess(sink, default_device, snapshots);
  guess.Decide({});
  Rangeifier rangeifier(sink, default_device, snapshots);
  rangeifier.Decide(guess.Realized());
  return rangeifier.Build();
}

}  // namespace tg::schedule
