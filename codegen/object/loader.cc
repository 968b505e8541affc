#include "codegen/object/loader.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/object/relocate.h"

namespace tg::object {
namespace {

// Pages of 64 KiB exist on AArch64; a multiple of the page's size serves as well as the size.
#if defined(__aarch64__)
constexpr uint64_t kPage = 65536;
#else
constexpr uint64_t kPage = 4096;
#endif
// UBSan's check of calls through pointers reads the bytes before a function; let there be some.
constexpr uint64_t kRoomBeforeCode = 16;
constexpr uint64_t kMaxAlign = 4096;
constexpr uint64_t kGotSlotSize = 8;
constexpr uint32_t kSectionX86Unwind = 0x70000001;
constexpr uint64_t kNotLoaded = ~uint64_t{0};

uint64_t RoundUp(uint64_t value, uint64_t align) { return (value + align - 1) & ~(align - 1); }

// The image: code with its stubs, then constants with the slots, then variables.
enum Group { kCode, kConstants, kVariables, kGroups };

bool IsLoaded(const ElfSection& s) {
  return (s.flags & kFlagAlloc) != 0 && s.size != 0 && s.type != kSectionNote &&
         s.type != kSectionX86Unwind && s.type != kSectionRela && s.type != kSectionRel &&
         !absl::StartsWith(s.name, ".eh_frame");
}

Group GroupOf(const ElfSection& s) {
  if ((s.flags & kFlagExec) != 0) return kCode;
  // Written by the linker only.
  if (absl::StartsWith(s.name, ".data.rel.ro")) return kConstants;
  return (s.flags & kFlagWrite) != 0 ? kVariables : kConstants;
}

std::string Quoted(const ElfSymbol& symbol) { return absl::StrCat("'", symbol.name, "'"); }

// One load. The steps are called in the order in which they stand here.
class Loader {
 public:
  Loader(const ElfFile& file, uint64_t file_size, SymbolResolver resolver)
      : file_(file), file_size_(file_size), resolver_(resolver) {}

  absl::Status CheckFile();
  absl::Status CollectRelocations();
  absl::Status ResolveSymbols();
  absl::Status LayOut();

  uint64_t image_size() const { return group_end_[kVariables]; }
  bool needs_low_address() const { return needs_low_address_; }

  void Copy(std::byte* image);
  absl::Status Relocate();
  absl::Status Protect();
  absl::flat_hash_map<std::string, void*> Exports() const;

 private:
  struct Relocation {
    uint32_t section;  // That it changes.
    ElfRelocation row;
    RelocationKind kind;
  };

  absl::Status Describe(const absl::Status& status, const Relocation& r) const;
  std::byte* SectionStart(uint32_t index) const { return image_ + section_offset_[index]; }
  uint64_t SymbolAddress(uint32_t index) const;

  const ElfFile& file_;
  const uint64_t file_size_;
  const SymbolResolver resolver_;

  std::vector<Relocation> relocations_;
  bool needs_low_address_ = false;
  std::map<uint32_t, uint64_t> external_;     // Undefined symbol to its address.
  std::map<uint32_t, uint64_t> stub_offset_;  // Symbol to its stub in the image.
  std::map<uint32_t, uint64_t> slot_offset_;  // Symbol to its slot in the image.
  std::vector<uint64_t> section_offset_;      // In the image, or kNotLoaded.
  uint64_t group_end_[kGroups] = {};          // Multiples of kPage.
  std::byte* image_ = nullptr;
};

absl::Status Loader::CheckFile() {
  if (file_.type() != ElfType::kRelocatable) {
    return absl::InvalidArgumentError(absl::StrCat(
        "object file: e_type is ", static_cast<int>(file_.type()), ", not 1 (relocatable)"));
  }
  if (file_.machine() != LoadedObject::HostMachine()) {
    return absl::UnimplementedError(absl::StrCat("object file: made for machine ",
                                                 static_cast<int>(file_.machine()), ", this is ",
                                                 static_cast<int>(LoadedObject::HostMachine())));
  }
  // Sections may share bytes of the file, and each gets a copy: the sum bounds what is copied.
  uint64_t copied = 0;
  for (const ElfSection& s : file_.sections()) {
    if (!IsLoaded(s)) continue;
    if ((s.flags & kFlagTls) != 0) {
      return absl::UnimplementedError(
          absl::StrCat("object file: section ", s.name, " holds thread-local variables"));
    }
    if (s.align > kMaxAlign) {
      return absl::UnimplementedError(absl::StrCat("object file: section ", s.name,
                                                   " has alignment ", s.align, ", at most ",
                                                   kMaxAlign, " is supported"));
    }
    copied += s.data.size();
    if (copied > file_size_) {
      return absl::InvalidArgumentError("object file: sections overlap in the file");
    }
  }
  return absl::OkStatus();
}

absl::Status Loader::CollectRelocations() {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < file_.sections().size(); ++i) {
    const ElfSection& s = file_.sections()[i];
    if (s.type != kSectionRela && s.type != kSectionRel) continue;
    if (s.info >= file_.sections().size()) {
      return absl::InvalidArgumentError(absl::StrCat("object file: section ", i, ": sh_info ",
                                                     s.info, " of ", file_.sections().size(),
                                                     " sections"));
    }
    const ElfSection& changed = file_.sections()[s.info];
    if (!IsLoaded(changed)) continue;
    if (s.type == kSectionRel) {
      return absl::UnimplementedError(
          absl::StrCat("object file: section ", i, " has relocations without addends"));
    }
    bytes += s.size;
    if (bytes > file_size_) {
      return absl::InvalidArgumentError("object file: relocation sections overlap in the file");
    }
    absl::StatusOr<std::vector<ElfRelocation>> rows = file_.Relocations(i);
    if (!rows.ok()) return rows.status();
    for (const ElfRelocation& row : *rows) {
      const Relocation r = {s.info, row, ClassifyRelocation(file_.machine(), row.type)};
      if (r.kind.use == RelocationUse::kUnknown) {
        return absl::UnimplementedError(absl::StrCat("object file: section ", changed.name,
                                                     ": relocation type ", row.type,
                                                     " is not supported"));
      }
      if (r.kind.use == RelocationUse::kNothing) continue;
      const uint64_t width = static_cast<uint64_t>(r.kind.width);
      if (changed.type == kSectionNoBits || row.offset > changed.size ||
          changed.size - row.offset < width) {
        return absl::InvalidArgumentError(absl::StrCat(
            "object file: section ", changed.name, ": relocation at offset ", row.offset, " of ",
            changed.type == kSectionNoBits ? 0 : changed.size, " bytes"));
      }
      needs_low_address_ |= r.kind.low_address;
      relocations_.push_back(r);
    }
  }
  return absl::OkStatus();
}

absl::Status Loader::ResolveSymbols() {
  std::vector<std::string> missing;
  for (const Relocation& r : relocations_) {
    const uint32_t index = r.row.symbol;
    const ElfSymbol& symbol = file_.symbols()[index];
    if (symbol.type == SymbolType::kTls || symbol.type == SymbolType::kIndirectFunction ||
        symbol.place == ElfSymbol::Place::kCommon) {
      return absl::UnimplementedError(
          absl::StrCat("object file: symbol ", Quoted(symbol),
                       " is thread-local, common or an indirect function, which is not supported"));
    }
    if (symbol.place == ElfSymbol::Place::kSection) {
      const ElfSection& section = file_.sections()[symbol.section];
      if (!IsLoaded(section) || symbol.value > section.size) {
        return absl::InvalidArgumentError(
            absl::StrCat("object file: symbol ", Quoted(symbol), " at ", symbol.value,
                         " is not in the loaded part of section ", section.name));
      }
    }
    if (r.kind.use == RelocationUse::kGot) slot_offset_[index] = 0;
    if (symbol.place != ElfSymbol::Place::kUndefined) continue;
    if (r.kind.use == RelocationUse::kCall) stub_offset_[index] = 0;
    const auto [entry, is_new] = external_.try_emplace(index, 0);
    if (!is_new) continue;
    void* address = symbol.name.empty() ? nullptr : resolver_(symbol.name);
    entry->second = reinterpret_cast<uintptr_t>(address);
    if (address == nullptr && symbol.binding != SymbolBinding::kWeak) {
      missing.push_back(Quoted(symbol));
    }
  }
  if (!missing.empty()) {
    constexpr size_t kShown = 10;
    const size_t count = missing.size();
    if (count > kShown) {
      missing.resize(kShown);
      missing.push_back(absl::StrCat("and ", count - kShown, " more"));
    }
    return absl::NotFoundError(absl::StrCat("object file: it calls what may not be called: ",
                                            absl::StrJoin(missing, ", ")));
  }
  return absl::OkStatus();
}

absl::Status Loader::LayOut() {
  // No overflow: each step adds at most 2^20 beyond `limit`, and is checked.
  const uint64_t limit = 64 * file_size_ + (uint64_t{64} << 20);
  const auto too_large = [&] {
    return absl::ResourceExhaustedError(
        absl::StrCat("object file: its image exceeds ", limit, " bytes"));
  };
  bool has_sections = false;
  section_offset_.assign(file_.sections().size(), kNotLoaded);
  uint64_t end = kRoomBeforeCode;
  for (const Group group : {kCode, kConstants, kVariables}) {
    for (size_t i = 0; i < file_.sections().size(); ++i) {
      const ElfSection& s = file_.sections()[i];
      if (!IsLoaded(s) || GroupOf(s) != group) continue;
      end = RoundUp(end, s.align);
      section_offset_[i] = end;
      has_sections = true;
      if (s.size > limit || end + s.size > limit) return too_large();
      end += s.size;
    }
    if (group == kCode) {
      end = RoundUp(end, 8);
      for (auto& [symbol, offset] : stub_offset_) {
        offset = end;
        end += kStubSize;
      }
    }
    if (group == kConstants) {
      end = RoundUp(end, 8);
      for (auto& [symbol, offset] : slot_offset_) {
        offset = end;
        end += kGotSlotSize;
      }
    }
    end = RoundUp(end, kPage);
    group_end_[group] = end;
  }
  if (end > limit) return too_large();
  if (!has_sections) return absl::InvalidArgumentError("object file: it has no code and no data");
  return absl::OkStatus();
}

void Loader::Copy(std::byte* image) {
  image_ = image;
  for (uint32_t i = 0; i < file_.sections().size(); ++i) {
    const absl::string_view data = file_.sections()[i].data;
    // What has no data stays zero, as mapped.
    if (section_offset_[i] != kNotLoaded && !data.empty()) {
      std::memcpy(SectionStart(i), data.data(), data.size());
    }
  }
}

uint64_t Loader::SymbolAddress(uint32_t index) const {
  const ElfSymbol& symbol = file_.symbols()[index];
  switch (symbol.place) {
    case ElfSymbol::Place::kUndefined:
      return external_.at(index);
    case ElfSymbol::Place::kSection:
      return reinterpret_cast<uintptr_t>(SectionStart(symbol.section)) + symbol.value;
    default:
      return symbol.value;
  }
}

absl::Status Loader::Describe(const absl::Status& status, const Relocation& r) const {
  return absl::Status(status.code(),
                      absl::StrCat("object file: section ", file_.sections()[r.section].name,
                                   ", offset ", r.row.offset, ", symbol ",
                                   Quoted(file_.symbols()[r.row.symbol]), ": ", status.message()));
}

absl::Status Loader::Relocate() {
  for (const auto& [symbol, offset] : stub_offset_) {
    WriteJumpStub(file_.machine(), absl::MakeSpan(image_ + offset, kStubSize),
                  SymbolAddress(symbol));
  }
  for (const auto& [symbol, offset] : slot_offset_) {
    const uint64_t address = SymbolAddress(symbol);
    std::memcpy(image_ + offset, &address, kGotSlotSize);
  }
  for (const Relocation& r : relocations_) {
    std::byte* const place = SectionStart(r.section) + r.row.offset;
    const uint32_t symbol = r.row.symbol;
    const auto apply = [&](uint64_t target) {
      return ApplyRelocation(file_.machine(), r.row.type, absl::MakeSpan(place, r.kind.width),
                             reinterpret_cast<uintptr_t>(place), target, r.row.addend);
    };
    const auto in_image = [&](uint64_t offset) {
      return reinterpret_cast<uintptr_t>(image_ + offset);
    };
    absl::Status status =
        apply(r.kind.use == RelocationUse::kGot ? in_image(slot_offset_.at(symbol))
                                                : SymbolAddress(symbol));
    const auto stub = stub_offset_.find(symbol);
    if (absl::IsOutOfRange(status) && r.kind.use == RelocationUse::kCall &&
        stub != stub_offset_.end()) {
      status = apply(in_image(stub->second));
    }
    if (!status.ok()) return Describe(status, r);
  }
  return absl::OkStatus();
}

absl::Status Loader::Protect() {
  const uint64_t code_end = group_end_[kCode];
  const uint64_t constants_end = group_end_[kConstants];
  if (code_end != 0) {
    char* const code = reinterpret_cast<char*>(image_);
    __builtin___clear_cache(code, code + code_end);
    if (mprotect(image_, code_end, PROT_READ | PROT_EXEC) != 0) {
      return absl::ErrnoToStatus(errno, "object file: making its code executable");
    }
  }
  if (constants_end != code_end &&
      mprotect(image_ + code_end, constants_end - code_end, PROT_READ) != 0) {
    return absl::ErrnoToStatus(errno, "object file: making its constants read-only");
  }
  return absl::OkStatus();
}

absl::flat_hash_map<std::string, void*> Loader::Exports() const {
  absl::flat_hash_map<std::string, void*> exports;
  for (const ElfSymbol& symbol : file_.symbols()) {
    if (symbol.binding == SymbolBinding::kLocal || symbol.name.empty() ||
        symbol.place != ElfSymbol::Place::kSection ||
        section_offset_[symbol.section] == kNotLoaded ||
        symbol.value > file_.sections()[symbol.section].size) {
      continue;
    }
    exports.try_emplace(std::string(symbol.name), SectionStart(symbol.section) + symbol.value);
  }
  return exports;
}

}  // namespace

ElfMachine LoadedObject::HostMachine() {
#if defined(__x86_64__)
  return ElfMachine::kX86_64;
#elif defined(__aarch64__)
  return ElfMachine::kAarch64;
#else
#error "The loader knows x86-64 and AArch64."
#endif
}

absl::StatusOr<LoadedObject> LoadedObject::Load(absl::string_view bytes, SymbolResolver resolver) {
  const absl::StatusOr<ElfFile> file = ElfFile::Parse(bytes);
  if (!file.ok()) return file.status();
  Loader loader(*file, bytes.size(), resolver);
  absl::Status status = loader.CheckFile();
  if (status.ok()) status = loader.CollectRelocations();
  if (status.ok()) status = loader.ResolveSymbols();
  if (status.ok()) status = loader.LayOut();
  if (!status.ok()) return status;

  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#if defined(__x86_64__)
  if (loader.needs_low_address()) flags |= MAP_32BIT;
#endif
  void* const image = mmap(nullptr, loader.image_size(), PROT_READ | PROT_WRITE, flags, -1, 0);
  if (image == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("object file: no ", loader.image_size(),
                     " bytes of memory for its image: ", std::strerror(errno)));
  }
  LoadedObject object;
  object.image_ = image;
  object.image_size_ = loader.image_size();
  loader.Copy(static_cast<std::byte*>(image));
  status = loader.Relocate();
  if (status.ok()) status = loader.Protect();
  if (!status.ok()) return status;
  object.symbols_ = loader.Exports();
  return object;
}

LoadedObject& LoadedObject::operator=(LoadedObject&& other) noexcept {
  std::swap(image_, other.image_);
  std::swap(image_size_, other.image_size_);
  std::swap(symbols_, other.symbols_);
  return *this;
}

LoadedObject::~LoadedObject() {
  if (image_ != nullptr) munmap(image_, image_size_);
}

absl::StatusOr<void*> LoadedObject::Symbol(absl::string_view name) const {
  const auto found = symbols_.find(name);
  if (found != symbols_.end()) return found->second;
  std::vector<absl::string_view> names;
  for (const auto& [known, address] : symbols_) names.push_back(known);
  std::sort(names.begin(), names.end());
  return absl::NotFoundError(absl::StrCat("object file: no symbol '", name, "'; it has ",
                                          names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

}  // namespace tg::object
