// Compile times of typical kernels, and how close to the machine's limits their code gets.
//
//   bazel run -c opt //bench:render_benchmark

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/limits.h"
#include "benchmark/benchmark.h"
#include "codegen/render/cstyle/clang_renderer.h"
#include "codegen/render/llvm/llvm_cpu_renderer.h"
#include "codegen/render/testing/program_builder.h"
#include "codegen/render/testing/run_program.h"

namespace tg::bench {
namespace {

using ir::Op;
using ir::UOp;
using render::CompiledProgram;
using render::ProgramBuilder;
using render::Renderer;

UOp I32(int64_t v) { return ir::Const(ir::kInt32, v); }

// out[i] = max(a[i] * b[i] + c, 0) over `n` floats, `unroll` vectors at once.
lower::LinearProgram Elementwise(int64_t n, int lanes, int unroll) {
  ProgramBuilder b("elementwise");
  const UOp x = b.Param(ir::kFloat32, n), y = b.Param(ir::kFloat32, n),
            out = b.Param(ir::kFloat32, n);
  const UOp i = b.Loop(n / (lanes * unroll));
  for (int k = 0; k < unroll; ++k) {
    const UOp at = i * (lanes * unroll) + k * lanes;
    const UOp v =
        b.Load(x, at, lanes) * b.Load(y, at, lanes) + ir::Const(ir::kFloat32.Vec(lanes), 3.0);
    b.Store(out, at, ir::Max(v, ir::Const(ir::kFloat32.Vec(lanes), 0.0)));
  }
  b.End(i);
  return b.Finish();
}

// c[m][n] = sum over k of a[m][k] * b[k][n], tiles of `rows` by `vectors` vectors in registers.
lower::LinearProgram MatrixProduct(int64_t m, int64_t n, int64_t k, int rows, int vectors,
                                   int lanes) {
  ProgramBuilder b("matmul");
  const UOp left = b.Param(ir::kFloat32, m * k), right = b.Param(ir::kFloat32, k * n),
            out = b.Param(ir::kFloat32, m * n);
  const int width = vectors * lanes;
  const UOp im = b.Loop(m / rows), in = b.Loop(n / width);
  const UOp acc = b.Register(ir::kFloat32, rows * width);
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      b.Store(acc, I32(r * width + v * lanes), ir::Const(ir::kFloat32.Vec(lanes), 0.0));
    }
  }
  const UOp column = b.Add(in * width);  // used inside of the next loop and after it
  const UOp ik = b.Loop(k);
  std::vector<UOp> columns;
  for (int v = 0; v < vectors; ++v)
    columns.push_back(b.Load(right, ik * n + column + v * lanes, lanes));
  for (int r = 0; r < rows; ++r) {
    const UOp scale = b.Splat(b.Load(left, im * (rows * k) + ik + r * k), lanes);
    for (int v = 0; v < vectors; ++v) {
      const UOp place = I32(r * width + v * lanes);
      b.Store(acc, place, b.Load(acc, place, lanes) + scale * columns[v]);
    }
  }
  b.End(ik);
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      b.Store(out, im * (rows * n) + column + (r * n + v * lanes),
              b.Load(acc, I32(r * width + v * lanes), lanes));
    }
  }
  b.End(in);
  b.End(im);
  return b.Finish();
}

// A padded 5x5 convolution of one row of outputs: gated loads.
lower::LinearProgram Convolution(int lanes) {
  ProgramBuilder b("conv");
  const int channels = 32, size = 28;
  const UOp in = b.Param(ir::kFloat32, channels * size * size),
            weights = b.Param(ir::kFloat32, 8 * 25 * channels),
            out = b.Param(ir::kFloat32, 8 * size * size);
  const UOp y = b.Loop(size), x = b.Loop(size - lanes + 1);
  const UOp acc = b.Register(ir::kFloat32, 8 * lanes);
  for (int o = 0; o < 8; ++o) b.Store(acc, I32(o * lanes), ir::Const(ir::kFloat32.Vec(lanes), 0.0));
  const UOp c = b.Loop(channels), ky = b.Loop(5);
  const UOp row = y + ky + (-2);
  const UOp inside = ir::Not(row < 0) & (row < size);
  for (int kx = 0; kx < 5; ++kx) {
    const UOp column = x + (kx - 2);
    const UOp gate = inside & ir::Not(column < 0) & (column < size - lanes);
    const UOp v = b.Load(in, c * (size * size) + row * size + column, lanes, gate,
                         ir::Const(ir::kFloat32.Vec(lanes), 0.0));
    for (int o = 0; o < 8; ++o) {
      const UOp w = b.Load(weights, c * 25 + ky * 5 + (o * 25 * channels + kx));
      b.Store(acc, I32(o * lanes), b.Load(acc, I32(o * lanes), lanes) + v * b.Splat(w, lanes));
    }
  }
  b.End(ky);
  b.End(c);
  for (int o = 0; o < 8; ++o) {
    b.Store(out, y * size + x + o * size * size, b.Load(acc, I32(o * lanes), lanes));
  }
  b.End(x);
  b.End(y);
  return b.Finish();
}

const Renderer& Llvm() {
  static const Renderer& renderer = *render::MakeLlvmCpuRenderer().release();
  return renderer;
}
const Renderer& Clang() {
  static const Renderer& renderer = *render::MakeClangRenderer().release();
  return renderer;
}
int Lanes() { return Llvm().target().vector_bytes / 4; }

void Compile(benchmark::State& state, const Renderer& renderer,
             const lower::LinearProgram& program) {
  for (auto _ : state) {
    auto object = renderer.Compile(program);
    if (!object.ok()) {
      return state.SkipWithError(std::string(object.status().message()).c_str());
    }
    state.counters["object_bytes"] = static_cast<double>(object->size());
  }
}

void Run(benchmark::State& state, const Renderer& renderer, const lower::LinearProgram& program,
         double operations, double bytes) {
  auto compiled = CompiledProgram::Compile(renderer, program);
  if (!compiled.ok()) return state.SkipWithError(std::string(compiled.status().message()).c_str());
  std::vector<std::unique_ptr<float[]>> memory;
  std::vector<void*> buffers;
  for (const lower::ProgramParam& p : program.params) {
    memory.emplace_back(new float[p.size + 16]());
    buffers.push_back(reinterpret_cast<void*>(
        (reinterpret_cast<uintptr_t>(memory.back().get()) + 63) & ~uintptr_t{63}));
  }
  for (auto _ : state) compiled->Run(buffers);
  using benchmark::Counter;
  if (operations > 0) {
    state.counters["GFLOPS"] = Counter(operations * 1e-9, Counter::kIsIterationInvariantRate);
    state.counters["of_peak"] = Counter(operations * 1e-9 / MachineLimits().fma_gflops_one_core,
                                        Counter::kIsIterationInvariantRate);
  }
  if (bytes > 0) {
    state.counters["GB/s"] = Counter(bytes * 1e-9, Counter::kIsIterationInvariantRate);
  }
}

void BM_CompileElementwise(benchmark::State& state) {
  Compile(state, Llvm(), Elementwise(1 << 20, Lanes(), 4));
}
void BM_CompileMatrixProduct(benchmark::State& state) {
  Compile(state, Llvm(), MatrixProduct(480, 512, 256, 12, 2, Lanes()));
}
void BM_CompileConvolution(benchmark::State& state) {
  Compile(state, Llvm(), Convolution(Lanes()));
}
void BM_CompileMatrixProductClang(benchmark::State& state) {
  Compile(state, Clang(), MatrixProduct(480, 512, 256, 12, 2, Lanes()));
}
BENCHMARK(BM_CompileElementwise)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CompileMatrixProduct)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CompileConvolution)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CompileMatrixProductClang)->Unit(benchmark::kMillisecond);

// In the first-level cache: 3 * 2048 floats.
void BM_Elementwise(benchmark::State& state) {
  Run(state, Llvm(), Elementwise(2048, Lanes(), 4), 0, 3.0 * 4 * 2048);
}
void BM_MatrixProduct(benchmark::State& state) {
  Run(state, Llvm(), MatrixProduct(48, 64, 256, 12, 2, Lanes()), 2.0 * 48 * 64 * 256, 0);
}
void BM_MatrixProductClang(benchmark::State& state) {
  Run(state, Clang(), MatrixProduct(48, 64, 256, 12, 2, Lanes()), 2.0 * 48 * 64 * 256, 0);
}
void BM_Convolution(benchmark::State& state) {
  const int lanes = Lanes();
  Run(state, Llvm(), Convolution(lanes), 2.0 * 28 * (29 - lanes) * lanes * 8 * 25 * 32, 0);
}
void BM_ConvolutionClang(benchmark::State& state) {
  const int lanes = Lanes();
  Run(state, Clang(), Convolution(lanes), 2.0 * 28 * (29 - lanes) * lanes * 8 * 25 * 32, 0);
}
BENCHMARK(BM_Elementwise);
BENCHMARK(BM_MatrixProduct);
BENCHMARK(BM_MatrixProductClang);
BENCHMARK(BM_Convolution);
BENCHMARK(BM_ConvolutionClang);

}  // namespace
}  // namespace tg::bench
