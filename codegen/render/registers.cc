#include "codegen/render/registers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tg::render {

using ir::Op;
using ir::UOp;

const UOp& MemoryOf(const UOp& index) {
  const UOp* memory = &index.src(0);
  while (memory->Is(Op::kAfter)) memory = &memory->src(0);
  return *memory;
}

absl::StatusOr<std::vector<RegisterPiece>> FindRegisterPieces(const lower::LinearProgram& program,
                                                              const UOp& buffer) {
  const int64_t size = buffer.arg_as<ir::BufferArg>().size;
  std::vector<RegisterPiece> accesses;
  for (const UOp& u : program.ops) {
    if (!u.Is(Op::kLoad) && !u.Is(Op::kStore)) continue;
    const UOp& index = u.src(0);
    if (!index.Is(Op::kIndex) || !(MemoryOf(index) == buffer)) continue;
    const UOp& element = index.src(1);
    const int lanes = (u.Is(Op::kLoad) ? u : u.src(1)).dtype().lanes();
    if (!element.IsConst() || element.dtype().lanes() != 1 || element.const_int() < 0 ||
        element.const_int() + lanes > size) {
      return absl::InternalError(absl::StrCat(program.name, ": ", ir::OpName(u.op()), " of ", lanes,
                                              " lanes: a register index must be ",
                                              "a constant inside of its buffer of ", size));
    }
    accesses.push_back({element.const_int(), element.const_int() + lanes, true});
  }
  std::sort(accesses.begin(), accesses.end(), [](const RegisterPiece& a, const RegisterPiece& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::vector<RegisterPiece> pieces;
  for (const RegisterPiece& a : accesses) {
    if (pieces.empty() || pieces.back().end <= a.begin) {
      pieces.push_back(a);
    } else if (pieces.back().begin != a.begin || pieces.back().end != a.end) {
      pieces.back().end = std::max(pieces.back().end, a.end);
      pieces.back().exact = false;
    }
  }
  return pieces;
}

}  // namespace tg::render
