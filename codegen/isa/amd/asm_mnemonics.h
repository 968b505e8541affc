// Which forms a mnemonic may mean.
#ifndef TG_CODEGEN_ISA_AMD_ASM_MNEMONICS_H_
#define TG_CODEGEN_ISA_AMD_ASM_MNEMONICS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/table.h"

namespace tg::amd::asm_internal {

// The mnemonics of one instruction set, with and without suffix, hashed.
class Mnemonics {
 public:
  static const Mnemonics& Of(Isa isa);  // Made on first use, never freed. Thread safe.

  // Those that `name` may mean, shortest encoding first; empty when there are none.
  absl::Span<const Form* const> Find(std::string_view name) const;

  // For messages: the name that is most like this one; "" when none is.
  std::string Nearest(std::string_view name) const;

 private:
  explicit Mnemonics(Isa isa);

  struct Entry {
    std::string_view name;
    uint32_t first = 0;
    uint32_t count = 0;
  };

  std::vector<const Form*> forms_;
  std::vector<Entry> slots_;  // As many as a power of two; open addressing.
  uint64_t mask_ = 0;
};

}  // namespace tg::amd::asm_internal

#endif  // TG_CODEGEN_ISA_AMD_ASM_MNEMONICS_H_
