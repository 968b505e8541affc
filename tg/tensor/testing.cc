#include "tg/tensor/testing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tg/tensor/backend.h"
#include "tg/tensor/reference_backend.h"

namespace tg::testing {
namespace {

bool on_reference = false;

bool IsNear(double actual, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  return std::fabs(actual - expected) <= tolerance * std::max(1.0, std::fabs(expected));
}

std::vector<int64_t> ShapeOf(const Tensor& t) {
  std::vector<int64_t> shape;
  for (int i = 0; i < t.ndim(); ++i) shape.push_back(t.Dim(i));
  return shape;
}

}  // namespace

void UseTestBackend() {
  try {
    GetBackend();
  } catch (const UsageError&) {
    new ReferenceBackend;  // lives as long as the process
    on_reference = true;
  }
}

bool OnReference() { return on_reference; }

std::vector<double> Numbers(int64_t n, int seed, double low, double high) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> numbers(n);
  for (double& v : numbers) v = uniform(engine);
  return numbers;
}

Tensor RandomTensor(const Shape& shape, int seed, double low, double high, DType dtype) {
  int64_t n = ir::NumElements(shape).value();
  return FromData(Numbers(n, seed, low, high), shape, {dtype, {}});
}

void ExpectTensor(const Tensor& actual, const std::vector<int64_t>& shape,
                  const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(ShapeOf(actual), shape);
  std::vector<double> values = actual.ToVector<double>();
  ASSERT_EQ(values.size(), expected.size());
  int shown = 0;
  for (size_t i = 0; i < values.size() && shown < 5; ++i) {
    if (!IsNear(values[i], expected[i], tolerance)) {
      ADD_FAILURE() << "element " << i << " of " << actual.ToString() << " is " << values[i]
                    << ", expected " << expected[i];
      ++shown;
    }
  }
}

void ExpectEach(const Tensor& actual, const std::vector<int64_t>& shape,
                const std::function<double(const std::vector<int64_t>&)>& expected,
                double tolerance) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  std::vector<double> values(n);
  std::vector<int64_t> at(shape.size(), 0);
  for (int64_t i = 0; i < n; ++i) {
    values[i] = expected(at);
    for (size_t a = shape.size(); a-- > 0;) {
      if (++at[a] < shape[a]) break;
      at[a] = 0;
    }
  }
  ExpectTensor(actual, shape, values, tolerance);
}

bool Matches(const Tensor& actual, const std::vector<double>& expected, double tolerance) {
  std::vector<double> values = actual.ToVector<double>();
  if (values.size() != expected.size()) return false;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!IsNear(values[i], expected[i], tolerance)) return false;
  }
  return true;
}

}  // namespace tg::testing
