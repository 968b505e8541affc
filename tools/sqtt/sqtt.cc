// Reads SQ thread traces of AMD GPUs. See --help.

#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/terminal.h"
#include "tools/sqtt/analysis.h"
#include "tools/sqtt/export.h"
#include "tools/sqtt/output.h"
#include "tools/sqtt/plot.h"
#include "tools/sqtt/trace_set.h"

namespace tg::sqtt {
namespace {

constexpr char kUsage[] =
    R"(sqtt - shows what waves did on an AMD GPU, from SQ thread traces

usage: sqtt COMMAND TRACE [flags]

commands
  info        what a trace holds: layout, packets by kind, problems
  packets     every packet with its time and fields
  waves       when and where each wave ran
  insts       instructions wave by wave, with durations and stalls, and totals per address
  occupancy   how full each SIMD was
  summary     how busy the traced SIMD was and where its time went
  plot        a timeline per SIMD as an SVG picture
  export      for other tools: --perfetto (ui.perfetto.dev), --csv
  stats       everything about a folder of traces as one JSON object

TRACE is a raw trace (then --elf names the program that ran), or a folder with meta.json, which lists
traces and programs. Traces of RDNA 3, RDNA 4 and CDNA 3 and 4 are known.

`sqtt COMMAND --help` has the flags of a command, with an example.

exit status: 0 done, 1 a file could not be read or written, 2 the command line is wrong
)";

volatile std::sig_atomic_t g_interrupted = 0;
void OnInterrupt(int signal) { g_interrupted = signal; }

struct Options {
  std::string path, argument;
  std::string elf, arch, trace, types, output, perfetto, csv;
  bool json = false, totals = false;
  int64_t wave = -1, from = 0, to = -1, limit = -1, width = 1400;
};

int Fail(absl::string_view what, const absl::Status& status, absl::string_view todo) {
  std::fprintf(stderr, "error: %s: %s; %s\n", std::string(what).c_str(),
               std::string(status.message()).c_str(), std::string(todo).c_str());
  return 1;
}

int Usage(absl::string_view what) {
  std::fprintf(stderr, "error: %s; see sqtt --help\n", std::string(what).c_str());
  return 2;
}

void Print(absl::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// The traces of the set that --trace and the kernel's name leave.
std::vector<const Trace*> Chosen(const TraceSet& set, const Options& o) {
  std::vector<const Trace*> chosen;
  for (const Trace& t : set.traces) {
    if (!o.trace.empty() && t.name != o.trace) continue;
    if (!o.argument.empty()) {
      const bool known = t.kernel >= 0 && t.kernel < static_cast<int>(set.kernels.size());
      if (!known || set.kernels[static_cast<size_t>(t.kernel)].name != o.argument) continue;
    }
    chosen.push_back(&t);
  }
  return chosen;
}

std::string Choices(const TraceSet& set) {
  return absl::StrCat(
      "traces: ",
      absl::StrJoin(set.traces, " ", [](std::string* s, const Trace& t) { *s += t.name; }),
      "; kernels: ",
      absl::StrJoin(set.kernels, " ", [](std::string* s, const Kernel& k) { *s += k.name; }));
}

absl::StatusOr<Analyzed> AnalyzeTrace(const TraceSet& set, const Trace& trace) {
  const Program* program = set.ProgramOf(trace);
  absl::StatusOr<Analysis> analysis = Analyze(trace.file.bytes(), program);
  if (!analysis.ok()) {
    return absl::Status(analysis.status().code(),
                        absl::StrCat(trace.name, ": ", analysis.status().message()));
  }
  return Analyzed{&trace, program, *std::move(analysis)};
}

// A list of JSON values, one a line; whole also when interrupted.
class JsonList {
 public:
  void Add(absl::string_view value) {
    Print(first_ ? "[\n" : ",\n");
    first_ = false;
    Print(value);
  }
  void End() { Print(first_ ? "[]\n" : "\n]\n"); }

 private:
  bool first_ = true;
};

// Commands that print something about each trace.
int PrintEach(const TraceSet& set, const Options& o,
              const std::function<std::string(const Analyzed&)>& text,
              const std::function<std::string(const Analyzed&)>& json) {
  JsonList list;
  bool first = true;
  int status = 0;
  for (const Trace* trace : Chosen(set, o)) {
    if (g_interrupted != 0) break;
    absl::StatusOr<Analyzed> a = AnalyzeTrace(set, *trace);
    if (!a.ok()) {
      status = Fail("cannot read the trace", a.status(), "name a raw SQ thread trace");
      continue;
    }
    if (o.json) {
      list.Add(json(*a));
    } else {
      if (!first) Print("\n");
      Print(text(*a));
    }
    first = false;
  }
  if (o.json) list.End();
  return g_interrupted != 0 ? 128 + g_interrupted : status;
}

int Packets(const TraceSet& set, const Options& o) {
  std::vector<bool> wanted(kNumPacketTypes, o.types.empty());
  for (absl::string_view name : absl::StrSplit(o.types, ',', absl::SkipEmpty())) {
    bool known = false;
    for (const PacketSpec& spec : PacketSpecs()) {
      if (name != spec.name) continue;
      wanted[static_cast<size_t>(spec.type)] = known = true;
    }
    if (!known) return Usage(absl::StrCat("no packet is called ", name));
  }
  JsonList list;
  int64_t shown = 0;
  int status = 0;
  for (const Trace* trace : Chosen(set, o)) {
    absl::StatusOr<DecodeSummary> sum = Decode(
        trace->file.bytes(), [&](PacketType type, uint64_t raw, uint64_t time, uint64_t offset) {
          if (g_interrupted != 0 || shown == o.limit) return false;
          const Packet packet{raw, time, offset, type};
          if (!wanted[static_cast<size_t>(type)] || time < static_cast<uint64_t>(o.from) ||
              (o.to >= 0 && time > static_cast<uint64_t>(o.to))) {
            return true;
          }
          if (o.wave >= 0) {
            bool has_wave = false;
            for (const Field& f : Spec(type).field_span()) {
              has_wave |= absl::string_view(f.name) == "wave" &&
                          Bits(raw, f.hi, f.lo) == static_cast<uint64_t>(o.wave);
            }
            if (!has_wave) return true;
          }
          ++shown;
          if (o.json) {
            list.Add(PacketJson(packet));
          } else {
            Print(absl::StrCat(ToString(packet), "\n"));
          }
          return true;
        });
    if (!sum.ok()) {
      status = Fail(absl::StrCat("cannot read ", trace->name), sum.status(),
                    "name a raw SQ thread trace");
    }
  }
  if (o.json) list.End();
  return g_interrupted != 0 ? 128 + g_interrupted : status;
}

int Stats(const TraceSet& set, const Options& o) {
  Print(absl::StrCat("{\"arch\":", JsonString(set.arch), ",\"blobs\":{"));
  bool first = true;
  int status = 0;
  for (const Trace* trace : Chosen(set, o)) {
    if (g_interrupted != 0) break;
    absl::StatusOr<Analyzed> a = AnalyzeTrace(set, *trace);
    if (!a.ok()) {
      status = Fail("cannot read the trace", a.status(), "the other traces of the folder follow");
      continue;
    }
    Print(absl::StrCat(first ? "\n" : ",\n", JsonString(trace->name), ":", StatsJson(*a)));
    first = false;
  }
  Print("}}\n");
  return g_interrupted != 0 ? 128 + g_interrupted : status;
}

int WriteTo(const std::string& file, absl::string_view contents) {
  const std::string path = base::ResolveUserPath(file);
  if (absl::Status s = base::WriteFileAtomically(path, contents); !s.ok()) {
    return Fail("cannot write", s, "name a file in a folder that can be written");
  }
  std::fprintf(stderr, "wrote %s\n", path.c_str());
  return 0;
}

absl::StatusOr<std::vector<Analyzed>> AnalyzeChosen(const TraceSet& set, const Options& o) {
  std::vector<Analyzed> all;
  for (const Trace* trace : Chosen(set, o)) {
    absl::StatusOr<Analyzed> a = AnalyzeTrace(set, *trace);
    if (!a.ok()) return a.status();
    all.push_back(*std::move(a));
  }
  return all;
}

int Export(const TraceSet& set, const Options& o) {
  if (o.perfetto.empty() && o.csv.empty()) return Usage("export needs --perfetto or --csv");
  absl::StatusOr<std::vector<Analyzed>> all = AnalyzeChosen(set, o);
  if (!all.ok()) return Fail("cannot read the trace", all.status(), "nothing was written");
  std::vector<NamedAnalysis> traces;
  for (const Analyzed& a : *all) {
    traces.push_back({a.trace->name, a.trace->shader_engine, &a.analysis, a.program});
  }
  if (!o.perfetto.empty()) {
    if (int status = WriteTo(o.perfetto, PerfettoJson(traces)); status != 0) return status;
  }
  return o.csv.empty() ? 0 : WriteTo(o.csv, InstsCsv(traces));
}

int PlotTrace(const TraceSet& set, const Options& o) {
  absl::StatusOr<std::vector<Analyzed>> all = AnalyzeChosen(set, o);
  if (!all.ok()) return Fail("cannot read the trace", all.status(), "nothing was written");
  // Of several traces that with the most instructions says most.
  const Analyzed* best = nullptr;
  for (const Analyzed& a : *all) {
    if (best == nullptr || a.analysis.insts.size() > best->analysis.insts.size()) best = &a;
  }
  PlotOptions options;
  options.width = static_cast<int>(o.width);
  options.from = static_cast<uint64_t>(o.from);
  options.to = o.to >= 0 ? static_cast<uint64_t>(o.to) : 0;
  const std::string title = absl::StrCat(
      best->trace->name, ", ", LayoutName(best->analysis.summary.layout), ", ",
      best->analysis.waves.size(), " waves, ", best->analysis.insts.size(), " instructions");
  return WriteTo(o.output, PlotSvg(best->analysis, best->program, title, options));
}

int Run(absl::string_view command, const Options& o, const TraceSet& set) {
  const bool color = base::UseColor(stdout);
  const int wave = static_cast<int>(o.wave);
  if (command == "info") {
    return PrintEach(
        set, o, [&](const Analyzed& a) { return InfoText(a, color); }, InfoJson);
  }
  if (command == "packets") return Packets(set, o);
  if (command == "waves") return PrintEach(set, o, WavesText, WavesJson);
  if (command == "insts") {
    return PrintEach(
        set, o, [&](const Analyzed& a) { return InstsText(a, wave, o.limit, o.totals); },
        [&](const Analyzed& a) { return InstsJson(a, wave, o.totals); });
  }
  if (command == "occupancy") {
    return PrintEach(
        set, o, [&](const Analyzed& a) { return OccupancyText(a, color); }, OccupancyJson);
  }
  if (command == "summary") {
    return PrintEach(
        set, o, [&](const Analyzed& a) { return SummaryText(a, color); }, SummaryJson);
  }
  if (command == "plot") return PlotTrace(set, o);
  if (command == "export") return Export(set, o);
  return Stats(set, o);
}

struct Command {
  const char* name;
  const char* summary;
  const char* example;
};
constexpr Command kCommands[] = {
    {"info", "what a trace holds: layout, packets by kind, problems",
     "  sqtt info traces/gemm\n  sqtt info se0.bin --elf gemm.co --json"},
    {"packets", "every packet with its time and fields",
     "  sqtt packets se0.bin --type WAVESTART,WAVEEND --limit 20\n"
     "  sqtt packets se0.bin --wave 3 --from 1000 --to 2000 --json"},
    {"waves", "when and where each wave ran", "  sqtt waves traces/gemm --trace se0.bin"},
    {"insts", "instructions wave by wave, with durations and stalls, and totals per address",
     "  sqtt insts traces/gemm gemm_kernel\n  sqtt insts se0.bin --elf gemm.co --wave 0 --limit "
     "50\n"
     "  sqtt insts traces/gemm --totals --json"},
    {"occupancy", "how full each SIMD was", "  sqtt occupancy traces/gemm --trace se0.bin"},
    {"summary", "how busy the traced SIMD was and where its time went",
     "  sqtt summary traces/gemm --trace se0.bin"},
    {"plot", "a timeline per SIMD as an SVG picture",
     "  sqtt plot traces/gemm gemm.svg\n  sqtt plot se0.bin out.svg --elf gemm.co --from 900 --to "
     "1900"},
    {"export", "for other tools: --perfetto (ui.perfetto.dev), --csv",
     "  sqtt export traces/gemm --perfetto gemm.json\n  sqtt export se0.bin --elf gemm.co --csv "
     "insts.csv"},
    {"stats", "everything about a folder of traces as one JSON object",
     "  sqtt stats traces/gemm --json"},
};

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const std::string name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  const Command* command = nullptr;
  for (const Command& c : kCommands) {
    if (name == c.name) command = &c;
  }
  if (command == nullptr) return Usage(absl::StrCat("there is no command ", name));

  Options o;
  base::Flags flags(absl::StrCat("sqtt ", name), command->summary);
  flags.AddArgument("TRACE", &o.path, "a raw trace, or a folder with meta.json");
  if (name == "plot") flags.AddArgument("OUT.svg", &o.output, "the picture");
  if (name == "insts") flags.AddArgument("KERNEL", &o.argument, "only of this kernel", false);
  flags.Add("elf", &o.elf, "FILE", "the code object that ran; folders name their own");
  flags.Add("arch", &o.arch, "NAME", "its processor, as gfx1100, where it does not say");
  flags.Add("trace", &o.trace, "NAME", "only this trace of a folder, as se0.bin");
  if (name != "plot" && name != "export") flags.Add("json", &o.json, "print JSON");
  if (name == "packets") {
    flags.Add("type", &o.types, "NAMES", "only these kinds, with commas between");
    flags.Add("from", &o.from, "CLOCK", "only from this time on");
    flags.Add("to", &o.to, "CLOCK", "only up to this time; -1: all");
  }
  if (name == "plot") {
    flags.Add("from", &o.from, "CLOCK", "draw from this time on");
    flags.Add("to", &o.to, "CLOCK", "draw up to this time; -1: all waves");
    flags.Add("width", &o.width, "PIXELS", "of the picture");
  }
  if (name == "packets" || name == "insts") {
    flags.Add("wave", &o.wave, "SLOT", "only of this wave slot; -1: of all");
    flags.Add("limit", &o.limit, "N", "at most so many rows; -1: all");
  }
  if (name == "insts") flags.Add("totals", &o.totals, "only the totals per address");
  if (name == "export") {
    flags.Add("perfetto", &o.perfetto, "FILE", "trace events for ui.perfetto.dev");
    flags.Add("csv", &o.csv, "FILE", "a line for each instruction");
  }
  flags.AddSection("EXAMPLES", command->example);
  flags.ParseOrExit(argc - 1, argv + 1);
  if (o.width < 300 || o.width > 20000) return Usage("--width takes 300 to 20000");
  if (o.from < 0) return Usage("--from takes 0 or more");
  if (!o.arch.empty() && !amd::FindArch(o.arch).has_value()) {
    return Usage(absl::StrCat("--arch ", o.arch, " is not known"));
  }

  std::signal(SIGINT, OnInterrupt);
  std::signal(SIGTERM, OnInterrupt);
  absl::StatusOr<TraceSet> set = LoadTraceSet(
      base::ResolveUserPath(o.path), o.elf.empty() ? "" : base::ResolveUserPath(o.elf), o.arch);
  if (!set.ok()) {
    return Fail("cannot load the trace", set.status(), "name a trace or a folder with meta.json");
  }
  for (const Kernel& k : set->kernels) {
    if (!k.error.ok()) {
      std::fprintf(stderr, "warning: no program for kernel %s: %s\n", k.name.c_str(),
                   std::string(k.error.message()).c_str());
    }
  }
  if (Chosen(*set, o).empty()) {
    return Usage(absl::StrCat("no such trace or kernel; ", Choices(*set)));
  }
  return Run(name, o, *set);
}

}  // namespace
}  // namespace tg::sqtt

int main(int argc, char** argv) { return tg::sqtt::Main(argc, argv); }
