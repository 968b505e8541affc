// The oracle of random programs: each step by the reference backend, on plain values.
#ifndef TG_TESTS_RANDOM_ORACLE_H_
#define TG_TESTS_RANDOM_ORACLE_H_

#include <vector>

#include "tests/random_program.h"
#include "tg/tensor/tensor.h"

namespace tg::testing {

Tensor Restore(const OracleValue& v);

// Runs one step and appends its value. Throws tg::Error where the step must not be: it does not fit
// its operands, or too little would be known of its result.
void OracleStep(const Step& s, std::vector<OracleValue>& values);

}  // namespace tg::testing

#endif  // TG_TESTS_RANDOM_ORACLE_H_
