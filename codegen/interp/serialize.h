// Linear programs as text that reads back: what the INTERP device takes as a binary.
//
//   tg program 1
//   name "add"
//   threads 2
//   estimates 0x1p+4 0x1p+6 0x1p+6          ops, mem_bytes, lds_bytes
//   param int32 8 -w                        one per slot: type, elements, r or -, w or -
//   param int32 8 r-
//   variables                               as in codegen/ir/print.h, in the order of their values
//   %0 = Variable int32 var("n", 1, 5)
//   ops                                     in execution order
//   %0 = Param int32 param(0, 8)
//   ...
#ifndef TG_CODEGEN_INTERP_SERIALIZE_H_
#define TG_CODEGEN_INTERP_SERIALIZE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/lower/program.h"

namespace tg::interp {

// InvalidArgument for a program that breaks its contract (lower::VerifyProgram).
absl::StatusOr<std::string> Serialize(const lower::LinearProgram& program);

// The program, which satisfies its contract. `text` may come from anywhere; errors are
// InvalidArgument and say where.
absl::StatusOr<lower::LinearProgram> Deserialize(absl::string_view text);

}  // namespace tg::interp

#endif  // TG_CODEGEN_INTERP_SERIALIZE_H_
