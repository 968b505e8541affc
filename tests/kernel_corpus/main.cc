// Writes the corpus: a file of kernels for each group of programs.h.
//
//   bazel run //tests/kernel_corpus -- $PWD/testdata/kernels
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/flags.h"
#include "codegen/opt/kernel_text.h"
#include "tests/kernel_corpus/programs.h"
#include "tg/schedule/schedule.h"
#include "tg/tensor/backend.h"

namespace tg::testing {
namespace {

using ir::UOp;

// Schedules what is to run, and keeps its kernels. There is no memory.
class RecordingBackend : public Backend {
 public:
  std::string DefaultDevice() override { return "CPU"; }
  std::string CanonicalDevice(absl::string_view) override { return "CPU"; }
  UOp NewBuffer(ir::DType dtype, int64_t size, const std::string& device) override {
    return UOp::Make(ir::Op::kBuffer, dtype, {},
                     ir::Arg(ir::BufferArg{.id = next_id_++,
                                           .size = size,
                                           .space = ir::AddrSpace::kGlobal,
                                           .device = device,
                                           .storage = nullptr}));
  }
  void Realize(absl::Span<const UOp> roots) override {
    const schedule::NormalizedGraph g = schedule::Normalize(ir::Sink(roots));
    for (const schedule::ScheduleItem& item : schedule::CreateSchedule(g.sink, "CPU").items) {
      if (item.kind == schedule::ScheduleItem::Kind::kKernel) kernels_.push_back(item.ast);
    }
  }
  void CopyIn(const UOp&, absl::Span<const std::byte>) override {}
  void CopyOut(const UOp&, absl::Span<std::byte>) override {
    TG_CHECK(false) << "a program of the corpus reads a value";
  }
  bool Capturing() override { return false; }

  std::vector<UOp> TakeKernels() { return std::exchange(kernels_, {}); }

 private:
  int64_t next_id_ = 0;
  std::vector<UOp> kernels_;
};

int Run(int argc, char** argv) {
  std::string folder;
  base::Flags flags("kernel_corpus", "writes the kernels of many small computations as text");
  flags.AddArgument("FOLDER", &folder, "where the files go");
  flags.ParseOrExit(argc, argv);

  static RecordingBackend* backend = new RecordingBackend;
  SetBackend(backend);
  std::vector<CorpusGroup> groups = SmallPrograms();
  groups.push_back(LargePrograms());
  ir::UOpSet known;
  for (const CorpusGroup& group : groups) {
    std::string text = absl::StrCat("# ", group.what, "\n# Made by //tests/kernel_corpus.\n\n");
    int count = 0;
    for (const CorpusProgram& program : group.programs) {
      backend->TakeKernels();
      Tensor::Realize(program.results());
      std::vector<UOp> fresh;
      for (const UOp& k : backend->TakeKernels()) {
        if (known.insert(k).second) fresh.push_back(k);
      }
      for (size_t i = 0; i < fresh.size(); ++i) {
        const std::string suffix = fresh.size() == 1 ? "" : absl::StrCat("_", i);
        text += opt::PrintKernel({absl::StrCat(program.name, suffix), fresh[i]});
        ++count;
      }
    }
    const std::string path = absl::StrCat(folder, "/", group.name, ".txt");
    if (const absl::Status s = base::WriteFileAtomically(path, text); !s.ok()) {
      std::fprintf(stderr, "error: %s\n", std::string(s.message()).c_str());
      return 1;
    }
    std::printf("%-12s %4d kernels\n", group.name.c_str(), count);
  }
  return 0;
}

}  // namespace
}  // namespace tg::testing

int main(int argc, char** argv) { return tg::testing::Run(argc, argv); }
