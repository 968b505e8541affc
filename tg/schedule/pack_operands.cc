#include "tg/schedule/pack_operands.h"

#include <optional>
#include <utility>
#include <vector>

#include "codegen/opt/pack.h"
#include "codegen/opt/pad_operand.h"

namespace tg::schedule {

Schedule PackOperands(Schedule schedule,
                      absl::FunctionRef<const render::Target*(const std::string&)> target) {
  std::vector<ScheduleItem> items;
  for (ScheduleItem& item : schedule.items) {
    const render::Target* t =
        item.kind == ScheduleItem::Kind::kKernel ? target(item.device) : nullptr;
    while (t != nullptr) {
      std::optional<opt::OperandPack> p = opt::FindPack(item.ast, *t);
      if (!p.has_value()) p = opt::FindPadding(item.ast, *t);
      if (!p.has_value()) break;
      const int packed = static_cast<int>(schedule.buffers.size());
      schedule.buffers.push_back(ScheduleBuffer{.kind = ScheduleBuffer::Kind::kInternal,
                                                .dtype = p->dtype,
                                                .size = p->size,
                                                .device = item.device});
      items.push_back(ScheduleItem{.kind = ScheduleItem::Kind::kKernel,
                                   .ast = p->pack,
                                   .buffers = {packed, item.buffers[p->slot]},
                                   .device = item.device});
      if (p->packed_slot == p->slot) {
        item.buffers[p->slot] = packed;
      } else {
        item.buffers.push_back(packed);
      }
      item.ast = p->kernel;
    }
    items.push_back(std::move(item));
  }
  schedule.items = std::move(items);
  return schedule;
}

}  // namespace tg::schedule
