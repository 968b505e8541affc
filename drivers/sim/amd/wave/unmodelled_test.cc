// Every instruction of the tables runs or is on the list of docs/amd_emulator.md.
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/runfiles.h"
#include "codegen/isa/amd/table.h"
#include "drivers/sim/amd/wave/micro_op.h"
#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

struct Processor {
  const char* name;
  Isa isa;
};
constexpr Processor kProcessors[] = {{"gfx1100", Isa::kGfx11},
                                     {"gfx1201", Isa::kGfx12},
                                     {"gfx942", Isa::kGfx942},
                                     {"gfx950", Isa::kGfx950}};

// Any operands will do: that an instruction is modelled does not depend on them.
Inst Example(const Form& form) {
  Inst inst(form);
  inst.num_operands = form.num_operands;
  inst.size = static_cast<uint8_t>(4 * form.dwords);
  for (int i = 0; i < form.num_operands; ++i) {
    const OperandSpec& spec = form.specs[i];
    Operand& o = inst.operands[i];
    switch (spec.cls) {
      case OperandClass::kVgpr:
      case OperandClass::kVgpr16:
      case OperandClass::kVgprOrAcc:
      case OperandClass::kSrc:
      case OperandClass::kSrc16:
      case OperandClass::kSrcVgprOrConst:
        o = Vgpr(8 * i, spec.dwords);
        break;
      case OperandClass::kAcc:
        o = AccVgpr(8 * i, spec.dwords);
        break;
      case OperandClass::kSgpr:
      case OperandClass::kSsrc:
        o = Sgpr(8 * i, spec.dwords);
        break;
      case OperandClass::kVcc:
        o = Special(code::kVccLo, spec.dwords);
        break;
      default:
        o = Imm(0);
    }
  }
  // DPP: quad_perm and lanes that are there.
  if (form.Has(Mod::kDppCtrl)) inst.Set(Mod::kDppCtrl, 0xe4);
  return inst;
}

std::set<std::string> Unmodelled(Isa isa) {
  std::set<std::string> names;
  for (const Form* form : FormsOf(isa)) {
    if (form->format == Format::kVopd) {
      // Of pairs, either half.
      for (std::string_view half : {std::string_view(form->mnemonic), SecondMnemonic(*form)}) {
        std::string name = absl::StrCat("v_", std::string(half.substr(sizeof("v_dual_") - 1)));
        if (FindSemantics(name.c_str()) == nullptr) names.insert(std::string(half));
      }
      continue;
    }
    if (MakeMicroOp(Example(*form), isa) == nullptr) names.insert(form->name);
  }
  return names;
}

// In the page: "* gfx1100: `a`, `b`", each line a family.
std::map<std::string, std::set<std::string>> Listed() {
  std::map<std::string, std::set<std::string>> lists;
  auto path = base::FindRunfile("docs/amd_emulator.md");
  EXPECT_TRUE(path.ok()) << path.status();
  if (!path.ok()) return lists;
  auto text = base::ReadFile(*path);
  EXPECT_TRUE(text.ok()) << text.status();
  if (!text.ok()) return lists;
  std::string processor;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (absl::StartsWith(line, "### ")) processor = std::string(line.substr(4));
    if (absl::StartsWith(line, "## ")) processor.clear();
    if (processor.empty()) continue;
    std::vector<std::string> parts = absl::StrSplit(line, '`');
    for (size_t i = 1; i < parts.size(); i += 2) lists[processor].insert(parts[i]);
  }
  return lists;
}

TEST(Unmodelled, TheListOfThePageIsComplete) {
  auto listed = Listed();
  for (const Processor& p : kProcessors) {
    std::set<std::string> missing = Unmodelled(p.isa);
    EXPECT_EQ(missing, listed[p.name]) << p.name << ": `" << absl::StrJoin(missing, "`, `") << "`";
  }
}

}  // namespace
}  // namespace tg::amd::sim
