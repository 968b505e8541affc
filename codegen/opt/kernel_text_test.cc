#include "codegen/opt/kernel_text.h"

#include <random>

#include "codegen/ir/print.h"
#include "codegen/opt/testing/kernels.h"
#include "gtest/gtest.h"

namespace tg::opt {
namespace {

std::string Error(absl::string_view text) {
  const auto kernels = ParseKernels(text);
  return kernels.ok() ? "" : std::string(kernels.status().message());
}

TEST(KernelText, PrintedTextParsesBack) {
  const std::vector<NamedKernel> kernels = {Matmul(4, 8, 3, false, true), Elementwise({5}),
                                            Sum(3, 7, true)};
  std::string text = "# some kernels\n\n";
  for (const NamedKernel& k : kernels) text += PrintKernel({k.name, k.ast});
  const auto parsed = ParseKernels(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->size(), kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ((*parsed)[i].name, kernels[i].name);
    EXPECT_EQ((*parsed)[i].ast, kernels[i].ast);
  }
}

TEST(KernelText, OneGraphNeedsNoName) {
  const auto parsed = ParseKernels(ir::Print(Sum(3, 7, true).ast));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->size(), 1u);
  EXPECT_EQ((*parsed)[0].name, "kernel");
}

TEST(KernelText, Errors) {
  EXPECT_EQ(Error(""), "there is no kernel");
  EXPECT_EQ(Error("# only a remark\n\n"), "there is no kernel");
  EXPECT_EQ(Error("kernel  \n"), "line 1: a kernel's name is one word");
  EXPECT_EQ(Error("kernel a b\n"), "line 1: a kernel's name is one word");
  EXPECT_EQ(Error("kernel a\n%0 = Const int32 1\n\nkernel a\n"),
            "line 4: there are two kernels named a");
  EXPECT_EQ(Error("%0 = Const int32 1\nkernel a\n"), "line 2: what stands before has no name");
  EXPECT_EQ(Error("kernel a\n%0 = Const int32 1\nkernel b\n\n%0 = Nonsense int32\n"),
            "kernel b, after line 3: line 2, column 6: unknown operation 'Nonsense'");
}

// Whatever the bytes, an error and nothing else.
TEST(KernelText, TruncatedAndRandomText) {
  const std::string text = PrintKernel({"m", Matmul(4, 8, 3, false, true).ast});
  for (size_t size = 0; size < text.size(); ++size) (void)ParseKernels(text.substr(0, size));
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    std::string bad = text;
    for (int j = 0; j < 3; ++j) bad[random() % bad.size()] = static_cast<char>(random() % 256);
    (void)ParseKernels(bad);
  }
}

}  // namespace
}  // namespace tg::opt
