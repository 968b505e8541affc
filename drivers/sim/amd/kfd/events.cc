#include "drivers/sim/amd/kfd/events.h"

#include <algorithm>
#include <cerrno>

namespace tg::amd::sim {
namespace {

// As many again as there are slots.
constexpr uint32_t kFirstOther = kfd::kSignalEventLimit, kLastOther = 2 * kFirstOther - 1;

}  // namespace

int EventTable::SetPage(uint64_t* slots) {
  if (slots_ != nullptr) return -EINVAL;
  slots_ = slots;
  std::fill(slots, slots + kfd::kSignalEventLimit, kfd::kUnsignaledEventSlot);
  return 0;
}

int EventTable::Create(uint32_t type, bool auto_reset, uint32_t* id) {
  bool signal = type == kfd::kEventSignal || type == kfd::kEventDebug;
  // Slot 0 is kept: the command processor signals it when it has no context.
  uint32_t first = signal ? 1 : kFirstOther;
  uint32_t last = signal ? kfd::kSignalEventLimit - 1 : kLastOther;
  for (uint32_t i = first; i <= last; ++i) {
    if (events_.count(i) != 0) continue;
    events_[i] = Event{.type = type, .auto_reset = auto_reset};
    *id = i;
    return 0;
  }
  return -ENOSPC;
}

int EventTable::Destroy(uint32_t id) { return events_.erase(id) == 1 ? 0 : -EINVAL; }

Event* EventTable::Find(uint32_t id) {
  auto it = events_.find(id);
  return it == events_.end() ? nullptr : &it->second;
}

int EventTable::Set(uint32_t id) {
  Event* event = Find(id);
  if (event == nullptr || event->type != kfd::kEventSignal) return -EINVAL;
  event->signaled = true;
  ++event->age;
  return 0;
}

int EventTable::Reset(uint32_t id) {
  Event* event = Find(id);
  if (event == nullptr || event->type != kfd::kEventSignal) return -EINVAL;
  event->signaled = false;
  return 0;
}

void EventTable::Interrupt(uint32_t id) {
  Event* event = id < kfd::kSignalEventLimit ? Find(id) : nullptr;
  if (event == nullptr || slots_ == nullptr || slots_[id] == kfd::kUnsignaledEventSlot) return;
  slots_[id] = kfd::kUnsignaledEventSlot;
  event->signaled = true;
  ++event->age;
}

void EventTable::SignalType(uint32_t type, const kfd::EventData& data) {
  for (auto& [id, event] : events_) {
    if (event.type != type) continue;
    event.data = data;
    event.signaled = true;
    ++event.age;
  }
}

bool EventTable::Collect(absl::Span<kfd::EventData> data, bool all) {
  // Signals that came after the age which the caller knows count, too.
  auto happened = [&](const kfd::EventData& d) {
    const Event* event = Find(d.event_id);
    if (event == nullptr) return false;
    return event->signaled || (event->type == kfd::kEventSignal && d.signal_last_event_age != 0 &&
                               d.signal_last_event_age != event->age);
  };
  size_t count = static_cast<size_t>(std::count_if(data.begin(), data.end(), happened));
  if (count < data.size() && (all || count == 0)) return false;
  for (kfd::EventData& d : data) {
    if (!happened(d)) continue;
    Event* event = Find(d.event_id);
    if (event->type == kfd::kEventMemory) {
      d.memory_exception_data = event->data.memory_exception_data;
    } else if (event->type == kfd::kEventHwException) {
      d.hw_exception_data = event->data.hw_exception_data;
    } else if (d.signal_last_event_age != 0) {
      d.signal_last_event_age = event->age;
    }
    if (event->auto_reset) event->signaled = false;
  }
  return true;
}

}  // namespace tg::amd::sim
