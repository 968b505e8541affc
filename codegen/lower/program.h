// LinearProgram: a kernel as instructions in execution order, what lowering makes and what
// renderers, assemblers and the interpreter take.
//
// Contract (checked by VerifyProgram, program_verify.h):
// * `ops` lists each node once, sources before users. A kRange opens a loop (its value is the loop
//   counter, from 0 below its source) that the kEnd naming it closes; a kRange of type kThread
//   opens no loop: its value is the index of the part being run (the kernel's `core_id`), in [0,
//   threads). Nodes between kRange and kEnd may be used only there.
// * No weak types: indices are int32 or int64, chosen from value bounds.
// * Values are scalars or vectors (dtype lanes). Elementwise operations have sources of their own
//   lane count. A scalar becomes a vector by kStack with n equal sources (a splat) or by a constant
//   with lanes; kLane takes one lane out. kReduce on a vector (no ranges) combines its lanes.
// * kIndex(memory, index [, gate]): memory is kParam, or kBuffer in register or local space; the
//   index counts elements. kLoad of n lanes with a scalar index reads n consecutive elements, with
//   an index of n lanes gathers. kStore likewise, by the lanes of its value. Lanes whose gate
//   (bool, scalar or one per lane) is false touch no memory; kLoad(index, alt) gives alt for them.
//   Vector accesses are aligned to one element only, unless provable otherwise by the index's
//   congruence. Loads and stores keep their order.
// * Register buffers hold accumulators; their indices are constants.
// * kIf/kEndIf guard whole regions.
#ifndef TG_CODEGEN_LOWER_PROGRAM_H_
#define TG_CODEGEN_LOWER_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/ir/uop.h"

namespace tg::lower {

// Work and traffic of one run, with variables at their upper bounds. Operations count floating
// point (and integer, non-index) arithmetic, a multiply-add as two. `mem_bytes`: each parameter's
// touched bytes once, at most its size; `lds_bytes`: bytes of all loads and stores.
struct Estimates {
  double ops = 0;
  double mem_bytes = 0;
  double lds_bytes = 0;
};

struct ProgramParam {
  ir::DType dtype;
  int64_t size = 0;  // elements
  bool read = false;
  bool written = false;
};

struct LinearProgram {
  std::string name;  // a C identifier
  std::vector<ir::UOp> ops;
  std::vector<ProgramParam> params;  // by slot
  std::vector<ir::UOp> variables;    // kVariable nodes, in the order their values are passed
  int threads = 1;                   // parts to run, each with its own core_id
  Estimates estimates;
};

// The listing that DEBUG=6 prints: number, operation, dtype, sources by number, argument; indented
// by loop depth.
std::string ProgramToString(const LinearProgram& program);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_PROGRAM_H_
