// Decoded instructions as the simulator runs them: a function and operands that are resolved once.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_MICRO_OP_H_
#define TG_DRIVERS_SIM_AMD_WAVE_MICRO_OP_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "codegen/isa/amd/inst.h"
#include "drivers/sim/amd/wave/wave.h"

namespace tg::amd::sim {

struct MicroOp;
using Handler = void (*)(Wave&, const MicroOp&);

// Whose rounding and denormal mode an operation follows.
enum class FloatClass : uint8_t { kNone, k32, k16And64 };

struct Access;  // memory_access.h

// What an instruction does, under its name.
struct Semantics {
  const char* name;
  Handler run;
  FloatClass float_class = FloatClass::kNone;
};

struct Source {
  enum class Kind : uint8_t { kNone, kConst, kSgpr, kRow, kScc, kExecz, kVccz };
  Kind kind = Kind::kNone;
  uint8_t dwords = 1;
  bool neg = false;
  bool abs = false;
  bool sext = false;
  bool high = false;   // The upper half of a register, for 16-bit types.
  bool dpp = false;    // Comes from other lanes.
  bool plain = false;  // A row as it is.
  uint8_t sel = 6;     // SDWA: 0 to 3 a byte, 4 and 5 a half, 6 all.
  uint16_t index = 0;  // SGPR by operand code, or row.
  uint64_t bits = 0;   // kConst.
};

struct Dest {
  enum class Kind : uint8_t { kNone, kSgpr, kRow };
  Kind kind = Kind::kNone;
  uint8_t dwords = 1;
  bool high = false;
  uint16_t index = 0;
};

// Lanes from lanes, DPP8 and DPP16.
struct Dpp {
  std::array<int8_t, 64> from;  // The lane it comes from; -1 when there is none.
  uint64_t write = 0;           // Lanes that row_mask and bank_mask let through.
  bool bound_ctrl = false;      // Lanes without a source read 0, instead of not being written.
  bool fetch_inactive = false;
};

// Operands of memory instructions: rows of VGPRs and operand codes of SGPRs; -1 when there is none.
struct MemoryOperands {
  int16_t vaddr = -1;
  int16_t vaddr_dwords = 0;
  int16_t vdata = -1;
  int16_t vdata1 = -1;
  int16_t vdst = -1;
  int16_t saddr = -1;  // Or SBASE.
  int16_t srsrc = -1;
  int16_t sdata = -1;
  int64_t offset = 0;
  const Access* access = nullptr;
};

enum class OpClass : uint8_t { kSalu, kValu, kMatrix, kSmem, kVmem, kLds, kBranch, kOther };

struct MicroOp {
  Handler run = nullptr;
  uint8_t size = 0;  // Bytes.
  uint8_t num_src = 0;
  uint8_t num_dst = 0;
  bool clamp = false;
  uint8_t omod = 0;
  bool sdwa = false;
  uint8_t dst_sel = 6;
  uint8_t dst_unused = 0;    // SDWA: 0 zeros, 1 sign, 2 keeps.
  bool merge16 = false;      // 16-bit results keep the register's other half.
  bool simple_dst = false;   // Writes a row whole: no clamp, omod or selection.
  bool writes_exec = false;  // v_cmpx
  FloatClass float_class = FloatClass::kNone;
  uint32_t multiplications = 0;  // Of matrix instructions.
  OpClass op_class = OpClass::kOther;
  Source src[6];
  Dest dst[2];
  MemoryOperands memory;
  Inst inst;
  std::unique_ptr<Dpp> dpp;
  Handler first = nullptr;          // VOPD: of the X half.
  std::unique_ptr<MicroOp> second;  // VOPD: the Y half.
  bool shadow = false;              // VOPD: Y reads what X writes.
};

// The operations by subject, each file's own.
absl::Span<const Semantics> ScalarOps();
absl::Span<const Semantics> ScalarFloatOps();
absl::Span<const Semantics> ControlOps();
absl::Span<const Semantics> VectorIntOps();
absl::Span<const Semantics> VectorFloatOps();
absl::Span<const Semantics> VectorHalfOps();
absl::Span<const Semantics> VectorDoubleOps();
absl::Span<const Semantics> ConvertOps();
absl::Span<const Semantics> CompareOps();
absl::Span<const Semantics> PackedOps();
absl::Span<const Semantics> DotOps();
absl::Span<const Semantics> CrossLaneOps();
absl::Span<const Semantics> LdsOps();
absl::Span<const Semantics> ScalarMemoryOps();
absl::Span<const Semantics> VectorMemoryOps();
absl::Span<const Semantics> MatrixOps();
absl::Span<const Semantics> MatrixSparseOps();
absl::Span<const Semantics> ScaledConvertOps();

// What `name` does, or null when that is not modelled. Aliases of other generations are resolved.
const Semantics* FindSemantics(const char* name);
// All names that have semantics under their own name, for tests.
std::vector<const char*> SemanticsNames();

// Resolves operands, modifiers and constants. Null when the instruction is not modelled.
std::unique_ptr<MicroOp> MakeMicroOp(const Inst& inst, Isa isa);

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_MICRO_OP_H_
