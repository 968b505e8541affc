// Kernels for AMD GPUs written in C++, one method an instruction:
//
//   using namespace tg::amd::dsl;
//   Kernel k(Arch::kGfx1100);
//   Label loop = k.NewLabel();
//   k.s_load_b64(s(2, 3), s(0, 1), 0);        // s[2:3], s[0:1], 0x0
//   k.v_mov_b32(v[0], 0);
//   k.s_waitcnt(Waits{.lgkm = 0});
//   k.Bind(loop);
//   k.v_add_f32(v[0], v[0], 2.0f);
//   k.v_fma_f32(v[1], -v[0], abs(v[0]), s[4], clamp);
//   k.s_sub_u32(s[4], s[4], 1);
//   k.s_cmp_lg_u32(s[4], 0);
//   k.s_cbranch_scc1(loop);
//   k.global_store_b32(v[0], v[1], s(2, 3), offset(16));
//   k.s_endpgm();
//   absl::StatusOr<std::vector<uint8_t>> code = k.Finish();
//
// The method says which operands may be vector registers, scalar ones, numbers or labels, so that
// most mistakes do not compile. What types cannot say is checked when a method is called: it then
// returns what is wrong, and the code stays as it was. Nothing is inserted that was not asked for:
// no waits, no NOPs. The shortest encoding that holds the operands is taken, unless e32, e64 or a
// DPP or SDWA modifier says which.
//
// The methods are made from the instruction tables of all processors; one that the processor does
// not have is an error when called. Not thread safe.
#ifndef TG_CODEGEN_ISA_AMD_DSL_H_
#define TG_CODEGEN_ISA_AMD_DSL_H_

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/encode.h"
#include "codegen/isa/amd/operand.h"
#include "codegen/isa/amd/table.h"

namespace tg::amd::dsl {

// Registers. They carry an Operand and the modifiers around it.
struct VectorRegister {
  Operand operand;
  constexpr VectorRegister operator-() const { return With(kNeg); }
  constexpr VectorRegister l() const { return With(kHalf); }
  constexpr VectorRegister h() const { return With(kHalf | kHigh); }
  constexpr VectorRegister With(int mods) const {
    VectorRegister copy = *this;
    copy.operand.mods = static_cast<uint8_t>(copy.operand.mods | mods);
    return copy;
  }
};
struct AccRegister {
  Operand operand;
};
struct ScalarRegister {
  Operand operand;
  constexpr ScalarRegister operator-() const { return With(kNeg); }
  constexpr ScalarRegister With(int mods) const {
    ScalarRegister copy = *this;
    copy.operand.mods = static_cast<uint8_t>(copy.operand.mods | mods);
    return copy;
  }
};
constexpr VectorRegister abs(VectorRegister r) { return r.With(kAbs); }
constexpr ScalarRegister abs(ScalarRegister r) { return r.With(kAbs); }
constexpr VectorRegister sext(VectorRegister r) { return r.With(kSext); }

// v[5]; v(4, 7) and v[{4, 7}] are v[4:7]. Numbers that no register has are errors when used.
struct Range {
  int first;
  int last;
};
template <typename Register, Operand (*kMake)(int, int), int kCount>
struct RegisterFile {
  constexpr Register operator[](int index) const { return (*this)(index, index); }
  constexpr Register operator[](Range range) const { return (*this)(range.first, range.last); }
  // What is no range of registers that exist spans none, which no instruction takes.
  constexpr Register operator()(int first, int last) const {
    const bool good = first >= 0 && last >= first && last < kCount && last - first < 32;
    return {kMake(good ? first : 0, good ? last - first + 1 : 0)};
  }
};
inline constexpr RegisterFile<VectorRegister, &Vgpr, 256> v;
inline constexpr RegisterFile<ScalarRegister, &Sgpr, 106> s;
inline constexpr RegisterFile<AccRegister, &AccVgpr, 256> a;
inline constexpr RegisterFile<ScalarRegister, &Ttmp, 16> ttmp;

// m0 and null have another code on each family; the emitter puts it in.
inline constexpr ScalarRegister vcc{Special(code::kVccLo, 2)};
inline constexpr ScalarRegister vcc_lo{Special(code::kVccLo)};
inline constexpr ScalarRegister vcc_hi{Special(code::kVccHi)};
inline constexpr ScalarRegister exec{Special(code::kExecLo, 2)};
inline constexpr ScalarRegister exec_lo{Special(code::kExecLo)};
inline constexpr ScalarRegister exec_hi{Special(code::kExecHi)};
inline constexpr ScalarRegister m0{Special(code::kM0Rdna)};
inline constexpr ScalarRegister null{Special(code::kNullRdna)};
inline constexpr ScalarRegister scc{Special(code::kSrcScc)};

struct Off {};
inline constexpr Off off;  // No address register.

// A place in the code. Belongs to the Kernel that made it.
class Label {
 public:
  Label() = default;

 private:
  friend class Emitter;
  explicit Label(int index) : index_(index) {}
  int index_ = -1;
};

// What a method takes, whatever its type.
struct Argument {
  enum class Kind : uint8_t { kRegister, kInteger, kFloat, kOff, kLabel };
  Kind kind = Kind::kInteger;
  Operand reg;
  int64_t integer = 0;
  double real = 0;
  int label = -1;
};

// Types of the methods' parameters: each converts from what the instruction takes there and nothing
// else.
class VectorArg {
 public:
  VectorArg(VectorRegister r) : argument{Argument::Kind::kRegister, r.operand} {}  // NOLINT
  Argument argument;
};
class VectorOrOffArg {
 public:
  VectorOrOffArg(VectorRegister r) : argument{Argument::Kind::kRegister, r.operand} {}  // NOLINT
  VectorOrOffArg(Off) : argument{Argument::Kind::kOff, Operand()} {}                    // NOLINT
  Argument argument;
};
class VectorOrAccArg {
 public:
  VectorOrAccArg(VectorRegister r) : argument{Argument::Kind::kRegister, r.operand} {}  // NOLINT
  VectorOrAccArg(AccRegister r) : argument{Argument::Kind::kRegister, r.operand} {}     // NOLINT
  Argument argument;
};
class ScalarArg {
 public:
  ScalarArg(ScalarRegister r) : argument{Argument::Kind::kRegister, r.operand} {}  // NOLINT
  Argument argument;
};
class ImmediateArg {
 public:
  ImmediateArg(int64_t value) : argument{Argument::Kind::kInteger, {}, value} {}  // NOLINT
  Argument argument;
};
class LabelArg {
 public:
  LabelArg(Label label);  // NOLINT
  Argument argument;
};
class ScalarSourceArg {
 public:
  ScalarSourceArg(ScalarRegister r) : argument{Argument::Kind::kRegister, r.operand} {}  // NOLINT
  ScalarSourceArg(int value) : argument{Argument::Kind::kInteger, {}, value} {}          // NOLINT
  ScalarSourceArg(int64_t value) : argument{Argument::Kind::kInteger, {}, value} {}      // NOLINT
  ScalarSourceArg(uint32_t value) : argument{Argument::Kind::kInteger, {}, value} {}     // NOLINT
  ScalarSourceArg(double value) : argument{Argument::Kind::kFloat, {}, 0, value} {}      // NOLINT
  ScalarSourceArg(float value) : ScalarSourceArg(double{value}) {}                       // NOLINT
  Argument argument;
};
// Anything that an operand can be.
class SourceArg {
 public:
  SourceArg(VectorRegister r) : argument{Argument::Kind::kRegister, r.operand} {}  // NOLINT
  SourceArg(AccRegister r) : argument{Argument::Kind::kRegister, r.operand} {}     // NOLINT
  SourceArg(ScalarRegister r) : argument{Argument::Kind::kRegister, r.operand} {}  // NOLINT
  SourceArg(Off) : argument{Argument::Kind::kOff, Operand()} {}                    // NOLINT
  SourceArg(int value) : argument{Argument::Kind::kInteger, {}, value} {}          // NOLINT
  SourceArg(int64_t value) : argument{Argument::Kind::kInteger, {}, value} {}      // NOLINT
  SourceArg(uint32_t value) : argument{Argument::Kind::kInteger, {}, value} {}     // NOLINT
  SourceArg(double value) : argument{Argument::Kind::kFloat, {}, 0, value} {}      // NOLINT
  SourceArg(float value) : SourceArg(double{value}) {}                             // NOLINT
  Argument argument;
};

// Modifiers, joined by |: `offset(16) | glc`, `e64`.
enum class Encoding : uint8_t { kShortest, kE32, kE64 };
class Modifiers {
 public:
  constexpr Modifiers() = default;
  constexpr Modifiers(Mod mod, uint32_t value) : count_(1) { items_[0] = {mod, value}; }
  constexpr explicit Modifiers(Encoding encoding) : encoding_(encoding) {}
  friend constexpr Modifiers operator|(Modifiers left, const Modifiers& right) {
    for (int i = 0; i < right.count_ && left.count_ < kMax; ++i) {
      left.items_[left.count_++] = right.items_[i];
    }
    if (right.encoding_ != Encoding::kShortest) left.encoding_ = right.encoding_;
    return left;
  }

 private:
  friend class Emitter;
  static constexpr int kMax = 12;
  struct Item {
    Mod mod = Mod::kOffset;
    uint32_t value = 0;
  };
  Item items_[kMax];
  int count_ = 0;
  Encoding encoding_ = Encoding::kShortest;
};

inline constexpr Modifiers e32{Encoding::kE32};
inline constexpr Modifiers e64{Encoding::kE64};
inline constexpr Modifiers clamp{Mod::kClamp, 1};
inline constexpr Modifiers glc{Mod::kGlc, 1};
inline constexpr Modifiers slc{Mod::kSlc, 1};
inline constexpr Modifiers dlc{Mod::kDlc, 1};
inline constexpr Modifiers sc0{Mod::kSc0, 1};
inline constexpr Modifiers sc1{Mod::kSc1, 1};
inline constexpr Modifiers nt{Mod::kNt, 1};
inline constexpr Modifiers offen{Mod::kOffen, 1};
inline constexpr Modifiers idxen{Mod::kIdxen, 1};
inline constexpr Modifiers gds{Mod::kGds, 1};
constexpr Modifiers offset(int32_t bytes) { return {Mod::kOffset, static_cast<uint32_t>(bytes)}; }
constexpr Modifiers offset0(uint32_t n) { return {Mod::kOffset0, n}; }
constexpr Modifiers offset1(uint32_t n) { return {Mod::kOffset1, n}; }
constexpr Modifiers omod(uint32_t n) { return {Mod::kOmod, n}; }
// Bits as in the encoding: bit i is operand i, bit 3 the destination of VOP3.
constexpr Modifiers op_sel(uint32_t bits) { return {Mod::kOpSel, bits}; }
constexpr Modifiers op_sel_hi(uint32_t bits) { return {Mod::kOpSelHi, bits}; }
constexpr Modifiers neg_lo(uint32_t bits) { return {Mod::kNegLo, bits}; }
constexpr Modifiers neg_hi(uint32_t bits) { return {Mod::kNegHi, bits}; }
constexpr Modifiers cbsz(uint32_t n) { return {Mod::kCbsz, n}; }
constexpr Modifiers abid(uint32_t n) { return {Mod::kAbid, n}; }
constexpr Modifiers blgp(uint32_t n) { return {Mod::kBlgp, n}; }
constexpr Modifiers quad_perm(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return {Mod::kDppCtrl, (a & 3) | (b & 3) << 2 | (c & 3) << 4 | (d & 3) << 6};
}
constexpr Modifiers row_shl(uint32_t n) { return {Mod::kDppCtrl, 0x100 + n}; }
constexpr Modifiers row_shr(uint32_t n) { return {Mod::kDppCtrl, 0x110 + n}; }
constexpr Modifiers row_ror(uint32_t n) { return {Mod::kDppCtrl, 0x120 + n}; }
inline constexpr Modifiers row_mirror{Mod::kDppCtrl, 0x140};
inline constexpr Modifiers row_half_mirror{Mod::kDppCtrl, 0x141};
constexpr Modifiers row_mask(uint32_t n) { return {Mod::kRowMask, n}; }
constexpr Modifiers bank_mask(uint32_t n) { return {Mod::kBankMask, n}; }
inline constexpr Modifiers bound_ctrl{Mod::kBoundCtrl, 1};
// Any other one.
constexpr Modifiers modifier(Mod mod, uint32_t value) { return {mod, value}; }

// Counters of s_waitcnt; -1: not waited for.
struct Waits {
  int vm = -1;
  int exp = -1;
  int lgkm = -1;
};

// What a method returns. `operand` counts from 0; -1: the instruction as a whole.
struct EmitResult {
  EncodeError code = EncodeError::kOk;
  int operand = -1;
  const char* reason = "";  // A constant.
  bool ok() const { return code == EncodeError::kOk; }
};

// The buffer behind a Kernel.
class Emitter {
 public:
  explicit Emitter(Arch arch, bool wave64 = false);

  Label NewLabel();
  // The label is the place of the next instruction. False when it has one already or is not ours.
  [[nodiscard]] bool Bind(Label label);

  // What the methods do.
  EmitResult Emit(const char* name, std::initializer_list<Argument> arguments,
                  const Modifiers& modifiers = {});
  // Two instructions in one (RDNA), by the assembler's names:
  //   k.Pair("v_dual_mul_f32", {v[0], v[1], v[2]}, "v_dual_mov_b32", {v[3], 1.0f});
  EmitResult Pair(const char* x, std::initializer_list<SourceArg> x_arguments, const char* y,
                  std::initializer_list<SourceArg> y_arguments);

  static Argument ArgumentOf(Label label);

  // Bytes so far; branches to labels that are not bound yet are incomplete.
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  int next_free_vgpr() const { return next_vgpr_; }
  int next_free_sgpr() const { return next_sgpr_; }

  // The code. FailedPrecondition with the first instruction that failed, or the label that is not
  // bound.
  absl::StatusOr<std::vector<uint8_t>> Finish() const;

 protected:
  int64_t Encoded(Waits waits) const;

 private:
  struct Branch {
    uint32_t offset;
    int label;
  };

  EmitResult EmitAny(const char* name, const char* second, absl::Span<const Argument> first,
                     absl::Span<const Argument> rest, const Modifiers& modifiers);
  EmitResult Failed(const char* name, EmitResult result);

  const Arch arch_;
  const bool wave64_;
  std::vector<uint8_t> bytes_;
  std::vector<int64_t> labels_;  // -1: not bound.
  std::vector<Branch> branches_;
  absl::Status status_;
  int next_vgpr_ = 0;
  int next_sgpr_ = 0;
};

class Kernel : public Emitter {
 public:
  using Emitter::Emitter;

  EmitResult s_waitcnt(Waits waits) {
    return Emit("s_waitcnt", {ImmediateArg(Encoded(waits)).argument});
  }

// One method a name and number of operands.
#include "codegen/isa/amd/dsl_methods.inc"
};

}  // namespace tg::amd::dsl

#endif  // TG_CODEGEN_ISA_AMD_DSL_H_
