#include "codegen/ir/rewrite.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace tg::ir {
namespace {

std::atomic<int64_t> g_rewrite_count{0};

// From nodes to what they became: open addressing on the pointers, which a map that hashes well
// for any key is several times slower at. It holds references, so that no pointer is used again.
class ResultTable {
 public:
  // Null: not there. A null handle in it: being rewritten.
  UOp* Find(const UOp& key) {
    for (size_t i = Slot(key);; i = (i + 1) & (entries_.size() - 1)) {
      if (entries_[i].key == key) return &entries_[i].result;
      if (!entries_[i].key) return nullptr;
    }
  }

  // The result of `key`, made null where it is not there. The pointer is good until the next call.
  UOp* FindOrInsert(const UOp& key, bool* inserted) {
    if (2 * (count_ + 1) > entries_.size()) Grow();
    size_t i = Slot(key);
    for (; entries_[i].key; i = (i + 1) & (entries_.size() - 1)) {
      if (entries_[i].key == key) {
        *inserted = false;
        return &entries_[i].result;
      }
    }
    ++count_;
    entries_[i].key = key;
    *inserted = true;
    return &entries_[i].result;
  }

 private:
  struct Entry {
    UOp key, result;
  };

  // Each table has its own order. A table that goes away frees nodes in the order of its slots, and
  // the allocator hands that memory out again in the same order: in a growing table with the same
  // order the new nodes would form one cluster.
  static uint64_t NewSalt() {
    thread_local uint64_t count = 0;
    return ++count * 0xD6E8FEB86659FD93ull;
  }

  size_t Slot(const UOp& u) const {
    uint64_t h = reinterpret_cast<uintptr_t>(u.id()) ^ salt_;
    h = (h ^ (h >> 32)) * 0x9E3779B97F4A7C15ull;
    h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9ull;
    return h >> shift_;
  }

  void Grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    --shift_;
    for (Entry& e : old) {
      if (!e.key) continue;
      size_t i = Slot(e.key);
      while (entries_[i].key) i = (i + 1) & (entries_.size() - 1);
      entries_[i] = std::move(e);
    }
  }

  std::vector<Entry> entries_ = std::vector<Entry>(64);
  int shift_ = 58;  // 64 - log2 of the size
  const uint64_t salt_ = NewSalt();
  size_t count_ = 0;
};

class Rewriter {
 public:
  Rewriter(const RuleSet& rules, const RewriteOptions& options)
      : rules_(rules), options_(options) {}
  ~Rewriter() { g_rewrite_count.fetch_add(applications_, std::memory_order_relaxed); }

  absl::StatusOr<UOp> Run(const UOp& root) {
    if (options_.order == RewriteOrder::kWalk) return Walk(root);
    stack_.push_back(Frame{root});
    while (!stack_.empty()) {
      const size_t top = stack_.size() - 1;
      const bool ok =
          options_.order == RewriteOrder::kBottomUp ? StepBottomUp(top) : StepTopDown(top);
      if (!ok) return error_;
    }
    return Result(root);
  }

 private:
  enum class Stage : uint8_t { kEnter, kSources, kReplaced };
  struct Frame {
    UOp node;
    Stage stage = Stage::kEnter;
    int chain = 0;               // rule applications that led here
    const Rule* rule = nullptr;  // the one that was applied last
    UOp replacement = UOp();     // kReplaced: what the node became; kSources top-down: likewise
  };

  // Nothing can happen to the node: a leaf without rules, or marked by an earlier rewrite.
  bool Settled(const UOp& u) const {
    if (options_.order != RewriteOrder::kBottomUp) return false;
    if (u.src_count() == 0 && !rules_.HasRulesFor(u.op())) return true;
    return (u.node()->marks.load(std::memory_order_relaxed) & options_.settled_mark) != 0;
  }
  void Mark(const UOp& u) {
    if (options_.settled_mark != 0) {
      u.node()->marks.fetch_or(options_.settled_mark, std::memory_order_relaxed);
    }
  }

  bool Done(const UOp& u) {
    if (Settled(u)) return true;
    const UOp* r = done_.Find(u);
    return r != nullptr && *r;
  }
  const UOp& Result(const UOp& u) { return Settled(u) ? u : *done_.Find(u); }

  // Pushes the sources that are not done. The frame reference is invalid after it.
  void PushSources(const UOp& u, int chain) {
    for (int i = u.src_count() - 1; i >= 0; --i) {
      if (!Done(u.src(i))) stack_.push_back(Frame{u.src(i), Stage::kEnter, chain});
    }
  }

  UOp Rebuild(const UOp& u) {
    bool changed = false;
    src_.clear();
    for (const UOp& s : u.src()) {
      const UOp& d = Result(s);
      changed |= !(d == s);
      src_.push_back(d);
    }
    return changed ? u.WithSrc(src_) : u;
  }

  UOp ApplyRules(const UOp& u, const Rule** rule) {
    UOp r = rules_.Rewrite(u, options_.ctx, rule);
    if (r) ++applications_;
    return r;
  }

  void Finish(size_t top, UOp result) {
    *done_.Find(stack_[top].node) = std::move(result);
    stack_.pop_back();
  }

  // The first visit of a node. False where it waits for its own result already: the rules lead back
  // to where they began.
  bool Enter(const UOp& u) {
    bool inserted;
    done_.FindOrInsert(u, &inserted);
    return inserted;
  }

  bool StepBottomUp(size_t top) {
    Frame& f = stack_[top];
    switch (f.stage) {
      case Stage::kEnter:
        if (Done(f.node)) {
          stack_.pop_back();
          return true;
        }
        if (!Enter(f.node)) return Fail(top);
        f.stage = Stage::kSources;
        PushSources(UOp(f.node), f.chain);
        return true;
      case Stage::kSources: {
        const UOp u = Rebuild(f.node);
        if (!(u == f.node) && Done(u)) {
          Finish(top, UOp(Result(u)));
          return true;
        }
        const Rule* rule = nullptr;
        UOp r = ApplyRules(u, &rule);
        if (!r) {
          if (!(u == f.node)) {
            bool inserted;
            *done_.FindOrInsert(u, &inserted) = u;
          }
          Finish(top, u);
          Mark(u);
          return true;
        }
        f.rule = rule;
        if (f.chain >= options_.max_chain || applications_ > options_.max_applications) {
          return Fail(top);
        }
        if (Settled(r)) {
          Finish(top, std::move(r));
          return true;
        }
        f.stage = Stage::kReplaced;
        f.replacement = r;
        stack_.push_back(Frame{std::move(r), Stage::kEnter, f.chain + 1});
        return true;
      }
      case Stage::kReplaced:
        Finish(top, UOp(Result(f.replacement)));
        return true;
    }
    return true;
  }

  bool StepTopDown(size_t top) {
    Frame& f = stack_[top];
    if (f.stage == Stage::kEnter) {
      if (Done(f.node)) {
        stack_.pop_back();
        return true;
      }
      if (!Enter(f.node)) return Fail(top);
      UOp u = f.node;
      while (true) {
        UOp r = ApplyRules(u, &f.rule);
        if (!r) break;
        if (++f.chain >= options_.max_chain || applications_ > options_.max_applications) {
          return Fail(top);
        }
        u = std::move(r);
      }
      f.stage = Stage::kSources;
      f.replacement = u;
      PushSources(u, f.chain);
      return true;
    }
    Finish(top, Rebuild(UOp(f.replacement)));
    return true;
  }

  absl::StatusOr<UOp> Walk(const UOp& root) {
    for (const UOp& u : Toposort(root)) {
      const Rule* rule = nullptr;
      UOp n = Rebuild(u);
      UOp r = ApplyRules(n, &rule);
      bool inserted;
      *done_.FindOrInsert(u, &inserted) = r ? std::move(r) : std::move(n);
    }
    return Result(root);
  }

  // Names the rules between the first visit of the node at `top` (or as far as is telling) and now.
  bool Fail(size_t top) {
    std::vector<std::string> names;
    for (size_t i = top + 1; i-- > 0 && names.size() < 8;) {
      const Rule* rule = stack_[i].rule;
      if (rule != nullptr && std::find(names.begin(), names.end(), rule->name()) == names.end()) {
        names.push_back(rule->name());
      }
      if (i != top && stack_[i].node == stack_[top].node) break;
    }
    std::string text = "rewrite rules do not settle; in the cycle:";
    for (const std::string& n : names) absl::StrAppend(&text, " [", n, "]");
    absl::StrAppend(&text, " at a node ", std::string(OpName(stack_[top].node.op())), " after ",
                    applications_, " applications");
    error_ = absl::FailedPreconditionError(text);
    return false;
  }

  const RuleSet& rules_;
  const RewriteOptions& options_;
  std::vector<Frame> stack_;
  ResultTable done_;
  std::vector<UOp> src_;
  int64_t applications_ = 0;
  absl::Status error_;
};

}  // namespace

absl::StatusOr<UOp> TryGraphRewrite(const UOp& root, const RuleSet& rules,
                                    const RewriteOptions& options) {
  return Rewriter(rules, options).Run(root);
}

UOp GraphRewrite(const UOp& root, const RuleSet& rules, const RewriteOptions& options) {
  absl::StatusOr<UOp> r = TryGraphRewrite(root, rules, options);
  TG_CHECK(r.ok()) << std::string(r.status().message());
  return *std::move(r);
}

int64_t RewriteCount() { return g_rewrite_count.load(std::memory_order_relaxed); }

}  // namespace tg::ir
