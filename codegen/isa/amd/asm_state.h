// The assembler's pass over the text; asm.cc has the instructions, asm_directive.cc the directives.
#ifndef TG_CODEGEN_ISA_AMD_ASM_STATE_H_
#define TG_CODEGEN_ISA_AMD_ASM_STATE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "codegen/isa/amd/asm.h"
#include "codegen/isa/amd/asm_cursor.h"
#include "codegen/isa/amd/asm_expression.h"
#include "codegen/isa/amd/asm_match.h"
#include "codegen/isa/amd/asm_mnemonics.h"
#include "codegen/isa/amd/asm_modifier.h"
#include "codegen/isa/amd/asm_operand.h"

namespace tg::amd::asm_internal {

class Assembler : public SymbolSource {
 public:
  // `source` ends in '\n'.
  Assembler(std::string_view source, Arch arch, const AsmOptions& options);

  Assembly Run() &&;

  SymbolLookup Lookup(std::string_view name) override;
  Value Here() override {
    return {fixup_here_ >= 0 ? fixup_here_ : static_cast<int64_t>(out_.text.size()), 1};
  }

 private:
  enum class Section : uint8_t { kText, kReadOnly };

  struct Symbol {
    Value value;
    bool defined = false;
    bool label = false;  // By a colon; others may be set again.
    bool global = false;
    bool function = false;
    const char* size_at = nullptr;  // .size's expression.
    int64_t size_here = 0;          // And what `.` meant in it.
  };

  // A field of the text that depends on symbols that come later.
  struct Fixup {
    enum class Kind : uint8_t { kBranch, kLiteral, kData1, kData2, kData4, kData8 };
    Kind kind;
    uint32_t offset;  // Of the field.
    uint32_t here;    // What `.` means in it.
    const char* expression;
  };

  void Statement();
  void Instruction(std::string_view mnemonic, const char* at);
  bool ParseOperands(absl::Span<const Form* const> forms, bool image);
  bool ParseModifiers();
  bool ParseSecondHalf(std::string_view* mnemonic, size_t* first_count);
  void MatchAndEmit(absl::Span<const Form* const> forms, std::string_view mnemonic, const char* at,
                    std::string_view second, size_t first_count);
  void ReportMismatch(const MatchResult& result, std::string_view mnemonic, const char* at);
  void UnknownMnemonic(std::string_view mnemonic, const char* at);
  void CountRegisters(const Inst& inst);
  void AddFixup(Fixup::Kind kind, size_t offset, int64_t here, const char* expression);
  void ApplyFixup(const Fixup& fixup);

  // asm_symbol.cc
  void Label(std::string_view name, const char* at);
  void Assign(std::string_view name, const char* at);

  void FinishSymbols();

  // asm_directive.cc
  void Directive(std::string_view name, const char* at);
  void SectionDirective(const char* at);
  void Data(int width);
  void Strings(bool zero);
  void Fill(const char* at);
  void Space(const char* at);
  void Align(const char* at, bool power);
  void SymbolFlag(std::string_view name);
  void TypeDirective();
  void SizeDirective();
  void TargetDirective(const char* at);
  void Kernel(const char* at);
  void KernelLine(AsmKernel* kernel, std::string_view name, const char* at);
  void FinishKernels();
  void Metadata(const char* at);
  bool Known(const char* what, int64_t* value);
  bool Room(const char* at, uint64_t count);
  bool QuotedText(std::string* text);
  std::string_view SymbolName();

  void ExpectEnd();
  void Error(const char* at, std::string message);
  void Error(const ParseError& error) { Error(error.at, error.message); }

  const std::string_view source_;
  const char* const end_;
  const Arch arch_;
  const Isa isa_;
  const bool wave64_;
  const size_t max_errors_;
  const Mnemonics& mnemonics_;
  Cursor cursor_;
  Section section_ = Section::kText;
  Assembly out_;
  absl::flat_hash_map<absl::string_view, Symbol> symbols_;
  std::vector<Fixup> fixups_;
  std::vector<std::pair<const char*, std::string>> errors_;
  std::vector<const char*> kernel_places_;  // Of out_.kernels.
  std::vector<std::string_view> labels_;    // In their order.
  int next_vgpr_ = 0;
  int next_sgpr_ = 0;
  int64_t fixup_here_ = -1;  // While fixups are applied: what `.` was.

  // Of the current instruction; kept to save their memory's allocation.
  std::vector<RawOperand> operands_;
  RawModifiers modifiers_;
  ParseError parse_error_;
};

}  // namespace tg::amd::asm_internal

#endif  // TG_CODEGEN_ISA_AMD_ASM_STATE_H_
