#include "codegen/object/relocate.h"

#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"

namespace tg::object {
namespace {

// AMD64 supplement, table 4.9. S symbol, A addend, P place, L stub, G slot.
enum X86 : uint32_t {
  kX86None = 0,
  kX86Abs64 = 1,         // S + A
  kX86Pc32 = 2,          // S + A - P
  kX86Plt32 = 4,         // L + A - P
  kX86GotPcRel = 9,      // G + A - P
  kX86Abs32 = 10,        // S + A, zero-extended
  kX86Abs32Signed = 11,  // S + A, sign-extended
  kX86Pc64 = 24,         // S + A - P
  kX86GotPcRelX = 41,    // as kX86GotPcRel; a linker may relax the instruction
  kX86RexGotPcRelX = 42,
};

// AAELF64, 5.7.
enum Arm : uint32_t {
  kArmNone = 0,
  kArmAbs64 = 257,  // S + A
  kArmAbs32 = 258,
  kArmPrel64 = 260,  // S + A - P
  kArmPrel32 = 261,
  kArmAdrPrelPgHi21 = 275,  // Page(S + A) - Page(P)
  kArmAdrPrelPgHi21Nc = 276,
  kArmAddAbsLo12Nc = 277,  // low 12 bits of S + A
  kArmLdst8AbsLo12Nc = 278,
  kArmJump26 = 282,  // S + A - P
  kArmCall26 = 283,
  kArmLdst16AbsLo12Nc = 284,
  kArmLdst32AbsLo12Nc = 285,
  kArmLdst64AbsLo12Nc = 286,
  kArmLdst128AbsLo12Nc = 299,
  kArmAdrGotPage = 311,     // Page(G) - Page(P)
  kArmLd64GotLo12Nc = 312,  // low 12 bits of G
};

bool FitsSigned(uint64_t value, int bits) {
  const int64_t v = static_cast<int64_t>(value);
  const int64_t limit = int64_t{1} << (bits - 1);
  return v >= -limit && v < limit;
}

absl::Status TooFar(uint32_t type, uint64_t value) {
  return absl::OutOfRangeError(absl::StrCat("relocation type ", type, ": the value 0x",
                                            absl::Hex(value), " does not fit its field"));
}

absl::Status Misaligned(uint32_t type, uint64_t value, int alignment) {
  return absl::OutOfRangeError(absl::StrCat("relocation type ", type, ": the address 0x",
                                            absl::Hex(value), " is not a multiple of ", alignment));
}

absl::Status Unknown(ElfMachine machine, uint32_t type) {
  return absl::UnimplementedError(absl::StrCat("relocation type ", type, " of machine ",
                                               static_cast<int>(machine), " is not supported"));
}

template <typename T>
void Store(absl::Span<std::byte> place, uint64_t value) {
  const T narrow = static_cast<T>(value);
  std::memcpy(place.data(), &narrow, sizeof(T));
}

// Replaces the bits of `mask` in a 32-bit instruction.
void StoreField(absl::Span<std::byte> place, uint32_t mask, uint32_t bits) {
  uint32_t word;
  std::memcpy(&word, place.data(), sizeof(word));
  word = (word & ~mask) | (bits & mask);
  std::memcpy(place.data(), &word, sizeof(word));
}

absl::Status ApplyX86(uint32_t type, absl::Span<std::byte> place, uint64_t p, uint64_t value) {
  switch (type) {
    case kX86None:
      return absl::OkStatus();
    case kX86Abs64:
      Store<uint64_t>(place, value);
      return absl::OkStatus();
    case kX86Pc64:
      Store<uint64_t>(place, value - p);
      return absl::OkStatus();
    case kX86Pc32:
    case kX86Plt32:
    case kX86GotPcRel:
    case kX86GotPcRelX:
    case kX86RexGotPcRelX:
      if (!FitsSigned(value - p, 32)) return TooFar(type, value - p);
      Store<uint32_t>(place, value - p);
      return absl::OkStatus();
    case kX86Abs32:
      if (value > std::numeric_limits<uint32_t>::max()) return TooFar(type, value);
      Store<uint32_t>(place, value);
      return absl::OkStatus();
    case kX86Abs32Signed:
      if (!FitsSigned(value, 32)) return TooFar(type, value);
      Store<uint32_t>(place, value);
      return absl::OkStatus();
    default:
      return Unknown(ElfMachine::kX86_64, type);
  }
}

// The 12-bit immediate of a load or store counts units of the access's size.
absl::Status ApplyArmLow12(uint32_t type, absl::Span<std::byte> place, uint64_t value, int shift) {
  const uint32_t low = value & 0xfff;
  if ((low & ((1u << shift) - 1)) != 0) return Misaligned(type, value, 1 << shift);
  StoreField(place, 0xfffu << 10, (low >> shift) << 10);
  return absl::OkStatus();
}

absl::Status ApplyArm(uint32_t type, absl::Span<std::byte> place, uint64_t p, uint64_t value) {
  switch (type) {
    case kArmNone:
      return absl::OkStatus();
    case kArmAbs64:
      Store<uint64_t>(place, value);
      return absl::OkStatus();
    case kArmPrel64:
      Store<uint64_t>(place, value - p);
      return absl::OkStatus();
    case kArmAbs32:  // AAELF64: -2^31 <= X < 2^32.
      if (!FitsSigned(value, 32) && value > std::numeric_limits<uint32_t>::max()) {
        return TooFar(type, value);
      }
      Store<uint32_t>(place, value);
      return absl::OkStatus();
    case kArmPrel32:
      if (!FitsSigned(value - p, 32)) return TooFar(type, value - p);
      Store<uint32_t>(place, value - p);
      return absl::OkStatus();
    case kArmJump26:
    case kArmCall26: {
      const uint64_t distance = value - p;
      if (distance % 4 != 0) return Misaligned(type, distance, 4);
      if (!FitsSigned(distance, 28)) return TooFar(type, distance);
      StoreField(place, 0x03ffffff, static_cast<uint32_t>(distance >> 2));
      return absl::OkStatus();
    }
    case kArmAdrPrelPgHi21:
    case kArmAdrPrelPgHi21Nc:
    case kArmAdrGotPage: {
      const uint64_t distance = (value & ~uint64_t{0xfff}) - (p & ~uint64_t{0xfff});
      if (type != kArmAdrPrelPgHi21Nc && !FitsSigned(distance, 33)) return TooFar(type, distance);
      const uint32_t pages = static_cast<uint32_t>(distance >> 12);
      // immlo is bits 30:29, immhi bits 23:5.
      StoreField(place, 0x60ffffe0, (pages & 3) << 29 | ((pages >> 2) & 0x7ffff) << 5);
      return absl::OkStatus();
    }
    case kArmAddAbsLo12Nc:
    case kArmLdst8AbsLo12Nc:
      return ApplyArmLow12(type, place, value, 0);
    case kArmLdst16AbsLo12Nc:
      return ApplyArmLow12(type, place, value, 1);
    case kArmLdst32AbsLo12Nc:
      return ApplyArmLow12(type, place, value, 2);
    case kArmLdst64AbsLo12Nc:
    case kArmLd64GotLo12Nc:
      return ApplyArmLow12(type, place, value, 3);
    case kArmLdst128AbsLo12Nc:
      return ApplyArmLow12(type, place, value, 4);
    default:
      return Unknown(ElfMachine::kAarch64, type);
  }
}

RelocationKind ClassifyX86(uint32_t type) {
  switch (type) {
    case kX86None:
      return {RelocationUse::kNothing, 0};
    case kX86Abs64:
    case kX86Pc64:
      return {RelocationUse::kData, 8};
    case kX86Pc32:
      return {RelocationUse::kData, 4};
    case kX86Plt32:
      return {RelocationUse::kCall, 4};
    case kX86GotPcRel:
    case kX86GotPcRelX:
    case kX86RexGotPcRelX:
      return {RelocationUse::kGot, 4};
    case kX86Abs32:
    case kX86Abs32Signed:
      return {RelocationUse::kData, 4, /*low_address=*/true};
    default:
      return {};
  }
}

RelocationKind ClassifyArm(uint32_t type) {
  switch (type) {
    case kArmNone:
      return {RelocationUse::kNothing, 0};
    case kArmAbs64:
    case kArmPrel64:
      return {RelocationUse::kData, 8};
    case kArmAbs32:
      return {RelocationUse::kData, 4, /*low_address=*/true};
    case kArmJump26:
    case kArmCall26:
      return {RelocationUse::kCall, 4};
    case kArmAdrGotPage:
    case kArmLd64GotLo12Nc:
      return {RelocationUse::kGot, 4};
    case kArmPrel32:
    case kArmAdrPrelPgHi21:
    case kArmAdrPrelPgHi21Nc:
    case kArmAddAbsLo12Nc:
    case kArmLdst8AbsLo12Nc:
    case kArmLdst16AbsLo12Nc:
    case kArmLdst32AbsLo12Nc:
    case kArmLdst64AbsLo12Nc:
    case kArmLdst128AbsLo12Nc:
      return {RelocationUse::kData, 4};
    default:
      return {};
  }
}

}  // namespace

RelocationKind ClassifyRelocation(ElfMachine machine, uint32_t type) {
  switch (machine) {
    case ElfMachine::kX86_64:
      return ClassifyX86(type);
    case ElfMachine::kAarch64:
      return ClassifyArm(type);
    default:
      return {};
  }
}

absl::Status ApplyRelocation(ElfMachine machine, uint32_t type, absl::Span<std::byte> place,
                             uint64_t place_address, uint64_t target, int64_t addend) {
  const RelocationKind kind = ClassifyRelocation(machine, type);
  if (kind.use == RelocationUse::kUnknown) return Unknown(machine, type);
  if (place.size() < static_cast<size_t>(kind.width)) {
    return absl::InvalidArgumentError(absl::StrCat("relocation type ", type, " needs ", kind.width,
                                                   " bytes, its place has ", place.size()));
  }
  const uint64_t value = target + static_cast<uint64_t>(addend);
  return machine == ElfMachine::kX86_64 ? ApplyX86(type, place, place_address, value)
                                        : ApplyArm(type, place, place_address, value);
}

void WriteJumpStub(ElfMachine machine, absl::Span<std::byte> stub, uint64_t target) {
  // x86-64: jmp *2(%rip), two bytes of padding, address.
  static constexpr uint8_t kX86Jump[8] = {0xff, 0x25, 0x02, 0x00, 0x00, 0x00, 0x90, 0x90};
  // AArch64: ldr x16, .+8; br x16; address. x16 is the register that the ABI leaves to such stubs.
  static constexpr uint8_t kArmJump[8] = {0x50, 0x00, 0x00, 0x58, 0x00, 0x02, 0x1f, 0xd6};
  std::memcpy(stub.data(), machine == ElfMachine::kX86_64 ? kX86Jump : kArmJump, 8);
  std::memcpy(stub.data() + 8, &target, sizeof(target));
}

}  // namespace tg::object
