#include "codegen/ir/simplify/linear.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "codegen/ir/simplify/order.h"

namespace tg::ir {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// Shared sums below would be walked once for each path that leads to them.
constexpr int kMaxVisits = 4 * kMaxLinearTerms;

bool IsExact(DType d) { return d.scalar() == ScalarType::kWeakInt; }

// Collects terms at a type: exact with overflow noticed, or wrapped.
class Collector {
 public:
  explicit Collector(DType d) : dtype_(d), exact_(IsExact(d)) {}

  // False: an overflow, or too large.
  bool Run(const UOp& x, LinearForm& form) {
    struct Item {
      const UOp* node;
      int64_t coef;
    };
    absl::InlinedVector<Item, 16> stack = {{&x, 1}};
    int visits = 0;
    while (!stack.empty()) {
      const auto [node, coef] = stack.back();
      const UOp& u = *node;
      stack.pop_back();
      if (++visits > kMaxVisits) return false;
      int64_t factor;
      const UOp* factored;
      switch (u.op()) {
        case Op::kConst:
          if (u.IsInvalid()) break;
          if (!Add(form.constant, u.const_int(), coef)) return false;
          continue;
        case Op::kRange:
        case Op::kVariable:
          if (u.vmin() != u.vmax()) break;
          if (!Add(form.constant, u.vmin(), coef)) return false;
          continue;
        case Op::kAdd:
          stack.push_back({&u.src(1), coef});
          stack.push_back({&u.src(0), coef});
          continue;
        case Op::kSub:
          if (!Product(coef, -1, factor)) return false;
          stack.push_back({&u.src(1), factor});
          stack.push_back({&u.src(0), coef});
          continue;
        case Op::kNeg:
          if (!Product(coef, -1, factor)) return false;
          stack.push_back({&u.src(0), factor});
          continue;
        case Op::kMul:
        case Op::kShl:
          if (!FactorOf(u, factored, factor)) break;
          // A fixed-width sum stays factored: x*3 + y*3 costs more than (x + y)*3.
          if (!exact_ && IsSumOfTerms(*factored)) break;
          if (!Product(factor, coef, factor)) return false;
          stack.push_back({factored, factor});
          continue;
        default:
          break;
      }
      if (!AddTerm(form, u, coef)) return false;
    }
    return true;
  }

  bool Product(int64_t a, int64_t b, int64_t& out) const {
    if (exact_) return !__builtin_mul_overflow(a, b, &out);
    out = WrapToInt(static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)),
                    dtype_.Scalar());
    return true;
  }

  // sum += a * b
  bool Add(int64_t& sum, int64_t a, int64_t b) const {
    int64_t p;
    if (!Product(a, b, p)) return false;
    if (exact_) return !__builtin_add_overflow(sum, p, &sum);
    sum = WrapToInt(static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(p)),
                    dtype_.Scalar());
    return true;
  }

  bool AddTerm(LinearForm& form, const UOp& term, int64_t coef) const {
    for (LinearTerm& t : form.terms) {
      if (t.term == term) return Add(t.coef, coef, 1);
    }
    if (static_cast<int>(form.terms.size()) >= kMaxLinearTerms) return false;
    form.terms.push_back({term, coef});
    return true;
  }

 private:
  static bool IsSumOfTerms(const UOp& u) {
    return u.Is(Op::kSub) || (u.Is(Op::kAdd) && !u.src(1).IsConst());
  }

  // Whether u is `factored` times a constant.
  static bool FactorOf(const UOp& u, const UOp*& factored, int64_t& factor) {
    const bool left = u.Is(Op::kMul) && u.src(0).IsConst();
    const UOp& c = u.src(left ? 0 : 1);
    if (!c.IsConst() || c.IsInvalid()) return false;
    factored = &u.src(left ? 1 : 0);
    factor = c.const_int();
    if (u.Is(Op::kMul)) return true;
    if (factor < 0 || factor > 61) return false;
    if (!u.dtype().IsWeak() && factor >= u.dtype().bits()) return false;
    factor = int64_t{1} << factor;
    return true;
  }

  const DType dtype_;
  const bool exact_;
};

void SortAndPrune(LinearForm& form) {
  auto& t = form.terms;
  t.erase(std::remove_if(t.begin(), t.end(), [](const LinearTerm& x) { return x.coef == 0; }),
          t.end());
  auto less = [](const LinearTerm& a, const LinearTerm& b) { return OrderLess(a.term, b.term); };
  if (!std::is_sorted(t.begin(), t.end(), less)) std::sort(t.begin(), t.end(), less);
}

}  // namespace

int64_t LinearForm::Coef(const UOp& term) const {
  for (const LinearTerm& t : terms) {
    if (t.term == term) return t.coef;
  }
  return 0;
}

LinearForm SumTerms(const UOp& x) {
  LinearForm form;
  if (!Collector(x.dtype()).Run(x, form)) {
    form.terms.clear();
    form.terms.push_back({x, 1});
    form.constant = 0;
    return form;
  }
  SortAndPrune(form);
  return form;
}

std::optional<LinearForm> ExactTerms(const UOp& x) {
  LinearForm form = SumTerms(x);
  if (IsExact(x.dtype())) return form;
  // The upper half of uint64 is held as negative numbers.
  const bool itself = form.terms.size() == 1 && form.terms[0].coef == 1 && form.constant == 0;
  if (itself && x.dtype().scalar() != ScalarType::kUInt64) return form;
  const std::optional<WideBounds> b = FormBounds(form);
  if (!b.has_value() || b->min < x.dtype().MinInt() || b->max > x.dtype().MaxInt()) {
    return std::nullopt;
  }
  return form;
}

UOp FromTerms(const LinearForm& form, DType dtype) {
  UOp sum;
  for (const LinearTerm& t : form.terms) {
    UOp product = t.coef == 1 ? t.term : Alu(Op::kMul, {t.term, Const(dtype, t.coef)});
    sum = sum ? Alu(Op::kAdd, {sum, product}) : std::move(product);
  }
  if (!sum) return Const(dtype, form.constant);
  return form.constant == 0 ? sum : Alu(Op::kAdd, {sum, Const(dtype, form.constant)});
}

std::optional<LinearForm> AddForms(const LinearForm& a, const LinearForm& b, int64_t factor) {
  const Collector exact{kIndex};
  LinearForm r = a;
  if (!exact.Add(r.constant, b.constant, factor)) return std::nullopt;
  for (const LinearTerm& t : b.terms) {
    int64_t c;
    if (!exact.Product(t.coef, factor, c) || !exact.AddTerm(r, t.term, c)) return std::nullopt;
  }
  SortAndPrune(r);
  return r;
}

bool Normalize(LinearForm& form) {
  const Collector exact{kIndex};
  LinearForm r;
  r.constant = form.constant;
  for (const LinearTerm& t : form.terms) {
    if (!exact.AddTerm(r, t.term, t.coef)) return false;
  }
  SortAndPrune(r);
  form = std::move(r);
  return true;
}

std::optional<WideBounds> FormBounds(const LinearForm& form) {
  WideBounds b{form.constant, form.constant};
  for (const LinearTerm& t : form.terms) {
    const Bounds& v = t.term.bounds();
    if (v.min == kMin || v.max == kMax) return std::nullopt;
    const __int128 lo = static_cast<__int128>(v.min) * t.coef;
    const __int128 hi = static_cast<__int128>(v.max) * t.coef;
    b.min += std::min(lo, hi);
    b.max += std::max(lo, hi);
  }
  return b;
}

namespace {

// The largest value of `term`, a product of non-negative factors, as a form: ranges of constant
// size at size - 1, one of symbolic size only where it stands alone. The term itself otherwise.
LinearForm LargestValue(const UOp& term) {
  LinearForm r{.terms = {{term, 1}}, .constant = 0};
  if (term.Is(Op::kRange)) {
    LinearForm size = SumTerms(term.src(0));
    return __builtin_sub_overflow(size.constant, 1, &size.constant) ? r : size;
  }
  if (!term.Is(Op::kMul)) return r;
  int64_t constant = 1;
  UOp rest;
  absl::InlinedVector<const UOp*, 4> factors = {&term};
  while (!factors.empty()) {
    const UOp& f = *factors.back();
    factors.pop_back();
    if (f.Is(Op::kMul)) {
      factors.push_back(&f.src(1));
      factors.push_back(&f.src(0));
    } else if (f.vmin() < 0) {
      return r;
    } else if (f.Is(Op::kRange) && f.src(0).IsConst()) {
      if (__builtin_mul_overflow(constant, f.vmax(), &constant)) return r;
    } else {
      rest = rest ? rest * f : f;
    }
  }
  if (!rest) return {.terms = {}, .constant = constant};
  if (constant == 0) return {};
  return {.terms = {{rest, constant}}, .constant = 0};
}

}  // namespace

std::optional<LinearForm> ExtremeForm(const LinearForm& form, bool upper) {
  LinearForm r;
  r.constant = form.constant;
  for (const LinearTerm& t : form.terms) {
    LinearForm value{.terms = {{t.term, 1}}, .constant = 0};
    if ((t.coef > 0) == upper) {
      value = LargestValue(t.term);
    } else if (t.term.Is(Op::kRange)) {
      value = {};
    }
    std::optional<LinearForm> sum = AddForms(r, value, t.coef);
    if (!sum.has_value()) return std::nullopt;
    r = *std::move(sum);
  }
  return r;
}

int64_t CoefGcd(const LinearForm& form) {
  uint64_t g = 0;
  for (const LinearTerm& t : form.terms) {
    g = std::gcd(g, t.coef < 0 ? 0 - static_cast<uint64_t>(t.coef) : static_cast<uint64_t>(t.coef));
  }
  return g > static_cast<uint64_t>(kMax) ? 1 : static_cast<int64_t>(g);
}

}  // namespace tg::ir
