#include "codegen/render/cstyle/compiler_process.h"

#include "absl/strings/match.h"
#include "codegen/render/cstyle/clang_renderer.h"
#include "codegen/render/testing/program_builder.h"
#include "gtest/gtest.h"

namespace tg::render {
namespace {

TEST(CompilerProcessTest, InputBecomesOutput) {
  // More than a pipe holds.
  const std::string input(1 << 20, 'x');
  auto output = RunCompiler({"cat"}, input);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(*output, input);
}

TEST(CompilerProcessTest, ArgumentsAreNotInterpreted) {
  auto output = RunCompiler({"printf", "%s|", "a b", "$HOME", ";ls"}, "");
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(*output, "a b|$HOME|;ls|");
}

TEST(CompilerProcessTest, FailuresTellWhy) {
  auto missing = RunCompiler({"tg-no-such-compiler"}, "");
  EXPECT_TRUE(absl::IsNotFound(missing.status())) << missing.status();
  auto failed = RunCompiler({"sh", "-c", "echo what is wrong >&2; exit 3"}, "");
  EXPECT_TRUE(absl::IsInternal(failed.status()));
  EXPECT_TRUE(absl::StrContains(failed.status().message(), "status 3")) << failed.status();
  EXPECT_TRUE(absl::StrContains(failed.status().message(), "what is wrong")) << failed.status();
  auto killed = RunCompiler({"sh", "-c", "kill -9 $$"}, "");
  EXPECT_TRUE(absl::StrContains(killed.status().message(), "signal 9")) << killed.status();
  auto wordy = RunCompiler({"sh", "-c", "head -c 1000000 /dev/zero >&2; exit 1"}, "");
  EXPECT_LT(wordy.status().message().size(), 20000u);
}

TEST(ClangRendererTest, SaysWhichCompilerIsMissing) {
  ProgramBuilder b("nothing");
  const auto status =
      MakeClangRenderer({.compiler = "tg-no-such-compiler"})->Compile(b.Finish()).status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_TRUE(absl::StrContains(status.message(), "tg-no-such-compiler")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "clang-22")) << status;
}

TEST(ClangRendererTest, PassesTheCompilersMessageOn) {
  ProgramBuilder b("wrong");
  b.Add(ir::UOp::Make(ir::Op::kCustom, ir::kVoid, {}, ir::Arg(std::string("undeclared = 1;"))));
  const auto status = MakeClangRenderer()->Compile(b.Finish()).status();
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_TRUE(absl::StrContains(status.message(), "undeclared")) << status;
}

}  // namespace
}  // namespace tg::render
