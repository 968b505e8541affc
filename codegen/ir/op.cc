#include "codegen/ir/op.h"

#include <ostream>

#include "absl/container/flat_hash_map.h"
#include "codegen/ir/arg.h"

namespace tg::ir {
namespace {

struct OpRow {
  const char* name;
  const char* stages;
};
constexpr OpRow kOps[kOpCount] = {
#define TG_IR_OP_ROW(name, stages) {#name, stages},
    TG_IR_OPS(TG_IR_OP_ROW)
#undef TG_IR_OP_ROW
};

struct AxisRow {
  const char* name;
  char letter;
};
// Indexed by AxisType.
constexpr AxisRow kAxes[kAxisTypeCount] = {
    {"DEVICE", 'd'}, {"THREAD", 't'},       {"GLOBAL", 'g'}, {"WARP", 'w'},   {"LOCAL", 'l'},
    {"LOOP", 'L'},   {"GROUP_REDUCE", 'G'}, {"REDUCE", 'R'}, {"UPCAST", 'u'}, {"UNROLL", 'r'},
};

}  // namespace

absl::string_view OpName(Op op) { return kOps[static_cast<int>(op)].name; }

std::optional<Op> ParseOp(absl::string_view name) {
  static const auto& by_name = *[] {
    auto* m = new absl::flat_hash_map<absl::string_view, Op>;
    for (int i = 0; i < kOpCount; ++i) (*m)[kOps[i].name] = static_cast<Op>(i);
    return m;
  }();
  auto it = by_name.find(name);
  if (it == by_name.end()) return std::nullopt;
  return it->second;
}

std::ostream& operator<<(std::ostream& os, Op op) { return os << OpName(op); }

bool OpInStage(Op op, char stage) {
  for (const char* p = kOps[static_cast<int>(op)].stages; *p != '\0'; ++p) {
    if (*p == stage) return true;
  }
  return false;
}

absl::string_view AxisTypeName(AxisType t) { return kAxes[static_cast<int>(t)].name; }
char AxisTypeLetter(AxisType t) { return kAxes[static_cast<int>(t)].letter; }

}  // namespace tg::ir
