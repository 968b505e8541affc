// What the LLVM renderer makes of the forms that speed depends on. Results are tested with the
// other renderers, in codegen/render.

#include "codegen/render/llvm/llvm_cpu_renderer.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "codegen/render/testing/program_builder.h"
#include "gtest/gtest.h"

namespace tg::render {
namespace {

using ir::UOp;

UOp I32(int64_t v) { return ir::Const(ir::kInt32, v); }

int Count(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// The body of an inner loop: a dot product of 16 lanes.
lower::LinearProgram DotProduct() {
  ProgramBuilder b("dot");
  const UOp x = b.Param(ir::kFloat32, 1024), y = b.Param(ir::kFloat32, 1024),
            out = b.Param(ir::kFloat32, 16);
  const UOp acc = b.Register(ir::kFloat32, 16);
  b.Store(acc, I32(0), ir::Const(ir::kFloat32.Vec(16), 0.0));
  const UOp i = b.Loop(64);
  b.Store(acc, I32(0), b.Load(acc, I32(0), 16) + b.Load(x, i * 16, 16) * b.Load(y, i * 16, 16));
  b.End(i);
  b.Store(out, I32(0), b.Load(acc, I32(0), 16));
  return b.Finish();
}

TEST(LlvmCpuRendererTest, TextIsLlvmAssembly) {
  auto text = MakeLlvmCpuRenderer()->Render(DotProduct());
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_TRUE(absl::StrContains(*text, "define void @dot(")) << *text;
  EXPECT_TRUE(absl::StrContains(*text, "fmul contract <16 x float>")) << *text;
  EXPECT_TRUE(absl::StrContains(*text, "!alias.scope")) << *text;
}

#if defined(__x86_64__)
TEST(LlvmCpuRendererTest, AccumulatorsAreRegisters) {
  const auto renderer = MakeLlvmCpuRenderer({.cpu = "znver4", .verify = true});
  EXPECT_EQ(renderer->target().vector_bytes, 64);
  EXPECT_EQ(renderer->target().vector_registers, 32);
  auto text = LlvmAssembly(*renderer, DotProduct());
  ASSERT_TRUE(text.ok()) << text.status();
  // The sum stays in its register: one fused multiply-add, nothing on the stack.
  EXPECT_EQ(Count(*text, "vfmadd"), 1) << *text;
  EXPECT_FALSE(absl::StrContains(*text, "rsp")) << *text;
}

TEST(LlvmCpuRendererTest, WidthFollowsTheProcessor) {
  for (const auto& [cpu, bytes, word] : {std::tuple("x86-64", 16, "mulps"),
                                         {"x86-64-v3", 32, "ymm"},
                                         {"sapphirerapids", 64, "zmm"}}) {
    const auto renderer = MakeLlvmCpuRenderer({.cpu = cpu, .verify = true});
    EXPECT_EQ(renderer->target().vector_bytes, bytes) << cpu;
    auto text = LlvmAssembly(*renderer, DotProduct());
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_TRUE(absl::StrContains(*text, word)) << *text;
    EXPECT_EQ(renderer->target().native_op(ir::Op::kMulAcc, ir::kFloat32), bytes > 16) << cpu;
    EXPECT_EQ(renderer->target().supports(ir::kFloat16), bytes == 64) << cpu;
  }
}

// relu: one instruction, though NaN must pass.
TEST(LlvmCpuRendererTest, MaximumWithAConstantIsOneInstruction) {
  ProgramBuilder b("relu");
  const UOp x = b.Param(ir::kFloat32, 16), out = b.Param(ir::kFloat32, 16);
  b.Store(out, I32(0), ir::Max(b.Load(x, I32(0), 16), ir::Const(ir::kFloat32.Vec(16), 0.0)));
  auto text = LlvmAssembly(*MakeLlvmCpuRenderer({.cpu = "znver4"}), b.Finish());
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(Count(*text, "vmaxps"), 1) << *text;
  EXPECT_EQ(Count(*text, "vcmp"), 0) << *text;
}
#endif

TEST(LlvmCpuRendererTest, UnknownProcessor) {
  const auto status = MakeLlvmCpuRenderer({.cpu = "no-such-cpu"})->Compile(DotProduct()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "no-such-cpu")) << status;
}

TEST(LlvmCpuRendererTest, LocalMemoryHasALimit) {
  ProgramBuilder b("local");
  b.Local(ir::kFloat32, 2 << 20);
  const auto status = MakeLlvmCpuRenderer()->Compile(b.Finish()).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

}  // namespace
}  // namespace tg::render
