// AMD processors as code objects name them.
#ifndef TG_CODEGEN_OBJECT_AMD_PROCESSOR_H_
#define TG_CODEGEN_OBJECT_AMD_PROCESSOR_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tg::object {

// What the kernel descriptor's layout depends on. kOther: known by name only.
enum class AmdFamily : uint8_t { kOther, kCdna3, kCdna4, kRdna3, kRdna4 };

// Whether code depends on a mode of the device, in two bits of e_flags.
enum class AmdFeature : uint8_t { kUnsupported = 0, kAny = 1, kOff = 2, kOn = 3 };

struct AmdProcessor {
  absl::string_view name;  // "gfx1100"
  uint8_t number = 0;      // EF_AMDGPU_MACH, the low byte of e_flags.
  AmdFamily family = AmdFamily::kOther;
  bool has_xnack = false;  // A page fault may be replayed.
  bool has_sramecc = false;

  bool is_cdna() const { return family == AmdFamily::kCdna3 || family == AmdFamily::kCdna4; }
  bool is_rdna() const { return family == AmdFamily::kRdna3 || family == AmdFamily::kRdna4; }

  // The rest is 0 where family is kOther.

  // Vector registers are allocated in units of so many, as the descriptor counts them.
  int VgprGranule(bool wave32) const { return is_cdna() ? 8 : is_rdna() ? (wave32 ? 8 : 4) : 0; }
  // That a kernel may use; with accumulation registers on CDNA.
  int MaxVgprs() const { return is_cdna() ? 512 : is_rdna() ? 256 : 0; }
  // Without VCC and the registers that lie behind it.
  int MaxSgprs() const { return is_cdna() ? 102 : is_rdna() ? 106 : 0; }
};

// Sources: LLVM 22, User Guide for AMDGPU Backend, "Processors" and "ELF Header e_flags".
absl::Span<const AmdProcessor> AmdProcessors();

// Null when there is none.
const AmdProcessor* FindAmdProcessor(absl::string_view name);
const AmdProcessor* FindAmdProcessor(uint8_t number);

}  // namespace tg::object

#endif  // TG_CODEGEN_OBJECT_AMD_PROCESSOR_H_
