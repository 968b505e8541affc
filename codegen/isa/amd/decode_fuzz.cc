// libFuzzer target: any bytes decode to an error or to an instruction that prints and encodes to
// the same bytes, on every instruction set; the disassembler gets to the end.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/check.h"
#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/encode.h"
#include "codegen/isa/amd/print.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tg::amd;
  for (Arch arch : {Arch::kGfx1100, Arch::kGfx1150, Arch::kGfx1201, Arch::kGfx942, Arch::kGfx950}) {
    size_t at = 0;
    std::string text;
    while (at < size) {
      absl::Span<const uint8_t> rest(data + at, size - at);
      Inst inst;
      if (DecodeFast(rest, IsaOf(arch), &inst) == DecodeError::kOk) {
        uint8_t out[kMaxInstBytes + 4];
        EncodeResult result = Encode(inst, IsaOf(arch), out, EncodeChecks::kLayout);
        TG_CHECK(result.ok());
        TG_CHECK(result.size == inst.size && std::memcmp(out, rest.data(), inst.size) == 0);
      }
      text.clear();
      int used = Disassemble(rest, arch, &text);
      TG_CHECK(used > 0 && !text.empty());
      at += static_cast<size_t>(used);
    }
    TG_CHECK(at == size);
  }
  return 0;
}
