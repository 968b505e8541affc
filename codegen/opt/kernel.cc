#include "codegen/opt/kernel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/ir/simplify/simplify.h"
#include "codegen/opt/rebuild.h"

namespace tg::opt {
namespace {

using ir::AxisType;
using ir::Op;
using ir::Opt;
using ir::OptOp;
using ir::UOp;

template <typename... Args>
absl::Status Refuse(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}

bool IsExpanded(AxisType t) { return t == AxisType::kUpcast || t == AxisType::kUnroll; }
bool IsWorkItem(AxisType t) {
  return t == AxisType::kGlobal || t == AxisType::kLocal || t == AxisType::kWarp ||
         t == AxisType::kGroupReduce;
}

int64_t SizeOf(const UOp& range) { return range.src(0).IsConst() ? range.src(0).const_int() : -1; }

// Whether `body` is a kStore through a kIndex, or a kGroup of such.
bool IsStores(const UOp& body) {
  if (body.Is(Op::kStore)) return body.src(0).Is(Op::kIndex);
  return body.Is(Op::kGroup) && std::all_of(body.src().begin(), body.src().end(),
                                            [](const UOp& s) { return IsStores(s); });
}

}  // namespace

Limits LimitsOf(const render::Target& target) { return {.threads = target.has_threads}; }

absl::StatusOr<Kernel> Kernel::Make(const UOp& ast, const Limits& limits) {
  if (!ast.Is(Op::kSink) || ast.src().empty()) {
    return absl::InvalidArgumentError("a kernel is a Sink of Ends");
  }
  Kernel k;
  k.ast_ = ast;
  k.limits_ = limits;
  auto add = [&k](const UOp& range, bool reduce) {
    const int known = k.RootOf(range);
    if (known >= 0) return k.roots_[known].reduce == reduce;
    const int64_t size = SizeOf(range);
    k.roots_.push_back({.range = range, .size = size, .padded = size, .reduce = reduce});
    return true;
  };
  for (const UOp& end : ast.src()) {
    if (!(end.Is(Op::kEnd) && IsStores(end.src(0))) && !IsStores(end)) {
      return absl::InvalidArgumentError("a kernel is a Sink of Ends of Stores");
    }
    if (!end.Is(Op::kEnd)) continue;
    for (const UOp& r : end.src().subspan(1)) add(r, false);
  }
  std::vector<std::pair<UOp, Reduction>> reductions;
  for (const UOp& u : ir::Toposort(ast)) {
    if (u.Is(Op::kRange)) k.next_id_ = std::max(k.next_id_, u.arg_as<ir::RangeArg>().id + 1);
    if (!u.Is(Op::kReduce)) continue;
    Reduction reduction;
    reduction.bytes = u.dtype().bytes();
    for (const UOp& r : u.src().subspan(1)) {
      if (!add(r, true)) {
        return absl::InvalidArgumentError("a range is closed as an output and by a reduction");
      }
      reduction.roots.push_back(k.RootOf(r));
    }
    reductions.emplace_back(u, std::move(reduction));
  }
  for (auto& [u, reduction] : reductions) {
    for (const UOp& r : u.ranges()) {
      const int root = k.RootOf(r);
      reduction.inside |= root >= 0 && k.roots_[root].reduce;
    }
    k.reductions_.push_back(std::move(reduction));
  }
  for (int i = 0; i < static_cast<int>(k.roots_.size()); ++i) {
    const ir::RangeArg& arg = k.roots_[i].range.arg_as<ir::RangeArg>();
    k.axes_.push_back(
        {.type = arg.type, .size = k.roots_[i].size, .root = i, .stride = 1, .id = arg.id});
  }
  std::stable_sort(k.axes_.begin(), k.axes_.end(),
                   [](const Axis& a, const Axis& b) { return a.type < b.type; });
  return k;
}

int Kernel::RootOf(const UOp& range) const {
  for (size_t i = 0; i < roots_.size(); ++i) {
    if (roots_[i].range == range) return static_cast<int>(i);
  }
  return -1;
}

int Kernel::FindAxis(int root, AxisType type) const {
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].root == root && axes_[i].type == type) return static_cast<int>(i);
  }
  return -1;
}

int64_t Kernel::Copies(int root) const {
  auto product = [this](const std::vector<int>* roots) {
    int64_t n = 1;
    for (const Axis& a : axes_) {
      const bool mine = roots == nullptr
                            ? !roots_[a.root].reduce
                            : std::find(roots->begin(), roots->end(), a.root) != roots->end();
      if (mine && IsExpanded(a.type)) n *= a.size;
    }
    return n;
  };
  int64_t most = 1;
  for (const Reduction& r : reductions_) {
    const bool mine = std::find(r.roots.begin(), r.roots.end(), root) != r.roots.end();
    if (mine || !roots_[root].reduce) most = std::max(most, product(&r.roots));
  }
  return product(nullptr) * most;
}

std::string Kernel::Shape() const {
  return absl::StrCat("(",
                      absl::StrJoin(axes_, ", ",
                                    [](std::string* s, const Axis& a) {
                                      absl::StrAppend(s, a.size < 0 ? "?" : absl::StrCat(a.size),
                                                      " ", AxisTypeName(a.type));
                                    }),
                      ")");
}

void Kernel::Insert(const Axis& axis) {
  auto at = std::find_if(axes_.begin(), axes_.end(),
                         [&axis](const Axis& a) { return a.type > axis.type; });
  axes_.insert(at, axis);
}

absl::Status Kernel::Apply(const Opt& opt) {
  const int count = static_cast<int>(axes_.size());
  if (opt.op != OptOp::kNoLocals && (opt.axis < 0 || opt.axis >= count)) {
    return Refuse("invalid axis ", opt.axis, ": the axes are ", Shape());
  }
  absl::Status status;
  switch (opt.op) {
    case OptOp::kSplit:
      status = Split(opt);
      break;
    case OptOp::kPadTo:
      status = PadTo(opt);
      break;
    case OptOp::kSwap:
      status = Swap(opt);
      break;
    case OptOp::kNoLocals:
      status = NoLocals();
      break;
    case OptOp::kTensorCore:
      status = applied_.empty() ? Refuse("no tensor core available")
                                : Refuse("tensor core opts must be first");
      break;
  }
  if (status.ok()) applied_.push_back(opt);
  return status;
}

absl::Status Kernel::NoLocals() {
  for (const Axis& a : axes_) {
    if (IsWorkItem(a.type) && a.type != AxisType::kGlobal) {
      return Refuse("no locals can't have locals: the axes are ", Shape());
    }
  }
  no_locals_ = true;
  return absl::OkStatus();
}

bool Kernel::InEveryStore(const Root& root) const {
  for (const UOp& end : ast_.src()) {
    if (!end.Is(Op::kEnd)) return false;
    const absl::Span<const UOp> closed = end.src().subspan(1);
    if (std::find(closed.begin(), closed.end(), root.range) == closed.end()) return false;
    std::vector<UOp> bodies = {end.src(0)};
    while (!bodies.empty()) {
      const UOp body = bodies.back();
      bodies.pop_back();
      if (body.Is(Op::kGroup)) {
        bodies.insert(bodies.end(), body.src().begin(), body.src().end());
      } else if (!body.src(0).src(1).DependsOnRange(root.range)) {
        return false;
      }
    }
  }
  return true;
}

absl::Status Kernel::CheckThread(const Axis& axis, int64_t amount) const {
  if (!limits_.threads) return Refuse("target does not support threads");
  for (const Axis& a : axes_) {
    if (a.type == AxisType::kThread) return Refuse("already threaded: the axes are ", Shape());
  }
  if (axis.type != AxisType::kLoop) {
    return Refuse("can't apply range to this dim: threads are for LOOP, not ",
                  AxisTypeName(axis.type));
  }
  if (!InEveryStore(roots_[axis.root])) {
    return Refuse("can't apply range to this dim: some output does not have it");
  }
  if (amount > limits_.max_threads) {
    return Refuse("too many threads: ", amount, ", at most ", limits_.max_threads);
  }
  return absl::OkStatus();
}

absl::Status Kernel::RefuseKind(const Axis& axis, const Opt& opt) const {
  const absl::string_view now = AxisTypeName(axis.type);
  switch (opt.type) {
    case AxisType::kUpcast:
      return Refuse("upcast is for GLOBAL/LOCAL/LOOP, not ", now);
    case AxisType::kUnroll:
      return Refuse("unroll is for GROUP_REDUCE/REDUCE, not ", now);
    case AxisType::kGroupReduce:
      return Refuse("group is for reduce, not ", now);
    case AxisType::kLocal:
    case AxisType::kWarp:
      return Refuse("local is for globals, not ", now);
    default:
      return Refuse("can't apply range to this dim: ", now, " does not become ",
                    AxisTypeName(opt.type));
  }
}

absl::Status Kernel::CheckWorkItem(const Axis& axis, const Opt& opt, int64_t amount) const {
  if (!limits_.work_groups) {
    return Refuse("locals needed for opt: the target has no work groups for ",
                  AxisTypeName(opt.type));
  }
  if (opt.type == AxisType::kGlobal) return absl::OkStatus();
  if (no_locals_) return Refuse("can't use locals: NOLOCALS is set");
  if (opt.type != AxisType::kGroupReduce) {
    if (axis.type == AxisType::kGlobal || axis.type == AxisType::kLoop) return absl::OkStatus();
    return Refuse("local is for globals, not ", AxisTypeName(axis.type));
  }
  if (axis.type != AxisType::kReduce) {
    return Refuse("group is for reduce, not ", AxisTypeName(axis.type));
  }
  int64_t bytes = amount;  // a partial result for each work item and copy
  for (const Axis& a : axes_) {
    if (a.type == AxisType::kUpcast || (IsWorkItem(a.type) && a.type != AxisType::kGlobal)) {
      bytes *= a.size;
    }
  }
  int element = 1;
  for (const Reduction& r : reductions_) {
    if (std::find(r.roots.begin(), r.roots.end(), axis.root) == r.roots.end()) continue;
    if (r.inside) return Refuse("cannot have a GROUP_REDUCE inside another reduce");
    element = std::max(element, r.bytes);
  }
  bytes *= element;
  if (bytes > limits_.shared_memory) {
    return Refuse("exceeds maximum shared memory size: needs ", bytes, ", max ",
                  limits_.shared_memory);
  }
  return absl::OkStatus();
}

absl::Status Kernel::CheckSplitType(const Axis& axis, const Opt& opt, int64_t amount) const {
  const bool reduce = roots_[axis.root].reduce;
  if (IsExpanded(axis.type)) return Refuse("axis ", opt.axis, " is expanded already");
  if (axis.type == AxisType::kThread) return Refuse("axis ", opt.axis, " is split over cores");
  if (reduce != ir::IsReduceAxis(opt.type)) return RefuseKind(axis, opt);
  if (IsExpanded(opt.type)) {
    if (amount > limits_.max_expand) {
      return Refuse("don't ", reduce ? "unroll" : "upcast", " more than ", limits_.max_expand,
                    ", here ", amount);
    }
    const int64_t all = amount * Copies(axis.root);
    if (all > limits_.max_expand_all) {
      return Refuse("don't copy the body more than ", limits_.max_expand_all, " times, here ", all);
    }
    return absl::OkStatus();
  }
  if (opt.type == AxisType::kThread) return CheckThread(axis, amount);
  if (IsWorkItem(opt.type)) {
    return CheckWorkItem(axis, opt, amount);
  }
  if (opt.type == AxisType::kDevice) return Refuse("axes are not split over devices here");
  if (opt.type != axis.type) {
    return Refuse("an axis of type ", AxisTypeName(axis.type), " does not become ",
                  AxisTypeName(opt.type));
  }
  return absl::OkStatus();
}

absl::Status Kernel::Split(const Opt& opt) {
  const Axis axis = axes_[opt.axis];
  if (axis.size < 0) return Refuse("the size of axis ", opt.axis, " is known at run time only");
  if (axis.size == 0) return Refuse("axis ", opt.axis, " is empty");
  const int64_t amount = opt.amount == 0 ? axis.size : opt.amount;
  if (amount < 1 || axis.size % amount != 0) {
    return Refuse(amount, " can't divide ", axis.size, " in ", Shape());
  }
  if (absl::Status s = CheckSplitType(axis, opt, amount); !s.ok()) return s;
  const int64_t rest = axis.size / amount;
  if (opt.type == axis.type && (rest == 1 || amount == 1)) {
    return Refuse("a split of axis ", opt.axis, " by ", amount, " changes nothing");
  }

  Axis fresh = axis;
  fresh.type = opt.type;
  fresh.size = amount;
  if (opt.top) fresh.stride = axis.stride * rest;
  if (rest == 1) {
    axes_.erase(axes_.begin() + opt.axis);
    Insert(fresh);
    return absl::OkStatus();
  }
  Axis& kept = axes_[opt.axis];
  kept.size = rest;
  if (!opt.top) kept.stride = axis.stride * amount;
  fresh.id = next_id_++;
  if (opt.type == axis.type) {
    axes_.insert(axes_.begin() + opt.axis + (opt.top ? 0 : 1), fresh);
  } else {
    Insert(fresh);
  }
  return absl::OkStatus();
}

absl::Status Kernel::PadTo(const Opt& opt) {
  Axis& axis = axes_[opt.axis];
  Root& root = roots_[axis.root];
  if (axis.size < 0)
    return Refuse("only pad const axes: the size of axis ", opt.axis, " is known at run time only");
  if (axis.size == 0) return Refuse("axis ", opt.axis, " is empty");
  if (IsExpanded(axis.type)) return Refuse("cannot pad upcasted: axis ", opt.axis, " of ", Shape());
  if (axis.type == AxisType::kThread) {
    return Refuse("cannot pad thread: axis ", opt.axis, " of ", Shape());
  }
  if (opt.amount < 2) return Refuse("padding to a multiple of ", opt.amount, " means nothing");
  if (opt.amount > axis.size * 4) {
    return Refuse("pad adds more than quadruple the work: ", axis.size, " to ", opt.amount);
  }
  if (axis.stride * axis.size != root.padded) {
    return Refuse("only the outermost part of a split axis is padded");
  }
  if (!root.reduce && !InEveryStore(root)) {
    return Refuse("an output axis that some store does not depend on is not padded");
  }
  const int64_t size = (axis.size + opt.amount - 1) / opt.amount * opt.amount;
  if (size == axis.size) {
    return Refuse("axis ", opt.axis, " is a multiple of ", opt.amount, " already");
  }
  axis.size = size;
  root.padded = axis.stride * size;
  return absl::OkStatus();
}

absl::Status Kernel::Swap(const Opt& opt) {
  if (opt.amount < 0 || opt.amount >= static_cast<int64_t>(axes_.size())) {
    return Refuse("invalid axis ", opt.amount, ": the axes are ", Shape());
  }
  Axis& a = axes_[opt.axis];
  Axis& b = axes_[opt.amount];
  if (opt.axis == opt.amount) return Refuse("an axis is not swapped with itself");
  if (a.type != b.type) {
    return Refuse("swap only for globals, loops and reductions of one type: axes of types ",
                  AxisTypeName(a.type), " and ", AxisTypeName(b.type), " are not swapped");
  }
  if (a.type != AxisType::kLoop && a.type != AxisType::kGlobal && a.type != AxisType::kReduce) {
    return Refuse("swap only for globals, loops and reductions: axes of type ",
                  AxisTypeName(a.type), " are not swapped");
  }
  auto closes = [](const Reduction& r, int root) {
    return std::find(r.roots.begin(), r.roots.end(), root) != r.roots.end();
  };
  if (a.type == AxisType::kReduce &&
      std::none_of(reductions_.begin(), reductions_.end(),
                   [&](const Reduction& r) { return closes(r, a.root) && closes(r, b.root); })) {
    return Refuse("axes of different reductions are not swapped");
  }
  std::swap(a, b);
  return absl::OkStatus();
}

UOp Kernel::Ast() const {
  RangeReplacements replacements;
  absl::flat_hash_map<UOp, int> position;
  std::vector<std::vector<UOp>> parts(roots_.size());
  std::vector<UOp> value(roots_.size());
  for (size_t i = 0; i < axes_.size(); ++i) {
    const Axis& axis = axes_[i];
    const UOp range = axis.size < 0 ? ir::Range(roots_[axis.root].range.src(0), axis.id, axis.type)
                                    : ir::Range(axis.size, axis.id, axis.type);
    position.emplace(range, static_cast<int>(i));
    parts[axis.root].push_back(range);
    const UOp term = axis.stride == 1 ? range : range * axis.stride;
    UOp& sum = value[axis.root];
    sum = sum ? sum + term : term;
  }
  for (size_t i = 0; i < roots_.size(); ++i) {
    const Root& root = roots_[i];
    RangeReplacement r{.value = value[i], .parts = parts[i], .valid = UOp()};
    if (root.padded != root.size) r.valid = value[i] < root.size;
    replacements.emplace(root.range, std::move(r));
  }
  UOp sink = ir::Simplify(ReplaceRanges(ast_, replacements, position));
  return sink.WithArg(ir::KernelInfo{.name = Name(), .applied = applied_, .optimized = true});
}

std::string Kernel::Name() const {
  const bool reduce =
      std::any_of(roots_.begin(), roots_.end(), [](const Root& r) { return r.reduce; });
  std::string name = reduce ? "r" : "E";
  for (const Axis& a : axes_) absl::StrAppend(&name, "_", a.size < 0 ? "v" : absl::StrCat(a.size));
  return name;
}

}  // namespace tg::opt
