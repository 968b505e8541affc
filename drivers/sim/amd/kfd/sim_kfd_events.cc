// Event ioctls of SimKfd.
#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drivers/sim/amd/kfd/sim_kfd.h"
#include "drivers/sim/amd/kfd/user_memory.h"

namespace tg::amd::sim {
namespace {

constexpr uint64_t kEventPageBytes = kfd::kSignalEventLimit * 8;
// More events than there can be; the kernel's limit is its allocator's.
constexpr uint32_t kMaxWaits = 1 << 16;
constexpr uint32_t kForever = ~uint32_t{0};

using Clock = std::chrono::steady_clock;

}  // namespace

int SimKfd::CreateEvent(kfd::CreateEventArgs* args) {
  auto refuse = [&](int error, absl::string_view why) {
    return Refuse(error, absl::StrCat("CREATE_EVENT: ", why));
  };
  // The buffer that GPUs signal through, by its handle.
  if (args->event_page_offset != 0) {
    if (events_.has_page()) return refuse(EINVAL, "there is an event page");
    BufferObject* page = FindBuffer(args->event_page_offset);
    if (page == nullptr) return refuse(EINVAL, "the event page is no buffer");
    if (page->size < kEventPageBytes) return refuse(EINVAL, "the event page is too small");
    if (page->shared == nullptr) return refuse(EINVAL, "the event page is user memory");
    events_.SetPage(reinterpret_cast<uint64_t*>(page->host));
    event_page_handle_ = page->handle;
  }
  bool signal = args->event_type == kfd::kEventSignal || args->event_type == kfd::kEventDebug;
  if (signal && !events_.has_page()) {
    event_page_ = SharedBytes::Create(kEventPageBytes);
    if (event_page_ == nullptr) return refuse(ENOMEM, "the host has no more memory");
    events_.SetPage(reinterpret_cast<uint64_t*>(event_page_->bytes()));
  }
  uint32_t id;
  int error = events_.Create(args->event_type, args->auto_reset != 0, &id);
  if (error != 0) return refuse(-error, "all slots are taken");
  args->event_id = id;
  if (signal) {
    args->event_page_offset = kfd::kMmapTypeEvents;
    args->event_slot_index = id;
    args->event_trigger_data = id;
  }
  return 0;
}

int SimKfd::DestroyEvent(kfd::EventIdArgs* args) {
  int error = events_.Destroy(args->event_id);
  return error == 0 ? 0 : Refuse(-error, absl::StrCat("DESTROY_EVENT: no event ", args->event_id));
}

int SimKfd::SetEvent(kfd::EventIdArgs* args) {
  int error = events_.Set(args->event_id);
  if (error != 0) {
    return Refuse(-error, absl::StrCat("SET_EVENT: no signal event ", args->event_id));
  }
  changed_.notify_all();
  return 0;
}

int SimKfd::ResetEvent(kfd::EventIdArgs* args) {
  int error = events_.Reset(args->event_id);
  return error == 0 ? 0
                    : Refuse(-error, absl::StrCat("RESET_EVENT: no signal event ", args->event_id));
}

void SimKfd::StopWaitingQueues() {
  absl::Status status = set_.Finished();
  for (auto& [id, q] : queues_) {
    if (q.active && q.queue->state() == Queue::State::kWaiting) q.queue->Stop(status);
    ReportError(&q);
  }
}

int SimKfd::WaitEvents(kfd::WaitEventsArgs* args, std::unique_lock<std::mutex>* lock) {
  args->wait_result = kfd::kWaitFail;
  if (args->num_events > kMaxWaits) return Refuse(ENOMEM, "WAIT_EVENTS: num_events");
  std::vector<kfd::EventData> data(args->num_events);
  if (CopyFromUser(data.data(), args->events_ptr, data.size() * sizeof(data[0])) != 0) {
    return Refuse(EFAULT, "WAIT_EVENTS: the events cannot be read");
  }
  for (const kfd::EventData& d : data) {
    if (events_.Find(d.event_id) == nullptr) {
      return Refuse(EINVAL, absl::StrCat("WAIT_EVENTS: no event ", d.event_id));
    }
  }
  auto collect = [&] {
    // Another thread may have destroyed an event meanwhile: it is then never signaled.
    return events_.Collect(absl::MakeSpan(data), args->wait_for_all != 0);
  };
  Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(args->timeout);
  Clock::time_point idle_since = Clock::now();
  bool reported = false;
  for (;;) {
    if (RunQueues()) idle_since = Clock::now();
    if (collect()) break;
    Clock::time_point now = Clock::now();
    bool idle = now - idle_since >= options_.patience;
    if (args->timeout != kForever && (now >= deadline || idle)) {
      args->wait_result = kfd::kWaitTimeout;
      return 0;
    }
    if (idle && !reported) {
      // A hang: exceptions may be what is waited for.
      StopWaitingQueues();
      reported = true;
      continue;
    }
    if (idle) {
      return Refuse(EIO, absl::StrCat("WAIT_EVENTS: none will be signaled:\n", set_.Describe()));
    }
    // Doorbells that other threads write as memory notify nobody.
    changed_.wait_for(*lock, std::chrono::milliseconds(1));
  }
  args->wait_result = kfd::kWaitComplete;
  if (CopyToUser(args->events_ptr, data.data(), data.size() * sizeof(data[0])) != 0) {
    return Refuse(EFAULT, "WAIT_EVENTS: the events cannot be written");
  }
  return 0;
}

}  // namespace tg::amd::sim
