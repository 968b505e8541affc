#include <limits>

#include "codegen/ir/simplify/divmod.h"
#include "codegen/ir/simplify/rules.h"

namespace tg::ir {
namespace {

using namespace tg::ir::pattern;  // NOLINT: rules are written with its names

bool IsUInt64(const UOp& u) { return u.dtype().scalar() == ScalarType::kUInt64; }

// The values of u, as a signed number, are those in its bounds.
bool Ordered(const UOp& u) { return !IsUInt64(u) || u.vmin() >= 0; }
bool NonNegative(const UOp& u) { return u.dtype().IsUnsigned() || u.vmin() >= 0; }
bool Positive(const UOp& u) { return u.vmin() > 0; }

// -x and -c are values of the type.
bool Negatable(const UOp& u) {
  if (!u.dtype().IsSigned()) return false;
  if (u.dtype().IsWeak())
    return !u.IsConst() || u.const_int() != std::numeric_limits<int64_t>::min();
  return u.vmin() > u.dtype().MinInt();
}

// n // c, n % c by the arithmetic of linear forms (divmod.cc has the proofs).
UOp FloorDivision(const UOp& u, void*) {
  const UOp &n = u.src(0), &by = u.src(1);
  if (!by.IsConst()) return SimplifyFloorDiv(n, by);
  return by.const_int() > 1 ? SimplifyFloorDiv(n, by.const_int()) : UOp();
}
UOp FloorRemainder(const UOp& u, void*) {
  const UOp &n = u.src(0), &by = u.src(1);
  if (!by.IsConst()) return SimplifyFloorMod(n, by);
  return by.const_int() > 1 ? SimplifyFloorMod(n, by.const_int()) : UOp();
}

auto SignsAgree() {
  return [](const Match& m) {
    return NonNegative(m[i]) && (Positive(m[j]) || m[j].dtype().IsUnsigned());
  };
}
auto NegativeDivisor() {
  return [](const Match& m) {
    return m[c0].dtype().IsSigned() && m[c0].const_int() < -1 && Negatable(m[i]) &&
           Negatable(m[c0]);
  };
}

}  // namespace

const RuleSet& DivModRules() {
  static const RuleSet& rules = *new RuleSet{
      // A divisor of 1 or -1. n // -1 wraps as -n does.
      FloorDiv(i, 1) >> i,
      Cdiv(i, 1) >> i,
      FloorMod(i, 1) >> 0,
      Cmod(i, 1) >> 0,
      FloorDiv(i, -1) >> ([](const Match& m) {
        return m[i].dtype().IsSigned() ? m[i] * -1 : UOp();  // unsigned: -1 is the largest number
      }),
      Cdiv(i, -1) >> ([](const Match& m) { return m[i].dtype().IsSigned() ? m[i] * -1 : UOp(); }),
      FloorMod(i, -1) >>
          ([](const Match& m) { return m[i].dtype().IsSigned() ? Const(m[i].dtype(), 0) : UOp(); }),
      Cmod(i, -1) >>
          ([](const Match& m) { return m[i].dtype().IsSigned() ? Const(m[i].dtype(), 0) : UOp(); }),

      // Truncating and flooring are the same where no sign differs.
      (Cdiv(i, j) >> FloorDiv(i, j)).If(SignsAgree()),
      (Cmod(i, j) >> FloorMod(i, j)).If(SignsAgree()),

      // n // -c = floor(n / -c) = floor(-n / c).
      (FloorDiv(i, c0) >> FloorDiv(i * -1, Fold(c0 * -1))).If(NegativeDivisor()),
      // n % -c = n + c*(n // -c) = -(-n - c*(-n // c)) = -(-n % c).
      (FloorMod(i, c0) >> FloorMod(i * -1, Fold(c0 * -1)) * -1).If(NegativeDivisor()),
      // Truncation is odd in each operand: cdiv(n, -c) = -cdiv(n, c); cmod(n, -c) = cmod(n, c).
      (Cdiv(i, c0) >> Cdiv(i, Fold(c0 * -1)) * -1).If(NegativeDivisor()),
      (Cmod(i, c0) >> Cmod(i, Fold(c0 * -1))).If(NegativeDivisor()),
      // n <= 0 < c: cdiv(n, c) = -(-n // c), cmod(n, c) = -(-n % c).
      (Cdiv(i, c0) >> FloorDiv(i * -1, c0) * -1).If([](const Match& m) {
        return m[i].vmax() <= 0 && Ordered(m[i]) && Negatable(m[i]) && m[c0].const_int() > 1;
      }),
      (Cmod(i, c0) >> FloorMod(i * -1, c0) * -1).If([](const Match& m) {
        return m[i].vmax() <= 0 && Ordered(m[i]) && Negatable(m[i]) && m[c0].const_int() > 1;
      }),
      // cdiv(cdiv(n, a), b) = cdiv(n, a*b) for a, b > 0: by oddness as for n >= 0, where it is the
      // flooring identity floor(floor(z) / b) = floor(z / b).
      (Cdiv(Cdiv(i, c0), c1) >> Cdiv(i, Fold(c0 * c1))).If([](const Match& m) {
        int64_t product;
        return m[c0].const_int() > 0 && m[c1].const_int() > 0 &&
               !__builtin_mul_overflow(m[c0].const_int(), m[c1].const_int(), &product) &&
               (m[i].dtype().IsWeak() || product <= m[i].dtype().MaxInt());
      }),
      // cmod(cmod(n, a), b) = cmod(n, b) where b divides a: n and cmod(n, a) have the same sign and
      // differ by a multiple of b.
      (Cmod(Cmod(i, c0), c1) >> Cmod(i, c1)).If([](const Match& m) {
        return m[c1].const_int() > 0 && m[c0].const_int() > 0 &&
               m[c0].const_int() % m[c1].const_int() == 0;
      }),
      // cdiv(n, c) and cmod(n, c) where the congruence of n says that c divides it: no rounding.
      (Cdiv(i, c0) >> FloorDiv(i, c0)).If([](const Match& m) {
        const Congruence& n = m[i].congruence();
        const int64_t c = m[c0].const_int();
        return c > 0 && n.modulus % c == 0 && n.remainder % c == 0;
      }),
      // n % c = r where n = r (mod k*c).
      FloorMod(i, c0) >> ([](const Match& m) {
        const Congruence& n = m[i].congruence();
        const int64_t c = m[c0].const_int();
        if (c <= 1 || n.modulus % c != 0) return UOp();
        const int64_t r = n.remainder % c;
        return Const(m[i].dtype(), r < 0 ? r + c : r);
      }),

      // Exact integers: a shift by a constant is a product or a division by 2^c, a mask of low bits
      // a remainder.
      i << c0 >> ([](const Match& m) {
        const int64_t c = m[c0].const_int();
        return m[i].dtype().IsWeak() && c >= 0 && c < 62 ? m[i] * (int64_t{1} << c) : UOp();
      }),
      Shr(i, c0) >> ([](const Match& m) {
        const int64_t c = m[c0].const_int();
        return m[i].dtype().IsWeak() && c >= 0 && c < 62 ? FloorDiv(m[i], int64_t{1} << c) : UOp();
      }),
      (i & c0) >> ([](const Match& m) {
        const int64_t c = m[c0].const_int();
        return m[i].dtype().IsWeak() && c > 0 && c < (int64_t{1} << 61) && (c & (c + 1)) == 0
                   ? FloorMod(m[i], c + 1)
                   : UOp();
      }),

      On({Op::kFloorDiv}, FloorDivision, "floor_division"),
      On({Op::kFloorMod}, FloorRemainder, "floor_remainder"),
  };
  return rules;
}

}  // namespace tg::ir
