// An oracle for tests: evaluates tensor graphs directly, one whole operation at a time, on arrays
// of double and int64. No scheduler, no kernels; it shares no code with them. Slow and exact: every
// operation is rounded to its dtype once.
//
// Installed as the backend it runs the whole frontend:
//
//   ReferenceBackend reference;  // SetBackend is its constructor's doing
//   EXPECT_EQ(Arange(3).Sum().Item<int>(), 3);
//
// It also watches the contract of backend.h: roots and kAfter nodes of another form abort.
#ifndef TG_TENSOR_REFERENCE_BACKEND_H_
#define TG_TENSOR_REFERENCE_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/ir/uop.h"
#include "tg/tensor/backend.h"

namespace tg {

// The value of a tensor-stage node.
struct ReferenceArray {
  ir::DType dtype;
  std::vector<int64_t> shape;
  std::vector<double> floats;  // float dtypes
  std::vector<int64_t> ints;   // the others, as ir::WrapToInt holds them
};

// Evaluates a graph over buffers of a ReferenceBackend. Stores in it count for what depends on
// them, and change no memory.
ReferenceArray EvaluateGraph(const ir::UOp& x);

class ReferenceBackend : public Backend {
 public:
  // Becomes the backend until destroyed.
  ReferenceBackend();
  ~ReferenceBackend() override;

  // One-letter indices make devices: "REF", "REF:1".
  std::string DefaultDevice() override { return "REF"; }
  std::string CanonicalDevice(absl::string_view name) override;
  ir::UOp NewBuffer(ir::DType dtype, int64_t size, const std::string& device) override;
  void Realize(absl::Span<const ir::UOp> roots) override;
  void CopyIn(const ir::UOp& buffer, absl::Span<const std::byte> from) override;
  void CopyOut(const ir::UOp& buffer, absl::Span<std::byte> to) override;
  bool Capturing() override { return capturing; }

  bool capturing = false;
  // Roots that were run since the start.
  int64_t stores = 0;

 private:
  int64_t next_id_ = 0;
};

}  // namespace tg

#endif  // TG_TENSOR_REFERENCE_BACKEND_H_
