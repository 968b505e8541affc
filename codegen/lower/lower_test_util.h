// Runs kernels of the kernel stage: lowers them, checks the program's contract, and interprets it.
#ifndef TG_CODEGEN_LOWER_LOWER_TEST_UTIL_H_
#define TG_CODEGEN_LOWER_LOWER_TEST_UTIL_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "codegen/interp/interpreter.h"
#include "codegen/lower/lower.h"
#include "codegen/lower/program_verify.h"
#include "gtest/gtest.h"

namespace tg::lower {

// A target with vectors of 64 bytes on which everything is native.
inline render::Target EverythingNative() {
  render::Target t;
  t.name = "TEST";
  t.vector_bytes = 64;
  t.vector_registers = 32;
  t.supports = [](ir::DType d) { return !d.IsWeak(); };
  t.native_op = [](ir::Op, ir::DType) { return true; };
  return t;
}

// A target that lacks what can be decomposed, and computes in float32 and float64 only.
inline render::Target Bare() {
  render::Target t = EverythingNative();
  t.supports = [](ir::DType d) {
    return !d.IsFloat() || d.scalar() == ir::ScalarType::kFloat32 ||
           d.scalar() == ir::ScalarType::kFloat64;
  };
  t.native_op = [](ir::Op op, ir::DType d) {
    switch (op) {
      case ir::Op::kShl:
      case ir::Op::kShr:
      case ir::Op::kCdiv:
      case ir::Op::kCast:
      case ir::Op::kBitcast:
      case ir::Op::kWhere:
      case ir::Op::kAnd:
      case ir::Op::kOr:
      case ir::Op::kXor:
        return true;
      case ir::Op::kAdd:
      case ir::Op::kMul:
      case ir::Op::kCmpLt:
      case ir::Op::kCmpNe:
        return !d.IsBool();
      case ir::Op::kFdiv:
      case ir::Op::kSqrt:
      case ir::Op::kTrunc:
        return d.IsFloat();
      default:
        return false;
    }
  };
  return t;
}

template <typename T>
absl::Span<uint8_t> Bytes(std::vector<T>& v) {
  return {reinterpret_cast<uint8_t*>(v.data()), v.size() * sizeof(T)};
}

// Lowers, verifies; a failure fails the test and gives an empty program.
inline LinearProgram LowerOrFail(const ir::UOp& kernel, const render::Target& target) {
  absl::StatusOr<LinearProgram> program = Lower(kernel, target);
  EXPECT_TRUE(program.ok()) << program.status().ToString();
  if (!program.ok()) return {};
  const absl::Status valid = VerifyProgram(*program);
  EXPECT_TRUE(valid.ok()) << valid.ToString() << "\n" << ProgramToString(*program);
  return *std::move(program);
}

inline void RunKernel(const ir::UOp& kernel, std::vector<absl::Span<uint8_t>> buffers,
                      const render::Target& target = EverythingNative(),
                      std::vector<int64_t> vars = {}) {
  const LinearProgram program = LowerOrFail(kernel, target);
  const absl::Status s = interp::Interpret(program, buffers, vars);
  EXPECT_TRUE(s.ok()) << s.ToString() << "\n" << ProgramToString(program);
}

// kEnd(kStore(kIndex(p, i), v), ranges...).
inline ir::UOp StoreLoop(const ir::UOp& p, const ir::UOp& i, const ir::UOp& v,
                         std::vector<ir::UOp> ranges) {
  const ir::UOp index = ir::UOp::Make(ir::Op::kIndex, p.dtype(), {p, i});
  std::vector<ir::UOp> src = {ir::UOp::Make(ir::Op::kStore, ir::kVoid, {index, v})};
  src.insert(src.end(), ranges.begin(), ranges.end());
  return ir::UOp::Make(ir::Op::kEnd, ir::kVoid, src);
}
inline ir::UOp LoadAt(const ir::UOp& p, const ir::UOp& i) {
  return ir::UOp::Make(ir::Op::kLoad, p.dtype(),
                       {ir::UOp::Make(ir::Op::kIndex, p.dtype(), {p, i})});
}
inline ir::UOp ReduceOver(ir::Op op, const ir::UOp& v, std::vector<ir::UOp> ranges) {
  std::vector<ir::UOp> src = {v};
  src.insert(src.end(), ranges.begin(), ranges.end());
  return ir::UOp::Make(ir::Op::kReduce, v.dtype(), src, ir::Arg(ir::ReduceArg{op, {}}));
}
inline ir::UOp Kernel(std::vector<ir::UOp> roots, std::string name = "test") {
  return ir::Sink(roots, ir::Arg(ir::KernelInfo{std::move(name), {}, true}));
}

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_LOWER_TEST_UTIL_H_
