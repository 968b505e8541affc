#include "codegen/ir/node_check.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/ir/print.h"

namespace tg::ir {
namespace {

// One bit per alternative of Arg.
enum ArgKind : uint32_t {
  kNone = 1 << 0,
  kInt = 1 << 1,
  kFloat = 1 << 2,
  kInvalid = 1 << 3,
  kRangeArg = 1 << 4,
  kParamArg = 1 << 5,
  kShearArg = 1 << 6,
  kString = 1 << 7,
  kInts = 1 << 8,
  kVariableArg = 1 << 9,
  kBufferArg = 1 << 10,
  kReduceArg = 1 << 11,
  kKernelInfo = 1 << 12,
  kWmmaArg = 1 << 13,
  kFunctionArg = 1 << 14,
};
constexpr const char* kArgNames[] = {"no argument",   "an integer",  "a float constant",
                                     "Invalid",       "a RangeArg",  "a ParamArg",
                                     "a ShearArg",    "a string",    "a list of integers",
                                     "a VariableArg", "a BufferArg", "a ReduceArg",
                                     "a KernelInfo",  "a WmmaArg",   "a FunctionArg"};
static_assert(std::variant_size_v<Arg> == std::size(kArgNames));

// What decides the dtype of a node.
enum class Rule : uint8_t {
  kAny,          // nothing here
  kVoid,         // void
  kMemory,       // an element type: one lane, neither void nor weak
  kIndexLike,    // an integer of one lane
  kSameAsFirst,  // the dtype of the first source
  kConvert,      // a value type with the lanes of the source
  kFloatOp,      // kSameAsFirst, floats
  kNumber,       // kSameAsFirst, floats and integers
  kNumberOrBool,
  kInteger,  // kSameAsFirst, integers
  kBits,     // kSameAsFirst, integers and bool
  kCompare,  // bool with the lanes of the sources, which agree
  kSpecial,  // checked in CheckSpecial
};

constexpr int kMany = 1 << 30;

struct Shape {
  int min_src;
  int max_src;
  uint32_t args;
  Rule rule;
};

Shape ShapeOf(Op op) {
  switch (op) {
    case Op::kConst:
      return {0, 0, kInt | kFloat | kInvalid, Rule::kSpecial};
    case Op::kVariable:
      return {0, 0, kVariableArg, Rule::kIndexLike};
    case Op::kIota:
      return {1, 1, kNone, Rule::kIndexLike};
    case Op::kBind:
      return {2, 2, kNone, Rule::kSameAsFirst};
    case Op::kBuffer:
      return {0, 0, kBufferArg, Rule::kMemory};
    case Op::kParam:
      return {0, 0, kParamArg, Rule::kMemory};
    case Op::kUnique:
      return {0, 0, kInt, Rule::kAny};
    case Op::kDevice:
      return {0, 0, kString, Rule::kAny};
    case Op::kSpecial:
      return {1, 1, kString, Rule::kIndexLike};
    case Op::kRange:
      return {1, 1, kRangeArg, Rule::kIndexLike};
    case Op::kSink:
      return {0, kMany, kNone | kKernelInfo, Rule::kVoid};
    case Op::kNoop:
      return {1, 1, kNone, Rule::kSameAsFirst};
    case Op::kAfter:
      return {1, kMany, kNone, Rule::kSameAsFirst};
    case Op::kGroup:
      return {0, kMany, kNone, Rule::kVoid};
    case Op::kCall:
      return {1, kMany, kNone, Rule::kVoid};
    case Op::kFunction:
      return {1, kMany, kFunctionArg, Rule::kAny};
    case Op::kTuple:
      return {0, kMany, kNone, Rule::kAny};
    case Op::kGetTuple:
      return {1, 1, kInt, Rule::kAny};
    case Op::kLinear:
      return {0, kMany, kNone, Rule::kVoid};
    case Op::kProgram:
      return {1, 4, kNone, Rule::kVoid};
    case Op::kSource:
    case Op::kBinary:
      return {0, 0, kString, Rule::kVoid};
    case Op::kStack:
      return {1, kMany, kNone, Rule::kSpecial};
    case Op::kLane:
      return {1, 1, kInt, Rule::kSpecial};
    case Op::kIndex:
      return {2, 3, kNone, Rule::kSpecial};
    case Op::kLoad:
      return {1, 2, kNone, Rule::kSpecial};
    case Op::kStore:
      return {2, 2, kNone, Rule::kVoid};
    case Op::kWmma:
      return {3, 3, kWmmaArg, Rule::kAny};
    case Op::kBarrier:
      return {0, kMany, kNone, Rule::kVoid};
    case Op::kIf:
      return {1, 1, kNone, Rule::kVoid};
    case Op::kEndIf:
      return {1, 1, kNone, Rule::kVoid};
    case Op::kEnd:
      return {1, kMany, kNone, Rule::kVoid};
    case Op::kWait:
      return {0, kMany, kNone, Rule::kVoid};
    case Op::kCast:
    case Op::kBitcast:
      return {1, 1, kNone, Rule::kConvert};
    case Op::kExp2:
    case Op::kLog2:
    case Op::kSin:
    case Op::kSqrt:
    case Op::kReciprocal:
      return {1, 1, kNone, Rule::kFloatOp};
    case Op::kNeg:
      return {1, 1, kNone, Rule::kNumberOrBool};
    case Op::kTrunc:
      return {1, 1, kNone, Rule::kNumber};
    case Op::kAdd:
    case Op::kMul:
    case Op::kMax:
      return {2, 2, kNone, Rule::kNumberOrBool};
    case Op::kSub:
    case Op::kPow:
      return {2, 2, kNone, Rule::kNumber};
    case Op::kShl:
    case Op::kShr:
    case Op::kCdiv:
    case Op::kCmod:
    case Op::kFloorDiv:
    case Op::kFloorMod:
    case Op::kThreefry:
      return {2, 2, kNone, Rule::kInteger};
    case Op::kXor:
    case Op::kOr:
    case Op::kAnd:
      return {2, 2, kNone, Rule::kBits};
    case Op::kFdiv:
      return {2, 2, kNone, Rule::kFloatOp};
    case Op::kCmpLt:
    case Op::kCmpNe:
    case Op::kCmpEq:
      return {2, 2, kNone, Rule::kCompare};
    case Op::kWhere:
      return {3, 3, kNone, Rule::kSpecial};
    case Op::kMulAcc:
      return {3, 3, kNone, Rule::kNumber};
    case Op::kReduce:
      return {1, kMany, kReduceArg, Rule::kSpecial};
    case Op::kReshape:
    case Op::kExpand:
    case Op::kPad:
    case Op::kShrink:
      return {1, kMany, kNone, Rule::kSameAsFirst};
    case Op::kPermute:
    case Op::kFlip:
      return {1, 1, kInts, Rule::kSameAsFirst};
    case Op::kShear:
      return {3, 3, kShearArg, Rule::kSameAsFirst};
    case Op::kContiguous:
    case Op::kContiguousBackward:
    case Op::kDetach:
      return {1, 1, kNone, Rule::kSameAsFirst};
    case Op::kCopy:
      return {2, 2, kNone, Rule::kSameAsFirst};
    case Op::kStage:
      return {1, kMany, kNone, Rule::kSameAsFirst};
    case Op::kMSelect:
      return {1, 1, kInt, Rule::kSameAsFirst};
    case Op::kMStack:
      return {1, kMany, kNone, Rule::kSameAsFirst};
    case Op::kUnshard:
      return {1, 1, kInt, Rule::kSameAsFirst};
    case Op::kAllReduce:
      return {1, 1, kReduceArg, Rule::kSameAsFirst};
    case Op::kCustom:
    case Op::kCustomI:
    case Op::kCustomFunction:
    case Op::kIns:
      return {0, kMany, kString, Rule::kAny};
  }
  return {0, kMany, ~0u, Rule::kAny};
}

bool IsNumeric(DType d) { return d.IsInt() || d.IsFloat(); }

class Checker {
 public:
  Checker(Op op, DType dtype, absl::Span<const UOp> src, const Arg& arg)
      : op_(op), dtype_(dtype), src_(src), arg_(arg) {}

  // Empty: well formed.
  std::string Run() {
    const Shape shape = ShapeOf(op_);
    const int n = static_cast<int>(src_.size());
    if (n < shape.min_src || n > shape.max_src) {
      std::string want = shape.max_src == kMany ? absl::StrCat("at least ", shape.min_src)
                         : shape.min_src == shape.max_src
                             ? absl::StrCat(shape.min_src)
                             : absl::StrCat(shape.min_src, " to ", shape.max_src);
      return absl::StrCat("takes ", want, " sources, not ", n);
    }
    for (const UOp& s : src_) {
      if (!s) return "has a null source";
    }
    if (((shape.args >> arg_.index()) & 1) == 0) {
      return absl::StrCat("may not have ", kArgNames[arg_.index()], " as its argument");
    }
    if (dtype_.lanes() < 1) return "has a dtype without lanes";
    if (dtype_.IsVoid() && dtype_.lanes() != 1) return "has lanes of nothing";
    std::string problem = CheckRule(shape.rule);
    return problem.empty() ? CheckOp() : problem;
  }

 private:
  DType type(int i) const { return src_[i].dtype(); }

  std::string AllSourcesAre(DType d) const {
    for (const UOp& s : src_) {
      if (s.dtype() != d) {
        return absl::StrCat("has a source of type ", s.dtype().ToString(), ", not ", d.ToString());
      }
    }
    return "";
  }

  std::string IsDType(DType want) const {
    if (dtype_ == want) return "";
    return absl::StrCat("must have type ", want.ToString());
  }

  std::string CheckRule(Rule rule) const {
    switch (rule) {
      case Rule::kAny:
      case Rule::kSpecial:
        return "";
      case Rule::kVoid:
        return IsDType(kVoid);
      case Rule::kMemory:
        if (dtype_.lanes() != 1 || dtype_.IsVoid() || dtype_.IsWeak()) {
          return "is memory, which holds elements of a sized type with one lane";
        }
        return "";
      case Rule::kIndexLike:
        if (!dtype_.IsInt() || dtype_.lanes() != 1) return "must be an integer with one lane";
        return "";
      case Rule::kSameAsFirst:
        return IsDType(type(0));
      case Rule::kConvert:
        if (dtype_.IsVoid() || type(0).IsVoid()) return "converts void";
        return "";
      case Rule::kCompare:
        if (type(0).IsVoid()) return "compares void";
        if (std::string p = AllSourcesAre(type(0)); !p.empty()) return p;
        return IsDType(kBool.Vec(type(0).lanes()));
      default:
        break;
    }
    if (std::string p = AllSourcesAre(dtype_); !p.empty()) return p;
    const DType d = dtype_;
    const bool ok = rule == Rule::kFloatOp        ? d.IsFloat()
                    : rule == Rule::kNumber       ? IsNumeric(d)
                    : rule == Rule::kNumberOrBool ? IsNumeric(d) || d.IsBool()
                    : rule == Rule::kInteger      ? d.IsInt()
                                                  : d.IsInt() || d.IsBool();
    return ok ? "" : "is not defined for its type";
  }

  std::string CheckConst() const {
    if (dtype_.IsVoid()) return "is a constant of type void";
    if (const int64_t* v = std::get_if<int64_t>(&arg_)) {
      if (dtype_.IsFloat()) return "is a float constant with an integer argument";
      if (WrapToInt(*v, dtype_) != *v) return "has a value outside of its type";
    } else if (const ConstFloat* f = std::get_if<ConstFloat>(&arg_)) {
      if (!dtype_.IsFloat()) return "is an integer constant with a float argument";
      if (ConstFloat(RoundToFloat(f->value, dtype_)) != *f) {
        return "has a value that its type cannot hold";
      }
    }
    return "";
  }

  // Lanes and element type of an access through `index` of a value of type `d`.
  std::string CheckAccess(const UOp& index, DType d) const {
    if (!index.Is(Op::kIndex) || index.src_count() < 2) return "must access memory by an Index";
    if (d.scalar() != index.dtype().scalar()) {
      return absl::StrCat("accesses elements of type ", index.dtype().Scalar().ToString(), " as ",
                          d.Scalar().ToString());
    }
    const int lanes = index.src(1).dtype().lanes();
    if (lanes != 1 && lanes != d.lanes()) {
      return absl::StrCat("has ", d.lanes(), " lanes by an index of ", lanes);
    }
    if (index.src_count() == 3) {
      const int gates = index.src(2).dtype().lanes();
      if (gates != 1 && gates != d.lanes()) {
        return absl::StrCat("has ", d.lanes(), " lanes by a gate of ", gates);
      }
    }
    return "";
  }

  std::string CheckDims(size_t begin) const {
    for (size_t i = begin; i < src_.size(); ++i) {
      if (!src_[i].dtype().IsInt() || src_[i].dtype().lanes() != 1) {
        return "has a dimension that is not an integer";
      }
    }
    return "";
  }

  std::string CheckReduceArg() const {
    const ReduceArg& r = *std::get<Boxed<ReduceArg>>(arg_);
    if (r.op != Op::kAdd && r.op != Op::kMul && r.op != Op::kMax) {
      return "may reduce by Add, Mul and Max only";
    }
    for (size_t i = 0; i < r.axes.size(); ++i) {
      if (r.axes[i] < 0 || (i > 0 && r.axes[i] <= r.axes[i - 1])) {
        return "must list its axes in rising order";
      }
    }
    return "";
  }

  std::string CheckOp() const {
    switch (op_) {
      case Op::kConst:
        return CheckConst();
      case Op::kVariable: {
        const VariableArg& v = *std::get<Boxed<VariableArg>>(arg_);
        if (v.name.empty()) return "has no name";
        if (v.min > v.max) return "has an empty interval";
        return "";
      }
      case Op::kBind: {
        if (!src_[0].Is(Op::kVariable) || !src_[1].IsConst() || type(1) != type(0) ||
            !std::holds_alternative<int64_t>(src_[1].arg())) {
          return "must bind a Variable to a Const of its type";
        }
        const int64_t v = src_[1].const_int();
        return v < src_[0].vmin() || v > src_[0].vmax() ? "binds a value outside of the interval"
                                                        : "";
      }
      case Op::kBuffer:
        return std::get<Boxed<BufferArg>>(arg_)->size < 0 ? "has a negative size" : "";
      case Op::kParam: {
        const ParamArg& p = std::get<ParamArg>(arg_);
        return p.slot < 0 || p.size < 0 ? "has a negative slot or size" : "";
      }
      case Op::kSpecial:
      case Op::kRange:
        return type(0) != dtype_ ? "must have the type of its size" : "";
      case Op::kStack:
        if (dtype_.IsVoid() || dtype_ != type(0).Scalar().Vec(static_cast<int>(src_.size())) ||
            src_.size() > 65535) {
          return "must have the type of its sources and a lane for each";
        }
        return AllSourcesAre(dtype_.Scalar());
      case Op::kLane: {
        const int64_t lane = std::get<int64_t>(arg_);
        if (dtype_ != type(0).Scalar()) return "must have the type of one lane";
        if (lane < 0 || lane >= type(0).lanes()) return "takes a lane that the vector lacks";
        return "";
      }
      case Op::kIndex: {
        const Op memory = src_[0].op();
        if (memory != Op::kParam && memory != Op::kBuffer && memory != Op::kAfter) {
          return "must index a Param, a Buffer or one of these After something";
        }
        if (!type(1).IsInt()) return "has an index that is not an integer";
        const int lanes = type(1).lanes();
        if (dtype_.Scalar() != type(0) || (dtype_.lanes() != 1 && dtype_.lanes() != lanes)) {
          return "must have the type of the elements";
        }
        if (src_.size() == 3) {
          if (!type(2).IsBool()) return "has a gate that is not a bool";
          if (lanes != 1 && type(2).lanes() != 1 && type(2).lanes() != lanes) {
            return "has a gate and an index with different lanes";
          }
        }
        return "";
      }
      case Op::kLoad:
        if (std::string p = CheckAccess(src_[0], dtype_); !p.empty()) return p;
        if (src_.size() == 2) {
          if (src_[0].src_count() != 3) return "has an alternative value but no gate";
          if (type(1) != dtype_) return "has an alternative value of another type";
        }
        return "";
      case Op::kStore:
        // In the tensor stage any memory expression may be stored to.
        if (src_[0].Is(Op::kIndex)) return CheckAccess(src_[0], type(1));
        return type(0) != type(1) ? "stores a value of another type than the memory's" : "";
      case Op::kIf:
        return type(0) != kBool ? "must have a bool as its condition" : "";
      case Op::kEndIf:
        return !src_[0].Is(Op::kIf) ? "must close an If" : "";
      case Op::kEnd:
        if (!type(0).IsVoid()) return "must have a body of type void";
        for (size_t i = 1; i < src_.size(); ++i) {
          if (!src_[i].Is(Op::kRange)) return "must close Ranges only";
        }
        return "";
      case Op::kCast:
        return dtype_.lanes() != type(0).lanes() ? "changes the lanes" : "";
      case Op::kBitcast:
        if (dtype_.IsWeak() || type(0).IsWeak()) return "has no bits: the type is weak";
        return "";
      case Op::kThreefry:
        return dtype_.scalar() != ScalarType::kUInt64 ? "is defined for uint64 only" : "";
      case Op::kWhere:
        if (type(0) != kBool.Vec(dtype_.lanes())) return "must have a bool for each lane";
        if (dtype_.IsVoid()) return "chooses between void things";
        return type(1) != dtype_ || type(2) != dtype_ ? "must have the type of both its choices"
                                                      : "";
      case Op::kReduce: {
        if (std::string p = CheckReduceArg(); !p.empty()) return p;
        if (!IsNumeric(dtype_) && !dtype_.IsBool()) return "is not defined for its type";
        // Without ranges and axes it combines lanes (program) or does nothing (tensor).
        if (dtype_ != type(0) && (src_.size() != 1 || dtype_ != type(0).Scalar())) {
          return "must have the type of what it reduces";
        }
        for (size_t i = 1; i < src_.size(); ++i) {
          if (!src_[i].Is(Op::kRange)) return "must run over Ranges only";
        }
        return "";
      }
      case Op::kAllReduce:
        return CheckReduceArg();
      case Op::kIota:
        return CheckDims(0);
      case Op::kReshape:
      case Op::kExpand:
        return CheckDims(1);
      case Op::kPad:
      case Op::kShrink:
        return src_.size() % 2 == 0 ? "must have a begin and an end for each axis" : CheckDims(1);
      case Op::kShear: {
        const ShearArg& s = std::get<ShearArg>(arg_);
        if (s.axis < 0 || s.by < 0 || s.axis == s.by) return "must name two different axes";
        return CheckDims(1);
      }
      case Op::kPermute: {
        Ints sorted = *std::get<Boxed<Ints>>(arg_);
        std::sort(sorted.begin(), sorted.end());
        for (size_t i = 0; i < sorted.size(); ++i) {
          if (sorted[i] != static_cast<int64_t>(i)) return "has an argument that is no permutation";
        }
        return "";
      }
      case Op::kFlip: {
        Ints sorted = *std::get<Boxed<Ints>>(arg_);
        std::sort(sorted.begin(), sorted.end());
        for (size_t i = 0; i < sorted.size(); ++i) {
          if (sorted[i] < 0 || (i > 0 && sorted[i] == sorted[i - 1])) {
            return "names an axis twice or a negative one";
          }
        }
        return "";
      }
      case Op::kCopy:
        return !src_[1].Is(Op::kDevice) ? "must name its target by a Device" : "";
      case Op::kStage:
        for (size_t i = 1; i < src_.size(); ++i) {
          if (!src_[i].dtype().IsInt()) return "has a range that is not an integer";
        }
        return "";
      case Op::kGetTuple:
      case Op::kMSelect:
      case Op::kUnshard:
        return std::get<int64_t>(arg_) < 0 ? "has a negative position" : "";
      case Op::kWmma: {
        const WmmaArg& w = *std::get<Boxed<WmmaArg>>(arg_);
        if (type(0).scalar() != w.in.scalar() || type(1).scalar() != w.in.scalar() ||
            type(2) != dtype_ || dtype_.scalar() != w.out.scalar()) {
          return "has sources of other types than its instruction";
        }
        return w.m <= 0 || w.n <= 0 || w.k <= 0 || w.threads <= 0 ? "has an empty size" : "";
      }
      default:
        return "";
    }
  }

  const Op op_;
  const DType dtype_;
  const absl::Span<const UOp> src_;
  const Arg& arg_;
};

}  // namespace

absl::Status CheckNode(Op op, DType dtype, absl::Span<const UOp> src, const Arg& arg) {
  std::string problem = Checker(op, dtype, src, arg).Run();
  if (problem.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(OpName(op), " ", problem, ": ", DescribeNode(op, dtype, src, arg)));
}

}  // namespace tg::ir
