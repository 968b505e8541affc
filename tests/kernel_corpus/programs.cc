#include "tests/kernel_corpus/programs.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/ir/uop.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/index.h"

namespace tg::testing {
namespace {

using Tensors = std::vector<Tensor>;

Tensor In(const Shape& shape, DType dtype = kFloat32) { return Empty(shape, {dtype, {}}); }

class GroupBuilder {
 public:
  GroupBuilder(std::string name, std::string what) {
    group_.name = std::move(name);
    group_.what = std::move(what);
  }
  void Add(std::string name, std::function<Tensors()> results) {
    group_.programs.push_back({std::move(name), std::move(results)});
  }
  CorpusGroup Take() { return std::move(group_); }

 private:
  CorpusGroup group_;
};

struct Mnk {
  int64_t m, n, k;
};

CorpusGroup Matmuls() {
  GroupBuilder g("matmul",
                 "Matrix products: layouts, types, batches, epilogues, sizes that divide "
                 "nothing.");
  for (const auto& [m, n, k] : {Mnk{16, 32, 16}, Mnk{17, 33, 9}, Mnk{1, 48, 32}, Mnk{24, 1, 40},
                                Mnk{5, 7, 3}, Mnk{32, 16, 1}, Mnk{12, 20, 37}}) {
    const std::string size = absl::StrCat(m, "x", n, "x", k);
    const Shape a = {m, k}, at = {k, m}, b = {k, n}, bt = {n, k};
    g.Add("nn_" + size, [=] { return Tensors{In(a).MatMul(In(b))}; });
    g.Add("nt_" + size, [=] { return Tensors{In(a).MatMul(In(bt).T())}; });
    g.Add("tn_" + size, [=] { return Tensors{In(at).T().MatMul(In(b))}; });
    g.Add("tt_" + size, [=] { return Tensors{In(at).T().MatMul(In(bt).T())}; });
  }
  for (const auto& [name, dtype] : {std::pair<std::string, DType>{"f16", kFloat16},
                                    {"bf16", kBFloat16},
                                    {"f64", kFloat64},
                                    {"i32", kInt32},
                                    {"i8", kInt8},
                                    {"u8", kUInt8}}) {
    g.Add("nn_" + name, [dtype = dtype] {
      return Tensors{In({16, 12}, dtype).MatMul(In({12, 24}, dtype))};
    });
    g.Add("nt_" + name, [dtype = dtype] {
      return Tensors{In({9, 20}, dtype).MatMul(In({16, 20}, dtype).T())};
    });
  }
  g.Add("i8_to_i32", [] {
    return Tensors{In({8, 32}, kInt8).Cast(kInt32).MatMul(In({32, 16}, kInt8).Cast(kInt32))};
  });
  g.Add("bf16_to_f32", [] {
    return Tensors{In({8, 32}, kBFloat16).Float().MatMul(In({32, 16}, kBFloat16).Float())};
  });
  g.Add("batch", [] { return Tensors{In({3, 8, 10}).MatMul(In({3, 10, 16}))}; });
  g.Add("batch_broadcast", [] { return Tensors{In({4, 6, 8}).MatMul(In({8, 12}))}; });
  g.Add("heads", [] {
    const Tensor q = In({2, 6, 3, 8}).Permute({0, 2, 1, 3}),
                 k = In({2, 6, 3, 8}).Permute({0, 2, 3, 1});
    return Tensors{q.MatMul(k)};
  });
  g.Add("bias_relu", [] { return Tensors{In({12, 16}).Linear(In({16, 20}), In({20})).Relu()}; });
  g.Add("bias_gelu_residual", [] {
    return Tensors{In({6, 16}).Linear(In({16, 32}), In({32})).Gelu() + In({6, 32})};
  });
  g.Add("scaled_sum", [] { return Tensors{(In({8, 16}).MatMul(In({16, 8})) * 0.125).Sum(1)}; });
  g.Add("prologue", [] { return Tensors{(In({8, 16}) * 2 + 1).Relu().MatMul(In({16, 24}))}; });
  g.Add("outer", [] { return Tensors{In({17, 1}) * In({1, 40})}; });
  g.Add("dot", [] { return Tensors{(In({100}) * In({100})).Sum()}; });
  g.Add("einsum_bilinear", [] {
    const std::vector<Tensor> in = {In({5, 8}), In({6, 8, 4}), In({5, 4})};
    return Tensors{Tensor::Einsum("bi,oij,bj->bo", in)};
  });
  g.Add("einsum_trace", [] {
    const std::vector<Tensor> in = {In({9, 9})};
    return Tensors{Tensor::Einsum("ii->", in)};
  });
  return g.Take();
}

CorpusGroup Convolutions() {
  GroupBuilder g("conv", "Convolutions forward and back, pools.");
  struct C {
    std::string name;
    int64_t b, ci, y, x, co, k;
    Conv2dOptions options;
  };
  const C cases[] = {
      {"1x1", 2, 8, 5, 5, 16, 1, {}},
      {"3x3", 1, 4, 7, 9, 8, 3, {}},
      {"3x3_pad", 2, 3, 6, 6, 8, 3, {.padding = 1}},
      {"3x3_stride2", 1, 4, 9, 9, 8, 3, {.stride = 2, .padding = 1}},
      {"5x5", 1, 2, 8, 8, 6, 5, {.padding = 2}},
      {"3x3_dilated", 1, 2, 9, 9, 4, 3, {.dilation = 2}},
      {"3x3_grouped", 1, 8, 6, 6, 8, 3, {.groups = 2, .padding = 1}},
      {"3x3_depthwise", 1, 12, 6, 6, 12, 3, {.groups = 12, .padding = 1}},
      {"7x7_stride2", 1, 3, 14, 14, 8, 7, {.stride = 2, .padding = 3}},
      {"one_pixel", 3, 8, 3, 3, 10, 3, {}},
  };
  for (const C& c : cases) {
    auto inputs = [=] {
      return std::pair(In({c.b, c.ci, c.y, c.x}), In({c.co, c.ci / c.options.groups, c.k, c.k}));
    };
    g.Add("forward_" + c.name, [=] {
      const auto [x, w] = inputs();
      return Tensors{x.Conv2d(w, In({c.co}), c.options).Relu()};
    });
    g.Add("input_gradient_" + c.name, [=] {
      const auto [x, w] = inputs();
      const Tensor y = x.Conv2d(w, {}, c.options);
      return y.Gradient(Tensors{x}, In(y.shape()));
    });
    g.Add("weight_gradient_" + c.name, [=] {
      const auto [x, w] = inputs();
      const Tensor y = x.Conv2d(w, {}, c.options);
      return y.Gradient(Tensors{w}, In(y.shape()));
    });
  }
  g.Add("transposed", [] {
    return Tensors{In({1, 4, 5, 5}).ConvTranspose2d(In({4, 6, 3, 3}), {}, {.stride = 2})};
  });
  g.Add("one_dimension", [] { return Tensors{In({2, 3, 20}).Conv2d(In({4, 3, 5}))}; });
  g.Add("three_dimensions", [] {
    return Tensors{In({1, 2, 4, 5, 6}).Conv2d(In({3, 2, 2, 2, 2}))};
  });
  g.Add("max_pool", [] { return Tensors{In({2, 3, 8, 8}).MaxPool2d()}; });
  g.Add("max_pool_3x3_stride2", [] {
    return Tensors{In({1, 4, 9, 9}).MaxPool2d({.kernel = 3, .stride = 2, .padding = 1})};
  });
  g.Add("average_pool", [] { return Tensors{In({1, 5, 6, 6}).AvgPool2d({.kernel = 3})}; });
  g.Add("average_pool_no_pad", [] {
    return Tensors{
        In({1, 2, 7, 7}).AvgPool2d({.kernel = 3, .padding = 1, .count_include_pad = false})};
  });
  g.Add("max_pool_gradient", [] {
    const Tensor x = In({1, 3, 6, 6});
    return x.MaxPool2d().Gradient(Tensors{x}, In({1, 3, 3, 3}));
  });
  g.Add("global_average", [] { return Tensors{In({2, 7, 5, 5}).Mean({2, 3})}; });
  return g.Take();
}

CorpusGroup Reductions() {
  GroupBuilder g("reduce", "Sums, extrema, statistics, scans, row-wise kernels.");
  for (const Shape& s :
       {Shape{64, 48}, Shape{7, 13}, Shape{1, 200}, Shape{150, 1}, Shape{33, 16}}) {
    const std::string size = absl::StrCat(s[0].value(), "x", s[1].value());
    for (int axis : {0, 1}) {
      const std::string name = absl::StrCat(size, "_axis", axis);
      g.Add("sum_" + name, [=] { return Tensors{In(s).Sum(axis)}; });
      g.Add("max_" + name, [=] { return Tensors{In(s).Max(axis)}; });
      g.Add("mean_square_" + name, [=] { return Tensors{In(s).Square().Mean(axis)}; });
    }
    g.Add("sum_" + size, [=] { return Tensors{In(s).Sum()}; });
    g.Add("softmax_" + size, [=] { return Tensors{In(s).Softmax(1)}; });
    g.Add("layernorm_" + size, [=] { return Tensors{In(s).LayerNorm(1)}; });
  }
  const Shape s = {6, 5, 11};
  g.Add("sum_axis1", [=] { return Tensors{In(s).Sum(1)}; });
  g.Add("sum_axes02", [=] { return Tensors{In(s).Sum({0, 2})}; });
  g.Add("prod", [=] { return Tensors{In(s).Prod(2)}; });
  g.Add("min_i32", [=] { return Tensors{In(s, kInt32).Min(0)}; });
  g.Add("sum_i8", [=] { return Tensors{In(s, kInt8).Sum(2)}; });
  g.Add("sum_f16", [=] { return Tensors{In({8, 40}, kFloat16).Sum(1)}; });
  g.Add("sum_bf16", [=] { return Tensors{In({8, 40}, kBFloat16).Sum(0)}; });
  g.Add("any", [=] { return Tensors{In(s, kBool).Any(1)}; });
  g.Add("all", [=] { return Tensors{(In(s) > 0).All(2)}; });
  g.Add("count", [=] { return Tensors{(In(s) > 0).Cast(kInt32).Sum()}; });
  g.Add("argmax", [=] { return Tensors{In(s).ArgMax(2)}; });
  g.Add("argmin_first", [=] { return Tensors{In(s).ArgMin(0)}; });
  g.Add("variance", [=] { return Tensors{In(s).Var(2)}; });
  g.Add("deviation_all", [=] { return Tensors{In(s).Std()}; });
  g.Add("logsumexp", [=] { return Tensors{In(s).LogSumExp(2)}; });
  g.Add("log_softmax", [=] { return Tensors{In({9, 21}).LogSoftmax(1)}; });
  g.Add("cumsum", [=] { return Tensors{In({4, 19}).CumSum(1)}; });
  g.Add("cummax", [=] { return Tensors{In({19, 4}).CumMax(0)}; });
  g.Add("normalize", [=] { return Tensors{In({6, 17}).Normalize()}; });
  g.Add("rms_norm", [] {
    const Tensor x = In({5, 32});
    return Tensors{x * (x.Square().Mean(1, true) + 1e-6).Rsqrt() * In({32})};
  });
  g.Add("cross_entropy", [] {
    return Tensors{In({8, 10}).SparseCategoricalCrossEntropy(In({8}, kInt32))};
  });
  g.Add("cross_entropy_gradient", [] {
    const Tensor x = In({8, 10});
    return x.SparseCategoricalCrossEntropy(In({8}, kInt32)).Gradient(Tensors{x});
  });
  g.Add("batch_statistics", [] {
    const Tensor x = In({4, 6, 5, 5});
    return Tensors{x.Mean({0, 2, 3}), x.Var({0, 2, 3})};
  });
  g.Add("batch_norm", [] {
    return Tensors{In({2, 6, 5, 5}).BatchNorm(In({6}), In({6}), In({6}), In({6}))};
  });
  g.Add("attention", [] {
    return Tensors{In({2, 7, 8}).ScaledDotProductAttention(In({2, 9, 8}), In({2, 9, 8}))};
  });
  g.Add("attention_causal", [] {
    const Shape q = {1, 2, 8, 4};
    return Tensors{In(q).ScaledDotProductAttention(In(q), In(q), {}, true)};
  });
  return g.Take();
}

CorpusGroup Elementwise() {
  GroupBuilder g("elementwise", "Elementwise kernels, conversions, movement, generators.");
  const Shape s = {9, 14};
  g.Add("add", [=] { return Tensors{In(s) + In(s)}; });
  g.Add("add_long", [] { return Tensors{In({333}) + In({333})}; });
  g.Add("relu_chain", [=] { return Tensors{(In(s) * 2 + In(s)).Relu() - In(s)}; });
  g.Add("broadcast_row", [=] { return Tensors{In(s) * In({14})}; });
  g.Add("broadcast_column", [=] { return Tensors{In(s) * In({9, 1})}; });
  g.Add("where", [=] { return Tensors{(In(s) > In(s)).Where(In(s), -1.0)}; });
  g.Add("clamp", [=] { return Tensors{In(s).Clamp(-1, 2)}; });
  g.Add("gelu", [=] { return Tensors{In(s).Gelu()}; });
  g.Add("silu", [=] { return Tensors{In(s).Silu()}; });
  g.Add("exp_log", [=] { return Tensors{(In(s).Exp() + 1).Log()}; });
  g.Add("sin_cos", [=] { return Tensors{In(s).Sin() * In(s).Cos()}; });
  g.Add("pow", [=] { return Tensors{In(s).Abs().Pow(1.5)}; });
  g.Add("erf", [=] { return Tensors{In(s).Erf()}; });
  g.Add("round", [=] { return Tensors{In(s).Round() + In(s).Floor()}; });
  g.Add("i32_divide", [=] { return Tensors{In(s, kInt32).FloorDiv(7) + In(s, kInt32).Mod(5)}; });
  g.Add("i64_multiply", [=] { return Tensors{In(s, kInt64) * In(s, kInt64) + 3}; });
  g.Add("u8_bits", [=] { return Tensors{(In(s, kUInt8) & 15) | (In(s, kUInt8) ^ 48)}; });
  g.Add("shift", [=] { return Tensors{(In(s, kInt32) << 3) + (In(s, kInt32) >> 1)}; });
  g.Add("bool_logic", [=] { return Tensors{In(s, kBool) & ~In(s, kBool)}; });
  for (const auto& [name, from, to] :
       {std::tuple<std::string, DType, DType>{"f32_f16", kFloat32, kFloat16},
        {"f16_f32", kFloat16, kFloat32},
        {"f32_bf16", kFloat32, kBFloat16},
        {"i8_f32", kInt8, kFloat32},
        {"f32_i32", kFloat32, kInt32},
        {"u8_i64", kUInt8, kInt64},
        {"bool_f32", kBool, kFloat32},
        {"f64_f32", kFloat64, kFloat32}}) {
    g.Add("cast_" + name, [=, from = from, to = to] { return Tensors{In(s, from).Cast(to)}; });
  }
  g.Add("transpose", [=] { return Tensors{In({20, 33}).T().Contiguous()}; });
  g.Add("permute", [] { return Tensors{In({3, 4, 5, 6}).Permute({2, 0, 3, 1}).Contiguous()}; });
  g.Add("transpose_add", [] { return Tensors{In({16, 16}).T() + In({16, 16})}; });
  g.Add("flip", [=] { return Tensors{In(s).Flip({0, 1}).Contiguous()}; });
  g.Add("pad", [=] { return Tensors{In(s).Pad({{1, 2}, {3, 0}})}; });
  g.Add("pad_value", [=] { return Tensors{In(s).Pad({{0, 1}, {2, 2}}, -1.5)}; });
  g.Add("pad_twice", [=] {
    return Tensors{(In(s).Pad({{1, 1}, {1, 1}}) + 1).Pad({{2, 0}, {0, 2}})};
  });
  g.Add("shrink", [=] { return Tensors{In(s).Index({Slice(2, 7), Slice(1, 13)}).Contiguous()}; });
  g.Add("stride", [=] {
    return Tensors{In(s).Index({Slice({}, {}, 2), Slice({}, {}, 3)}).Contiguous()};
  });
  g.Add("stride_backwards", [=] { return Tensors{In(s).Index({Slice({}, {}, -2)}).Contiguous()}; });
  g.Add("cat", [] { return Tensors{Tensor::Cat(Tensors{In({4, 7}), In({5, 7})}, 0)}; });
  g.Add("cat_inner", [] {
    return Tensors{Tensor::Cat(Tensors{In({6, 3}), In({6, 8}), In({6, 5})}, 1)};
  });
  g.Add("stack", [] { return Tensors{Tensor::Stack(Tensors{In({9}), In({9}), In({9})}, 1)}; });
  g.Add("repeat", [] { return Tensors{In({3, 5}).Repeat({2, 3})}; });
  g.Add("repeat_interleave", [] { return Tensors{In({3, 5}).RepeatInterleave(4, 1)}; });
  g.Add("roll", [=] { return Tensors{In(s).Roll({3, -2}, {0, 1}).Contiguous()}; });
  g.Add("unfold", [] { return Tensors{In({20}).Unfold(0, 5, 3).Contiguous()}; });
  g.Add("reshape_through", [] {
    return Tensors{(In({6, 8}).T().Reshape({4, 12}) + In({4, 12})).Contiguous()};
  });
  g.Add("triu", [] { return Tensors{In({11, 13}).Triu(1)}; });
  g.Add("tril", [] { return Tensors{In({12, 12}).Tril(-1)}; });
  g.Add("diagonal", [] { return Tensors{In({10, 10}).Diagonal().Contiguous()}; });
  g.Add("arange", [] { return Tensors{(Arange(100) * 3 + 1).Contiguous()}; });
  g.Add("eye", [] { return Tensors{Eye(9, 14).Contiguous()}; });
  g.Add("full", [] { return Tensors{Full({70}, 2.5).Contiguous()}; });
  g.Add("rotary", [] {
    const Tensor x = In({4, 6, 16});
    const Tensor even = x.Index({kEllipsis, Slice({}, {}, 2)}),
                 odd = x.Index({kEllipsis, Slice(1, {}, 2)});
    const Tensor c = In({6, 8}), t = In({6, 8});
    return Tensors{Tensor::Stack(Tensors{even * c - odd * t, even * t + odd * c}, -1).Flatten(2)};
  });
  g.Add("adam", [] {
    const Tensor grad = In({77}), m = In({77}) * 0.9 + grad * 0.1,
                 v = In({77}) * 0.99 + grad.Square() * 0.01;
    return Tensors{In({77}) - m / (v.Sqrt() + 1e-8) * 0.001, m, v};
  });
  return g.Take();
}

CorpusGroup Gathers() {
  GroupBuilder g("gather", "Indices from memory, masks.");
  g.Add("rows", [] { return Tensors{In({10, 6}).Index({In({7}, kInt32)})}; });
  g.Add("rows_i64", [] { return Tensors{In({10, 6}).Index({In({7}, kInt64)})}; });
  g.Add("columns", [] { return Tensors{In({5, 12}).Index({Slice(), In({9}, kInt32)})}; });
  g.Add("points", [] { return Tensors{In({8, 9}).Index({In({6}, kInt32), In({6}, kInt32)})}; });
  g.Add("grid", [] { return Tensors{In({8, 9}).Index({In({4, 1}, kInt32), In({5}, kInt32)})}; });
  g.Add("along_axis", [] { return Tensors{In({6, 10}).Gather(1, In({6, 4}, kInt32))}; });
  g.Add("embedding_sum", [] { return Tensors{In({12, 8}).Index({In({5, 3}, kInt32)}).Sum(1)}; });
  g.Add("scatter", [] { return Tensors{In({6, 10}).Scatter(1, In({6, 3}, kInt32), In({6, 3}))}; });
  g.Add("one_hot", [] { return Tensors{In({9}, kInt32).OneHot(11)}; });
  g.Add("masked_fill", [] { return Tensors{In({7, 9}).MaskedFill(In({7, 9}, kBool), -1.0)}; });
  g.Add("masked_sum", [] { return Tensors{In({7, 30}, kBool).Where(In({7, 30}), 0.0).Sum(1)}; });
  g.Add("lower_sum", [] { return Tensors{In({13, 13}).Tril().Sum(1)}; });
  g.Add("padded_sum", [] { return Tensors{In({5, 9}).Pad({{2, 2}, {1, 3}}).Sum(0)}; });
  g.Add("padded_matmul", [] {
    return Tensors{In({6, 10}).Pad({{0, 0}, {1, 1}}).MatMul(In({12, 16}))};
  });
  g.Add("cat_matmul", [] {
    return Tensors{Tensor::Cat(Tensors{In({4, 8}), In({6, 8})}, 0).MatMul(In({8, 12}))};
  });
  g.Add("shifted_difference", [] {
    const Tensor x = In({60});
    return Tensors{x.Index({Slice(1, {})}) - x.Index({Slice({}, -1)})};
  });
  g.Add("gather_gradient", [] {
    const Tensor x = In({10, 6});
    return x.Index({In({7}, kInt32)}).Gradient(Tensors{x}, In({7, 6}));
  });
  return g.Take();
}

Sint Var(const char* name, int64_t max) { return Sint(ir::Bind(ir::Variable(name, 1, max), 3)); }

CorpusGroup Symbolic() {
  GroupBuilder g("symbolic", "Sizes and offsets known at run time only.");
  auto rows = [](const Tensor& t, Sint n) { return t.Shrink({{{0, n}}, {}}); };
  auto columns = [](const Tensor& t, Sint n) { return t.Shrink({{}, {{0, n}}}); };
  g.Add("sum_rows", [=] { return Tensors{rows(In({9, 20}), Var("n", 9)).Sum(0)}; });
  g.Add("sum_columns", [=] { return Tensors{columns(In({9, 20}), Var("n", 20)).Sum(1)}; });
  g.Add("sum_all", [=] { return Tensors{rows(In({9, 20}), Var("n", 9)).Sum()}; });
  g.Add("max_columns", [=] { return Tensors{columns(In({6, 33}), Var("n", 33)).Max(1)}; });
  g.Add("matmul_k", [=] {
    const Sint n = Var("n", 24);
    return Tensors{columns(In({8, 24}), n).MatMul(rows(In({24, 16}), n))};
  });
  g.Add("attention_scores", [=] {
    const Sint n = Var("n", 32);
    const Tensor q = In({1, 16});
    return Tensors{(q * rows(In({32, 16}), n)).Sum(1).Max()};
  });
  g.Add("scaled", [=] {
    return Tensors{In({40}) *
                   Tensor::FromVariable(ir::Bind(ir::Variable("i", 0, 9), 2)).Cast(kFloat32)};
  });
  g.Add("below", [=] {
    const Tensor i = Tensor::FromVariable(ir::Bind(ir::Variable("i", 0, 31), 2));
    return Tensors{(Arange(32) < i).Where(In({32}), 0.0)};
  });
  g.Add("mean_rows", [=] { return Tensors{rows(In({9, 20}), Var("n", 9)).Square().Sum(0) * 0.5}; });
  return g.Take();
}

}  // namespace

std::vector<CorpusGroup> SmallPrograms() {
  return {Matmuls(), Convolutions(), Reductions(), Elementwise(), Gathers(), Symbolic()};
}

CorpusGroup LargePrograms() {
  GroupBuilder g("large", "Shapes of real networks, for measurements.");
  for (int64_t n : {512, 1024}) {
    g.Add(absl::StrCat("matmul_", n), [=] { return Tensors{In({n, n}).MatMul(In({n, n}))}; });
  }
  for (const auto& [m, n, k] :
       {Mnk{1, 4096, 4096}, Mnk{1, 768, 3072}, Mnk{16, 768, 768}, Mnk{16, 3072, 768},
        Mnk{128, 768, 768}, Mnk{128, 3072, 768}, Mnk{128, 768, 3072}, Mnk{128, 4096, 4096}}) {
    g.Add(absl::StrCat("linear_", m, "x", n, "x", k), [m = m, n = n, k = k] {
      return Tensors{In({m, k}).MatMul(In({n, k}).T())};
    });
  }
  struct C {
    int64_t ci, y, co, k, stride;
  };
  for (const C& c :
       {C{3, 224, 64, 7, 2}, C{64, 56, 64, 1, 1}, C{64, 56, 64, 3, 1}, C{64, 56, 256, 1, 1},
        C{256, 56, 128, 1, 1}, C{128, 56, 128, 3, 2}, C{256, 56, 512, 1, 2}, C{128, 28, 512, 1, 1},
        C{128, 28, 128, 3, 1}, C{256, 14, 256, 3, 1}, C{1024, 14, 256, 1, 1}, C{512, 7, 512, 3, 1},
        C{512, 7, 2048, 1, 1}}) {
    g.Add(absl::StrCat("conv_", c.ci, "x", c.y, "_", c.co, "_", c.k, "x", c.k, "_s", c.stride),
          [=] {
            const Conv2dOptions o = {.stride = c.stride, .padding = c.k / 2};
            return Tensors{
                In({1, c.ci, c.y, c.y}).Conv2d(In({c.co, c.ci, c.k, c.k}), In({c.co}), o).Relu()};
          });
  }
  const Shape s = {4096, 4096};
  g.Add("add_16m", [=] { return Tensors{In(s) + In(s)}; });
  g.Add("sum_rows_16m", [=] { return Tensors{In(s).Sum(1)}; });
  g.Add("sum_columns_16m", [=] { return Tensors{In(s).Sum(0)}; });
  g.Add("transpose_16m", [=] { return Tensors{In(s).T().Contiguous()}; });
  g.Add("softmax_4096x1024", [] { return Tensors{In({4096, 1024}).Softmax(1)}; });
  g.Add("layernorm_4096x768", [] { return Tensors{In({4096, 768}).LayerNorm(1)}; });
  g.Add("gelu_4m", [] { return Tensors{In({1 << 22}).Gelu()}; });
  return g.Take();
}

}  // namespace tg::testing
