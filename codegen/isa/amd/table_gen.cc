// Turns the text in tables/ into op.h and table_data.cc. Runs during the build; an error in a table
// is a build error that names the line.
//
// usage: table_gen OP_H TABLE_DATA_CC TABLE...
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/isa/amd/table_gen_forms.h"
#include "codegen/isa/amd/table_gen_text.h"

namespace tg::amd::gen {
namespace {

std::string Hex(uint64_t v) {
  char buffer[24];
  std::snprintf(buffer, sizeof(buffer), "0x%llxull", static_cast<unsigned long long>(v));
  return buffer;
}

// v_add_f32 -> kVAddF32
std::string OpId(const std::string& name) {
  std::string id = "k";
  bool up = true;
  for (char c : name) {
    if (c == '_') {
      up = true;
      continue;
    }
    id += up ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    up = false;
  }
  return id;
}

// Interns arrays of text so that equal ones are written once.
class Pool {
 public:
  explicit Pool(std::string type, std::string name)
      : type_(std::move(type)), name_(std::move(name)) {}
  std::string Add(const std::vector<std::string>& items) {
    if (items.empty()) return "nullptr";
    std::string key;
    for (const std::string& i : items) key += i + ",";
    auto [it, inserted] = at_.try_emplace(key, size_);
    if (inserted) {
      text_ += "    " + key + "\n";
      size_ += items.size();
    }
    return name_ + " + " + std::to_string(it->second);
  }
  void Write(std::ostream& out) const {
    out << "const " << type_ << " " << name_ << "[] = {\n" << text_ << "};\n\n";
  }

 private:
  std::string type_, name_, text_;
  std::map<std::string, size_t> at_;
  size_t size_ = 0;
};

std::string FieldText(const Bits& b) {
  std::string s;
  for (int i = 0; i < 2; ++i) {
    s += std::to_string(i < static_cast<int>(b.size()) ? b[i].lo : 0) + "," +
         std::to_string(i < static_cast<int>(b.size()) ? b[i].hi - b[i].lo + 1 : 0) + ",";
  }
  return s;
}

struct Output {
  Pool specs{"OperandSpec", "kSpecs"}, encs{"Enc", "kEncs"}, mods{"ModEnc", "kModEncs"};
  std::string forms;
};

void WriteForm(const FormDraft& f, Output* out) {
  std::vector<std::string> specs, encs, mods;
  for (const OperandDraft& o : f.operands) {
    std::string mod_flags;
    if (o.neg) mod_flags += "kNeg|";
    if (o.neg && o.abs_at != "255") mod_flags += "kAbs|";
    if (o.sext) mod_flags += "kSext|";
    if (o.half) mod_flags += "kHalf|kHigh|";
    specs.push_back("{OperandName::" + o.name + ",OperandClass::" + o.cls + ",Role::" + o.role +
                    "," + std::to_string(o.dwords) + ",DataType::" + o.type + "," + mod_flags +
                    (o.hidden ? "0,true}" : "0,false}"));
    encs.push_back("{Kind::" + o.kind + "," + FieldText(o.field) +
                   (o.neg ? o.neg_at + "," + o.abs_at : "255,255") + "," +
                   (o.sext ? o.sext_at : "255") + "," + (o.half ? o.high_at : "255") + "," +
                   o.acc_at + "}");
  }
  for (const ModDraft& m : f.mods) {
    std::string t = "{Mod::" + m.id + ",";
    for (int i = 0; i < 3; ++i) {
      t += std::to_string(i < static_cast<int>(m.field.size()) ? m.field[i].lo : 0) + "," +
           std::to_string(i < static_cast<int>(m.field.size()) ? m.field[i].hi - m.field[i].lo + 1
                                                               : 0) +
           ",";
    }
    t += std::to_string(m.bias) + "," + (m.is_signed ? "true" : "false") + "," +
         std::to_string(m.initial) + "}";
    mods.push_back(t);
  }
  std::string mod_set = "0";
  for (const ModDraft& m : f.mods) mod_set += "|1ull<<static_cast<int>(Mod::" + m.id + ")";
  auto implicit = [](const std::set<std::string>& s) {
    std::string t;
    for (const std::string& r : s)
      t += "kImpl" + std::string(1, std::toupper(r[0])) + r.substr(1) + "|";
    return t + "0";
  };
  out->forms +=
      "    {{Op::" + OpId(f.name) + ",Format::" + f.format + ",Format::" + f.family +
      ",Extra::" + f.extra + "," + std::to_string(f.dwords) + "," + std::to_string(f.isas) + "," +
      std::to_string(f.opcode) + ",\"" + f.name + "\",\"" + f.mnemonic + "\"," +
      out->specs.Add(specs) + "," + std::to_string(f.operands.size()) + "," + implicit(f.reads) +
      "," + implicit(f.writes) + "," + (f.literal ? "true" : "false") + "," + mod_set + "}," +
      out->encs.Add(encs) + "," + out->mods.Add(mods) + "," + std::to_string(f.mods.size()) + "," +
      std::to_string(f.op_sel_count) + "," + std::to_string(f.op_sel_mask) +
      ",Op::" + (f.name_y.empty() ? "kNone" : OpId(f.name_y)) + ",\"" + f.mnemonic_y + "\"," +
      std::to_string(f.split) + (f.hide_op_sel_hi ? ",true," : ",false,") +
      std::to_string(f.image) + "," + f.atomic + ",{" + Hex(f.mask[0]) + "," + Hex(f.mask[1]) +
      "},{" + Hex(f.value[0]) + "," + Hex(f.value[1]) + "}},\n";
}

// The decoding index of one instruction set.
struct IndexBuilder {
  std::vector<uint16_t>* starts;
  std::vector<uint16_t>* chains;
  std::map<std::vector<uint16_t>, uint16_t>* known;

  std::string Build(const std::vector<FormDraft>& forms, int isa) {
    std::string text = "    {";
    for (uint32_t top = 0; top < 512; ++top) {
      // Forms that this value of the top nine bits allows.
      std::vector<uint16_t> here;
      int lo = 23, hi = 22;
      for (size_t i = 0; i < forms.size(); ++i) {
        const FormDraft& f = forms[i];
        if (!(f.isas >> isa & 1)) continue;
        uint32_t mask = static_cast<uint32_t>(f.mask[0]) & 0xff800000u;
        if (((top << 23) & mask) != (static_cast<uint32_t>(f.value[0]) & mask)) continue;
        here.push_back(static_cast<uint16_t>(i));
        // The part of the opcode below the top bits; a layout that has one instruction has none.
        if (f.key.hi >= 0 && f.key.hi < 32 && f.key.lo < 23) {
          lo = std::min(lo, f.key.lo);
          hi = std::max(hi, std::min(f.key.hi, 22));
        }
      }
      int bits = hi - lo + 1;
      if (here.empty() || bits <= 0) {
        lo = 0;
        bits = 0;
      }
      // More would be a table of megabytes for one value of the top bits.
      if (bits > 16) Fail("the index for top bits " + std::to_string(top) + " needs too many bits");
      text += "{" + std::to_string(lo) + "," + std::to_string(bits) + "," +
              std::to_string(starts->size()) + "},";
      uint32_t key_mask = ((1u << bits) - 1) << lo;
      for (uint32_t key = 0; key < (1u << bits); ++key) {
        std::vector<uint16_t> chain;
        for (uint16_t i : here) {
          uint32_t mask = static_cast<uint32_t>(forms[i].mask[0]) & key_mask;
          if (((key << lo) & mask) == (static_cast<uint32_t>(forms[i].value[0]) & mask))
            chain.push_back(i);
        }
        chain.push_back(0xffff);
        auto [it, inserted] = known->try_emplace(chain, static_cast<uint16_t>(chains->size()));
        if (inserted) chains->insert(chains->end(), chain.begin(), chain.end());
        if (chains->size() > 0xffff) Fail("too many chains");
        starts->push_back(it->second);
      }
      if (top % 8 == 7) text += "\n     ";
    }
    return text + "},\n";
  }
};

void WriteNumbers(std::ostream& out, const std::string& name, const std::vector<uint16_t>& v) {
  out << "const uint16_t " << name << "[] = {";
  for (size_t i = 0; i < v.size(); ++i) out << (i % 20 == 0 ? "\n    " : "") << v[i] << ",";
  out << "};\n\n";
}

void WriteOps(const char* path, const std::set<std::string>& names) {
  std::ofstream out(path);
  out << "// Generated by table_gen.cc.\n#ifndef TG_CODEGEN_ISA_AMD_OP_H_\n#define "
         "TG_CODEGEN_ISA_AMD_OP_H_\n\n#include <cstdint>\n\nnamespace tg::amd {\n\n"
         "// Instructions by the assembler's names, whatever the encoding.\nenum class Op : "
         "uint16_t {\n"
         "  kNone,\n";
  for (const std::string& n : names) out << "  " << OpId(n) << ",  // " << n << "\n";
  out << "};\ninline constexpr int kOpCount = " << names.size() + 1
      << ";\n\n}  // namespace tg::amd\n\n#endif  // TG_CODEGEN_ISA_AMD_OP_H_\n";
}

void Run(int argc, char** argv) {
  Tables tables;
  for (int i = 3; i < argc; ++i) ReadTable(argv[i], &tables);
  std::vector<FormDraft> forms = MakeForms(tables);
  if (forms.size() >= 0xffff) Fail("too many forms");

  std::set<std::string> names;
  for (const FormDraft& f : forms) {
    names.insert(f.name);
    if (!f.name_y.empty()) names.insert(f.name_y);
  }
  WriteOps(argv[1], names);

  Output output;
  for (const FormDraft& f : forms) WriteForm(f, &output);
  std::ofstream out(argv[2]);
  out << "// Generated by table_gen.cc.\n#include \"codegen/isa/amd/table_data.h\"\n#include "
         "\"codegen/isa/amd/operand.h\"\n\nnamespace tg::amd::internal {\n\n";
  output.specs.Write(out);
  output.encs.Write(out);
  output.mods.Write(out);
  out << "const FormData kForms[] = {\n"
      << output.forms << "};\nconst int kFormCount = " << forms.size()
      << ";\n\nconst char* const kOpNames[] = {\n    \"\",\n";
  for (const std::string& n : names) out << "    \"" << n << "\",\n";
  out << "};\n\n";

  std::vector<uint16_t> starts, chains;
  std::map<std::vector<uint16_t>, uint16_t> known;
  IndexBuilder builder{&starts, &chains, &known};
  out << "const Index kIndex[kNumIsas][512] = {\n";
  for (int isa = 0; isa < kIsas; ++isa) out << builder.Build(forms, isa);
  out << "};\n\n";
  WriteNumbers(out, "kChainStart", starts);
  WriteNumbers(out, "kChains", chains);

  std::string pointers, counts;
  for (int isa = 0; isa < kIsas; ++isa) {
    std::vector<uint16_t> sorted;
    for (size_t i = 0; i < forms.size(); ++i) {
      if (forms[i].isas >> isa & 1) sorted.push_back(static_cast<uint16_t>(i));
    }
    std::stable_sort(sorted.begin(), sorted.end(), [&](uint16_t a, uint16_t b) {
      return std::tie(forms[a].mnemonic, forms[a].mnemonic_y) <
             std::tie(forms[b].mnemonic, forms[b].mnemonic_y);
    });
    WriteNumbers(out, "kSorted" + std::to_string(isa), sorted);
    pointers += "kSorted" + std::to_string(isa) + ",";
    counts += std::to_string(sorted.size()) + ",";
  }
  out << "const uint16_t* const kSorted[kNumIsas] = {" << pointers
      << "};\nconst int kSortedCount[kNumIsas] = {" << counts
      << "};\n\n}  // namespace tg::amd::internal\n";
}

}  // namespace
}  // namespace tg::amd::gen

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: table_gen OP_H TABLE_DATA_CC TABLE...\n");
    return 2;
  }
  tg::amd::gen::Run(argc, argv);
  return 0;
}
