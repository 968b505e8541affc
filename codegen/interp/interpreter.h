// An exact interpreter of linear programs: the oracle that every renderer is compared with.
//
// Every operation of codegen/ir/op.h that may stand in a CPU program, on every type and number of
// lanes. Float operations are rounded once to their type; kExp2, kLog2, kSin and kPow are libm's in
// double, rounded to the type; integers wrap, also the quotient least / -1; kReduce over lanes goes
// from lane 0 up.
//
// What compiled code would do silently wrong is an error here: an access out of bounds, a read of a
// register or of local memory that was not written, a division by zero, a shift by too much. Lanes
// whose gate is false touch nothing; a load without an alternative value gives noticeable garbage
// in them.
//
// Threads (kThread) run one after the other, part 0 first.
#ifndef TG_CODEGEN_INTERP_INTERPRETER_H_
#define TG_CODEGEN_INTERP_INTERPRETER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/lower/program.h"

namespace tg::interp {

// A decoded program. Immutable: any number of threads may run one, on different buffers.
class Interpreter {
 public:
  // Errors: InvalidArgument for a program that breaks its contract (lower::VerifyProgram);
  // Unimplemented for operations of other targets (kSpecial, kWmma, kCustom, kIns).
  static absl::StatusOr<std::unique_ptr<Interpreter>> Create(const lower::LinearProgram& program);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  const lower::LinearProgram& program() const;

  // `buffers`: the bytes of each parameter, by slot; at least as many as the parameter has.
  // `vars`: the values of LinearProgram::variables.
  //
  // Errors: InvalidArgument for buffers and values that do not fit the program; OutOfRange,
  // FailedPrecondition (memory that was not written) and InvalidArgument (arithmetic) for what a
  // program does wrong, with the kernel, the instruction and the loop counters. Buffers are then
  // partly written.
  absl::Status Run(absl::Span<const absl::Span<uint8_t>> buffers,
                   absl::Span<const int64_t> vars) const;

 private:
  struct Impl;
  explicit Interpreter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Create and Run.
absl::Status Interpret(const lower::LinearProgram& program,
                       absl::Span<const absl::Span<uint8_t>> buffers,
                       absl::Span<const int64_t> vars);

}  // namespace tg::interp

#endif  // TG_CODEGEN_INTERP_INTERPRETER_H_
