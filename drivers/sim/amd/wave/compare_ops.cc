// Vector comparisons: a lane mask to VCC, an SGPR or EXEC.
//
// Sources: AMD RDNA3, RDNA4 and CDNA3 Instruction Set Architecture documents, chapter "VOPC
// instructions".
#include <cstdint>

#include "drivers/sim/amd/wave/float_functions.h"
#include "drivers/sim/amd/wave/lanes.h"

namespace tg::amd::sim {
namespace {

// v_cmp and v_cmpx under the names of `predicate` and `suffix`.
#define COMPARE(predicate, suffix, T, expression)                          \
  Vector("v_cmp_" predicate "_" suffix,                                    \
         [](T a, T b) -> bool { return (void)a, (void)b, (expression); }), \
      Vector("v_cmpx_" predicate "_" suffix,                               \
             [](T a, T b) -> bool { return (void)a, (void)b, (expression); })

#define INTEGERS(suffix, T)                                               \
  COMPARE("f", suffix, T, false), COMPARE("lt", suffix, T, a < b),        \
      COMPARE("eq", suffix, T, a == b), COMPARE("le", suffix, T, a <= b), \
      COMPARE("gt", suffix, T, a > b), COMPARE("ne", suffix, T, a != b),  \
      COMPARE("ge", suffix, T, a >= b), COMPARE("t", suffix, T, true)

float Value(Half x) { return x.f; }
float Value(float x) { return x; }
double Value(double x) { return x; }

#define FLOATS(suffix, T)                                                               \
  COMPARE("f", suffix, T, false), COMPARE("lt", suffix, T, Value(a) < Value(b)),        \
      COMPARE("eq", suffix, T, Value(a) == Value(b)),                                   \
      COMPARE("le", suffix, T, Value(a) <= Value(b)),                                   \
      COMPARE("gt", suffix, T, Value(a) > Value(b)),                                    \
      COMPARE("lg", suffix, T, (Value(a) < Value(b)) | (Value(a) > Value(b))),          \
      COMPARE("ge", suffix, T, Value(a) >= Value(b)),                                   \
      COMPARE("o", suffix, T, (Value(a) == Value(a)) & (Value(b) == Value(b))),         \
      COMPARE("u", suffix, T, (Value(a) != Value(a)) | (Value(b) != Value(b))),         \
      COMPARE("nge", suffix, T, !(Value(a) >= Value(b))),                               \
      COMPARE("nlg", suffix, T, !((Value(a) < Value(b)) | (Value(a) > Value(b)))),      \
      COMPARE("ngt", suffix, T, !(Value(a) > Value(b))),                                \
      COMPARE("nle", suffix, T, !(Value(a) <= Value(b))),                               \
      COMPARE("neq", suffix, T, Value(a) != Value(b)),                                  \
      COMPARE("nlt", suffix, T, !(Value(a) < Value(b))), COMPARE("t", suffix, T, true), \
      COMPARE("tru", suffix, T, true)

constexpr Semantics kOps[] = {
    INTEGERS("i16", int16_t),
    INTEGERS("u16", uint16_t),
    INTEGERS("i32", int32_t),
    INTEGERS("u32", uint32_t),
    INTEGERS("i64", int64_t),
    INTEGERS("u64", uint64_t),
    FLOATS("f16", Half),
    FLOATS("f32", float),
    FLOATS("f64", double),
    // Modifiers change the number whose class is asked for; denormals are never flushed.
    Vector("v_cmp_class_f16", [](uint16_t a, uint32_t b) { return InClass<10, 5>(a, b); }),
    Vector("v_cmpx_class_f16", [](uint16_t a, uint32_t b) { return InClass<10, 5>(a, b); }),
    Vector("v_cmp_class_f32", [](uint32_t a, uint32_t b) { return InClass<23, 8>(a, b); }),
    Vector("v_cmpx_class_f32", [](uint32_t a, uint32_t b) { return InClass<23, 8>(a, b); }),
    Vector("v_cmp_class_f64", [](uint64_t a, uint32_t b) { return InClass<52, 11>(a, b); }),
    Vector("v_cmpx_class_f64", [](uint64_t a, uint32_t b) { return InClass<52, 11>(a, b); }),
};

}  // namespace

absl::Span<const Semantics> CompareOps() { return kOps; }

}  // namespace tg::amd::sim
