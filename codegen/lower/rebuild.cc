#include "codegen/lower/rebuild.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

namespace tg::lower {

using ir::UOp;

UOp WithSources(const UOp& u, absl::Span<const UOp> src) {
  if (static_cast<int>(src.size()) != u.src_count()) return u.WithSrc(src);
  for (size_t i = 0; i < src.size(); ++i) {
    if (!(src[i] == u.src(static_cast<int>(i)))) return u.WithSrc(src);
  }
  return u;
}

UOp Rebuild(const UOp& root, absl::FunctionRef<UOp(const UOp& old, absl::Span<const UOp> src)> fn) {
  const std::vector<UOp> order = ir::Toposort(root);
  absl::flat_hash_map<const void*, UOp> made;
  made.reserve(order.size());
  absl::InlinedVector<UOp, 8> src;
  UOp result;
  for (const UOp& u : order) {
    src.clear();
    for (const UOp& s : u.src()) src.push_back(made.find(s.id())->second);
    result = fn(u, src);
    made.emplace(u.id(), result);
  }
  return result;
}

}  // namespace tg::lower
