#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/random_oracle.h"
#include "tests/random_program.h"

namespace tg::testing {
namespace {

using Kind = StepKind;

// The program without step i, on which nothing depends.
Program Without(Program p, int i) {
  p.steps.erase(p.steps.begin() + i);
  for (Step& s : p.steps) {
    for (int& j : s.in) j -= j > i;
  }
  for (int& j : p.roots) j -= j > i;
  return p;
}

bool IsUsed(const Program& p, int i) {
  auto has = [i](const std::vector<int>& v) { return std::find(v.begin(), v.end(), i) != v.end(); };
  return has(p.roots) ||
         std::any_of(p.steps.begin(), p.steps.end(), [&](const Step& s) { return has(s.in); });
}

// The program with step i's value as a leaf, where it is exact.
std::optional<Program> WithLeaf(const Program& p, int i) {
  Program cut = p;
  cut.steps.resize(i + 1);
  cut.roots = {i};
  const OracleValue v = Expected(cut)[0];
  if (v.error > 0) return std::nullopt;
  Step leaf{.kind = Kind::kLeaf, .dtype = v.dtype, .shape = v.shape};
  leaf.data = Restore(v).ToVector<double>();
  Program r = p;
  r.steps[i] = leaf;
  return r;
}

Program WithOperandInstead(Program p, int i, int operand) {
  for (Step& s : p.steps) std::replace(s.in.begin(), s.in.end(), i, operand);
  std::replace(p.roots.begin(), p.roots.end(), i, operand);
  return Without(p, i);
}

}  // namespace

Program Minimise(Program program, const std::function<bool(const Program&)>& fails) {
  auto accept = [&](Program p) {
    try {
      Expected(p);
    } catch (const Error&) {
      return false;
    }
    if (!fails(p)) return false;
    program = std::move(p);
    return true;
  };
  bool progress = true;
  while (progress) {
    progress = false;
    for (size_t r = 0; r < program.roots.size() && program.roots.size() > 1;) {
      Program p = program;
      p.roots.erase(p.roots.begin() + static_cast<int>(r));
      if (accept(p)) {
        progress = true;
      } else {
        ++r;
      }
    }
    for (int i = static_cast<int>(program.steps.size()); i-- > 0;) {
      const Kind kind = program.steps[i].kind;
      // Also values that nothing uses may be the cause: they live.
      if (!IsUsed(program, i)) {
        progress = accept(Without(program, i)) || progress;
        continue;
      }
      if (kind == Kind::kLeaf) continue;
      if (std::optional<Program> p = WithLeaf(program, i); p.has_value() && accept(*p)) {
        progress = true;
        continue;
      }
      for (int operand : std::vector<int>(program.steps[i].in)) {
        if (accept(WithOperandInstead(program, i, operand))) {
          progress = true;
          break;
        }
      }
    }
  }
  return program;
}

}  // namespace tg::testing
