#include "codegen/isa/amd/register_file.h"

#include <algorithm>
#include <bit>

#include "codegen/isa/amd/table_data.h"

namespace tg::amd::internal {
namespace {

// VOPD (RDNA3 ISA, "VOPD: dual issue instructions"): the first sources of both halves are in
// different banks of four, the second sources too, the third in different banks of two;
// accumulating halves read their destination third, v_dual_fmamk_f32 the register of its second
// field. Destinations are one even and one odd, which the encoding says by itself. gfx12 reads a
// register once for both.
const char* CheckVopd(const Inst& inst, Isa isa) {
  const Form& form = *inst.form;
  const Operand* sources[2][3] = {};
  for (int i = 0; i < inst.num_operands; ++i) {
    bool y = i >= DataOf(&form).split;
    Op op = y ? DataOf(&form).op_y : form.op;
    bool accumulates =
        op == Op::kVDualFmacF32 || op == Op::kVDualDot2accF32F16 || op == Op::kVDualDot2accF32Bf16;
    const Operand* o = &inst.operands[static_cast<size_t>(i)];
    switch (form.specs[i].name) {
      case OperandName::kVdstX:
      case OperandName::kVdstY:
        if (accumulates) sources[y][2] = o;
        break;
      case OperandName::kSrc0X:
      case OperandName::kSrc0Y:
        sources[y][0] = o;
        break;
      case OperandName::kSrc1X:
      case OperandName::kSrc1Y:
        sources[y][op == Op::kVDualFmamkF32 ? 2 : 1] = o;
        break;
      default:
        break;
    }
  }
  static constexpr int kBanks[3] = {4, 4, 2};
  for (int s = 0; s < 3; ++s) {
    const Operand* x = sources[0][s];
    const Operand* y = sources[1][s];
    if (x == nullptr || y == nullptr) continue;
    if (x->kind != OperandKind::kVgpr || y->kind != OperandKind::kVgpr) continue;
    if (isa == Isa::kGfx12 && x->index() == y->index()) continue;
    if (x->index() % kBanks[s] == y->index() % kBanks[s]) {
      return "sources of both halves are in the same bank of VGPRs";
    }
  }
  return nullptr;
}

const char* CheckDpp(const Inst& inst, Isa isa) {
  uint32_t c = inst.Get(Mod::kDppCtrl);
  bool ok = c < 0x100 || (c > 0x100 && c < 0x110) || (c > 0x110 && c < 0x120) ||
            (c > 0x120 && c < 0x130) || c == 0x140 || c == 0x141 || (c >= 0x150 && c < 0x160) ||
            (IsRdna(isa) ? c >= 0x160 && c < 0x170
                         : c == 0x130 || c == 0x134 || c == 0x138 || c == 0x13c || c == 0x142 ||
                               c == 0x143);
  return ok ? nullptr : "dpp_ctrl has no such value";
}

const char* CheckSdwa(const Inst& inst) {
  if (inst.Get(Mod::kDstSel) > 6 || inst.Get(Mod::kSrc0Sel) > 6 || inst.Get(Mod::kSrc1Sel) > 6) {
    return "the SDWA selection 7 is reserved";
  }
  return inst.Get(Mod::kDstUnused) > 2 ? "dst_unused has no such value" : nullptr;
}

// Registers of an image's coordinates and its level, without what stands before them.
int Coordinates(const Inst& inst) {
  // By dim: 1D, 2D, 3D, cube, 1D array, 2D array, 2D MSAA, 2D MSAA array.
  static constexpr int kCoordinates[] = {1, 2, 3, 3, 2, 3, 3, 4};
  const int image = DataOf(inst.form).image;
  const int n = (image & 32 ? 0 : kCoordinates[inst.Get(Mod::kDim) & 7]) + (image >> 2 & 1);
  return inst.Get(Mod::kA16) != 0 ? (n + 1) / 2 : n;
}

// LLVM has image atomics with one to three data registers, with two to five where values are
// compared, and a list of addresses in RDNA 3 has two or more. Words that ask for other numbers
// mean nothing; LLVM prints the smallest number, and as many addresses as its first opcode has.
bool IsOddAtomic(const Inst& inst) {
  if (DataOf(inst.form).atomic == kNoAtomic) return false;
  const bool list = inst.form->format == Format::kMimg && inst.form->dwords == 3;
  if (list && Coordinates(inst) == 1) return true;
  const uint32_t n = std::max(1, std::popcount(inst.Get(Mod::kDmask))) + inst.Get(Mod::kTfe);
  return inst.form->op == Op::kImageAtomicCmpswap ? n < 2 : n > 3;
}

}  // namespace

int ImageDataDwords(const Inst& inst, int fixed) {
  if (IsOddAtomic(inst)) return inst.form->op == Op::kImageAtomicCmpswap ? 2 : 1;
  int n = fixed != 0 ? fixed : std::popcount(inst.Get(Mod::kDmask));
  if (n == 0) n = 1;
  if (inst.Get(Mod::kD16) != 0) n = (n + 1) / 2;
  return n + static_cast<int>(inst.Get(Mod::kTfe));
}

int ImageAddressDwords(const Inst& inst, int before) {
  // By dim, as coordinates.
  static constexpr int kGradients[] = {2, 4, 6, 4, 2, 4, 4, 4};
  if (IsOddAtomic(inst)) return (inst.form->dwords == 2 ? 1 : 4) - before;
  const int image = DataOf(inst.form).image;
  const int gradients = kGradients[inst.Get(Mod::kDim) & 7];
  int n = Coordinates(inst) + (image & 3);
  if (image & 8) n += image & 16 ? (gradients / 2 + 1) / 2 * 2 : gradients;
  return n - before;
}

int MatrixDwords(uint32_t format) {
  // fp8, bf8, fp6, bf6, fp4: 32 elements a lane.
  return format <= 1 ? 8 : format <= 3 ? 6 : format == 4 ? 4 : 0;
}

const char* CheckForm(const Inst& inst, Isa isa) {
  const Form& f = *inst.form;
  if (f.extra == Extra::kDpp16) {
    if (const char* wrong = CheckDpp(inst, isa); wrong != nullptr) return wrong;
  } else if (f.extra == Extra::kSdwa) {
    if (const char* wrong = CheckSdwa(inst); wrong != nullptr) return wrong;
  }
  if (f.format == Format::kVopd) return CheckVopd(inst, isa);
  return nullptr;
}

}  // namespace tg::amd::internal
