// Helpers of the tensor tests. Each test runs twice: over the reference backend, and over the
// engine on the device that DEV names.
#ifndef TG_TENSOR_TESTING_H_
#define TG_TENSOR_TESTING_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/tensor.h"

namespace tg::testing {

// The backend that is linked in, or the reference backend. Call it before the first tensor.
void UseTestBackend();
// Whether it is the reference backend.
bool OnReference();

// Numbers uniform in [low, high), the same for the same seed.
std::vector<double> Numbers(int64_t n, int seed, double low = -2, double high = 2);
Tensor RandomTensor(const Shape& shape, int seed, double low = -2, double high = 2,
                    DType dtype = kFloat32);

// Checks shape and values, within `tolerance` of max(1, |expected|); NaN equals NaN.
void ExpectTensor(const Tensor& actual, const std::vector<int64_t>& shape,
                  const std::vector<double>& expected, double tolerance = 1e-5);
// Checks every element against a function of its indices.
void ExpectEach(const Tensor& actual, const std::vector<int64_t>& shape,
                const std::function<double(const std::vector<int64_t>&)>& expected,
                double tolerance = 1e-5);
// Whether ExpectTensor would find no difference: for controls that it finds one.
bool Matches(const Tensor& actual, const std::vector<double>& expected, double tolerance = 1e-5);

// The message of the E that f throws; "" when it throws none.
template <typename E, typename F>
std::string Thrown(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "";
}

}  // namespace tg::testing

#endif  // TG_TENSOR_TESTING_H_
