#include "codegen/opt/testing/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "codegen/ir/print.h"

namespace tg::opt {
namespace {

using ir::Op;
using ir::UOp;

struct Value {
  double f = 0;
  int64_t i = 0;
};

int64_t DivFloor(int64_t a, int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

class Evaluator {
 public:
  explicit Evaluator(Buffers& buffers) : buffers_(buffers), written_(buffers.size()) {}

  void Stores(const UOp& body) {
    if (body.Is(Op::kGroup)) {
      for (const UOp& s : body.src()) Stores(s);
      return;
    }
    const UOp& index = body.src(0);
    const UOp where = ir::GetIndex(index.src(1));
    if (!Eval(ir::GetValid(index.src(1))).i) return;
    const int64_t at = Eval(where).i;
    const int slot = index.src(0).arg_as<ir::ParamArg>().slot;
    if (!Inside(slot, at, index)) return;
    if (!written_[slot].insert(at).second && status.ok()) {
      status = absl::InvalidArgumentError(absl::StrCat("element ", at, " is written twice"));
    }
    const Value v = Eval(body.src(1));
    buffers_[slot][at] = body.src(1).dtype().IsFloat() ? v.f : static_cast<double>(v.i);
  }

  // Calls `body` for all values of ranges[at..].
  template <typename Body>
  void Loop(absl::Span<const UOp> ranges, const Body& body) {
    if (ranges.empty()) {
      body();
      return;
    }
    const int64_t n = Eval(ranges[0].src(0)).i;
    for (int64_t i = 0; i < n && status.ok(); ++i) {
      range_[ranges[0].id()] = i;
      Loop(ranges.subspan(1), body);
    }
  }

  absl::Status status;

 private:
  bool Inside(int slot, int64_t at, const UOp& index) {
    if (at >= 0 && at < static_cast<int64_t>(buffers_[slot].size())) return true;
    if (status.ok()) {
      status = absl::OutOfRangeError(absl::StrCat("element ", at, ": ", ir::PrintExpr(index)));
    }
    return false;
  }

  Value Reduce(const UOp& u) {
    const Op op = u.arg_as<ir::ReduceArg>().op;
    const double inf = std::numeric_limits<double>::infinity();
    Value acc = op == Op::kAdd   ? Value{0, 0}
                : op == Op::kMul ? Value{1, 1}
                                 : Value{-inf, std::numeric_limits<int64_t>::min()};
    Loop(u.src().subspan(1), [&] {
      const Value v = Eval(u.src(0));
      if (op == Op::kAdd) acc = {acc.f + v.f, acc.i + v.i};
      if (op == Op::kMul) acc = {acc.f * v.f, acc.i * v.i};
      if (op == Op::kMax) acc = {std::max(acc.f, v.f), std::max(acc.i, v.i)};
    });
    return acc;
  }

  Value Load(const UOp& u) {
    const UOp& index = u.src(0);
    if (!Eval(ir::GetValid(index.src(1))).i) return {};
    const int64_t at = Eval(ir::GetIndex(index.src(1))).i;
    const int slot = index.src(0).arg_as<ir::ParamArg>().slot;
    if (!Inside(slot, at, index)) return {};
    const double x = buffers_[slot][at];
    return {x, static_cast<int64_t>(x)};
  }

  Value Eval(const UOp& u) {
    const bool is_float = u.src_count() > 0 && u.src(u.src_count() - 1).dtype().IsFloat();
    auto a = [&] { return Eval(u.src(0)); };
    auto b = [&] { return Eval(u.src(1)); };
    auto number = [&](double f, int64_t i) { return is_float ? Value{f, 0} : Value{0, i}; };
    switch (u.op()) {
      case Op::kConst:
        if (u.IsInvalid()) return {};
        return u.dtype().IsFloat() ? Value{u.const_float(), 0} : Value{0, u.const_int()};
      case Op::kRange:
        return {0, range_[u.id()]};
      case Op::kLoad:
        return Load(u);
      case Op::kReduce:
        return Reduce(u);
      case Op::kCast: {
        const Value v = a();
        const double f = is_float ? v.f : static_cast<double>(v.i);
        return u.dtype().IsFloat() ? Value{f, 0}
                                   : Value{0, is_float ? static_cast<int64_t>(v.f) : v.i};
      }
      case Op::kAdd: {
        const Value x = a(), y = b();
        return number(x.f + y.f, x.i + y.i);
      }
      case Op::kMul: {
        const Value x = a(), y = b();
        return number(x.f * y.f, x.i * y.i);
      }
      case Op::kMax: {
        const Value x = a(), y = b();
        return number(std::max(x.f, y.f), std::max(x.i, y.i));
      }
      case Op::kFloorDiv:
        return {0, DivFloor(a().i, b().i)};
      case Op::kFloorMod: {
        const int64_t x = a().i, y = b().i;
        return {0, x - DivFloor(x, y) * y};
      }
      case Op::kCmpLt: {
        const Value x = a(), y = b();
        return {0, is_float ? x.f < y.f : x.i < y.i};
      }
      case Op::kCmpNe: {
        const Value x = a(), y = b();
        return {0, is_float ? x.f != y.f : x.i != y.i};
      }
      case Op::kCmpEq: {
        const Value x = a(), y = b();
        return {0, is_float ? x.f == y.f : x.i == y.i};
      }
      case Op::kAnd:
        return {0, a().i & b().i};
      case Op::kOr:
        return {0, a().i | b().i};
      case Op::kXor:
        return {0, a().i ^ b().i};
      case Op::kExp2:
        return {std::exp2(a().f), 0};
      case Op::kReciprocal:
        return {1 / a().f, 0};
      case Op::kWhere:
        return Eval(u.src(0)).i ? Eval(u.src(1)) : Eval(u.src(2));
      default:
        if (status.ok()) {
          status = absl::InvalidArgumentError(absl::StrCat("not handled: ", ir::PrintExpr(u)));
        }
        return {};
    }
  }

  Buffers& buffers_;
  std::vector<absl::flat_hash_set<int64_t>> written_;
  absl::flat_hash_map<const void*, int64_t> range_;
};

}  // namespace

Buffers RandomBuffers(const UOp& kernel, uint64_t seed) {
  Buffers buffers;
  for (const UOp& u : ir::Toposort(kernel)) {
    if (!u.Is(Op::kParam)) continue;
    const ir::ParamArg& arg = u.arg_as<ir::ParamArg>();
    if (buffers.size() <= static_cast<size_t>(arg.slot)) buffers.resize(arg.slot + 1);
    buffers[arg.slot].resize(arg.size);
  }
  std::mt19937_64 random(seed);
  for (std::vector<double>& b : buffers) {
    for (double& x : b) x = static_cast<double>(random() % 7) - 3;
  }
  return buffers;
}

absl::Status Evaluate(const UOp& kernel, Buffers& buffers) {
  Evaluator e(buffers);
  for (const UOp& end : kernel.src()) {
    if (end.Is(Op::kEnd)) {
      e.Loop(end.src().subspan(1), [&] { e.Stores(end.src(0)); });
    } else {
      e.Stores(end);
    }
  }
  return e.status;
}

}  // namespace tg::opt
