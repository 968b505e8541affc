#ifndef TG_BASE_TERMINAL_H_
#define TG_BASE_TERMINAL_H_

// What tools need to know about the terminal they print on.

#include <cstdio>
#include <string>

#include "absl/strings/string_view.h"

namespace tg::base {

// Whether the stream is a terminal that understands escape sequences (TERM is not "dumb").
bool IsTerminal(std::FILE* stream);

// Whether to print colours there: a terminal, and NO_COLOR is not set.
bool UseColor(std::FILE* stream);

// Columns of the stream's terminal; 80 when it is none or does not say.
int TerminalWidth(std::FILE* stream);

enum class Color { kNone, kRed, kGreen, kYellow, kBlue, kMagenta, kCyan, kGray, kBold };

// `text` in a colour; as it is when `enabled` is false.
std::string Paint(absl::string_view text, Color color, bool enabled);

// Columns that a UTF-8 text takes: one a code point; escape sequences for colours take none.
int DisplayWidth(absl::string_view text);

}  // namespace tg::base

#endif  // TG_BASE_TERMINAL_H_
