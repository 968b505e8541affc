// Names of numbers in the assembler's text, both ways: hardware registers, messages, buffer formats
// and so on. Sources: RDNA 3, RDNA 4 and CDNA 3 manuals (S_GETREG, S_SENDMSG, "Buffer resource
// descriptor", DPP_CTRL); spelling as LLVM 22 has it.
#ifndef TG_CODEGEN_ISA_AMD_NAMES_H_
#define TG_CODEGEN_ISA_AMD_NAMES_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/types/span.h"
#include "codegen/isa/amd/arch.h"

namespace tg::amd {

struct Name {
  uint16_t value;
  std::string_view name;
};

// Empty when no name has the value.
std::string_view NameOf(absl::Span<const Name> names, uint32_t value);
std::optional<uint32_t> ValueOf(absl::Span<const Name> names, std::string_view name);

absl::Span<const Name> HwregNames(Isa isa);    // "HW_REG_MODE", "HW_REG_WAVE_MODE"
absl::Span<const Name> MessageNames(Isa isa);  // "MSG_INTERRUPT", and those that return a value.
// What MSG_GS, MSG_GS_DONE and MSG_SYSMSG (CDNA) do. Empty for messages without.
absl::Span<const Name> MessageOps(uint32_t message, Isa isa);

// RDNA has one number for a buffer's format, CDNA two.
absl::Span<const Name> BufferFormats();              // "BUF_FMT_8_UNORM"
absl::Span<const Name> BufferDataFormats();          // "BUF_DATA_FORMAT_8"
absl::Span<const Name> BufferNumFormats();           // "BUF_NUM_FORMAT_UNORM"
inline constexpr uint32_t kDefaultBufferFormat = 1;  // 8_UNORM, in both numberings.

absl::Span<const Name> ImageDims();      // "1D", behind "SQ_RSRC_IMG_".
absl::Span<const Name> ExportTargets();  // "mrt0"; "invalid_target_9" has no row.

absl::Span<const Name> SdwaSelects();  // "BYTE_0"
absl::Span<const Name> SdwaUnused();   // "UNUSED_PAD"

absl::Span<const Name> DelayIds();    // instid0, instid1 of s_delay_alu: "VALU_DEP_1"
absl::Span<const Name> DelaySkips();  // instskip: "SAME"

absl::Span<const Name> Scopes();  // gfx12: "SCOPE_SE"
// gfx12's temporal hints are named by what the instruction does: "TH_LOAD_NT".
enum class Access : uint8_t { kLoad, kStore, kAtomic };
absl::Span<const Name> TemporalHints(Access access);
inline constexpr uint32_t kScopeSys = 3;
inline constexpr uint32_t kThBypass = 3;  // TH_LOAD_BYPASS and TH_STORE_BYPASS, at SCOPE_SYS only.

// Counters packed into the 16 bits of s_waitcnt and s_waitcnt_depctr (s_wait_alu).
struct CounterField {
  std::string_view name;
  uint8_t shift;
  uint8_t width;
  uint8_t shift2;  // Of upper bits that lie elsewhere.
  uint8_t width2;  // 0: there are none.

  uint32_t Max() const { return (1u << (width + width2)) - 1; }
  uint32_t Get(uint32_t word) const {
    return (word >> shift & ((1u << width) - 1)) | (word >> shift2 & ((1u << width2) - 1)) << width;
  }
  uint32_t Put(uint32_t value) const {
    return (value & ((1u << width) - 1)) << shift | value >> width << shift2;
  }
};
absl::Span<const CounterField> WaitCounters(Isa isa);  // vmcnt, expcnt, lgkmcnt.
absl::Span<const CounterField> DependencyCounters();  // "depctr_va_vdst", in the order of the text.

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_NAMES_H_
