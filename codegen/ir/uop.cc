#include "codegen/ir/uop.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <new>

#include "base/check.h"
#include "codegen/ir/facts.h"

namespace tg::ir {
namespace internal {

// Sorted by (axis type, id). Bare pointers: the owner of the set keeps the nodes alive through its
// sources, and a range, which is in its own set, must not keep itself alive.
struct RangeSet {
  std::vector<Node*> nodes;

  // A handle is one pointer, so the array can be read as handles.
  absl::Span<const UOp> handles() const {
    static_assert(sizeof(UOp) == sizeof(Node*));
    return {reinterpret_cast<const UOp*>(nodes.data()), nodes.size()};
  }
};

namespace {

// The intern table: shards with open addressing. A slot has the node's hash beside the pointer, so
// that a look-up touches few nodes but the one it finds. The table holds no references. A node
// whose count reached zero stays in its slot until the thread that dropped it unlinks it; look-ups
// pass over it.
class InternTable {
 public:
  static InternTable& Get() {
    static InternTable* table = new InternTable;  // never destroyed: nodes may outlive main
    return *table;
  }

  // A new reference to the node with these parts.
  Node* Intern(Op op, DType dtype, absl::Span<const UOp> src, Arg&& arg, uint64_t hash) {
    Shard& shard = ShardOf(hash);
    std::lock_guard<std::mutex> lock(shard.mutex);
    size_t i = shard.Home(hash);
    for (; shard.slots[i].node != nullptr; i = shard.Next(i)) {
      if (shard.slots[i].hash != hash) continue;
      Node* n = shard.slots[i].node;
      if (n->op == op && n->dtype == dtype && n->src_count == src.size() &&
          std::equal(src.begin(), src.end(), n->sources()) && n->arg == arg && Revive(n)) {
        return n;
      }
    }
    Node* n = New(op, dtype, src, std::move(arg), hash);
    shard.slots[i] = {hash, n};
    if (3 * ++shard.count > 2 * shard.slots.size()) shard.Grow();
    return n;
  }

  void Unlink(Node* node) {
    Shard& shard = ShardOf(node->hash);
    std::lock_guard<std::mutex> lock(shard.mutex);
    size_t hole = shard.Home(node->hash);
    while (shard.slots[hole].node != node) hole = shard.Next(hole);
    // Slots that were pushed past the hole move back into it.
    for (size_t i = shard.Next(hole); shard.slots[i].node != nullptr; i = shard.Next(i)) {
      const size_t mask = shard.slots.size() - 1;
      const size_t distance = (i - shard.Home(shard.slots[i].hash)) & mask;
      if (distance < ((i - hole) & mask)) continue;
      shard.slots[hole] = shard.slots[i];
      hole = i;
    }
    shard.slots[hole] = {};
    --shard.count;
  }

  int64_t Count() {
    int64_t n = 0;
    for (Shard& shard : shards_) {
      std::lock_guard<std::mutex> lock(shard.mutex);
      n += static_cast<int64_t>(shard.count);
    }
    return n;
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    Node* node = nullptr;
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    size_t count = 0;
    std::vector<Slot> slots = std::vector<Slot>(64);

    // The low bits of a hash choose the shard.
    size_t Home(uint64_t hash) const { return (hash >> 6) & (slots.size() - 1); }
    size_t Next(size_t i) const { return (i + 1) & (slots.size() - 1); }

    void Grow() {
      std::vector<Slot> old(slots.size() * 2);
      old.swap(slots);
      for (const Slot& s : old) {
        if (s.node == nullptr) continue;
        size_t i = Home(s.hash);
        while (slots[i].node != nullptr) i = Next(i);
        slots[i] = s;
      }
    }
  };

  Shard& ShardOf(uint64_t hash) { return shards_[hash & (shards_.size() - 1)]; }

  static bool Revive(Node* n) {
    uint32_t refs = n->refs.load(std::memory_order_relaxed);
    while (refs != 0) {
      if (n->refs.compare_exchange_weak(refs, refs + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  static Node* New(Op op, DType dtype, absl::Span<const UOp> src, Arg&& arg, uint64_t hash) {
    void* memory = std::malloc(sizeof(Node) + src.size() * sizeof(UOp));
    TG_CHECK(memory != nullptr) << "out of memory for a graph node";
    Node* n = new (memory) Node{
        .refs = 1,
        .op = op,
        .marks = 0,
        .dtype = dtype,
        .src_count = static_cast<uint32_t>(src.size()),
        .hash = hash,
        .bounds = {},
        .congruence = {},
        .arg = std::move(arg),
        .ranges = nullptr,
        .shape = nullptr,
        .shape_deleter = nullptr,
    };
    n->bounds = ComputeBounds(op, dtype, src, n->arg);
    n->congruence = ComputeCongruence(op, dtype, src, n->arg, n->bounds);
    UOp* out = n->sources();
    for (const UOp& s : src) new (out++) UOp(s);
    return n;
  }

  std::array<Shard, 64> shards_;
};

uint64_t HashParts(Op op, DType dtype, absl::Span<const UOp> src, const Arg& arg) {
  uint64_t h = static_cast<uint64_t>(op) << 32 | static_cast<uint64_t>(dtype.scalar()) << 16 |
               static_cast<uint64_t>(dtype.lanes());
  if (arg.index() != 0) h = HashMix(h, HashArg(arg));
  for (const UOp& s : src) h = HashMix(h, s.hash());
  return HashMix(h, src.size());
}

}  // namespace

// Frees `node` and, without recursion, everything that only it kept alive.
void ReleaseNode(Node* node) {
  std::vector<Node*> dead = {node};
  while (!dead.empty()) {
    Node* n = dead.back();
    dead.pop_back();
    InternTable::Get().Unlink(n);
    delete n->ranges.load(std::memory_order_acquire);
    if (const ShapeData* shape = n->shape.load(std::memory_order_acquire)) {
      n->shape_deleter.load(std::memory_order_acquire)(shape);
    }
    for (uint32_t i = 0; i < n->src_count; ++i) {
      Node* s = n->sources()[i].node_;
      if (s->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) dead.push_back(s);
    }
    n->~Node();
    std::free(n);
  }
}

namespace {

bool RangeLess(const Node* a, const Node* b) {
  const RangeArg &x = std::get<RangeArg>(a->arg), &y = std::get<RangeArg>(b->arg);
  if (x.type != y.type) return x.type < y.type;
  if (x.id != y.id) return x.id < y.id;
  return a->hash < b->hash;
}

// The set, or null where it is not known yet.
const RangeSet* KnownRanges(const UOp& u) {
  static const RangeSet* const kEmpty = new RangeSet;
  const RangeSet* set = u.node()->ranges.load(std::memory_order_acquire);
  return set == nullptr && u.src_count() == 0 ? kEmpty : set;
}

// The sources' sets are known.
RangeSet* ComputeRanges(const UOp& u) {
  auto set = new RangeSet;
  std::vector<Node*>& v = set->nodes;
  // Sources after the first are ranges that end here.
  const bool closes = u.Is(Op::kReduce) || u.Is(Op::kEnd) || u.Is(Op::kStage);
  const int open = closes ? std::min(1, u.src_count()) : u.src_count();
  for (int i = 0; i < open; ++i) {
    const std::vector<Node*>& s = KnownRanges(u.src(i))->nodes;
    v.insert(v.end(), s.begin(), s.end());
  }
  if (u.Is(Op::kRange)) v.push_back(u.node());
  std::sort(v.begin(), v.end(), RangeLess);
  v.erase(std::unique(v.begin(), v.end()), v.end());
  for (int i = open; i < u.src_count(); ++i) {
    v.erase(std::remove(v.begin(), v.end(), u.src(i).node()), v.end());
  }
  return set;
}

const RangeSet* RangesOf(const UOp& root) {
  if (const RangeSet* set = KnownRanges(root)) return set;
  std::vector<UOp> stack = {root};
  while (!stack.empty()) {
    const UOp u = stack.back();
    bool ready = true;
    if (KnownRanges(u) == nullptr) {
      for (const UOp& s : u.src()) {
        if (KnownRanges(s) == nullptr) {
          stack.push_back(s);
          ready = false;
        }
      }
      if (!ready) continue;
      RangeSet* set = ComputeRanges(u);
      const RangeSet* expected = nullptr;
      if (!u.node()->ranges.compare_exchange_strong(expected, set, std::memory_order_acq_rel)) {
        delete set;  // another thread was faster
      }
    }
    stack.pop_back();
  }
  return KnownRanges(root);
}

}  // namespace
}  // namespace internal

UOp UOp::Make(Op op, DType dtype, absl::Span<const UOp> src, Arg arg) {
  const uint64_t hash = internal::HashParts(op, dtype, src, arg);
  return UOp(internal::InternTable::Get().Intern(op, dtype, src, std::move(arg), hash));
}

absl::Span<const UOp> UOp::ranges() const { return internal::RangesOf(*this)->handles(); }

bool UOp::DependsOnRange(const UOp& range) const {
  for (const UOp& r : ranges()) {
    if (r == range) return true;
  }
  return false;
}

// --- Construction
// ---------------------------------------------------------------------------------

UOp Const(DType d, int64_t v) {
  if (d.IsFloat()) return Const(d, static_cast<double>(v));
  return UOp::Make(Op::kConst, d, {}, WrapToInt(v, d));
}

UOp Const(DType d, double v) {
  if (!d.IsFloat()) return Const(d, d.IsBool() ? int64_t{v != 0} : FloatToInt(v, d));
  return UOp::Make(Op::kConst, d, {}, ConstFloat(RoundToFloat(v, d)));
}

UOp InvalidConst(DType d) { return UOp::Make(Op::kConst, d, {}, Invalid()); }

UOp Range(const UOp& size, int id, AxisType type) {
  return UOp::Make(Op::kRange, kIndex, {size}, RangeArg{.id = id, .type = type});
}
UOp Range(int64_t size, int id, AxisType type) { return Range(IndexConst(size), id, type); }

UOp Variable(absl::string_view name, int64_t min, int64_t max) {
  TG_CHECK(min <= max) << "variable " << name << ": empty interval";
  return UOp::Make(Op::kVariable, kIndex, {}, Arg(VariableArg{std::string(name), min, max}));
}

UOp Bind(const UOp& variable, int64_t value) {
  TG_CHECK(variable.Is(Op::kVariable));
  TG_CHECK(variable.vmin() <= value && value <= variable.vmax())
      << "bind: " << value << " is outside of variable " << variable.arg_as<VariableArg>().name;
  return UOp::Make(Op::kBind, kIndex, {variable, IndexConst(value)});
}

UOp Param(int slot, DType d, int64_t size) {
  return UOp::Make(Op::kParam, d, {}, ParamArg{.slot = slot, .size = size});
}

UOp Sink(absl::Span<const UOp> src, Arg arg) {
  return UOp::Make(Op::kSink, kVoid, src, std::move(arg));
}

UOp Alu(Op op, absl::Span<const UOp> src) {
  DType d = op == Op::kWhere ? src[1].dtype() : src[0].dtype();
  if (IsComparison(op)) d = kBool.Vec(d.lanes());
  return UOp::Make(op, d, src);
}

UOp Cast(const UOp& x, DType d) { return x.dtype() == d ? x : UOp::Make(Op::kCast, d, {x}); }
UOp Bitcast(const UOp& x, DType d) { return x.dtype() == d ? x : UOp::Make(Op::kBitcast, d, {x}); }
UOp Where(const UOp& cond, const UOp& a, const UOp& b) { return Alu(Op::kWhere, {cond, a, b}); }

UOp Valid(const UOp& x, const UOp& valid) {
  if (valid.IsConstInt(1)) return x;
  return Where(valid, x, InvalidConst(x.dtype()));
}
UOp GetIndex(const UOp& x) { return x.Is(Op::kWhere) && x.src(2).IsInvalid() ? x.src(1) : x; }
UOp GetValid(const UOp& x) {
  return x.Is(Op::kWhere) && x.src(2).IsInvalid() ? x.src(0) : Const(kBool, true);
}

UOp operator+(const UOp& a, const UOp& b) { return Alu(Op::kAdd, {a, b}); }
UOp operator-(const UOp& a, const UOp& b) { return a + -b; }
UOp operator*(const UOp& a, const UOp& b) { return Alu(Op::kMul, {a, b}); }
UOp operator<(const UOp& a, const UOp& b) { return Alu(Op::kCmpLt, {a, b}); }
UOp operator&(const UOp& a, const UOp& b) { return Alu(Op::kAnd, {a, b}); }
UOp operator|(const UOp& a, const UOp& b) { return Alu(Op::kOr, {a, b}); }
UOp operator^(const UOp& a, const UOp& b) { return Alu(Op::kXor, {a, b}); }
UOp operator-(const UOp& a) { return a.dtype().IsBool() ? Not(a) : a * -1; }
UOp Not(const UOp& a) { return Alu(Op::kCmpNe, {a, Const(a.dtype(), true)}); }
UOp FloorDiv(const UOp& a, const UOp& b) { return Alu(Op::kFloorDiv, {a, b}); }
UOp FloorMod(const UOp& a, const UOp& b) { return Alu(Op::kFloorMod, {a, b}); }
UOp Cdiv(const UOp& a, const UOp& b) { return Alu(Op::kCdiv, {a, b}); }
UOp Cmod(const UOp& a, const UOp& b) { return Alu(Op::kCmod, {a, b}); }
UOp Max(const UOp& a, const UOp& b) { return Alu(Op::kMax, {a, b}); }
UOp CmpEq(const UOp& a, const UOp& b) { return Alu(Op::kCmpEq, {a, b}); }
UOp CmpNe(const UOp& a, const UOp& b) { return Alu(Op::kCmpNe, {a, b}); }

// --- Traversal
// ------------------------------------------------------------------------------------
namespace {

template <typename Enter>
std::vector<UOp> ToposortIf(const UOp& root, Enter enter) {
  std::vector<UOp> order;
  absl::flat_hash_set<const void*> seen;
  // A node is pushed at most twice: to look at its sources, and to be listed after them.
  std::vector<std::pair<UOp, bool>> stack = {{root, false}};
  while (!stack.empty()) {
    auto [u, sources_done] = std::move(stack.back());
    stack.pop_back();
    if (sources_done) {
      order.push_back(std::move(u));
      continue;
    }
    if (!seen.insert(u.id()).second) continue;
    stack.emplace_back(u, true);
    if (!enter(u)) continue;
    for (int i = u.src_count() - 1; i >= 0; --i) {
      if (!seen.contains(u.src(i).id())) stack.emplace_back(u.src(i), false);
    }
  }
  return order;
}

}  // namespace

std::vector<UOp> Toposort(const UOp& root, absl::Span<const Op> dont_enter) {
  return ToposortIf(root, [dont_enter](const UOp& u) {
    return std::find(dont_enter.begin(), dont_enter.end(), u.op()) == dont_enter.end();
  });
}

std::vector<UOp> Toposort(const UOp& root, const std::function<bool(const UOp&)>& gate) {
  return ToposortIf(root, gate);
}

UOp Substitute(const UOp& root, const UOpMap& map) {
  if (map.empty()) return root;
  UOpMap done;
  std::vector<UOp> src;
  for (const UOp& u : ToposortIf(root, [&map](const UOp& u) { return !map.contains(u); })) {
    if (auto it = map.find(u); it != map.end()) {
      done.emplace(u, it->second);
      continue;
    }
    bool changed = false;
    src.clear();
    for (const UOp& s : u.src()) {
      auto it = done.find(s);
      src.push_back(it == done.end() ? s : it->second);
      changed |= it != done.end();
    }
    if (changed) done.emplace(u, u.WithSrc(src));
  }
  auto it = done.find(root);
  return it == done.end() ? root : it->second;
}

int64_t LiveNodeCount() { return internal::InternTable::Get().Count(); }

}  // namespace tg::ir
