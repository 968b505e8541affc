#include "codegen/isa/amd/hazard.h"

#include <algorithm>
#include <utility>

#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/hazard_effects.h"
#include "codegen/isa/amd/hazard_rewrite.h"
#include "codegen/isa/amd/hazard_state.h"
#include "codegen/isa/amd/names.h"

namespace tg::amd {
namespace {

void AppendWait(Counter counter, uint32_t count, Isa isa, CodeRewriter* code) {
  if (isa == Isa::kGfx12) {
    // s_wait_loadcnt is 64; the others follow.
    constexpr uint8_t kOpcodes[kNumCounters] = {64, 65, 0, 70, 71, 66, 67, 68};
    code->Append(Sopp(kOpcodes[static_cast<int>(counter)], count));
    return;
  }
  uint32_t value = 0;
  const absl::Span<const CounterField> fields = WaitCounters(isa);
  constexpr Counter kOrder[] = {Counter::kVm, Counter::kExp, Counter::kLgkm};
  for (size_t i = 0; i < fields.size(); ++i) {
    value |=
        fields[i].Put(kOrder[i] == counter ? std::min(count, fields[i].Max()) : fields[i].Max());
  }
  code->Append(Sopp(IsCdna(isa) ? 12 : 9, value));
}

void AppendNops(int count, CodeRewriter* code) {
  for (int left = count; left > 0; left -= 8) {
    code->Append(Sopp(0, static_cast<uint32_t>(std::min(left, 8) - 1)));
  }
}

void AppendCure(const HazardFinding& finding, Isa isa, CodeRewriter* code) {
  if (finding.hazard == nullptr) return AppendWait(finding.counter, finding.count, isa, code);
  switch (finding.hazard->cure) {
    case Cure::kNop:
      AppendNops(finding.nops, code);
      break;
    case Cure::kVNop:
      for (int i = 0; i < finding.nops; ++i) code->Append(0x7e000000);  // VOP1, opcode 0.
      break;
    case Cure::kVMov:
      // VOP1, opcode 1: vdst 24:17, src0 8:0.
      code->Append(0x7e000200 | uint32_t{finding.vgpr} << 17 | 256 | finding.vgpr);
      break;
    case Cure::kVaVdst0:
    case Cure::kSdst0:
      code->Append(Sopp(8, finding.wait));
      break;
  }
}

}  // namespace

std::vector<HazardFinding> CheckHazards(absl::Span<const uint8_t> code, Arch arch,
                                        const HazardOptions& options) {
  const Isa isa = IsaOf(arch);
  std::vector<HazardFinding> findings;
  HazardState state(isa, options);
  for (size_t at = 0; at < code.size();) {
    Inst inst;
    if (DecodeFast(code.subspan(at), isa, &inst) != DecodeError::kOk) {
      state = HazardState(isa, options);
      at += static_cast<size_t>(SkipBytes(code.subspan(at)));
      continue;
    }
    const Effects effects = EffectsOf(inst, isa, options.wave64);
    for (HazardFinding& finding : state.Need(inst, effects, at)) {
      findings.push_back(std::move(finding));
    }
    state.Execute(inst, effects, at);
    at += inst.size;
  }
  return findings;
}

absl::StatusOr<std::vector<uint8_t>> InsertWaits(absl::Span<const uint8_t> code, Arch arch,
                                                 const HazardOptions& options) {
  const Isa isa = IsaOf(arch);
  absl::StatusOr<CodeRewriter> rewriter = CodeRewriter::Create(code, isa);
  if (!rewriter.ok()) return rewriter.status();
  HazardState state(isa, options);
  for (const CodeRewriter::Decoded& d : rewriter->program()) {
    rewriter->Begin(d);
    if (d.branch || d.target) {
      for (const Counter counter : state.Pending()) {
        AppendWait(counter, 0, isa, &*rewriter);
        state.WaitFor(counter, 0);
      }
    }
    const Effects effects = EffectsOf(d.inst, isa, options.wave64);
    int nops = 0;
    for (const HazardFinding& finding : state.Need(d.inst, effects, d.offset)) {
      if (finding.hazard != nullptr && finding.hazard->cure == Cure::kNop) {
        nops += finding.nops;
      } else {
        AppendCure(finding, isa, &*rewriter);
      }
    }
    AppendNops(nops, &*rewriter);
    state.Execute(d.inst, effects, d.offset);
    rewriter->Append(d);
  }
  return rewriter->Finish();
}

}  // namespace tg::amd
