#include "flash/report.h"

#include "nlohmann/json.hpp"

namespace tg::flash {

void Report::Set(absl::string_view key, Value value) {
  for (auto& [name, old] : values_) {
    if (name != key) continue;
    old = std::move(value);
    return;
  }
  values_.emplace_back(std::string(key), std::move(value));
}

void Report::Finish(bool ok, absl::string_view error) const {
  if (!json_) return;
  nlohmann::ordered_json object;
  for (const auto& [name, value] : values_) {
    std::visit([&, &key = name](const auto& v) { object[key] = v; }, value);
  }
  object["ok"] = ok;
  if (!ok) object["error"] = std::string(error);
  // File names need not be UTF-8.
  std::printf("%s\n",
              object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

}  // namespace tg::flash
