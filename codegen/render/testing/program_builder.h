// Writes linear programs by hand, for tests of renderers.
//
//   ProgramBuilder b("add");
//   UOp x = b.Param(kFloat32, 64), y = b.Param(kFloat32, 64);
//   UOp i = b.Loop(4);                                     // int32 counter
//   b.Store(y, i * 16, b.Load(x, i * 16, 16) + b.Splat(Const(kFloat32, 1), 16));
//   b.End(i);
//   lower::LinearProgram p = b.Finish();
//
// Nodes are listed when they are first used, sources first; loads when they are made.
#ifndef TG_CODEGEN_RENDER_TESTING_PROGRAM_BUILDER_H_
#define TG_CODEGEN_RENDER_TESTING_PROGRAM_BUILDER_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "codegen/ir/uop.h"
#include "codegen/lower/program.h"

namespace tg::render {

class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name);

  // Memory. Parameters get slots in order.
  ir::UOp Param(ir::DType d, int64_t size);
  ir::UOp Register(ir::DType d, int64_t size);
  ir::UOp Local(ir::DType d, int64_t size);
  ir::UOp Variable(absl::string_view name, int64_t min, int64_t max, ir::DType d = ir::kInt32);

  // A null gate is none.
  ir::UOp Load(const ir::UOp& memory, const ir::UOp& index, int lanes = 1,
               const ir::UOp& gate = ir::UOp(), const ir::UOp& alternative = ir::UOp());
  void Store(const ir::UOp& memory, const ir::UOp& index, const ir::UOp& value,
             const ir::UOp& gate = ir::UOp());

  // `size` copies of a scalar; a stack of scalars; one lane; lanes combined.
  ir::UOp Splat(const ir::UOp& x, int lanes) const;
  ir::UOp Stack(absl::Span<const ir::UOp> x) const;
  ir::UOp Lane(const ir::UOp& x, int lane) const;
  ir::UOp Reduce(ir::Op op, const ir::UOp& x) const;

  ir::UOp Loop(const ir::UOp& size, ir::AxisType type = ir::AxisType::kLoop);
  ir::UOp Loop(int64_t size, ir::DType d = ir::kInt32);
  void End(const ir::UOp& range);
  // The part of `threads` that is run.
  ir::UOp Thread(int threads);
  ir::UOp If(const ir::UOp& condition);
  void EndIf(const ir::UOp& condition);

  // Lists a node and what it needs.
  const ir::UOp& Add(const ir::UOp& u);
  lower::LinearProgram Finish();

 private:
  ir::UOp Address(const ir::UOp& memory, const ir::UOp& index, const ir::UOp& gate) const;
  void List(const ir::UOp& u);

  lower::LinearProgram program_;
  absl::flat_hash_set<ir::UOp> listed_;
  // What the next access to a register or local buffer comes after: makes equal loads distinct.
  ir::UOp last_;
  int next_id_ = 0;
};

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_TESTING_PROGRAM_BUILDER_H_
