// Relocations of x86-64 and AArch64 as pure functions on bytes, for the loader and its tests.
//
// Sources: System V ABI, AMD64 supplement 1.0, table 4.9; ELF for the Arm 64-bit Architecture
// (AAELF64 2023Q3), section 5.7.
#ifndef TG_CODEGEN_OBJECT_RELOCATE_H_
#define TG_CODEGEN_OBJECT_RELOCATE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "codegen/object/elf.h"

namespace tg::object {

// What a relocation needs besides its symbol's address.
enum class RelocationUse : uint8_t {
  kUnknown,  // Not supported.
  kNothing,  // No effect.
  kData,     // The symbol's address.
  kCall,     // The symbol's address, or that of a stub that jumps there.
  kGot,      // The address of an 8-byte slot that holds the symbol's address.
};

struct RelocationKind {
  RelocationUse use = RelocationUse::kUnknown;
  int width = 0;             // Bytes changed.
  bool low_address = false;  // Works only when the image lies in the lowest 2 GiB.
};

RelocationKind ClassifyRelocation(ElfMachine machine, uint32_t type);

// Writes relocation `type` into `place`, which holds at least its width and will run at address
// `place_address`. `target` is the address that ClassifyRelocation asks for (of the symbol, stub or
// slot), without the addend. OutOfRange when the value does not fit, or is not aligned as the
// instruction needs; Unimplemented for types that are not known. `place` is changed on success
// only.
absl::Status ApplyRelocation(ElfMachine machine, uint32_t type, absl::Span<std::byte> place,
                             uint64_t place_address, uint64_t target, int64_t addend);

// A stub that jumps to any 64-bit address: kStubSize bytes, aligned to 8.
inline constexpr int kStubSize = 16;
void WriteJumpStub(ElfMachine machine, absl::Span<std::byte> stub, uint64_t target);

}  // namespace tg::object

#endif  // TG_CODEGEN_OBJECT_RELOCATE_H_
