#include "tools/mnist_report.h"

#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/table.h"
#include "base/terminal.h"
#include "nlohmann/json.hpp"

namespace tg::tools {
namespace {

// The shortest double that names the float: 0.1f is 0.1, not 0.10000000149011612.
double ShortDouble(float v) {
  for (int digits = 6; digits < 9; ++digits) {
    const double d = std::strtod(absl::StrFormat("%.*g", digits, v).c_str(), nullptr);
    if (static_cast<float>(d) == v) return d;
  }
  return std::strtod(absl::StrFormat("%.9g", v).c_str(), nullptr);
}

double Rounded(double v, int digits) {
  return std::strtod(absl::StrFormat("%.*f", digits, v).c_str(), nullptr);
}

}  // namespace

std::string FormatAccuracy(int64_t correct, int64_t count) {
  // Rounded down, so that 999 of 1,000 do not become 100.
  const int64_t tenths = count > 0 ? correct * 1000 / count : 0;
  return absl::StrCat(tenths / 10, ".", tenths % 10, "%");
}

std::string FormatCount(int64_t n) {
  const std::string digits = absl::StrCat(n);
  const size_t first = n < 0 ? 1 : 0;
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string FormatConfusion(const TestResult& test, bool color) {
  std::vector<base::Table::Column> columns = {{"digit", base::Table::kRight}};
  for (size_t c = 0; c < test.confusion.size(); ++c) {
    columns.push_back({absl::StrCat(c), base::Table::kRight});
  }
  columns.push_back({"right", base::Table::kRight});
  base::Table table(columns);
  for (size_t row = 0; row < test.confusion.size(); ++row) {
    std::vector<std::string> cells = {absl::StrCat(row)};
    int64_t count = 0;
    for (size_t c = 0; c < test.confusion[row].size(); ++c) {
      const int64_t n = test.confusion[row][c];
      count += n;
      const base::Color paint = c == row ? base::Color::kGreen
                                : n > 0  ? base::Color::kRed
                                         : base::Color::kGray;
      cells.push_back(base::Paint(n == 0 ? "." : FormatCount(n), paint, color));
    }
    cells.push_back(count > 0 ? FormatAccuracy(test.confusion[row][row], count) : "");
    table.AddRow(cells);
  }
  return table.ToString();
}

std::string ToJson(const MnistReport& report) {
  nlohmann::ordered_json j;
  j["test_accuracy"] = report.test.accuracy();
  j["test_correct"] = report.test.correct;
  j["test_images"] = report.test.count;
  j["steps"] = report.train ? report.options.steps : 0;
  j["batch_size"] = report.options.batch_size;
  j["lr"] = report.options.lr;
  j["shift"] = report.options.shift;
  j["seed"] = report.options.seed;
  j["parameters"] = report.parameters;
  const TrainResult train = report.train.value_or(TrainResult());
  j["seconds"] = Rounded(train.seconds, 3);
  j["first_step_seconds"] = Rounded(train.first_step_seconds, 3);
  j["images_per_second"] = Rounded(train.images_per_second, 1);
  j["data"] = report.data;
  j["model"] = nullptr;
  if (!report.model_file.empty()) j["model"] = report.model_file;
  j["confusion"] = report.test.confusion;
  j["losses"] = nlohmann::ordered_json::array();
  for (float loss : train.losses) j["losses"].push_back(ShortDouble(loss));
  // Paths may be in any encoding; JSON is UTF-8.
  return j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace tg::tools
