#include "tg/schedule/order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"

namespace tg::schedule {
namespace {

using ir::Op;
using ir::UOp;

// Whether the kernel reads its own target at an element other than the one it stores then.
bool ReadsElsewhere(const RangeifiedKernel& k) {
  if (!k.ast) return false;
  UOp store_index;
  std::vector<UOp> reads;
  for (const UOp& u : ir::Toposort(k.ast)) {
    if (u.Is(Op::kStore)) store_index = ir::GetIndex(u.src(0).src(1));
    if (u.Is(Op::kLoad) && u.src(0).src(0) == k.target) {
      reads.push_back(ir::GetIndex(u.src(0).src(1)));
    }
  }
  return std::any_of(reads.begin(), reads.end(),
                     [&store_index](const UOp& r) { return !(r == store_index); });
}

}  // namespace

OrderResult OrderKernels(const std::vector<RangeifiedKernel>& kernels) {
  const int n = static_cast<int>(kernels.size());
  OrderResult result;
  auto snapshot = [&result](const UOp& buffer, int64_t version) {
    auto& s = result.snapshots;
    const BufferVersion content(buffer, version);
    if (std::find(s.begin(), s.end(), content) == s.end()) s.push_back(content);
  };
  // Per buffer and version: who makes it, who reads it.
  struct Version {
    std::vector<int> writers, readers;
  };
  absl::flat_hash_map<UOp, std::vector<Version>> buffers;
  auto version = [&buffers](const UOp& b, int64_t v) -> Version& {
    auto& versions = buffers[b];
    if (static_cast<int64_t>(versions.size()) <= v) versions.resize(static_cast<size_t>(v) + 1);
    return versions[static_cast<size_t>(v)];
  };
  for (int i = 0; i < n; ++i) {
    version(kernels[i].target, kernels[i].target_version).writers.push_back(i);
    for (const auto& [buffer, v] : kernels[i].reads) version(buffer, v).readers.push_back(i);
    if (ReadsElsewhere(kernels[i])) snapshot(kernels[i].target, kernels[i].target_version - 1);
  }
  std::vector<std::vector<int>> after(n);
  std::vector<int> waits(n, 0);
  auto edge = [&after, &waits](int first, int then) {
    if (first == then) return;
    after[first].push_back(then);
    ++waits[then];
  };
  for (const auto& [buffer, versions] : buffers) {
    for (size_t v = 0; v < versions.size(); ++v) {
      for (int w : versions[v].writers) {
        for (int r : versions[v].readers) edge(w, r);
      }
      if (v + 1 == versions.size()) continue;
      for (int w : versions[v + 1].writers) {
        for (int r : versions[v].readers) edge(r, w);
        for (int earlier : versions[v].writers) edge(earlier, w);
      }
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < n; ++i) {
    if (waits[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    result.order.push_back(i);
    for (int j : after[i]) {
      if (--waits[j] == 0) ready.push(j);
    }
  }
  if (static_cast<int>(result.order.size()) == n) return result;
  // A cycle: some kernel reads a version that must be gone when its other sources exist. Snapshot
  // the old versions that kernels of the cycle read.
  for (const auto& [buffer, versions] : buffers) {
    for (size_t v = 0; v + 1 < versions.size(); ++v) {
      const bool stuck = std::any_of(versions[v].readers.begin(), versions[v].readers.end(),
                                     [&waits](int r) { return waits[r] > 0; });
      if (stuck) snapshot(buffer, static_cast<int64_t>(v));
    }
  }
  TG_CHECK(!result.snapshots.empty()) << "cycle between kernels that no snapshot can break";
  return result;
}

}  // namespace tg::schedule
