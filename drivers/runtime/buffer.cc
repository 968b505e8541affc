#include "drivers/runtime/buffer.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace tg::drivers {
namespace {

constexpr int64_t kStagingSize = 4 << 20;

}  // namespace

Buffer::Buffer(Private, std::shared_ptr<Device> device, BufferRef base, int64_t size,
               int64_t offset, const AllocOptions& options)
    : device_(std::move(device)),
      base_(std::move(base)),
      size_(size),
      offset_(offset),
      options_(options) {
  TG_CHECK(device_ != nullptr);
  TG_CHECK_GE(size_, 0);
}

Buffer::~Buffer() {
  if (!is_view()) Deallocate();
}

BufferRef Buffer::Create(std::shared_ptr<Device> device, int64_t size,
                         const AllocOptions& options) {
  return std::make_shared<Buffer>(Private(), std::move(device), nullptr, size, 0, options);
}

absl::StatusOr<BufferRef> Buffer::View(const BufferRef& base, int64_t size, int64_t offset) {
  TG_CHECK(base != nullptr);
  if (size < 0 || offset < 0 || offset > base->size() || size > base->size() - offset) {
    return absl::OutOfRangeError(absl::StrCat("a view of ", size, " bytes at ", offset,
                                              " does not lie within ", base->ToString()));
  }
  BufferRef root = base->is_view() ? base->base_ : base;
  return std::make_shared<Buffer>(Private(), base->device_, std::move(root), size,
                                  base->offset_ + offset, base->options_);
}

BufferRef Buffer::Wrap(std::shared_ptr<Device> device, void* pointer, int64_t size,
                       std::shared_ptr<void> owner) {
  BufferRef buffer = Create(std::move(device), size);
  buffer->memory_ = Memory{pointer, size, {}};
  buffer->wrapped_ = true;
  buffer->owner_ = std::move(owner);
  buffer->allocated_.store(true, std::memory_order_release);
  return buffer;
}

absl::Status Buffer::Allocate() {
  if (is_view()) return base_->Allocate();
  if (is_allocated()) return absl::OkStatus();
  std::lock_guard<std::mutex> lock(mutex_);
  if (is_allocated()) return absl::OkStatus();
  if (size_ != 0) {
    absl::StatusOr<Memory> memory = device_->allocator().Alloc(size_, options_);
    if (!memory.ok()) return memory.status();
    memory_ = *memory;
    device_->AddMemory(size_);
  }
  allocated_.store(true, std::memory_order_release);
  return absl::OkStatus();
}

void Buffer::Deallocate() {
  TG_CHECK(!is_view()) << "deallocating the view " << ToString();
  std::lock_guard<std::mutex> lock(mutex_);
  if (!is_allocated()) return;
  allocated_.store(false, std::memory_order_release);
  const Memory memory = std::exchange(memory_, Memory());
  if (std::exchange(wrapped_, false)) {
    owner_.reset();
  } else if (size_ != 0) {
    device_->allocator().Free(memory);
    device_->AddMemory(-size_);
  }
}

void* Buffer::device_pointer() const {
  TG_CHECK(is_allocated()) << ToString() << " has no memory yet";
  if (root().size_ == 0) return nullptr;
  return device_->allocator().DevicePointer(root().memory_, offset_);
}

std::byte* Buffer::host_pointer() const {
  if (!is_allocated() || root().size_ == 0) return nullptr;
  std::byte* const start = device_->allocator().HostPointer(root().memory_);
  return start == nullptr ? nullptr : start + offset_;
}

absl::Status Buffer::CheckReadable() const {
  if (is_allocated()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("reading ", ToString(), ", which has no contents yet"));
}

absl::Status Buffer::CopyIn(absl::Span<const std::byte> from) {
  if (static_cast<int64_t>(from.size()) != size_) {
    return absl::InvalidArgumentError(
        absl::StrCat("copy size mismatch: ", from.size(), " bytes into ", ToString()));
  }
  const absl::Status status = Allocate();
  if (!status.ok() || size_ == 0) return status;
  return device_->allocator().CopyIn(root().memory_, offset_, from);
}

absl::Status Buffer::CopyOut(absl::Span<std::byte> to) const {
  if (static_cast<int64_t>(to.size()) != size_) {
    return absl::InvalidArgumentError(
        absl::StrCat("copy size mismatch: ", ToString(), " into ", to.size(), " bytes"));
  }
  const absl::Status status = CheckReadable();
  if (!status.ok() || size_ == 0) return status;
  return device_->allocator().CopyOut(to, root().memory_, offset_);
}

absl::Status Buffer::Copy(Buffer& to, const Buffer& from) {
  if (to.size_ != from.size_) {
    return absl::InvalidArgumentError(
        absl::StrCat("copy size mismatch: ", from.ToString(), " into ", to.ToString()));
  }
  absl::Status status = from.CheckReadable();
  if (status.ok()) status = to.Allocate();
  if (!status.ok() || to.size_ == 0) return status;

  Allocator& to_allocator = to.device_->allocator();
  Allocator& from_allocator = from.device_->allocator();
  const Memory& to_memory = to.root().memory_;
  const Memory& from_memory = from.root().memory_;
  if (to.device_ == from.device_) {
    return to_allocator.CopyWithin(to_memory, to.offset_, from_memory, from.offset_, to.size_);
  }
  status = to_allocator.Transfer(to_memory, to.offset_, from_allocator, from_memory, from.offset_,
                                 to.size_);
  if (!absl::IsUnimplemented(status)) return status;

  if (to.device_->capabilities().host_visible) {
    return from.CopyOut(absl::MakeSpan(to.host_pointer(), to.size_));
  }
  if (from.device_->capabilities().host_visible) {
    return to.CopyIn(absl::MakeConstSpan(from.host_pointer(), from.size_));
  }
  std::vector<std::byte> staging(std::min(to.size_, kStagingSize));
  for (int64_t done = 0; done < to.size_;) {
    const int64_t part = std::min<int64_t>(to.size_ - done, staging.size());
    const absl::Span<std::byte> host(staging.data(), part);
    status = from_allocator.CopyOut(host, from_memory, from.offset_ + done);
    if (status.ok()) status = to_allocator.CopyIn(to_memory, to.offset_ + done, host);
    if (!status.ok()) return status;
    done += part;
  }
  return absl::OkStatus();
}

std::string Buffer::ToString() const {
  if (!is_view()) return absl::StrCat("<", device_->name(), " ", size_, " bytes>");
  return absl::StrCat("<", device_->name(), " ", size_, " of ", root().size_, " bytes at ", offset_,
                      ">");
}

}  // namespace tg::drivers
