// Looks at kernels in their text form. See --help.
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cpu_count.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/progress.h"
#include "bench/limits.h"
#include "codegen/ir/print.h"
#include "codegen/opt/kernel_text.h"
#include "codegen/opt/opt_text.h"
#include "codegen/opt/optimize.h"
#include "codegen/render/llvm/llvm_cpu_renderer.h"
#include "codegen/search/search.h"
#include "drivers/cpu/cpu_timer.h"
#include "tools/kernel/report.h"
#include "tools/kernel/stats.h"

namespace tg::kernel_tool {
namespace {

constexpr char kUsage[] =
    R"(kernel - shows, measures and searches kernels given as text

usage: kernel COMMAND FILE... [flags]

commands
  list      the kernels of a file
  show      one kernel: its steps, what the compiler made of it, its speed
  compare   one kernel with two lists of steps
  search    the fastest steps for one kernel on this machine's processor
  table     every kernel of some files: instructions, spills, time
  diff      two outputs of table --json: what was helped and hurt

FILE holds kernels in the text form that testdata/kernels has; - is standard input. DEBUG=5 prints
the kernels of any program of tg in another form; tests/kernel_corpus shows how to write these.

`kernel COMMAND --help` has the flags of a command, with an example.

exit status: 0 done, 1 a file or a kernel was refused, 2 the command line is wrong
)";

struct Options {
  std::string file, name, first, second, opts, cpu, plot;
  std::vector<std::string> files;
  bool noopt = false, json = false, time = true;
  bool ir = false, program = false, source = false, assembly = false;
  int threads = 0, width = 2;
  double noise = 0.05;
};

int Fail(const absl::Status& status, absl::string_view what, absl::string_view todo) {
  std::fprintf(stderr, "error: %s: %s; %s\n", std::string(what).c_str(),
               std::string(status.message()).c_str(), std::string(todo).c_str());
  return 1;
}

void Print(absl::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

absl::StatusOr<std::string> ReadText(const std::string& path) {
  if (path != "-") return base::ReadFile(path);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

absl::StatusOr<std::vector<opt::KernelText>> ReadKernels(const std::string& path) {
  absl::StatusOr<std::string> text = ReadText(path);
  if (!text.ok()) return text.status();
  return opt::ParseKernels(*text);
}

// The kernel named `name`, or the only one.
absl::StatusOr<opt::KernelText> ReadKernel(const Options& o) {
  absl::StatusOr<std::vector<opt::KernelText>> kernels = ReadKernels(o.file);
  if (!kernels.ok()) return kernels.status();
  if (o.name.empty() && kernels->size() == 1) return kernels->front();
  for (const opt::KernelText& k : *kernels) {
    if (k.name == o.name) return k;
  }
  if (o.name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", kernels->size(), " kernels in it, and none was named"));
  }
  return absl::NotFoundError(absl::StrCat("no kernel in it is named ", o.name));
}

class Tool {
 public:
  explicit Tool(const Options& o)
      : o_(o),
        threads_(o.threads > 0 ? o.threads : base::AvailableCpus()),
        renderer_(render::MakeLlvmCpuRenderer({.cpu = o.cpu})),
        timer_(drivers::MakeCpuTimer({.threads = threads_})) {}

  int List() {
    auto kernels = ReadKernels(o_.file);
    if (!kernels.ok()) return Refused(kernels.status());
    for (const opt::KernelText& k : *kernels) Print(k.name + "\n");
    return 0;
  }

  int Show() {
    auto text = ReadKernel(o_);
    if (!text.ok()) return Refused(text.status());
    auto kernel = Make(*text, o_.opts);
    if (!kernel.ok()) return Refused(kernel.status());
    if (o_.json) {
      Print(ToJson({kernel->stats}));
      return 0;
    }
    if (o_.ir) Print(absl::StrCat(ir::PrintTree(kernel->ast), "\n"));
    if (o_.program) Print(absl::StrCat(lower::ProgramToString(kernel->program), "\n"));
    if (o_.source) {
      auto source = renderer_->Render(kernel->program);
      if (!source.ok()) return Refused(source.status());
      Print(absl::StrCat(*source, "\n"));
    }
    if (o_.assembly) Print(absl::StrCat(kernel->assembly, "\n"));
    PrintSummary(*kernel);
    return 0;
  }

  int Compare() {
    auto text = ReadKernel(o_);
    if (!text.ok()) return Refused(text.status());
    std::vector<KernelStats> stats;
    for (const std::string* opts : {&o_.first, &o_.second}) {
      auto kernel = Make(*text, *opts);
      if (!kernel.ok()) return Refused(kernel.status());
      stats.push_back(kernel->stats);
    }
    if (o_.json) {
      Print(ToJson(stats));
      return 0;
    }
    Print(StatsTable(stats, Limits()));
    if (!std::isnan(stats[0].seconds)) {
      std::printf("\nthe second takes %.3f times as long as the first\n",
                  stats[1].seconds / stats[0].seconds);
    }
    return 0;
  }

  int Search() {
    auto text = ReadKernel(o_);
    if (!text.ok()) return Refused(text.status());
    static std::atomic<bool> interrupted{false};
    std::signal(SIGINT, [](int) { interrupted = true; });
    search::SearchOptions options = search::SearchOptions::FromSettings();
    options.width = o_.width;
    options.threads = threads_;
    options.cache = nullptr;
    options.progress = true;
    options.interrupted = [] { return interrupted.load(); };
    auto r = search::SearchBest(text->ast, *renderer_, *timer_, options);
    if (!r.ok()) return Refused(r.status());
    if (!o_.plot.empty()) {
      if (absl::Status s = base::WriteFileAtomically(o_.plot, SearchPlot(*r, text->name));
          !s.ok()) {
        return Fail(s, o_.plot, "name another file");
      }
    }
    auto kernel = CompileKernel(text->name, r->kernel, *renderer_);
    if (!kernel.ok()) return Refused(kernel.status());
    kernel->stats.seconds = r->seconds;
    if (o_.json) {
      Print(ToJson({kernel->stats}));
      return 0;
    }
    PrintSummary(*kernel);
    std::printf(
        "search: %d measured, %d slow, %d duplicates, %d rejected, %d crashed, %d endless%s\n",
        r->measured, r->slow, r->duplicates, r->rejected, r->crashed, r->endless,
        r->interrupted ? "; interrupted" : "");
    return 0;
  }

  int Table() {
    std::vector<KernelStats> stats;
    std::vector<opt::KernelText> all;
    for (const std::string& file : o_.files) {
      auto kernels = ReadKernels(file);
      if (!kernels.ok()) return Fail(kernels.status(), file, "name a file of kernels");
      all.insert(all.end(), kernels->begin(), kernels->end());
    }
    {
      base::Progress progress(
          {.label = "table", .total = static_cast<int64_t>(all.size()), .unit = "kernel"});
      for (const opt::KernelText& text : all) {
        auto kernel = Make(text, "");
        if (!kernel.ok()) return Fail(kernel.status(), text.name, "take it out of the file");
        stats.push_back(kernel->stats);
        progress.Update(static_cast<int64_t>(stats.size()), text.name);
      }
    }
    Print(o_.json ? ToJson(stats) : StatsTable(stats, Limits()));
    return 0;
  }

  int Diff() {
    std::vector<KernelStats> lists[2];
    for (int i = 0; i < 2; ++i) {
      const std::string& path = i == 0 ? o_.first : o_.second;
      absl::StatusOr<std::string> text = ReadText(path);
      if (!text.ok()) return Fail(text.status(), path, "name an output of kernel table --json");
      auto stats = FromJson(*text);
      if (!stats.ok()) return Fail(stats.status(), path, "name an output of kernel table --json");
      lists[i] = *std::move(stats);
    }
    Print(DiffTable(lists[0], lists[1], o_.noise));
    return 0;
  }

 private:
  int Refused(const absl::Status& s) const {
    return Fail(s, o_.name.empty() ? o_.file : absl::StrCat(o_.file, ", ", o_.name),
                "`kernel list` has the names, testdata/kernels examples");
  }

  // With the steps in `opts`, or else what the heuristics say.
  absl::StatusOr<CompiledKernel> Make(const opt::KernelText& text, const std::string& opts) {
    const render::Target& target = renderer_->target();
    absl::StatusOr<ir::UOp> ast;
    if (opts.empty() && !o_.noopt) {
      // Optimize takes whatever it is given.
      if (auto k = opt::PrepareKernel(text.ast, target); !k.ok()) return k.status();
      ast = opt::Optimize(text.ast, target, threads_);
    } else {
      absl::StatusOr<std::vector<ir::Opt>> steps = opt::ParseOpts(opts);
      if (!steps.ok()) return steps.status();
      ast = opt::ApplyOpts(text.ast, target, *steps);
    }
    if (!ast.ok()) return ast.status();
    absl::StatusOr<CompiledKernel> kernel = CompileKernel(text.name, *ast, *renderer_);
    if (!kernel.ok() || !o_.time) return kernel;
    if (absl::Status s = TimeKernel(*kernel, *timer_); !s.ok()) return s;
    return kernel;
  }

  Roofline Limits() const {
    if (!o_.time) return {};
    return {.gflops = bench::MeasureFmaGflops(threads_), .gbps = bench::MeasureReadGBps(threads_)};
  }

  void PrintSummary(const CompiledKernel& k) const {
    std::printf("%s: %s\n", k.stats.name.c_str(), k.program.name.c_str());
    std::printf("steps: %s\n", k.stats.opts.empty() ? "none" : k.stats.opts.c_str());
    std::printf("code: %lld instructions, %lld on the stack, %d parts, compiled in %.1f ms\n",
                static_cast<long long>(k.stats.instructions),
                static_cast<long long>(k.stats.spills), k.stats.threads, k.stats.compile_ms);
    std::printf("work: %.4g operations, %.4g bytes\n", k.stats.flops, k.stats.bytes);
    std::printf("speed: %s\n", SpeedText(k.stats, Limits()).c_str());
  }

  const Options& o_;
  const int threads_;
  const std::unique_ptr<render::Renderer> renderer_;
  const std::unique_ptr<search::Timer> timer_;
};

struct Command {
  const char* name;
  const char* summary;
  const char* example;
  int (Tool::*run)();
};

constexpr Command kCommands[] = {
    {"list", "the kernels of a file", "  kernel list testdata/kernels/matmul.txt", &Tool::List},
    {"show", "one kernel: steps, code, speed",
     "  kernel show testdata/kernels/large.txt matmul_512 --asm\n"
     "  kernel show testdata/kernels/large.txt matmul_512 --opts \"SPLIT(1, 16, UPCAST)\"",
     &Tool::Show},
    {"compare", "one kernel with two lists of steps; an empty list: what the heuristics say",
     "  kernel compare testdata/kernels/large.txt matmul_512 \"\" \"SPLIT(1, 32, UPCAST)\"",
     &Tool::Compare},
    {"search", "the fastest steps for one kernel",
     "  kernel search testdata/kernels/large.txt matmul_512 --width 4 --plot search.svg",
     &Tool::Search},
    {"table", "every kernel of some files",
     "  kernel table testdata/kernels/*.txt\n  kernel table testdata/kernels/*.txt --json > a.json",
     &Tool::Table},
    {"diff", "what was helped and hurt between two builds", "  kernel diff a.json b.json",
     &Tool::Diff},
};

int Usage(absl::string_view what) {
  std::fprintf(stderr, "error: %s; see kernel --help\n", std::string(what).c_str());
  return 2;
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const std::string word = argv[1];
  if (word == "--help" || word == "help") {
    Print(kUsage);
    return 0;
  }
  const Command* command = nullptr;
  for (const Command& c : kCommands) {
    if (word == c.name) command = &c;
  }
  if (command == nullptr) return Usage(absl::StrCat("there is no command ", word));

  Options o;
  base::Flags flags(absl::StrCat("kernel ", word), command->summary);
  if (word == "table") {
    flags.AddArguments("FILE", &o.files, "files of kernels");
  } else if (word == "diff") {
    flags.AddArgument("BEFORE", &o.first, "an output of kernel table --json");
    flags.AddArgument("AFTER", &o.second, "another one");
    flags.Add("noise", &o.noise, "PART", "differences of time up to this part are none");
  } else {
    flags.AddArgument("FILE", &o.file, "a file of kernels; - is standard input");
  }
  if (word == "show" || word == "search") {
    flags.AddArgument("NAME", &o.name, "a kernel of the file", /*required=*/false);
  }
  if (word == "compare") {
    flags.AddArgument("NAME", &o.name, "a kernel of the file");
    flags.AddArgument("FIRST", &o.first, "steps, as SPLIT(0, 16, UPCAST), SWAP(0, 1)");
    flags.AddArgument("SECOND", &o.second, "other steps");
  }
  if (word == "show") {
    flags.Add("opts", &o.opts, "STEPS", "these steps instead of what the heuristics say");
    flags.Add("noopt", &o.noopt, "no steps at all");
    flags.Add("ir", &o.ir, "print the kernel with its steps");
    flags.Add("program", &o.program, "print the linear program");
    flags.Add("source", &o.source, "print the LLVM IR");
    flags.Add("asm", &o.assembly, "print the assembly");
  }
  if (word == "search") {
    flags.Add("width", &o.width, "N", "kernels that each generation goes on from");
    flags.Add("plot", &o.plot, "FILE", "write the progress of the search as an SVG picture");
  }
  if (word != "list" && word != "diff") {
    if (word != "search") flags.Add("time", &o.time, "run and measure; --notime only compiles");
    flags.Add("json", &o.json, "print a JSON list");
    flags.Add("threads", &o.threads, "N", "cores to split kernels over; 0: all");
    flags.Add("cpu", &o.cpu, "NAME", "LLVM's name of another processor; implies --notime");
  }
  flags.AddSection("EXAMPLES", command->example);
  flags.ParseOrExit(argc - 1, argv + 1);
  if (word == "table" && o.files.empty()) return Usage("table needs a file");
  if (word == "search" && !o.cpu.empty()) return Usage("a search runs on this machine's processor");
  if (!o.cpu.empty()) o.time = false;
  if (o.width < 1) return Usage("--width must be positive");
  Tool tool(o);
  return (tool.*command->run)();
}

}  // namespace
}  // namespace tg::kernel_tool

int main(int argc, char** argv) { return tg::kernel_tool::Main(argc, argv); }
