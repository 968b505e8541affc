// Expressions that simplifiers of other projects got wrong: tinygrad 9728, 9080, 9064; Halide 2895,
// 3154, 3818, 7584; TVM 5922, 10336. `//` and `%` round down in one reading and toward zero in the
// other; each row has the value at one point for both. The simplified expression must have it, and
// agree with the original everywhere.
//
// With TG_SHARED set, the rows of data/rewrite_vectors.tsv below it are tried too.
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "codegen/ir/simplify/expression_eval.h"
#include "codegen/ir/simplify/expression_gen.h"
#include "codegen/ir/simplify/simplify.h"
#include "gtest/gtest.h"

namespace tg::ir {
namespace {

using testing::Evaluator;
using testing::Value;

struct Vector {
  std::string name, type, expr, ranges, point, floor, trunc;
};

// bug, type, expression, ranges, point, value rounding down, value rounding toward zero
const Vector kVectors[] = {
    {"tinygrad 9728", "int", "((((v2*4)//9+1)//2-4)//3+v2+v1)*2+v1-1", "v1:0..8 v2:0..8",
     "v1=0 v2=3", "3", "3"},
    {"tinygrad failures 2", "int", "((v1+(v2+(v3+v2*2+1)//3)+4)//9-57)//36",
     "v1:0..16 v2:0..5 v3:0..3", "v1=6 v2=0 v3=0", "-2", "-1"},
    {"Halide 2895", "int", "(c*(0-85)-70)//3", "c:-128..127", "c=-36", "996", "996"},
    {"Halide 3154", "int", "((54-97)*(23+u8(e)))//222", "e:-128..127", "e=-11", "-52", "-51"},
    {"Halide 3818", "uint8", "max(d, max(c,d)+87)", "c,d:0..255", "c=200 d=78", "78", "78"},
    {"tinygrad 9080", "uint8", "250+250", "", "", "244", "244"},
    {"tinygrad 9064", "uint64", "0-1023", "", "", "18446744073709550593", "18446744073709550593"},
    {"TVM 5922", "int", "(x0-(0-(x1*5))//2)-1+(37+(x1+7)*(0-5))//2", "x0:-100..100 x1:-100..100",
     "x0=17 x1=-3", "17", "17"},
    {"TVM 10336", "int", "i%20//2*2%4", "i:0..100", "i=5", "0", "0"},
    {"Halide 7584", "int", "(0-128)//(0-1)//(0-71)", "", "", "-2", "-1"},
};

// The expression grammar of the rows: + - * // % max() u8() parentheses, integers, names.
class Parser {
 public:
  Parser(absl::string_view text, DType type, bool floor, const std::map<std::string, UOp>& names)
      : text_(text), type_(type), floor_(floor), names_(names) {}

  UOp Parse() {
    const UOp u = Sum();
    EXPECT_TRUE(text_.empty()) << std::string(text_);
    return u;
  }

 private:
  bool Take(absl::string_view token) {
    while (absl::ConsumePrefix(&text_, " ")) {
    }
    return absl::ConsumePrefix(&text_, token);
  }

  UOp Sum() {
    UOp u = Product();
    while (true) {
      if (Take("+")) {
        u = u + Product();
      } else if (Take("-")) {
        u = u - Product();
      } else {
        return u;
      }
    }
  }

  UOp Product() {
    UOp u = Atom();
    while (true) {
      if (Take("*")) {
        u = u * Atom();
      } else if (Take("//")) {
        u = floor_ ? FloorDiv(u, Atom()) : Cdiv(u, Atom());
      } else if (Take("%")) {
        u = floor_ ? FloorMod(u, Atom()) : Cmod(u, Atom());
      } else {
        return u;
      }
    }
  }

  UOp Atom() {
    if (Take("(")) {
      const UOp u = Sum();
      EXPECT_TRUE(Take(")"));
      return u;
    }
    if (Take("max(")) {
      const UOp a = Sum();
      EXPECT_TRUE(Take(","));
      const UOp b = Sum();
      EXPECT_TRUE(Take(")"));
      return Max(a, b);
    }
    if (Take("u8(")) {
      const UOp a = Sum();
      EXPECT_TRUE(Take(")"));
      return Cast(Cast(a, kUInt8), type_);
    }
    size_t n = 0;
    while (n < text_.size() && std::isalnum(static_cast<unsigned char>(text_[n]))) ++n;
    const std::string word(text_.substr(0, n));
    text_.remove_prefix(n);
    int64_t value = 0;
    if (absl::SimpleAtoi(word, &value)) return Const(type_, value);
    auto it = names_.find(word);
    EXPECT_TRUE(it != names_.end()) << "unknown name " << word;
    return it != names_.end() ? it->second : Const(type_, 0);
  }

  absl::string_view text_;
  const DType type_;
  const bool floor_;
  const std::map<std::string, UOp>& names_;
};

// "a,b:0..8 c:1..2"
std::map<std::string, UOp> Names(const std::string& ranges, DType type) {
  std::map<std::string, UOp> names;
  for (absl::string_view part : absl::StrSplit(ranges, ' ', absl::SkipEmpty())) {
    const std::vector<std::string> sides = absl::StrSplit(part, ':');
    const std::vector<std::string> ends = absl::StrSplit(sides.at(1), absl::ByString(".."));
    int64_t low = 0, high = 0;
    EXPECT_TRUE(absl::SimpleAtoi(ends.at(0), &low) && absl::SimpleAtoi(ends.at(1), &high));
    for (absl::string_view name : absl::StrSplit(sides.at(0), ',')) {
      names[std::string(name)] = Cast(Variable(name, low, high), type);
    }
  }
  return names;
}

void Check(const Vector& v, bool floor) {
  const DType type = *DType::Parse(v.type == "int" ? "weakint" : v.type);
  const std::map<std::string, UOp> names = Names(v.ranges, type);
  const UOp u = Parser(v.expr, type, floor, names).Parse();
  const UOp s = Simplify(u);
  const auto difference = testing::FindDifference(u, s, 1, 50'000);
  EXPECT_FALSE(difference.has_value()) << v.name << " at " << difference->point;

  std::map<std::string, int64_t> point;
  for (absl::string_view part : absl::StrSplit(v.point, ' ', absl::SkipEmpty())) {
    const std::vector<std::string> sides = absl::StrSplit(part, '=');
    ASSERT_TRUE(absl::SimpleAtoi(sides.at(1), &point[sides.at(0)]));
  }
  Evaluator e(s);
  std::vector<Value> values;
  for (const UOp& leaf : e.leaves())
    values.push_back({.i = point.at(leaf.arg_as<VariableArg>().name)});
  EXPECT_EQ(testing::ToString(e.Run(values), type), floor ? v.floor : v.trunc)
      << v.name << (floor ? " rounding down" : " rounding toward zero");
}

TEST(RewriteVectorsTest, Own) {
  for (const Vector& v : kVectors) {
    Check(v, true);
    Check(v, false);
  }
}

TEST(RewriteVectorsTest, Shared) {
  const char* shared = std::getenv("TG_SHARED");
  if (shared == nullptr || *shared == 0) GTEST_SKIP() << "TG_SHARED is not set";
  std::ifstream file(std::string(shared) + "/data/rewrite_vectors.tsv");
  ASSERT_TRUE(file.good());
  std::string line;
  std::getline(file, line);  // the header
  int rows = 0;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    if (cells.size() < 7) continue;
    const Vector v{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]};
    Check(v, true);
    Check(v, false);
    ++rows;
  }
  EXPECT_GE(rows, 10);
}

}  // namespace
}  // namespace tg::ir
