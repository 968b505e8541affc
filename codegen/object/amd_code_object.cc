#include "codegen/object/amd_code_object.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tg::object {
namespace {

constexpr uint8_t kOsAbiHsa = 64;
constexpr uint64_t kNowhere = ~uint64_t{0};
constexpr uint64_t kImageFactor = 64;
constexpr uint64_t kImageSlack = uint64_t{16} << 20;
constexpr absl::string_view kDescriptorSuffix = ".kd";

// e_flags from version 4 of the format on.
constexpr int kXnackShift = 8;
constexpr int kSrameccShift = 10;

// Note records.
constexpr uint32_t kMetadataNote = 32;
constexpr absl::string_view kNoteOwner("AMDGPU\0", 7);

// r_type
enum : uint32_t {
  kNoRelocation = 0,
  kAbs32Lo = 1,
  kAbs32Hi = 2,
  kAbs64 = 3,
  kRel32 = 4,
  kRel64 = 5,
  kAbs32 = 6,
  kRel32Lo = 10,
  kRel32Hi = 11,
  kRelative64 = 13,
  kRel16 = 14,
};

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("AMD code object: ", what));
}

bool Within(uint64_t offset, uint64_t size, uint64_t whole) {
  return offset <= whole && size <= whole - offset;
}

// How many bytes a relocation changes; 0 when it is not known.
int WidthOf(uint32_t type) {
  switch (type) {
    case kAbs64:
    case kRel64:
    case kRelative64:
      return 8;
    case kAbs32Lo:
    case kAbs32Hi:
    case kRel32:
    case kAbs32:
    case kRel32Lo:
    case kRel32Hi:
      return 4;
    case kRel16:
      return 2;
    default:
      return 0;
  }
}

// The field's value for symbol + addend `target`, base of the image `base`, field's address
// `place`.
absl::StatusOr<uint64_t> ValueOf(uint32_t type, uint64_t target, uint64_t base, int64_t addend,
                                 uint64_t place) {
  const uint64_t distance = target - place;
  switch (type) {
    case kAbs64:
      return target;
    case kRelative64:
      return base + addend;
    case kRel64:
      return distance;
    case kAbs32Lo:
      return target & 0xffffffff;
    case kAbs32Hi:
      return target >> 32;
    case kRel32Lo:
      return distance & 0xffffffff;
    case kRel32Hi:
      return distance >> 32;
    case kAbs32:
      if (target >> 32 != 0) break;
      return target;
    case kRel32: {
      const int64_t d = static_cast<int64_t>(distance);
      if (d != static_cast<int32_t>(d)) break;
      return distance & 0xffffffff;
    }
    case kRel16: {
      // Of a branch: counted in words from the instruction's end.
      const int64_t d = static_cast<int64_t>(distance - 4);
      if (d % 4 != 0 || d / 4 != static_cast<int16_t>(d / 4)) break;
      return static_cast<uint64_t>(d / 4) & 0xffff;
    }
    default:
      break;
  }
  return absl::OutOfRangeError(
      absl::StrCat("AMD code object: relocation type ", type, ": the value does not fit"));
}

AmdFeature FeatureOf(uint32_t flags, int shift) {
  return static_cast<AmdFeature>(flags >> shift & 3);
}

}  // namespace

std::string AmdTargetName(const AmdProcessor& processor, AmdFeature xnack, AmdFeature sramecc) {
  const auto text = [](absl::string_view name, AmdFeature feature) -> std::string {
    if (feature == AmdFeature::kOn) return absl::StrCat(":", name, "+");
    if (feature == AmdFeature::kOff) return absl::StrCat(":", name, "-");
    return "";
  };
  return absl::StrCat("amdgcn-amd-amdhsa--", processor.name, text("sramecc", sramecc),
                      text("xnack", xnack));
}

absl::StatusOr<AmdCodeObject> AmdCodeObject::Read(absl::string_view bytes) {
  absl::StatusOr<ElfFile> elf = ElfFile::Parse(bytes);
  if (!elf.ok()) return elf.status();
  AmdCodeObject object(*std::move(elf));
  if (absl::Status status = object.ReadTarget(); !status.ok()) return status;
  if (absl::Status status = object.PlaceSections(bytes.size()); !status.ok()) return status;
  if (absl::Status status = object.ReadMetadata(); !status.ok()) return status;
  if (absl::Status status = object.ReadKernels(); !status.ok()) return status;
  return object;
}

absl::Status AmdCodeObject::ReadTarget() {
  if (elf_.machine() != ElfMachine::kAmdGpu) {
    return Bad(absl::StrCat("e_machine is ", static_cast<int>(elf_.machine()), ", not 224"));
  }
  if (elf_.os_abi() != kOsAbiHsa) {
    return Bad(absl::StrCat("the OS ABI is ", elf_.os_abi(), ", not AMDGPU_HSA (64)"));
  }
  if (elf_.type() != ElfType::kRelocatable && elf_.type() != ElfType::kShared) {
    return Bad(
        absl::StrCat("e_type is ", static_cast<int>(elf_.type()), ", neither ET_REL nor ET_DYN"));
  }
  version_ = elf_.abi_version() + 2;
  if (version_ < 3 || version_ > 6) {
    return absl::UnimplementedError(
        absl::StrCat("AMD code object: version ", version_, " of the format is not supported"));
  }
  processor_ = FindAmdProcessor(static_cast<uint8_t>(elf_.flags()));
  if (processor_ == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("AMD code object: processor number ", elf_.flags() & 0xff, " is not known"));
  }
  if (version_ >= 4) {
    xnack_ = FeatureOf(elf_.flags(), kXnackShift);
    sramecc_ = FeatureOf(elf_.flags(), kSrameccShift);
  }
  return absl::OkStatus();
}

absl::Status AmdCodeObject::PlaceSections(uint64_t file_size) {
  const uint64_t limit = kImageFactor * file_size + kImageSlack;
  const bool linked = elf_.type() == ElfType::kShared;
  addresses_.assign(elf_.sections().size(), kNowhere);
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const ElfSection& s = elf_.sections()[i];
    if (s.type == kSectionNull || (s.flags & kFlagAlloc) == 0) continue;
    if (s.align > limit) return Bad(absl::StrCat("section ", i, ": sh_addralign ", s.align));
    const uint64_t address = linked ? s.address : (image_size_ + s.align - 1) & ~(s.align - 1);
    if (!Within(address, s.size, limit)) {
      return absl::ResourceExhaustedError(absl::StrCat("AMD code object: section ", i, ": ", s.size,
                                                       " bytes at ", address,
                                                       " make an image over ", limit, " bytes"));
    }
    addresses_[i] = address;
    image_size_ = std::max(image_size_, address + s.size);
    image_align_ = std::max(image_align_, s.align);
    sections_.push_back({s.name, address, s.size, s.data, (s.flags & kFlagExec) != 0});
  }
  for (const ElfSymbol& symbol : elf_.symbols()) {
    if (symbol.place != ElfSymbol::Place::kSection || symbol.name.empty()) continue;
    if (symbol.type == SymbolType::kSection || symbol.type == SymbolType::kFile) continue;
    const uint64_t base = addresses_[symbol.section];
    if (base == kNowhere) continue;
    const uint64_t start = linked ? base : 0;
    const ElfSection& s = elf_.sections()[symbol.section];
    const uint64_t offset = symbol.value - start;
    if (offset > s.size) {
      return Bad(absl::StrCat("symbol ", symbol.name, " lies outside of its section ", s.name));
    }
    symbols_.push_back({symbol.name, base + offset, symbol.size,
                        symbol.type == SymbolType::kFunction,
                        symbol.binding != SymbolBinding::kLocal});
  }
  return absl::OkStatus();
}

absl::Status AmdCodeObject::ReadMetadata() {
  for (const ElfSection& s : elf_.sections()) {
    if (s.type != kSectionNote) continue;
    absl::string_view rest = s.data;
    while (rest.size() >= 12) {
      uint32_t header[3];
      std::memcpy(header, rest.data(), sizeof(header));
      const uint64_t name_size = (uint64_t{header[0]} + 3) & ~uint64_t{3};
      const uint64_t data_size = (uint64_t{header[1]} + 3) & ~uint64_t{3};
      rest.remove_prefix(12);
      if (name_size > rest.size() || header[1] > rest.size() - name_size) {
        return Bad(absl::StrCat("a note in section ", s.name, " reaches beyond it"));
      }
      const absl::string_view owner = rest.substr(0, header[0]);
      rest.remove_prefix(name_size);
      if (owner == kNoteOwner && header[2] == kMetadataNote) {
        if (!metadata_bytes_.empty()) return Bad("two notes with metadata");
        metadata_bytes_ = rest.substr(0, header[1]);
      }
      rest.remove_prefix(std::min<uint64_t>(data_size, rest.size()));
    }
  }
  if (metadata_bytes_.empty()) return absl::OkStatus();
  absl::StatusOr<AmdMetadata> metadata = ReadAmdMetadata(metadata_bytes_);
  if (!metadata.ok()) return metadata.status();
  metadata_ = *std::move(metadata);
  return absl::OkStatus();
}

absl::Status AmdCodeObject::ReadKernels() {
  absl::flat_hash_map<absl::string_view, int> described;
  for (size_t i = 0; i < metadata_.kernels.size(); ++i) {
    described.emplace(metadata_.kernels[i].symbol, static_cast<int>(i));
  }
  absl::flat_hash_map<absl::string_view, uint64_t> code_sizes;
  for (const AmdSymbol& symbol : symbols_) {
    if (symbol.function) code_sizes.emplace(symbol.name, symbol.size);
  }
  const bool any = std::any_of(symbols_.begin(), symbols_.end(), [](const AmdSymbol& symbol) {
    return absl::EndsWith(symbol.name, kDescriptorSuffix);
  });
  if (!any) return absl::OkStatus();
  std::string image;
  // Kernels can be listed though something that their code calls is not defined.
  if (absl::Status status = Relocate(0, /*allow_undefined=*/true, &image); !status.ok()) {
    return status;
  }
  for (const AmdSymbol& symbol : symbols_) {
    absl::string_view name = symbol.name;
    if (!absl::EndsWith(name, kDescriptorSuffix) || symbol.function) continue;
    name.remove_suffix(kDescriptorSuffix.size());
    if (!Within(symbol.address, sizeof(AmdKernelDescriptor), image.size())) {
      return Bad(absl::StrCat("the descriptor ", symbol.name, " reaches beyond the image"));
    }
    AmdKernel kernel;
    kernel.name = std::string(name);
    kernel.descriptor_address = symbol.address;
    std::memcpy(&kernel.descriptor, image.data() + symbol.address, sizeof(AmdKernelDescriptor));
    kernel.entry = symbol.address + kernel.descriptor.kernel_code_entry_byte_offset;
    const bool in_code = std::any_of(sections_.begin(), sections_.end(), [&](const AmdSection& s) {
      return s.executable && kernel.entry >= s.address && kernel.entry - s.address < s.size;
    });
    if (!in_code) {
      return Bad(absl::StrCat("kernel ", name, ": its entry ", kernel.entry, " lies in no code"));
    }
    const auto size = code_sizes.find(name);
    if (size != code_sizes.end()) kernel.code_size = size->second;
    const auto found = described.find(symbol.name);
    if (found != described.end()) kernel.metadata = found->second;
    kernels_.push_back(std::move(kernel));
  }
  return absl::OkStatus();
}

const AmdKernel* AmdCodeObject::FindKernel(absl::string_view name) const {
  const auto found = std::find_if(kernels_.begin(), kernels_.end(),
                                  [&](const AmdKernel& k) { return k.name == name; });
  return found == kernels_.end() ? nullptr : &*found;
}

absl::StatusOr<std::string> AmdCodeObject::Image(uint64_t base) const {
  std::string image;
  if (absl::Status status = Relocate(base, /*allow_undefined=*/false, &image); !status.ok()) {
    return status;
  }
  return image;
}

absl::Status AmdCodeObject::Relocate(uint64_t base, bool allow_undefined,
                                     std::string* image) const {
  image->assign(image_size_, '\0');
  for (const AmdSection& s : sections_) {
    std::copy(s.data.begin(), s.data.end(), image->begin() + static_cast<ptrdiff_t>(s.address));
  }
  for (uint32_t i = 0; i < elf_.sections().size(); ++i) {
    if (elf_.sections()[i].type == kSectionRel) {
      return absl::UnimplementedError(
          absl::StrCat("AMD code object: section ", i, ": relocations without addends"));
    }
    if (elf_.sections()[i].type != kSectionRela) continue;
    if (absl::Status status = RelocateSection(i, base, allow_undefined, image); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status AmdCodeObject::RelocateSection(uint32_t index, uint64_t base, bool allow_undefined,
                                            std::string* image) const {
  const bool linked = elf_.type() == ElfType::kShared;
  const ElfSection& section = elf_.sections()[index];
  // Where offsets count from, and how far they may reach.
  uint64_t origin = 0;
  uint64_t limit = image_size_;
  if (linked) {
    if ((section.flags & kFlagAlloc) == 0) return absl::OkStatus();  // For the linker only.
  } else {
    if (section.info >= addresses_.size()) {
      return Bad(absl::StrCat("section ", index, ": sh_info ", section.info));
    }
    origin = addresses_[section.info];
    if (origin == kNowhere) return absl::OkStatus();
    limit = elf_.sections()[section.info].size;
  }
  absl::StatusOr<std::vector<ElfRelocation>> relocations = elf_.Relocations(index);
  if (!relocations.ok()) return relocations.status();
  const absl::Span<const ElfSymbol> symbols = elf_.SymbolsOf(index);
  for (const ElfRelocation& relocation : *relocations) {
    if (relocation.type == kNoRelocation) continue;
    const int width = WidthOf(relocation.type);
    if (width == 0) {
      return absl::UnimplementedError(absl::StrCat("AMD code object: section ", index,
                                                   ": relocation type ", relocation.type,
                                                   " is not known"));
    }
    if (!Within(relocation.offset, width, limit)) {
      return Bad(absl::StrCat("section ", index, ": relocation at ", relocation.offset,
                              " lies outside of its section"));
    }
    const ElfSymbol& symbol = symbols[relocation.symbol];
    uint64_t address = symbol.value;
    if (symbol.place == ElfSymbol::Place::kSection) {
      const uint64_t start = addresses_[symbol.section];
      if (start == kNowhere) {
        return Bad(
            absl::StrCat("section ", index, ": symbol ", symbol.name, " is not part of the image"));
      }
      address += base + (linked ? 0 : start);
    } else if (symbol.place != ElfSymbol::Place::kAbsolute && relocation.symbol != 0) {
      if (allow_undefined) continue;
      return absl::NotFoundError(
          absl::StrCat("AMD code object: symbol ", symbol.name, " is not defined"));
    }
    const uint64_t at = origin + relocation.offset;
    const absl::StatusOr<uint64_t> value =
        ValueOf(relocation.type, address + relocation.addend, base, relocation.addend, base + at);
    if (!value.ok()) return value.status();
    std::memcpy(image->data() + at, &*value, width);
  }
  return absl::OkStatus();
}

}  // namespace tg::object
