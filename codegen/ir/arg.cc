#include "codegen/ir/arg.h"

#include <bit>

namespace tg::ir {
namespace {

uint64_t HashString(const std::string& s) {
  uint64_t h = s.size();
  for (unsigned char c : s) h = HashMix(h, c);
  return h;
}

uint64_t HashDType(DType d) {
  return static_cast<uint64_t>(d.scalar()) << 16 | static_cast<uint64_t>(d.lanes());
}

struct Hasher {
  uint64_t operator()(std::monostate) const { return 1; }
  uint64_t operator()(int64_t v) const { return HashMix(2, static_cast<uint64_t>(v)); }
  uint64_t operator()(ConstFloat v) const { return HashMix(3, std::bit_cast<uint64_t>(v.value)); }
  uint64_t operator()(Invalid) const { return HashMix(4, 0); }
  uint64_t operator()(const RangeArg& a) const {
    return HashMix(HashMix(5, static_cast<uint64_t>(a.id)), static_cast<uint64_t>(a.type));
  }
  uint64_t operator()(const ParamArg& a) const {
    return HashMix(HashMix(6, static_cast<uint64_t>(a.slot)), static_cast<uint64_t>(a.size));
  }
  uint64_t operator()(const ShearArg& a) const {
    uint64_t h = HashMix(7, static_cast<uint64_t>(a.axis));
    return HashMix(HashMix(h, static_cast<uint64_t>(a.by)), static_cast<uint64_t>(a.coef));
  }
  uint64_t operator()(const Boxed<std::string>& s) const { return HashMix(8, HashString(*s)); }
  uint64_t operator()(const Boxed<Ints>& a) const {
    uint64_t h = HashMix(9, a->size());
    for (int64_t v : *a) h = HashMix(h, static_cast<uint64_t>(v));
    return h;
  }
  uint64_t operator()(const Boxed<VariableArg>& a) const {
    uint64_t h = HashMix(HashMix(10, HashString(a->name)), static_cast<uint64_t>(a->min));
    return HashMix(h, static_cast<uint64_t>(a->max));
  }
  uint64_t operator()(const Boxed<BufferArg>& a) const {
    uint64_t h = HashMix(HashMix(11, static_cast<uint64_t>(a->id)), static_cast<uint64_t>(a->size));
    return HashMix(HashMix(h, static_cast<uint64_t>(a->space)), HashString(a->device));
  }
  uint64_t operator()(const Boxed<ReduceArg>& a) const {
    uint64_t h = HashMix(12, static_cast<uint64_t>(a->op));
    for (int32_t v : a->axes) h = HashMix(h, static_cast<uint64_t>(v));
    return h;
  }
  uint64_t operator()(const Boxed<KernelInfo>& a) const {
    uint64_t h = HashMix(HashMix(13, HashString(a->name)), a->optimized);
    for (const Opt& o : a->applied) {
      h = HashMix(h, static_cast<uint64_t>(o.op) << 8 | static_cast<uint64_t>(o.type) << 1 |
                         static_cast<uint64_t>(o.top));
      h = HashMix(HashMix(h, static_cast<uint64_t>(o.axis)), static_cast<uint64_t>(o.amount));
    }
    return h;
  }
  uint64_t operator()(const Boxed<WmmaArg>& a) const {
    uint64_t h = HashMix(HashMix(14, HashString(a->name)), static_cast<uint64_t>(a->m));
    h = HashMix(HashMix(h, static_cast<uint64_t>(a->n)), static_cast<uint64_t>(a->k));
    h = HashMix(HashMix(h, HashDType(a->in)), HashDType(a->out));
    return HashMix(h, static_cast<uint64_t>(a->threads));
  }
  uint64_t operator()(const Boxed<FunctionArg>& a) const {
    return HashMix(HashMix(15, HashString(a->name)), a->precompile);
  }
};

}  // namespace

uint64_t HashArg(const Arg& arg) { return std::visit(Hasher(), arg); }

}  // namespace tg::ir
