// One step of a random program, as tensor operations.
#ifndef TG_TESTS_RANDOM_STEP_H_
#define TG_TESTS_RANDOM_STEP_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tests/random_program.h"
#include "tg/tensor/tensor.h"

namespace tg::testing {

inline bool IsStatement(StepKind k) { return k >= StepKind::kAssign; }
inline bool IsMutation(StepKind k) { return IsStatement(k) && k != StepKind::kRealize; }

Shape ToShape(const std::vector<int64_t>& s);
std::vector<int64_t> FromShape(const Shape& s);
int64_t Product(const std::vector<int64_t>& s);

// The value of a step that is no statement. Throws tg::Error where it does not fit its operands.
Tensor Apply(const Step& s, absl::Span<const Tensor> in);

// Runs a statement on the values by their numbers.
void ApplyStatement(const Step& s, std::vector<Tensor>& values);

}  // namespace tg::testing

#endif  // TG_TESTS_RANDOM_STEP_H_
