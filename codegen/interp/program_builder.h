// Builds linear programs by hand, for tests: each node is listed when it is added, after those of
// its sources that are not listed yet.
//
//   ProgramBuilder b("add");
//   UOp out = b.Param(ir::kFloat32, 8), in = b.Param(ir::kFloat32, 8);
//   UOp i = b.Loop(8);
//   UOp s = b.Store(out, i, b.Load(in, i) + 1);
//   b.End(s, {i});
//   lower::LinearProgram p = b.Build();
#ifndef TG_CODEGEN_INTERP_PROGRAM_BUILDER_H_
#define TG_CODEGEN_INTERP_PROGRAM_BUILDER_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "codegen/ir/uop.h"
#include "codegen/lower/program.h"

namespace tg::interp {

class ProgramBuilder {
 public:
  using UOp = ir::UOp;
  using Op = ir::Op;

  explicit ProgramBuilder(std::string name) { program_.name = std::move(name); }

  UOp Add(const UOp& u) {
    for (const UOp& n : ir::Toposort(u)) {
      if (std::find(program_.ops.begin(), program_.ops.end(), n) != program_.ops.end()) continue;
      program_.ops.push_back(n);
      if (n.Is(Op::kVariable)) program_.variables.push_back(n);
      if (n.Is(Op::kLoad) && n.src(0).src(0).Is(Op::kParam)) Row(n.src(0).src(0)).read = true;
      if (n.Is(Op::kStore) && n.src(0).src(0).Is(Op::kParam)) Row(n.src(0).src(0)).written = true;
    }
    return u;
  }

  // The next parameter.
  UOp Param(ir::DType d, int64_t size) {
    program_.params.push_back({d, size, false, false});
    return Add(ir::Param(static_cast<int>(program_.params.size()) - 1, d, size));
  }
  // The next buffer of the program's own.
  UOp Buffer(ir::DType d, int64_t size, ir::AddrSpace space = ir::AddrSpace::kReg) {
    return Add(
        UOp::Make(Op::kBuffer, d, {},
                  ir::Boxed<ir::BufferArg>(ir::BufferArg{buffers_++, size, space, "", nullptr})));
  }
  UOp Int(int64_t v) { return Add(ir::Const(ir::kInt32, v)); }
  UOp Variable(const std::string& name, int64_t min, int64_t max) {
    return Add(ir::Variable(name, min, max).WithDType(ir::kInt32));
  }
  UOp Loop(const UOp& size, ir::AxisType type = ir::AxisType::kLoop) {
    if (type == ir::AxisType::kThread) program_.threads = static_cast<int>(size.const_int());
    return Add(UOp::Make(Op::kRange, size.dtype(), {size}, ir::RangeArg{ranges_++, type}));
  }
  UOp Loop(int64_t size, ir::AxisType type = ir::AxisType::kLoop) { return Loop(Int(size), type); }
  UOp End(const UOp& body, std::vector<UOp> ranges) {
    ranges.insert(ranges.begin(), body);
    return Add(UOp::Make(Op::kEnd, ir::kVoid, ranges));
  }
  UOp Load(const UOp& memory, const UOp& index, int lanes = 1) {
    return Add(UOp::Make(Op::kLoad, memory.dtype().Vec(lanes),
                         {UOp::Make(Op::kIndex, memory.dtype(), {memory, index})}));
  }
  UOp LoadIf(const UOp& memory, const UOp& index, const UOp& gate, const UOp& otherwise) {
    UOp i = UOp::Make(Op::kIndex, memory.dtype(), {memory, index, gate});
    return Add(UOp::Make(Op::kLoad, otherwise.dtype(), {i, otherwise}));
  }
  UOp Store(const UOp& memory, const UOp& index, const UOp& value) {
    Add(value);
    return Add(UOp::Make(Op::kStore, ir::kVoid,
                         {UOp::Make(Op::kIndex, memory.dtype(), {memory, index}), value}));
  }
  UOp StoreIf(const UOp& memory, const UOp& index, const UOp& gate, const UOp& value) {
    Add(value);
    return Add(UOp::Make(Op::kStore, ir::kVoid,
                         {UOp::Make(Op::kIndex, memory.dtype(), {memory, index, gate}), value}));
  }

  const lower::LinearProgram& Build() const { return program_; }

 private:
  lower::ProgramParam& Row(const UOp& param) {
    return program_.params[param.arg_as<ir::ParamArg>().slot];
  }

  lower::LinearProgram program_;
  int64_t buffers_ = 0;
  int ranges_ = 0;
};

}  // namespace tg::interp

#endif  // TG_CODEGEN_INTERP_PROGRAM_BUILDER_H_
