// What a kernel touches: for every load and store, how its address moves along each axis; and where
// each load runs (in the body of which reduction).
//
// Axes are the roots of a Kernel: its ranges as they were given, by position in Kernel::roots().
#ifndef TG_CODEGEN_OPT_ACCESS_H_
#define TG_CODEGEN_OPT_ACCESS_H_

#include <cstdint>
#include <vector>

#include "codegen/ir/uop.h"
#include "codegen/opt/kernel.h"

namespace tg::opt {

struct Access {
  ir::UOp index;     // kIndex
  int slot;          // of the parameter; -1 for other memory
  int bytes;         // of an element
  int64_t elements;  // of the memory
  bool store;
  // By root: elements per iteration. 0 for an axis that the address does not depend on.
  std::vector<int64_t> coef;
  // By root: the address depends on it in another way than by `coef` (a division, a table).
  std::vector<bool> irregular;
  // By root: whether the access happens depends on it.
  std::vector<bool> gate;

  bool DependsOn(int root) const { return coef[root] != 0 || irregular[root] || gate[root]; }
};

// A loop nest that computes something: the body of one reduction, or (one a kernel, the last in
// the list) what is computed and stored for each output element.
struct Nest {
  ir::UOp reduce;             // kReduce, null for the outputs
  std::vector<int> reduces;   // roots that it closes
  std::vector<int> outputs;   // other roots around it, outermost first
  std::vector<int> accesses;  // indices into AccessMap::accesses, each once
  int ops = 0;                // arithmetic on values (not indices) per iteration, at least 1
  double iterations = 1;      // of all loops; unknown sizes count as 64
  // By root: whether a condition in the body (of an access or of a choice) depends on it.
  std::vector<bool> condition;
};

struct AccessMap {
  std::vector<Access> accesses;
  std::vector<Nest> nests;  // reductions in the order in which they are computed, outputs last

  const Nest& outputs() const { return nests.back(); }
};

AccessMap AnalyzeAccesses(const Kernel& kernel);

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_ACCESS_H_
