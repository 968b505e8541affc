// Writes docs/isa from the instruction tables.
//
// usage: isa_docs OUTDIR
#include <cstdio>
#include <fstream>
#include <string>

#include "base/runfiles.h"
#include "codegen/isa/amd/isa_docs.h"

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    std::fprintf(stderr, "usage: isa_docs OUTDIR\n");
    return 2;
  }
  const auto formats = tg::base::FindRunfile("codegen/isa/amd/tables/formats.txt");
  if (!formats.ok()) {
    std::fprintf(stderr, "error: cannot find the tables: %s; run it with bazel run\n",
                 std::string(formats.status().message()).c_str());
    return 1;
  }
  for (const auto& [name, text] : tg::amd::MakeIsaDocs(*formats)) {
    const std::string path = std::string(argv[1]) + "/" + name;
    std::ofstream out(path);
    out << text;
    out.close();
    if (!out) {
      std::fprintf(stderr, "error: cannot write %s; is the folder there?\n", path.c_str());
      return 1;
    }
    std::printf("%s\n", path.c_str());
  }
  return 0;
}
