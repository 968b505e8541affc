// What hazards and waits depend on in an instruction: what it is, what it reads, what it writes.
// Private to the hazard checker and the passes that put in waits.
#ifndef TG_CODEGEN_ISA_AMD_HAZARD_EFFECTS_H_
#define TG_CODEGEN_ISA_AMD_HAZARD_EFFECTS_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/hazard.h"
#include "codegen/isa/amd/inst.h"

namespace tg::amd {

// Operand codes: scalar registers below 128, VGPRs from 256, AccVGPRs from 512.
inline constexpr int kNumRegisters = 768;

constexpr uint32_t ActorBit(Actor actor) { return uint32_t{1} << static_cast<int>(actor); }
static_assert(kNumActors <= 32);

// Consecutive operand codes.
struct Registers {
  uint16_t first = 0;
  uint16_t count = 0;
  bool Meets(const Registers& other) const {
    return first < other.first + other.count && other.first < first + count;
  }
  bool IsVector() const { return first >= 256; }
  friend bool operator==(const Registers&, const Registers&) = default;
};
using RegisterList = absl::InlinedVector<Registers, 6>;

struct Effects {
  uint32_t actors = 0;  // ActorBit of each.
  uint8_t passes = 0;   // Of matrix instructions, as an index: 2, 4, 8, 16.
  int16_t hwreg = -1;   // Of s_setreg and s_getreg.
  const Form* form = nullptr;
  RegisterList reads;
  RegisterList kept;  // Some of `writes`: a part stays as it was, so that they are read as well.
  RegisterList writes;
  // Some of `reads`, of dot products and matrix instructions: the addend, and the others.
  RegisterList addends;
  RegisterList multiplicands;
  RegisterList masks;   // Some of `reads`: a bit for each lane in SGPRs.
  RegisterList stored;  // Some of `reads`: more than 64 bits that a store takes its time to read.
  bool load = false;    // Of memory: its results come later.
  bool Is(Actor actor) const { return (actors & ActorBit(actor)) != 0; }
};

bool IsVectorMemory(Format format);

Effects EffectsOf(const Inst& inst, Isa isa, bool wave64);

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_HAZARD_EFFECTS_H_
