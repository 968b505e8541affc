// AMD processors whose instructions this folder knows, and the instruction sets they share.
#ifndef TG_CODEGEN_ISA_AMD_ARCH_H_
#define TG_CODEGEN_ISA_AMD_ARCH_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace tg::amd {

// An instruction set: a column of the instruction tables.
enum class Isa : uint8_t {
  kGfx11,   // RDNA 3: gfx1100 to gfx1103.
  kGfx115,  // RDNA 3.5: gfx1150 to gfx1153. RDNA 3 and scalar floating point.
  kGfx12,   // RDNA 4: gfx1200, gfx1201.
  kGfx942,  // CDNA 3.
  kGfx950,  // CDNA 4.
};
inline constexpr int kNumIsas = 5;

// A processor, by the name compilers give it.
enum class Arch : uint8_t {
  kGfx1100,
  kGfx1101,
  kGfx1102,
  kGfx1103,
  kGfx1150,
  kGfx1151,
  kGfx1152,
  kGfx1153,
  kGfx1200,
  kGfx1201,
  kGfx942,
  kGfx950,
};
inline constexpr int kNumArchs = 12;

constexpr Isa IsaOf(Arch arch) {
  return arch <= Arch::kGfx1103   ? Isa::kGfx11
         : arch <= Arch::kGfx1153 ? Isa::kGfx115
         : arch <= Arch::kGfx1201 ? Isa::kGfx12
         : arch == Arch::kGfx942  ? Isa::kGfx942
                                  : Isa::kGfx950;
}

constexpr bool IsRdna(Isa isa) { return isa <= Isa::kGfx12; }
constexpr bool IsCdna(Isa isa) { return isa >= Isa::kGfx942; }
// gfx11 in LLVM's terms.
constexpr bool IsRdna3(Isa isa) { return isa <= Isa::kGfx115; }

// "gfx1100".
std::string_view ArchName(Arch arch);
std::optional<Arch> FindArch(std::string_view name);
// "gfx11", "gfx11.5", "gfx12", "gfx942", "gfx950".
std::string_view IsaName(Isa isa);

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_ARCH_H_
