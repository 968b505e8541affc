#include "codegen/isa/amd/register_file.h"

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

}  // namespace

int ImageDataDwords(const Inst& inst, int fixed) {
  int n = fixed != 0 ? fixed : std::popcount(inst.Get(Mod::kDmask));
  if (n == 0) n = 1;
  if (inst.Get(Mod::kD16) != 0) n = (n + 1) / 2;
  return n + static_cast<int>(inst.Get(Mod::kTfe));
}

int ImageAddressDwords(const Inst& inst, int before) {
  // By dim: 1D, 2D, 3D, cube, 1D array, 2D array, 2D MSAA, 2D MSAA array.
  static constexpr int kCoordinates[] = {1, 2, 3, 3, 2, 3, 3, 4};
  static constexpr int kGradients[] = {2, 4, 6, 4, 2, 4, 4, 4};
  int image = DataOf(inst.form).image;
  uint32_t dim = inst.Get(Mod::kDim) & 7;
  int n = (image & 32 ? 0 : kCoordinates[dim]) + (image >> 2 & 1);
  if (inst.Get(Mod::kA16) != 0) n = (n + 1) / 2;
  n += image & 3;
  if (image & 8) n += image & 16 ? (kGradients[dim] / 2 + 1) / 2 * 2 : kGradients[dim];
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
