// Disassembles AMD GPU code. See --help.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/terminal.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/object/amd_code_object.h"
#include "nlohmann/json.hpp"
#include "tools/amd_listing.h"

namespace tg::tools {
namespace {

constexpr char kDescription[] =
    "Shows the machine code of AMD GPUs as text that assembles back to the same bytes: of a code "
    "object (ELF, "
    "linked or not), with a summary of each kernel's descriptor and metadata, or with --raw of "
    "bare bytes.\n"
    "\n"
    "Each line has the address, arrows from branches to where they go, the instruction, its words, "
    "and a branch's "
    "target. What is no instruction is a .long line that says why.";

constexpr char kPlain[] =
    "With --plain each line is the instruction's bytes in memory order as hexadecimal digits, a "
    "tab, and the text "
    "with single blanks; of a code object, the executable sections one after the other.";

constexpr char kJson[] =
    "With --json stdout is one object: arch, target, kernels (name, entry, code_size, descriptor "
    "with its values by "
    "name, metadata) and instructions (address, hex, text, target of a branch).";

constexpr char kExamples[] =
    "  amd_disasm kernel.co\n"
    "  amd_disasm --arch gfx1100 --raw kernel.bin --plain\n"
    "  amd_disasm --nowords --noarrows kernel.co > kernel.s";

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(1);
}

std::optional<amd::Arch> ArchOf(absl::string_view name) {
  return amd::FindArch(std::string_view(name.data(), name.size()));
}

// A piece of code with names in it.
struct Piece {
  std::string name;
  std::vector<ListingLine> lines;
  ListingLabels labels;
};

std::string KernelSummary(const object::AmdCodeObject& object, const object::AmdKernel& kernel,
                          bool color) {
  std::string out =
      absl::StrCat(base::Paint(absl::StrCat("kernel ", kernel.name), base::Color::kBold, color),
                   "  entry ", absl::StrFormat("0x%x", kernel.entry), "\n");
  std::string line;
  for (const auto& [name, value] : object::AmdKernelValues(object.processor(), kernel.descriptor)) {
    if (value == 0) continue;
    const std::string item = absl::StrCat(name, " ", value);
    if (line.size() + item.size() > 96) {
      absl::StrAppend(&out, "  ", line, "\n");
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "" : ", ", item);
  }
  absl::StrAppend(&out, "  ", line, "\n");
  if (kernel.metadata < 0) return out;
  const object::AmdKernelMetadata& metadata = object.metadata().kernels[kernel.metadata];
  for (const object::AmdKernelArgument& arg : metadata.args) {
    absl::StrAppendFormat(&out, "  arg +%-4u %3u bytes  %s", arg.offset, arg.size, arg.value_kind);
    if (!arg.type_name.empty()) absl::StrAppend(&out, "  ", arg.type_name);
    if (!arg.name.empty()) absl::StrAppend(&out, "  ", arg.name);
    out += '\n';
  }
  return out;
}

nlohmann::json KernelJson(const object::AmdCodeObject& object, const object::AmdKernel& kernel) {
  nlohmann::json descriptor;
  for (const auto& [name, value] : object::AmdKernelValues(object.processor(), kernel.descriptor)) {
    descriptor[std::string(name)] = value;
  }
  nlohmann::json args = nlohmann::json::array();
  if (kernel.metadata >= 0) {
    for (const object::AmdKernelArgument& arg : object.metadata().kernels[kernel.metadata].args) {
      args.push_back({{"name", arg.name},
                      {"offset", arg.offset},
                      {"size", arg.size},
                      {"value_kind", arg.value_kind},
                      {"type_name", arg.type_name}});
    }
  }
  return {{"name", kernel.name},
          {"entry", kernel.entry},
          {"code_size", kernel.code_size},
          {"descriptor", descriptor},
          {"args", args}};
}

nlohmann::json LinesJson(const std::vector<Piece>& pieces) {
  nlohmann::json lines = nlohmann::json::array();
  for (const Piece& piece : pieces) {
    for (const ListingLine& line : piece.lines) {
      nlohmann::json entry = {{"address", line.address},
                              {"hex", absl::BytesToHexString(base::AsText(line.bytes))},
                              {"text", line.text}};
      if (line.target.has_value()) entry["target"] = *line.target;
      lines.push_back(std::move(entry));
    }
  }
  return lines;
}

std::vector<Piece> PiecesOf(const object::AmdCodeObject& object, amd::Arch arch) {
  std::vector<Piece> pieces;
  for (const object::AmdSection& section : object.sections()) {
    if (!section.executable) continue;
    Piece& piece = pieces.emplace_back();
    piece.name = std::string(section.name);
    piece.lines = ListCode(base::AsBytes(section.data), section.address, arch);
    for (const object::AmdSymbol& symbol : object.symbols()) {
      if (symbol.address >= section.address && symbol.address - section.address <= section.size) {
        piece.labels.emplace(symbol.address, std::string(symbol.name));
      }
    }
  }
  return pieces;
}

int Main(int argc, char** argv) {
  std::string arch_name;
  std::string input;
  bool raw = false;
  bool plain = false;
  bool json = false;
  ListingStyle style;
  style.color = base::UseColor(stdout);
  base::Flags flags("amd_disasm", "disassembles AMD GPU code");
  flags.SetDescription(kDescription);
  flags.Add("arch", &arch_name, "ARCH",
            "processor, for example gfx1100; code objects say theirs, --raw needs it");
  flags.Add("raw", &raw, "the file holds instructions and nothing else");
  flags.Add("plain", &plain, "one instruction a line for scripts, see PLAIN");
  flags.Add("json", &json, "one JSON object for scripts, see JSON");
  flags.Add("addresses", &style.addresses, "show addresses");
  flags.Add("words", &style.words, "show the code's words");
  flags.Add("arrows", &style.arrows, "show arrows from branches to their targets");
  flags.AddArgument("FILE", &input, "code object, or bytes with --raw; - is the standard input");
  flags.AddSection("PLAIN", kPlain);
  flags.AddSection("JSON", kJson);
  flags.AddSection("EXAMPLES", kExamples);
  flags.ParseOrExit(argc, argv);

  std::optional<amd::Arch> arch = ArchOf(arch_name);
  if (!arch && (raw || !arch_name.empty())) {
    std::fprintf(stderr,
                 "error: --arch=%s: %s; gfx1100 to gfx1103, gfx1150 to gfx1153, gfx1200, gfx1201, "
                 "gfx942 and "
                 "gfx950 are known\n",
                 arch_name.c_str(), arch_name.empty() ? "--raw needs it" : "unknown processor");
    return 2;
  }
  const absl::StatusOr<std::string> bytes =
      base::ReadFile(input == "-" ? "/dev/stdin" : base::ResolveUserPath(input));
  if (!bytes.ok()) Die(absl::StrCat("reading ", input, ": ", bytes.status().message()));

  std::optional<object::AmdCodeObject> object;
  std::vector<Piece> pieces;
  if (raw) {
    Piece& piece = pieces.emplace_back();
    piece.lines = ListCode(base::AsBytes(*bytes), 0, *arch);
  } else {
    absl::StatusOr<object::AmdCodeObject> read = object::AmdCodeObject::Read(*bytes);
    if (!read.ok()) {
      Die(absl::StrCat(input, ": ", read.status().message(), "; bare instructions need --raw"));
    }
    object = *std::move(read);
    const absl::string_view processor = object->processor().name;
    if (arch.has_value() && processor != absl::string_view(arch_name)) {
      Die(absl::StrCat(input, ": it is for ", processor, ", not for ", arch_name,
                       "; leave --arch out"));
    }
    arch = ArchOf(processor);
    if (!arch) Die(absl::StrCat(input, ": instructions of ", processor, " are not known"));
    pieces = PiecesOf(*object, *arch);
  }

  if (json) {
    nlohmann::json report = {{"arch", std::string(amd::ArchName(*arch))},
                             {"instructions", LinesJson(pieces)}};
    if (object.has_value()) {
      report["target"] =
          object::AmdTargetName(object->processor(), object->xnack(), object->sramecc());
      report["kernels"] = nlohmann::json::array();
      for (const object::AmdKernel& kernel : object->kernels()) {
        report["kernels"].push_back(KernelJson(*object, kernel));
      }
    }
    std::printf("%s\n",
                report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return 0;
  }
  std::string out;
  if (plain) {
    for (const Piece& piece : pieces) out += RenderPlain(piece.lines);
  } else {
    if (object.has_value()) {
      absl::StrAppend(
          &out, object::AmdTargetName(object->processor(), object->xnack(), object->sramecc()),
          "  code object v", object->version(), "\n\n");
      for (const object::AmdKernel& kernel : object->kernels()) {
        absl::StrAppend(&out, KernelSummary(*object, kernel, style.color), "\n");
      }
    }
    for (Piece& piece : pieces) {
      if (!piece.name.empty()) absl::StrAppend(&out, "section ", piece.name, "\n");
      AddBranchLabels(piece.lines, &piece.labels);
      out += RenderListing(piece.lines, piece.labels, style);
    }
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tg::tools

int main(int argc, char** argv) { return tg::tools::Main(argc, argv); }
