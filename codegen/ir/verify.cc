#include "codegen/ir/verify.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "codegen/ir/node_check.h"
#include "codegen/ir/print.h"
#include "codegen/ir/shape.h"

namespace tg::ir {
namespace {

absl::Status Problem(absl::string_view sentence, const UOp& u) {
  return absl::InvalidArgumentError(
      absl::StrCat(OpName(u.op()), " ", sentence, ": ", DescribeNode(u)));
}

#define TG_IR_RETURN_IF_ERROR(expr) \
  if (absl::Status tg_ir_status = (expr); !tg_ir_status.ok()) return tg_ir_status

// The rules that every stage shares. One instance per graph.
class CommonRules {
 public:
  explicit CommonRules(char stage) : stage_(stage) {}

  absl::Status Check(const UOp& u) {
    TG_IR_RETURN_IF_ERROR(CheckNode(u));
    // op.h: kReduce over lanes is the one that programs keep.
    const bool lanes_reduce = stage_ == 'p' && u.Is(Op::kReduce) && u.src_count() == 1;
    if (!OpInStage(u.op(), stage_) && !lanes_reduce) {
      return Problem(absl::StrCat("may not stand in a ", StageName()), u);
    }
    for (int i = 0; i < u.src_count(); ++i) {
      if (u.src(i).IsInvalid() && !(u.Is(Op::kWhere) && i > 0)) {
        return Problem("uses Invalid as a value", u);
      }
    }
    if (u.Is(Op::kVariable)) {
      auto [it, added] = variables_.emplace(u.arg_as<VariableArg>().name, u);
      if (!added && !(it->second == u)) return Problem("has the name of another variable", u);
    }
    if (u.Is(Op::kParam)) {
      auto [it, added] = params_.emplace(u.arg_as<ParamArg>().slot, u);
      if (!added && !(it->second == u)) return Problem("has the slot of another parameter", u);
    }
    return absl::OkStatus();
  }

 private:
  absl::string_view StageName() const {
    return stage_ == 't' ? "tensor graph" : stage_ == 'k' ? "kernel" : "program";
  }

  const char stage_;
  absl::flat_hash_map<std::string, UOp> variables_;
  absl::flat_hash_map<int32_t, UOp> params_;
};

// --- Tensor stage -----------------------------------------------------------------------------

bool ProvablyDifferent(const Sint& a, const Sint& b) {
  return a.is_const() && b.is_const() ? a.value() != b.value()
                                      : a.max() < b.min() || b.max() < a.min();
}

std::string ReshapeProblem(const UOp& u, const Shape& from) {
  Sint n = 1;
  for (int i = 1; i < u.src_count(); ++i) {
    if (u.src(i).vmax() < 0) return "has a negative dimension";
    n = n * Sint(u.src(i));
  }
  return ProvablyDifferent(n, NumElements(from)) ? "changes the number of elements" : "";
}

std::string ExpandProblem(const UOp& u, const Shape& from) {
  if (static_cast<size_t>(u.src_count()) != from.size() + 1) return "changes the rank";
  for (size_t i = 0; i < from.size(); ++i) {
    Sint to(u.src(static_cast<int>(i) + 1));
    if (!from[i].Is(1) && ProvablyDifferent(from[i], to)) return "repeats an axis of a size not 1";
  }
  return "";
}

std::string BoxProblem(const UOp& u, const Shape& from) {
  if (static_cast<size_t>(u.src_count()) != 2 * from.size() + 1) return "does not name each axis";
  for (size_t i = 0; i < from.size(); ++i) {
    const UOp& begin = u.src(static_cast<int>(2 * i + 1));
    const UOp& end = u.src(static_cast<int>(2 * i + 2));
    if (begin.vmax() < 0 || end.vmax() < 0) return "has a negative end";
    if (u.Is(Op::kPad)) continue;
    if (begin.vmin() > end.vmax()) return "has a box that ends before it begins";
    if (end.vmin() > from[i].max()) return "has a box outside of its source";
  }
  return "";
}

std::string ElementwiseProblem(const UOp& u) {
  const Shape* first = nullptr;
  for (const UOp& s : u.src()) {
    const Shape& shape = ShapeOf(s);
    if (shape.empty()) continue;
    if (first == nullptr) {
      first = &shape;
    } else if (*first != shape) {
      return absl::StrCat("has sources of shapes ", ToString(*first), " and ", ToString(shape));
    }
  }
  return "";
}

std::string ShapeProblem(const UOp& u) {
  if (IsElementwise(u.op())) return ElementwiseProblem(u);
  if (!IsMovement(u.op()) && !u.Is(Op::kReduce)) return "";
  const Shape& from = ShapeOf(u.src(0));
  const int64_t rank = static_cast<int64_t>(from.size());
  switch (u.op()) {
    case Op::kReshape:
      return ReshapeProblem(u, from);
    case Op::kExpand:
      return ExpandProblem(u, from);
    case Op::kPad:
    case Op::kShrink:
      return BoxProblem(u, from);
    case Op::kPermute:
      return static_cast<int64_t>(u.arg_as<Ints>().size()) != rank ? "does not name each axis" : "";
    case Op::kFlip:
      for (int64_t axis : u.arg_as<Ints>()) {
        if (axis >= rank) return "names an axis that its source lacks";
      }
      return "";
    case Op::kShear: {
      const ShearArg& a = u.arg_as<ShearArg>();
      return a.axis >= rank || a.by >= rank ? "names an axis that its source lacks" : "";
    }
    default:
      for (int32_t axis : u.arg_as<ReduceArg>().axes) {
        if (axis >= rank) return "names an axis that its source lacks";
      }
      return u.src_count() > 1 ? "runs over ranges in a tensor graph" : "";
  }
}

// --- Program stage ----------------------------------------------------------------------------

bool IsConstantIndex(const UOp& u) {
  if (u.IsConst()) return true;
  if (!u.Is(Op::kStack)) return false;
  for (const UOp& s : u.src()) {
    if (!s.IsConst()) return false;
  }
  return true;
}

// Walks the instructions in order with the stack of open loops and regions.
class InstructionRules {
 public:
  absl::Status Add(const UOp& u) {
    if (!u) return absl::InvalidArgumentError("the program has a null instruction");
    TG_IR_RETURN_IF_ERROR(common_.Check(u));
    TG_IR_RETURN_IF_ERROR(CheckSources(u));
    TG_IR_RETURN_IF_ERROR(CheckOp(u));
    if (!scope_of_.emplace(u.id(), open_.empty() ? -1 : open_.back().scope).second) {
      return Problem("is listed twice", u);
    }
    return absl::OkStatus();
  }

  absl::Status Finish() const {
    if (!open_.empty()) return Problem("is never closed", open_.back().node);
    return absl::OkStatus();
  }

 private:
  struct Open {
    UOp node;  // kRange or kIf
    int scope;
  };

  // Memory and addresses are no values: they go into kIndex, and into kLoad and kStore.
  static bool UsesAddressAsValue(const UOp& u, int i) {
    const UOp& s = u.src(i);
    if (s.Is(Op::kParam) || s.Is(Op::kBuffer)) return !(u.Is(Op::kIndex) && i == 0);
    return s.Is(Op::kIndex) && !((u.Is(Op::kLoad) || u.Is(Op::kStore)) && i == 0);
  }

  absl::Status CheckSources(const UOp& u) const {
    const bool closes = u.Is(Op::kEnd) || u.Is(Op::kEndIf);
    for (int i = 0; i < u.src_count(); ++i) {
      const UOp& s = u.src(i);
      auto it = scope_of_.find(s.id());
      if (it == scope_of_.end()) {
        return Problem(
            absl::StrCat("has a source that is not listed before it (", OpName(s.op()), ")"), u);
      }
      if (it->second >= 0 && closed_[it->second] && !closes) {
        return Problem(
            absl::StrCat("uses a value (", OpName(s.op()), ") of a loop or region that is closed"),
            u);
      }
      if (UsesAddressAsValue(u, i)) {
        return Problem(absl::StrCat("takes a ", OpName(s.op()), " for a value"), u);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Close(const UOp& opener, const UOp& by) {
    if (open_.empty() || !(open_.back().node == opener)) {
      return Problem(absl::StrCat("closes a ", OpName(opener.op()), " that is not the innermost"),
                     by);
    }
    closed_[open_.back().scope] = true;
    open_.pop_back();
    return absl::OkStatus();
  }

  void OpenScope(const UOp& u) {
    open_.push_back({u, static_cast<int>(closed_.size())});
    closed_.push_back(false);
  }

  absl::Status CheckOp(const UOp& u) {
    if (u.dtype().IsWeak()) return Problem("has a weak type in a program", u);
    switch (u.op()) {
      case Op::kConst:
        return u.IsInvalid() ? Problem("is Invalid in a program", u) : absl::OkStatus();
      case Op::kRange:
        if (u.arg_as<RangeArg>().type == AxisType::kThread) {
          if (!open_.empty()) return Problem("of type THREAD stands in a loop", u);
          if (++threads_ > 1) return Problem("is a second one of type THREAD", u);
          if (!u.src(0).IsConst()) return Problem("of type THREAD has no constant size", u);
          return absl::OkStatus();
        }
        OpenScope(u);
        return absl::OkStatus();
      case Op::kIf:
        OpenScope(u);
        return absl::OkStatus();
      case Op::kEndIf:
        return Close(u.src(0), u);
      case Op::kEnd:
        for (int i = u.src_count() - 1; i > 0; --i) {
          if (u.src(i).arg_as<RangeArg>().type == AxisType::kThread) continue;
          TG_IR_RETURN_IF_ERROR(Close(u.src(i), u));
        }
        return absl::OkStatus();
      case Op::kIndex: {
        const UOp& memory = u.src(0);
        if (!memory.Is(Op::kParam) && !memory.Is(Op::kBuffer)) {
          return Problem("must index a Param or a Buffer in a program", u);
        }
        if (!memory.Is(Op::kBuffer)) return absl::OkStatus();
        const AddrSpace space = memory.arg_as<BufferArg>().space;
        if (space == AddrSpace::kReg && !IsConstantIndex(u.src(1))) {
          return Problem("must index registers by a constant", u);
        }
        return absl::OkStatus();
      }
      case Op::kBuffer:
        if (u.arg_as<BufferArg>().space == AddrSpace::kGlobal) {
          return Problem("is global memory: in a program that is a Param", u);
        }
        return absl::OkStatus();
      case Op::kStore:
        return u.src(0).Is(Op::kIndex) ? absl::OkStatus()
                                       : Problem("must store through an Index in a program", u);
      case Op::kBitcast:
        return u.dtype().size() == u.src(0).dtype().size()
                   ? absl::OkStatus()
                   : Problem("changes the number of bytes", u);
      case Op::kReduce:
        return u.dtype().lanes() == 1 ? absl::OkStatus()
                                      : Problem("must give one lane in a program", u);
      default:
        return absl::OkStatus();
    }
  }

  CommonRules common_{'p'};
  absl::flat_hash_map<const void*, int> scope_of_;  // -1: outside of all loops and regions
  std::vector<bool> closed_;                        // by scope
  std::vector<Open> open_;
  int threads_ = 0;
};

}  // namespace

absl::Status VerifyTensor(const UOp& root) {
  if (!root) return absl::InvalidArgumentError("the graph is null");
  CommonRules common('t');
  const Op kBodies[] = {Op::kCall, Op::kFunction};
  // Bodies are other graphs: kernels, and functions with slots of their own.
  std::vector<UOp> roots = {root};
  absl::flat_hash_map<const void*, bool> done;
  while (!roots.empty()) {
    UOp from = std::move(roots.back());
    roots.pop_back();
    for (const UOp& u : Toposort(from, kBodies)) {
      if (!done.emplace(u.id(), true).second) continue;
      TG_IR_RETURN_IF_ERROR(common.Check(u));
      if (u.Is(Op::kCall) || u.Is(Op::kFunction)) {
        for (const UOp& s : u.src().subspan(1)) roots.push_back(s);
        continue;
      }
      if (u.Is(Op::kBuffer) && u.arg_as<BufferArg>().space != AddrSpace::kGlobal) {
        return Problem("is not global memory in a tensor graph", u);
      }
      if (std::string p = ShapeProblem(u); !p.empty()) return Problem(p, u);
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyKernel(const UOp& root) {
  if (!root) return absl::InvalidArgumentError("the kernel is null");
  if (!root.Is(Op::kSink)) return Problem("is the root of a kernel, which must be a Sink", root);
  CommonRules common('k');
  absl::flat_hash_map<int32_t, UOp> ranges;
  for (const UOp& u : Toposort(root)) {
    TG_IR_RETURN_IF_ERROR(common.Check(u));
    if (u.Is(Op::kRange)) {
      auto [it, added] = ranges.emplace(u.arg_as<RangeArg>().id, u);
      if (!added) return Problem("has the number of another range", u);
    }
    if (u.Is(Op::kReduce) && !u.arg_as<ReduceArg>().axes.empty()) {
      return Problem("names tensor axes in a kernel", u);
    }
    if (u.Is(Op::kStore) && !u.src(0).Is(Op::kIndex)) {
      return Problem("must store through an Index in a kernel", u);
    }
  }
  if (!root.ranges().empty()) {
    return Problem("is used by the kernel's root outside of the loop it makes",
                   root.ranges().front());
  }
  return absl::OkStatus();
}

absl::Status VerifyInstructions(absl::Span<const UOp> ops) {
  InstructionRules rules;
  for (const UOp& u : ops) TG_IR_RETURN_IF_ERROR(rules.Add(u));
  return rules.Finish();
}

#undef TG_IR_RETURN_IF_ERROR

}  // namespace tg::ir
