// A range of bytes on a device, owned through shared_ptr, allocated when first needed.
//
//   auto a = Buffer::Create(device, 1 << 20);                 // Takes no memory yet.
//   auto b = Buffer::View(a, /*size=*/4096, /*offset=*/8192); // StatusOr. Keeps a's memory alive.
//   absl::Status status = a->Allocate();
//   status = program->Run({a->device_pointer(), (*b)->device_pointer()}, {});
//
// Views have one level: the view of a view refers to the root buffer. Sizes and offsets are 64-bit
// byte counts; size 0 is a valid buffer that takes no memory and whose pointers are null.
//
// Thread safety: allocating is guarded, so threads may share a buffer that any of them allocates.
// Access to its bytes, and Deallocate, are for the caller to order.
#ifndef TG_DRIVERS_RUNTIME_BUFFER_H_
#define TG_DRIVERS_RUNTIME_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "drivers/runtime/allocator.h"
#include "drivers/runtime/device.h"

namespace tg::drivers {

class Buffer;
using BufferRef = std::shared_ptr<Buffer>;

class Buffer {
  struct Private {};

 public:
  // size >= 0. Never fails and allocates nothing on the device.
  static BufferRef Create(std::shared_ptr<Device> device, int64_t size,
                          const AllocOptions& options = {});

  // `size` bytes of `base` from `offset` on. OutOfRange when they do not lie within `base`.
  static absl::StatusOr<BufferRef> View(const BufferRef& base, int64_t size, int64_t offset);

  // Memory that belongs to somebody else and that `device` can use as it is, by the pointer that
  // its programs take (CPU: any host address). `owner` is held as long as the buffer lives; it may
  // be null when the caller sees to that. Counts as no memory of the device.
  static BufferRef Wrap(std::shared_ptr<Device> device, void* pointer, int64_t size,
                        std::shared_ptr<void> owner);

  Buffer(Private, std::shared_ptr<Device> device, BufferRef base, int64_t size, int64_t offset,
         const AllocOptions& options);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const std::shared_ptr<Device>& device() const { return device_; }
  int64_t size() const { return size_; }
  // In the root buffer; 0 for a root.
  int64_t offset() const { return offset_; }
  bool is_view() const { return base_ != nullptr; }
  // The root buffer: itself when it is no view.
  const Buffer& root() const { return base_ ? *base_ : *this; }
  Buffer& root() { return base_ ? *base_ : *this; }

  bool is_allocated() const { return root().allocated_.load(std::memory_order_acquire); }
  // Allocates the root if it has no memory yet. ResourceExhausted names the device, and the bytes.
  absl::Status Allocate();
  // Gives the memory back now; the buffer may be allocated again, with new contents. Only for a
  // root, and only while no other thread uses it or a view of it. Does nothing without memory.
  void Deallocate();

  // What a Program is given. Needs is_allocated() (checked).
  void* device_pointer() const;
  // The first byte, for the host; null when the host cannot reach the device's memory, or when not
  // allocated. The caller waits for the device before it looks.
  std::byte* host_pointer() const;

  // The whole buffer from, and to, host memory. from.size() (to.size()) must be size(), or
  // InvalidArgument. CopyIn allocates; CopyOut of a buffer without memory is FailedPrecondition.
  absl::Status CopyIn(absl::Span<const std::byte> from);
  absl::Status CopyOut(absl::Span<std::byte> to) const;

  // All of `from` into `to`, which is allocated if need be, on any two devices: directly where they
  // reach each other, else through the host. Sizes must be equal. Overlapping views of one buffer
  // are copied as if through a temporary.
  static absl::Status Copy(Buffer& to, const Buffer& from);

  // "<CPU 4096 bytes>", "<CPU 16 of 4096 bytes at 32>": for messages.
  std::string ToString() const;

 private:
  absl::Status CheckReadable() const;

  const std::shared_ptr<Device> device_;
  const BufferRef base_;  // Null for a root.
  const int64_t size_;
  const int64_t offset_;
  const AllocOptions options_;

  // The rest is used in a root only. memory_ does not change while allocated_ is true.
  std::mutex mutex_;  // Held while allocated_ changes.
  std::atomic<bool> allocated_{false};
  Memory memory_;
  bool wrapped_ = false;
  std::shared_ptr<void> owner_;
};

}  // namespace tg::drivers

#endif  // TG_DRIVERS_RUNTIME_BUFFER_H_
