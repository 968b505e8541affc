// Labels and symbols of the assembler.
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/isa/amd/asm_state.h"

namespace tg::amd::asm_internal {

namespace {

// Operands of s_version: which hardware the code is for.
constexpr struct {
  std::string_view name;
  int64_t value;
} kVersions[] = {
    {"UC_VERSION_GFX7", 0},         {"UC_VERSION_GFX8", 1},         {"UC_VERSION_GFX9", 2},
    {"UC_VERSION_GFX10", 4},        {"UC_VERSION_GFX11", 6},        {"UC_VERSION_GFX12", 9},
    {"UC_VERSION_W64_BIT", 0x2000}, {"UC_VERSION_W32_BIT", 0x4000}, {"UC_VERSION_MDP_BIT", 0x8000}};

}  // namespace

SymbolLookup Assembler::Lookup(std::string_view name) {
  const auto number = [](int64_t value) {
    return SymbolLookup{SymbolLookup::Found::kYes, {value, 0}};
  };
  if (name.substr(0, 8) == ".amdgcn.") {
    if (name == ".amdgcn.next_free_vgpr") return number(next_vgpr_);
    if (name == ".amdgcn.next_free_sgpr") return number(next_sgpr_);
    return {};
  }
  if (name.substr(0, 11) == "UC_VERSION_") {
    for (const auto& version : kVersions) {
      if (version.name == name) return number(version.value);
    }
  }
  const auto found = symbols_.find(absl::string_view(name.data(), name.size()));
  if (found != symbols_.end() && found->second.defined) {
    return {SymbolLookup::Found::kYes, found->second.value};
  }
  // Nothing is defined any more while fixups are applied.
  return {fixup_here_ >= 0 ? SymbolLookup::Found::kNo : SymbolLookup::Found::kLater, {}};
}

void Assembler::Label(std::string_view name, const char* at) {
  if (section_ != Section::kText) return Error(at, "labels go to .text");
  Symbol& symbol = symbols_[absl::string_view(name.data(), name.size())];
  if (symbol.defined) return Error(at, absl::StrCat(std::string(name), " is defined already"));
  symbol.defined = true;
  symbol.label = true;
  symbol.value = Here();
  labels_.push_back(name);
}

void Assembler::Assign(std::string_view name, const char* at) {
  ExpressionResult result = ParseExpression(&cursor_, this);
  if (result.state == ExpressionResult::State::kError)
    return Error(result.error_at, std::move(result.error));
  if (result.state == ExpressionResult::State::kLater) {
    return Error(at, "the value must be known here");
  }
  if (name == "." || name.substr(0, 8) == ".amdgcn.") {
    return Error(at, absl::StrCat(std::string(name), " cannot be set"));
  }
  Symbol& symbol = symbols_[absl::string_view(name.data(), name.size())];
  if (symbol.label) return Error(at, absl::StrCat(std::string(name), " is defined already"));
  symbol.defined = true;
  symbol.value = result.value;
}

// Labels in the order of the text. Those that start with .L stay inside, as LLVM has it.
void Assembler::FinishSymbols() {
  for (const std::string_view name : labels_) {
    const Symbol& symbol = symbols_[absl::string_view(name.data(), name.size())];
    AsmSymbol out;
    out.name = std::string(name);
    out.offset = static_cast<uint64_t>(symbol.value.number);
    out.function = symbol.function;
    out.global = symbol.global;
    if (symbol.size_at != nullptr) {
      fixup_here_ = symbol.size_here;
      Cursor cursor{symbol.size_at};
      ExpressionResult result = ParseExpression(&cursor, this);
      if (result.state != ExpressionResult::State::kValue) {
        Error(result.error_at, std::move(result.error));
      } else if (result.value.places != 0 || result.value.number < 0 ||
                 result.value.number > static_cast<int64_t>(out_.text.size() - out.offset)) {
        Error(symbol.size_at, absl::StrCat("the size of ", out.name, " reaches beyond the text"));
      } else {
        out.size = static_cast<uint64_t>(result.value.number);
      }
    }
    if (name.substr(0, 2) != ".L") out_.symbols.push_back(std::move(out));
  }
}

}  // namespace tg::amd::asm_internal
