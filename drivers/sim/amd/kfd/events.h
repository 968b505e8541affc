// Events of the simulated kernel driver: what processes create, wait for, and GPUs signal.
//
// Source: Linux 6.12, drivers/gpu/drm/amd/amdkfd/kfd_events.c.
#ifndef TG_DRIVERS_SIM_AMD_KFD_EVENTS_H_
#define TG_DRIVERS_SIM_AMD_KFD_EVENTS_H_

#include <cstdint>
#include <map>

#include "absl/types/span.h"
#include "drivers/amd/abi/kfd_ioctl.h"

namespace tg::amd::sim {

struct Event {
  uint32_t type = kfd::kEventSignal;
  bool auto_reset = false;
  bool signaled = false;
  uint64_t age = 0;       // Counts signals.
  kfd::EventData data{};  // Of memory and hardware exceptions.
};

// Not thread safe. Errors are negative errno.
class EventTable {
 public:
  // The page through which GPUs signal: kSignalEventLimit slots, not owned. All slots are made
  // unsignaled. -EINVAL when there is one already.
  int SetPage(uint64_t* slots);
  bool has_page() const { return slots_ != nullptr; }

  // -ENOSPC when all slots are taken. Ids of signal events are their slots, from 1; those of others
  // lie above all slots.
  int Create(uint32_t type, bool auto_reset, uint32_t* id);
  int Destroy(uint32_t id);
  // Only signal events: -EINVAL.
  int Set(uint32_t id);
  int Reset(uint32_t id);
  Event* Find(uint32_t id);

  // An interrupt with `id` as context: signals the event when its slot was written, too. Others
  // are lost, as on silicon.
  void Interrupt(uint32_t id);
  // Signals all events of this type with `data`.
  void SignalType(uint32_t type, const kfd::EventData& data);

  // True when those that `data` names, or one of them, are signaled; they are then filled in and,
  // if so created, reset.
  bool Collect(absl::Span<kfd::EventData> data, bool all);

 private:
  std::map<uint32_t, Event> events_;
  uint64_t* slots_ = nullptr;
};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_KFD_EVENTS_H_
