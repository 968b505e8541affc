// The operations of the micro-op graph, and what each means: its sources, argument and result.
//
// Three stages share one graph type. In the *tensor* stage values are whole arrays with shapes. In
// the *kernel* stage the movement operations are gone: values are scalars indexed by `kRange`
// loops. In the *program* stage the graph is a list in execution order with vector values, loads
// and stores, loops closed by `kEnd`, and no `kReduce`. `Verify` (verify.h) checks each stage.
//
// Order matters: it is the first key of the canonical order of commutative operands.
//
// Notation: d = dtype, s0.. = sources, a = argument. "dims" are index expressions (kIndex).
#ifndef TG_CODEGEN_IR_OP_H_
#define TG_CODEGEN_IR_OP_H_

#include <cstdint>
#include <optional>
#include <ostream>

#include "absl/strings/string_view.h"

namespace tg::ir {

// X(name, stage letters: t tensor, k kernel, p program)
#define TG_IR_OPS(X)                                                                               \
  /* -- Leaves ------------------------------------------------------------------------------- */  \
  X(Const, "tkp")    /* a: ConstValue. In the tensor stage a scalar of shape ().                */ \
  X(Variable, "tkp") /* a: VariableArg {name, min, max}: a value known at run time, d index.    */ \
  X(Iota, "t")     /* s0 size: the vector 0, 1, .. of that shape; d an integer.                 */ \
  X(Bind, "t")     /* s0 kVariable, s1 kConst: the variable with its value for this run.       */  \
  X(Buffer, "tkp") /* a: BufferArg: memory made here. Global (tensor), or Local/Reg (program). */  \
  X(Param, "tkp")  /* a: ParamArg {slot, size, ...}: memory handed to the kernel. Shape (size). */ \
  X(Unique, "t")   /* a: int. Makes structurally equal nodes distinct.                         */  \
  X(Device, "t")   /* a: string. Target of kCopy.                                              */  \
  X(Special, "p")  /* a: string ("gidx0", "lidx0"), s0 size: a GPU work-item index.            */  \
  X(Range, "kp")   /* a: RangeArg {id, axis type}, s0 size: 0 <= value < size. d index.         */ \
  /* -- Graph structure ---------------------------------------------------------------------- */  \
  X(Sink, "tkp")   /* s*: the roots. a: KernelInfo in kernels. d void.                          */ \
  X(Noop, "tkp")   /* s0 passed on unchanged.                                                  */  \
  X(After, "tk")   /* s0 the buffer, s1.. what must happen first: the buffer after that.        */ \
  X(Group, "tkp")  /* s*: void things that belong together. d void.                            */  \
  X(Call, "t")     /* s0 kSink of a kernel (or kCopy), s1.. its buffers, by slot. d void.       */ \
  X(Function, "t") /* s0 body over kParam, s1.. arguments. a: FunctionArg.                      */ \
  X(Tuple, "t")    /* s*: several values.                                                      */  \
  X(GetTuple, "t") /* s0 kTuple-valued, a: int.                                                */  \
  X(Linear, "p")   /* s*: the instructions of a program in order. d void.                       */ \
  X(Program, "p")  /* s0 kSink, s1 kLinear, s2 kSource, s3 kBinary.                             */ \
  X(Source, "p")   /* a: string.                                                               */  \
  X(Binary, "p")   /* a: string (bytes).                                                       */  \
  /* -- Memory ------------------------------------------------------------------------------- */  \
  X(Stack, "tkp") /* s*: scalars of one dtype: the vector of them (d.lanes = sources).         */  \
  X(Lane, "p")    /* s0 vector, a: int: one lane of it.                                       */   \
  X(Index, "kp")  /* s0 kParam|kBuffer|kAfter, s1 element index [, s2 bool gate]: an address.  */  \
  X(Load, "kp")   /* s0 kIndex [, s1 value when the gate is false]. d may be a vector of        */ \
                  /* consecutive elements (scalar index) or a gather (vector index).           */  \
  X(Store, "tkp") /* s0 kIndex, s1 value (program, kernel); s0 buffer, s1 value (tensor).       */ \
  X(Wmma, "kp")   /* a: WmmaArg, s0 A, s1 B, s2 C: D = A*B + C on a tensor core.                */ \
  X(Barrier, "p") /* s*: work-group barrier.                                                  */   \
  X(If, "p")      /* s0 bool. Closed by kEndIf.                                               */   \
  X(EndIf, "p")   /* s0 kIf.                                                                  */   \
  X(End, "kp")    /* s0 void body, s1.. ranges it closes (innermost last).                     */  \
  X(Wait, "p")    /* s*: a wait for outstanding memory operations.                            */   \
  /* -- Unary -------------------------------------------------------------------------------- */  \
  X(Cast, "tkp") /* value conversion; float to int as FloatToInt (dtype.h).                    */  \
  X(Bitcast, "tkp") /* same bits.                                                               */ \
  X(Exp2, "tkp")                                                                                   \
  X(Log2, "tkp")                                                                                   \
  X(Sin, "tkp")                                                                                    \
  X(Sqrt, "tkp")                                                                                   \
  X(Reciprocal, "tkp")                                                                             \
  X(Neg, "tkp")                                                                                    \
  X(Trunc, "tkp")                                                                                  \
  /* -- Binary: equal dtypes; comparisons give bool ------------------------------------------ */  \
  X(Add, "tkp")                                                                                    \
  X(Mul, "tkp")                                                                                    \
  X(Shl, "tkp")  /* shift amounts in [0, bits)                                               */    \
  X(Shr, "tkp")  /* arithmetic for signed                                                    */    \
  X(Cdiv, "tkp") /* integer division toward zero                                             */    \
  X(Cmod, "tkp") /* remainder with the dividend's sign                                       */    \
  X(FloorDiv, "tkp") /* integer division toward minus infinity */                                                                                                \
  X(FloorMod, "tkp") /* remainder with the divisor's sign */                                                                                                \
  X(Max, "tkp") /* floats: NaN if either is NaN                                             */     \
  X(CmpLt, "tkp")                                                                                  \
  X(CmpNe, "tkp")                                                                                  \
  X(CmpEq, "tkp")                                                                                  \
  X(Xor, "tkp")                                                                                    \
  X(Or, "tkp")                                                                                     \
  X(And, "tkp")                                                                                    \
  X(Threefry, "tkp") /* uint64 x, uint64 key: Threefry2x32-20 (Salmon et al., SC'11) */                                                                                                \
  X(Sub, "tkp")                                                                                    \
  X(Fdiv, "tkp")                                                                                   \
  X(Pow, "tkp")                                                                                    \
  /* -- Ternary ------------------------------------------------------------------------------ */  \
  X(Where, "tkp") /* s0 bool ? s1 : s2. WHERE(valid, x, Invalid) marks x valid only there.      */ \
  X(MulAcc, "tkp") /* s0*s1+s2, one rounding                                                   */  \
  /* -- Reductions --------------------------------------------------------------------------- */  \
  X(Reduce, "tk") /* a: ReduceArg. Tensor: s0, axes in a become size 1. Kernel: s0 value,       */ \
                  /* s1.. the ranges it runs over. Program: s0 vector, no ranges: its lanes.   */  \
  /* -- Movement (tensor stage; dims are sources so that they may be symbolic) --------------- */  \
  X(Reshape, "t") /* s0, s1.. new dims                                                        */   \
  X(Expand, "t")  /* s0, s1.. new dims: axes of size 1 repeated                                */  \
  X(Permute, "t") /* s0, a: ints: result axis i is source axis a[i]                            */  \
  X(Flip, "t")    /* s0, a: ints: the axes reversed                                           */   \
  X(Pad, "t")     /* s0, then begin_i, end_i per axis: zeros around                            */  \
  X(Shrink, "t")  /* s0, then begin_i, end_i per axis (half open): the box of s0               */  \
  X(Shear, "t") /* s0, s1 offset, s2 size, a: ShearArg {axis, by, coef}: along `axis` the      */  \
                /* result has `size`, r[..i..k..] = s0[..i + coef*k + offset..k..], i at axis, */  \
                /* k at `by`, zero where that lies outside. Windows and their adjoints.       */   \
  /* -- Scheduling marks ---------------------------------------------------------------------- */ \
  X(Contiguous, "t")         /* s0 stored row-major in memory of its own         */                                                                                        \
  X(ContiguousBackward, "t") /* s0; its gradient is made contiguous */                                                                                                \
  X(Detach, "t") /* s0; no gradient passes                                                   */    \
  X(Copy, "t")   /* s0, s1 kDevice: s0 on another device                                     */    \
  X(Stage, "k")  /* s0 value, s1.. ranges: the value stored for all of the ranges             */   \
  /* -- Several devices ------------------------------------------------------------------------   \
   */                                                                                              \
  X(MSelect, "t") /* s0 on several devices, a: int: the part on one                            */  \
  X(MStack, "t")  /* s*: parts on several devices                                             */   \
  X(Unshard, "t") /* s0 shards, a: int axis: the whole                                        */   \
  X(AllReduce, "t") /* s0 on several devices, a: ReduceArg                                      */ \
  /* -- Escapes --------------------------------------------------------------------------------   \
   */                                                                                              \
  X(Custom, "tkp") /* a: string: statement in the target's language, {0} {1} are sources        */ \
  X(CustomI, "tkp") /* the same as an inlined expression                                        */ \
  X(CustomFunction, "t") /* a: string: a named operation the engine knows */                                                                                                \
  X(Ins, "p") /* a: string: one machine instruction                                       */

enum class Op : uint8_t {
#define TG_IR_OP_ENUM(name, stages) k##name,
  TG_IR_OPS(TG_IR_OP_ENUM)
#undef TG_IR_OP_ENUM
};

inline constexpr int kOpCount = 0
#define TG_IR_OP_COUNT(name, stages) +1
    TG_IR_OPS(TG_IR_OP_COUNT)
#undef TG_IR_OP_COUNT
    ;

// "Add", "FloorDiv": the enumerator without its k. Parse is the inverse.
absl::string_view OpName(Op op);
std::optional<Op> ParseOp(absl::string_view name);
std::ostream& operator<<(std::ostream& os, Op op);

// Whether `op` may stand in the stage with letter 't', 'k' or 'p'.
bool OpInStage(Op op, char stage);

constexpr bool IsUnary(Op op) { return op >= Op::kCast && op <= Op::kTrunc; }
constexpr bool IsBinary(Op op) { return op >= Op::kAdd && op <= Op::kPow; }
constexpr bool IsTernary(Op op) { return op == Op::kWhere || op == Op::kMulAcc; }
// Computes each element from the same element of its sources.
constexpr bool IsElementwise(Op op) { return op >= Op::kCast && op <= Op::kMulAcc; }
// Elementwise without the conversions.
constexpr bool IsAlu(Op op) { return op > Op::kBitcast && op <= Op::kMulAcc; }
constexpr bool IsMovement(Op op) { return op >= Op::kReshape && op <= Op::kShear; }
constexpr bool IsComparison(Op op) {
  return op == Op::kCmpLt || op == Op::kCmpNe || op == Op::kCmpEq;
}
constexpr bool IsCommutative(Op op) {
  return op == Op::kAdd || op == Op::kMul || op == Op::kMax || op == Op::kCmpNe ||
         op == Op::kCmpEq || op == Op::kXor || op == Op::kOr || op == Op::kAnd;
}
// For floats only up to rounding: rules that use it on floats say so.
constexpr bool IsAssociative(Op op) {
  return op == Op::kAdd || op == Op::kMul || op == Op::kMax || op == Op::kXor || op == Op::kOr ||
         op == Op::kAnd;
}
constexpr bool IsIdempotent(Op op) { return op == Op::kOr || op == Op::kAnd || op == Op::kMax; }

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_OP_H_
