// What the tensor frontend needs from the engine below it: buffers, copies to and from the host,
// and the execution of stores.
//
// The frontend never asks for a value by itself: everything that is to run is a list of kAfter
// nodes, each of which says "this buffer, after these stores". A tensor that is realised gets a
// buffer from NewBuffer, and the kAfter of a store of its value into it.
//
// Forms that reach Realize:
//   * kBuffer, flat: shape (size). Every root is kAfter(target, kStore(target, value)); `target`
//     is a kBuffer or such a kAfter itself (an earlier version of the same buffer), `value` has the
//     same shape (size) and dtype.
//   * The graph of `value` may hold kAfter nodes of the same form, of other buffers and of earlier
//     versions of this one. A node that reads `kBuffer`, or the kAfter of an earlier version, reads
//     what was there before the later stores, whatever the order of the roots (write after read).
//   * `value` may read its own target at other elements than the one it stores (a flip, a sum).
//   * kContiguous marks values that want memory of their own; that memory may be reused after.
//   * kCopy moves between devices. A kernel has its data on one device; the device of a root is
//     that of its buffer.
#ifndef TG_TENSOR_BACKEND_H_
#define TG_TENSOR_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "codegen/ir/uop.h"

namespace tg {

class Backend {
 public:
  virtual ~Backend() = default;

  // The device of tensors made without one.
  virtual std::string DefaultDevice() = 0;
  // The one spelling of a device's name ("cpu:0" is "CPU"). Throws DeviceError for unknown names.
  virtual std::string CanonicalDevice(absl::string_view name) = 0;

  // A kBuffer with a new id of `size` >= 0 elements. Its memory is taken when first written, and
  // lives as long as the node. `device` is canonical. Throws DeviceError, also when memory for it
  // can never be had.
  virtual ir::UOp NewBuffer(ir::DType dtype, int64_t size, const std::string& device) = 0;

  // Runs everything that the roots (see above) need, or queues it: later calls see the results.
  // Every kAfter reachable from the roots has happened then. Throws tg::Error.
  virtual void Realize(absl::Span<const ir::UOp> roots) = 0;

  // Between a kBuffer of NewBuffer and host memory of exactly its size. CopyOut waits.
  virtual void CopyIn(const ir::UOp& buffer, absl::Span<const std::byte> from) = 0;
  virtual void CopyOut(const ir::UOp& buffer, absl::Span<std::byte> to) = 0;

  // Whether a Jit is recording what runs: then values must not be read, since they would be frozen
  // into the recording.
  virtual bool Capturing() = 0;
};

// The backend in use. It is set once, before the first tensor, and lives as long as the process (or
// until another is set, which is for tests: tensors of the old one are dead then). The engine sets
// itself when it is linked in. GetBackend throws UsageError when there is none.
void SetBackend(Backend* backend);
Backend& GetBackend();

}  // namespace tg

#endif  // TG_TENSOR_BACKEND_H_
