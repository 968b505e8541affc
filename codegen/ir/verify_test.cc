#include "codegen/ir/verify.h"

#include <string>
#include <vector>

#include "codegen/ir/shape.h"
#include "gtest/gtest.h"

namespace tg::ir {
namespace {

void ExpectProblem(const absl::Status& s, const std::string& want) {
  ASSERT_FALSE(s.ok()) << "expected: " << want;
  EXPECT_NE(std::string(s.message()).find(want), std::string::npos) << want << "\n" << s;
}

UOp Memory(int64_t id, DType d, int64_t size, AddrSpace space = AddrSpace::kGlobal) {
  return UOp::Make(Op::kBuffer, d, {},
                   Boxed<BufferArg>(BufferArg{id, size, space, "CPU", nullptr}));
}
UOp IndexOf(const UOp& memory, const UOp& i) {
  return UOp::Make(Op::kIndex, memory.dtype(), {memory, i});
}
UOp LoadOf(const UOp& index) { return UOp::Make(Op::kLoad, index.dtype(), {index}); }
UOp StoreTo(const UOp& index, const UOp& value) {
  return UOp::Make(Op::kStore, kVoid, {index, value});
}
UOp Sum(const UOp& x, std::vector<UOp> ranges, std::vector<int32_t> axes = {}) {
  ranges.insert(ranges.begin(), x);
  return UOp::Make(Op::kReduce, x.dtype(), ranges, Boxed<ReduceArg>(ReduceArg{Op::kAdd, axes}));
}

// --- Tensor
// ---------------------------------------------------------------------------------------

TEST(VerifyTensorTest, Good) {
  UOp a = Reshape(Memory(1, kFloat32, 12), {3, 4});
  UOp n = Variable("n", 1, 3);
  UOp x = Reduce(Expand(Reshape(a, {3, 1, 4}), {3, 5, 4}), Op::kAdd, {1}) + Const(kFloat32, 1.0);
  EXPECT_EQ(VerifyTensor(Sink({x, Shrink(a, {{0, n}, {1, 3}}), Pad(a, {{1, 1}, {0, 2}}),
                               Permute(a, {1, 0}), Flip(a, {1})})),
            absl::OkStatus());
}

TEST(VerifyTensorTest, DoesNotEnterKernels) {
  UOp p = Param(0, kFloat32, 1);
  UOp body = Sink({StoreTo(IndexOf(p, IndexConst(0)), Const(kFloat32, 1.0))});
  EXPECT_EQ(VerifyTensor(UOp::Make(Op::kCall, kVoid, {body, Memory(1, kFloat32, 1)})),
            absl::OkStatus());
}

TEST(VerifyTensorTest, EachRuleHasANegative) {
  UOp flat = Memory(1, kFloat32, 12), a = Reshape(flat, {3, 4});
  auto i = [](int64_t v) { return IndexConst(v); };
  auto make = [&a](Op op, std::vector<UOp> src, Arg arg = {}) {
    src.insert(src.begin(), a);
    return UOp::Make(op, a.dtype(), src, std::move(arg));
  };
  struct {
    UOp u;
    const char* want;
  } rows[] = {
      {UOp(), "null"},
      {UOp::Make(Op::kAdd, kFloat32, {a, Memory(2, kInt32, 12)}), "has a source of type int32"},
      {Range(4, 0), "Range may not stand in a tensor graph"},
      {Sink({InvalidConst(kIndex)}), "uses Invalid as a value"},
      {Sink({Variable("n", 0, 1), Variable("n", 0, 2)}), "the name of another variable"},
      {Sink({Param(0, kInt8, 4), Param(0, kInt8, 5)}), "the slot of another parameter"},
      {Memory(2, kInt8, 4, AddrSpace::kLocal), "is not global memory"},
      {a + flat, "has sources of shapes (3, 4) and (12,)"},
      {make(Op::kReshape, {i(5)}), "changes the number of elements"},
      {make(Op::kReshape, {i(-12)}), "negative dimension"},
      {make(Op::kExpand, {i(12)}), "changes the rank"},
      {make(Op::kExpand, {i(6), i(4)}), "repeats an axis of a size not 1"},
      {make(Op::kPad, {i(0), i(1)}), "does not name each axis"},
      {make(Op::kPad, {i(0), i(-1), i(0), i(0)}), "negative end"},
      {make(Op::kShrink, {i(0), i(1), i(3), i(2)}), "ends before it begins"},
      {make(Op::kShrink, {i(0), i(1), i(3), i(5)}), "a box outside of its source"},
      {make(Op::kPermute, {}, Boxed<Ints>(Ints{0})), "does not name each axis"},
      {make(Op::kFlip, {}, Boxed<Ints>(Ints{2})), "names an axis that its source lacks"},
      {make(Op::kShear, {i(0), i(1)}, ShearArg{0, 2, 1}), "names an axis that its source lacks"},
      {Sum(a, {}, {2}), "names an axis that its source lacks"},
  };
  for (const auto& r : rows) ExpectProblem(VerifyTensor(r.u), r.want);
}

// --- Kernel
// ---------------------------------------------------------------------------------------

// out[r] = sum over k of in[r * 4 + k]
struct SumKernel {
  UOp out = Param(0, kFloat32, 16), in = Param(1, kFloat32, 64);
  UOp r = Range(16, 0), k = Range(4, 1, AxisType::kReduce);
  UOp sum = Sum(LoadOf(IndexOf(in, r * 4 + k)), {k});
  UOp store = StoreTo(IndexOf(out, r), sum);
  UOp end = UOp::Make(Op::kEnd, kVoid, {store, r});
};

TEST(VerifyKernelTest, Good) {
  EXPECT_EQ(VerifyKernel(Sink({SumKernel().end})), absl::OkStatus());
  EXPECT_EQ(VerifyKernel(Sink({})), absl::OkStatus());
}

TEST(VerifyKernelTest, EachRuleHasANegative) {
  SumKernel k;
  struct {
    UOp u;
    const char* want;
  } rows[] = {
      {UOp(), "null"},
      {k.end, "must be a Sink"},
      {Sink({k.store}), "outside of the loop it makes"},
      {Sink({k.end, StoreTo(IndexOf(k.out, IndexConst(0)), LoadOf(IndexOf(k.in, k.k)))}),
       "outside of the loop it makes"},
      {Sink({k.end, UOp::Make(Op::kEnd, kVoid,
                              {StoreTo(IndexOf(k.out, Range(3, 0)), k.sum), Range(3, 0), k.r})}),
       "has the number of another range"},
      {Sink({k.end, Permute(Reshape(k.in, {8, 8}), {1, 0})}), "may not stand in a kernel"},
      {Sink({k.end, StoreTo(k.out, k.in)}), "must store through an Index"},
      {Sink({k.end, Sum(k.in, {}, {0})}), "names tensor axes"},
      {Sink({k.end, StoreTo(IndexOf(k.out, InvalidConst(kIndex)), Const(kFloat32, 1.0))}),
       "uses Invalid as a value"},
  };
  for (const auto& r : rows) ExpectProblem(VerifyKernel(r.u), r.want);
}

// --- Instructions
// -----------------------------------------------------------------------------------

struct SumProgram {
  UOp out = Param(0, kFloat32, 16), in = Param(1, kFloat32, 64);
  UOp zero = Const(kInt32, 0), four = Const(kInt32, 4), sixteen = Const(kInt32, 16);
  UOp fzero = Const(kFloat32, 0.0);
  UOp acc = Memory(0, kFloat32, 1, AddrSpace::kReg);
  UOp acc_index = IndexOf(acc, zero);
  UOp r = Int32Range(sixteen, 0, AxisType::kLoop);
  UOp init = StoreTo(acc_index, fzero);
  UOp base = r * four;
  UOp k = Int32Range(four, 1, AxisType::kReduce);
  UOp in_index = IndexOf(in, base + k);
  UOp load = LoadOf(in_index);
  UOp acc_load = LoadOf(acc_index);
  UOp add = acc_load + load;
  UOp update = StoreTo(acc_index, add);
  UOp end_k = UOp::Make(Op::kEnd, kVoid, {update, k});
  UOp result = LoadOf(acc_index);
  UOp out_index = IndexOf(out, r);
  UOp store = StoreTo(out_index, result);
  UOp end_r = UOp::Make(Op::kEnd, kVoid, {store, r});
  UOp sink = Sink({end_r});

  static UOp Int32Range(const UOp& size, int id, AxisType type) {
    return UOp::Make(Op::kRange, kInt32, {size}, RangeArg{id, type});
  }
  // `result` is the same node as `acc_load`, so the sum is kept in a second accumulator.
  std::vector<UOp> Ops() const {
    return {out,  in, zero,     four,     sixteen, fzero,    acc, acc_index, r,    init,
            base, k,  base + k, in_index, load,    acc_load, add, update,    end_k};
  }
};

TEST(VerifyInstructionsTest, Good) {
  SumProgram p;
  std::vector<UOp> ops = p.Ops();
  UOp one_more = Const(kFloat32, 2.0);
  UOp store = StoreTo(p.out_index, one_more);
  UOp end = UOp::Make(Op::kEnd, kVoid, {store, p.r});
  ops.insert(ops.end(), {one_more, p.out_index, store, end, Sink({end})});
  EXPECT_EQ(VerifyInstructions(ops), absl::OkStatus());
  UOp t = SumProgram::Int32Range(p.four, 5, AxisType::kThread);
  UOp c = Const(kBool, true), i = UOp::Make(Op::kIf, kVoid, {c});
  UOp index = IndexOf(p.out, t), s = StoreTo(index, p.fzero);
  UOp vec = LoadOf(index).WithDType(kFloat32.Vec(4));
  EXPECT_EQ(VerifyInstructions(
                {p.out, p.four, p.fzero, t, c, i, index, s, UOp::Make(Op::kEndIf, kVoid, {i})}),
            absl::OkStatus());
  UOp sum = UOp::Make(Op::kReduce, kFloat32, {vec}, Boxed<ReduceArg>(ReduceArg{Op::kAdd, {}}));
  EXPECT_EQ(VerifyInstructions({p.out, p.four, t, index, vec, sum}), absl::OkStatus());
}

TEST(VerifyInstructionsTest, EachRuleHasANegative) {
  SumProgram p;
  UOp weak = Const(kWeakInt, 1), t = SumProgram::Int32Range(p.four, 5, AxisType::kThread);
  UOp t2 = SumProgram::Int32Range(p.four, 6, AxisType::kThread);
  UOp yes = Const(kBool, true), if_ = UOp::Make(Op::kIf, kVoid, {yes});
  UOp wrong_end = UOp::Make(Op::kEnd, kVoid, {p.update, p.r});
  UOp reg_index = IndexOf(p.acc, p.r);
  UOp global = Memory(9, kFloat32, 4);
  UOp wide = Const(kInt64, 1), narrow = UOp::Make(Op::kBitcast, kInt32, {wide});
  UOp vec = UOp::Make(Op::kStack, kInt32.Vec(2), {p.zero, p.four});
  UOp bad_reduce =
      UOp::Make(Op::kReduce, kInt32.Vec(2), {vec}, Boxed<ReduceArg>(ReduceArg{Op::kAdd, {}}));
  auto with = [&p](std::vector<UOp> more) {
    std::vector<UOp> ops = p.Ops();
    ops.insert(ops.end(), more.begin(), more.end());
    return ops;
  };
  struct {
    std::vector<UOp> ops;
    const char* want;
  } rows[] = {
      {{UOp()}, "null instruction"},
      {{p.out, p.out_index}, "has a source that is not listed before it (Range)"},
      {{p.zero, p.zero}, "is listed twice"},
      {{weak}, "has a weak type in a program"},
      {{InvalidConst(kInt32)}, "is Invalid in a program"},
      {with({}), "is never closed"},
      {with({p.k + p.four}), "uses a value (Range) of a loop or region that is closed"},
      {{p.out, p.in, p.zero, p.four, p.sixteen, p.fzero, p.acc, p.acc_index, p.r, p.init, p.base,
        p.k, p.base + p.k, p.in_index, p.load, p.acc_load, p.add, p.update, wrong_end},
       "closes a Range that is not the innermost"},
      {{yes, if_}, "If is never closed"},
      {{p.four, t, t2}, "is a second one of type THREAD"},
      {{p.sixteen, p.r, p.four, t}, "of type THREAD stands in a loop"},
      {{p.sixteen, p.acc, p.r, reg_index}, "must index registers by a constant"},
      {{global}, "is global memory"},
      {{p.out, p.fzero, StoreTo(p.out, p.fzero)}, "takes a Param for a value"},
      {{p.out, p.out + p.out}, "takes a Param for a value"},
      {{p.out, p.zero, IndexOf(p.out, p.zero), IndexOf(p.out, p.zero) + IndexOf(p.out, p.zero)},
       "takes a Index for a value"},
      {{wide, narrow}, "changes the number of bytes"},
      {{p.zero, p.four, vec, bad_reduce}, "must give one lane"},
      {{p.out, UOp::Make(Op::kAfter, kFloat32, {p.out})}, "may not stand in a program"},
      {{p.zero, UOp::Make(Op::kExp2, kInt32, {p.zero})}, "is not defined for its type"},
  };
  for (const auto& r : rows) ExpectProblem(VerifyInstructions(r.ops), r.want);
}

}  // namespace
}  // namespace tg::ir
