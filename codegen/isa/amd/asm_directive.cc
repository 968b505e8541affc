// Directives of the assembler.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "codegen/isa/amd/asm_state.h"
#include "codegen/object/amd_metadata.h"
#include "codegen/object/amd_processor.h"

namespace tg::amd::asm_internal {
namespace {

constexpr uint64_t kMaxText = uint64_t{256} << 20;

// Padding of code: s_nop 0.
constexpr uint32_t kNop = 0xbf800000;

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

}  // namespace

void Assembler::Directive(std::string_view name, const char* at) {
  if (name == ".amdhsa_kernel") return Kernel(at);
  if (name == ".amdgpu_metadata") return Metadata(at);
  if (name == ".long" || name == ".int" || name == ".4byte") return Data(4);
  if (name == ".short" || name == ".hword" || name == ".2byte") return Data(2);
  if (name == ".byte") return Data(1);
  if (name == ".quad" || name == ".8byte") return Data(8);
  if (name == ".ascii" || name == ".asciz" || name == ".string") return Strings(name != ".ascii");
  if (name == ".fill") return Fill(at);
  if (name == ".skip" || name == ".space" || name == ".zero") return Space(at);
  if (name == ".p2align") return Align(at, /*power=*/true);
  if (name == ".align" || name == ".balign") return Align(at, /*power=*/false);
  if (name == ".text") {
    section_ = Section::kText;
    return ExpectEnd();
  }
  if (name == ".section" || name == ".rodata") return SectionDirective(at);
  if (name == ".globl" || name == ".global" || name == ".weak" || name == ".local" ||
      name == ".hidden" || name == ".protected") {
    return SymbolFlag(name);
  }
  if (name == ".type") return TypeDirective();
  if (name == ".size") return SizeDirective();
  if (name == ".set" || name == ".equ") {
    const char* symbol_at = cursor_.at;
    const std::string_view symbol = SymbolName();
    if (symbol.empty()) return;
    if (!cursor_.Take(',')) return Error(cursor_.at, "expected ','");
    Assign(symbol, symbol_at);
    return ExpectEnd();
  }
  if (name == ".amdgcn_target") return TargetDirective(at);
  if (name == ".amdhsa_code_object_version") {
    int64_t version = 0;
    if (!Known("version", &version)) return;
    if (version < 4 || version > 6) Error(at, "versions 4 to 6 are supported");
    return ExpectEnd();
  }
  Error(at, absl::StrCat("unknown directive ", std::string(name)));
}

std::string_view Assembler::SymbolName() {
  const std::string_view name = cursor_.Word();
  if (name.empty()) Error(cursor_.at, "expected a symbol");
  cursor_.SkipBlanks();
  return name;
}

bool Assembler::Known(const char* what, int64_t* value) {
  const char* at = cursor_.at;
  ExpressionResult result = ParseExpression(&cursor_, this);
  if (result.state == ExpressionResult::State::kError) {
    Error(result.error_at, std::move(result.error));
    return false;
  }
  if (result.state == ExpressionResult::State::kLater || result.value.places != 0) {
    Error(at, absl::StrCat("the ", what, " must be a number that is known here"));
    return false;
  }
  *value = result.value.number;
  return true;
}

bool Assembler::Room(const char* at, uint64_t count) {
  if (section_ != Section::kText) {
    Error(at, "only kernel descriptors go to .rodata");
    return false;
  }
  if (count > kMaxText - std::min<uint64_t>(out_.text.size(), kMaxText)) {
    Error(at, "the text would be larger than 256 MiB");
    return false;
  }
  return true;
}

void Assembler::SectionDirective(const char* at) {
  std::string name;
  if (std::string_view(at, 7) == ".rodata") {
    name = ".rodata";
  } else if (*cursor_.at == '"') {
    if (!QuotedText(&name)) return;
  } else {
    name = std::string(SymbolName());
  }
  if (name == ".text") {
    section_ = Section::kText;
  } else if (name == ".rodata") {
    section_ = Section::kReadOnly;
  } else {
    return Error(at, "only the sections .text and .rodata are supported");
  }
  cursor_.SkipLine();  // Flags and type are what the section has anyway.
}

void Assembler::Data(int width) {
  const Fixup::Kind kinds[] = {Fixup::Kind::kData1, Fixup::Kind::kData2, Fixup::Kind::kData4,
                               Fixup::Kind::kData8};
  do {
    const char* at = cursor_.at;
    if (!Room(at, static_cast<uint64_t>(width))) return;
    const size_t here = out_.text.size();
    const ExpressionResult result = ParseExpression(&cursor_, this);
    if (result.state == ExpressionResult::State::kError)
      return Error(result.error_at, result.error);
    const int64_t value = result.value.number;
    const bool known = result.state == ExpressionResult::State::kValue &&
                       result.value.places == 0 &&
                       result.relative == ExpressionResult::Relative::kNo;
    if (known && width < 8 &&
        (value < -(int64_t{1} << (8 * width - 1)) || value >= int64_t{1} << (8 * width))) {
      return Error(at, absl::StrCat("the value ", value, " does not fit ", width, " bytes"));
    }
    out_.text.resize(here + static_cast<size_t>(width));
    if (known) {
      std::memcpy(out_.text.data() + here, &value, static_cast<size_t>(width));
    } else {
      AddFixup(kinds[std::countr_zero(static_cast<unsigned>(width))], here,
               static_cast<int64_t>(here), at);
    }
  } while (cursor_.Take(','));
  ExpectEnd();
}

bool Assembler::QuotedText(std::string* text) {
  if (*cursor_.at != '"') {
    Error(cursor_.at, "expected text in quotes");
    return false;
  }
  const char* begin = cursor_.at++;
  for (;; ++cursor_.at) {
    char c = *cursor_.at;
    if (c == '\n') {
      Error(begin, "the quote is not closed");
      return false;
    }
    if (c == '"') break;
    if (c == '\\') {
      c = *++cursor_.at;
      switch (c) {
        case 'n':
          c = '\n';
          break;
        case 't':
          c = '\t';
          break;
        case '0':
          c = '\0';
          break;
        case '\\':
        case '"':
          break;
        default:
          Error(cursor_.at, "unknown escape");
          return false;
      }
    }
    text->push_back(c);
  }
  ++cursor_.at;
  cursor_.SkipBlanks();
  return true;
}

void Assembler::Strings(bool zero) {
  do {
    std::string text;
    const char* at = cursor_.at;
    if (!QuotedText(&text)) return;
    if (zero) text.push_back('\0');
    if (!Room(at, text.size())) return;
    out_.text.insert(out_.text.end(), text.begin(), text.end());
  } while (cursor_.Take(','));
  ExpectEnd();
}

// .fill COUNT, SIZE, VALUE
void Assembler::Fill(const char* at) {
  int64_t count = 0;
  int64_t size = 1;
  int64_t value = 0;
  if (!Known("count", &count)) return;
  if (cursor_.Take(',') && !Known("size", &size)) return;
  if (cursor_.Take(',') && !Known("value", &value)) return;
  if (count < 0) return Error(at, "the count is negative");
  if (size < 0 || size > 8) return Error(at, "the size must be from 0 to 8");
  if (size == 0) return ExpectEnd();
  if (static_cast<uint64_t>(count) > kMaxText || !Room(at, static_cast<uint64_t>(count * size))) {
    if (errors_.empty()) Error(at, "the text would be larger than 256 MiB");
    return;
  }
  // As GNU's assembler: at most four bytes of the value, the others are zero.
  const uint64_t pattern = size > 4 ? static_cast<uint32_t>(value) : static_cast<uint64_t>(value);
  uint8_t bytes[8];
  std::memcpy(bytes, &pattern, sizeof(bytes));
  for (int64_t i = 0; i < count; ++i) out_.text.insert(out_.text.end(), bytes, bytes + size);
  ExpectEnd();
}

void Assembler::Space(const char* at) {
  int64_t count = 0;
  int64_t value = 0;
  if (!Known("count", &count)) return;
  if (cursor_.Take(',') && !Known("value", &value)) return;
  if (count < 0) return Error(at, "the count is negative");
  if (!Room(at, static_cast<uint64_t>(count))) return;
  out_.text.resize(out_.text.size() + static_cast<size_t>(count), static_cast<uint8_t>(value));
  ExpectEnd();
}

// .p2align POWER, VALUE, MAXIMUM or .balign BYTES, VALUE, MAXIMUM. Without a value: with
// instructions that do nothing, as far as whole ones fit.
void Assembler::Align(const char* at, bool power) {
  int64_t align = 0;
  int64_t value = 0;
  int64_t most = 0;
  bool has_value = false;
  if (!Known("alignment", &align)) return;
  if (cursor_.Take(',')) {
    if (*cursor_.at != ',' && !cursor_.AtEnd()) {
      if (!Known("value", &value)) return;
      has_value = true;
    }
    if (cursor_.Take(',') && !Known("maximum", &most)) return;
  }
  if (power) {
    if (align < 0 || align > 16) return Error(at, "the alignment must be from 0 to 16");
    align = int64_t{1} << align;
  }
  if (align < 1 || align > 65536 || (align & (align - 1)) != 0) {
    return Error(at, "the alignment must be a power of two of at most 65536");
  }
  if (section_ == Section::kReadOnly) return ExpectEnd();  // Descriptors are aligned anyway.
  out_.text_align = std::max(out_.text_align, static_cast<uint64_t>(align));
  const uint64_t pad =
      (static_cast<uint64_t>(align) - out_.text.size() % static_cast<uint64_t>(align)) %
      static_cast<uint64_t>(align);
  if (most > 0 && pad > static_cast<uint64_t>(most)) return ExpectEnd();
  if (!Room(at, pad)) return;
  if (has_value) {
    out_.text.resize(out_.text.size() + pad, static_cast<uint8_t>(value));
    return ExpectEnd();
  }
  out_.text.resize(out_.text.size() + pad % 4, 0);
  for (uint64_t i = 0; i < pad / 4; ++i) {
    const size_t here = out_.text.size();
    out_.text.resize(here + 4);
    std::memcpy(out_.text.data() + here, &kNop, 4);
  }
  ExpectEnd();
}

void Assembler::SymbolFlag(std::string_view name) {
  do {
    const std::string_view symbol = SymbolName();
    if (symbol.empty()) return;
    if (name != ".local" && name != ".hidden") symbols_[View(symbol)].global = true;
    if (name == ".local" || name == ".hidden") symbols_[View(symbol)].global = false;
  } while (cursor_.Take(','));
  ExpectEnd();
}

void Assembler::TypeDirective() {
  const std::string_view symbol = SymbolName();
  if (symbol.empty()) return;
  cursor_.Take(',');
  if (*cursor_.at == '@' || *cursor_.at == '%') ++cursor_.at;
  const char* at = cursor_.at;
  const std::string_view type = cursor_.Word();
  cursor_.SkipBlanks();
  if (type == "function" || type == "STT_FUNC") {
    symbols_[View(symbol)].function = true;
  } else if (type != "object" && type != "notype" && type != "STT_OBJECT" && type != "STT_NOTYPE") {
    return Error(at, "expected @function, @object or @notype");
  }
  ExpectEnd();
}

void Assembler::SizeDirective() {
  const std::string_view symbol = SymbolName();
  if (symbol.empty()) return;
  if (!cursor_.Take(',')) return Error(cursor_.at, "expected ','");
  Symbol& s = symbols_[View(symbol)];
  s.size_at = cursor_.at;
  s.size_here = static_cast<int64_t>(out_.text.size());
  const ExpressionResult result = ParseExpression(&cursor_, this);
  if (result.state == ExpressionResult::State::kError) return Error(result.error_at, result.error);
  ExpectEnd();
}

void Assembler::TargetDirective(const char* at) {
  std::string target;
  if (!QuotedText(&target)) return;
  const size_t dashes = target.rfind("--");
  std::string processor = dashes == std::string::npos ? target : target.substr(dashes + 2);
  processor = processor.substr(0, processor.find(':'));
  if (processor != ArchName(arch_)) {
    return Error(at, absl::StrCat("the text is for ", processor, ", not for ",
                                  std::string(ArchName(arch_))));
  }
  ExpectEnd();
}

// From .amdhsa_kernel to .end_amdhsa_kernel.
void Assembler::Kernel(const char* at) {
  const char* name_at = cursor_.at;
  AsmKernel kernel;
  kernel.name = std::string(SymbolName());
  if (kernel.name.empty()) return;
  ExpectEnd();
  kernel.line = 1 + static_cast<uint32_t>(std::count(source_.data(), at, '\n'));
  if (wave64_ && IsRdna(isa_)) kernel.description.wavefront_size32 = 0;
  while (true) {
    cursor_.SkipLine();
    ++cursor_.at;
    if (cursor_.at >= end_) {
      cursor_.at = end_ - 1;
      return Error(at, ".end_amdhsa_kernel is missing");
    }
    cursor_.SkipBlanks();
    if (cursor_.AtEnd()) continue;
    const char* line_at = cursor_.at;
    const std::string_view name = cursor_.Word();
    cursor_.SkipBlanks();
    if (name == ".end_amdhsa_kernel") break;
    KernelLine(&kernel, name, line_at);
  }
  ExpectEnd();
  for (const AsmKernel& other : out_.kernels) {
    if (other.name == kernel.name)
      return Error(name_at, absl::StrCat("kernel ", kernel.name, " is there already"));
  }
  out_.kernels.push_back(std::move(kernel));
  kernel_places_.push_back(name_at);
}

void Assembler::KernelLine(AsmKernel* kernel, std::string_view name, const char* at) {
  constexpr std::string_view kPrefix = ".amdhsa_";
  if (name.substr(0, kPrefix.size()) != kPrefix)
    return Error(at, "expected a directive of a kernel");
  const char* value_at = cursor_.at;
  int64_t value = 0;
  if (!Known("value", &value)) return;
  ExpectEnd();
  if (value < 0) return Error(value_at, "the value is negative");
  const object::AmdProcessor* processor = object::FindAmdProcessor(View(ArchName(arch_)));
  const absl::Status status =
      object::SetAmdKernelValue(*processor, View(name.substr(kPrefix.size())),
                                static_cast<uint64_t>(value), &kernel->description);
  if (absl::IsNotFound(status)) return Error(at, std::string(status.message()));
  if (!status.ok()) Error(value_at, std::string(status.message()));
}

// What only the whole description shows.
void Assembler::FinishKernels() {
  const object::AmdProcessor* processor = object::FindAmdProcessor(View(ArchName(arch_)));
  for (size_t i = 0; i < out_.kernels.size(); ++i) {
    const absl::Status status =
        object::MakeAmdKernelDescriptor(*processor, out_.kernels[i].description).status();
    if (!status.ok()) Error(kernel_places_[i], std::string(status.message()));
  }
}

void Assembler::Metadata(const char* at) {
  ExpectEnd();
  cursor_.SkipLine();
  const char* begin = cursor_.at + 1;
  constexpr std::string_view kEnd = ".end_amdgpu_metadata";
  const std::string_view rest(begin, static_cast<size_t>(end_ - begin));
  const size_t size = rest.find(kEnd);
  if (size == std::string_view::npos) {
    cursor_.at = end_ - 1;
    return Error(at, ".end_amdgpu_metadata is missing");
  }
  cursor_.at = begin + size + kEnd.size();
  if (!out_.metadata.empty()) return Error(at, "the metadata is there already");
  absl::StatusOr<std::string> metadata = object::AmdMetadataFromYaml(View(rest.substr(0, size)));
  if (metadata.ok()) {
    out_.metadata = *std::move(metadata);
    return;
  }
  // "LINE: what"
  const std::string message(metadata.status().message());
  const size_t colon = message.find(": ");
  int line = 1;
  (void)absl::SimpleAtoi(message.substr(0, colon), &line);
  const char* place = begin;
  for (; line > 1; --line) {
    while (*place != '\n') ++place;
    ++place;
  }
  Error(place, message.substr(colon + 2));
}

}  // namespace tg::amd::asm_internal
