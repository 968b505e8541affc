// Random expressions, simplified, against their definition at every point of their variables.
//
//   simplify_fuzz_test [--count=N] [--seed=N]
//
// The seed is printed. A mismatch, or an expression that Simplify does not leave alone the second
// time, is minimised and printed as C++ for simplify_regression_test.cc.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "codegen/ir/simplify/expression_gen.h"
#include "codegen/ir/simplify/simplify.h"

namespace tg::ir::testing {
namespace {

bool Differs(const UOp& u, uint64_t seed) {
  return FindDifference(u, Simplify(u), seed).has_value();
}
bool NotIdempotent(const UOp& u) {
  const UOp s = Simplify(u);
  return !(Simplify(s) == s);
}

void Report(const char* what, const UOp& u, uint64_t seed) {
  const UOp s = Simplify(u);
  std::printf("%s:\n    %s,\n  simplified:\n    %s\n", what, ToCpp(u).c_str(), ToCpp(s).c_str());
  if (const auto d = FindDifference(u, s, seed)) {
    std::printf("  at %s: %s became %s\n", d->point.c_str(), d->before.c_str(), d->after.c_str());
  } else {
    std::printf("  and again:\n    %s\n", ToCpp(Simplify(s)).c_str());
  }
}

// Rules that do not settle abort: say for what.
UOp g_current;
void OnAbort(int) {
  std::printf("aborted at:\n    %s,\n", ToCpp(g_current).c_str());
  std::fflush(stdout);
}

int Run(int64_t count, uint64_t seed) {
  Generator gen(seed);
  std::signal(SIGABRT, OnAbort);
  int64_t failures = 0, changed = 0;
  std::printf("%lld expressions, seed %llu\n", static_cast<long long>(count),
              static_cast<unsigned long long>(seed));
  for (int64_t n = 0; n < count && failures < 5; ++n) {
    gen.NewLeaves();
    const int depth = 2 + gen.Below(4);
    const DType d = gen.AnyType();
    const UOp u =
        gen.OneIn(6) ? gen.Guarded(gen.OneIn(4) ? d : kIndex, depth) : gen.Expression(d, depth);
    g_current = u;
    const UOp s = Simplify(u);
    changed += !(s == u);
    if (FindDifference(u, s, n).has_value()) {
      ++failures;
      Report("mismatch", Minimize(u, [n](const UOp& v) { return Differs(v, n); }), n);
    } else if (!(Simplify(s) == s)) {
      ++failures;
      Report("not idempotent", Minimize(u, NotIdempotent), n);
    }
  }
  std::printf("%lld changed, %lld failures\n", static_cast<long long>(changed),
              static_cast<long long>(failures));
  return failures == 0 && changed > count / 2 ? 0 : 1;
}

}  // namespace
}  // namespace tg::ir::testing

int main(int argc, char** argv) {
  int64_t count = 20000;
  uint64_t seed = 1;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    const bool ok = absl::ConsumePrefix(&arg, "--count=")  ? absl::SimpleAtoi(arg, &count)
                    : absl::ConsumePrefix(&arg, "--seed=") ? absl::SimpleAtoi(arg, &seed)
                                                           : false;
    if (!ok) {
      std::fprintf(stderr, "usage: %s [--count=N] [--seed=N]\n", argv[0]);
      return 2;
    }
  }
  return tg::ir::testing::Run(count, seed);
}
