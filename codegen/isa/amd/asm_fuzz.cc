// libFuzzer: any text assembles, or gives errors. The first byte chooses the processor.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "codegen/isa/amd/asm.h"
#include "codegen/isa/amd/asm_object.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const tg::amd::Arch arch = static_cast<tg::amd::Arch>(data[0] % tg::amd::kNumArchs);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const tg::amd::Assembly assembly = tg::amd::Assemble(text, arch);
  (void)tg::amd::FormatErrors(assembly, text, "fuzz.s");
  if (assembly.ok()) (void)tg::amd::MakeCodeObject(assembly, arch);
  return 0;
}
