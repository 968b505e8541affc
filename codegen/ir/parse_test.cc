#include "codegen/ir/parse.h"

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/ir/print.h"
#include "gtest/gtest.h"

namespace tg::ir {
namespace {

// Graphs that together have every alternative of Arg.
std::vector<UOp> Samples() {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  UOp n = Variable("n \"q\" \n\x7f", -5, 10);
  UOp r = Range(16, 0), k = Range(4, 1, AxisType::kReduce);
  UOp out = Param(0, kFloat32, 16), in = Param(1, kFloat32, 64);
  UOp load = UOp::Make(Op::kLoad, kFloat32, {UOp::Make(Op::kIndex, kFloat32, {in, r * 4 + k})});
  UOp sum = UOp::Make(Op::kReduce, kFloat32, {load, k}, Boxed<ReduceArg>(ReduceArg{Op::kAdd, {}}));
  UOp store = UOp::Make(Op::kStore, kVoid, {UOp::Make(Op::kIndex, kFloat32, {out, r}), sum});
  KernelInfo info{"k",
                  {{OptOp::kSplit, 0, 4, AxisType::kUnroll, true},
                   {OptOp::kTensorCore, 1, -1, AxisType::kWarp, false},
                   {OptOp::kPadTo, 2, 32, AxisType::kUpcast, false},
                   {OptOp::kSwap, 0, 1, AxisType::kGlobal, false},
                   {OptOp::kNoLocals}},
                  true};
  UOp buffer = UOp::Make(Op::kBuffer, kInt8, {},
                         Boxed<BufferArg>(BufferArg{7, 16, AddrSpace::kGlobal, "CPU:1", nullptr}));
  std::vector<UOp> r_ = {
      n + 1,
      Sink({UOp::Make(Op::kEnd, kVoid, {store, r})}, Boxed<KernelInfo>(info)),
      Sink({}, Boxed<KernelInfo>(KernelInfo{"plain", {}, false})),
      Valid(n, n < 3),
      UOp::Make(Op::kCopy, kInt8,
                {buffer, UOp::Make(Op::kDevice, kVoid, {}, Boxed<std::string>("NULL"))}),
      UOp::Make(Op::kPermute, kInt8, {buffer}, Boxed<Ints>(Ints{1, 0})),
      UOp::Make(Op::kFlip, kInt8, {buffer}, Boxed<Ints>(Ints{})),
      UOp::Make(Op::kShear, kInt8, {buffer, n, n}, ShearArg{0, 1, -2}),
      UOp::Make(Op::kFunction, kInt8, {buffer}, Boxed<FunctionArg>(FunctionArg{"f", true})),
      UOp::Make(Op::kFunction, kInt8, {buffer}, Boxed<FunctionArg>(FunctionArg{"", false})),
      UOp::Make(
          Op::kWmma, kFloat32.Vec(8),
          {Const(kFloat16.Vec(16), 1.0), Const(kFloat16.Vec(16), 2.0), Const(kFloat32.Vec(8), 0.0)},
          Boxed<WmmaArg>(WmmaArg{"w", 16, 16, 16, kFloat16, kFloat32, 32})),
      UOp::Make(Op::kReduce, kInt8, {buffer}, Boxed<ReduceArg>(ReduceArg{Op::kMax, {0, 2}})),
      UOp::Make(Op::kCustom, kVoid, {}, Boxed<std::string>(std::string("a\0%# ]\"\\\xff", 9))),
      UOp::Make(Op::kUnique, kVoid, {}, std::numeric_limits<int64_t>::min()),
  };
  for (double v : {0.0, -0.0, 1.5, -1e300, 5e-324, kInf, -kInf,
                   std::numeric_limits<double>::quiet_NaN(), 0.1}) {
    r_.push_back(Const(kFloat64, v));
    r_.push_back(Const(kFloat16, v));
  }
  for (int64_t v : {int64_t{0}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    r_.push_back(Const(kInt64, v));
    r_.push_back(Const(kUInt8, v));
  }
  for (int i = 0; i < kAxisTypeCount; ++i) r_.push_back(Range(n + 6, i, static_cast<AxisType>(i)));
  return r_;
}

TEST(ParseTest, RoundTripIsTheSamePointer) {
  for (const UOp& u : Samples()) {
    absl::StatusOr<UOp> back = Parse(Print(u));
    ASSERT_TRUE(back.ok()) << back.status() << "\n" << Print(u);
    EXPECT_TRUE(*back == u) << Print(u) << "\n" << Print(*back);
  }
}

TEST(ParseTest, DifferentGraphsStayDifferent) {
  std::vector<UOp> samples = Samples();
  for (size_t i = 0; i + 1 < samples.size(); ++i) {
    EXPECT_FALSE(*Parse(Print(samples[i])) == samples[i + 1] && !(samples[i] == samples[i + 1]));
  }
}

TEST(ParseTest, CommentsBlanksAndAnyIds) {
  absl::StatusOr<std::vector<UOp>> nodes = ParseList(
      "# a graph\n\n  %7=Variable  weakint\tvar(\"n\",0,3) # n\r\n"
      "%4294967295 = Const weakint 2\n%0 = Mul weakint %7 %4294967295");
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  ASSERT_EQ(nodes->size(), 3u);
  EXPECT_TRUE(nodes->back() == Variable("n", 0, 3) * 2);
}

TEST(ParseTest, ErrorsHaveAPlace) {
  struct {
    const char* text;
    const char* want;
  } rows[] = {
      {"", "line 1, column 1: no node"},
      {"%0 = Foo int32 1", "line 1, column 6: unknown operation 'Foo'"},
      {"%0 = Const int33 1", "line 1, column 12: unknown dtype 'int33'"},
      {"%0 = Const int32x70000 1", "column 12: unknown dtype"},
      {"%0 = Const int32 1\n%0 = Const int32 2", "line 2, column 1: %0 is defined twice"},
      {"%0 = Const int32 1\n%1 = Neg int32 %2", "line 2, column 16: %2 is not defined"},
      {"%0 = Neg int32 %0", "%0 is not defined"},
      {"0 = Const int32 1", "line 1, column 1: expected '%'"},
      {"%x = Const int32 1", "expected a node number"},
      {"%4294967296 = Const int32 1", "expected a node number"},
      {"%0 Const int32 1", "expected '='"},
      {"%0 = Const int32 1 2", "column 20: expected the end of the line"},
      {"%0 = Const int32 99999999999999999999", "expected an integer of 64 bits"},
      {"%0 = Const int32 -", "expected an integer of 64 bits"},
      {"%0 = Const int8 128", "has a value outside of its type"},
      {"%0 = Const int32", "may not have no argument"},
      {"%0 = Const float16 0x1.0000001p+0", "has a value that its type cannot hold"},
      {"%0 = Const float64 0x", "expected a hexadecimal float"},
      {"%0 = Const float64 0x-1p0", "expected a hexadecimal float"},
      {"%0 = Const float64 0x1p99999", "expected a hexadecimal float"},
      {"%0 = Device void \"abc", "string without an end"},
      {"%0 = Device void \"a\\q\"", "unknown escape"},
      {"%0 = Device void \"a\\x1", "unknown escape"},
      {"%0 = Param int32 param(0 4)", "column 26: expected ','"},
      {"%0 = Param int32 param(4294967296, 4)", "expected an integer of 32 bits"},
      {"%0 = Param int32 param(0, 4", "expected ')'"},
      {"%0 = Param int32 thing(0)", "unknown argument 'thing'"},
      {"%0 = Param int32 thing", "expected an argument"},
      {"%0 = Param int32 !", "expected an argument"},
      {"%0 = Buffer int32 buffer(0, 4, heap, \"\")", "expected global, local or reg"},
      {"%0 = Sink void kernel(\"k\", [spilt(0, 1, LOOP, top)])", "unknown optimisation 'spilt'"},
      {"%0 = Sink void kernel(\"k\", [split(0, 1, LOOPY, top)])", "unknown axis type 'LOOPY'"},
      {"%0 = Sink void kernel(\"k\", [split(0, 1, LOOP, left)])", "expected top or bottom"},
      {"%0 = Sink void kernel(\"k\", final, [])", "expected optimized or '['"},
      {"%0 = Function void function(\"k\", slow)", "expected precompile"},
      {"%0 = Add int32", "Add takes 2 sources, not 0"},
  };
  for (const auto& row : rows) {
    absl::StatusOr<UOp> r = Parse(row.text);
    ASSERT_FALSE(r.ok()) << row.text;
    EXPECT_EQ(r.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(r.status().message(), row.want)) << row.text << "\n"
                                                                   << r.status();
  }
}

TEST(ParseTest, TruncatedInputNeverCrashes) {
  for (const UOp& u : Samples()) {
    std::string text = Print(u);
    for (size_t n = 0; n < text.size(); ++n) Parse(text.substr(0, n)).IgnoreError();
  }
}

// Random edits of valid text. What still parses must round-trip.
TEST(ParseTest, MutatedInputNeverCrashes) {
  std::mt19937 rng(20240229);
  std::vector<std::string> texts;
  for (const UOp& u : Samples()) texts.push_back(Print(u));
  const std::string alphabet = "%=0123456789 \n\"\\x-.[](),#abcdefprtuvLOP\x00\xff";
  int parsed = 0;
  for (int i = 0; i < 60000; ++i) {
    std::string text = texts[rng() % texts.size()];
    for (int edits = 1 + rng() % 4; edits > 0 && !text.empty(); --edits) {
      size_t at = rng() % text.size();
      switch (rng() % 5) {
        case 0:
          text.erase(at, 1 + rng() % 4);
          break;
        case 1:
          text.insert(at, 1, alphabet[rng() % alphabet.size()]);
          break;
        case 2:
          text[at] = alphabet[rng() % alphabet.size()];
          break;
        case 3: {
          const std::string& other = texts[rng() % texts.size()];
          text.insert(at, other.substr(rng() % (other.size() + 1), rng() % 30));
          break;
        }
        case 4: {
          // Another operation in the place of one.
          size_t eq = text.find("= ", at);
          if (eq == std::string::npos) break;
          size_t end = text.find(' ', eq + 2);
          if (end == std::string::npos) break;
          text.replace(eq + 2, end - eq - 2,
                       std::string(OpName(static_cast<Op>(rng() % kOpCount))));
          break;
        }
      }
    }
    absl::StatusOr<UOp> u = Parse(text);
    if (!u.ok()) continue;
    ++parsed;
    absl::StatusOr<UOp> again = Parse(Print(*u));
    ASSERT_TRUE(again.ok() && *again == *u) << text;
  }
  EXPECT_GT(parsed, 1000);
}

TEST(ParseTest, RandomBytesNeverCrash) {
  std::mt19937 rng(7);
  for (int i = 0; i < 20000; ++i) {
    std::string text(rng() % 80, '\0');
    for (char& c : text) c = static_cast<char>(rng());
    EXPECT_FALSE(Parse(text).ok() && text.find('%') == std::string::npos);
  }
}

TEST(ParseTest, MillionDeep) {
  UOp a = Variable("a", 0, 1);
  UOp chain = a;
  for (int i = 0; i < 1000000; ++i) chain = chain + a;
  absl::StatusOr<UOp> back = Parse(Print(chain));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(*back == chain);
}

TEST(ParseTest, OneNodeWithManySources) {
  std::string text = "%0 = Const int32 1\n%1 = Tuple void";
  for (int i = 0; i < 100000; ++i) text += " %0";
  absl::StatusOr<UOp> u = Parse(text);
  ASSERT_TRUE(u.ok());
  EXPECT_EQ(u->src_count(), 100000);
}

}  // namespace
}  // namespace tg::ir
