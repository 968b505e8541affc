// Named kernels in one text: what the corpus in testdata/kernels is kept as, and what tools:kernel
// reads.
//
//   # anything
//   kernel matmul_16x32x8
//   %0 = Param float32 param(0, 512)
//   ...
//   kernel sum_100
//   ...
//
// Each kernel is a graph in the text form of codegen/ir/print.h. A text without a `kernel` line is
// one kernel, named "kernel".
#ifndef TG_CODEGEN_OPT_KERNEL_TEXT_H_
#define TG_CODEGEN_OPT_KERNEL_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/ir/uop.h"

namespace tg::opt {

struct KernelText {
  std::string name;
  ir::UOp ast;
};

// One entry, which ends with an empty line. `name` must not be empty or contain white space.
std::string PrintKernel(const KernelText& kernel);

// The text may come from anywhere. Errors: InvalidArgument, with the line of `text`: a graph that
// does not parse, a name that is empty or given twice, no kernel at all. That a graph is a kernel
// is not checked (opt::PrepareKernel does).
absl::StatusOr<std::vector<KernelText>> ParseKernels(absl::string_view text);

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_KERNEL_TEXT_H_
