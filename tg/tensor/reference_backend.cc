#include "tg/tensor/reference_backend.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "base/error.h"
#include "codegen/ir/shape.h"

namespace tg {
namespace {

using ir::DType;
using ir::Op;
using ir::UOp;

using Array = ReferenceArray;
using ArrayRef = std::shared_ptr<const Array>;
using Bytes = std::vector<std::byte>;

int64_t Product(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return n;
}

std::vector<int64_t> Strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Array Zeros(DType dtype, std::vector<int64_t> shape) {
  Array a{dtype, std::move(shape), {}, {}};
  if (dtype.IsFloat()) {
    a.floats.resize(Product(a.shape));
  } else {
    a.ints.resize(Product(a.shape));
  }
  return a;
}

Bytes& StorageOf(const UOp& buffer) {
  TG_CHECK(buffer.Is(Op::kBuffer)) << "expected a kBuffer, got " << buffer.op();
  return *std::static_pointer_cast<Bytes>(buffer.arg_as<ir::BufferArg>().storage);
}

Array Decode(const Bytes& bytes, DType d, int64_t size) {
  Array a = Zeros(d, {size});
  for (int64_t i = 0; i < size; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes[i * d.bytes()], d.bytes());
    if (d.IsFloat()) {
      a.floats[i] = ir::DecodeFloat(bits, d);
    } else {
      a.ints[i] = ir::WrapToInt(static_cast<int64_t>(bits), d);
    }
  }
  return a;
}

void Encode(const Array& a, Bytes& bytes) {
  for (int64_t i = 0; i < Product(a.shape); ++i) {
    uint64_t bits = a.dtype.IsFloat() ? ir::EncodeFloat(a.floats[i], a.dtype)
                                      : static_cast<uint64_t>(a.ints[i]);
    std::memcpy(&bytes[i * a.dtype.bytes()], &bits, a.dtype.bytes());
  }
}

void Threefry(uint64_t x, uint64_t key, uint64_t* out) {
  static constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t k[3] = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32), 0};
  k[2] = k[0] ^ k[1] ^ 0x1BD11BDA;
  uint32_t a = static_cast<uint32_t>(x) + k[0];
  uint32_t b = static_cast<uint32_t>(x >> 32) + k[1];
  for (uint32_t round = 0; round < 5; ++round) {
    for (int r : kRotations[round % 2]) {
      a += b;
      b = (b << r | b >> (32 - r)) ^ a;
    }
    a += k[(round + 1) % 3];
    b += k[(round + 2) % 3] + round + 1;
  }
  *out = uint64_t{b} << 32 | a;
}

double FloatOp(Op op, const double* v) {
  switch (op) {
    case Op::kExp2:
      return std::exp2(v[0]);
    case Op::kLog2:
      return std::log2(v[0]);
    case Op::kSin:
      return std::sin(v[0]);
    case Op::kSqrt:
      return std::sqrt(v[0]);
    case Op::kReciprocal:
      return 1 / v[0];
    case Op::kNeg:
      return -v[0];
    case Op::kTrunc:
      return std::trunc(v[0]);
    case Op::kAdd:
      return v[0] + v[1];
    case Op::kSub:
      return v[0] - v[1];
    case Op::kMul:
      return v[0] * v[1];
    case Op::kFdiv:
      return v[0] / v[1];
    case Op::kPow:
      return std::pow(v[0], v[1]);
    case Op::kMax:
      return std::isnan(v[0]) ? v[0] : std::isnan(v[1]) ? v[1] : std::max(v[0], v[1]);
    case Op::kMulAcc:
      return std::fma(v[0], v[1], v[2]);
    default:
      TG_FATAL() << "no float operation " << op;
  }
}

int64_t IntOp(Op op, const int64_t* v, DType d) {
  auto a = static_cast<uint64_t>(v[0]);
  auto b = static_cast<uint64_t>(v[1]);
  bool is_unsigned = d.IsUnsigned();
  auto floor_div = [&](int64_t x, int64_t y) {
    return x / y - ((x % y != 0) && ((x < 0) != (y < 0)) ? 1 : 0);
  };
  switch (op) {
    case Op::kNeg:
      return static_cast<int64_t>(0 - a);
    case Op::kTrunc:
      return v[0];
    case Op::kAdd:
      return d.IsBool() ? (v[0] | v[1]) : static_cast<int64_t>(a + b);
    case Op::kSub:
      return static_cast<int64_t>(a - b);
    case Op::kMul:
      return static_cast<int64_t>(a * b);
    case Op::kMulAcc:
      return static_cast<int64_t>(a * b + static_cast<uint64_t>(v[2]));
    case Op::kMax:
      return is_unsigned ? static_cast<int64_t>(std::max(a, b)) : std::max(v[0], v[1]);
    case Op::kShl:
      return static_cast<int64_t>(a << b);
    case Op::kShr:
      return is_unsigned ? static_cast<int64_t>(a >> b) : v[0] >> b;
    case Op::kXor:
      return v[0] ^ v[1];
    case Op::kAnd:
      return v[0] & v[1];
    case Op::kOr:
      return v[0] | v[1];
    case Op::kThreefry: {
      uint64_t r;
      Threefry(a, b, &r);
      return static_cast<int64_t>(r);
    }
    // Division by 0 has no value; any will do.
    case Op::kCdiv:
      if (b == 0) return 0;
      return is_unsigned  ? static_cast<int64_t>(a / b)
             : v[1] == -1 ? static_cast<int64_t>(0 - a)
                          : v[0] / v[1];
    case Op::kCmod:
      if (b == 0) return 0;
      return is_unsigned ? static_cast<int64_t>(a % b) : v[1] == -1 ? 0 : v[0] % v[1];
    case Op::kFloorDiv:
      if (b == 0) return 0;
      return is_unsigned  ? static_cast<int64_t>(a / b)
             : v[1] == -1 ? static_cast<int64_t>(0 - a)
                          : floor_div(v[0], v[1]);
    case Op::kFloorMod:
      if (b == 0) return 0;
      return is_unsigned  ? static_cast<int64_t>(a % b)
             : v[1] == -1 ? 0
                          : v[0] - floor_div(v[0], v[1]) * v[1];
    default:
      TG_FATAL() << "no integer operation " << op;
  }
}

class Evaluator {
 public:
  ArrayRef Evaluate(const UOp& root) {
    auto unknown = [&](const UOp& node) { return !values_.contains(node); };
    for (const UOp& node : ir::Toposort(root, unknown)) {
      if (node.dtype().IsVoid() && !node.Is(Op::kStore)) continue;
      if (unknown(node)) values_[node] = Compute(node);
    }
    return values_.at(root);
  }

 private:
  const Array& Of(const UOp& x) { return *values_.at(x); }

  int64_t Dim(const UOp& x) { return Of(x).ints.at(0); }

  ArrayRef Compute(const UOp& x) {
    Op op = x.op();
    if (ir::IsElementwise(op)) return Share(Elementwise(x));
    switch (op) {
      case Op::kConst: {
        Array a = Zeros(x.dtype(), {});
        if (x.dtype().IsFloat()) {
          a.floats[0] = x.const_float();
        } else {
          a.ints[0] = x.const_int();
        }
        return Share(std::move(a));
      }
      case Op::kBind:
        return values_.at(x.src(1));
      case Op::kVariable:
        return Share(Zeros(x.dtype(), {}));
      case Op::kBuffer:
        return Share(Decode(StorageOf(x), x.dtype(), x.arg_as<ir::BufferArg>().size));
      case Op::kStore: {
        TG_CHECK(Of(x.src(0)).shape == Of(x.src(1)).shape) << "store of another shape";
        TG_CHECK(x.src(0).dtype() == x.src(1).dtype()) << "store of another dtype";
        return values_.at(x.src(1));
      }
      case Op::kAfter:
        TG_CHECK(x.src_count() == 2 && x.src(1).Is(Op::kStore) && x.src(1).src(0) == x.src(0))
            << "kAfter of another form";
        return values_.at(x.src(1));
      case Op::kNoop:
      case Op::kContiguous:
      case Op::kContiguousBackward:
      case Op::kDetach:
      case Op::kCopy:
        return values_.at(x.src(0));
      case Op::kReshape: {
        Array a = Of(x.src(0));
        a.shape = ShapeOf(x);
        TG_CHECK_EQ(Product(a.shape), Product(Of(x.src(0)).shape));
        return Share(std::move(a));
      }
      case Op::kReduce:
        return Share(Reduce(x));
      case Op::kIota: {
        Array a = Zeros(x.dtype(), ShapeOf(x));
        for (int64_t i = 0; i < a.shape[0]; ++i) a.ints[i] = i;
        return Share(std::move(a));
      }
      default:
        TG_CHECK(ir::IsMovement(op)) << "no rule for " << op;
        return Share(Move(x));
    }
  }

  static ArrayRef Share(Array a) { return std::make_shared<const Array>(std::move(a)); }

  std::vector<int64_t> ShapeOf(const UOp& x) {
    std::vector<int64_t> shape;
    for (const ir::Sint& s : ir::ShapeOf(x)) {
      shape.push_back(s.is_const() ? s.value() : Dim(s.uop()));
    }
    return shape;
  }

  Array Elementwise(const UOp& x) {
    std::vector<const Array*> src;
    std::vector<int64_t> shape;
    for (const UOp& s : x.src()) {
      src.push_back(&Of(s));
      if (!src.back()->shape.empty()) {
        TG_CHECK(shape.empty() || shape == src.back()->shape) << "shapes differ in " << x.op();
        shape = src.back()->shape;
      }
    }
    Array r = Zeros(x.dtype(), shape);
    DType from = x.src(0).dtype();
    int64_t n = Product(shape);
    for (int64_t i = 0; i < n; ++i) {
      double f[3] = {};
      int64_t v[3] = {};
      for (size_t j = 0; j < src.size(); ++j) {
        int64_t at = src[j]->shape.empty() ? 0 : i;
        if (src[j]->dtype.IsFloat()) {
          f[j] = src[j]->floats[at];
        } else {
          v[j] = src[j]->ints[at];
        }
      }
      if (x.Is(Op::kWhere)) {
        if (x.dtype().IsFloat()) {
          r.floats[i] = v[0] != 0 ? f[1] : f[2];
        } else {
          r.ints[i] = v[0] != 0 ? v[1] : v[2];
        }
      } else if (x.Is(Op::kCast)) {
        CastOne(from, x.dtype(), f[0], v[0], r, i);
      } else if (x.Is(Op::kBitcast)) {
        uint64_t bits = from.IsFloat() ? ir::EncodeFloat(f[0], from) : static_cast<uint64_t>(v[0]);
        if (x.dtype().IsFloat()) {
          r.floats[i] = ir::DecodeFloat(bits, x.dtype());
        } else {
          r.ints[i] = ir::WrapToInt(static_cast<int64_t>(bits), x.dtype());
        }
      } else if (ir::IsComparison(x.op())) {
        bool less = from.IsFloat()      ? f[0] < f[1]
                    : from.IsUnsigned() ? static_cast<uint64_t>(v[0]) < static_cast<uint64_t>(v[1])
                                        : v[0] < v[1];
        bool equal = from.IsFloat() ? f[0] == f[1] : v[0] == v[1];
        r.ints[i] = x.Is(Op::kCmpLt) ? less : x.Is(Op::kCmpEq) ? equal : !equal;
      } else if (x.dtype().IsFloat()) {
        r.floats[i] = ir::RoundToFloat(FloatOp(x.op(), f), x.dtype());
      } else {
        r.ints[i] = ir::WrapToInt(IntOp(x.op(), v, x.dtype()), x.dtype());
      }
    }
    return r;
  }

  static void CastOne(DType from, DType to, double f, int64_t v, Array& r, int64_t i) {
    if (to.IsFloat()) {
      r.floats[i] = ir::RoundToFloat(from.IsFloat() ? f : ir::IntToDouble(v, from), to);
    } else if (to.IsBool()) {
      r.ints[i] = from.IsFloat() ? f != 0 : v != 0;
    } else {
      r.ints[i] = from.IsFloat() ? ir::FloatToInt(f, to) : ir::WrapToInt(v, to);
    }
  }

  Array Reduce(const UOp& x) {
    const Array& s = Of(x.src(0));
    const auto& arg = x.arg_as<ir::ReduceArg>();
    Array r = Zeros(x.dtype(), ShapeOf(x));
    DType d = x.dtype();
    double identity = arg.op == Op::kMax ? -std::numeric_limits<double>::infinity()
                                         : (arg.op == Op::kMul ? 1 : 0);
    for (double& v : r.floats) v = identity;
    for (int64_t& v : r.ints) v = arg.op == Op::kMax ? d.MinInt() : arg.op == Op::kMul ? 1 : 0;
    std::vector<int64_t> strides = Strides(r.shape);
    for (int32_t axis : arg.axes) strides[axis] = 0;
    std::vector<int64_t> from = Strides(s.shape);
    for (int64_t i = 0; i < Product(s.shape); ++i) {
      int64_t at = 0;
      for (size_t a = 0; a < from.size(); ++a) at += i / from[a] % s.shape[a] * strides[a];
      // Sums of floats round once, at the end; a kernel's order is its own.
      if (d.IsFloat()) {
        double v[2] = {r.floats[at], s.floats[i]};
        r.floats[at] = FloatOp(arg.op, v);
      } else {
        int64_t v[2] = {r.ints[at], s.ints[i]};
        r.ints[at] = ir::WrapToInt(IntOp(arg.op, v, d), d);
      }
    }
    for (double& v : r.floats) v = ir::RoundToFloat(v, d);
    return r;
  }

  // Each element from where it comes, or 0.
  Array Move(const UOp& x) {
    const Array& s = Of(x.src(0));
    Array r = Zeros(x.dtype(), ShapeOf(x));
    std::vector<int64_t> to = Strides(r.shape);
    std::vector<int64_t> from = Strides(s.shape);
    size_t ndim = r.shape.size();
    TG_CHECK_EQ(ndim, s.shape.size());
    for (int64_t i = 0; i < Product(r.shape); ++i) {
      std::vector<int64_t> at(ndim);
      for (size_t a = 0; a < ndim; ++a) at[a] = i / to[a] % r.shape[a];
      std::vector<int64_t> source = at;
      switch (x.op()) {
        case Op::kExpand:
          for (size_t a = 0; a < ndim; ++a) source[a] = s.shape[a] == 1 ? 0 : at[a];
          break;
        case Op::kPermute: {
          const ir::Ints& order = x.arg_as<ir::Ints>();
          for (size_t a = 0; a < ndim; ++a) source[order[a]] = at[a];
          break;
        }
        case Op::kFlip:
          for (int64_t a : x.arg_as<ir::Ints>()) source[a] = s.shape[a] - 1 - at[a];
          break;
        case Op::kPad:
          for (size_t a = 0; a < ndim; ++a) source[a] -= Dim(x.src(static_cast<int>(1 + 2 * a)));
          break;
        case Op::kShrink:
          for (size_t a = 0; a < ndim; ++a) source[a] += Dim(x.src(static_cast<int>(1 + 2 * a)));
          break;
        case Op::kShear: {
          const auto& arg = x.arg_as<ir::ShearArg>();
          source[arg.axis] += arg.coef * at[arg.by] + Dim(x.src(1));
          break;
        }
        default:
          TG_FATAL() << "no movement " << x.op();
      }
      int64_t flat = 0;
      bool inside = true;
      for (size_t a = 0; a < ndim; ++a) {
        inside &= source[a] >= 0 && source[a] < s.shape[a];
        flat += source[a] * from[a];
      }
      if (!inside) continue;
      if (r.dtype.IsFloat()) {
        r.floats[i] = s.floats[flat];
      } else {
        r.ints[i] = s.ints[flat];
      }
    }
    return r;
  }

  absl::flat_hash_map<UOp, ArrayRef> values_;
};

}  // namespace

ReferenceArray EvaluateGraph(const UOp& x) { return *Evaluator().Evaluate(x); }

ReferenceBackend::ReferenceBackend() { SetBackend(this); }
ReferenceBackend::~ReferenceBackend() { SetBackend(nullptr); }

std::string ReferenceBackend::CanonicalDevice(absl::string_view name) {
  if (name != "REF" && name != "REF:1") {
    throw DeviceError("device: unknown device '" + std::string(name) + "'");
  }
  return std::string(name);
}

UOp ReferenceBackend::NewBuffer(DType dtype, int64_t size, const std::string& device) {
  TG_CHECK(!dtype.IsWeak() && size >= 0) << dtype << " buffer of " << size;
  if (size > (int64_t{1} << 40)) {
    throw DeviceError("out of memory: asked for " + std::to_string(size * dtype.bytes()) +
                      " bytes");
  }
  ir::BufferArg arg{next_id_++, size, ir::AddrSpace::kGlobal, device,
                    std::make_shared<Bytes>(size * dtype.bytes())};
  return UOp::Make(Op::kBuffer, dtype, {}, ir::Boxed<ir::BufferArg>(std::move(arg)));
}

void ReferenceBackend::Realize(absl::Span<const UOp> roots) {
  Evaluator evaluator;
  // Values first, all from memory as it is now; then memory.
  absl::flat_hash_set<UOp> superseded;
  std::vector<UOp> afters;
  for (const UOp& node : ir::Toposort(ir::Sink(roots))) {
    if (!node.Is(Op::kAfter)) continue;
    afters.push_back(node);
    superseded.insert(node.src(0));
  }
  for (const UOp& root : roots) {
    TG_CHECK(root.Is(Op::kAfter)) << "root " << root.op();
  }
  std::vector<std::pair<UOp, ArrayRef>> writes;
  for (const UOp& after : afters) {
    ArrayRef value = evaluator.Evaluate(after);
    if (superseded.contains(after)) continue;
    UOp buffer = after;
    while (buffer.Is(Op::kAfter)) buffer = buffer.src(0);
    for (const auto& [other, unused] : writes) {
      TG_CHECK(!(other == buffer)) << "two last versions of one buffer";
    }
    writes.emplace_back(buffer, value);
  }
  for (const auto& [buffer, value] : writes) Encode(*value, StorageOf(buffer));
  stores += static_cast<int64_t>(afters.size());
}

void ReferenceBackend::CopyIn(const UOp& buffer, absl::Span<const std::byte> from) {
  Bytes& bytes = StorageOf(buffer);
  TG_CHECK_EQ(bytes.size(), from.size());
  std::copy(from.begin(), from.end(), bytes.begin());
}

void ReferenceBackend::CopyOut(const UOp& buffer, absl::Span<std::byte> to) {
  const Bytes& bytes = StorageOf(buffer);
  TG_CHECK_EQ(bytes.size(), to.size());
  std::copy(bytes.begin(), bytes.end(), to.begin());
}

}  // namespace tg
