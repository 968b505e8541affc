#include "codegen/ir/rewrite.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace tg::ir {
namespace {

std::atomic<int64_t> g_rewrite_count{0};

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
    return done_.at(root);
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

  bool Done(const UOp& u) const { return done_.contains(u); }

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
      const UOp& d = done_.at(s);
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
    active_.erase(stack_[top].node.id());
    done_.emplace(std::move(stack_[top].node), std::move(result));
    stack_.pop_back();
  }

  bool StepBottomUp(size_t top) {
    Frame& f = stack_[top];
    switch (f.stage) {
      case Stage::kEnter:
        if (Done(f.node)) {
          stack_.pop_back();
          return true;
        }
        // A node that waits for its own result: the rules lead back to where they began.
        if (!active_.insert(f.node.id()).second) return Fail(top);
        f.stage = Stage::kSources;
        PushSources(UOp(f.node), f.chain);
        return true;
      case Stage::kSources: {
        const UOp u = Rebuild(f.node);
        if (!(u == f.node)) {
          if (auto it = done_.find(u); it != done_.end()) {
            Finish(top, UOp(it->second));
            return true;
          }
        }
        const Rule* rule = nullptr;
        UOp r = ApplyRules(u, &rule);
        if (!r) {
          if (!(u == f.node)) done_.emplace(u, u);
          Finish(top, u);
          return true;
        }
        f.rule = rule;
        if (f.chain >= options_.max_chain || applications_ > options_.max_applications) {
          return Fail(top);
        }
        f.stage = Stage::kReplaced;
        f.replacement = r;
        stack_.push_back(Frame{r, Stage::kEnter, f.chain + 1});
        return true;
      }
      case Stage::kReplaced:
        Finish(top, UOp(done_.at(f.replacement)));
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
      if (!active_.insert(f.node.id()).second) return Fail(top);
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
      done_.emplace(u, r ? std::move(r) : std::move(n));
    }
    return done_.at(root);
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
  UOpMap done_;
  absl::flat_hash_set<const void*> active_;
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
