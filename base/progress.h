#ifndef TG_BASE_PROGRESS_H_
#define TG_BASE_PROGRESS_H_

// A line that says how far a long job is.

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace tg::base {

// On a terminal one line is redrawn at most ten times a second:
//
//   train  42% [=========>             ] 210/500  38.1 step/s  0:07 left  loss 0.123 acc 97.1%
//
// Elsewhere, in a log, a line is printed every ten seconds, and one at the end. Not thread safe.
class Progress {
 public:
  struct Options {
    std::string label;          // "train"
    int64_t total = 0;          // 0: not known; no percentage and no time left
    std::string unit = "step";  // what is counted, for the rate
    std::FILE* stream = stderr;
    // For tests: seconds that pass, and what the stream is; found out when not given.
    std::function<double()> clock = nullptr;
    int terminal_width = -1;  // 0: not a terminal
  };

  explicit Progress(Options options);
  // Finishes.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of the total are done; `text` goes to the end of the line.
  void Update(int64_t done, absl::string_view text = "");

  // Draws the last state and ends the line; later calls do nothing.
  void Finish();

  // The line as it would be drawn now, in at most `width` columns.
  std::string Line(int width) const;

 private:
  void Draw();

  const Options options_;
  const double start_;
  double now_;
  double last_drawn_;
  int64_t done_ = 0;
  std::string text_;
  bool drawn_ = false;
  bool finished_ = false;
};

// "0:07", "12:34", "1:02:03".
std::string FormatDuration(double seconds);

}  // namespace tg::base

#endif  // TG_BASE_PROGRESS_H_
