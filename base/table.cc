#include "base/table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/terminal.h"

namespace tg::base {

void Table::AddRow(std::vector<std::string> cells) {
  TG_CHECK_LE(cells.size(), columns_.size());
  TG_CHECK(!columns_.empty());
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::ToString() const {
  std::vector<std::string> header;
  bool has_header = false;
  for (const Column& column : columns_) {
    header.push_back(column.header);
    has_header |= !column.header.empty();
  }
  std::vector<int> widths(columns_.size(), 0);
  const auto widen = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(cells[i]));
    }
  };
  widen(header);
  for (const auto& row : rows_) widen(row);

  std::string text;
  const auto end_line = [&text] {
    while (!text.empty() && text.back() == ' ') text.pop_back();
    text += '\n';
  };
  const auto add = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) text += "  ";
      const size_t space = widths[i] - DisplayWidth(cells[i]);
      if (columns_[i].alignment == kRight) text.append(space, ' ');
      text += cells[i];
      if (columns_[i].alignment == kLeft) text.append(space, ' ');
    }
    end_line();
  };
  const auto add_rule = [&] {
    int total = 0;
    for (int width : widths) total += width;
    text.append(total + 2 * (widths.size() - 1), '-');
    end_line();
  };
  if (has_header) {
    add(header);
    add_rule();
  }
  for (const auto& row : rows_) {
    if (row.empty()) {
      add_rule();
    } else {
      add(row);
    }
  }
  return text;
}

}  // namespace tg::base
