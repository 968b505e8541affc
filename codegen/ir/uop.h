// UOp: the node of the micro-op graph.
//
// A UOp is an immutable value (op, dtype, sources, argument). Nodes are hash-consed: two UOps with
// equal parts are the same pointer, so equality is one comparison and a graph is a DAG by
// construction. The handle is 8 bytes, reference counted; dropping the last handle frees the node.
//
// Thread safety: any number of threads may create, copy, read and drop UOps.
//
// Nothing here recurses over a graph: creation looks at direct sources only, traversal and
// destruction are iterative. A chain of a million nodes is fine.
//
// Facts. Integer bounds and congruences are computed when a node is made, from those of its
// sources: that costs nanoseconds, and needs neither recursion nor synchronisation later. Range
// sets and shapes (shape.h) are computed on first use and kept in the node.
#ifndef TG_CODEGEN_IR_UOP_H_
#define TG_CODEGEN_IR_UOP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "codegen/ir/arg.h"
#include "codegen/ir/dtype.h"
#include "codegen/ir/op.h"

namespace tg::ir {

class UOp;
struct ShapeData;  // shape.h

// Closed interval of an integer or bool value. A float has the full interval.
struct Bounds {
  int64_t min;
  int64_t max;
  bool operator==(const Bounds&) const = default;
};

// value = remainder (mod modulus). modulus 0: the value is the constant `remainder`; modulus 1:
// nothing is known. 0 <= remainder < modulus where modulus > 0.
struct Congruence {
  int64_t modulus;
  int64_t remainder;
  bool operator==(const Congruence&) const = default;
};

namespace internal {

struct RangeSet;

// Whether T is an alternative of the variant V.
template <typename T, typename V>
inline constexpr bool kIsArg = false;
template <typename T, typename... Ts>
inline constexpr bool kIsArg<T, std::variant<Ts...>> = (std::is_same_v<T, Ts> || ...);

struct Node {
  std::atomic<uint32_t> refs;
  Op op;
  std::atomic<uint8_t> marks;  // RewriteOptions::settled_mark
  DType dtype;
  uint32_t src_count;
  uint64_t hash;
  Bounds bounds;
  Congruence congruence;
  Arg arg;
  std::atomic<const RangeSet*> ranges;
  std::atomic<const ShapeData*> shape;
  std::atomic<void (*)(const ShapeData*)> shape_deleter;

  UOp* sources() { return reinterpret_cast<UOp*>(this + 1); }
  const UOp* sources() const { return reinterpret_cast<const UOp*>(this + 1); }
};

void ReleaseNode(Node* node);

}  // namespace internal

class UOp {
 public:
  UOp() = default;  // null: no node
  UOp(const UOp& o) : node_(o.node_) { Retain(); }
  UOp(UOp&& o) noexcept : node_(o.node_) { o.node_ = nullptr; }
  UOp& operator=(const UOp& o) {
    if (node_ != o.node_) {
      UOp copy(o);
      std::swap(node_, copy.node_);
    }
    return *this;
  }
  UOp& operator=(UOp&& o) noexcept {
    std::swap(node_, o.node_);
    return *this;
  }
  ~UOp() {
    if (node_ != nullptr) Release();
  }

  // The node with these parts: the one that exists, or a new one.
  static UOp Make(Op op, DType dtype, absl::Span<const UOp> src, Arg arg = {});
  static UOp Make(Op op, DType dtype, std::initializer_list<UOp> src, Arg arg = {}) {
    return Make(op, dtype, absl::MakeConstSpan(src.begin(), src.size()), std::move(arg));
  }

  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const UOp& o) const { return node_ == o.node_; }

  Op op() const { return node_->op; }
  DType dtype() const { return node_->dtype; }
  absl::Span<const UOp> src() const { return {node_->sources(), node_->src_count}; }
  const UOp& src(int i) const { return node_->sources()[i]; }
  int src_count() const { return static_cast<int>(node_->src_count); }
  const Arg& arg() const { return node_->arg; }
  // The argument as a T (int64_t, RangeArg, ...) or the content of a Boxed<T>. The caller knows.
  template <typename T>
  const T& arg_as() const {
    if constexpr (internal::kIsArg<Boxed<T>, Arg>) {
      return *std::get<Boxed<T>>(node_->arg);
    } else {
      return std::get<T>(node_->arg);
    }
  }

  // Structural hash: equal graphs have equal hashes in every process.
  uint64_t hash() const { return node_->hash; }
  // Unique among live nodes.
  const void* id() const { return node_; }

  // Facts (see above). Meaningful for integers, weak ints and bools.
  const Bounds& bounds() const { return node_->bounds; }
  int64_t vmin() const { return node_->bounds.min; }
  int64_t vmax() const { return node_->bounds.max; }
  const Congruence& congruence() const { return node_->congruence; }
  // The kRange nodes that the value depends on, sorted by (axis type, id): those in its sources
  // that no kReduce, kEnd or kStage below closes.
  absl::Span<const UOp> ranges() const;
  bool DependsOnRange(const UOp& range) const;

  bool Is(Op op) const { return node_->op == op; }
  bool IsConst() const { return node_->op == Op::kConst; }
  bool IsInvalid() const {
    return node_->op == Op::kConst && std::holds_alternative<Invalid>(node_->arg);
  }
  // A constant with this integer (int, weak int, bool) or float value. Splats count.
  bool IsConstInt(int64_t v) const {
    const int64_t* p = std::get_if<int64_t>(&node_->arg);
    return node_->op == Op::kConst && p != nullptr && *p == v;
  }
  bool IsConstFloat(double v) const {
    const ConstFloat* p = std::get_if<ConstFloat>(&node_->arg);
    return node_->op == Op::kConst && p != nullptr && *p == ConstFloat(v);
  }
  // An integer constant's value; the caller knows that it is one.
  int64_t const_int() const { return std::get<int64_t>(node_->arg); }
  double const_float() const { return std::get<ConstFloat>(node_->arg).value; }

  // The same node with other parts.
  UOp WithSrc(absl::Span<const UOp> src) const { return Make(op(), dtype(), src, arg()); }
  UOp WithDType(DType d) const { return Make(op(), d, src(), arg()); }
  UOp WithArg(Arg arg) const { return Make(op(), dtype(), src(), std::move(arg)); }

  template <typename H>
  friend H AbslHashValue(H h, const UOp& u) {
    return H::combine(std::move(h), static_cast<const void*>(u.node_));
  }

  internal::Node* node() const { return node_; }

 private:
  friend void internal::ReleaseNode(internal::Node*);
  explicit UOp(internal::Node* adopted) : node_(adopted) {}
  void Retain() const {
    if (node_ != nullptr) node_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  void Release() {
    if (node_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) internal::ReleaseNode(node_);
  }

  internal::Node* node_ = nullptr;
};

using UOpSet = absl::flat_hash_set<UOp>;
using UOpMap = absl::flat_hash_map<UOp, UOp>;

// --- Construction
// --------------------------------------------------------------------------------- Constants are
// wrapped or rounded to `d`; `v` may be an integer for a float type and vice versa.
UOp Const(DType d, int64_t v);
UOp Const(DType d, double v);
inline UOp Const(DType d, int v) { return Const(d, static_cast<int64_t>(v)); }
inline UOp Const(DType d, bool v) { return Const(d, static_cast<int64_t>(v)); }
UOp InvalidConst(DType d);
inline UOp IndexConst(int64_t v) { return Const(kIndex, v); }
UOp Range(const UOp& size, int id, AxisType type = AxisType::kLoop);
UOp Range(int64_t size, int id, AxisType type = AxisType::kLoop);
UOp Variable(absl::string_view name, int64_t min, int64_t max);
// kBind. `value` must lie in the variable's bounds.
UOp Bind(const UOp& variable, int64_t value);
UOp Param(int slot, DType d, int64_t size);
UOp Sink(absl::Span<const UOp> src, Arg arg = {});
// Elementwise operation; the dtype follows from the sources (comparisons: bool).
UOp Alu(Op op, absl::Span<const UOp> src);
inline UOp Alu(Op op, std::initializer_list<UOp> src) {
  return Alu(op, absl::MakeConstSpan(src.begin(), src.size()));
}
UOp Cast(const UOp& x, DType d);  // x itself if it has the type
UOp Bitcast(const UOp& x, DType d);
UOp Where(const UOp& cond, const UOp& a, const UOp& b);
// WHERE(valid, x, Invalid), and the parts of such a node (any node: itself, and true).
UOp Valid(const UOp& x, const UOp& valid);
UOp GetIndex(const UOp& x);
UOp GetValid(const UOp& x);

// Operators build single nodes and fold nothing; a - b is a + b * -1, -a is a * -1 (for bool: not).
// An integer operand takes the type of the other.
UOp operator+(const UOp& a, const UOp& b);
UOp operator-(const UOp& a, const UOp& b);
UOp operator*(const UOp& a, const UOp& b);
UOp operator<(const UOp& a, const UOp& b);
UOp operator&(const UOp& a, const UOp& b);
UOp operator|(const UOp& a, const UOp& b);
UOp operator^(const UOp& a, const UOp& b);
UOp operator-(const UOp& a);
UOp Not(const UOp& a);  // bool
inline UOp operator+(const UOp& a, int64_t b) { return a + Const(a.dtype(), b); }
inline UOp operator-(const UOp& a, int64_t b) { return a + Const(a.dtype(), -b); }
inline UOp operator*(const UOp& a, int64_t b) { return a * Const(a.dtype(), b); }
inline UOp operator<(const UOp& a, int64_t b) { return a < Const(a.dtype(), b); }
// Floor division and modulus, truncating ones, comparisons with a name, since C++'s / % == mean
// other things.
UOp FloorDiv(const UOp& a, const UOp& b);
UOp FloorMod(const UOp& a, const UOp& b);
inline UOp FloorDiv(const UOp& a, int64_t b) { return FloorDiv(a, Const(a.dtype(), b)); }
inline UOp FloorMod(const UOp& a, int64_t b) { return FloorMod(a, Const(a.dtype(), b)); }
UOp Cdiv(const UOp& a, const UOp& b);
UOp Cmod(const UOp& a, const UOp& b);
UOp Max(const UOp& a, const UOp& b);
UOp CmpEq(const UOp& a, const UOp& b);
UOp CmpNe(const UOp& a, const UOp& b);

// --- Traversal
// ------------------------------------------------------------------------------------ All nodes
// reachable from `root`, each once, sources before users, in a deterministic order. With `gate`,
// sources of nodes for which it is false are not entered (such nodes are still listed).
std::vector<UOp> Toposort(const UOp& root, absl::Span<const Op> dont_enter = {});
std::vector<UOp> Toposort(const UOp& root, const std::function<bool(const UOp&)>& gate);
// `root` with each key of `map` replaced by its value (values are not searched again).
UOp Substitute(const UOp& root, const UOpMap& map);

// Live nodes in the process: for leak tests and benchmarks.
int64_t LiveNodeCount();

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_UOP_H_
