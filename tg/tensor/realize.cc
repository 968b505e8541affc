// Running tensors, and what that does to the graphs of the others.
//
// Realizing X stores it into a new buffer R. From then on R stands for X in every live tensor. With
// one exception: where X depends on a tensor that wants a gradient, X stays in the graphs, so that
// Backward still finds its way, and a table remembers that its value is in R. The table is applied
// to whatever is to be run.
//
// A store changes what a buffer holds, so tensors that are based on what it held before ("stale"
// tensors) are computed in the same run, before it: wholly, or where all ways to the buffer lead
// through kContiguous or kAfter nodes, just those. Entries of the table that are stale are replaced
// by their values for good.

#include <cstring>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/error.h"
#include "tg/tensor/backend.h"
#include "tg/tensor/impl.h"
#include "tg/tensor/tensor.h"

namespace tg {

using ir::Op;
using ir::UOp;
using ir::UOpMap;
using ir::UOpSet;
using tensor_internal::BelowReshapes;
using tensor_internal::BufferOf;
using tensor_internal::LiveTensors;
using tensor_internal::TensorImpl;

namespace {

// Values of expressions that stay in graphs for their gradients: expression to reshaped kBuffer.
UOpMap& KeptHistories() {
  static UOpMap* map = new UOpMap;
  return *map;
}

UOp Flat(const UOp& x) { return ir::Reshape(x, {ir::NumElements(ir::ShapeOf(x))}); }

// kAfter(target, kStore(target, value)), all flat.
UOp StoreInto(const UOp& target, const UOp& value) {
  UOp store = UOp::Make(Op::kStore, ir::kVoid, {target, Flat(value)});
  return UOp::Make(Op::kAfter, target.dtype(), {target, store});
}

UOp NewBufferFor(const char* op, const UOp& x, const std::string& device) {
  if (x.dtype().IsWeak()) {
    throw DTypeError(absl::StrCat(op,
                                  ": cannot realize a weak dtype; cast to a concrete dtype first (",
                                  x.dtype().ToString(), " ", ir::ToString(ir::ShapeOf(x)), ")"));
  }
  tensor_internal::ConcreteShape(op, ir::ShapeOf(x));
  return GetBackend().NewBuffer(x.dtype(), ir::NumElements(ir::ShapeOf(x)).value(),
                                device.empty() ? GetBackend().DefaultDevice() : device);
}

// One call of Realize.
class Run {
 public:
  explicit Run(absl::Span<const Tensor> tensors) {
    for (const Tensor& t : tensors) AddTensor(TensorImpl::Of(t));
  }

  // See Tensor::Settle.
  explicit Run(const std::function<bool(const UOp&)>& overwritten) {
    absl::flat_hash_map<UOp, bool> depends;
    auto is_known = [&depends](const UOp& node) { return depends.contains(node); };
    auto depends_on_overwritten = [&](const UOp& x) {
      auto enter = [&](const UOp& node) {
        return !is_known(node) && (node == x || !KeptHistories().contains(node));
      };
      for (const UOp& node : ir::Toposort(x, enter)) {
        if (is_known(node)) continue;
        bool result = node.Is(Op::kBuffer) && overwritten(node);
        if (node == x || !KeptHistories().contains(node)) {
          for (const UOp& s : node.src()) result |= depends.at(s);
        }
        // A key of the table is a known value for all others.
        if (node == x && KeptHistories().contains(x)) return result;
        depends[node] = result;
      }
      return depends.at(x);
    };
    for (const auto& [x, result] : KeptHistories()) {
      if (depends_on_overwritten(x)) overwritten_histories_.insert(x);
    }
    for (TensorImpl* t : LiveTensors()) {
      const UOp& below = BelowReshapes(t->uop);
      if (KeptHistories().contains(below) || (below.Is(Op::kBuffer) && t->owns_memory)) continue;
      if (!BufferOf(below) || below.Is(Op::kBuffer)) {
        if (!ir::IsConst(ir::ShapeOf(t->uop)) || !depends_on_overwritten(below)) continue;
        tensor_internal::TakeMemory(*t);
      }
      if (BelowReshapes(t->uop).Is(Op::kAfter)) AddRoot(BelowReshapes(t->uop));
    }
  }

  void Execute() {
    if (roots_.empty() && replaced_.empty() && overwritten_histories_.empty()) return;
    if (!roots_.empty()) {
      AddStaleTensors();
      GetBackend().Realize(RootsToRun());
    }
    ReplaceInLiveTensors();
  }

 private:
  void AddTensor(TensorImpl& t) {
    const UOp& below = BelowReshapes(t.uop);
    if (below.Is(Op::kBuffer) || KeptHistories().contains(below)) return;
    if (BufferOf(below)) {
      AddRoot(below);
      return;
    }
    // The first to be realized owns the memory; others with the same value just use it.
    if (AddExpression(below, t.device)) t.owns_memory = true;
    if (tensor_internal::UniformConst(below)) constants_.push_back(&t);
  }

  void AddRoot(const UOp& after) {
    if (root_set_.insert(after).second) roots_.push_back(after);
  }

  // Whether the expression is new to this run. It is no reshape: what uses it may see it through
  // another one.
  bool AddExpression(const UOp& x, const std::string& device) {
    if (realized_.contains(x) || replaced_.contains(x)) return false;
    UOp buffer = NewBufferFor("realize", x, device);
    UOp result = ir::Reshape(buffer, ir::ShapeOf(x));
    if (ir::NumElements(ir::ShapeOf(x)).Is(0)) {
      replaced_.emplace(x, result);
      return true;
    }
    new_buffers_.insert(buffer);
    AddRoot(StoreInto(buffer, Marked(x)));
    realized_.emplace(x, result);
    return true;
  }

  // A kContiguous node and what it marks have the same value.
  static const UOp& Marked(const UOp& x) { return x.Is(Op::kContiguous) ? x.src(0) : x; }

  // The roots with known values put in, and with values that this run stores taken from there.
  std::vector<UOp> RootsToRun() const {
    UOpMap known = KeptHistories();
    if (known.empty() && realized_.size() <= 1) return roots_;
    std::vector<UOp> run;
    UOpSet stored;
    // Sources first, so that what is put in has its own parts put in already.
    for (const UOp& node : ir::Toposort(ir::Sink(roots_), KnownGate())) {
      auto it = realized_.find(node);
      if (it == realized_.end()) continue;
      const UOp& buffer = BelowReshapes(it->second);
      run.push_back(StoreInto(buffer, ir::Substitute(Marked(node), known)));
      stored.insert(node);
      // A version of a buffer stays what it is, also as the target of the next store.
      if (!BufferOf(node)) known[node] = ir::Reshape(run.back(), ir::ShapeOf(node));
    }
    // A mark that nothing but its own store mentions.
    for (const auto& [x, result] : realized_) {
      if (!stored.contains(x)) {
        run.push_back(StoreInto(BelowReshapes(result), ir::Substitute(Marked(x), known)));
      }
    }
    for (const UOp& root : roots_) {
      if (!new_buffers_.contains(root.src(0))) run.push_back(ir::Substitute(root, known));
    }
    return run;
  }

  // All kAfter nodes that the run executes.
  UOpSet Executed() const {
    UOpSet executed;
    for (const UOp& node : ir::Toposort(ir::Sink(roots_), KnownGate())) {
      if (node.Is(Op::kAfter)) executed.insert(node);
    }
    return executed;
  }

  static std::function<bool(const UOp&)> KnownGate() {
    return [](const UOp& node) { return !KeptHistories().contains(node); };
  }

  // Computes final_ and stale_: the last version of each stored buffer, and the earlier ones.
  void FindVersions() {
    executed_ = Executed();
    final_.clear();
    stale_.clear();
    UOpSet superseded;
    for (const UOp& after : executed_) superseded.insert(after.src(0));
    for (const UOp& after : executed_) {
      UOp buffer = BufferOf(after);
      TG_CHECK(static_cast<bool>(buffer)) << "kAfter without a buffer";
      (superseded.contains(after) ? stale_ : final_).insert(after);
      if (!new_buffers_.contains(buffer)) stale_.insert(buffer);
    }
  }

  // Finds live tensors that need a version of a buffer which this run overwrites.
  void AddStaleTensors() {
    while (true) {
      size_t before = roots_.size();
      FindVersions();
      if (stale_.empty()) return;
      // Expressions whose history is kept are values; but do they stay?
      stale_histories_.clear();
      for (const auto& [x, result] : KeptHistories()) {
        if (IsStale(x, /*through_marks=*/true)) stale_histories_.insert(x);
      }
      for (TensorImpl* t : LiveTensors()) {
        const UOp& below = BelowReshapes(t->uop);
        if (realized_.contains(below) || KeptHistories().contains(below)) continue;
        // The root of a version that another root overwrites is a reader of it.
        if (root_set_.contains(below) && !stale_.contains(below)) continue;
        if (IsStale(below, /*through_marks=*/false)) AddStale(*t);
      }
      for (const UOp& mark : marks_) AddMark(mark);
      marks_.clear();
      memo_[0].clear();
      memo_[1].clear();
      if (roots_.size() == before) return;
    }
  }

  void AddStale(TensorImpl& t) {
    const UOp& below = BelowReshapes(t.uop);
    if (BufferOf(below) && !stale_.contains(below)) {
      AddRoot(below);  // its pending store needs the old version
    } else {
      if (AddExpression(below, t.device)) t.owns_memory = true;
    }
  }

  void AddMark(const UOp& mark) {
    if (mark.Is(Op::kAfter)) {
      AddRoot(mark);
    } else {
      AddExpression(mark, tensor_internal::DeviceOf(mark));
    }
  }

  // Whether x depends on a stale version. kContiguous and pending kAfter nodes that do are
  // collected in marks_ and counted as fresh, unless `through_marks`.
  bool IsStale(const UOp& x, bool through_marks) {
    absl::flat_hash_map<UOp, bool>& memo = memo_[through_marks];
    auto gate = [&](const UOp& node) {
      return !memo.contains(node) && !stale_.contains(node) && !final_.contains(node) &&
             (node == x || !KeptHistories().contains(node));
    };
    if (memo.contains(x)) return memo.at(x);
    for (const UOp& node : ir::Toposort(x, gate)) {
      if (memo.contains(node)) continue;
      // A value that is known depends on nothing.
      if (node != x && KeptHistories().contains(node)) continue;
      bool stale = stale_.contains(node);
      if (gate(node)) {
        for (const UOp& s : node.src()) {
          auto it = memo.find(s);
          stale |= it != memo.end() && it->second;
        }
        if (stale && !through_marks && node.Is(Op::kContiguous)) {
          if (!realized_.contains(node)) marks_.push_back(node);
          stale = false;
        }
        if (stale && !through_marks && node.Is(Op::kAfter) && node != x) {
          marks_.push_back(node);
          stale = false;
        }
      }
      // For other tensors a key of the table stays a known value.
      if (KeptHistories().contains(node)) return stale;
      memo[node] = stale;
    }
    return memo.at(x);
  }

  // Whether x depends on a tensor that wants a gradient.
  class GradientReach {
   public:
    GradientReach() {
      for (TensorImpl* t : LiveTensors()) {
        if (t->requires_grad) leaves_.insert(BelowReshapes(t->uop));
      }
    }
    bool Reaches(const UOp& x) {
      if (leaves_.empty() || !x.dtype().IsFloat()) return false;
      auto gate = [&](const UOp& node) {
        return !memo_.contains(node) && !leaves_.contains(node) && !node.Is(Op::kDetach);
      };
      for (const UOp& node : ir::Toposort(x, gate)) {
        if (memo_.contains(node)) continue;
        bool reaches = leaves_.contains(node);
        if (gate(node)) {
          for (const UOp& s : node.src()) reaches |= memo_.at(s);
        }
        memo_[node] = reaches;
      }
      return memo_.at(x);
    }

   private:
    UOpSet leaves_;
    absl::flat_hash_map<UOp, bool> memo_;
  };

  void ReplaceInLiveTensors() {
    // A constant is better than memory that holds it: only who asked for memory gets it.
    for (TensorImpl* t : constants_) {
      const UOp& below = BelowReshapes(t->uop);
      if (below.Is(Op::kBuffer)) continue;  // a tensor that was named twice
      auto it = realized_.find(below);
      const UOp& result = it != realized_.end() ? it->second : replaced_.at(below);
      t->uop = ir::Reshape(result, ir::ShapeOf(t->uop));
    }
    auto is_constant = [](const auto& entry) {
      return static_cast<bool>(tensor_internal::UniformConst(entry.first));
    };
    absl::erase_if(realized_, is_constant);
    absl::erase_if(replaced_, is_constant);
    UOpMap map = std::move(replaced_);
    for (const UOp& after : final_) map.emplace(after, BufferOf(after));
    stale_histories_.insert(overwritten_histories_.begin(), overwritten_histories_.end());
    for (const UOp& x : stale_histories_) {
      map.emplace(x, KeptHistories().at(x));
      KeptHistories().erase(x);
    }
    // Which of the new values keep their history, judged before leaves are replaced.
    GradientReach reach;
    std::vector<std::pair<UOp, UOp>> kept;
    for (const auto& [x, result] : realized_) {
      if (reach.Reaches(x) && !IsStale(x, /*through_marks=*/true)) {
        kept.emplace_back(x, result);
      } else {
        map.emplace(x, result);
        if (x.Is(Op::kContiguous)) map.emplace(x.src(0), result);
      }
    }
    if (!map.empty()) {
      std::vector<TensorImpl*> live = LiveTensors();
      std::vector<UOp> values;
      for (TensorImpl* t : live) values.push_back(t->uop);
      for (const auto& [x, result] : kept) values.push_back(x);
      std::vector<UOp> old_keys;
      for (const auto& [x, result] : KeptHistories()) old_keys.push_back(x);
      values.insert(values.end(), old_keys.begin(), old_keys.end());
      UOp replaced = ir::Substitute(ir::Sink(values), map);
      int i = 0;
      for (TensorImpl* t : live) {
        const UOp& value = replaced.src(i++);
        t->uop = ir::Reshape(BelowReshapes(value), ir::ShapeOf(value));
      }
      for (auto& [x, result] : kept) x = replaced.src(i++);
      UOpMap histories;
      for (const UOp& key : old_keys) {
        histories.emplace(replaced.src(i++), KeptHistories().at(key));
      }
      KeptHistories() = std::move(histories);
    }
    for (const auto& [x, result] : kept) KeptHistories().emplace(x, result);
    DropUnusedHistories();
  }

  static void DropUnusedHistories() {
    if (KeptHistories().empty()) return;
    std::vector<UOp> values;
    for (TensorImpl* t : LiveTensors()) values.push_back(t->uop);
    UOpSet used;
    for (const UOp& node : ir::Toposort(ir::Sink(values))) {
      if (KeptHistories().contains(node)) used.insert(node);
    }
    absl::erase_if(KeptHistories(), [&](const auto& entry) { return !used.contains(entry.first); });
  }

  std::vector<UOp> roots_;  // kAfter nodes
  UOpSet root_set_;
  UOpSet new_buffers_;
  UOpMap realized_;                     // expression to what will hold it
  UOpMap replaced_;                     // the same, where nothing has to run
  std::vector<TensorImpl*> constants_;  // tensors that are to hold a constant in memory
  UOpSet executed_;
  UOpSet final_;
  UOpSet stale_;
  UOpSet stale_histories_;
  UOpSet overwritten_histories_;  // by somebody else, see Settle
  std::vector<UOp> marks_;
  absl::flat_hash_map<UOp, bool> memo_[2];
};

}  // namespace

namespace tensor_internal {

void TakeMemory(TensorImpl& t) {
  UOp buffer = NewBufferFor("clone", t.uop, t.device);
  Shape shape = ir::ShapeOf(t.uop);
  UOp stored = ir::NumElements(shape).Is(0) ? buffer : StoreInto(buffer, t.uop);
  t.uop = ir::Reshape(stored, shape);
  if (t.device.empty()) t.device = GetBackend().DefaultDevice();
  t.owns_memory = true;
}

}  // namespace tensor_internal

void Tensor::Realize(absl::Span<const Tensor> tensors) { Run(tensors).Execute(); }

void Tensor::Settle(const std::function<bool(const UOp& buffer)>& overwritten) {
  Run(overwritten).Execute();
}

const Tensor& Tensor::Realize() const {
  Realize(absl::MakeConstSpan(this, 1));
  return *this;
}

bool Tensor::IsRealized() const {
  const UOp& below = BelowReshapes(uop());
  return below.Is(Op::kBuffer) || KeptHistories().contains(below);
}

Tensor& Tensor::Assign(const Tensor& value) {
  TensorImpl& self = TensorImpl::Of(*this);
  Tensor v = value.dtype().IsWeak() ? value.Cast(dtype()) : value;
  if (v.dtype() != dtype()) {
    throw DTypeError(
        absl::StrCat("assign: dtype mismatch ", dtype().ToString(), " != ", v.dtype().ToString()));
  }
  if (!v.device().empty() && !device().empty() && v.device() != device()) {
    throw DeviceError(absl::StrCat("assign: device mismatch ", device(), " != ", v.device()));
  }
  UOp broadcast = tensor_internal::BroadcastTo(v.uop(), shape());
  if (v.uop() == uop()) return *this;
  const UOp& below = BelowReshapes(self.uop);
  if (self.owns_memory && BufferOf(below) && !ir::NumElements(shape()).Is(0)) {
    self.uop = ir::Reshape(StoreInto(below, broadcast), shape());
  } else {
    self.uop = broadcast;
    self.owns_memory = false;
    if (self.device.empty()) self.device = v.device();
    if (self.requires_grad) TakeMemory(self);
  }
  return *this;
}

Tensor Tensor::Clone() const {
  Tensor copy = FromUOp(uop(), device());
  tensor_internal::TakeMemory(TensorImpl::Of(copy));
  return copy;
}

std::vector<std::byte> Tensor::ToBytes() const {
  if (GetBackend().Capturing()) {
    throw UsageError(
        "tensor: cannot access tensor data during Jit capture, the value would be baked in");
  }
  // An alias, so that reading a weak scalar or a constant leaves this tensor as it is.
  Tensor t = *this;
  if (dtype().IsWeak()) {
    t = Cast(dtype().IsFloat() ? DefaultFloat() : DefaultInt());
  } else if (tensor_internal::UniformConst(uop())) {
    t = FromUOp(uop(), device());
  }
  t.Realize();
  auto history = KeptHistories().find(BelowReshapes(t.uop()));
  UOp value = history == KeptHistories().end() ? t.uop() : history->second;
  std::vector<std::byte> bytes(t.NumElements() * t.dtype().bytes());
  if (!bytes.empty()) GetBackend().CopyOut(BelowReshapes(value), absl::MakeSpan(bytes));
  return bytes;
}

template <typename T>
std::vector<T> Tensor::ToVector() const {
  DType d = dtype();
  if (d.IsWeak()) d = d.IsFloat() ? DefaultFloat() : DefaultInt();
  std::vector<std::byte> bytes = ToBytes();
  std::vector<T> values(bytes.size() / d.bytes());
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes[i * d.bytes()], d.bytes());
    if (d.IsFloat()) {
      values[i] = static_cast<T>(ir::DecodeFloat(bits, d));
    } else {
      int64_t v = ir::WrapToInt(static_cast<int64_t>(bits), d);
      values[i] =
          std::is_floating_point_v<T> ? static_cast<T>(ir::IntToDouble(v, d)) : static_cast<T>(v);
    }
  }
  return values;
}

template <typename T>
T Tensor::Item() const {
  if (NumElements() != 1) {
    throw ShapeError("item: expected one element, got shape " + ir::ToString(shape()));
  }
  return ToVector<T>()[0];
}

#define TG_INSTANTIATE(T)                              \
  template std::vector<T> Tensor::ToVector<T>() const; \
  template T Tensor::Item<T>() const;
TG_INSTANTIATE(float)
TG_INSTANTIATE(double)
TG_INSTANTIATE(int8_t)
TG_INSTANTIATE(uint8_t)
TG_INSTANTIATE(int16_t)
TG_INSTANTIATE(uint16_t)
TG_INSTANTIATE(int32_t)
TG_INSTANTIATE(uint32_t)
TG_INSTANTIATE(int64_t)
TG_INSTANTIATE(uint64_t)
#undef TG_INSTANTIATE

}  // namespace tg
