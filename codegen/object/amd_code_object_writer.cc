#include "codegen/object/amd_code_object_writer.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "codegen/object/amd_code_object.h"

namespace tg::object {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kTextAlign = 256;  // The command processor drops the entry's low 8 bits.
constexpr uint64_t kDescriptorAlign = 64;

// System V ABI, chapters 4 and 5.
struct FileHeader {
  uint8_t ident[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 64, 3};  // AMDGPU_HSA, version 5.
  uint16_t type = 3;
  uint16_t machine = 224;
  uint32_t version = 1;
  uint64_t entry = 0;
  uint64_t program_headers = sizeof(FileHeader);
  uint64_t section_headers = 0;
  uint32_t flags = 0;
  uint16_t header_size = sizeof(FileHeader);
  uint16_t program_header_size = 56;
  uint16_t program_header_count = 0;
  uint16_t section_header_size = 64;
  uint16_t section_header_count = 0;
  uint16_t names_index = 0;
};
static_assert(sizeof(FileHeader) == 64);

struct ProgramHeader {
  uint32_t type = 0;
  uint32_t flags = 0;
  uint64_t offset = 0;
  uint64_t address = 0;
  uint64_t physical = 0;
  uint64_t file_size = 0;
  uint64_t memory_size = 0;
  uint64_t align = 0;
};
static_assert(sizeof(ProgramHeader) == 56);

struct SectionHeader {
  uint32_t name = 0;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t link = 0;
  uint32_t info = 0;
  uint64_t align = 0;
  uint64_t row_size = 0;
};
static_assert(sizeof(SectionHeader) == 64);

struct Symbol {
  uint32_t name = 0;
  uint8_t info = 0;
  uint8_t other = 0;
  uint16_t section = 0;
  uint64_t value = 0;
  uint64_t size = 0;
};
static_assert(sizeof(Symbol) == 24);

enum : uint32_t { kLoad = 1, kDynamic = 2, kNote = 4, kProgramHeaders = 6, kStack = 0x6474e551 };
enum : uint32_t { kExecute = 1, kWrite = 2, kRead = 4 };
enum : uint32_t { kProgbits = 1, kHashType = 5, kDynamicType = 6 };
enum : uint64_t { kTagHash = 4, kTagStrings = 5, kTagSymbols = 6, kTagStringsSize = 10 };
constexpr uint64_t kTagSymbolSize = 11;
constexpr uint8_t kProtected = 3;
constexpr uint8_t kInfoGlobal = 1 << 4;
constexpr uint8_t kInfoObject = 1;
constexpr uint8_t kInfoFunction = 2;

// Section numbers.
enum Section : uint16_t {
  kNull,
  kNoteSection,
  kDynsym,
  kHash,
  kDynstr,
  kRodata,
  kText,
  kDynamicSection,
  kSymtab,
  kShstrtab,
  kStrtab,
  kSectionCount,
};

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("AMD code object: ", what));
}

template <typename T>
void Append(std::string* bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

uint64_t AlignUp(uint64_t value, uint64_t align) { return (value + align - 1) & ~(align - 1); }

// Strings with a zero after each; the empty one is at 0.
class StringTable {
 public:
  uint32_t Add(absl::string_view text) {
    const uint32_t at = static_cast<uint32_t>(bytes_.size());
    absl::StrAppend(&bytes_, text);
    bytes_.push_back('\0');
    return at;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
};

// The hash of System V, chapter 5.
uint32_t HashOf(absl::string_view name) {
  uint32_t h = 0;
  for (const char c : name) {
    h = (h << 4) + static_cast<uint8_t>(c);
    const uint32_t high = h & 0xf0000000;
    h ^= high >> 24;
    h &= ~high;
  }
  return h;
}

std::string HashSection(const std::vector<std::string>& names) {
  const uint32_t count = static_cast<uint32_t>(names.size());
  std::vector<uint32_t> buckets(count, 0);
  std::vector<uint32_t> chains(count, 0);
  for (uint32_t i = 1; i < count; ++i) {
    uint32_t& head = buckets[HashOf(names[i]) % count];
    chains[i] = head;
    head = i;
  }
  std::string bytes;
  Append(&bytes, count);
  Append(&bytes, count);
  for (const uint32_t v : buckets) Append(&bytes, v);
  for (const uint32_t v : chains) Append(&bytes, v);
  return bytes;
}

AmdMetadata MetadataOf(const AmdCodeObjectSpec& spec, AmdFeature xnack, AmdFeature sramecc) {
  AmdMetadata metadata;
  metadata.target = AmdTargetName(*spec.processor, xnack, sramecc);
  for (const AmdKernelSpec& kernel : spec.kernels) {
    const AmdKernelDescription& d = kernel.description;
    AmdKernelMetadata& m = metadata.kernels.emplace_back();
    m.name = kernel.name;
    m.symbol = absl::StrCat(kernel.name, ".kd");
    m.args = kernel.args;
    m.kernarg_segment_size = d.kernarg_size;
    m.group_segment_fixed_size = d.group_segment_fixed_size;
    m.private_segment_fixed_size = d.private_segment_fixed_size;
    m.wavefront_size = spec.processor->is_rdna() && d.wavefront_size32.value_or(1) != 0 ? 32 : 64;
    m.sgpr_count = d.next_free_sgpr;
    m.vgpr_count = d.next_free_vgpr;
    if (spec.processor->is_cdna()) {
      m.agpr_count = d.next_free_vgpr > d.accum_offset ? d.next_free_vgpr - d.accum_offset : 0;
    }
    m.max_flat_workgroup_size = kernel.max_flat_workgroup_size;
    m.reqd_workgroup_size = kernel.reqd_workgroup_size;
  }
  return metadata;
}

std::string NoteSection(absl::string_view metadata) {
  std::string bytes;
  Append(&bytes, uint32_t{7});
  Append(&bytes, static_cast<uint32_t>(metadata.size()));
  Append(&bytes, uint32_t{32});  // NT_AMDGPU_METADATA
  bytes.append("AMDGPU\0\0", 8);
  absl::StrAppend(&bytes, metadata);
  bytes.resize(AlignUp(bytes.size(), 4));
  return bytes;
}

// Everything is laid out first; values that depend on addresses are filled in afterwards.
class Writer {
 public:
  explicit Writer(const AmdCodeObjectSpec& spec) : spec_(spec) {}

  absl::StatusOr<std::string> Write();

 private:
  struct Placed {
    uint64_t offset = 0;
    uint64_t address = 0;
  };

  absl::Status MakeDescriptors();
  absl::Status CheckName(const std::string& name);
  void MakeSymbols();
  void AddSymbol(absl::string_view name, Symbol symbol, bool dynamic);
  void Place(Section section, uint64_t align);
  void NextPage() { address_bias_ += kPage; }
  std::string DynamicSection() const;
  std::string SymbolRows(const std::vector<Symbol>& symbols) const;
  std::string ProgramHeaders() const;
  ProgramHeader Segment(uint32_t type, uint32_t flags, Section first, Section last,
                        uint64_t align) const;
  std::string SectionHeaders(StringTable* names) const;

  static constexpr int kSegmentCount = 7;

  const AmdCodeObjectSpec& spec_;
  std::vector<AmdKernelDescriptor> descriptors_;
  absl::flat_hash_set<std::string> names_;
  StringTable dynstr_;
  StringTable strtab_;
  std::vector<std::string> dynamic_names_;
  std::vector<Symbol> dynamic_symbols_;
  std::vector<Symbol> locals_;
  std::vector<Symbol> globals_;
  std::string contents_[kSectionCount];
  Placed placed_[kSectionCount];
  uint64_t end_ = sizeof(FileHeader) + kSegmentCount * sizeof(ProgramHeader);
  uint64_t address_bias_ = 0;
};

absl::Status Writer::CheckName(const std::string& name) {
  if (name.empty() || name.find('\0') != std::string::npos) return Bad("a name is empty");
  if (!names_.insert(name).second) return Bad(absl::StrCat("two symbols are called ", name));
  return absl::OkStatus();
}

absl::Status Writer::MakeDescriptors() {
  for (const AmdKernelSpec& kernel : spec_.kernels) {
    for (const std::string& name : {kernel.name, absl::StrCat(kernel.name, ".kd")}) {
      if (absl::Status status = CheckName(name); !status.ok()) return status;
    }
    if (kernel.entry % kTextAlign != 0 || kernel.entry >= spec_.text.size()) {
      return Bad(absl::StrCat("kernel ", kernel.name, ": its entry ", kernel.entry,
                              " must be a multiple of 256 within the text's ", spec_.text.size(),
                              " bytes"));
    }
    if (kernel.size > spec_.text.size() - kernel.entry) {
      return Bad(absl::StrCat("kernel ", kernel.name, ": its size ", kernel.size,
                              " reaches beyond the text"));
    }
    absl::StatusOr<AmdKernelDescriptor> descriptor =
        MakeAmdKernelDescriptor(*spec_.processor, kernel.description);
    if (!descriptor.ok()) {
      return absl::Status(descriptor.status().code(), absl::StrCat("kernel ", kernel.name, ": ",
                                                                   descriptor.status().message()));
    }
    descriptors_.push_back(*descriptor);
  }
  for (const AmdSymbolSpec& symbol : spec_.symbols) {
    if (absl::Status status = CheckName(symbol.name); !status.ok()) return status;
    if (symbol.offset > spec_.text.size() || symbol.size > spec_.text.size() - symbol.offset) {
      return Bad(absl::StrCat("symbol ", symbol.name, " reaches beyond the text"));
    }
  }
  return absl::OkStatus();
}

// `symbol.value` is an offset in its section, until SymbolRows.
void Writer::AddSymbol(absl::string_view name, Symbol symbol, bool dynamic) {
  if (dynamic) {
    symbol.info |= kInfoGlobal;
    symbol.other = kProtected;
    symbol.name = dynstr_.Add(name);
    dynamic_symbols_.push_back(symbol);
    dynamic_names_.emplace_back(name);
  }
  symbol.name = strtab_.Add(name);
  (dynamic ? globals_ : locals_).push_back(symbol);
}

void Writer::MakeSymbols() {
  dynamic_symbols_.emplace_back();
  dynamic_names_.emplace_back();
  locals_.emplace_back();
  for (size_t i = 0; i < spec_.kernels.size(); ++i) {
    const AmdKernelSpec& kernel = spec_.kernels[i];
    AddSymbol(kernel.name, {0, kInfoFunction, 0, kText, kernel.entry, kernel.size}, true);
    AddSymbol(
        absl::StrCat(kernel.name, ".kd"),
        {0, kInfoObject, 0, kRodata, i * sizeof(AmdKernelDescriptor), sizeof(AmdKernelDescriptor)},
        true);
  }
  for (const AmdSymbolSpec& symbol : spec_.symbols) {
    const uint8_t info = symbol.function ? kInfoFunction : 0;
    AddSymbol(symbol.name, {0, info, 0, kText, symbol.offset, symbol.size}, symbol.global);
  }
}

void Writer::Place(Section section, uint64_t align) {
  end_ = AlignUp(end_, align);
  placed_[section] = {end_, end_ + address_bias_};
  end_ += contents_[section].size();
}

std::string Writer::DynamicSection() const {
  std::string bytes;
  const std::pair<uint64_t, uint64_t> entries[] = {
      {kTagSymbols, placed_[kDynsym].address}, {kTagSymbolSize, sizeof(Symbol)},
      {kTagStrings, placed_[kDynstr].address}, {kTagStringsSize, dynstr_.bytes().size()},
      {kTagHash, placed_[kHash].address},      {0, 0},
  };
  for (const auto& [tag, value] : entries) {
    Append(&bytes, tag);
    Append(&bytes, value);
  }
  return bytes;
}

std::string Writer::SymbolRows(const std::vector<Symbol>& symbols) const {
  std::string bytes;
  for (Symbol symbol : symbols) {
    if (symbol.section != 0) symbol.value += placed_[symbol.section].address;
    Append(&bytes, symbol);
  }
  return bytes;
}

ProgramHeader Writer::Segment(uint32_t type, uint32_t flags, Section first, Section last,
                              uint64_t align) const {
  const Placed& start = placed_[first];
  const uint64_t size = placed_[last].offset + contents_[last].size() - start.offset;
  return {type, flags, start.offset, start.address, start.address, size, size, align};
}

std::string Writer::ProgramHeaders() const {
  const uint64_t headers_size = kSegmentCount * sizeof(ProgramHeader);
  const uint64_t at = sizeof(FileHeader);
  // The first segment has the file's header, too.
  ProgramHeader read_only = Segment(kLoad, kRead, kNoteSection, kRodata, kPage);
  const uint64_t size = read_only.offset + read_only.file_size;
  read_only = {kLoad, kRead, 0, 0, 0, size, size, kPage};
  const ProgramHeader headers[kSegmentCount] = {
      {kProgramHeaders, kRead, at, at, at, headers_size, headers_size, 8},
      read_only,
      Segment(kLoad, kRead | kExecute, kText, kText, kPage),
      Segment(kLoad, kRead | kWrite, kDynamicSection, kDynamicSection, kPage),
      Segment(kDynamic, kRead | kWrite, kDynamicSection, kDynamicSection, 8),
      {kStack, kRead | kWrite, 0, 0, 0, 0, 0, 0},
      Segment(kNote, kRead, kNoteSection, kNoteSection, 4),
  };
  return std::string(reinterpret_cast<const char*>(headers), sizeof(headers));
}

std::string Writer::SectionHeaders(StringTable* names) const {
  struct Row {
    const char* name;
    uint32_t type;
    uint64_t flags;
    uint32_t link;
    uint32_t info;
    uint64_t align;
    uint64_t row_size;
  };
  const uint32_t local_count = static_cast<uint32_t>(locals_.size());
  const Row rows[kSectionCount] = {
      {"", kSectionNull, 0, 0, 0, 0, 0},
      {".note", kSectionNote, kFlagAlloc, 0, 0, 4, 0},
      {".dynsym", kSectionDynamicSymbols, kFlagAlloc, kDynstr, 1, 8, sizeof(Symbol)},
      {".hash", kHashType, kFlagAlloc, kDynsym, 0, 4, 4},
      {".dynstr", kSectionStrings, kFlagAlloc, 0, 0, 1, 0},
      {".rodata", kProgbits, kFlagAlloc, 0, 0, kDescriptorAlign, 0},
      {".text", kProgbits, kFlagAlloc | kFlagExec, 0, 0, kTextAlign, 0},
      {".dynamic", kDynamicType, kFlagAlloc | kFlagWrite, kDynstr, 0, 8, 16},
      {".symtab", kSectionSymbols, 0, kStrtab, local_count, 8, sizeof(Symbol)},
      {".shstrtab", kSectionStrings, 0, 0, 0, 1, 0},
      {".strtab", kSectionStrings, 0, 0, 0, 1, 0},
  };
  std::string bytes;
  for (int i = 0; i < kSectionCount; ++i) {
    const Row& row = rows[i];
    SectionHeader header;
    header.name = i == kNull ? 0 : names->Add(row.name);
    header.type = row.type;
    header.flags = row.flags;
    header.address = (row.flags & kFlagAlloc) != 0 ? placed_[i].address : 0;
    header.offset = placed_[i].offset;
    header.size = contents_[i].size();
    header.link = row.link;
    header.info = row.info;
    header.align = row.align;
    header.row_size = row.row_size;
    Append(&bytes, header);
  }
  return bytes;
}

absl::StatusOr<std::string> Writer::Write() {
  if (absl::Status status = MakeDescriptors(); !status.ok()) return status;
  MakeSymbols();
  const AmdFeature xnack = spec_.processor->has_xnack ? spec_.xnack : AmdFeature::kUnsupported;
  const AmdFeature sramecc =
      spec_.processor->has_sramecc ? spec_.sramecc : AmdFeature::kUnsupported;

  // Sizes are known before addresses; contents that depend on those are of the same size later.
  contents_[kNoteSection] =
      NoteSection(spec_.metadata.empty() ? WriteAmdMetadata(MetadataOf(spec_, xnack, sramecc))
                                         : spec_.metadata);
  contents_[kDynsym] = SymbolRows(dynamic_symbols_);
  contents_[kHash] = HashSection(dynamic_names_);
  contents_[kDynstr] = dynstr_.bytes();
  contents_[kRodata].resize(descriptors_.size() * sizeof(AmdKernelDescriptor));
  contents_[kText] = spec_.text;
  contents_[kDynamicSection] = DynamicSection();
  contents_[kSymtab] = SymbolRows(locals_) + SymbolRows(globals_);
  contents_[kStrtab] = strtab_.bytes();
  StringTable section_names;
  SectionHeaders(&section_names);
  contents_[kShstrtab] = section_names.bytes();

  Place(kNoteSection, 4);
  Place(kDynsym, 8);
  Place(kHash, 4);
  Place(kDynstr, 1);
  Place(kRodata, kDescriptorAlign);
  NextPage();
  Place(kText, kTextAlign);
  NextPage();
  Place(kDynamicSection, 8);
  Place(kSymtab, 8);
  Place(kShstrtab, 1);
  Place(kStrtab, 1);

  for (size_t i = 0; i < descriptors_.size(); ++i) {
    const uint64_t at = placed_[kRodata].address + i * sizeof(AmdKernelDescriptor);
    descriptors_[i].kernel_code_entry_byte_offset =
        static_cast<int64_t>(placed_[kText].address + spec_.kernels[i].entry - at);
    std::memcpy(contents_[kRodata].data() + i * sizeof(AmdKernelDescriptor), &descriptors_[i],
                sizeof(AmdKernelDescriptor));
  }
  contents_[kDynsym] = SymbolRows(dynamic_symbols_);
  contents_[kSymtab] = SymbolRows(locals_) + SymbolRows(globals_);
  contents_[kDynamicSection] = DynamicSection();

  FileHeader header;
  header.flags = spec_.processor->number | static_cast<uint32_t>(xnack) << 8 |
                 static_cast<uint32_t>(sramecc) << 10;
  header.program_header_count = kSegmentCount;
  header.section_header_count = kSectionCount;
  header.names_index = kShstrtab;
  header.section_headers = AlignUp(end_, 8);
  std::string file;
  Append(&file, header);
  file += ProgramHeaders();
  for (int i = kNoteSection; i < kSectionCount; ++i) {
    file.resize(placed_[i].offset);
    file += contents_[i];
  }
  file.resize(header.section_headers);
  StringTable again;
  file += SectionHeaders(&again);
  return file;
}

}  // namespace

absl::StatusOr<std::string> WriteAmdCodeObject(const AmdCodeObjectSpec& spec) {
  if (spec.processor == nullptr) return Bad("no processor is given");
  if (spec.text.empty()) return Bad("there are no instructions");
  return Writer(spec).Write();
}

}  // namespace tg::object
