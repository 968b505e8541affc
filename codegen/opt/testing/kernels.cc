#include "codegen/opt/testing/kernels.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tg::opt {

using ir::AxisType;
using ir::kFloat32;
using ir::Op;
using ir::Param;
using ir::Range;
using ir::UOp;

namespace {

UOp R(int64_t n, int id) { return Range(n, id, AxisType::kReduce); }
UOp Zero() { return ir::Const(kFloat32, 0.0); }
// lo <= x < hi
UOp Within(const UOp& x, int64_t lo, int64_t hi) { return ir::Not(x < lo) & (x < hi); }

}  // namespace

UOp LoadAt(const UOp& memory, const UOp& index) {
  return UOp::Make(Op::kLoad, memory.dtype(),
                   {UOp::Make(Op::kIndex, memory.dtype(), {memory, index})});
}

UOp ReduceOver(Op op, const UOp& value, std::initializer_list<UOp> ranges) {
  std::vector<UOp> src = {value};
  src.insert(src.end(), ranges.begin(), ranges.end());
  return UOp::Make(Op::kReduce, value.dtype(), src, ir::Arg(ir::ReduceArg{op, {}}));
}

UOp StoreKernel(const UOp& memory, const UOp& index, const UOp& value,
                std::initializer_list<UOp> ranges) {
  const UOp at = UOp::Make(Op::kIndex, memory.dtype(), {memory, index});
  std::vector<UOp> src = {UOp::Make(Op::kStore, ir::kVoid, {at, value})};
  src.insert(src.end(), ranges.begin(), ranges.end());
  return ir::Sink({UOp::Make(Op::kEnd, ir::kVoid, src)});
}

NamedKernel Matmul(int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
  const UOp i = Range(m, 0), j = Range(n, 1), l = R(k, 2);
  const UOp c = Param(0, kFloat32, m * n), a = Param(1, kFloat32, m * k),
            b = Param(2, kFloat32, k * n);
  const UOp x = LoadAt(a, ta ? l * m + i : i * k + l);
  const UOp y = LoadAt(b, tb ? j * k + l : l * n + j);
  return {absl::StrCat("matmul_", m, "x", n, "x", k, ta ? "_t" : "_n", tb ? "t" : "n"),
          StoreKernel(c, i * n + j, ReduceOver(Op::kAdd, x * y, {l}), {i, j}), 2.0 * m * n * k};
}

NamedKernel ConvForward(const ConvShape& s, bool nchw, bool packed) {
  const UOp b = Range(s.b, 0), y = Range(s.y, 1), x = Range(s.x, 2), co = Range(s.co, 3);
  const UOp ci = R(s.ci, 4), ky = R(s.k, 5), kx = R(s.k, 6);
  const int64_t h = s.y + s.k - 1, w = s.x + s.k - 1;
  const UOp out = Param(0, kFloat32, s.b * s.y * s.x * s.co);
  const UOp in = Param(1, kFloat32, s.b * h * w * s.ci);
  const UOp weights = Param(2, kFloat32, s.co * s.ci * s.k * s.k);
  const UOp bias = Param(3, kFloat32, s.co);
  const UOp iy = y + ky, ix = x + kx;
  const UOp at_in =
      nchw ? ((b * s.ci + ci) * h + iy) * w + ix : ((b * h + iy) * w + ix) * s.ci + ci;
  const UOp at_w =
      packed ? ((ky * s.k + kx) * s.ci + ci) * s.co + co : ((co * s.ci + ci) * s.k + ky) * s.k + kx;
  const UOp sum = ReduceOver(Op::kAdd, LoadAt(in, at_in) * LoadAt(weights, at_w), {ci, ky, kx});
  return {absl::StrCat("conv_fwd_", nchw ? "nchw" : "nhwc", packed ? "_packed" : ""),
          StoreKernel(out, ((b * s.y + y) * s.x + x) * s.co + co,
                      ir::Max(sum + LoadAt(bias, co), Zero()), {b, y, x, co}),
          2.0 * s.b * s.y * s.x * s.co * s.ci * s.k * s.k};
}

NamedKernel ConvInputGrad(const ConvShape& s, bool packed, bool whole) {
  const int64_t h = s.y + s.k - 1, w = s.x + s.k - 1;
  const UOp b = Range(s.b, 0), iy = Range(h, 1), ix = Range(w, 2), ci = Range(s.ci, 3);
  const UOp co = R(s.co, 4), ky = R(s.k, 5), kx = R(s.k, 6);
  const UOp out = Param(0, kFloat32, s.b * h * w * s.ci);
  const UOp g = Param(1, kFloat32, s.b * s.y * s.x * s.co);
  const UOp weights = Param(2, kFloat32, s.co * s.ci * s.k * s.k);
  const UOp y = iy - ky, x = ix - kx;
  const UOp valid = Within(y, 0, s.y) & Within(x, 0, s.x);
  const UOp at_g = ir::Valid(((b * s.y + y) * s.x + x) * s.co + co, valid);
  const UOp at_w =
      packed ? ((ky * s.k + kx) * s.co + co) * s.ci + ci : ((co * s.ci + ci) * s.k + ky) * s.k + kx;
  const UOp value =
      whole ? ir::Where(valid, LoadAt(g, at_g) * LoadAt(weights, ir::Valid(at_w, valid)), Zero())
            : ir::Where(valid, LoadAt(g, at_g), Zero()) * LoadAt(weights, at_w);
  return {absl::StrCat("conv_input_grad", whole ? "_whole" : "", packed ? "_packed" : ""),
          StoreKernel(out, ((b * h + iy) * w + ix) * s.ci + ci,
                      ReduceOver(Op::kAdd, value, {co, ky, kx}), {b, iy, ix, ci}),
          2.0 * s.b * s.y * s.x * s.co * s.ci * s.k * s.k};
}

NamedKernel ConvWeightGrad(const ConvShape& s, int64_t parts) {
  const int64_t h = s.y + s.k - 1, w = s.x + s.k - 1, images = s.b / parts;
  const UOp part = Range(parts, 0), co = Range(s.co, 1), ci = Range(s.ci, 2), ky = Range(s.k, 3),
            kx = Range(s.k, 4);
  const UOp image = R(images, 5), y = R(s.y, 6), x = R(s.x, 7);
  const UOp out = Param(0, kFloat32, parts * s.co * s.ci * s.k * s.k);
  const UOp g = Param(1, kFloat32, s.b * s.y * s.x * s.co);
  const UOp in = Param(2, kFloat32, s.b * h * w * s.ci);
  const UOp b = part * images + image;
  const UOp value = LoadAt(g, ((b * s.y + y) * s.x + x) * s.co + co) *
                    LoadAt(in, ((b * h + y + ky) * w + x + kx) * s.ci + ci);
  return {absl::StrCat("conv_weight_grad_", parts),
          StoreKernel(out, (((part * s.co + co) * s.ci + ci) * s.k + ky) * s.k + kx,
                      ReduceOver(Op::kAdd, value, {image, y, x}), {part, co, ci, ky, kx}),
          2.0 * s.b * s.y * s.x * s.co * s.ci * s.k * s.k};
}

NamedKernel Elementwise(std::vector<int64_t> dims) {
  UOp at = ir::IndexConst(0);
  int64_t n = 1;
  std::vector<UOp> ranges;
  for (int64_t d : dims) {
    ranges.push_back(Range(d, static_cast<int>(ranges.size())));
    at = at * d + ranges.back();
    n *= d;
  }
  const UOp value =
      ir::Max(LoadAt(Param(1, kFloat32, n), at) + LoadAt(Param(2, kFloat32, n), at), Zero());
  UOp sink = StoreKernel(Param(0, kFloat32, n), at, value, {});
  std::vector<UOp> end = {sink.src(0).src(0)};
  end.insert(end.end(), ranges.begin(), ranges.end());
  return {absl::StrCat("elementwise_", absl::StrJoin(dims, "x")),
          ir::Sink({UOp::Make(Op::kEnd, ir::kVoid, end)}), 2.0 * n};
}

NamedKernel Transpose(int64_t rows, int64_t cols) {
  const UOp i = Range(rows, 0), j = Range(cols, 1);
  return {absl::StrCat("transpose_", rows, "x", cols),
          StoreKernel(Param(0, kFloat32, rows * cols), i * cols + j,
                      LoadAt(Param(1, kFloat32, rows * cols), j * rows + i), {i, j}),
          0.0};
}

NamedKernel Sum(int64_t outputs, int64_t length, bool inner) {
  const UOp i = Range(outputs, 0), j = R(length, 1);
  const UOp load =
      LoadAt(Param(1, kFloat32, outputs * length), inner ? i * length + j : j * outputs + i);
  return {absl::StrCat("sum_", outputs, "x", length, inner ? "_inner" : "_outer"),
          StoreKernel(Param(0, kFloat32, outputs), i, ReduceOver(Op::kAdd, load, {j}), {i}),
          1.0 * outputs * length};
}

NamedKernel RowWise(int64_t rows, int64_t cols) {
  const UOp i = Range(rows, 0), j = Range(cols, 1), k = R(cols, 2), l = R(cols, 3);
  const UOp in = Param(1, kFloat32, rows * cols);
  const UOp most = ReduceOver(Op::kMax, LoadAt(in, i * cols + k), {k});
  const UOp sum = ReduceOver(Op::kAdd, LoadAt(in, i * cols + l) - most, {l});
  return {absl::StrCat("row_wise_", rows, "x", cols),
          StoreKernel(Param(0, kFloat32, rows * cols), i * cols + j,
                      (LoadAt(in, i * cols + j) - most) * sum, {i, j}),
          5.0 * rows * cols};
}

NamedKernel MaxPool(int64_t b, int64_t y, int64_t x, int64_t c) {
  const UOp rb = Range(b, 0), ry = Range(y, 1), rx = Range(x, 2), rc = Range(c, 3);
  const UOp ky = R(2, 4), kx = R(2, 5);
  const UOp load = LoadAt(Param(1, kFloat32, b * y * x * c * 4),
                          ((rb * (2 * y) + ry * 2 + ky) * (2 * x) + rx * 2 + kx) * c + rc);
  return {absl::StrCat("max_pool_", b, "x", y, "x", x, "x", c),
          StoreKernel(Param(0, kFloat32, b * y * x * c), ((rb * y + ry) * x + rx) * c + rc,
                      ReduceOver(Op::kMax, load, {ky, kx}), {rb, ry, rx, rc}),
          4.0 * b * y * x * c};
}

}  // namespace tg::opt
