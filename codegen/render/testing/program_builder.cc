#include "codegen/render/testing/program_builder.h"

#include <utility>
#include <vector>

namespace tg::render {

using ir::AddrSpace;
using ir::Arg;
using ir::DType;
using ir::Op;
using ir::UOp;

ProgramBuilder::ProgramBuilder(std::string name) { program_.name = std::move(name); }

UOp ProgramBuilder::Param(DType d, int64_t size) {
  UOp u = ir::Param(static_cast<int>(program_.params.size()), d, size);
  program_.params.push_back({.dtype = d, .size = size});
  List(u);
  return u;
}

UOp ProgramBuilder::Register(DType d, int64_t size) {
  UOp u = UOp::Make(Op::kBuffer, d, {},
                    Arg(ir::BufferArg{next_id_++, size, AddrSpace::kReg, "", nullptr}));
  List(u);
  return u;
}

UOp ProgramBuilder::Local(DType d, int64_t size) {
  UOp u = UOp::Make(Op::kBuffer, d, {},
                    Arg(ir::BufferArg{next_id_++, size, AddrSpace::kLocal, "", nullptr}));
  List(u);
  return u;
}

UOp ProgramBuilder::Variable(absl::string_view name, int64_t min, int64_t max, DType d) {
  UOp u = UOp::Make(Op::kVariable, d, {}, Arg(ir::VariableArg{std::string(name), min, max}));
  program_.variables.push_back(u);
  List(u);
  return u;
}

UOp ProgramBuilder::Address(const UOp& memory, const UOp& index, const UOp& gate) const {
  UOp base = memory;
  if (memory.Is(Op::kBuffer) && last_)
    base = UOp::Make(Op::kAfter, memory.dtype(), {memory, last_});
  std::vector<UOp> src = {base, index};
  if (gate) src.push_back(gate);
  return UOp::Make(Op::kIndex, memory.dtype(), src);
}

UOp ProgramBuilder::Load(const UOp& memory, const UOp& index, int lanes, const UOp& gate,
                         const UOp& alternative) {
  std::vector<UOp> src = {Address(memory, index, gate)};
  if (alternative) src.push_back(alternative);
  return Add(UOp::Make(Op::kLoad, memory.dtype().Vec(lanes), src));
}

void ProgramBuilder::Store(const UOp& memory, const UOp& index, const UOp& value, const UOp& gate) {
  last_ = Add(UOp::Make(Op::kStore, ir::kVoid, {Address(memory, index, gate), value}));
}

UOp ProgramBuilder::Splat(const UOp& x, int lanes) const {
  return Stack(std::vector<UOp>(lanes, x));
}

UOp ProgramBuilder::Stack(absl::Span<const UOp> x) const {
  if (x.size() == 1) return x[0];
  return UOp::Make(Op::kStack, x[0].dtype().Vec(static_cast<int>(x.size())), x);
}

UOp ProgramBuilder::Lane(const UOp& x, int lane) const {
  return UOp::Make(Op::kLane, x.dtype().Scalar(), {x}, int64_t{lane});
}

UOp ProgramBuilder::Reduce(Op op, const UOp& x) const {
  return UOp::Make(Op::kReduce, x.dtype().Scalar(), {x}, Arg(ir::ReduceArg{op, {}}));
}

UOp ProgramBuilder::Loop(const UOp& size, ir::AxisType type) {
  return Add(UOp::Make(Op::kRange, size.dtype(), {size}, ir::RangeArg{next_id_++, type}));
}

UOp ProgramBuilder::Loop(int64_t size, DType d) { return Loop(Const(d, size)); }

void ProgramBuilder::End(const UOp& range) {
  const UOp body = last_ ? last_ : range;
  last_ = Add(UOp::Make(Op::kEnd, ir::kVoid, {body, range}));
}

UOp ProgramBuilder::Thread(int threads) {
  program_.threads = threads;
  return Loop(ir::Const(ir::kInt32, threads), ir::AxisType::kThread);
}

UOp ProgramBuilder::If(const UOp& condition) {
  return Add(UOp::Make(Op::kIf, ir::kVoid, {condition}));
}

void ProgramBuilder::EndIf(const UOp& condition) {
  last_ = Add(UOp::Make(Op::kEndIf, ir::kVoid, {condition}));
}

void ProgramBuilder::List(const UOp& u) {
  if (listed_.insert(u).second) program_.ops.push_back(u);
}

const UOp& ProgramBuilder::Add(const UOp& u) {
  if (listed_.contains(u)) return u;
  for (const UOp& node : Toposort(u, [this](const UOp& n) { return !listed_.contains(n); })) {
    List(node);
  }
  return u;
}

lower::LinearProgram ProgramBuilder::Finish() { return program_; }

}  // namespace tg::render
