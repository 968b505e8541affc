// The program that waves ran, as far as following them needs it.
#ifndef TG_TOOLS_SQTT_PROGRAM_H_
#define TG_TOOLS_SQTT_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "codegen/isa/amd/arch.h"

namespace tg::sqtt {

enum class InstKind : uint8_t {
  kInvalid,   // No instruction.
  kPlain,     // The next one follows.
  kSilent,    // Leaves no packet: s_delay_alu, s_wait_alu, s_barrier_wait.
  kBranch,    // May go on at `target`; the trace says whether it did.
  kCall,      // Goes on at `target`.
  kIndirect,  // Goes on at an address in registers.
  kEnd,       // s_endpgm
};

// Addresses are those of the ELF file's sections. Immutable; thread safe.
class Program {
 public:
  struct Inst {
    InstKind kind = InstKind::kInvalid;
    uint8_t size = 0;    // Bytes.
    int32_t target = 0;  // kBranch, kCall: an index as of At; may be outside.
  };

  // The section .text of an AMD code object; the processor comes from its header, or is `arch`
  // where the header does not say. Copies what it needs. InvalidArgument for files that are no such
  // thing; Unimplemented for processors whose instructions are not known.
  static absl::StatusOr<Program> Read(absl::string_view elf, absl::string_view arch = "");

  // Bare instructions at `base`.
  static Program FromCode(absl::Span<const uint8_t> code, uint64_t base, amd::Arch arch);

  amd::Arch arch() const { return arch_; }
  uint64_t base() const { return base_; }  // Address of the first instruction.
  uint64_t size() const { return code_.size(); }

  // Instructions may begin at every fourth byte; an index is such a place. Outside of the program
  // there is kInvalid.
  const Inst& At(int64_t index) const {
    return index >= 0 && index < static_cast<int64_t>(insts_.size()) ? insts_[index] : kNone;
  }
  uint64_t Address(int64_t index) const { return base_ + static_cast<uint64_t>(index) * 4; }
  // -1 when the address is outside or between.
  int64_t IndexOf(uint64_t address) const;
  int64_t num_indices() const { return static_cast<int64_t>(insts_.size()); }

  // As llvm-mc prints it.
  std::string Text(int64_t index) const;

 private:
  static const Inst kNone;

  amd::Arch arch_ = amd::Arch::kGfx1100;
  uint64_t base_ = 0;
  std::vector<uint8_t> code_;
  std::vector<Inst> insts_;
};

}  // namespace tg::sqtt

#endif  // TG_TOOLS_SQTT_PROGRAM_H_
