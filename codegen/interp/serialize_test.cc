#include "codegen/interp/serialize.h"

#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "codegen/interp/interpreter.h"
#include "codegen/interp/program_builder.h"
#include "codegen/interp/renderer.h"
#include "codegen/lower/program.h"
#include "gtest/gtest.h"

namespace tg::interp {
namespace {

using ir::UOp;

lower::LinearProgram AddN() {
  ProgramBuilder b("add_n");
  UOp out = b.Param(ir::kInt32, 8), in = b.Param(ir::kInt32, 8);
  UOp n = b.Variable("n", 1, 5);
  UOp t = b.Loop(2, ir::AxisType::kThread);
  UOp i = b.Loop(4);
  UOp at = b.Add(t * 4 + i);
  b.End(b.Store(out, at, b.Load(in, at) + n), {i});
  lower::LinearProgram p = b.Build();
  p.estimates = {8, 64.5, 1e9};
  return p;
}

void ExpectEqual(const lower::LinearProgram& a, const lower::LinearProgram& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_TRUE(a.ops == b.ops);
  EXPECT_TRUE(a.variables == b.variables);
  EXPECT_EQ(a.threads, b.threads);
  ASSERT_EQ(a.params.size(), b.params.size());
  for (size_t i = 0; i < a.params.size(); ++i) {
    EXPECT_EQ(a.params[i].dtype, b.params[i].dtype);
    EXPECT_EQ(a.params[i].size, b.params[i].size);
    EXPECT_EQ(a.params[i].read, b.params[i].read);
    EXPECT_EQ(a.params[i].written, b.params[i].written);
  }
  EXPECT_EQ(a.estimates.ops, b.estimates.ops);
  EXPECT_EQ(a.estimates.mem_bytes, b.estimates.mem_bytes);
  EXPECT_EQ(a.estimates.lds_bytes, b.estimates.lds_bytes);
}

TEST(SerializeTest, RoundTrip) {
  lower::LinearProgram p = AddN();
  absl::StatusOr<std::string> text = Serialize(p);
  ASSERT_TRUE(text.ok()) << text.status();
  absl::StatusOr<lower::LinearProgram> back = Deserialize(*text);
  ASSERT_TRUE(back.ok()) << back.status() << *text;
  ExpectEqual(p, *back);

  ProgramBuilder b("constant");
  b.Store(b.Param(ir::kFloat32, 1), b.Int(0), ir::Const(ir::kFloat32, 0.5));
  back = Deserialize(*Serialize(b.Build()));
  ASSERT_TRUE(back.ok()) << back.status();
  ExpectEqual(b.Build(), *back);

  p.threads = 3;
  EXPECT_FALSE(Serialize(p).ok());
}

TEST(SerializeTest, RendererCompilesToIt) {
  std::unique_ptr<render::Renderer> r = MakeRenderer();
  EXPECT_EQ(r->target().name, "INTERP");
  EXPECT_TRUE(r->target().supports(ir::kFp8E4M3));
  EXPECT_FALSE(r->target().supports(ir::kWeakInt));
  EXPECT_TRUE(r->target().native_op(ir::Op::kThreefry, ir::kUInt64));
  EXPECT_EQ(*r->Compile(AddN()), *Serialize(AddN()));
  EXPECT_EQ(*r->Render(AddN()), lower::ProgramToString(AddN()));
}

TEST(SerializeTest, Errors) {
  const std::string good = *Serialize(AddN());
  struct {
    const char* from;
    const char* to;
    const char* want;
  } rows[] = {
      {"tg program 1", "tg program 2", "line 1: expected"},
      {"name \"add_n\"", "name add_n", "line 2: expected a quoted name"},
      {"name \"add_n\"", "name \"a-b\"", "not a C identifier"},
      {"threads 2", "threads two", "line 3: expected an integer"},
      {"threads 2", "threads 4", "the program has 4 threads"},
      {"estimates 0x1p+3", "estimates 8", "expected three hexadecimal floats"},
      {"param int32 8 r-", "param int33 8 r-", "expected a dtype"},
      {"param int32 8 r-", "param int32 8 --", "is not read"},
      {"param int32 8 r-", "param int32 9 r-", "row says 9"},
      {"param int32 8 r-", "size 8", "unknown line: \"size 8\""},
      {"\nops\n", "\n", "there is no list of operations"},
      {"var(\"n\", 1, 5)\nops", "var(\"n\", 1, 6)\nops", "a variable is not listed"},
      {"Add int32", "Axd int32", "ops: line"},
  };
  for (const auto& r : rows) {
    std::string text = absl::StrReplaceAll(good, {{r.from, r.to}});
    ASSERT_NE(text, good) << r.from;
    absl::StatusOr<lower::LinearProgram> p = Deserialize(text);
    ASSERT_FALSE(p.ok()) << r.to;
    EXPECT_TRUE(absl::StrContains(p.status().message(), r.want)) << p.status();
  }
  for (size_t n = 0; n < good.size(); ++n) Deserialize(good.substr(0, n)).IgnoreError();
  EXPECT_FALSE(Deserialize("").ok());
}

// Whatever still is a program is safe to run, too.
TEST(SerializeTest, MutatedTextNeverCrashes) {
  const std::string good = *Serialize(AddN());
  const std::string alphabet = "%=0123456789 \n\"x-()abeklnrstvwLO\x00";
  std::mt19937 rng(11);
  int ran = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (int edits = 1 + rng() % 3; edits > 0; --edits) {
      const size_t at = rng() % text.size();
      if (rng() % 3 == 0) {
        text.erase(at, 1);
      } else if (rng() % 2 == 0) {
        text[at] = alphabet[rng() % alphabet.size()];
      } else {
        text.insert(at, 1, alphabet[rng() % alphabet.size()]);
      }
    }
    absl::StatusOr<lower::LinearProgram> p = Deserialize(text);
    if (!p.ok()) continue;
    std::vector<std::vector<uint8_t>> buffers;
    std::vector<absl::Span<uint8_t>> spans;
    bool small = p->threads <= 64;
    for (const UOp& u : p->ops) small &= !u.Is(ir::Op::kRange) || u.src(0).vmax() <= 10000;
    for (const lower::ProgramParam& row : p->params) {
      small &= row.size <= 100000;
      buffers.emplace_back(small ? row.size * row.dtype.bytes() : 0);
    }
    if (!small) continue;
    for (auto& v : buffers) spans.push_back(absl::MakeSpan(v));
    std::vector<int64_t> vars;
    for (const UOp& v : p->variables) vars.push_back(v.vmin());
    Interpret(*p, spans, vars).IgnoreError();
    ++ran;
  }
  EXPECT_GT(ran, 100);
}

}  // namespace
}  // namespace tg::interp
