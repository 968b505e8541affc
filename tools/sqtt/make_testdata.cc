// Writes the folders of testdata/sqtt, each as profilers write them: meta.json, traces, programs;
// and expected.json, to be read by a person before it is committed.
//
//   bazel run //tools/sqtt:make_testdata -- $PWD/testdata/sqtt
#include <cstdio>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "codegen/object/amd_code_object_writer.h"
#include "tools/sqtt/output.h"
#include "tools/sqtt/sample.h"
#include "tools/sqtt/trace_set.h"

namespace tg::sqtt {
namespace {

absl::string_view Text(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

absl::Status WriteFolder(const std::string& folder, Layout layout) {
  std::filesystem::create_directories(folder);
  const Sample sample = MakeSample(layout);
  const std::string arch(amd::ArchName(sample.arch));
  object::AmdCodeObjectSpec spec;
  spec.processor = object::FindAmdProcessor(arch);
  // CDNA's trace needs none, but a folder names one: s_endpgm.
  spec.text = sample.code.empty() ? std::string("\0\0\x81\xbf", 4) : std::string(Text(sample.code));
  object::AmdKernelSpec& kernel = spec.kernels.emplace_back();
  kernel.name = "loop";
  kernel.size = spec.text.size();
  kernel.description.accum_offset = spec.processor->is_cdna() ? 4 : 0;
  absl::StatusOr<std::string> elf = object::WriteAmdCodeObject(spec);
  if (!elf.ok()) return elf.status();
  const std::string meta = absl::StrCat(
      "{\"arch\": \"", arch,
      "\",\n \"programs\": [{\"file\": \"program.co\", \"name\": \"loop\"}],\n"
      " \"sqtt\": [{\"file\": \"se0.bin\", \"kern\": 0, \"se\": 0, \"itrace\": true}]}\n");
  const std::string base = absl::StrCat(folder, "/");
  if (absl::Status s = base::WriteFileAtomically(base + "program.co", *elf); !s.ok()) return s;
  if (absl::Status s = base::WriteFileAtomically(base + "meta.json", meta); !s.ok()) return s;
  if (absl::Status s = base::WriteFileAtomically(base + "se0.bin", Text(sample.trace)); !s.ok()) {
    return s;
  }
  absl::StatusOr<TraceSet> set = LoadTraceSet(folder, "", "");
  if (!set.ok()) return set.status();
  const Trace& trace = set->traces[0];
  const Program* program = set->ProgramOf(trace);
  absl::StatusOr<Analysis> analysis = Analyze(trace.file.bytes(), program);
  if (!analysis.ok()) return analysis.status();
  const Analyzed analyzed{&trace, program, *std::move(analysis)};
  return base::WriteFileAtomically(base + "expected.json", absl::StrCat(StatsJson(analyzed), "\n"));
}

}  // namespace
}  // namespace tg::sqtt

int main(int argc, char** argv) {
  using tg::sqtt::Layout;
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_testdata FOLDER\n");
    return 2;
  }
  for (Layout layout : {Layout::kRdna3, Layout::kRdna4, Layout::kCdna}) {
    const std::string name(tg::amd::ArchName(tg::sqtt::MakeSample(layout).arch));
    const absl::Status status = tg::sqtt::WriteFolder(absl::StrCat(argv[1], "/", name), layout);
    if (!status.ok()) {
      std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
      return 1;
    }
  }
  return 0;
}
