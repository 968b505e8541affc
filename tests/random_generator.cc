#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/random_oracle.h"
#include "tests/random_program.h"
#include "tests/random_step.h"

namespace tg::testing {
namespace {

using Kind = StepKind;

constexpr int64_t kMaxSmallElements = 600;

class Generator {
 public:
  Generator(uint64_t seed, int steps, bool large) : rng_(seed), steps_(steps), large_(large) {}

  Program Run() {
    const int leaves = 1 + Int(3);
    // A leaf that is too large does not count.
    for (int i = 0; i < leaves || values_.empty(); ++i) Try(Leaf());
    for (int tries = 0; static_cast<int>(program_.steps.size()) < steps_ && tries < 40 * steps_;
         ++tries) {
      std::optional<Step> s = Propose();
      if (s.has_value()) Try(*std::move(s));
    }
    const int last = LastValue();
    program_.roots = {last};
    for (int i = 0; i < static_cast<int>(values_.size()); ++i) {
      if (!values_[i].defined || i == last) continue;
      if (mutated_.count(i) != 0 ? Chance(0.8) : Chance(0.12)) program_.roots.push_back(i);
    }
    std::shuffle(program_.roots.begin(), program_.roots.end(), rng_);
    program_.together = Chance(0.7);
    return program_;
  }

 private:
  int Int(int n) { return static_cast<int>(rng_() % static_cast<uint64_t>(n)); }
  int64_t Between(int64_t a, int64_t b) { return a + Int(static_cast<int>(b - a + 1)); }
  bool Chance(double p) { return std::uniform_real_distribution<double>(0, 1)(rng_) < p; }

  void Try(Step s) {
    try {
      OracleStep(s, values_);
    } catch (const Error&) {
      return;
    }
    if (!large_ && Product(values_.back().shape) > kMaxSmallElements) {
      values_.pop_back();
      return;
    }
    if (IsMutation(s.kind)) mutated_.insert(s.in[0]);
    program_.steps.push_back(std::move(s));
  }

  int LastValue() {
    for (int i = static_cast<int>(values_.size()); i-- > 0;) {
      if (values_[i].defined) return i;
    }
    return 0;
  }

  // Favours recent values: programs get deep.
  int Pick() {
    const int n = static_cast<int>(values_.size());
    for (int tries = 0; tries < 50; ++tries) {
      const int i = Chance(0.5) ? std::max(0, n - 1 - Int(4)) : Int(n);
      if (values_[i].defined) return i;
    }
    return 0;
  }

  DType AnyDType() {
    static constexpr DType kAll[] = {kFloat32,  kFloat32, kFloat32, kFloat32, kFloat64, kFloat16,
                                     kBFloat16, kInt32,   kInt32,   kInt64,   kInt16,   kInt8,
                                     kUInt8,    kUInt16,  kUInt32,  kUInt64,  kBool};
    return kAll[Int(std::size(kAll))];
  }

  std::vector<int64_t> AnyShape() {
    std::vector<int64_t> s(Int(5));
    for (int64_t& d : s) {
      static constexpr int64_t kSizes[] = {1, 1, 2, 3, 3, 4, 4, 5, 6, 7, 8};
      static constexpr int64_t kLargeSizes[] = {1, 3, 8, 16, 17, 32, 33, 64, 100};
      d = Chance(large_ ? 0.01 : 0.04) ? 0
          : large_                     ? kLargeSizes[Int(std::size(kLargeSizes))]
                                       : kSizes[Int(std::size(kSizes))];
    }
    return s;
  }

  Step Leaf() {
    Step s{.kind = Kind::kLeaf};
    s.dtype = AnyDType();
    s.shape = AnyShape();
    for (int64_t i = 0; i < Product(s.shape); ++i) {
      s.data.push_back(static_cast<double>(s.dtype.IsBool()       ? Int(2)
                                           : s.dtype.IsUnsigned() ? Int(9)
                                                                  : Between(-6, 6)));
    }
    return s;
  }

  std::optional<Step> Propose() {
    Step s;
    const double what = std::uniform_real_distribution<double>(0, 1)(rng_);
    const int a = Pick();
    const OracleValue& v = values_[a];
    const int ndim = static_cast<int>(v.shape.size());
    s.in = {a};
    if (what < 0.04) {
      s = Leaf();
    } else if (what < 0.06) {
      s.in.clear();
      s.dtype = AnyDType();
      s.kind = Chance(0.5) ? Kind::kFull : Kind::kArange;
      s.shape = AnyShape();
      s.params = s.kind == Kind::kFull ? std::vector<int64_t>{Between(0, 3)}
                                       : std::vector<int64_t>{Between(0, 3), Between(4, 12), 2};
    } else if (what < 0.18) {
      static constexpr Kind kUnary[] = {Kind::kNeg,  Kind::kRelu,    Kind::kAbs,   Kind::kSquare,
                                        Kind::kSign, Kind::kNot,     Kind::kCast,  Kind::kCast,
                                        Kind::kCast, Kind::kBitcast, Kind::kFloor, Kind::kHalve};
      s.kind = kUnary[Int(std::size(kUnary))];
      s.dtype = AnyDType();
      s.params = {Int(3)};
      if (s.kind == Kind::kNot && !v.dtype.IsBool()) return std::nullopt;
      if (s.kind == Kind::kBitcast &&
          (v.dtype.IsFloat() || s.dtype.IsFloat() || v.dtype.IsBool() || s.dtype.IsBool())) {
        return std::nullopt;
      }
    } else if (what < 0.22) {
      if (v.dtype.IsFloat() || v.dtype.IsBool()) return std::nullopt;
      static constexpr Kind kInts[] = {Kind::kShiftLeft,    Kind::kShiftRight,  Kind::kFloorDiv,
                                       Kind::kDivideByRamp, Kind::kShiftByRamp, Kind::kMod,
                                       Kind::kTruncDiv};
      s.kind = kInts[Int(std::size(kInts))];
      const bool shift = s.kind == Kind::kShiftLeft || s.kind == Kind::kShiftRight;
      const bool ramp = s.kind == Kind::kDivideByRamp || s.kind == Kind::kShiftByRamp;
      if (ramp && ndim > 0 && v.shape.back() > v.dtype.bytes() * 8) return std::nullopt;
      int64_t by = Between(1, 7);
      if (!shift && !ramp && v.dtype.IsSigned() && Chance(0.3)) by = -by;
      s.params = {shift ? Int(v.dtype.bytes() * 8) : by};
    } else if (what < 0.42) {
      static constexpr Kind kBinary[] = {
          Kind::kAdd, Kind::kAdd,  Kind::kAdd,   Kind::kSub, Kind::kMul, Kind::kMul, Kind::kMax,
          Kind::kMin, Kind::kLess, Kind::kEqual, Kind::kAnd, Kind::kOr,  Kind::kXor, Kind::kWhere};
      s.kind = kBinary[Int(std::size(kBinary))];
      if (s.kind == Kind::kWhere) {
        // A condition that fits, or else one is made.
        int condition = -1;
        for (int tries = 0; tries < 10 && condition < 0; ++tries) {
          const int c = Partner(a);
          if (values_[c].dtype.IsBool()) condition = c;
        }
        s.in = {condition, a, Partner(a)};
        if (condition < 0) {
          s.kind = Kind::kLess;
          s.in = {a, Partner(a)};
        }
      } else {
        s.in = {a, Partner(a)};
        if (Chance(0.5)) std::swap(s.in[0], s.in[1]);
        const bool bits = s.kind == Kind::kAnd || s.kind == Kind::kOr || s.kind == Kind::kXor;
        if (bits && (values_[s.in[0]].dtype.IsFloat() || values_[s.in[1]].dtype.IsFloat())) {
          return std::nullopt;
        }
      }
    } else if (what < 0.48) {
      static constexpr Kind kSmooth[] = {Kind::kSigmoid, Kind::kTanh, Kind::kSin,       Kind::kExp,
                                         Kind::kSqrt,    Kind::kLog,  Kind::kReciprocal};
      s.kind = kSmooth[Int(std::size(kSmooth))];
      if (!v.dtype.IsFloat()) return std::nullopt;
    } else if (what < 0.60) {
      if (ndim == 0) return std::nullopt;
      static constexpr Kind kReduce[] = {
          Kind::kSum,  Kind::kSum,  Kind::kSum,    Kind::kReduceMax, Kind::kReduceMin,
          Kind::kProd, Kind::kMean, Kind::kArgMax, Kind::kCumSum,    Kind::kSoftmax};
      s.kind = kReduce[Int(std::size(kReduce))];
      s.params = {Int((1 << ndim) - 1) + 1, Int(2)};
      if (s.kind >= Kind::kArgMax) s.params = {Int(ndim)};
      if (s.kind == Kind::kSoftmax && !v.dtype.IsFloat()) return std::nullopt;
      if (s.kind == Kind::kMean && !v.dtype.IsFloat()) return std::nullopt;
      // The greatest of nothing is an infinity, and the mean a NaN.
      if (Product(v.shape) == 0 && s.kind != Kind::kSum) return std::nullopt;
    } else if (what < 0.66) {
      return Contraction(a);
    } else if (what < 0.84) {
      return Movement(a);
    } else if (what < 0.88) {
      s.kind = Chance(0.5) ? Kind::kContiguous : Kind::kClone;
    } else if (what < 0.97) {
      return Statement();
    } else {
      s.kind = Kind::kRealize;
      if (Chance(0.5)) s.in.push_back(Pick());
    }
    return s;
  }

  // A value that broadcasts with value a.
  int Partner(int a) {
    const std::vector<int64_t>& x = values_[a].shape;
    for (int tries = 0; tries < 12; ++tries) {
      const int b = Pick();
      const std::vector<int64_t>& y = values_[b].shape;
      bool fits = true;
      for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
        const int64_t p = x[x.size() - 1 - i], q = y[y.size() - 1 - i];
        fits = fits && (p == q || p == 1 || q == 1);
      }
      if (fits && (b != a || tries > 6)) return b;
    }
    return a;
  }

  std::optional<Step> Contraction(int a) {
    Step s;
    const DType d = values_[a].dtype;
    if (Chance(0.4) && (d == kFloat32 || d == kFloat64)) {
      if (values_[a].shape.empty() || Product(values_[a].shape) == 0) return std::nullopt;
      s.kind = Kind::kGradient;
      s.in = {a};
      s.params = {Int(8)};
      if (s.params[0] == 2 && values_[a].shape.size() < 2) return std::nullopt;
      return s;
    }
    const std::vector<int64_t>& x = values_[a].shape;
    if (x.size() == 4 && Chance(0.7)) {
      if (Chance(0.4)) {
        s.kind = Kind::kMaxPool;
        s.in = {a};
        s.params = {Between(1, 3), Between(1, 3)};
        return s;
      }
      for (int tries = 0; tries < 20; ++tries) {
        const int b = Pick();
        const std::vector<int64_t>& y = values_[b].shape;
        if (y.size() == 4 && y[1] == x[1] && values_[b].dtype == values_[a].dtype) {
          s.kind = Kind::kConv;
          s.in = {a, b};
          s.params = {Between(1, 2), Between(1, 2), Between(0, 2)};
          return s;
        }
      }
      return std::nullopt;
    }
    if (x.size() < 2) return std::nullopt;
    s.kind = Kind::kMatMul;
    s.params = {Int(2)};
    for (int tries = 0; tries < 20; ++tries) {
      const int b = Pick();
      const std::vector<int64_t>& y = values_[b].shape;
      if (y.size() < 2 || y.size() > 3) continue;
      if (x.back() != y[y.size() - (s.params[0] != 0 ? 1 : 2)]) continue;
      s.in = {a, b};
      return s;
    }
    s.params = {1};
    s.in = {a, a};
    return s;
  }

  std::optional<Step> Movement(int a) {
    const std::vector<int64_t>& x = values_[a].shape;
    const int ndim = static_cast<int>(x.size());
    Step s;
    s.in = {a};
    static constexpr Kind kMoves[] = {
        Kind::kReshape, Kind::kReshape, Kind::kPermute, Kind::kPermute, Kind::kFlip, Kind::kShrink,
        Kind::kPad,     Kind::kPad,     Kind::kExpand,  Kind::kExpand,  Kind::kRoll, Kind::kCat,
        Kind::kUnfold,  Kind::kRepeat,  Kind::kGather,  Kind::kStride};
    s.kind = kMoves[Int(std::size(kMoves))];
    if (ndim == 0 && s.kind != Kind::kReshape && s.kind != Kind::kExpand) return std::nullopt;
    switch (s.kind) {
      case Kind::kReshape: {
        // Splits or joins axes.
        s.shape = x;
        for (int n = 1 + Int(2); n > 0; --n) {
          const int k = Int(static_cast<int>(s.shape.size()) + 1);
          if (Chance(0.2) || k == static_cast<int>(s.shape.size())) {
            s.shape.insert(s.shape.begin() + k, 1);
          } else if (Chance(0.5) && k + 1 < static_cast<int>(s.shape.size())) {
            s.shape[k] *= s.shape[k + 1];
            s.shape.erase(s.shape.begin() + k + 1);
          } else {
            for (int64_t f : {2, 3, 5}) {
              if (s.shape[k] % f != 0 || s.shape[k] == 0) continue;
              s.shape[k] /= f;
              s.shape.insert(s.shape.begin() + k + (Chance(0.5) ? 1 : 0), f);
              break;
            }
          }
        }
        return s;
      }
      case Kind::kPermute:
        for (int i = 0; i < ndim; ++i) s.params.push_back(i);
        std::shuffle(s.params.begin(), s.params.end(), rng_);
        return s;
      case Kind::kFlip:
        s.params = {Int((1 << ndim) - 1) + 1};
        return s;
      case Kind::kShrink:
        for (int64_t d : x) {
          const int64_t begin = Between(0, Chance(0.5) ? 0 : std::max<int64_t>(0, d - 1));
          s.params.push_back(begin);
          s.params.push_back(Chance(0.5) ? d : Between(std::min(begin + 1, d), d));
        }
        return s;
      case Kind::kPad:
        for (int i = 0; i < ndim; ++i) {
          s.params.push_back(Chance(0.5) ? 0 : Between(0, 3));
          s.params.push_back(Chance(0.5) ? 0 : Between(0, 3));
        }
        s.params.push_back(Chance(0.7) ? 0 : Between(0, 5));
        s.params.push_back(0);
        return s;
      case Kind::kExpand:
        s.shape = x;
        for (int64_t& d : s.shape) {
          if (d == 1 && Chance(0.6)) d = Between(2, 5);
        }
        if (Chance(0.3) || ndim == 0) s.shape.insert(s.shape.begin(), Between(1, 4));
        return s;
      case Kind::kRoll:
        s.params = {Int(ndim), Between(-4, 4)};
        return s;
      case Kind::kCat:
        s.in.push_back(a);
        for (int tries = 0; tries < 20; ++tries) {
          const int b = Pick();
          if (values_[b].shape == x && values_[b].dtype == values_[a].dtype) s.in[1] = b;
        }
        if (Chance(0.5)) std::swap(s.in[0], s.in[1]);
        s.params = {Int(ndim)};
        return s;
      case Kind::kUnfold: {
        const int axis = Int(ndim);
        if (x[axis] < 1) return std::nullopt;
        s.params = {axis, Between(1, x[axis]), Between(1, 3)};
        return s;
      }
      case Kind::kRepeat:
        for (int i = 0; i < ndim; ++i) s.params.push_back(Chance(0.5) ? 1 : Between(1, 3));
        return s;
      case Kind::kGather: {
        const int b = Pick();
        const DType d = values_[b].dtype;
        if (d.IsFloat() || d.IsBool()) return std::nullopt;
        s.in.push_back(b);
        return s;
      }
      case Kind::kStride:
        s.params = AnySlices(x);
        return s;
      default:
        return std::nullopt;
    }
  }

  std::vector<int64_t> AnySlices(const std::vector<int64_t>& x) {
    std::vector<int64_t> p;
    for (int64_t d : x) {
      const int64_t begin = Chance(0.5) ? 0 : Between(0, d);
      const int64_t end = Chance(0.5) ? d : Between(std::min(begin, d), d);
      p.insert(p.end(), {begin, end, Chance(0.7) ? 1 : Between(2, 3)});
    }
    return p;
  }

  std::optional<Step> Statement() {
    Step s;
    std::vector<int> targets;
    for (int i = 0; i < static_cast<int>(values_.size()); ++i) {
      if (!values_[i].defined) continue;
      const Kind k = program_.steps[i].kind;
      // Mostly tensors that own memory.
      if (k == Kind::kLeaf || k == Kind::kClone || Chance(0.1)) targets.push_back(i);
    }
    if (targets.empty()) return std::nullopt;
    const int t = targets[Int(static_cast<int>(targets.size()))];
    const std::vector<int64_t>& x = values_[t].shape;
    s.in = {t, Chance(0.3) ? t : Pick()};
    const double what = std::uniform_real_distribution<double>(0, 1)(rng_);
    if (what < 0.4 || x.empty()) {
      s.kind = Kind::kAssign;
    } else if (what < 0.75) {
      s.kind = Kind::kSetIndex;
      s.params = AnySlices(x);
    } else {
      s.kind = Kind::kShift;
      s.in = {t};
      const int axis = Int(static_cast<int>(x.size()));
      if (x[axis] < 2) return std::nullopt;
      s.params = {axis, Between(1, x[axis] - 1), Int(2)};
    }
    return s;
  }

  std::mt19937_64 rng_;
  int steps_;
  bool large_;
  Program program_;
  std::vector<OracleValue> values_;
  std::set<int> mutated_;
};

}  // namespace

Program Generate(uint64_t seed, int steps, bool large) {
  return Generator(seed, steps, large).Run();
}

}  // namespace tg::testing
