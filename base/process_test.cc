#include "base/process.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "gtest/gtest.h"

namespace tg::base {
namespace {

TEST(ProcessTest, InputBecomesOutput) {
  // More than a pipe holds.
  const std::string input(1 << 20, 'x');
  const auto result = RunProcess({"cat"}, {.input = input});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->out, input);
  EXPECT_EQ(result->err, "");
  EXPECT_EQ(result->status, 0);
  EXPECT_EQ(RunProcess({"cat"})->out, "");
}

TEST(ProcessTest, ArgumentsAreNotInterpreted) {
  EXPECT_EQ(RunProcess({"printf", "%s|", "a b", "$HOME", ";ls"})->out, "a b|$HOME|;ls|");
}

TEST(ProcessTest, TellsHowItEnded) {
  const auto failed = RunProcess({"sh", "-c", "echo why >&2; exit 3"});
  EXPECT_EQ(failed->status, 3);
  EXPECT_EQ(failed->signal, 0);
  EXPECT_EQ(failed->err, "why\n");
  const auto killed = RunProcess({"sh", "-c", "kill -9 $$"});
  EXPECT_EQ(killed->signal, SIGKILL);
  EXPECT_EQ(killed->status, 128 + SIGKILL);
  EXPECT_TRUE(absl::IsNotFound(RunProcess({"tg-no-such-program"}).status()));
}

TEST(ProcessTest, EnvironmentAndDirectory) {
  setenv("TG_PROCESS_TEST", "mine", 1);
  EXPECT_EQ(RunProcess({"printenv", "TG_PROCESS_TEST"})->out, "mine\n");
  EXPECT_EQ(RunProcess({"printenv", "TG_PROCESS_TEST"},
                       {.environment = {"TG_PROCESS_TEST=yours", "TG_OTHER=1"}})
                ->out,
            "yours\n");
  EXPECT_EQ(RunProcess({"pwd"}, {.directory = "/"})->out, "/\n");
}

TEST(ProcessTest, SharedStreams) {
  const auto result = RunProcess({"true"}, {.share_streams = true});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->status, 0);
}

TEST(ProcessTest, Names) {
  EXPECT_EQ(ProcessName(getpid()), "process_test");
  EXPECT_EQ(ProcessName(-1), "");
}

}  // namespace
}  // namespace tg::base
