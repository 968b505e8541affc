// Which pieces of a register buffer a program accesses: each becomes a variable of its own.
#ifndef TG_CODEGEN_RENDER_REGISTERS_H_
#define TG_CODEGEN_RENDER_REGISTERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/ir/uop.h"
#include "codegen/lower/program.h"

namespace tg::render {

// Elements [begin, end) of a buffer. `exact`: every access that touches the piece takes all of it.
struct RegisterPiece {
  int64_t begin;
  int64_t end;
  bool exact;
};

// Disjoint and sorted. Internal: an index that is not constant, or not inside of the buffer.
absl::StatusOr<std::vector<RegisterPiece>> FindRegisterPieces(const lower::LinearProgram& program,
                                                              const ir::UOp& buffer);

// The memory that a kIndex addresses. Lowering orders accesses to one place with kAfter, which has
// done its work once there is a list.
const ir::UOp& MemoryOf(const ir::UOp& index);

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_REGISTERS_H_
