#include "codegen/isa/amd/asm_object.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "codegen/object/amd_code_object_writer.h"
#include "codegen/object/amd_processor.h"

namespace tg::amd {

absl::StatusOr<std::string> MakeCodeObject(const Assembly& assembly, Arch arch) {
  if (!assembly.ok()) return absl::InvalidArgumentError("the assembly has errors");
  object::AmdCodeObjectSpec spec;
  const std::string_view name = ArchName(arch);
  spec.processor = object::FindAmdProcessor(absl::string_view(name.data(), name.size()));
  spec.text.assign(assembly.text.begin(), assembly.text.end());
  spec.metadata = assembly.metadata;
  for (const AsmKernel& kernel : assembly.kernels) {
    const auto label = std::find_if(assembly.symbols.begin(), assembly.symbols.end(),
                                    [&](const AsmSymbol& s) { return s.name == kernel.name; });
    if (label == assembly.symbols.end()) {
      return absl::InvalidArgumentError(absl::StrCat("kernel ", kernel.name, " has no label"));
    }
    if (label->offset % 256 != 0) {
      return absl::InvalidArgumentError(absl::StrCat("kernel ", kernel.name, " starts at ",
                                                     label->offset,
                                                     "; put .p2align 8 before its label"));
    }
    object::AmdKernelSpec& out = spec.kernels.emplace_back();
    out.name = kernel.name;
    out.entry = label->offset;
    out.size = label->size;
    out.description = kernel.description;
  }
  for (const AsmSymbol& symbol : assembly.symbols) {
    const bool kernel = std::any_of(assembly.kernels.begin(), assembly.kernels.end(),
                                    [&](const AsmKernel& k) { return k.name == symbol.name; });
    if (kernel) continue;
    spec.symbols.push_back(
        {symbol.name, symbol.offset, symbol.size, symbol.function, symbol.global});
  }
  return object::WriteAmdCodeObject(spec);
}

}  // namespace tg::amd
