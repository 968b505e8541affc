// Reads 64-bit little-endian ELF files: what compilers write (.o), and GPU code objects.
//
// The bytes may be hostile: every offset, size, index and name is checked before use, nothing is
// copied but the tables' rows, and the tables together never exceed a small multiple of the file
// (documented at Parse). Layouts: System V ABI, edition 4.1, chapters 4 and 5.
#ifndef TG_CODEGEN_OBJECT_ELF_H_
#define TG_CODEGEN_OBJECT_ELF_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tg::object {

enum class ElfMachine : uint16_t { kX86_64 = 62, kAarch64 = 183, kAmdGpu = 224 };

enum class ElfType : uint16_t { kRelocatable = 1, kExecutable = 2, kShared = 3 };

// sh_type
inline constexpr uint32_t kSectionNull = 0;
inline constexpr uint32_t kSectionSymbols = 2;
inline constexpr uint32_t kSectionStrings = 3;
inline constexpr uint32_t kSectionRela = 4;
inline constexpr uint32_t kSectionNote = 7;
inline constexpr uint32_t kSectionNoBits = 8;
inline constexpr uint32_t kSectionRel = 9;
inline constexpr uint32_t kSectionDynamicSymbols = 11;

// sh_flags
inline constexpr uint64_t kFlagWrite = 1;
inline constexpr uint64_t kFlagAlloc = 2;
inline constexpr uint64_t kFlagExec = 4;
inline constexpr uint64_t kFlagTls = 0x400;

struct ElfSection {
  absl::string_view name;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t size = 0;   // Of the section in memory; the file has `data.size()` of it.
  uint64_t align = 1;  // A power of two.
  uint32_t link = 0;
  uint32_t info = 0;
  absl::string_view data;  // Empty for kSectionNoBits, else `size` bytes.
};

enum class SymbolBinding : uint8_t { kLocal = 0, kGlobal = 1, kWeak = 2, kOther = 15 };
enum class SymbolType : uint8_t {
  kNone = 0,
  kObject = 1,
  kFunction = 2,
  kSection = 3,
  kFile = 4,
  kCommon = 5,
  kTls = 6,
  kIndirectFunction = 10,
  kOther = 15,
};

struct ElfSymbol {
  enum class Place : uint8_t { kUndefined, kAbsolute, kCommon, kSection };

  absl::string_view name;
  uint64_t value = 0;
  uint64_t size = 0;
  SymbolBinding binding = SymbolBinding::kLocal;
  SymbolType type = SymbolType::kNone;
  Place place = Place::kUndefined;
  uint32_t section = 0;  // Index, when place is kSection; valid.
};

struct ElfRelocation {
  uint64_t offset = 0;  // In the section that it changes.
  uint32_t type = 0;
  uint32_t symbol = 0;  // Index; valid.
  int64_t addend = 0;
};

class ElfFile {
 public:
  // `bytes` must outlive the result, which points into it. InvalidArgument says which field of
  // which row is wrong. At most one symbol table of each of the two types is allowed, as in files
  // that linkers make; the rows take at most 3 times the size of `bytes` for each. Unimplemented
  // for 32-bit and big-endian files.
  static absl::StatusOr<ElfFile> Parse(absl::string_view bytes);

  ElfMachine machine() const { return machine_; }
  ElfType type() const { return type_; }
  uint32_t flags() const { return flags_; }  // e_flags: for AMD, the processor and its features.
  uint8_t os_abi() const { return os_abi_; }
  uint8_t abi_version() const { return abi_version_; }

  // As numbered in the file; number 0 is the null section.
  absl::Span<const ElfSection> sections() const { return sections_; }
  // As numbered in the file; number 0 is the undefined symbol. Of the dynamic symbols when there is
  // no other table.
  absl::Span<const ElfSymbol> symbols() const { return symbols_; }

  // Those that the relocations in section `index` number: the dynamic ones when its sh_link says
  // so.
  absl::Span<const ElfSymbol> SymbolsOf(uint32_t index) const;

  // First section of that name; null when there is none.
  const ElfSection* FindSection(absl::string_view name) const;
  // Defined symbol of that name, other than a local one; null when there is none.
  const ElfSymbol* FindSymbol(absl::string_view name) const;

  // The rows of the kSectionRela section `index`. Offsets are not checked against the section that
  // they change: that needs the relocation's width.
  absl::StatusOr<std::vector<ElfRelocation>> Relocations(uint32_t index) const;

 private:
  ElfFile() = default;

  ElfMachine machine_ = ElfMachine::kX86_64;
  ElfType type_ = ElfType::kRelocatable;
  uint32_t flags_ = 0;
  uint8_t os_abi_ = 0;
  uint8_t abi_version_ = 0;
  std::vector<ElfSection> sections_;
  std::vector<ElfSymbol> symbols_;
  std::vector<ElfSymbol> dynamic_symbols_;  // Empty when symbols_ is the only table.
};

}  // namespace tg::object

#endif  // TG_CODEGEN_OBJECT_ELF_H_
