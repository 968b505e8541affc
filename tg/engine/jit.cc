#include "tg/engine/jit.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/settings.h"
#include "codegen/ir/shape.h"
#include "tg/engine/backend.h"
#include "tg/engine/capture.h"
#include "tg/engine/execution.h"
#include "tg/schedule/schedule.h"
#include "tg/tensor/random.h"

namespace tg {
namespace {

using drivers::Buffer;
using drivers::BufferRef;
using engine::ExecItem;
using engine::VariableValues;
using ir::Op;
using ir::UOp;

// The memory that a realized tensor is a view of.
UOp BufferNode(const Tensor& t) {
  UOp u = t.uop();
  while (ir::IsMovement(u.op()) || u.Is(Op::kAfter)) u = u.src(0);
  return u.Is(Op::kBuffer) ? u : UOp();
}

void AddBindings(const Tensor& t, VariableValues& values) {
  for (const UOp& u : ir::Toposort(t.uop())) {
    if (!u.Is(Op::kBind)) continue;
    const std::string& name = u.src(0).arg_as<ir::VariableArg>().name;
    const int64_t value = u.src(1).const_int();
    for (const auto& [n, v] : values) {
      if (n == name && v != value) {
        throw UsageError(
            absl::StrCat("jit: inputs bind variable ", name, " to ", v, " and to ", value));
      }
    }
    values.emplace_back(name, value);
  }
}

// What must agree between calls.
struct Signature {
  std::string text;
  // Of an input with variables in its graph: the graph, without memories and values.
  UOp graph;

  bool operator==(const Signature&) const = default;
};

bool HasVariables(const Tensor& t) {
  const std::vector<UOp> nodes = ir::Toposort(t.uop());
  return std::any_of(nodes.begin(), nodes.end(), [](const UOp& u) { return u.Is(Op::kBind); });
}

Signature SignatureOf(const Tensor& t) {
  Signature s;
  s.text = absl::StrCat(t.dtype().ToString(), " ", ir::ToString(t.shape()), " on ",
                        t.device().empty() ? "no device" : t.device());
  if (HasVariables(t)) s.graph = schedule::Normalize(ir::Sink({t.uop()})).sink;
  return s;
}

}  // namespace

struct Jit::State {
  explicit State(Function f) : function(std::move(f)) {}

  // The memories of the inputs, all different; null for inputs of variables alone. Realizes inputs
  // that are not, but for views with variables: there the function computes from the whole memory.
  std::vector<BufferRef> InputBuffers(const std::vector<Tensor>& inputs) {
    std::vector<Tensor> plain;
    for (const Tensor& t : inputs) {
      if (!HasVariables(t)) plain.push_back(t);
    }
    Tensor::Realize(plain);
    std::vector<BufferRef> buffers;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const UOp node = BufferNode(inputs[i]);
      if (!node) {
        const std::vector<UOp> nodes = ir::Toposort(inputs[i].uop());
        const bool memory =
            std::any_of(nodes.begin(), nodes.end(), [](const UOp& u) { return u.Is(Op::kBuffer); });
        if (HasVariables(inputs[i]) && !memory) {
          buffers.push_back(nullptr);
          continue;
        }
        throw UsageError(
            absl::StrCat("jit: input ", i,
                         memory ? " is computed from a memory" : " has no memory (a constant?)",
                         ": ", inputs[i].ToString(), "; pass input.Clone()"));
      }
      BufferRef b = engine::BufferOf(node);
      if (std::find(buffers.begin(), buffers.end(), b) != buffers.end()) {
        throw UsageError(absl::StrCat("jit: input ", i,
                                      " is the memory of another input; pass "
                                      "input.Clone()"));
      }
      buffers.push_back(std::move(b));
    }
    return buffers;
  }

  void CheckSignatures(const std::vector<Tensor>& inputs) {
    std::vector<Signature> now;
    for (const Tensor& t : inputs) now.push_back(SignatureOf(t));
    if (!signatures.has_value()) {
      signatures = std::move(now);
      return;
    }
    if (now.size() != signatures->size()) {
      throw UsageError(absl::StrCat("jit: recorded with ", signatures->size(),
                                    " inputs, called with ", now.size()));
    }
    for (size_t i = 0; i < now.size(); ++i) {
      const Signature& before = (*signatures)[i];
      if (now[i] == before) continue;
      throw UsageError(absl::StrCat("jit: input ", i, " was ", before.text,
                                    " when recorded and is ", now[i].text,
                                    now[i].text == before.text ? ", another view" : ""));
    }
  }

  std::vector<Tensor> Run(const std::vector<Tensor>& inputs) {
    std::vector<Tensor> r = function(inputs);
    Tensor::Realize(r);
    return r;
  }

  std::vector<Tensor> Record(const std::vector<Tensor>& inputs) {
    const std::vector<BufferRef> buffers = InputBuffers(inputs);
    // What is pending from before is no part of the recording.
    FlushRandomState();
    Tensor::Settle([](const UOp&) { return false; });
    engine::Capture recording;
    engine::SetCapture(&recording);
    try {
      outputs = Run(inputs);
      // A result that is an input's memory would be that of this call's input for ever.
      for (Tensor& t : outputs) {
        const UOp node = BufferNode(t);
        if (!node) continue;
        const BufferRef b = engine::BufferOf(node);
        if (std::find(buffers.begin(), buffers.end(), b) != buffers.end()) t = t.Clone().Realize();
      }
      // Assignments, and the counters of random streams, whether somebody realized them or not.
      Tensor::Settle([](const UOp&) { return false; });
    } catch (...) {
      engine::SetCapture(nullptr);
      throw;
    }
    engine::SetCapture(nullptr);
    if (recording.items().empty()) {
      throw UsageError("jit: the function ran no kernel, there is nothing to record");
    }
    items = std::move(recording.items());
    variables = recording.variables();
    // Which buffers of which items are inputs.
    for (size_t i = 0; i < items.size(); ++i) {
      for (size_t j = 0; j < items[i].buffers.size(); ++j) {
        const Buffer* root = &items[i].buffers[j]->root();
        bool is_input = false;
        for (size_t k = 0; k < buffers.size(); ++k) {
          if (buffers[k] == nullptr || root != &buffers[k]->root()) continue;
          uses.push_back({i, j, k});
          is_input = true;
          if (Writes(items[i], j)) written_inputs.insert(k);
        }
        if (!is_input && Writes(items[i], j)) written.insert(root);
      }
    }
    return outputs;
  }

  static bool Writes(const ExecItem& item, size_t j) {
    return item.kernel == nullptr ? j == 0 : item.kernel->params[j].written;
  }

  std::vector<Tensor> Replay(const std::vector<Tensor>& inputs) {
    std::vector<BufferRef> buffers = InputBuffers(inputs);
    // Other tensors keep the values that they have: those that are not computed yet from what the
    // replay overwrites are computed now.
    FlushRandomState();
    Tensor::Settle([&](const UOp& buffer) {
      const Buffer* root = &engine::BufferOf(buffer)->root();
      return written.contains(root) ||
             std::any_of(written_inputs.begin(), written_inputs.end(),
                         [&](size_t k) { return root == &buffers[k]->root(); });
    });
    for (BufferRef& b : buffers) {
      if (b == nullptr || !written.contains(&b->root())) continue;
      // The replay overwrites this memory, possibly before it is read as an input.
      BufferRef copy = Buffer::Create(b->device(), b->size());
      if (absl::Status s = Buffer::Copy(*copy, *b); !s.ok()) {
        throw DeviceError(absl::StrCat("jit: copying an input: ", s.message()));
      }
      b = std::move(copy);
    }
    for (const Use& u : uses) items[u.item].buffers[u.buffer] = buffers[u.input];
    VariableValues values;
    for (const Tensor& t : inputs) AddBindings(t, values);
    // Variables that no input binds keep the value that they were recorded with.
    values.insert(values.end(), variables.begin(), variables.end());
    absl::Status status = engine::RunItems(items, values, /*in_jit=*/true);
    // The items must not keep inputs alive between calls.
    for (const Use& u : uses) items[u.item].buffers[u.buffer] = nullptr;
    if (!status.ok()) throw UsageError(absl::StrCat("jit: ", status.message()));
    return outputs;
  }

  struct Use {
    size_t item, buffer, input;
  };

  Function function;
  int calls = 0;
  std::optional<std::vector<Signature>> signatures;
  std::vector<ExecItem> items;
  std::vector<Use> uses;
  absl::flat_hash_set<const Buffer*> written;  // other than inputs
  absl::flat_hash_set<size_t> written_inputs;
  VariableValues variables;
  std::vector<Tensor> outputs;
};

Jit::Jit(Function function) : state_(std::make_unique<State>(std::move(function))) {}
Jit::~Jit() = default;
Jit::Jit(Jit&&) noexcept = default;
Jit& Jit::operator=(Jit&&) noexcept = default;

std::vector<Tensor> Jit::operator()(const std::vector<Tensor>& inputs) {
  State& s = *state_;
  if (engine::CurrentCapture() != nullptr) {
    throw UsageError("jit: a Jit inside of another Jit is not supported");
  }
  if (base::Get(base::kJit) == 0) return s.Run(inputs);
  if (s.calls > 0) s.CheckSignatures(inputs);
  std::vector<Tensor> result;
  switch (s.calls) {
    case 0:
      result = s.Run(inputs);
      s.CheckSignatures(inputs);
      break;
    case 1:
      result = s.Record(inputs);
      break;
    default:
      result = s.Replay(inputs);
      break;
  }
  ++s.calls;
  return result;
}

void Jit::Reset() { *state_ = State(std::move(state_->function)); }
int Jit::calls() const { return state_->calls; }
bool Jit::captured() const { return state_->calls >= 2; }
int Jit::items() const { return static_cast<int>(state_->items.size()); }

}  // namespace tg
