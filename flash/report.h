#ifndef TG_FLASH_REPORT_H_
#define TG_FLASH_REPORT_H_

// What a command tells its user: lines as it goes, and one object at the end for scripts.

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace tg::flash {

class Report {
 public:
  using Value = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>,
                             std::vector<std::string>>;

  // With `json`, lines go to stderr and stdout has the object alone.
  explicit Report(bool json) : json_(json) {}

  template <typename... Args>
  void Line(const absl::FormatSpec<Args...>& format, const Args&... args) {
    std::FILE* const stream = json_ ? stderr : stdout;
    const std::string text = absl::StrFormat(format, args...);
    std::fprintf(stream, "%s\n", text.c_str());
    std::fflush(stream);
  }

  // For the object; the last value of a key counts.
  void Set(absl::string_view key, Value value);

  // Prints the object, if that is wanted, with "ok" and, when it is not, "error".
  void Finish(bool ok, absl::string_view error) const;

 private:
  const bool json_;
  std::vector<std::pair<std::string, Value>> values_;
};

}  // namespace tg::flash

#endif  // TG_FLASH_REPORT_H_
