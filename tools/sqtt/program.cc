#include "tools/sqtt/program.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/print.h"
#include "codegen/object/amd_processor.h"
#include "codegen/object/elf.h"

namespace tg::sqtt {
namespace {

InstKind KindOf(absl::string_view name) {
  if (name == "s_delay_alu" || name == "s_wait_alu" || name == "s_barrier_wait") {
    return InstKind::kSilent;
  }
  if (name == "s_branch" || absl::StartsWith(name, "s_cbranch_")) return InstKind::kBranch;
  if (name == "s_call_b64") return InstKind::kCall;
  if (name == "s_setpc_b64" || name == "s_swappc_b64" || name == "s_rfe_b64") {
    return InstKind::kIndirect;
  }
  if (absl::StartsWith(name, "s_endpgm")) return InstKind::kEnd;
  return InstKind::kPlain;
}

// Branches and calls keep their distance, in words from the next instruction, in SIMM16.
int32_t Distance(const amd::Inst& inst) {
  for (int i = 0; i < inst.num_operands; ++i) {
    if (inst.operands[i].kind == amd::OperandKind::kImm) {
      return static_cast<int16_t>(inst.operands[i].value);
    }
  }
  return 0;
}

}  // namespace

const Program::Inst Program::kNone{};

Program Program::FromCode(absl::Span<const uint8_t> code, uint64_t base, amd::Arch arch) {
  Program p;
  p.arch_ = arch;
  p.base_ = base;
  p.code_.assign(code.begin(), code.end());
  p.insts_.resize(code.size() / 4);
  const amd::Isa isa = amd::IsaOf(arch);
  for (size_t i = 0; i < p.insts_.size(); ++i) {
    amd::Inst inst;
    if (amd::DecodeFast(code.subspan(4 * i), isa, &inst) != amd::DecodeError::kOk) continue;
    Inst& out = p.insts_[i];
    out.kind = KindOf(inst.form->name);
    out.size = inst.size;
    if (out.kind == InstKind::kBranch || out.kind == InstKind::kCall) {
      out.target = static_cast<int32_t>(i) + inst.size / 4 + Distance(inst);
    }
  }
  return p;
}

absl::StatusOr<Program> Program::Read(absl::string_view elf, absl::string_view arch) {
  absl::StatusOr<object::ElfFile> file = object::ElfFile::Parse(elf);
  if (!file.ok()) return file.status();
  // Some packers name no machine; then only `arch` can tell.
  if (file->machine() != object::ElfMachine::kAmdGpu &&
      (file->machine() != object::ElfMachine{} || arch.empty())) {
    return absl::InvalidArgumentError("the ELF file is not for AMD GPUs");
  }
  std::string name(arch);
  if (name.empty()) {
    const object::AmdProcessor* processor =
        object::FindAmdProcessor(static_cast<uint8_t>(file->flags()));
    if (processor == nullptr) {
      return absl::UnimplementedError(absl::StrCat(
          "the ELF file's processor is not known: e_flags 0x", absl::Hex(file->flags())));
    }
    name = std::string(processor->name);
  }
  const std::optional<amd::Arch> known = amd::FindArch(name);
  if (!known.has_value()) {
    return absl::UnimplementedError(absl::StrCat("instructions of ", name, " are not known"));
  }
  const object::ElfSection* text = file->FindSection(".text");
  if (text == nullptr || text->data.empty()) {
    return absl::InvalidArgumentError("the ELF file has no section .text with instructions");
  }
  return FromCode({reinterpret_cast<const uint8_t*>(text->data.data()), text->data.size()},
                  text->address, *known);
}

int64_t Program::IndexOf(uint64_t address) const {
  if (address < base_ || address - base_ >= code_.size() || (address - base_) % 4 != 0) return -1;
  return static_cast<int64_t>((address - base_) / 4);
}

std::string Program::Text(int64_t index) const {
  const absl::Span<const uint8_t> code(code_);
  std::string text;
  amd::Disassemble(code.subspan(static_cast<size_t>(index) * 4), arch_, &text);
  return text;
}

}  // namespace tg::sqtt
