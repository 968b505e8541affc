#include "codegen/opt/optimize.h"

#include "absl/strings/str_cat.h"
#include "base/settings.h"
#include "codegen/opt/heuristics.h"
#include "codegen/opt/merge_ranges.h"
#include "codegen/opt/opt_text.h"

namespace tg::opt {
namespace {

using ir::KernelInfo;
using ir::UOp;

const KernelInfo* InfoOf(const UOp& kernel) {
  const auto* info = std::get_if<ir::Boxed<KernelInfo>>(&kernel.arg());
  return info == nullptr ? nullptr : &**info;
}

}  // namespace

absl::StatusOr<Kernel> PrepareKernel(const UOp& kernel, const render::Target& target) {
  // What Make refuses, MergeRanges need not understand.
  if (absl::StatusOr<Kernel> k = Kernel::Make(kernel, LimitsOf(target)); !k.ok()) return k;
  return Kernel::Make(MergeRanges(kernel), LimitsOf(target));
}

absl::StatusOr<UOp> ApplyOpts(const UOp& kernel, const render::Target& target,
                              absl::Span<const ir::Opt> opts) {
  absl::StatusOr<Kernel> k = PrepareKernel(kernel, target);
  if (!k.ok()) return k.status();
  for (const ir::Opt& opt : opts) {
    if (absl::Status s = k->Apply(opt); !s.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(ToString(opt), ": ", s.message()));
    }
  }
  return k->Ast();
}

UOp Optimize(const UOp& kernel, const render::Target& target, int threads) {
  if (const KernelInfo* info = InfoOf(kernel); info != nullptr && info->optimized) return kernel;
  absl::StatusOr<Kernel> k = base::Get(base::kNoOpt) != 0 ? Kernel::Make(kernel, LimitsOf(target))
                                                          : PrepareKernel(kernel, target);
  if (!k.ok())
    return kernel.WithArg(KernelInfo{.name = "kernel", .applied = {}, .optimized = true});
  if (base::Get(base::kNoOpt) == 0) {
    const Kernel plain = *k;
    for (const ir::Opt& opt : HandCodedOpts(plain, target, threads)) {
      k->Apply(opt).IgnoreError();  // legal, by HandCodedOpts' promise
    }
  }
  return k->Ast();
}

}  // namespace tg::opt
