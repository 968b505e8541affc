#include "base/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/settings.h"

namespace tg::base {

bool IsTerminal(std::FILE* stream) {
  if (!isatty(fileno(stream))) return false;
  const char* kind = getenv("TERM");
  return kind != nullptr && absl::string_view(kind) != "dumb";
}

bool UseColor(std::FILE* stream) { return IsTerminal(stream) && Get(kNoColor) == 0; }

int TerminalWidth(std::FILE* stream) {
  winsize size = {};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string Paint(absl::string_view text, Color color, bool enabled) {
  if (!enabled || color == Color::kNone) return std::string(text);
  const char* code = "1";
  switch (color) {
    case Color::kNone:
    case Color::kBold:
      break;
    case Color::kRed:
      code = "31";
      break;
    case Color::kGreen:
      code = "32";
      break;
    case Color::kYellow:
      code = "33";
      break;
    case Color::kBlue:
      code = "34";
      break;
    case Color::kMagenta:
      code = "35";
      break;
    case Color::kCyan:
      code = "36";
      break;
    case Color::kGray:
      code = "90";
      break;
  }
  return absl::StrCat("\033[", code, "m", text, "\033[0m");
}

int DisplayWidth(absl::string_view text) {
  int width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033' && i + 1 < text.size() && text[i + 1] == '[') {
      // Parameters up to a letter.
      for (i += 2; i < text.size() && (text[i] < '@' || text[i] > '~'); ++i) {
      }
      continue;
    }
    // Every byte of a code point but its first is 10xxxxxx.
    if ((text[i] & 0xc0) != 0x80) ++width;
  }
  return width;
}

}  // namespace tg::base
