#include "tg/tensor/random.h"

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/settings.h"
#include "tg/tensor/backend.h"
#include "tg/tensor/impl.h"

namespace tg {

using ir::Op;
using ir::UOp;
using tensor_internal::Like;

namespace {

// SHA-256 of a message of at most 55 bytes (FIPS 180-4).
std::array<uint32_t, 8> Sha256OfShort(absl::Span<const uint8_t> message) {
  // The first 32 bits of the fractional parts of the cube roots (square roots) of the first primes.
  std::array<uint32_t, 64> k;
  std::array<uint32_t, 8> h;
  int found = 0;
  for (int candidate = 2; found < 64; ++candidate) {
    bool prime = true;
    for (int d = 2; d * d <= candidate; ++d) prime &= candidate % d != 0;
    if (!prime) continue;
    auto fraction = [](long double root) {
      return static_cast<uint32_t>((root - std::floor(root)) * 4294967296.0L);
    };
    if (found < 8) h[found] = fraction(std::sqrt(static_cast<long double>(candidate)));
    k[found++] = fraction(std::cbrt(static_cast<long double>(candidate)));
  }
  std::array<uint8_t, 64> block{};
  std::copy(message.begin(), message.end(), block.begin());
  block[message.size()] = 0x80;
  uint64_t bits = message.size() * 8;
  for (int i = 0; i < 8; ++i) block[63 - i] = static_cast<uint8_t>(bits >> (8 * i));
  std::array<uint32_t, 64> w;
  for (int i = 0; i < 16; ++i) {
    w[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 |
           uint32_t{block[4 * i + 2]} << 8 | block[4 * i + 3];
  }
  auto rotate = [](uint32_t x, int n) { return std::rotr(x, n); };
  for (int i = 16; i < 64; ++i) {
    uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  std::array<uint32_t, 8> v = h;
  for (int i = 0; i < 64; ++i) {
    uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
    uint32_t choose = (v[4] & v[5]) ^ (~v[4] & v[6]);
    uint32_t t1 = v[7] + s1 + choose + k[i] + w[i];
    uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
    uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    for (int j = 7; j > 0; --j) v[j] = v[j - 1];
    v[4] += t1;
    v[0] = t1 + s0 + majority;
  }
  for (int i = 0; i < 8; ++i) h[i] += v[i];
  return h;
}

struct Stream {
  Tensor key;      // uint32[2]: the device's word, the seed
  Tensor counter;  // uint32[2]: low and high word
};

struct RandomState {
  std::mutex mutex;
  uint64_t seed = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                            std::chrono::system_clock::now().time_since_epoch())
                                            .count());
  std::map<std::string, Stream> streams;
  // Streams of earlier seeds that were not used since, in the order of their first uses. They keep
  // their memory, which recorded programs draw from.
  std::vector<std::pair<std::string, Stream>> retired;
  std::vector<std::string> order;  // of the devices in `streams`
};

RandomState& State() {
  static RandomState* state = new RandomState;
  return *state;
}

Tensor Element(const Tensor& pair, int64_t i) { return pair.Shrink({{{Sint(i), Sint(i + 1)}}}); }

// low word first.
Tensor Join(const Tensor& low, const Tensor& high) {
  return low.Cast(kUInt64) | (high.Cast(kUInt64) << Tensor(32).Cast(kUInt64));
}

// The words of Threefry on counters (low[i], high[i]): all first words, then all second ones.
Tensor ThreefryWords(const Tensor& key, const Tensor& low, const Tensor& high) {
  Tensor x = Join(low, high);
  Tensor k = Join(Element(key, 0), Element(key, 1)).Expand(x.shape());
  Tensor both = tensor_internal::ElementwiseOp(Op::kThreefry, "threefry", {x, k});
  Tensor shift = Arange(0, 64, 32, {kUInt64, key.device()}).Unsqueeze(-1);
  return (both.Unsqueeze(0) >> shift).Cast(kUInt32).Flatten();
}

// The device's stream, which begins with its first use after the seed was set.
Stream& StreamOf(RandomState& state, const std::string& device) {
  auto [it, is_new] = state.streams.try_emplace(device);
  Stream& stream = it->second;
  if (!is_new) return stream;
  auto order = static_cast<uint32_t>(state.order.size());
  state.order.push_back(device);
  uint8_t bytes[] = {static_cast<uint8_t>(order >> 24), static_cast<uint8_t>(order >> 16),
                     static_cast<uint8_t>(order >> 8), static_cast<uint8_t>(order)};
  std::vector<uint32_t> key = {Sha256OfShort(bytes)[7], static_cast<uint32_t>(state.seed)};
  stream.key = FromData(key, {2}, {{}, device});
  stream.counter = FromData(std::vector<uint32_t>{0, 0}, {2}, {{}, device});
  for (auto old = state.retired.begin(); old != state.retired.end(); ++old) {
    if (old->first != device) continue;
    stream = {old->second.key.Assign(stream.key), old->second.counter.Assign(stream.counter)};
    state.retired.erase(old);
    break;
  }
  return stream;
}

// `words` 32-bit words of the device's stream.
Tensor RandomWords(const std::string& device, int64_t words) {
  if (words > std::numeric_limits<uint32_t>::max()) {
    throw ShapeError(absl::StrCat("rand: a draw of ", words, " words, expected at most 2^32 - 1"));
  }
  RandomState& state = State();
  std::lock_guard<std::mutex> lock(state.mutex);
  Stream& stream = StreamOf(state, device);
  // The draw's own key, in memory of its own, so that the counter may go on.
  Tensor low = Element(stream.counter, 0);
  Tensor high = Element(stream.counter, 1);
  Tensor key = ThreefryWords(stream.key, low, high).Clone();
  Tensor next = low + Tensor(words);
  Tensor carry = (next < low).Cast(kUInt32);
  stream.counter.Assign(Tensor::Cat({next, high + carry}));
  int64_t half = (words + 1) / 2;
  Tensor counts = Arange(0, half, 1, {kUInt32, device});
  return ThreefryWords(key, counts, counts + Tensor(half)).Shrink({{{Sint(0), Sint(words)}}});
}

Tensor RandUnmarked(const char* op, const Shape& shape, const TensorOptions& options) {
  DType d = options.dtype.value_or(DefaultFloat());
  if (!d.IsFloat() || d.IsWeak()) {
    throw DTypeError(absl::StrCat(op, ": only concrete float dtypes, got ", d.ToString()));
  }
  std::string device = options.device.empty() ? GetBackend().DefaultDevice()
                                              : GetBackend().CanonicalDevice(options.device);
  int64_t n = 1;
  for (int64_t size : tensor_internal::ConcreteShape(op, shape)) {
    if (size < 0) {
      throw ShapeError(absl::StrCat(op, ": negative dimension in ", ir::ToString(shape)));
    }
    n *= size;
  }
  if (n == 0) return Zeros(shape, {d, device});
  DType bits_dtype = d.bytes() == 1   ? kUInt8
                     : d.bytes() == 2 ? kUInt16
                     : d.bytes() == 4 ? kUInt32
                                      : kUInt64;
  Tensor bits = RandomWords(device, (n * d.bytes() + 3) / 4).Bitcast(bits_dtype);
  // Random mantissas of floats in [1, 2).
  auto one = static_cast<int64_t>(ir::EncodeFloat(1.0, d));
  int shift = d.bits() - ir::Finfo(d)->mantissa_bits;
  Tensor floats = ((bits >> Tensor(shift)) | Tensor(one)).Bitcast(d);
  return (floats.Shrink({{{Sint(0), Sint(n)}}}) - 1.0).Reshape(shape);
}

int64_t FanIn(const char* op, const Shape& shape) {
  if (shape.empty()) throw ShapeError(absl::StrCat(op, ": expected one axis or more"));
  return ir::NumElements(Shape(shape.begin() + 1, shape.end())).value();
}

}  // namespace

void ManualSeed(uint64_t seed) {
  RandomState& state = State();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.seed = seed;
  for (const std::string& device : state.order) {
    state.retired.emplace_back(device, std::move(state.streams.at(device)));
  }
  state.order.clear();
  state.streams.clear();
}

void FlushRandomState() {
  std::vector<Tensor> counters;
  {
    RandomState& state = State();
    std::lock_guard<std::mutex> lock(state.mutex);
    while (!state.retired.empty()) StreamOf(state, std::string(state.retired.front().first));
    for (auto& [device, stream] : state.streams) {
      counters.push_back(stream.key);
      counters.push_back(stream.counter);
    }
  }
  Tensor::Realize(counters);
}

Tensor Rand(const Shape& shape, const TensorOptions& options) {
  return RandUnmarked("rand", shape, options).Contiguous();
}

Tensor RandLike(const Tensor& x, const TensorOptions& options) {
  return Rand(x.shape(), {options.dtype.value_or(x.dtype()),
                          options.device.empty() ? x.device() : options.device});
}

Tensor Randn(const Shape& shape, const TensorOptions& options) {
  DType d = options.dtype.value_or(DefaultFloat());
  if (!d.IsFloat() || d.IsWeak()) {
    throw DTypeError("randn: only concrete float dtypes, got " + d.ToString());
  }
  Shape pairs = shape;
  pairs.insert(pairs.begin(), Sint(2));
  Tensor u = Rand(pairs, {kFloat32, options.device});
  Tensor radius = ((1.0 - u[1]).Log() * -2.0).Sqrt();
  return ((u[0] * (2 * std::numbers::pi)).Cos() * radius).Cast(d);
}

Tensor RandnLike(const Tensor& x, const TensorOptions& options) {
  return Randn(x.shape(), {options.dtype.value_or(x.dtype()),
                           options.device.empty() ? x.device() : options.device});
}

Tensor Uniform(const Shape& shape, double low, double high, const TensorOptions& options) {
  if (!(low < high)) {
    throw UsageError(absl::StrCat("uniform: expected low < high, got ", low, " and ", high));
  }
  DType d = options.dtype.value_or(DefaultFloat());
  Tensor u = Rand(shape, {{}, options.device}) * (high - low);
  return u.Cast(d) + Tensor(low).Cast(d);
}

Tensor RandInt(const Shape& shape, int64_t low, int64_t high, const TensorOptions& options) {
  DType d = options.dtype.value_or(kInt32);
  if (!d.IsInt()) throw DTypeError("randint: expected an integer dtype, got " + d.ToString());
  if (low >= high) {
    throw UsageError(absl::StrCat("randint: expected low < high, got ", low, " and ", high));
  }
  return Uniform(shape, static_cast<double>(low), static_cast<double>(high), {d, options.device});
}

Tensor Normal(const Shape& shape, double mean, double std, const TensorOptions& options) {
  if (std < 0) throw UsageError(absl::StrCat("normal: expected std >= 0, got ", std));
  return Randn(shape, options) * std + mean;
}

Tensor ScaledUniform(const Shape& shape, const TensorOptions& options) {
  double n = static_cast<double>(ir::NumElements(shape).value());
  return Uniform(shape, -1, 1, options) * (1 / std::sqrt(n));
}

Tensor GlorotUniform(const Shape& shape, const TensorOptions& options) {
  double fan = static_cast<double>(FanIn("glorot_uniform", shape) + shape[0].value());
  double bound = std::sqrt(6.0 / fan);
  return Uniform(shape, -bound, bound, options);
}

Tensor KaimingUniform(const Shape& shape, double a, const TensorOptions& options) {
  double bound =
      std::sqrt(6.0 / (1 + a * a) / static_cast<double>(FanIn("kaiming_uniform", shape)));
  return Uniform(shape, -bound, bound, options);
}

Tensor KaimingNormal(const Shape& shape, double a, const TensorOptions& options) {
  double std = std::sqrt(2.0 / (1 + a * a) / static_cast<double>(FanIn("kaiming_normal", shape)));
  return Normal(shape, 0, std, options);
}

Tensor RandPerm(int64_t n, const TensorOptions& options) {
  if (n < 0) throw ShapeError(absl::StrCat("randperm: expected n >= 0, got ", n));
  DType d = options.dtype.value_or(kInt32);
  return Rand({n}, {kFloat32, options.device}).Sort(0).second.Cast(d);
}

Tensor Multinomial(const Tensor& weights, int64_t samples, bool replacement) {
  if (weights.ndim() < 1 || weights.ndim() > 2 || samples <= 0) {
    throw ShapeError(absl::StrCat("multinomial: ", samples, " samples of weights of shape ",
                                  ir::ToString(weights.shape())));
  }
  Tensor w = tensor_internal::ToFloat(weights.ndim() == 1 ? weights.Unsqueeze(0) : weights);
  if (!replacement && samples > w.Dim(1)) {
    throw ShapeError(
        absl::StrCat("multinomial: ", samples, " samples without replacement of ", w.Dim(1)));
  }
  Tensor picked;
  if (replacement || samples == 1) {
    Tensor sums = w.CumSum(1).Cast(kFloat32);
    Tensor cdf = sums / w.Sum(1, true);
    Tensor u = Rand({samples, w.Dim(0), 1}, {kFloat32, w.device()});
    picked = (u >= cdf).Sum(2).Transpose(0, 1);
  } else {
    // Efraimidis and Spirakis, "Weighted random sampling with a reservoir".
    picked = (RandLike(w, {kFloat32, {}}).Log2() / w).TopK(samples, 1).second;
  }
  picked = picked.Cast(kInt32);
  return weights.ndim() == 1 ? picked.Squeeze(0) : picked;
}

Tensor Tensor::Dropout(double p) const {
  if (!(p >= 0 && p <= 1)) throw UsageError(absl::StrCat("dropout: p=", p, " is not in [0, 1]"));
  if (base::Get(base::kTraining) == 0 || p == 0) return Like(*this, uop());
  if (p == 1) return ZerosLike(*this);
  // The mask is kept for the backward pass, as bytes.
  Tensor keep = (RandUnmarked("dropout", shape(), {{}, device()}) >= p).Contiguous();
  return keep.Where(*this, 0) * (1 / (1 - p));
}

}  // namespace tg
