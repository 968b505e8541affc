// A compiled kernel as bytes: what the disk cache keeps.
#ifndef TG_TG_ENGINE_KERNEL_RECORD_H_
#define TG_TG_ENGINE_KERNEL_RECORD_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/lower/program.h"

namespace tg::engine {

struct KernelRecord {
  std::string name;
  std::vector<lower::ProgramParam> params;
  std::vector<ir::UOp> variables;
  int threads = 1;
  lower::Estimates estimates;
  std::string binary;
};

std::string EncodeKernelRecord(const KernelRecord& record);
// Errors (InvalidArgument) for anything that EncodeKernelRecord did not make.
absl::StatusOr<KernelRecord> DecodeKernelRecord(absl::string_view bytes);

}  // namespace tg::engine

#endif  // TG_TG_ENGINE_KERNEL_RECORD_H_
