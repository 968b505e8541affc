#include "drivers/sim/amd/wave/execute.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "codegen/isa/amd/print.h"
#include "drivers/sim/amd/wave/strict.h"

namespace tg::amd::sim {
namespace {

// MXCSR for a rounding mode (nearest, up, down, zero) and denormals (bit 0 of sources, bit 1 of
// results).
uint32_t HostMode(int round, int denorm) {
  static constexpr uint32_t kRounding[] = {0x0000, 0x4000, 0x2000, 0x6000};
  return 0x1f80 | kRounding[round] | (denorm & 1 ? 0 : 0x40) | (denorm & 2 ? 0 : 0x8000);
}

void ExecuteInMode(Wave& w, const MicroOp& op) {
  uint32_t saved = _mm_getcsr();
  _mm_setcsr(op.float_class == FloatClass::k32 ? HostMode(w.mode.round32, w.mode.denorm32)
                                               : HostMode(w.mode.round16_64, w.mode.denorm16_64));
  op.run(w, op);
  _mm_setcsr(saved);
}

}  // namespace

void Execute(Wave& w, const MicroOp& op) {
  if (op.float_class == FloatClass::kNone || w.default_mode) {
    op.run(w, op);
  } else {
    ExecuteInMode(w, op);
  }
}

namespace {

void Count(Wave& w, const MicroOp& op, uint64_t exec) {
  ++w.class_counts[static_cast<int>(op.op_class)];
  if (op.op_class == OpClass::kValu) {
    w.lane_ops += static_cast<uint64_t>(std::popcount(exec)) * (op.second != nullptr ? 2 : 1);
  } else if (op.op_class == OpClass::kMatrix) {
    w.lane_ops += op.multiplications;
  }
}

void NameFault(Wave& w, const MicroOp& op, uint64_t pc) {
  w.pc = pc;
  w.fault = absl::StrFormat("pc 0x%x: %s: %s", pc, ToString(op.inst, w.isa), w.fault);
}

// Registers before an instruction, to tell what it changed.
struct Snapshot {
  explicit Snapshot(const Wave& w)
      : sgpr(w.sgpr, w.sgpr + 128), vgpr(w.vgpr, w.vgpr + kShadowRow * kRow), scc(w.scc) {}

  std::string Changes(const Wave& w) const {
    std::string text;
    for (int c = 0; c < 128; ++c) {
      if (w.sgpr[c] == sgpr[c]) continue;
      absl::StrAppendFormat(&text, " %s=0x%x", ToString(Sgpr(c), w.isa), w.sgpr[c]);
    }
    if (w.scc != scc) absl::StrAppendFormat(&text, " scc=%d", w.scc);
    for (int r = 0; r < kShadowRow; ++r) {
      const uint32_t* now = w.row(r);
      const uint32_t* old = &vgpr[static_cast<size_t>(r) * kRow];
      if (std::equal(now, now + kRow, old)) continue;
      absl::StrAppendFormat(&text, " %s%d=[", r < kAccRow ? "v" : "a", r % kAccRow);
      for (int l = 0; l < w.size; ++l) {
        text += l == 0 ? "" : " ";
        text += now[l] == old[l] ? "." : absl::StrFormat("%x", now[l]);
      }
      text += "]";
    }
    return text;
  }

  std::vector<uint32_t> sgpr, vgpr;
  bool scc;
};

// Everything that costs time: strict mode, counts, traces.
void RunCarefully(Wave& w, Program& program, uint64_t end,
                  const std::function<void(const std::string&)>* line) {
  std::string error;
  while (w.stop == Stop::kNone && w.instructions < end) {
    uint64_t pc = w.pc;
    const MicroOp* op = program.At(pc, &error);
    if (op == nullptr) {
      w.Fault(std::move(error));
      return;
    }
    std::unique_ptr<Snapshot> before;
    if (line != nullptr) before = std::make_unique<Snapshot>(w);
    uint64_t exec = w.exec();
    if (w.strict) StrictBefore(w, *op);
    if (w.stop != Stop::kFault) {
      w.pc += op->size;
      ++w.instructions;
      if (w.count) Count(w, *op, exec);
      Execute(w, *op);
      if (w.strict && w.stop != Stop::kFault) StrictAfter(w, *op, pc, exec);
    }
    if (line != nullptr) {
      (*line)(absl::StrFormat("%d,%d,%d/%d 0x%x: %s%s%s", w.workgroup[0], w.workgroup[1],
                              w.workgroup[2], w.id_in_group, pc, ToString(op->inst, w.isa),
                              before->Changes(w).empty() ? "" : " ->", before->Changes(w)));
    }
    if (w.stop == Stop::kFault) NameFault(w, *op, pc);
  }
}

}  // namespace

void Run(Wave& w, Program& program, uint64_t budget) {
  uint64_t end = w.instructions + budget;
  w.stop = Stop::kNone;
  if (w.strict || w.count) return RunCarefully(w, program, end, nullptr);
  std::string error;
  while (w.stop == Stop::kNone && w.instructions < end) {
    uint64_t pc = w.pc;
    const MicroOp* op = program.At(pc, &error);
    if (op == nullptr) {
      w.Fault(std::move(error));
      return;
    }
    w.pc += op->size;
    ++w.instructions;
    Execute(w, *op);
    if (w.stop == Stop::kFault) NameFault(w, *op, pc);
  }
}

void RunTraced(Wave& w, Program& program, uint64_t budget,
               const std::function<void(const std::string&)>& line) {
  uint64_t end = w.instructions + budget;
  w.stop = Stop::kNone;
  RunCarefully(w, program, end, &line);
}

bool HostCanSimulate() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

}  // namespace tg::amd::sim
