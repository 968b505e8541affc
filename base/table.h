#ifndef TG_BASE_TABLE_H_
#define TG_BASE_TABLE_H_

// Tables of text, for terminals.

#include <cstddef>
#include <string>
#include <vector>

namespace tg::base {

// Columns of aligned text under an optional header line:
//
//   Table table({{"layer"}, {"weights", Table::kRight}});
//   table.AddRow({"conv 5x5", "832"});
//   std::fputs(table.ToString().c_str(), stdout);
//
// Cells may be painted (base/terminal.h) and UTF-8. Columns are two spaces apart; lines have no
// trailing spaces. Not thread safe.
class Table {
 public:
  enum Alignment { kLeft, kRight };

  struct Column {
    std::string header;  // all empty: no header line
    Alignment alignment = kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Missing cells are empty; more cells than columns are our own bug.
  void AddRow(std::vector<std::string> cells);
  // A line of dashes across all columns.
  void AddRule() { rows_.push_back({}); }

  // Ends with a newline unless the table is empty.
  std::string ToString() const;

 private:
  const std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

}  // namespace tg::base

#endif  // TG_BASE_TABLE_H_
