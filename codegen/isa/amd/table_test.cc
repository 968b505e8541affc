// What the tables say of operands against rules by mnemonic: which are written, which are read, and
// what a matrix's elements are.
#include "codegen/isa/amd/table.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "codegen/isa/amd/inst.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

bool Has(const Form& form, absl::string_view word) {
  return absl::StrContains(absl::string_view(form.name), word);
}
bool Starts(const Form& form, absl::string_view word) {
  return absl::StartsWith(absl::string_view(form.name), word);
}

std::string Where(const Form& form, int operand) {
  return absl::StrCat(form.mnemonic, " (", std::string(FormatName(form.format)), ", ",
                      form.num_operands, " operands), operand ", operand);
}

bool IsMemory(Format format) {
  return format == Format::kSmem || (format >= Format::kLdsdir && format <= Format::kVsample);
}

// Whether it is the form of an atomic that asks for the value before.
bool WantsResult(const Form& form) {
  const Inst inst(form);
  return inst.Get(Mod::kGlc) != 0 || inst.Get(Mod::kSc0) != 0 || (inst.Get(Mod::kTh) & 1) != 0;
}

// The role of an operand of a memory instruction.
Role MemoryRole(const Form& form, const OperandSpec& spec) {
  switch (spec.name) {
    case OperandName::kVdst:
      return Role::kDst;
    case OperandName::kVdata:
    case OperandName::kSdata:
      if (spec.cls != OperandClass::kVgpr && spec.cls != OperandClass::kVgprOrAcc &&
          spec.cls != OperandClass::kSgpr) {
        return Role::kImm;  // The length of a prefetch.
      }
      if (form.format >= Format::kFlat && form.format <= Format::kScratch) return Role::kSrc;
      if (Has(form, "atomic")) return WantsResult(form) ? Role::kDstSrc : Role::kSrc;
      return Has(form, "store") ? Role::kSrc : Role::kDst;
    case OperandName::kAddr:
      // The stack's pointer moves.
      return Has(form, "bvh_stack") ? Role::kDstSrc : Role::kSrc;
    case OperandName::kVaddr1:
    case OperandName::kVaddr2:
    case OperandName::kVaddr3:
      if ((Has(form, "bvh8") || Has(form, "bvh_dual")) && spec.dwords == 3) {
        return Role::kDstSrc;  // The ray's origin and direction.
      }
      return spec.cls == OperandClass::kUnused ? Role::kImm : Role::kSrc;
    case OperandName::kOffset:
    case OperandName::kAttr:
    case OperandName::kAttrChan:
      return Role::kImm;
    default:
      return Role::kSrc;
  }
}

TEST(TableTest, MemoryRoles) {
  std::map<Format, int> seen;
  std::map<Role, int> roles;
  for (int isa = 0; isa < kNumIsas; ++isa) {
    for (const Form* form : FormsOf(static_cast<Isa>(isa))) {
      if (!IsMemory(form->format)) continue;
      ++seen[form->format];
      for (int i = 0; i < form->num_operands; ++i) {
        const OperandSpec& spec = form->specs[i];
        ++roles[spec.role];
        EXPECT_EQ(static_cast<int>(spec.role), static_cast<int>(MemoryRole(*form, spec)))
            << Where(*form, i);
      }
    }
  }
  EXPECT_EQ(seen.size(), 11u);  // SMEM, LDSDIR, DS, FLAT, ..., VSAMPLE.
  for (Role role : {Role::kDst, Role::kSrc, Role::kDstSrc}) EXPECT_GT(roles[role], 100);
}

// Loads write a register or LDS, stores and other atomics none.
TEST(TableTest, MemoryResults) {
  for (int isa = 0; isa < kNumIsas; ++isa) {
    for (const Form* form : FormsOf(static_cast<Isa>(isa))) {
      if (!IsMemory(form->format)) continue;
      int written = 0;
      for (const OperandSpec& spec : form->operands()) {
        written += spec.role == Role::kDst || spec.role == Role::kDstSrc;
      }
      const bool lds = Has(*form, "_lds_") || Has(*form, "lds_direct") || form->Has(Mod::kLds);
      if (Starts(*form, "ds_") || form->format == Format::kLdsdir) continue;
      if (Has(*form, "atomic")) {
        EXPECT_EQ(written, WantsResult(*form) ? 1 : 0) << Where(*form, 0);
      } else if (Has(*form, "store")) {
        EXPECT_EQ(written, 0) << Where(*form, 0);
      } else if (Has(*form, "load") || Has(*form, "sample") || Has(*form, "gather")) {
        EXPECT_EQ(written, lds ? 0 : 1) << Where(*form, 0);
      }
    }
  }
}

// Of an atomic there is a form with a result for each without one. Only DS says it by the name.
TEST(TableTest, AtomicsComeInPairs) {
  for (int isa = 0; isa < kNumIsas; ++isa) {
    std::map<std::string, int> difference;
    for (const Form* form : FormsOf(static_cast<Isa>(isa))) {
      if (!IsMemory(form->format) || !Has(*form, "atomic") || Starts(*form, "ds_")) continue;
      difference[form->mnemonic] += WantsResult(*form) ? 1 : -1;
    }
    EXPECT_GT(difference.size(), 50u);
    for (const auto& [name, n] : difference) EXPECT_EQ(n, 0) << name;
  }
}

// Instructions that read what they overwrite, and the other way round.
TEST(TableTest, AccumulatorsAreRead) {
  int found = 0;
  for (int isa = 0; isa < kNumIsas; ++isa) {
    for (const Form* form : FormsOf(static_cast<Isa>(isa))) {
      if (IsMemory(form->format)) continue;
      const int second = form->format == Format::kVopd ? SecondOperand(*form) : form->num_operands;
      for (int i = 0; i < form->num_operands; ++i) {
        const OperandSpec& spec = form->specs[i];
        absl::string_view name = i < second ? form->name : OpName(SecondOp(*form)).data();
        bool both = false;
        for (absl::string_view part :
             {"fmac_", "_mac_", "dot2acc_", "dot2c_", "dot4c_", "dot8c_", "smfmac_", "swmmac_",
              "writelane", "s_cmov", "s_bitset", "s_addk_", "s_mulk_", "_swap_", "swaprel"}) {
          both = both || absl::StrContains(name, part);
        }
        const bool swap = absl::StrContains(name, "swap") && absl::StartsWith(name, "v_");
        const bool first = spec.name == OperandName::kVdst || spec.name == OperandName::kSdst ||
                           spec.name == OperandName::kVdstX || spec.name == OperandName::kVdstY;
        if (absl::StartsWith(name, "s_cmpk") || name == "s_setreg_b32" ||
            absl::StartsWith(name, "s_waitcnt_")) {
          EXPECT_NE(static_cast<int>(spec.role), static_cast<int>(Role::kDst)) << Where(*form, i);
        } else if (both && (first || (swap && spec.name == OperandName::kSrc0))) {
          EXPECT_EQ(static_cast<int>(spec.role), static_cast<int>(Role::kDstSrc))
              << Where(*form, i);
          ++found;
        } else if (first) {
          EXPECT_EQ(static_cast<int>(spec.role), static_cast<int>(Role::kDst)) << Where(*form, i);
        } else {
          EXPECT_TRUE(spec.role == Role::kSrc || spec.role == Role::kImm) << Where(*form, i);
        }
      }
    }
  }
  EXPECT_GT(found, 100);
}

// "v_wmma_f32_16x16x16_fp8_bf8": of the result f32, of the factors fp8 and bf8.
TEST(TableTest, MatrixElements) {
  static const std::map<absl::string_view, DataType> kTypes = {
      {"f16", DataType::kF16}, {"bf16", DataType::kBf16}, {"f32", DataType::kF32},
      {"f64", DataType::kF64}, {"i32", DataType::kI32},   {"i8", DataType::kI8},
      {"iu8", DataType::kIu8}, {"iu4", DataType::kIu4},   {"fp8", DataType::kFp8},
      {"bf8", DataType::kBf8}, {"xf32", DataType::kF32},  {"f8f6f4", DataType::kB32}};
  std::set<std::string> seen;
  for (int isa = 0; isa < kNumIsas; ++isa) {
    for (const Form* form : FormsOf(static_cast<Isa>(isa))) {
      const bool sparse = Has(*form, "smfmac_") || Has(*form, "swmmac_");
      if (!sparse && !Has(*form, "wmma_") && !Has(*form, "_mfma_")) continue;
      if (Has(*form, "ld_scale")) continue;
      seen.insert(form->name);
      std::vector<std::string> words = absl::StrSplit(form->name, '_');
      if (words[2] == "scale") words.erase(words.begin() + 2);
      const std::string result = words[2];
      size_t at = 4;  // Behind the shape, and how many blocks there are.
      if (absl::EndsWith(words[at], "b")) ++at;
      const std::string a = words[at], b = words.size() > at + 1 ? words[at + 1] : a;
      ASSERT_TRUE(kTypes.count(result) && kTypes.count(a) && kTypes.count(b)) << form->name;
      const DataType want[] = {kTypes.at(result), kTypes.at(a), kTypes.at(b),
                               sparse ? DataType::kB32 : kTypes.at(result)};
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(static_cast<int>(form->specs[i].type), static_cast<int>(want[i]))
            << Where(*form, i);
      }
    }
  }
  EXPECT_EQ(seen.size(), 92u);
}

}  // namespace
}  // namespace tg::amd
