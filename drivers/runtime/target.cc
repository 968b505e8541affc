#include "drivers/runtime/target.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tg::drivers {
namespace {

constexpr absl::string_view kDiskPrefix = "DISK:";
constexpr int kMaxIndex = 1 << 20;

absl::Status Bad(absl::string_view what, absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " in target string: '", text,
                   "'; expected [INTERFACE[:INDICES]+]DEVICE[:INDEX][:RENDERER[:ARCH]]"));
}

// A letter, then letters, digits and underscores.
bool IsName(absl::string_view text) {
  if (text.empty() || !absl::ascii_isalpha(text[0])) return false;
  for (const char c : text) {
    if (!absl::ascii_isalnum(c) && c != '_') return false;
  }
  return true;
}

bool IsNumber(absl::string_view text) {
  for (const char c : text) {
    if (!absl::ascii_isdigit(c)) return false;
  }
  return !text.empty();
}

// "0,2", "0-3"
bool IsIndexList(absl::string_view text) {
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(item, '-');
    if (ends.size() > 2) return false;
    for (const absl::string_view end : ends) {
      if (!IsNumber(end)) return false;
    }
  }
  return true;
}

}  // namespace

std::string Target::DeviceName() const {
  std::string name;
  if (!interface.empty()) {
    absl::StrAppend(&name, interface, indices.empty() ? "" : ":", indices, "+");
  }
  absl::StrAppend(&name, device);
  if (!path.empty()) absl::StrAppend(&name, ":", path);
  if (index != 0) absl::StrAppend(&name, ":", index);
  return name;
}

std::string Target::ToString() const {
  std::string text = DeviceName();
  if (!renderer.empty() || !arch.empty()) absl::StrAppend(&text, ":", renderer);
  if (!arch.empty()) absl::StrAppend(&text, ":", arch);
  return text;
}

absl::StatusOr<Target> ParseTarget(absl::string_view text) {
  Target target;
  if (absl::StartsWithIgnoreCase(text, kDiskPrefix)) {
    target.device = "DISK";
    target.path = std::string(text.substr(kDiskPrefix.size()));
    return target;
  }

  const std::vector<absl::string_view> sides = absl::StrSplit(text, '+');
  if (sides.size() > 2) return Bad("too many '+'", text);
  if (sides.size() == 2) {
    const std::vector<absl::string_view> fields = absl::StrSplit(sides[0], ':');
    if (fields.size() > 2) return Bad("too many ':' before '+'", text);
    if (!IsName(fields[0])) return Bad("no interface's name before '+'", text);
    target.interface = absl::AsciiStrToUpper(fields[0]);
    if (fields.size() == 2) {
      if (!IsIndexList(fields[1])) {
        return Bad("indices that are neither like 0,2 nor like 0-3", text);
      }
      target.indices = std::string(fields[1]);
    }
  }

  std::vector<absl::string_view> fields = absl::StrSplit(sides.back(), ':');
  if (!IsName(fields[0])) return Bad("no device's name", text);
  target.device = absl::AsciiStrToUpper(fields[0]);
  fields.erase(fields.begin());
  if (!fields.empty() && IsNumber(fields[0])) {
    if (!absl::SimpleAtoi(fields[0], &target.index) || target.index > kMaxIndex) {
      return Bad("too large an index", text);
    }
    fields.erase(fields.begin());
  }
  if (fields.size() > 2) return Bad("too many ':'", text);
  if (!fields.empty() && fields.back().empty()) return Bad("nothing after the last ':'", text);
  if (!fields.empty() && !fields[0].empty()) {
    if (!IsName(fields[0])) return Bad("a renderer that is no name", text);
    target.renderer = absl::AsciiStrToUpper(fields[0]);
  }
  if (fields.size() == 2) target.arch = std::string(fields[1]);
  return target;
}

}  // namespace tg::drivers
