// The text of kernels: what people read with DEBUG=4.

#include "codegen/render/cstyle/c_renderer.h"

#include "codegen/render/testing/program_builder.h"
#include "gtest/gtest.h"

namespace tg::render {
namespace {

using ir::Op;
using ir::UOp;

UOp I32(int64_t v) { return ir::Const(ir::kInt32, v); }

std::string Render(ProgramBuilder& b) {
  auto text = RenderC(b.Finish(), ClangDialect());
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

TEST(CRendererTest, ScalarLoop) {
  ProgramBuilder b("add");
  const UOp x = b.Param(ir::kFloat32, 64), y = b.Param(ir::kFloat32, 64);
  const UOp i = b.Loop(64);
  b.Store(y, i, b.Load(x, i) * ir::Const(ir::kFloat32, 2.5) + ir::Const(ir::kFloat32, -1));
  b.End(i);
  EXPECT_EQ(
      Render(b),
      R"(static inline __attribute__((always_inline)) void add_body(const float* restrict data0, float* restrict data1, const long core_id) {
  for (int idx0 = 0; idx0 < 64; idx0++) {
    float val0 = data0[idx0];
    data1[idx0] = ((val0*2.5f)+(-1.0f));
  }
}
void add(void* const* buffers, const long* vars, long core_id) {
  add_body(buffers[0], buffers[1], core_id);
}
)");
}

TEST(CRendererTest, AccumulatorInVectors) {
  ProgramBuilder b("sum");
  const UOp x = b.Param(ir::kFloat32, 64), y = b.Param(ir::kFloat32, 1);
  const UOp acc = b.Register(ir::kFloat32, 4);
  b.Store(acc, I32(0), ir::Const(ir::kFloat32.Vec(4), 0.0));
  const UOp i = b.Loop(I32(16), ir::AxisType::kReduce);
  const UOp sum = b.Load(acc, I32(0), 4);
  b.Store(acc, I32(0), sum + b.Load(x, i * 4, 4));
  b.End(i);
  b.Store(y, I32(0), b.Reduce(Op::kAdd, b.Load(acc, I32(0), 4)));
  EXPECT_EQ(Render(b), R"(typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float4_m __attribute__((ext_vector_type(4), aligned(4)));
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float2_m __attribute__((ext_vector_type(2), aligned(4)));
static inline float reduce_add_float32x4(float4 x) {
  float2 x2 = __builtin_shufflevector(x, x, 0, 1) + __builtin_shufflevector(x, x, 2, 3);
  float x1 = x2[0] + x2[1];
  return x1;
}
static inline __attribute__((always_inline)) void sum_body(const float* restrict data0, float* restrict data1, const long core_id) {
  float4 acc0;
  acc0 = (float4)(0.0f);
  for (int Ridx1 = 0; Ridx1 < 16; Ridx1++) {
    float4 val0 = acc0;
    float4 val1 = *(const float4_m*)(data0+(Ridx1*4));
    acc0 = (val0+val1);
  }
  float4 val2 = acc0;
  data1[0] = reduce_add_float32x4(val2);
}
void sum(void* const* buffers, const long* vars, long core_id) {
  sum_body(buffers[0], buffers[1], core_id);
}
)");
}

// A value that is used in two places, or in a loop inside of where it is made, has a name.
TEST(CRendererTest, NamesWhatIsUsedTwice) {
  ProgramBuilder b("names");
  const UOp out = b.Param(ir::kInt32, 100);
  const UOp n = b.Variable("n", 1, 10);
  const UOp i = b.Loop(n);
  const UOp row = b.Add(i * n);
  const UOp gate = b.If(i < 5);
  const UOp j = b.Loop(n);
  b.Store(out, row + j, row * row);
  b.End(j);
  b.EndIf(gate);
  b.End(i);
  EXPECT_EQ(
      Render(b),
      R"(static inline __attribute__((always_inline)) void names_body(int* restrict data0, const long n, const long core_id) {
  for (int idx0 = 0; idx0 < ((int)(n)); idx0++) {
    int alu0 = (idx0*((int)(n)));
    if ((idx0<5)) {
      for (int idx1 = 0; idx1 < ((int)(n)); idx1++) {
        data0[(alu0+idx1)] = (alu0*alu0);
      }
    }
  }
}
void names(void* const* buffers, const long* vars, long core_id) {
  names_body(buffers[0], vars[0], core_id);
}
)");
}

TEST(CRendererTest, CustomText) {
  ProgramBuilder b("custom");
  const UOp out = b.Param(ir::kInt32, 1);
  const UOp n = b.Variable("n", 1, 10);
  b.Store(out, I32(0),
          UOp::Make(Op::kCustomI, ir::kInt32, {n, I32(3)},
                    ir::Arg(std::string("__builtin_clz({0}+{1})"))));
  const std::string text = Render(b);
  EXPECT_NE(text.find("data0[0] = __builtin_clz(((int)(n))+3);"), std::string::npos) << text;
}

}  // namespace
}  // namespace tg::render
