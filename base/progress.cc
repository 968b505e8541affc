#include "base/progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/terminal.h"

namespace tg::base {
namespace {

constexpr double kTerminalInterval = 0.1;
constexpr double kLogInterval = 10;
constexpr int kBarWidth = 24;
constexpr int kLeastBarWidth = 8;

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Progress::Options Complete(Progress::Options options) {
  if (options.clock == nullptr) options.clock = SteadySeconds;
  if (options.terminal_width < 0) {
    options.terminal_width = IsTerminal(options.stream) ? TerminalWidth(options.stream) : 0;
  }
  return options;
}

std::string FormatRate(double rate) {
  if (rate >= 1e9) return absl::StrFormat("%.2fG", rate / 1e9);
  if (rate >= 1e6) return absl::StrFormat("%.2fM", rate / 1e6);
  if (rate >= 1e4) return absl::StrFormat("%.1fk", rate / 1e3);
  return absl::StrFormat("%.*f", rate >= 100 ? 0 : rate >= 10 ? 1 : 2, rate);
}

// The first `width` columns of a text; code points stay whole.
std::string Cut(absl::string_view text, int width) {
  int used = 0;
  size_t end = 0;
  while (end < text.size()) {
    size_t next = end + 1;
    while (next < text.size() && (text[next] & 0xc0) == 0x80) ++next;
    if (++used > width) break;
    end = next;
  }
  return std::string(text.substr(0, end));
}

}  // namespace

std::string FormatDuration(double seconds) {
  // A hundred years; also catches what is not a number.
  if (!(seconds < 3.2e9)) return "?";
  const int64_t whole = std::llround(std::max(seconds, 0.0));
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
  return hours > 0 ? absl::StrFormat("%d:%02d:%02d", hours, minutes, rest)
                   : absl::StrFormat("%d:%02d", minutes, rest);
}

Progress::Progress(Options options)
    : options_(Complete(std::move(options))),
      start_(options_.clock()),
      now_(start_),
      last_drawn_(start_) {}

Progress::~Progress() { Finish(); }

void Progress::Update(int64_t done, absl::string_view text) {
  if (finished_) return;
  done_ = done;
  text_ = std::string(text);
  now_ = options_.clock();
  const bool terminal = options_.terminal_width > 0;
  if (now_ - last_drawn_ >= (terminal ? kTerminalInterval : kLogInterval) ||
      (terminal && !drawn_)) {
    Draw();
  }
}

void Progress::Finish() {
  if (finished_) return;
  now_ = options_.clock();
  Draw();
  if (options_.terminal_width > 0) {
    std::fputc('\n', options_.stream);
    std::fflush(options_.stream);
  }
  finished_ = true;
}

std::string Progress::Line(int width) const {
  const double elapsed = now_ - start_;
  const double rate = elapsed > 0 ? done_ / elapsed : 0;
  const bool known = options_.total > 0;

  std::string head = options_.label;
  std::string tail;
  if (known) {
    const double part = std::clamp(static_cast<double>(done_) / options_.total, 0.0, 1.0);
    absl::StrAppend(&head, absl::StrFormat(" %3d%%", static_cast<int>(part * 100)));
    tail = absl::StrCat(done_, "/", options_.total);
  } else {
    tail = absl::StrCat(done_);
  }
  if (rate > 0) absl::StrAppend(&tail, "  ", FormatRate(rate), " ", options_.unit, "/s");
  if (known && done_ < options_.total) {
    if (rate > 0) {
      absl::StrAppend(&tail, "  ", FormatDuration((options_.total - done_) / rate), " left");
    }
  } else {
    absl::StrAppend(&tail, "  ", FormatDuration(elapsed));
  }
  if (!text_.empty()) absl::StrAppend(&tail, "  ", text_);

  std::string line = head;
  if (known) {
    const int room = width - DisplayWidth(head) - DisplayWidth(tail) - 4;
    const int bar = std::min(room, kBarWidth);
    if (bar >= kLeastBarWidth) {
      const double part = std::clamp(static_cast<double>(done_) / options_.total, 0.0, 1.0);
      const int full = static_cast<int>(part * bar);
      std::string drawing(full, '=');
      if (full < bar) drawing += '>';
      drawing.resize(bar, ' ');
      absl::StrAppend(&line, " [", drawing, "]");
    }
  }
  absl::StrAppend(&line, line.empty() ? "" : " ", tail);
  return Cut(line, width);
}

void Progress::Draw() {
  if (options_.terminal_width > 0) {
    // Back to the start of the line, and erase what is left of the last one. One column stays free:
    // terminals wrap when the last one is filled.
    absl::FPrintF(options_.stream, "\r%s\033[K", Line(options_.terminal_width - 1));
  } else {
    absl::FPrintF(options_.stream, "%s\n", Line(1000));
  }
  std::fflush(options_.stream);
  last_drawn_ = now_;
  drawn_ = true;
}

}  // namespace tg::base
