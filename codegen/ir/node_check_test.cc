#include "codegen/ir/node_check.h"

#include <string>

#include "gtest/gtest.h"

namespace tg::ir {
namespace {

template <typename T>
Arg Box(T v) {
  return Boxed<T>(std::move(v));
}

const UOp kI = Variable("i", 0, 9);
const UOp kF = Const(kFloat32, 1.0);
const UOp kB = Const(kBool, true);
const UOp kP = Param(0, kFloat32, 16);
const UOp kIdx = UOp::Make(Op::kIndex, kFloat32, {kP, kI});
const UOp kGated = UOp::Make(Op::kIndex, kFloat32, {kP, kI, kB});
const UOp kVec = UOp::Make(Op::kStack, kFloat32.Vec(2), {kF, kF});
const UOp kIVec = UOp::Make(Op::kStack, kIndex.Vec(2), {kI, kI});
const UOp kNoop = UOp::Make(Op::kGroup, kVoid, {});

TEST(NodeCheckTest, GoodNodes) {
  struct {
    Op op;
    DType d;
    std::vector<UOp> src;
    Arg arg;
  } rows[] = {
      {Op::kConst, kInt8, {}, int64_t{-128}},
      {Op::kConst, kFloat16.Vec(4), {}, ConstFloat(0.5)},
      {Op::kConst, kIndex, {}, Invalid()},
      {Op::kAdd, kFloat32, {kF, kF}, {}},
      {Op::kAdd, kBool, {kB, kB}, {}},
      {Op::kCmpLt, kBool, {kI, kI}, {}},
      {Op::kCmpLt, kBool.Vec(2), {kVec, kVec}, {}},
      {Op::kWhere, kFloat32, {kB, kF, kF}, {}},
      {Op::kMulAcc, kFloat32, {kF, kF, kF}, {}},
      {Op::kCast, kInt32, {kF}, {}},
      {Op::kBitcast, kInt32, {kF}, {}},
      {Op::kIndex, kFloat32, {kP, kI}, {}},
      {Op::kIndex, kFloat32, {kP, kIVec, kB}, {}},
      {Op::kLoad, kFloat32, {kIdx}, {}},
      {Op::kLoad, kFloat32.Vec(4), {kIdx}, {}},
      {Op::kLoad, kFloat32, {kGated, kF}, {}},
      {Op::kStore, kVoid, {kIdx, kVec}, {}},
      {Op::kStore, kVoid, {kP, kF}, {}},
      {Op::kLane, kFloat32, {kVec}, int64_t{1}},
      {Op::kReduce, kFloat32, {kVec}, Box(ReduceArg{Op::kAdd, {}})},
      {Op::kReduce, kFloat32, {kF, Range(4, 0)}, Box(ReduceArg{Op::kMax, {}})},
      {Op::kShrink, kFloat32, {kP, kI, kI}, {}},
      {Op::kPermute, kFloat32, {kP}, Box(Ints{2, 0, 1})},
      {Op::kEnd, kVoid, {kNoop, Range(4, 0)}, {}},
      {Op::kSink, kVoid, {}, Box(KernelInfo{"k", {}, false})},
  };
  for (const auto& r : rows) EXPECT_EQ(CheckNode(r.op, r.d, r.src, r.arg), absl::OkStatus());
}

TEST(NodeCheckTest, EachRuleHasANegative) {
  struct {
    const char* want;
    Op op;
    DType d;
    std::vector<UOp> src;
    Arg arg;
  } rows[] = {
      {"takes 2 sources, not 1", Op::kAdd, kFloat32, {kF}, {}},
      {"takes 1 to 2 sources, not 0", Op::kLoad, kFloat32, {}, {}},
      {"takes at least 1 sources, not 0", Op::kStack, kFloat32, {}, {}},
      {"null source", Op::kNeg, kFloat32, {UOp()}, {}},
      {"may not have an integer as its argument", Op::kNeg, kFloat32, {kF}, int64_t{1}},
      {"may not have no argument", Op::kRange, kIndex, {kI}, {}},
      {"lanes of nothing", Op::kSink, kVoid.Vec(2), {}, {}},
      {"dtype without lanes", Op::kConst, kInt32.Vec(0), {}, int64_t{1}},
      {"must have type void", Op::kSink, kInt32, {}, {}},
      {"constant of type void", Op::kConst, kVoid, {}, int64_t{1}},
      {"value outside of its type", Op::kConst, kUInt8, {}, int64_t{256}},
      {"float constant with an integer", Op::kConst, kFloat32, {}, int64_t{1}},
      {"integer constant with a float", Op::kConst, kInt32, {}, ConstFloat(1)},
      {"its type cannot hold", Op::kConst, kFloat16, {}, ConstFloat(0.1)},
      {"elements of a sized type", Op::kParam, kWeakInt, {}, ParamArg{0, 1}},
      {"elements of a sized type", Op::kParam, kInt8.Vec(2), {}, ParamArg{0, 1}},
      {"negative slot or size", Op::kParam, kInt8, {}, ParamArg{-1, 1}},
      {"negative size", Op::kBuffer, kInt8, {}, Box(BufferArg{0, -1, {}, "", nullptr})},
      {"has no name", Op::kVariable, kIndex, {}, Box(VariableArg{"", 0, 1})},
      {"empty interval", Op::kVariable, kIndex, {}, Box(VariableArg{"n", 2, 1})},
      {"an integer with one lane", Op::kVariable, kFloat32, {}, Box(VariableArg{"n", 0, 1})},
      {"outside of the interval", Op::kBind, kIndex, {kI, IndexConst(10)}, {}},
      {"must bind a Variable", Op::kBind, kIndex, {kI, kI}, {}},
      {"type of its size", Op::kRange, kInt32, {kI}, RangeArg{0}},
      {"must have type float32", Op::kNoop, kInt32, {kF}, {}},
      {"a lane for each", Op::kStack, kFloat32.Vec(3), {kF, kF}, {}},
      {"source of type weakint", Op::kStack, kFloat32.Vec(2), {kF, kI}, {}},
      {"lane that the vector lacks", Op::kLane, kFloat32, {kVec}, int64_t{2}},
      {"type of one lane", Op::kLane, kInt32, {kVec}, int64_t{0}},
      {"must index a Param", Op::kIndex, kFloat32, {kF, kI}, {}},
      {"index that is not an integer", Op::kIndex, kFloat32, {kP, kF}, {}},
      {"type of the elements", Op::kIndex, kInt32, {kP, kI}, {}},
      {"gate that is not a bool", Op::kIndex, kFloat32, {kP, kI, kI}, {}},
      {"access memory by an Index", Op::kLoad, kFloat32, {kP}, {}},
      {"elements of type float32 as int32", Op::kLoad, kInt32, {kIdx}, {}},
      {"has 1 lanes by an index of 2",
       Op::kLoad,
       kFloat32,
       {UOp::Make(Op::kIndex, kFloat32, {kP, kIVec})},
       {}},
      {"no gate", Op::kLoad, kFloat32, {kIdx, kF}, {}},
      {"alternative value of another type", Op::kLoad, kFloat32, {kGated, kI}, {}},
      {"elements of type float32 as weakint", Op::kStore, kVoid, {kIdx, kI}, {}},
      {"another type than the memory's", Op::kStore, kVoid, {kP, kI}, {}},
      {"bool as its condition", Op::kIf, kVoid, {kI}, {}},
      {"must close an If", Op::kEndIf, kVoid, {kI}, {}},
      {"body of type void", Op::kEnd, kVoid, {kI}, {}},
      {"must close Ranges only", Op::kEnd, kVoid, {kNoop, kI}, {}},
      {"changes the lanes", Op::kCast, kInt32, {kVec}, {}},
      {"converts void", Op::kCast, kInt32, {kNoop}, {}},
      {"the type is weak", Op::kBitcast, kInt64, {kI}, {}},
      {"not defined for its type", Op::kExp2, kInt32, {Const(kInt32, 1)}, {}},
      {"not defined for its type", Op::kSub, kBool, {kB, kB}, {}},
      {"not defined for its type", Op::kXor, kFloat32, {kF, kF}, {}},
      {"not defined for its type", Op::kFloorDiv, kFloat32, {kF, kF}, {}},
      {"source of type float32, not weakint", Op::kAdd, kIndex, {kI, kF}, {}},
      {"source of type float32, not weakint", Op::kCmpNe, kBool, {kI, kF}, {}},
      {"must have type bool", Op::kCmpNe, kInt32, {kI, kI}, {}},
      {"compares void", Op::kCmpNe, kBool, {kNoop, kNoop}, {}},
      {"defined for uint64 only", Op::kThreefry, kInt64, {Const(kInt64, 1), Const(kInt64, 1)}, {}},
      {"a bool for each lane", Op::kWhere, kFloat32, {kI, kF, kF}, {}},
      {"a bool for each lane", Op::kWhere, kFloat32.Vec(2), {kB, kVec, kVec}, {}},
      {"type of both its choices", Op::kWhere, kFloat32, {kB, kF, kI}, {}},
      {"Add, Mul and Max only", Op::kReduce, kFloat32, {kF}, Box(ReduceArg{Op::kXor, {}})},
      {"rising order", Op::kReduce, kFloat32, {kF}, Box(ReduceArg{Op::kAdd, {1, 1}})},
      {"must run over Ranges", Op::kReduce, kFloat32, {kF, kI}, Box(ReduceArg{Op::kAdd, {}})},
      {"type of what it reduces", Op::kReduce, kInt32, {kF}, Box(ReduceArg{Op::kAdd, {}})},
      {"dimension that is not an integer", Op::kIota, kInt32, {kF}, {}},
      {"not an integer", Op::kReshape, kFloat32, {kF, kF}, {}},
      {"begin and an end", Op::kPad, kFloat32, {kF, kI}, {}},
      {"two different axes", Op::kShear, kFloat32, {kF, kI, kI}, ShearArg{1, 1, 1}},
      {"no permutation", Op::kPermute, kFloat32, {kF}, Box(Ints{0, 2})},
      {"an axis twice", Op::kFlip, kFloat32, {kF}, Box(Ints{1, 1})},
      {"by a Device", Op::kCopy, kFloat32, {kF, kI}, {}},
      {"negative position", Op::kMSelect, kFloat32, {kF}, int64_t{-1}},
      {"range that is not an integer", Op::kStage, kFloat32, {kF, kF}, {}},
      {"other types than its instruction",
       Op::kWmma,
       kFloat32,
       {kF, kF, kF},
       Box(WmmaArg{"w", 1, 1, 1, kFloat16, kFloat32, 1})},
  };
  for (const auto& r : rows) {
    absl::Status s = CheckNode(r.op, r.d, r.src, r.arg);
    ASSERT_FALSE(s.ok()) << r.want;
    EXPECT_NE(std::string(s.message()).find(r.want), std::string::npos) << r.want << "\n" << s;
    EXPECT_EQ(std::string(s.message()).find(std::string(OpName(r.op))), 0u) << s;
  }
}

}  // namespace
}  // namespace tg::ir
