#include "codegen/isa/amd/isa_docs.h"

#include <array>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "codegen/isa/amd/inst.h"
#include "codegen/isa/amd/table.h"
#include "codegen/isa/amd/table_gen_text.h"

namespace tg::amd {
namespace {

constexpr char kHead[] =
    "<!-- Made by `bazel run //codegen/isa/amd:isa_docs`; do not edit. -->\n\n# ";
constexpr char kColumns[] = "gfx11 | gfx11.5 | gfx12 | gfx942 | gfx950";

struct Page {
  const char* file;
  const char* title;
  std::vector<Format> formats;
};

const std::vector<Page>& Pages() {
  static const auto* const kPages = new std::vector<Page>{
      {"sop.md",
       "Scalar instructions",
       {Format::kSop1, Format::kSop2, Format::kSopc, Format::kSopk, Format::kSopp}},
      {"smem.md", "Scalar memory", {Format::kSmem}},
      {"vop1.md", "Vector instructions with one source", {Format::kVop1}},
      {"vop2.md", "Vector instructions with two sources", {Format::kVop2}},
      {"vopc.md", "Vector comparisons", {Format::kVopc}},
      {"vop3.md", "Vector instructions in 64 bits", {Format::kVop3, Format::kVop3sd}},
      {"vop3p.md",
       "Packed, dot product and matrix instructions",
       {Format::kVop3p, Format::kVop3px2}},
      {"vopd.md", "Pairs of vector instructions", {Format::kVopd}},
      {"graphics.md",
       "Interpolation, parameters and export",
       {Format::kVinterp, Format::kLdsdir, Format::kExp}},
      {"ds.md", "LDS and GDS", {Format::kDs}},
      {"flat.md",
       "Memory by address: FLAT, GLOBAL, SCRATCH",
       {Format::kFlat, Format::kGlobal, Format::kScratch}},
      {"buffer.md", "Buffers", {Format::kMubuf, Format::kMtbuf}},
      {"image.md", "Images", {Format::kMimg, Format::kVimage, Format::kVsample}},
  };
  return *kPages;
}

// What may stand in an operand: letters of docs/isa/README.md.
std::string_view Allowed(OperandClass cls, bool literal, bool cdna) {
  switch (cls) {
    case OperandClass::kVgpr:
      return "v";
    case OperandClass::kVgpr16:
      return "v.half";
    case OperandClass::kAcc:
      return "a";
    case OperandClass::kVgprOrAcc:
      return "v/a";
    case OperandClass::kSgpr:
      return "s";
    case OperandClass::kSrc:
      return literal ? "v/s/c/lit" : "v/s/c";
    case OperandClass::kSrc16:
      return literal ? "v.half/s/c/lit" : "v.half/s/c";
    case OperandClass::kSrcVgprOrConst:
      return cdna ? "v/a/c" : "v/c";
    case OperandClass::kSsrc:
      return literal ? "s/c/lit" : "s/c";
    case OperandClass::kVcc:
      return "vcc";
    case OperandClass::kExecImplied:
      return "exec";
    case OperandClass::kM0:
      return "m0";
    case OperandClass::kScc:
      return "scc";
    case OperandClass::kLds:
      return "lds";
    case OperandClass::kOff:
      return "off";
    case OperandClass::kImm:
    case OperandClass::kHex:
    case OperandClass::kAuto:
      return "number";
    case OperandClass::kLabel:
      return "label";
    case OperandClass::kHwreg:
      return "hwreg";
    case OperandClass::kSendmsg:
      return "message";
    case OperandClass::kWaitcnt:
      return "counters";
    case OperandClass::kDepctr:
      return "depctr";
    case OperandClass::kDelayAlu:
      return "delay";
    case OperandClass::kEndpgm:
      return "optional number";
    case OperandClass::kAttr:
      return "attribute";
    case OperandClass::kAttrChan:
      return "channel";
    case OperandClass::kExpTarget:
      return "target";
    case OperandClass::kLit32:
      return "lit";
    case OperandClass::kLit16:
      return "lit16";
    case OperandClass::kSmemOffset:
      return "signed number";
    case OperandClass::kVersion:
      return "version";
    case OperandClass::kGprIdx:
      return "gpr_idx";
    case OperandClass::kUnused:
      return "";
    case OperandClass::kBarrier:
      return "barrier";
  }
  return "";
}

// "`=vdst` v×2 f64". The registers of images depend on the instruction: dim and dmask say how many.
std::string OperandText(const Form& form, const OperandSpec& spec) {
  const bool image = form.format >= Format::kMimg && form.format <= Format::kVsample;
  const bool by_dmask = image && spec.name == OperandName::kVdata && spec.dwords == 0;
  std::string text =
      absl::StrCat("`",
                   spec.role == Role::kDst      ? "="
                   : spec.role == Role::kDstSrc ? "+"
                                                : "",
                   std::string(OperandNameText(spec.name)), "` ",
                   std::string(Allowed(spec.cls, form.literal, (form.isas & gen::kCdnaSet) != 0)));
  if (by_dmask) absl::StrAppend(&text, "×n");
  if (spec.dwords > 1) absl::StrAppend(&text, "×", spec.dwords);
  if (spec.type != DataType::kOther) {
    absl::StrAppend(&text, " ", std::string(DataTypeName(spec.type)));
  }
  if ((spec.mods & kAbs) != 0 && !spec.hidden) {
    text += " ±abs";
  } else if ((spec.mods & kNeg) != 0 && !spec.hidden) {
    text += " ±";
  }
  return text;
}

bool IsImageAddress(const Form& form, const OperandSpec& spec) {
  return form.format >= Format::kMimg && form.format <= Format::kVsample &&
         (spec.name == OperandName::kVaddr ||
          (spec.name >= OperandName::kVaddr0 && spec.name <= OperandName::kVaddr4));
}

std::string OperandsText(const Form& form, int first, int last) {
  std::vector<std::string> parts;
  bool address = false;
  for (int i = first; i < last; ++i) {
    const OperandSpec& spec = form.specs[i];
    if (spec.cls == OperandClass::kUnused) continue;
    if (!IsImageAddress(form, spec)) {
      parts.push_back(OperandText(form, spec));
    } else if (!address) {
      parts.push_back("`vaddr` v×n");
      address = true;
    }
  }
  return absl::StrJoin(parts, ", ");
}

std::string ModsText(const Form& form) {
  std::vector<std::string> parts;
  for (int m = 0; m < kNumMods; ++m) {
    if (form.Has(static_cast<Mod>(m)))
      parts.emplace_back(std::string(ModName(static_cast<Mod>(m))));
  }
  return absl::StrJoin(parts, " ");
}

std::string ImplicitText(const Form& form) {
  static constexpr std::pair<int, const char*> kNames[] = {
      {kImplScc, "scc"}, {kImplVcc, "vcc"}, {kImplExec, "exec"}, {kImplM0, "m0"}, {kImplPc, "pc"}};
  std::vector<std::string> parts;
  for (const auto& [bit, name] : kNames) {
    const bool reads = (form.reads & bit) != 0, writes = (form.writes & bit) != 0;
    if (reads || writes) parts.push_back(absl::StrCat(writes ? reads ? "+" : "=" : "", name));
  }
  return absl::StrJoin(parts, " ");
}

// A line of a table.
struct Line {
  std::string name, operands, mods, implicit;
  std::array<int, kNumIsas> opcode{-1, -1, -1, -1, -1};
  std::set<std::string> with;  // Words that may follow.
};

std::string Cells(const Line& line) {
  std::vector<std::string> codes;
  for (int code : line.opcode) codes.push_back(code < 0 ? "-" : absl::StrFormat("0x%x", code));
  return absl::StrCat("| ", line.name, " | ", absl::StrJoin(codes, " | "), " | ", line.operands,
                      " | ", line.mods, " | ", absl::StrJoin(line.with, " "), " | ", line.implicit,
                      " |\n");
}

// Forms that differ in instruction sets alone are one line.
class Table {
 public:
  Line* Find(const Line& like) {
    for (Line& l : lines_) {
      if (l.name == like.name && l.operands == like.operands && l.mods == like.mods &&
          l.implicit == like.implicit) {
        return &l;
      }
    }
    lines_.push_back(like);
    return &lines_.back();
  }
  std::vector<Line>& lines() { return lines_; }
  std::string Text() const {
    if (lines_.empty()) return "";
    std::string text = absl::StrCat(
        "| instruction | ", kColumns,
        " | operands | modifiers | with | implied |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (const Line& l : lines_) text += Cells(l);
    return text;
  }

 private:
  std::vector<Line> lines_;
};

const char* ExtraName(Extra extra) {
  return extra == Extra::kDpp8 ? "dpp8" : extra == Extra::kDpp16 ? "dpp16" : "sdwa";
}

Line LineOf(const Form& form) {
  Line line;
  line.name = form.mnemonic;
  line.operands = OperandsText(form, 0, form.num_operands);
  line.mods = ModsText(form);
  line.implicit = ImplicitText(form);
  return line;
}

std::string FormatTable(Format format, Format family) {
  Table table;
  // With a DPP or SDWA word: noted at the form without one.
  for (bool extra : {false, true}) {
    for (int isa = 0; isa < kNumIsas; ++isa) {
      for (const Form* form : FormsOf(static_cast<Isa>(isa))) {
        if (form->format != format || form->family != family) continue;
        if ((form->extra != Extra::kNone) != extra) continue;
        bool noted = false;
        if (extra) {
          for (Line& l : table.lines()) {
            if (l.opcode[isa] != form->opcode || l.name.rfind(form->name, 0) != 0) continue;
            l.with.insert(ExtraName(form->extra));
            noted = true;
          }
        }
        if (noted) continue;
        Line* line = table.Find(LineOf(*form));
        line->opcode[isa] = form->opcode;
        if (extra) line->with.insert(ExtraName(form->extra));
      }
    }
  }
  return table.Text();
}

// The halves, not their combinations.
std::string PairTables() {
  Table x, y;
  for (int isa = 0; isa < kNumIsas; ++isa) {
    for (const Form* form : FormsOf(static_cast<Isa>(isa))) {
      if (form->format != Format::kVopd) continue;
      const int middle = SecondOperand(*form);
      Line first, second;
      first.name = form->mnemonic;
      first.operands = OperandsText(*form, 0, middle);
      second.name = std::string(SecondMnemonic(*form));
      second.operands = OperandsText(*form, middle, form->num_operands);
      x.Find(first)->opcode[isa] = form->opcode >> 5;
      y.Find(second)->opcode[isa] = form->opcode & 31;
    }
  }
  return absl::StrCat("The first instruction, field opx:\n\n", x.Text(),
                      "\nThe second, field opy:\n\n", y.Text());
}

std::string PageText(const Page& page) {
  std::string text = absl::StrCat(kHead, page.title, "\n\nNotation: [README.md](README.md).\n");
  for (Format format : page.formats) {
    if (format == Format::kVopd) {
      absl::StrAppend(&text, "\n## VOPD\n\n", PairTables());
      continue;
    }
    for (int family = 0; family < kNumFormats; ++family) {
      const std::string table = FormatTable(format, static_cast<Format>(family));
      if (table.empty()) continue;
      const std::string name(FormatName(format));
      const std::string of(FormatName(static_cast<Format>(family)));
      absl::StrAppend(&text, "\n## ", name, name == of ? "" : absl::StrCat(" for ", of), "\n\n",
                      table);
    }
  }
  return text;
}

std::string RangeText(const gen::Range& r) {
  return r.hi == r.lo ? absl::StrCat(r.lo) : absl::StrCat(r.hi, ":", r.lo);
}

std::string SetText(int isas) {
  static constexpr std::pair<int, const char*> kSets[] = {
      {31, "all"},   {gen::kRdnaSet, "gfx11, gfx11.5, gfx12"}, {3, "gfx11, gfx11.5"},
      {4, "gfx12"},  {gen::kCdnaSet, "gfx942, gfx950"},        {8, "gfx942"},
      {16, "gfx950"}};
  for (const auto& [set, name] : kSets) {
    if (set == isas) return name;
  }
  return "";
}

// A table for each layout of the name: a column for each set of instruction sets.
std::string LayoutTable(const std::vector<const gen::Layout*>& layouts) {
  std::string text = "| field |", rule = "|---|", size = "| bits |", fixed = "| fixed |",
              opcode = "| op |";
  std::set<std::string> fields;
  for (const gen::Layout* l : layouts) {
    absl::StrAppend(&text, " ", SetText(l->isas), " |");
    rule += "---|";
    absl::StrAppend(&size, " ", 32 * l->dwords, " |");
    std::vector<std::string> parts;
    for (const auto& [range, value] : l->fixed) {
      parts.push_back(absl::StrCat(RangeText(range), " = ", absl::StrFormat("0x%x", value)));
    }
    absl::StrAppend(&fixed, " ", absl::StrJoin(parts, ", "), " |");
    absl::StrAppend(&opcode, " ", l->op.hi < 0 ? "-" : RangeText(l->op), " |");
    for (const auto& [name, bits] : l->fields) fields.insert(name);
  }
  absl::StrAppend(&text, "\n", rule, "\n", size, "\n", fixed, "\n", opcode, "\n");
  for (const std::string& name : fields) {
    // Of these two one says that a number is signed, the other names a part of th.
    if (name == "offset_signed" || name == "th0") continue;
    absl::StrAppend(&text, "| ", name, " |");
    for (const gen::Layout* l : layouts) {
      auto it = l->fields.find(name);
      std::vector<std::string> parts;
      if (it != l->fields.end()) {
        for (const gen::Range& r : it->second) parts.push_back(RangeText(r));
      }
      const bool is_signed = name == "offset" && l->fields.count("offset_signed") != 0;
      absl::StrAppend(&text, " ", parts.empty() ? "-" : absl::StrJoin(parts, " + "),
                      is_signed ? " signed" : "", " |");
    }
    text += "\n";
  }
  return text;
}

std::string EncodingsPage(const std::string& formats_path) {
  gen::Tables tables;
  gen::ReadTable(formats_path, &tables);
  std::vector<std::string> names;
  std::map<std::string, std::vector<const gen::Layout*>> by_name;
  for (const gen::Layout& l : tables.layouts) {
    if (by_name[l.name].empty()) names.push_back(l.name);
    by_name[l.name].push_back(&l);
  }
  std::string text = absl::StrCat(kHead, "Where the fields of instruction words are\n\n",
                                  "Notation: [README.md](README.md).\n");
  for (const std::string& name : names) {
    const auto& layouts = by_name[name];
    const std::string format = layouts[0]->format;
    absl::StrAppend(&text, "\n## ", name,
                    format == "-" ? ": a word behind VOP3" : absl::StrCat(": ", format), "\n\n",
                    LayoutTable(layouts));
  }
  return text;
}

}  // namespace

std::map<std::string, std::string> MakeIsaDocs(const std::string& formats_path) {
  std::map<std::string, std::string> docs;
  for (const Page& page : Pages()) docs[page.file] = PageText(page);
  docs["encodings.md"] = EncodingsPage(formats_path);
  return docs;
}

}  // namespace tg::amd
