#include "codegen/object/elf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tg::object {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kHeaderSize = 64;
constexpr uint64_t kSectionRowSize = 64;
constexpr uint64_t kSymbolRowSize = 24;
constexpr uint64_t kRelaRowSize = 24;

// Longer names exist in no compiler's output; the bound keeps reading n names of one hostile string
// table linear in the file's size.
constexpr size_t kMaxNameLength = 16384;

// e_ident
constexpr uint8_t kClass64 = 2;
constexpr uint8_t kLittleEndian = 1;

// st_shndx
constexpr uint16_t kIndexUndefined = 0;
constexpr uint16_t kIndexReserved = 0xff00;
constexpr uint16_t kIndexAbsolute = 0xfff1;
constexpr uint16_t kIndexCommon = 0xfff2;
constexpr uint16_t kIndexExtended = 0xffff;

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("ELF: ", what));
}

// The caller has checked that `offset` and the field's bytes lie within `bytes`.
template <typename T>
T Read(absl::string_view bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

bool InRange(absl::string_view bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

std::optional<absl::string_view> NameAt(absl::string_view strings, uint64_t offset) {
  if (offset >= strings.size()) return std::nullopt;
  absl::string_view rest = strings.substr(offset, kMaxNameLength);
  const void* end = std::memchr(rest.data(), 0, rest.size());
  if (end == nullptr) return std::nullopt;
  return rest.substr(0, static_cast<const char*>(end) - rest.data());
}

template <typename Enum>
Enum KnownOrOther(uint8_t value, std::initializer_list<Enum> known) {
  for (Enum k : known) {
    if (static_cast<uint8_t>(k) == value) return k;
  }
  return Enum::kOther;
}

SymbolBinding BindingOf(uint8_t info) {
  return KnownOrOther<SymbolBinding>(
      info >> 4, {SymbolBinding::kLocal, SymbolBinding::kGlobal, SymbolBinding::kWeak});
}

SymbolType TypeOf(uint8_t info) {
  return KnownOrOther<SymbolType>(
      info & 15,
      {SymbolType::kNone, SymbolType::kObject, SymbolType::kFunction, SymbolType::kSection,
       SymbolType::kFile, SymbolType::kCommon, SymbolType::kTls, SymbolType::kIndirectFunction});
}

// A section and where its name is, before the string table is known.
struct RawSection {
  ElfSection section;
  uint32_t name_offset;
};

absl::StatusOr<RawSection> ReadSection(absl::string_view bytes, uint64_t table, uint64_t index) {
  const uint64_t row = table + index * kSectionRowSize;
  RawSection raw;
  ElfSection& s = raw.section;
  raw.name_offset = Read<uint32_t>(bytes, row);
  s.type = Read<uint32_t>(bytes, row + 4);
  s.flags = Read<uint64_t>(bytes, row + 8);
  s.address = Read<uint64_t>(bytes, row + 16);
  const uint64_t offset = Read<uint64_t>(bytes, row + 24);
  s.size = Read<uint64_t>(bytes, row + 32);
  s.link = Read<uint32_t>(bytes, row + 40);
  s.info = Read<uint32_t>(bytes, row + 44);
  s.align = std::max<uint64_t>(1, Read<uint64_t>(bytes, row + 48));
  if (s.type == kSectionNull) return raw;
  if (!std::has_single_bit(s.align)) {
    return Bad(
        absl::StrCat("section ", index, ": sh_addralign ", s.align, " is not a power of two"));
  }
  if (s.type != kSectionNoBits) {
    if (!InRange(bytes, offset, s.size)) {
      return Bad(absl::StrCat("section ", index, ": sh_offset ", offset, " and sh_size ", s.size,
                              " reach beyond the file's ", bytes.size(), " bytes"));
    }
    s.data = bytes.substr(offset, s.size);
  }
  return raw;
}

absl::StatusOr<ElfSymbol> ReadSymbol(absl::string_view rows, uint64_t index,
                                     absl::string_view strings,
                                     absl::Span<const ElfSection> sections) {
  const uint64_t row = index * kSymbolRowSize;
  ElfSymbol symbol;
  const uint32_t name = Read<uint32_t>(rows, row);
  const uint8_t info = Read<uint8_t>(rows, row + 4);
  const uint16_t place = Read<uint16_t>(rows, row + 6);
  symbol.value = Read<uint64_t>(rows, row + 8);
  symbol.size = Read<uint64_t>(rows, row + 16);
  symbol.binding = BindingOf(info);
  symbol.type = TypeOf(info);
  if (name != 0) {
    const std::optional<absl::string_view> text = NameAt(strings, name);
    if (!text) return Bad(absl::StrCat("symbol ", index, ": st_name ", name, " is no string"));
    symbol.name = *text;
  }
  if (place == kIndexUndefined) {
    symbol.place = ElfSymbol::Place::kUndefined;
  } else if (place == kIndexAbsolute) {
    symbol.place = ElfSymbol::Place::kAbsolute;
  } else if (place == kIndexCommon) {
    symbol.place = ElfSymbol::Place::kCommon;
  } else if (place == kIndexExtended) {
    return absl::UnimplementedError(
        absl::StrCat("ELF: symbol ", index, ": extended section indices are not supported"));
  } else if (place >= kIndexReserved || place >= sections.size()) {
    return Bad(
        absl::StrCat("symbol ", index, ": st_shndx ", place, " of ", sections.size(), " sections"));
  } else {
    symbol.place = ElfSymbol::Place::kSection;
    symbol.section = place;
  }
  return symbol;
}

// The rows of the one table of that type; none when there is no table.
absl::StatusOr<std::vector<ElfSymbol>> ReadSymbols(absl::Span<const ElfSection> sections,
                                                   uint32_t type) {
  std::vector<ElfSymbol> symbols;
  const ElfSection* table = nullptr;
  for (const ElfSection& s : sections) {
    if (s.type != type) continue;
    if (table != nullptr) return Bad("more than one symbol table");
    table = &s;
  }
  if (table == nullptr) return symbols;
  if (table->link >= sections.size()) {
    return Bad(
        absl::StrCat("symbol table: sh_link ", table->link, " of ", sections.size(), " sections"));
  }
  if (table->size % kSymbolRowSize != 0) {
    return Bad(absl::StrCat("symbol table: sh_size ", table->size, " is not a multiple of ",
                            kSymbolRowSize));
  }
  const absl::string_view strings = sections[table->link].data;
  const uint64_t count = table->size / kSymbolRowSize;
  symbols.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    absl::StatusOr<ElfSymbol> symbol = ReadSymbol(table->data, i, strings, sections);
    if (!symbol.ok()) return symbol.status();
    symbols.push_back(*symbol);
  }
  return symbols;
}

}  // namespace

absl::StatusOr<ElfFile> ElfFile::Parse(absl::string_view bytes) {
  if (bytes.size() < kHeaderSize) {
    return Bad(
        absl::StrCat("the header needs ", kHeaderSize, " bytes, the file has ", bytes.size()));
  }
  if (bytes.substr(0, 4) != absl::string_view("\x7f"
                                              "ELF",
                                              4))
    return Bad("no magic number");
  // Kernel packers leave zero what GPU loaders do not look at: the byte order, the machine, the
  // size of a section's row; and they begin with a section where the null section should be.
  const uint8_t order = Read<uint8_t>(bytes, 5);
  if (Read<uint8_t>(bytes, 4) != kClass64 || (order != kLittleEndian && order != 0)) {
    return absl::UnimplementedError("ELF: only 64-bit little-endian files are supported");
  }
  ElfFile file;
  file.type_ = static_cast<ElfType>(Read<uint16_t>(bytes, 16));
  file.machine_ = static_cast<ElfMachine>(Read<uint16_t>(bytes, 18));
  file.flags_ = Read<uint32_t>(bytes, 48);
  file.os_abi_ = Read<uint8_t>(bytes, 7);
  file.abi_version_ = Read<uint8_t>(bytes, 8);

  const uint64_t table = Read<uint64_t>(bytes, 40);
  if (table == 0) return file;  // A file need not have sections.
  const uint16_t row_size = Read<uint16_t>(bytes, 58);
  if (row_size != kSectionRowSize && row_size != 0) {
    return Bad(absl::StrCat("e_shentsize is ", row_size, ", not ", kSectionRowSize));
  }
  if (!InRange(bytes, table, kSectionRowSize)) {
    return Bad(absl::StrCat("e_shoff ", table, " lies beyond the file's ", bytes.size(), " bytes"));
  }
  // Where the header's 16 bits do not suffice, the null section's row has the numbers.
  uint64_t count = Read<uint16_t>(bytes, 60);
  uint32_t names_index = Read<uint16_t>(bytes, 62);
  if (count == 0) count = Read<uint64_t>(bytes, table + 32);
  if (names_index == kIndexExtended) names_index = Read<uint32_t>(bytes, table + 40);
  if (count > (bytes.size() - table) / kSectionRowSize) {
    return Bad(absl::StrCat("e_shnum ", count, " sections at ", table, " reach beyond the file's ",
                            bytes.size(), " bytes"));
  }

  std::vector<uint32_t> name_offsets;
  file.sections_.reserve(count);
  name_offsets.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    absl::StatusOr<RawSection> raw = ReadSection(bytes, table, i);
    if (!raw.ok()) return raw.status();
    file.sections_.push_back(raw->section);
    name_offsets.push_back(raw->name_offset);
  }
  if (names_index != 0) {
    if (names_index >= count) {
      return Bad(absl::StrCat("e_shstrndx ", names_index, " of ", count, " sections"));
    }
    const absl::string_view names = file.sections_[names_index].data;
    for (uint64_t i = file.sections_[0].type == kSectionNull ? 1 : 0; i < count; ++i) {
      const std::optional<absl::string_view> name = NameAt(names, name_offsets[i]);
      if (!name) {
        return Bad(absl::StrCat("section ", i, ": sh_name ", name_offsets[i], " is no string"));
      }
      file.sections_[i].name = *name;
    }
  }

  absl::StatusOr<std::vector<ElfSymbol>> symbols = ReadSymbols(file.sections_, kSectionSymbols);
  if (!symbols.ok()) return symbols.status();
  file.symbols_ = *std::move(symbols);
  symbols = ReadSymbols(file.sections_, kSectionDynamicSymbols);
  if (!symbols.ok()) return symbols.status();
  (file.symbols_.empty() ? file.symbols_ : file.dynamic_symbols_) = *std::move(symbols);
  return file;
}

absl::Span<const ElfSymbol> ElfFile::SymbolsOf(uint32_t index) const {
  const uint32_t link = index < sections_.size() ? sections_[index].link : 0;
  const bool dynamic = link < sections_.size() && sections_[link].type == kSectionDynamicSymbols;
  return dynamic && !dynamic_symbols_.empty() ? dynamic_symbols_ : symbols_;
}

const ElfSection* ElfFile::FindSection(absl::string_view name) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(),
                                  [&](const ElfSection& s) { return s.name == name; });
  return found == sections_.end() ? nullptr : &*found;
}

const ElfSymbol* ElfFile::FindSymbol(absl::string_view name) const {
  const auto found = std::find_if(symbols_.begin(), symbols_.end(), [&](const ElfSymbol& s) {
    return s.name == name && s.binding != SymbolBinding::kLocal &&
           s.place != ElfSymbol::Place::kUndefined;
  });
  return found == symbols_.end() ? nullptr : &*found;
}

absl::StatusOr<std::vector<ElfRelocation>> ElfFile::Relocations(uint32_t index) const {
  if (index >= sections_.size() || sections_[index].type != kSectionRela) {
    return Bad(absl::StrCat("section ", index, " holds no relocations with addends"));
  }
  const ElfSection& section = sections_[index];
  if (section.size % kRelaRowSize != 0) {
    return Bad(absl::StrCat("section ", index, ": sh_size ", section.size, " is not a multiple of ",
                            kRelaRowSize));
  }
  const size_t symbol_count = SymbolsOf(index).size();
  std::vector<ElfRelocation> result(section.size / kRelaRowSize);
  for (size_t i = 0; i < result.size(); ++i) {
    const uint64_t row = i * kRelaRowSize;
    const uint64_t info = Read<uint64_t>(section.data, row + 8);
    ElfRelocation& r = result[i];
    r.offset = Read<uint64_t>(section.data, row);
    r.type = static_cast<uint32_t>(info);
    r.symbol = static_cast<uint32_t>(info >> 32);
    r.addend = Read<int64_t>(section.data, row + 16);
    if (r.symbol >= symbol_count) {
      return Bad(absl::StrCat("section ", index, ": relocation ", i, ": symbol ", r.symbol, " of ",
                              symbol_count));
    }
  }
  return result;
}

}  // namespace tg::object
