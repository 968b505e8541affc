#include "drivers/sim/amd/wave/transition.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drivers/sim/amd/wave/execute.h"
#include "drivers/sim/amd/wave/micro_op.h"
#include "drivers/sim/amd/wave/wave.h"

namespace tg::amd::sim {

std::string RunTransition(const Transition& t, const Inst& inst, WaveState* out) {
  std::unique_ptr<MicroOp> op = MakeMicroOp(inst, t.isa);
  if (op == nullptr) return absl::StrCat(t.text, " is not modelled");
  Wave w(t.isa, t.wave_size());
  Group group;
  group.lds = t.in.lds;
  group.waves.push_back(&w);
  w.group = &group;
  w.SetMode(t.mode);
  std::copy(t.in.rows.begin(), t.in.rows.end(), w.vgpr);
  std::copy(t.in.sgprs.begin(), t.in.sgprs.end(), w.sgpr);
  w.scc = t.in.scc;
  w.pc = t.in.pc + op->size;
  Execute(w, *op);
  if (w.stop == Stop::kFault) return w.fault;
  out->rows.assign(w.vgpr, w.vgpr + t.in.rows.size());
  out->sgprs.assign(w.sgpr, w.sgpr + t.in.sgprs.size());
  out->lds = std::move(group.lds);
  out->scc = w.scc;
  out->pc = w.pc;
  return "";
}

std::string DescribeDifference(const WaveState& got, const WaveState& want) {
  std::string text;
  int shown = 0;
  auto add = [&](const std::string& what, uint64_t g, uint64_t w) {
    if (shown++ < 4) absl::StrAppendFormat(&text, " %s=0x%x want 0x%x;", what, g, w);
  };
  for (size_t c = 0; c < want.sgprs.size(); ++c) {
    if (got.sgprs[c] != want.sgprs[c]) add(absl::StrCat("s", c), got.sgprs[c], want.sgprs[c]);
  }
  if (got.scc != want.scc) add("scc", got.scc, want.scc);
  if (got.pc != want.pc) add("pc", got.pc, want.pc);
  for (size_t i = 0; i < want.rows.size(); ++i) {
    if (got.rows[i] == want.rows[i]) continue;
    size_t row = i / kRow;
    add(absl::StrCat(row < kAccRow ? "v" : "a", row % kAccRow, "[", i % kRow, "]"), got.rows[i],
        want.rows[i]);
  }
  for (size_t i = 0; i < want.lds.size(); ++i) {
    if (got.lds[i] != want.lds[i]) add(absl::StrCat("lds[", i, "]"), got.lds[i], want.lds[i]);
  }
  if (shown > 4) absl::StrAppend(&text, " and ", shown - 4, " more");
  return text;
}

}  // namespace tg::amd::sim
