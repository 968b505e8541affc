// The argument of a node: a small value that, with op, dtype and sources, is its identity.
//
// Every type here has value equality and `HashArg`, a hash that is the same in every process (it
// is the seed of canonical orders and cache keys, so it may not depend on addresses).
#ifndef TG_CODEGEN_IR_ARG_H_
#define TG_CODEGEN_IR_ARG_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "codegen/ir/dtype.h"
#include "codegen/ir/op.h"

namespace tg::ir {

// A float constant. Identity is by bits, so 0.0 and -0.0 differ; all NaNs are one.
struct ConstFloat {
  double value;
  explicit ConstFloat(double v)
      : value(std::isnan(v) ? std::numeric_limits<double>::quiet_NaN() : v) {}
  bool operator==(const ConstFloat& o) const {
    return std::bit_cast<uint64_t>(value) == std::bit_cast<uint64_t>(o.value);
  }
};

// The value that is no value: what an index is outside of its valid region.
struct Invalid {
  bool operator==(const Invalid&) const = default;
};

using Ints = std::vector<int64_t>;

// How an axis of a kernel is executed. The order is the order of positions in a kernel, from the
// outermost. GLOBAL..WARP are GPU work-item dimensions; THREAD is split over CPU cores; LOOP is an
// ordinary loop over outputs; REDUCE a loop of a reduction; GROUP_REDUCE a reduction by a work
// group in local memory; UPCAST (outputs) and UNROLL (reductions) are expanded in registers.
enum class AxisType : uint8_t {
  kDevice,
  kThread,
  kGlobal,
  kWarp,
  kLocal,
  kLoop,
  kGroupReduce,
  kReduce,
  kUpcast,
  kUnroll,
};
inline constexpr int kAxisTypeCount = 10;
// "GLOBAL" etc., and the one-letter code used in kernel names ("g").
absl::string_view AxisTypeName(AxisType t);
char AxisTypeLetter(AxisType t);
constexpr bool IsReduceAxis(AxisType t) {
  return t == AxisType::kGroupReduce || t == AxisType::kReduce || t == AxisType::kUnroll;
}

struct RangeArg {
  int32_t id;  // unique in its kernel
  AxisType type = AxisType::kLoop;
  bool operator==(const RangeArg&) const = default;
};

struct VariableArg {
  std::string name;
  int64_t min;  // both inclusive
  int64_t max;
  bool operator==(const VariableArg&) const = default;
};

enum class AddrSpace : uint8_t { kGlobal, kLocal, kReg };

struct ParamArg {
  int32_t slot;
  int64_t size;  // elements
  bool operator==(const ParamArg&) const = default;
};

// Memory. Global buffers are the tensor stage's storage: `id` is unique in the process and alone
// is their identity; `storage` is opaque to the IR, owned by the node (freed with it) and set by
// whoever made the buffer. Local and register buffers belong to one program: `id` is unique there.
struct BufferArg {
  int64_t id;
  int64_t size;  // elements
  AddrSpace space = AddrSpace::kGlobal;
  std::string device;
  std::shared_ptr<void> storage;
  bool operator==(const BufferArg& o) const {
    return id == o.id && size == o.size && space == o.space && device == o.device;
  }
};

struct ReduceArg {
  Op op;                      // kAdd, kMul or kMax
  std::vector<int32_t> axes;  // tensor stage: sorted; kernel stage: empty (ranges are sources)
  bool operator==(const ReduceArg&) const = default;
};

// Parameters of kShear, see op.h. axis != by.
struct ShearArg {
  int32_t axis;
  int32_t by;
  int64_t coef;
  bool operator==(const ShearArg&) const = default;
};

// One step of kernel optimisation (codegen/opt). SPLIT divides axis `axis` (a position in the
// kernel's axis list) by `amount` (0: whole axis) and gives the new axis type `type`; the new axis
// is the inner part, or with `top` the outer.
enum class OptOp : uint8_t { kSplit, kTensorCore, kPadTo, kSwap, kNoLocals };
struct Opt {
  OptOp op;
  int32_t axis = 0;
  int64_t amount = 0;  // kPadTo: multiple; kSwap: the other axis; kTensorCore: which
  AxisType type = AxisType::kUpcast;
  bool top = false;
  bool operator==(const Opt&) const = default;
};

struct KernelInfo {
  std::string name;
  std::vector<Opt> applied;
  bool optimized = false;  // axis types are final
  bool operator==(const KernelInfo&) const = default;
};

// A tensor core as one instruction of `threads` work items: D[M,N] += A[M,K] * B[K,N].
struct WmmaArg {
  std::string name;
  int32_t m, n, k;
  DType in, out;
  int32_t threads;
  bool operator==(const WmmaArg&) const = default;
};

struct FunctionArg {
  std::string name;
  bool precompile = false;
  bool operator==(const FunctionArg&) const = default;
};

// A large argument kept behind one pointer; compares by value.
template <typename T>
class Boxed {
 public:
  Boxed(T v) : p_(std::make_shared<const T>(std::move(v))) {}  // NOLINT: a box is its value
  const T& operator*() const { return *p_; }
  const T* operator->() const { return p_.get(); }
  bool operator==(const Boxed& o) const { return p_ == o.p_ || *p_ == *o.p_; }

 private:
  std::shared_ptr<const T> p_;
};

// Integer and boolean constants are int64 (uint64: the same bits).
using Arg = std::variant<std::monostate, int64_t, ConstFloat, Invalid, RangeArg, ParamArg, ShearArg,
                         Boxed<std::string>, Boxed<Ints>, Boxed<VariableArg>, Boxed<BufferArg>,
                         Boxed<ReduceArg>, Boxed<KernelInfo>, Boxed<WmmaArg>, Boxed<FunctionArg>>;

uint64_t HashArg(const Arg& arg);

// One step of the process-independent hash.
constexpr uint64_t HashMix(uint64_t h, uint64_t v) {
  unsigned __int128 m = static_cast<unsigned __int128>(h ^ 0x9E3779B97F4A7C15ull) *
                        static_cast<unsigned __int128>(v ^ 0xE7037ED1A0B428DBull);
  return static_cast<uint64_t>(m) ^ static_cast<uint64_t>(m >> 64);
}

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_ARG_H_
