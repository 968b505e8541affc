#include "codegen/isa/amd/table_gen_text.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tg::amd::gen {

void Fail(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(1);
}

namespace {

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string w; in >> w;) words.push_back(w);
  return words;
}

Range ParseRange(const std::string& text, const std::string& where) {
  Range r;
  if (std::sscanf(text.c_str(), "%d:%d", &r.hi, &r.lo) != 2 || r.hi < r.lo || r.hi >= 160) {
    Fail(where + ": not a range of bits: " + text);
  }
  return r;
}

int ParseSet(const std::string& text, const std::string& where) {
  static const std::map<std::string, int> kSets = {{"all", 31},   {"rdna", 7},  {"rdna3", 3},
                                                   {"gfx12", 4},  {"cdna", 24}, {"gfx942", 8},
                                                   {"gfx950", 16}};
  auto it = kSets.find(text);
  if (it == kSets.end()) Fail(where + ": unknown set of instruction sets: " + text);
  return it->second;
}

Layout ParseLayout(const std::vector<std::string>& words, const std::string& where) {
  if (words.size() < 4) Fail(where + ": a layout needs a name, a format and fields");
  Layout l;
  l.name = words[1];
  l.format = words[2];
  for (size_t i = 3; i < words.size(); ++i) {
    const std::string& w = words[i];
    size_t eq = w.find('=');
    if (eq == std::string::npos) Fail(where + ": expected NAME=...: " + w);
    std::string key = w.substr(0, eq), value = w.substr(eq + 1);
    if (key == "dwords") {
      l.dwords = std::atoi(value.c_str());
    } else if (key == "isa") {
      l.isas = ParseSet(value, where);
    } else if (key == "op") {
      l.op = ParseRange(value, where);
    } else if (key == "fixed") {
      size_t eq2 = value.find('=');
      if (eq2 == std::string::npos) Fail(where + ": expected fixed=HI:LO=VALUE: " + w);
      l.fixed.emplace_back(ParseRange(value.substr(0, eq2), where),
                           std::strtoull(value.c_str() + eq2 + 1, nullptr, 0));
    } else {
      Bits bits;
      for (size_t at = 0; at != std::string::npos;) {
        size_t plus = value.find('+', at);
        bits.push_back(
            ParseRange(value.substr(at, plus == std::string::npos ? plus : plus - at), where));
        at = plus == std::string::npos ? plus : plus + 1;
      }
      l.fields[key] = bits;
    }
  }
  return l;
}

Row ParseRow(const std::string& line, const std::string& family, const std::string& where) {
  std::vector<std::string> columns;
  for (size_t at = 0; at != std::string::npos;) {
    size_t bar = line.find('|', at);
    columns.push_back(line.substr(at, bar == std::string::npos ? bar : bar - at));
    at = bar == std::string::npos ? bar : bar + 1;
  }
  columns.resize(6);
  Row row;
  row.where = where;
  row.family = family;
  std::vector<std::string> name = Words(columns[0]), opcodes = Words(columns[1]);
  if (name.size() != 1 || opcodes.size() != kIsas)
    Fail(where + ": expected a name and five opcodes");
  row.name = name[0];
  for (int i = 0; i < kIsas; ++i) {
    row.opcode[i] =
        opcodes[i] == "-" ? -1 : static_cast<int>(std::strtol(opcodes[i].c_str(), nullptr, 0));
  }
  row.operands = Words(columns[2]);
  row.forms = Words(columns[3]);
  row.mods = Words(columns[4]);
  row.implicit = Words(columns[5]);
  return row;
}

}  // namespace

void ReadTable(const std::string& path, Tables* tables) {
  std::ifstream in(path);
  if (!in) Fail("cannot read " + path);
  std::string file = path.substr(path.rfind('/') + 1);
  std::string family;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    std::string where = file + ":" + std::to_string(++number);
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      family = line.substr(1, line.find(']') - 1);
    } else if (line.rfind("layout ", 0) == 0) {
      tables->layouts.push_back(ParseLayout(Words(line), where));
    } else {
      tables->rows.push_back(ParseRow(line, family, where));
    }
  }
}

}  // namespace tg::amd::gen
