#include "base/flags.h"

#include <stdlib.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::base {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Tool {
  int steps = 100;
  int64_t seed = 42;
  double lr = 0.001;
  bool json = false;
  bool color = true;
  std::string save_file;
  Flags flags{"tool", "does what a test needs"};

  Tool() {
    flags.Add("steps", &steps, "N", "optimizer steps");
    flags.Add("seed", &seed, "N", "random seed");
    flags.Add("lr", &lr, "RATE", "learning rate");
    flags.Add("json", &json, "end with one JSON object");
    flags.Add("color", &color, "colours");
    flags.Add("save_file", &save_file, "FILE", "where the model goes");
  }

  std::string Parse(const std::vector<std::string>& args) {
    return std::string(flags.Parse(args).message());
  }
};

TEST(FlagsTest, AllForms) {
  Tool tool;
  EXPECT_EQ(tool.Parse({"--steps", "7", "--seed=-5", "--lr=1e-2", "--json", "--nocolor",
                        "--save-file", "--odd name"}),
            "");
  EXPECT_EQ(tool.steps, 7);
  EXPECT_EQ(tool.seed, -5);
  EXPECT_EQ(tool.lr, 0.01);
  EXPECT_TRUE(tool.json);
  EXPECT_FALSE(tool.color);
  EXPECT_EQ(tool.save_file, "--odd name");
}

TEST(FlagsTest, FlagsOfOneLetter) {
  Flags flags("tool", "does what a test needs");
  std::string out;
  flags.Add("o", &out, "FILE", "where it goes");
  EXPECT_TRUE(flags.Parse({"-o", "a.out"}).ok());
  EXPECT_EQ(out, "a.out");
  EXPECT_EQ(flags.Parse({"-o"}).message(), "-o needs a value: -o FILE");
  EXPECT_EQ(flags.Parse({"-x"}).message(), "unknown flag -x; flags start with --");
  EXPECT_NE(flags.Help().find("    -o FILE\n"), std::string::npos);
}

TEST(FlagsTest, BoolValuesAndEmptyText) {
  Tool tool;
  EXPECT_EQ(tool.Parse({"--json=true", "--color=false", "--save_file="}), "");
  EXPECT_TRUE(tool.json);
  EXPECT_FALSE(tool.color);
  EXPECT_EQ(Tool().Parse({"--json=maybe"}), "--json=maybe: expected true or false");
}

TEST(FlagsTest, DefaultsStayWithoutFlags) {
  Tool tool;
  EXPECT_EQ(tool.Parse({}), "");
  EXPECT_EQ(tool.steps, 100);
}

TEST(FlagsTest, WrongValuesSayWhatIsExpected) {
  EXPECT_EQ(Tool().Parse({"--steps", "many"}), "--steps=many: expected an integer of 32 bits");
  EXPECT_EQ(Tool().Parse({"--steps=3000000000"}),
            "--steps=3000000000: expected an integer of 32 bits");
  EXPECT_EQ(Tool().Parse({"--steps="}), "--steps=: expected an integer of 32 bits");
  EXPECT_EQ(Tool().Parse({"--lr=nan"}), "--lr=nan: expected a number");
  EXPECT_EQ(Tool().Parse({"--lr=1x"}), "--lr=1x: expected a number");
  EXPECT_EQ(Tool().Parse({"--steps"}), "--steps needs a value: --steps N");
}

TEST(FlagsTest, UnknownFlags) {
  EXPECT_EQ(Tool().Parse({"--stesp", "7"}), "unknown flag --stesp; did you mean --steps?");
  EXPECT_EQ(Tool().Parse({"--frobnicate=1"}), "unknown flag --frobnicate; tool --help lists all");
  EXPECT_EQ(Tool().Parse({"-s"}), "unknown flag -s; flags start with --");
  EXPECT_THAT(Tool().Parse({"--nosteps"}), HasSubstr("unknown flag --nosteps"));
  EXPECT_EQ(Tool().Parse({"stray"}), "unexpected argument stray");
}

TEST(FlagsTest, Arguments) {
  std::string in, out = "-";
  std::vector<std::string> more;
  Tool tool;
  tool.flags.AddArgument("IN", &in, "input");
  tool.flags.AddArgument("OUT", &out, "output", /*required=*/false);
  tool.flags.AddArguments("MORE", &more, "others");
  EXPECT_EQ(tool.Parse({"--json"}), "missing argument IN");
  EXPECT_EQ(tool.Parse({"a"}), "");
  EXPECT_EQ(out, "-");
  EXPECT_EQ(tool.Parse({"a", "--steps", "3", "b", "-", "--", "--json"}), "");
  EXPECT_EQ(in, "a");
  EXPECT_EQ(out, "b");
  EXPECT_THAT(more, ElementsAre("-", "--json"));
}

TEST(FlagsTest, HelpIsAManualPage) {
  Tool tool;
  std::string in;
  tool.flags.AddArgument("IN", &in, "the input");
  tool.flags.SetDescription(
      "A first paragraph that is long enough to be wrapped at eighty columns, as they are.\n\n"
      "A second.\n  as it is");
  tool.flags.AddSection("EXAMPLES", " tool --json x");
  EXPECT_EQ(tool.Parse({"--help", "--nonsense"}), "");
  EXPECT_TRUE(tool.flags.help_wanted());
  EXPECT_EQ(tool.flags.Help(),
            R"(NAME
    tool - does what a test needs

SYNOPSIS
    tool [flags] IN

DESCRIPTION
    A first paragraph that is long enough to be wrapped at eighty columns, as
    they are.

    A second.
      as it is

ARGUMENTS
    IN
        the input

FLAGS
    --steps N
        optimizer steps (default: 100)
    --seed N
        random seed (default: 42)
    --lr RATE
        learning rate (default: 0.001)
    --json
        end with one JSON object
    --color
        colours (default: true)
    --save_file FILE
        where the model goes
    --help
        prints this

EXAMPLES
     tool --json x

EXIT STATUS
    0 success, 1 failure, 2 wrong usage
)");
}

TEST(FlagsDeathTest, ParseOrExit) {
  const auto run = [](std::vector<std::string> args) {
    args.insert(args.begin(), "tool");
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    Tool().flags.ParseOrExit(static_cast<int>(argv.size()), argv.data());
    exit(77);
  };
  EXPECT_EXIT(run({"--wrong"}), testing::ExitedWithCode(2), "^error: unknown flag --wrong");
  EXPECT_EXIT(run({"--help"}), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run({"--steps=3"}), testing::ExitedWithCode(77), "");
  setenv("DEBUG", "loud", 1);
  EXPECT_EXIT(run({}), testing::ExitedWithCode(2), "^error: DEBUG=loud: expected an integer");
  unsetenv("DEBUG");
}

}  // namespace
}  // namespace tg::base
