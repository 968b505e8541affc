// Kernels as the scheduler makes them, for tests and measurements: shapes of a train step.
#ifndef TG_CODEGEN_OPT_TESTING_KERNELS_H_
#define TG_CODEGEN_OPT_TESTING_KERNELS_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "codegen/ir/uop.h"

namespace tg::opt {

ir::UOp LoadAt(const ir::UOp& memory, const ir::UOp& index);
ir::UOp ReduceOver(ir::Op op, const ir::UOp& value, std::initializer_list<ir::UOp> ranges);
// kSink(kEnd(kStore(memory[index], value), ranges...)).
ir::UOp StoreKernel(const ir::UOp& memory, const ir::UOp& index, const ir::UOp& value,
                    std::initializer_list<ir::UOp> ranges);

// A named kernel with its outputs in slot 0 and the floating point operations of one run.
struct NamedKernel {
  std::string name;
  ir::UOp ast;
  double flops;
};

// C[m,n] = sum over k of A*B. `ta`: A is stored [k][m], else [m][k]. `tb`: B is stored [n][k].
NamedKernel Matmul(int64_t m, int64_t n, int64_t k, bool ta, bool tb);

// A convolution of side `k`, without padding, of b images in[b][y+k-1][x+k-1][ci] (`nchw`: the
// channels before y), out[b][y][x][co], plus bias and relu. Weights [co][ci][k][k], or, `packed`,
// [k][k][ci][co].
struct ConvShape {
  int64_t b, y, x, co, ci, k;
};
NamedKernel ConvForward(const ConvShape& s, bool nchw, bool packed);
// Gradient of the input from g[b][y][x][co]: out[b][iy][ix][ci]. `packed`: weights [k][k][co][ci].
// What is outside of g is 0 by a condition on the load, or, `whole`, on the product.
NamedKernel ConvInputGrad(const ConvShape& s, bool packed, bool whole = false);
// Gradient of the weights [co][ci][k][k] in `parts` partial sums over images:
// [parts][co][ci][k][k].
NamedKernel ConvWeightGrad(const ConvShape& s, int64_t parts);

// out[i] = max(a[i] + b[i], 0) over the dimensions, contiguous, one range for each.
NamedKernel Elementwise(std::vector<int64_t> dims);
// out[i][j] = in[j][i].
NamedKernel Transpose(int64_t rows, int64_t cols);
// out[i] = sum over j of in[i][j] (`inner`) or in[j][i].
NamedKernel Sum(int64_t outputs, int64_t length, bool inner);
// out[i][j] = (in[i][j] - max_k in[i][k]) * sum_l in[i][l]: the loops of a softmax, exact on
// integers.
NamedKernel RowWise(int64_t rows, int64_t cols);
// Largest of 2x2 windows of in[b][2y][2x][c].
NamedKernel MaxPool(int64_t b, int64_t y, int64_t x, int64_t c);

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_TESTING_KERNELS_H_
