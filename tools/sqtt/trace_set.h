// Traces and their programs, from files.
#ifndef TG_TOOLS_SQTT_TRACE_SET_H_
#define TG_TOOLS_SQTT_TRACE_SET_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "tools/sqtt/program.h"

namespace tg::sqtt {

// What one shader engine wrote while one kernel ran.
struct Trace {
  std::string name;  // File name: "se0.bin".
  int shader_engine = 0;
  int kernel = 0;      // In TraceSet::kernels; -1 when not known.
  bool itrace = true;  // Whether instructions were traced.
  base::MappedFile file;
};

struct Kernel {
  std::string name;
  std::string file;                // Of the ELF code object.
  std::optional<Program> program;  // None where it could not be read:
  absl::Status error;              // why.
};

struct TraceSet {
  std::string arch;  // "" when nothing says.
  std::vector<Trace> traces;
  std::vector<Kernel> kernels;

  const Program* ProgramOf(const Trace& trace) const;
};

// A folder with meta.json, which lists "arch", "sqtt" ([{"file", "kern", "se", "itrace"}]) and
// "programs" ([{"file", "name"}]); files lie beside it. Or a trace alone, then `elf` is its program
// ("": none). `arch` overrides what the files say. Errors name the file.
absl::StatusOr<TraceSet> LoadTraceSet(const std::string& path, const std::string& elf,
                                      const std::string& arch);

}  // namespace tg::sqtt

#endif  // TG_TOOLS_SQTT_TRACE_SET_H_
