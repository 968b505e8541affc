#include "base/settings.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/cpu_count.h"
#include "base/error.h"

namespace tg::base {
namespace {

// The default of settings that are found out on the machine; outside the range of each of them.
constexpr int kComputed = std::numeric_limits<int>::min();

struct Row {
  const char* name;
  bool is_string;
  int default_int;
  int least;
  int greatest;
  const char* default_string;
  const char* choices;
  const char* doc;
};

constexpr Row kRows[] = {
#define TG_INT_ROW(constant, name, value, least, greatest, doc) \
  {name, false, value, least, greatest, "", "", doc},
#define TG_STRING_ROW(constant, name, value, choices, doc) \
  {name, true, 0, 0, 0, value, choices, doc},
    TG_SETTINGS(TG_INT_ROW, TG_STRING_ROW)
#undef TG_INT_ROW
#undef TG_STRING_ROW
};

const Row& RowOf(SettingId id) { return kRows[static_cast<size_t>(id)]; }

// Strings live as long as the process, so that a reference to a setting never dangles.
int64_t Intern(absl::string_view text) {
  static std::mutex* mutex = new std::mutex;
  static auto* strings = new std::set<std::string>;
  std::lock_guard<std::mutex> lock(*mutex);
  return reinterpret_cast<int64_t>(&*strings->insert(std::string(text)).first);
}

std::string Accepted(const Row& row) {
  if (!row.is_string) {
    return row.greatest == std::numeric_limits<int>::max()
               ? absl::StrCat("an integer of at least ", row.least)
               : absl::StrCat("an integer from ", row.least, " to ", row.greatest);
  }
  if (*row.choices == '\0') return "text";
  std::vector<std::string> choices = absl::StrSplit(row.choices, '|');
  return absl::StrCat("one of ", absl::StrJoin(choices, ", "));
}

[[noreturn]] void Reject(const Row& row, absl::string_view value) {
  throw UsageError(absl::StrCat(row.name, "=", value, ": expected ", Accepted(row)));
}

int64_t Encode(const Row& row, int value) {
  if (row.is_string || value < row.least || value > row.greatest) Reject(row, absl::StrCat(value));
  return value;
}

int64_t Encode(const Row& row, absl::string_view value) {
  if (!row.is_string) Reject(row, value);
  if (*row.choices == '\0') return Intern(value);
  // Names of dtypes may be in capitals, too.
  const std::string lower = absl::AsciiStrToLower(value);
  for (absl::string_view choice : absl::StrSplit(row.choices, '|')) {
    if (choice == lower) return Intern(lower);
  }
  Reject(row, value);
}

int64_t Parse(SettingId id, absl::string_view text) {
  const Row& row = RowOf(id);
  if (row.is_string) return Encode(row, text);
  text = absl::StripAsciiWhitespace(text);
  int value = 0;
  if (absl::SimpleAtoi(text, &value)) return Encode(row, value);
  // https://no-color.org: the variable's presence counts, whatever its text.
  if (id == SettingId::kNoColor) return 1;
  Reject(row, text);
}

int64_t Default(const Row& row) {
  if (row.is_string) return Intern(row.default_string);
  return row.default_int == kComputed ? AvailableCpus() : row.default_int;
}

std::string ToText(const Row& row, int64_t value) {
  return row.is_string ? *reinterpret_cast<const std::string*>(value) : absl::StrCat(value);
}

}  // namespace

namespace internal {

constinit thread_local SettingSlots setting_overrides;
constinit ProcessSlots process_settings;

int64_t LoadSetting(SettingId id) {
  const Row& row = RowOf(id);
  const char* text = std::getenv(row.name);
  // `NAME= program` is the usual way to unset a variable for one run.
  const int64_t loaded = text == nullptr || *text == '\0' ? Default(row) : Parse(id, text);
  int64_t kept = kUnset;
  // Another thread, or SetProcessValue, may have been faster.
  auto& slot = process_settings.value[static_cast<size_t>(id)];
  return slot.compare_exchange_strong(kept, loaded) ? loaded : kept;
}

int64_t EncodeSetting(SettingId id, int value) { return Encode(RowOf(id), value); }
int64_t EncodeSetting(SettingId id, absl::string_view value) { return Encode(RowOf(id), value); }

}  // namespace internal

void SetProcessValue(Setting<int> setting, int value) {
  internal::process_settings.value[static_cast<size_t>(setting.id)].store(
      internal::EncodeSetting(setting.id, value));
}

void SetProcessValue(Setting<std::string> setting, absl::string_view value) {
  internal::process_settings.value[static_cast<size_t>(setting.id)].store(
      internal::EncodeSetting(setting.id, value));
}

std::vector<SettingInfo> AllSettings() {
  std::vector<SettingInfo> settings;
  for (int i = 0; i < kSettingCount; ++i) {
    const auto id = static_cast<SettingId>(i);
    const Row& row = RowOf(id);
    settings.push_back({row.name, Accepted(row), ToText(row, Default(row)),
                        ToText(row, internal::ReadSetting(id)), row.doc});
  }
  return settings;
}

void CheckEnvironment() {
  for (int i = 0; i < kSettingCount; ++i) internal::ReadSetting(static_cast<SettingId>(i));
}

}  // namespace tg::base
