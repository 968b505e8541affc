#include "base/progress.h"

#include <string>

#include "base/terminal.h"
#include "gtest/gtest.h"

namespace tg::base {
namespace {

class ProgressTest : public testing::Test {
 protected:
  ProgressTest() : stream_(std::tmpfile()) {}
  ~ProgressTest() override { std::fclose(stream_); }

  Progress::Options Options(int64_t total, int width) {
    Progress::Options options;
    options.label = "train";
    options.total = total;
    options.stream = stream_;
    options.clock = [this] { return seconds_; };
    options.terminal_width = width;
    return options;
  }

  std::string Printed() {
    std::string text(std::ftell(stream_), '\0');
    std::rewind(stream_);
    text.resize(std::fread(text.data(), 1, text.size(), stream_));
    return text;
  }

  std::FILE* stream_;
  double seconds_ = 100;
};

TEST_F(ProgressTest, LineHasPartRateTimeAndText) {
  Progress progress(Options(500, 100));
  seconds_ += 5;
  progress.Update(250, "loss 0.123");
  EXPECT_EQ(progress.Line(100),
            "train  50% [============>           ] 250/500  50.0 step/s  0:05 left  loss 0.123");
  // Narrow: a shorter bar, then none, then cut.
  EXPECT_EQ(progress.Line(67),
            "train  50% [=====>    ] 250/500  50.0 step/s  0:05 left  loss 0.123");
  EXPECT_EQ(progress.Line(62), "train  50% 250/500  50.0 step/s  0:05 left  loss 0.123");
  EXPECT_EQ(progress.Line(10), "train  50%");
}

TEST_F(ProgressTest, UnknownTotal) {
  Progress progress(Options(0, 100));
  seconds_ += 2;
  progress.Update(1000000);
  EXPECT_EQ(progress.Line(100), "train 1000000  500.0k step/s  0:02");
}

TEST_F(ProgressTest, NothingDoneYetAndMoreThanAll) {
  Progress progress(Options(10, 100));
  EXPECT_EQ(progress.Line(100), "train   0% [>                       ] 0/10");
  seconds_ += 1;
  progress.Update(20);
  EXPECT_EQ(progress.Line(100), "train 100% [========================] 20/10  20.0 step/s  0:01");
}

TEST_F(ProgressTest, TerminalRedrawsOneLineNowAndThen) {
  {
    Progress progress(Options(1000, 60));
    for (int i = 1; i <= 1000; ++i) {
      seconds_ += 0.001;
      progress.Update(i);
    }
  }
  const std::string text = Printed();
  int redraws = 0;
  for (char c : text) redraws += c == '\r';
  EXPECT_GE(redraws, 9);
  EXPECT_LE(redraws, 13);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_NE(text.rfind("100%"), std::string::npos);
}

TEST_F(ProgressTest, LogGetsALineNowAndThen) {
  {
    Progress progress(Options(100, 0));
    for (int i = 1; i <= 100; ++i) {
      seconds_ += 0.25;
      progress.Update(i, "ok");
    }
  }
  const std::string text = Printed();
  int lines = 0;
  for (char c : text) lines += c == '\n';
  EXPECT_EQ(lines, 3);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.find('\033'), std::string::npos);
}

TEST_F(ProgressTest, FinishedStaysFinished) {
  Progress progress(Options(2, 60));
  progress.Finish();
  const long size = std::ftell(stream_);
  seconds_ += 60;
  progress.Update(1);
  progress.Finish();
  EXPECT_EQ(std::ftell(stream_), size);
}

TEST_F(ProgressTest, CutsWholeCodePoints) {
  Progress progress(Options(0, 60));
  progress.Update(7, "größe");
  for (int width = 0; width < 30; ++width) EXPECT_LE(DisplayWidth(progress.Line(width)), width);
}

TEST(FormatDurationTest, Forms) {
  EXPECT_EQ(FormatDuration(7.4), "0:07");
  EXPECT_EQ(FormatDuration(754), "12:34");
  EXPECT_EQ(FormatDuration(3723), "1:02:03");
  EXPECT_EQ(FormatDuration(-1), "0:00");
  EXPECT_EQ(FormatDuration(1e300), "?");
}

}  // namespace
}  // namespace tg::base
