// Random tensor programs with known results, for comparing whole stacks.
//
// A program is a list of steps on numbered values: creation, movement, elementwise operations over
// many dtypes, reductions, products, and the statements that change tensors (Assign, SetIndex,
// Realize). Its meaning comes from an oracle that works one step at a time: each operation is
// evaluated by the reference backend on the plain values of its operands, so laziness, fusion,
// hazards and the order of stores have no part in it.
//
// Most values are small integers, also in float dtypes: those are exact whatever the order of a
// sum, and compared exactly. Values with rounding carry a bound of their error, and go only where
// the error stays bounded (no comparisons, no conversions to integers).
#ifndef TG_TESTS_RANDOM_PROGRAM_H_
#define TG_TESTS_RANDOM_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tg/tensor/tensor.h"

namespace tg::testing {

enum class StepKind {
  // Creation.
  kLeaf,
  kFull,
  kArange,
  // Elementwise; exact on integers.
  kNeg,
  kRelu,
  kAbs,
  kSquare,
  kSign,
  kNot,
  kCast,
  kBitcast,
  kFloor,
  kHalve,
  kAdd,
  kSub,
  kMul,
  kMax,
  kMin,
  kLess,
  kEqual,
  kAnd,
  kOr,
  kXor,
  kWhere,
  kShiftLeft,
  kShiftRight,
  kFloorDiv,
  kMod,
  kTruncDiv,
  kDivideByRamp,
  kShiftByRamp,
  // Elementwise with rounding.
  kSigmoid,
  kTanh,
  kSin,
  kExp,
  kSqrt,
  kLog,
  kReciprocal,
  // Reductions and products.
  kSum,
  kReduceMax,
  kReduceMin,
  kProd,
  kMean,
  kArgMax,
  kCumSum,
  kSoftmax,
  kMatMul,
  kConv,
  kMaxPool,
  kGradient,
  // Movement.
  kReshape,
  kPermute,
  kFlip,
  kShrink,
  kPad,
  kExpand,
  kRoll,
  kCat,
  kUnfold,
  kRepeat,
  kGather,
  kStride,
  // Memory.
  kContiguous,
  kClone,
  // Statements; they have no value.
  kAssign,
  kSetIndex,
  kShift,
  kRealize,
};

struct Step {
  StepKind kind = StepKind::kLeaf;
  std::vector<int> in = {};          // numbers of earlier values
  std::vector<int64_t> params = {};  // depends on the kind
  DType dtype = kFloat32;            // creation, casts
  std::vector<int64_t> shape = {};   // creation, reshape, expand
  std::vector<double> data = {};     // kLeaf
};

// An operand or a result by the oracle.
struct OracleValue {
  bool defined = false;
  DType dtype = kFloat32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  double error = 0;  // bound of the absolute error of a right implementation; 0: exact
};

struct Program {
  std::vector<Step> steps;
  std::vector<int> roots;
  bool together = true;  // whether the roots are realized at once, or one after another
};

// What a program computes: the values of its roots after all steps. Needs the reference backend.
// Throws tg::Error where a step does not fit its operands.
std::vector<OracleValue> Expected(const Program& program);

// A program of about `steps` steps, on tensors of at most a few hundred elements, or with `large`
// some ten thousand: enough for vectors, tiles and threads. Needs the reference backend.
Program Generate(uint64_t seed, int steps, bool large = false);

// The bytes of the roots, by the backend that is set.
std::vector<std::vector<std::byte>> Execute(const Program& program);

// Empty when the roots agree, else the first difference.
std::string Compare(const std::vector<OracleValue>& expected,
                    const std::vector<std::vector<std::byte>>& actual);

// A smaller program for which `fails` still holds: without steps, with values cut from their
// history. Needs the reference backend while it works; `fails` may set another, and set it back.
Program Minimise(Program program, const std::function<bool(const Program&)>& fails);

// One step a line.
std::string ToString(const Program& program);

}  // namespace tg::testing

#endif  // TG_TESTS_RANDOM_PROGRAM_H_
