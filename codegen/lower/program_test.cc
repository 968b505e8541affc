#include "codegen/lower/program.h"

#include <string>

#include "codegen/lower/program_verify.h"
#include "gtest/gtest.h"

namespace tg::lower {
namespace {

using ir::Op;
using ir::UOp;

// out[i] = in[i] + n, over `threads` parts of 4.
LinearProgram AddProgram() {
  LinearProgram p;
  p.name = "add";
  p.threads = 2;
  p.params = {{ir::kInt32, 8, false, true}, {ir::kInt32, 8, true, false}};
  UOp out = ir::Param(0, ir::kInt32, 8), in = ir::Param(1, ir::kInt32, 8);
  UOp n = ir::Variable("n", 1, 5).WithDType(ir::kInt32);
  UOp two = ir::Const(ir::kInt32, 2), four = ir::Const(ir::kInt32, 4);
  UOp t = UOp::Make(Op::kRange, ir::kInt32, {two}, ir::RangeArg{0, ir::AxisType::kThread});
  UOp base = t * four;
  UOp r = UOp::Make(Op::kRange, ir::kInt32, {four}, ir::RangeArg{1, ir::AxisType::kLoop});
  UOp i = base + r;
  UOp in_i = UOp::Make(Op::kIndex, ir::kInt32, {in, i});
  UOp load = UOp::Make(Op::kLoad, ir::kInt32, {in_i});
  UOp sum = load + n;
  UOp out_i = UOp::Make(Op::kIndex, ir::kInt32, {out, i});
  UOp store = UOp::Make(Op::kStore, ir::kVoid, {out_i, sum});
  UOp end = UOp::Make(Op::kEnd, ir::kVoid, {store, r});
  p.ops = {out, in, n, two, four, t, base, r, i, in_i, load, sum, out_i, store, end};
  p.variables = {n};
  return p;
}

TEST(ProgramTest, Prints) {
  EXPECT_EQ(ProgramToString(AddProgram()),
            "program add: 2 parameters, 1 variables, 2 threads\n"
            "   0 Param                      int32        param(0, 8)\n"
            "   1 Param                      int32        param(1, 8)\n"
            "   2 Variable                   int32        var(\"n\", 1, 5)\n"
            "   3 Const                      int32        2\n"
            "   4 Const                      int32        4\n"
            "   5 Range                      int32        2 range(0, THREAD)\n"
            "   6 Mul                        int32        %5 4\n"
            "   7 Range                      int32        4 range(1, LOOP)\n"
            "   8   Add                      int32        %6 %7\n"
            "   9   Index                    int32        %1 %8\n"
            "  10   Load                     int32        %9\n"
            "  11   Add                      int32        %10 %2\n"
            "  12   Index                    int32        %0 %8\n"
            "  13   Store                    void         %12 %11\n"
            "  14 End                        void         %13 %7\n");
}

TEST(ProgramTest, VerifyGood) { EXPECT_EQ(VerifyProgram(AddProgram()), absl::OkStatus()); }

TEST(ProgramTest, VerifyEachRuleHasANegative) {
  struct {
    const char* want;
    void (*break_it)(LinearProgram&);
  } rows[] = {
      {"not a C identifier", [](LinearProgram& p) { p.name = "2add"; }},
      {"not a C identifier", [](LinearProgram& p) { p.name = "a b"; }},
      {"there are 0 threads", [](LinearProgram& p) { p.threads = 0; }},
      {"has 3 threads", [](LinearProgram& p) { p.threads = 3; }},
      {"no range over them", [](LinearProgram& p) { p.ops.resize(5); }},
      {"a variable is not listed", [](LinearProgram& p) { p.variables.clear(); }},
      {"listed twice", [](LinearProgram& p) { p.variables.push_back(p.variables[0]); }},
      {"holds something else", [](LinearProgram& p) { p.variables[0] = p.ops[0]; }},
      {"has no row", [](LinearProgram& p) { p.params.pop_back(); }},
      {"row says 8 of float32", [](LinearProgram& p) { p.params[0].dtype = ir::kFloat32; }},
      {"row says 7 of int32", [](LinearProgram& p) { p.params[1].size = 7; }},
      {"is not read", [](LinearProgram& p) { p.params[1].read = false; }},
      {"is not written", [](LinearProgram& p) { p.params[0].written = false; }},
      {"Range is never closed", [](LinearProgram& p) { p.ops.pop_back(); }},
  };
  for (const auto& r : rows) {
    LinearProgram p = AddProgram();
    r.break_it(p);
    absl::Status s = VerifyProgram(p);
    ASSERT_FALSE(s.ok()) << r.want;
    EXPECT_NE(std::string(s.message()).find(r.want), std::string::npos) << r.want << "\n" << s;
    EXPECT_EQ(std::string(s.message()).find("kernel "), 0u);
  }
}

}  // namespace
}  // namespace tg::lower
