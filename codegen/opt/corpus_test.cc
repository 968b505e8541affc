// The kernels in testdata/kernels: every legal single step and random sequences of steps leave what
// a kernel computes as it is. The interpreter runs the lowered programs and checks each access.
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/runfiles.h"
#include "codegen/interp/interpreter.h"
#include "codegen/lower/lower.h"
#include "codegen/lower/program_verify.h"
#include "codegen/opt/actions.h"
#include "codegen/opt/heuristics.h"
#include "codegen/opt/kernel_text.h"
#include "codegen/opt/opt_text.h"
#include "codegen/opt/optimize.h"
#include "codegen/render/llvm/llvm_cpu_renderer.h"
#include "codegen/render/testing/run_program.h"
#include "gtest/gtest.h"

namespace tg::opt {
namespace {

using ir::DType;
using ir::Opt;
using ir::UOp;
using Memories = std::vector<std::vector<uint8_t>>;  // by slot

render::Target Avx512() {
  return {.name = "TEST",
          .vector_bytes = 64,
          .vector_registers = 32,
          .has_threads = true,
          .supports = [](DType d) { return !d.IsWeak(); },
          .native_op = [](ir::Op, DType) { return true; }};
}

// Small integers; those of integer types are indices into anything.
Memories RandomMemories(const lower::LinearProgram& program) {
  std::mt19937 random(17);
  Memories m;
  for (const lower::ProgramParam& p : program.params) {
    std::vector<uint8_t> bytes(p.size * p.dtype.bytes());
    for (int64_t i = 0; i < p.size; ++i) {
      const auto x = static_cast<int64_t>(random() % 7);
      render::WriteElement(
          bytes.data(), p.dtype, i,
          {.f = static_cast<double>(x - 3), .i = p.dtype == ir::kBool ? x > 3 : x / 2});
    }
    m.push_back(std::move(bytes));
  }
  return m;
}

// How much results of a kernel may differ: sums are added in other orders.
double Tolerance(DType d) {
  if (!d.IsFloat()) return -1;
  if (d == ir::kFloat64) return 1e-12;
  if (d == ir::kFloat32) return 2e-5;
  return d == ir::kFloat16 ? 4e-3 : 3e-2;
}

std::string Difference(const lower::LinearProgram& program, const Memories& want,
                       const Memories& got) {
  for (size_t slot = 0; slot < want.size(); ++slot) {
    const DType d = program.params[slot].dtype;
    for (int64_t i = 0; i < program.params[slot].size; ++i) {
      const render::Number x = render::ReadElement(want[slot].data(), d, i);
      const render::Number y = render::ReadElement(got[slot].data(), d, i);
      if (render::SameNumber(x, y, d)) continue;
      if (std::abs(x.f - y.f) <= Tolerance(d) * std::max(1.0, std::abs(x.f))) continue;
      return absl::StrCat("parameter ", slot, ", element ", i, ": ", render::NumberToString(y, d),
                          ", not ", render::NumberToString(x, d));
    }
  }
  return "";
}

class CorpusTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto path = base::FindRunfile(absl::StrCat("testdata/kernels/", GetParam(), ".txt"));
    ASSERT_TRUE(path.ok()) << path.status();
    const auto text = base::ReadFile(*path);
    ASSERT_TRUE(text.ok()) << text.status();
    auto kernels = ParseKernels(*text);
    ASSERT_TRUE(kernels.ok()) << kernels.status();
    kernels_ = *std::move(kernels);
  }

  // Variables are run at the ends of their bounds.
  static std::vector<std::vector<int64_t>> Variables(const lower::LinearProgram& program) {
    if (program.variables.empty()) return {{}};
    std::vector<std::vector<int64_t>> values(2);
    for (const UOp& v : program.variables) {
      values[0].push_back(v.vmax());
      values[1].push_back(v.vmin());
    }
    return values;
  }

  // What the kernel computes without any step, for each of Variables().
  static absl::StatusOr<std::vector<Memories>> Run(const UOp& ast, const Memories& start) {
    const absl::StatusOr<lower::LinearProgram> program = lower::Lower(ast, Avx512());
    if (!program.ok()) return program.status();
    if (absl::Status s = lower::VerifyProgram(*program); !s.ok()) return s;
    std::vector<Memories> results;
    for (const std::vector<int64_t>& variables : Variables(*program)) {
      results.push_back(start);
      std::vector<absl::Span<uint8_t>> spans(results.back().begin(), results.back().end());
      if (absl::Status s = interp::Interpret(*program, absl::MakeSpan(spans), variables); !s.ok()) {
        return s;
      }
    }
    return results;
  }

  struct Reference {
    Kernel kernel;
    lower::LinearProgram program;
    Memories start;
    std::vector<Memories> results;
  };

  static void MakeReference(const KernelText& text, std::optional<Reference>* out) {
    absl::StatusOr<Kernel> kernel = PrepareKernel(text.ast, Avx512());
    ASSERT_TRUE(kernel.ok()) << text.name << ": " << kernel.status();
    absl::StatusOr<Kernel> plain = Kernel::Make(text.ast, LimitsOf(Avx512()));
    ASSERT_TRUE(plain.ok()) << text.name << ": " << plain.status();
    const auto program = lower::Lower(plain->Ast(), Avx512());
    ASSERT_TRUE(program.ok()) << text.name << ": " << program.status();
    Memories start = RandomMemories(*program);
    auto results = Run(plain->Ast(), start);
    ASSERT_TRUE(results.ok()) << text.name << ": " << results.status();
    ASSERT_NE(results->front(), start) << text.name << " computes nothing";
    out->emplace(Reference{*std::move(kernel), *program, std::move(start), *std::move(results)});
  }

  static void ExpectSame(const Reference& reference, const Kernel& kernel,
                         const std::string& name) {
    const auto got = Run(kernel.Ast(), reference.start);
    ASSERT_TRUE(got.ok()) << name << ": " << ToString(kernel.applied()) << ": " << got.status();
    for (size_t i = 0; i < got->size(); ++i) {
      EXPECT_EQ(Difference(reference.program, reference.results[i], (*got)[i]), "")
          << name << ": " << ToString(kernel.applied());
    }
  }

  std::vector<KernelText> kernels_;
};

TEST_P(CorpusTest, EachLegalStep) {
  int steps = 0;
  for (const KernelText& text : kernels_) {
    std::optional<Reference> reference;
    ASSERT_NO_FATAL_FAILURE(MakeReference(text, &reference));
    ExpectSame(*reference, reference->kernel, text.name);
    for (const Opt& opt : LegalOpts(reference->kernel, {.pad = true})) {
      Kernel kernel = reference->kernel;
      ASSERT_TRUE(kernel.Apply(opt).ok()) << text.name << ": " << ToString(opt);
      ExpectSame(*reference, kernel, text.name);
      if (HasFailure()) return;
      ++steps;
    }
  }
  std::printf("%s: %d steps\n", GetParam(), steps);
  EXPECT_GT(steps, static_cast<int>(kernels_.size()));
}

TEST_P(CorpusTest, RandomSequences) {
  std::mt19937 random(23);
  for (const KernelText& text : kernels_) {
    std::optional<Reference> reference;
    ASSERT_NO_FATAL_FAILURE(MakeReference(text, &reference));
    for (int walk = 0; walk < 16; ++walk) {
      Kernel kernel = reference->kernel;
      for (int i = 0; i < 6; ++i) {
        const std::vector<Opt> opts = LegalOpts(kernel, {.pad = walk % 2 == 1});
        if (opts.empty()) break;
        ASSERT_TRUE(kernel.Apply(opts[random() % opts.size()]).ok());
      }
      ExpectSame(*reference, kernel, text.name);
      if (HasFailure()) return;
    }
  }
}

// What the heuristics choose, interpreted and as this machine's code between guard pages.
TEST_P(CorpusTest, HandCodedSteps) {
  const auto renderer = render::MakeLlvmCpuRenderer();
  for (const KernelText& text : kernels_) {
    std::optional<Reference> reference;
    ASSERT_NO_FATAL_FAILURE(MakeReference(text, &reference));
    Kernel kernel = reference->kernel;
    for (const Opt& opt : HandCodedOpts(kernel, Avx512(), 3)) {
      ASSERT_TRUE(kernel.Apply(opt).ok()) << text.name << ": " << ToString(opt);
    }
    ExpectSame(*reference, kernel, text.name);

    const auto program =
        lower::Lower(Optimize(text.ast, renderer->target(), 3), renderer->target());
    ASSERT_TRUE(program.ok()) << text.name << ": " << program.status();
    const auto compiled = render::CompiledProgram::Compile(*renderer, *program);
    ASSERT_TRUE(compiled.ok()) << text.name << ": " << compiled.status();
    const std::vector<std::vector<int64_t>> variables = Variables(*program);
    for (size_t i = 0; i < variables.size(); ++i) {
      Memories got;
      std::vector<render::GuardedMemory> memory;
      std::vector<void*> buffers;
      for (const std::vector<uint8_t>& m : reference->start) {
        memory.emplace_back(m.size());
        std::memcpy(memory.back().data(), m.data(), m.size());
        buffers.push_back(memory.back().data());
      }
      compiled->Run(buffers, variables[i]);
      for (const render::GuardedMemory& m : memory) {
        const auto bytes = m.as<uint8_t>();
        got.emplace_back(bytes.begin(), bytes.end());
      }
      EXPECT_EQ(Difference(*program, reference->results[i], got), "") << text.name;
    }
    if (HasFailure()) return;
  }
}

// A step that is wrong would be noticed: another kernel's results differ.
TEST_P(CorpusTest, ADifferenceIsSeen) {
  std::optional<Reference> reference;
  ASSERT_NO_FATAL_FAILURE(MakeReference(kernels_[0], &reference));
  Memories wrong = reference->results[0];
  const DType d = reference->program.params[0].dtype;
  const render::Number x = render::ReadElement(wrong[0].data(), d, 0);
  render::WriteElement(wrong[0].data(), d, 0, {.f = x.f * 1.1 + 1, .i = x.i + 1});
  EXPECT_NE(Difference(reference->program, reference->results[0], wrong), "");
}

INSTANTIATE_TEST_SUITE_P(Files, CorpusTest,
                         testing::Values("conv", "elementwise", "gather", "matmul", "reduce",
                                         "symbolic"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tg::opt
