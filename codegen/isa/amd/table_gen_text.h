// Reads the text of tables/ for table_gen. The notation is described in tables/README.md.
#ifndef TG_CODEGEN_ISA_AMD_TABLE_GEN_TEXT_H_
#define TG_CODEGEN_ISA_AMD_TABLE_GEN_TEXT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tg::amd::gen {

inline constexpr int kIsas = 5;  // gfx11, gfx11.5, gfx12, gfx942, gfx950: the columns.
inline constexpr int kRdnaSet = 7, kCdnaSet = 24;

struct Range {
  int hi = 0, lo = 0;
};
// From the lowest part of a value to the highest.
using Bits = std::vector<Range>;

struct Layout {
  std::string name, format;
  int dwords = 1;
  int isas = 0;
  std::vector<std::pair<Range, uint64_t>> fixed;
  Range op{-1, 0};
  std::map<std::string, Bits> fields;
};

struct Row {
  std::string where;   // "vop1.txt:12"
  std::string family;  // The section: "vop1".
  std::string name;
  int opcode[kIsas];  // -1: not there.
  std::vector<std::string> operands, forms, mods, implicit;
};

struct Tables {
  std::vector<Layout> layouts;
  std::vector<Row> rows;
};

// Prints the message and ends the build step.
[[noreturn]] void Fail(const std::string& message);

// Adds what is in the file at `path`.
void ReadTable(const std::string& path, Tables* tables);

}  // namespace tg::amd::gen

#endif  // TG_CODEGEN_ISA_AMD_TABLE_GEN_TEXT_H_
