// Pads and packs operands of a schedule's kernels where that pays (codegen/opt/pad_operand.h,
// pack.h): adds the copying kernels and their memories.
#ifndef TG_TG_SCHEDULE_PACK_OPERANDS_H_
#define TG_TG_SCHEDULE_PACK_OPERANDS_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "codegen/render/renderer.h"
#include "tg/schedule/schedule.h"

namespace tg::schedule {

// `target` gives what kernels of a device are compiled for; null: those kernels stay as they are.
Schedule PackOperands(Schedule schedule,
                      absl::FunctionRef<const render::Target*(const std::string& device)> target);

}  // namespace tg::schedule

#endif  // TG_TG_SCHEDULE_PACK_OPERANDS_H_
