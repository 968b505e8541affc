#include "codegen/opt/merge_ranges.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/ir/simplify/simplify.h"
#include "codegen/opt/rebuild.h"

namespace tg::opt {
namespace {

using ir::AxisType;
using ir::Op;
using ir::UOp;

// Kernels with more loops than this are not split further.
constexpr int kMaxRanges = 16;

bool IsDivMod(Op op) {
  return op == Op::kFloorDiv || op == Op::kFloorMod || op == Op::kCdiv || op == Op::kCmod;
}

int CountDivMods(const UOp& root) {
  int n = 0;
  for (const UOp& u : ir::Toposort(root)) n += IsDivMod(u.op()) && u.dtype().IsInt() ? 1 : 0;
  return n;
}

int64_t ConstSize(const UOp& range) {
  return range.src(0).IsConst() ? range.src(0).const_int() : -1;
}

// The largest expressions of index arithmetic: what memory is accessed at, with its conditions, and
// what conditions and values outside of memory accesses are made of.
std::vector<UOp> IndexRoots(absl::Span<const UOp> nodes) {
  std::vector<UOp> roots;
  ir::UOpSet arithmetic, seen;
  for (const UOp& u : nodes) {
    if (u.dtype().Scalar() == ir::kIndex ||
        (u.dtype().IsBool() && ir::IsAlu(u.op()) &&
         std::all_of(u.src().begin(), u.src().end(),
                     [&](const UOp& s) { return s.IsConst() || arithmetic.contains(s); }))) {
      arithmetic.insert(u);
      continue;
    }
    if (u.Is(Op::kReduce) || u.Is(Op::kEnd)) continue;
    for (const UOp& s : u.src()) {
      if (arithmetic.contains(s) && !s.ranges().empty() && seen.insert(s).second) {
        roots.push_back(s);
      }
    }
  }
  return roots;
}

// The lists of ranges that are closed together.
std::vector<UOp> Closers(absl::Span<const UOp> nodes) {
  std::vector<UOp> closers;
  for (const UOp& u : nodes) {
    if ((u.Is(Op::kReduce) || u.Is(Op::kEnd)) && u.src_count() > 1) closers.push_back(u);
  }
  return closers;
}

// Whether `a` and `b` are closed by the same nodes, and at outputs directly after one another.
bool ClosedTogether(absl::Span<const UOp> closers, const UOp& a, const UOp& b) {
  for (const UOp& u : closers) {
    int at_a = 0, at_b = 0;
    for (int i = 1; i < u.src_count(); ++i) {
      if (u.src(i) == a) at_a = i;
      if (u.src(i) == b) at_b = i;
    }
    if ((at_a == 0) != (at_b == 0)) return false;
    if (at_a != 0 && u.Is(Op::kEnd) && at_b != at_a + 1) return false;
  }
  return true;
}

enum class Verdict { kGood, kBad, kUnclear };

// What merging does to an index that is a plain sum: fine if `a` steps over all of `b`.
Verdict JudgeSum(const UOp& root, const UOp& a, const UOp& b, int64_t size_b) {
  const bool has_a = root.DependsOnRange(a);
  const bool has_b = root.DependsOnRange(b);
  if (!has_a && !has_b) return Verdict::kGood;
  if (root.Is(Op::kWhere) || root.dtype().IsBool()) return Verdict::kUnclear;
  const ir::LinearForm form = ir::SumTerms(root);
  for (const ir::LinearTerm& t : form.terms) {
    if (t.term.Is(Op::kRange)) continue;
    if (t.term.DependsOnRange(a) || t.term.DependsOnRange(b)) return Verdict::kUnclear;
  }
  return form.Coef(a) == form.Coef(b) * size_b ? Verdict::kGood : Verdict::kBad;
}

struct Merge {
  UOp outer, inner, merged;
};

// The replacements for a merge of `a` (outer) and `b` (inner).
RangeReplacements MergeOf(const Merge& m) {
  const int64_t size = ConstSize(m.inner);
  RangeReplacements r;
  r.emplace(
      m.outer,
      RangeReplacement{.value = ir::FloorDiv(m.merged, size), .parts = {m.merged}, .valid = UOp()});
  r.emplace(m.inner,
            RangeReplacement{.value = ir::FloorMod(m.merged, size), .parts = {}, .valid = UOp()});
  return r;
}

bool MergeIsFree(absl::Span<const UOp> roots, const Merge& m) {
  const int64_t size_b = ConstSize(m.inner);
  std::vector<UOp> unclear;
  for (const UOp& root : roots) {
    const Verdict v = JudgeSum(root, m.outer, m.inner, size_b);
    if (v == Verdict::kBad) return false;
    if (v == Verdict::kUnclear) unclear.push_back(root);
  }
  const ir::UOpMap map = {{m.outer, ir::FloorDiv(m.merged, size_b)},
                          {m.inner, ir::FloorMod(m.merged, size_b)}};
  for (const UOp& root : unclear) {
    if (CountDivMods(ir::Simplify(ir::Substitute(root, map))) > CountDivMods(root)) return false;
  }
  return true;
}

std::optional<Merge> FindMerge(const UOp& kernel) {
  const std::vector<UOp> nodes = ir::Toposort(kernel);
  const std::vector<UOp> closers = Closers(nodes);
  const std::vector<UOp> roots = IndexRoots(nodes);
  for (const UOp& u : closers) {
    const absl::Span<const UOp> ranges = u.src().subspan(1);
    for (size_t i = 0; i < ranges.size(); ++i) {
      for (size_t j = 0; j < ranges.size(); ++j) {
        if (i == j || (u.Is(Op::kEnd) && j != i + 1)) continue;
        const UOp& a = ranges[i];
        const UOp& b = ranges[j];
        const int64_t size_a = ConstSize(a);
        const int64_t size_b = ConstSize(b);
        int64_t size;
        if (size_a < 1 || size_b < 1 || __builtin_mul_overflow(size_a, size_b, &size)) continue;
        const ir::RangeArg& arg = a.arg_as<ir::RangeArg>();
        if (arg.type != b.arg_as<ir::RangeArg>().type) continue;
        if (!ClosedTogether(closers, a, b)) continue;
        Merge m{.outer = a, .inner = b, .merged = ir::Range(size, arg.id, arg.type)};
        if (MergeIsFree(roots, m)) return m;
      }
    }
  }
  return std::nullopt;
}

// A range r with r // c or r % c somewhere, and the c.
std::optional<std::pair<UOp, int64_t>> FindSplit(absl::Span<const UOp> nodes) {
  for (const UOp& u : nodes) {
    if (!IsDivMod(u.op()) || !u.src(0).Is(Op::kRange) || !u.src(1).IsConst()) continue;
    const int64_t size = ConstSize(u.src(0));
    const int64_t c = u.src(1).const_int();
    if (c > 1 && size > c && size % c == 0) return std::make_pair(u.src(0), c);
  }
  return std::nullopt;
}

// Ranges of one iteration are gone.
UOp DropTrivial(const UOp& kernel) {
  RangeReplacements r;
  for (const UOp& u : ir::Toposort(kernel)) {
    if (!u.Is(Op::kRange) || ConstSize(u) != 1) continue;
    r.emplace(u, RangeReplacement{.value = ir::IndexConst(0), .parts = {}, .valid = UOp()});
  }
  return r.empty() ? kernel : ReplaceRanges(kernel, r);
}

UOp SplitRanges(UOp kernel) {
  for (;;) {
    const std::vector<UOp> nodes = ir::Toposort(kernel);
    const auto split = FindSplit(nodes);
    if (!split.has_value()) return kernel;
    const auto& [range, c] = *split;
    int ranges = 0;
    int32_t next_id = 0;
    for (const UOp& u : nodes) {
      if (!u.Is(Op::kRange)) continue;
      ++ranges;
      next_id = std::max(next_id, u.arg_as<ir::RangeArg>().id + 1);
    }
    if (ranges >= kMaxRanges) return kernel;
    const ir::RangeArg& arg = range.arg_as<ir::RangeArg>();
    const UOp outer = ir::Range(ConstSize(range) / c, arg.id, arg.type);
    const UOp inner = ir::Range(c, next_id, arg.type);
    RangeReplacements r;
    r.emplace(range, RangeReplacement{
                         .value = outer * c + inner, .parts = {outer, inner}, .valid = UOp()});
    kernel = ir::Simplify(ReplaceRanges(kernel, r));
  }
}

}  // namespace

UOp MergeRanges(const UOp& kernel) {
  UOp k = SplitRanges(ir::Simplify(DropTrivial(kernel)));
  while (const std::optional<Merge> m = FindMerge(k)) {
    k = ir::Simplify(ReplaceRanges(k, MergeOf(*m)));
  }
  return k;
}

}  // namespace tg::opt
