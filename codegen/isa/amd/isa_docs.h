// The instruction tables as pages to read: docs/isa.
#ifndef TG_CODEGEN_ISA_AMD_ISA_DOCS_H_
#define TG_CODEGEN_ISA_AMD_ISA_DOCS_H_

#include <map>
#include <string>

namespace tg::amd {

// Markdown by file name ("vop3.md"): a page for each family of encodings with a table for each
// format, and encodings.md with the place of every field. `formats_path` is tables/formats.txt; the
// instructions are those of table.h. Ends the program where the file cannot be read.
std::map<std::string, std::string> MakeIsaDocs(const std::string& formats_path);

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_ISA_DOCS_H_
