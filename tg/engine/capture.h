// Recording what runs, for Jit.
#ifndef TG_TG_ENGINE_CAPTURE_H_
#define TG_TG_ENGINE_CAPTURE_H_

#include <iterator>
#include <utility>
#include <vector>

#include "tg/engine/execution.h"

namespace tg::engine {

class Capture {
 public:
  void Add(std::vector<ExecItem> items, const VariableValues& variables) {
    items_.insert(items_.end(), std::make_move_iterator(items.begin()),
                  std::make_move_iterator(items.end()));
    for (const auto& v : variables) {
      bool known = false;
      for (const auto& [name, value] : variables_) known |= name == v.first;
      if (!known) variables_.push_back(v);
    }
  }
  std::vector<ExecItem>& items() { return items_; }
  const VariableValues& variables() const { return variables_; }

 private:
  std::vector<ExecItem> items_;
  VariableValues variables_;
};

// The capture that the calling thread is in, or null (also inside of a scope with CAPTURING=0).
Capture* CurrentCapture();
// Makes `capture` the calling thread's; null ends it. Returns the one before.
Capture* SetCapture(Capture* capture);

}  // namespace tg::engine

#endif  // TG_TG_ENGINE_CAPTURE_H_
