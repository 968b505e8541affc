// SGPRs that come back too late from a write after a vector instruction has read them.
//
// Three instructions make the hazard: a vector instruction reads an SGPR, an instruction writes it,
// and a third one reads it and may get the old value. gfx12 caches what vector instructions read,
// by pairs of SGPRs, until the wave ends; RDNA 3 with waves of 64 only has it for masks (v_cndmask,
// carries, v_div_fmas). The cure is to wait between the last two for what the writer was: sa_sdst,
// va_sdst or, for VCC, va_vcc. Source: what LLVM 22 does (VALUReadSGPRHazard, VALUMaskWriteHazard).
#ifndef TG_CODEGEN_ISA_AMD_HAZARD_SGPR_H_
#define TG_CODEGEN_ISA_AMD_HAZARD_SGPR_H_

#include <bitset>
#include <cstdint>

#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/hazard_effects.h"

namespace tg::amd {

// 16 bits of s_waitcnt_depctr and s_wait_alu that wait for nothing, and the fields that matter
// here.
uint16_t NoDependencyWait();
inline constexpr uint16_t kSaSdst = 1;
inline constexpr uint16_t kVaVcc = 2;
inline constexpr uint16_t kVaSdst = 7 << 9;
inline constexpr uint16_t kVaVdst = 15 << 12;

class SgprReuse {
 public:
  SgprReuse(Isa isa, bool wave64) : isa_(isa), wave64_(wave64) {}

  // The fields that must be zero before an instruction goes on, as bits: 0 when there are none.
  uint16_t Needed(const Effects& e) const;
  // After Needed and Waited.
  void Execute(const Effects& e);
  // These fields were waited for until they were zero.
  void Waited(uint16_t fields);

 private:
  static constexpr int kNumSgprs = 128;

  void Track(const RegisterList& registers, int granule);
  bool Tracked(int sgpr) const { return tracked_[static_cast<size_t>(sgpr)]; }

  Isa isa_;
  bool wave64_;
  std::bitset<kNumSgprs> tracked_;  // Read by vector instructions.
  std::bitset<kNumSgprs> scalar_;   // Written since by scalar instructions,
  std::bitset<kNumSgprs> vector_;   // or by vector instructions.
};

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_HAZARD_SGPR_H_
