// Appending text to a buffer that is known to be long enough; the parts of the printer.
#ifndef TG_CODEGEN_ISA_AMD_PRINT_TEXT_H_
#define TG_CODEGEN_ISA_AMD_PRINT_TEXT_H_

#include <cstdint>
#include <cstring>
#include <string_view>

#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/inst.h"

namespace tg::amd::internal {

class Text {
 public:
  explicit Text(char* at) : at_(at) {}
  char* end() const { return at_; }
  void operator+=(char c) { *at_++ = c; }
  void operator+=(std::string_view s) {
    std::memcpy(at_, s.data(), s.size());
    at_ += s.size();
  }
  void Decimal(int64_t v) {
    if (v < 0) {
      *at_++ = '-';
      v = -v;
    }
    char digits[20];
    int n = 0;
    do {
      digits[n++] = static_cast<char>('0' + v % 10);
      v /= 10;
    } while (v != 0);
    while (n > 0) *at_++ = digits[--n];
  }
  // 0x1f
  void Hex(uint64_t v) {
    *at_++ = '0';
    *at_++ = 'x';
    int digits = 1;
    while (digits < 16 && v >> (4 * digits) != 0) ++digits;
    while (digits-- > 0) *at_++ = "0123456789abcdef"[v >> (4 * digits) & 15];
  }

 private:
  char* at_;
};

// A number that its class gives a meaning: wait counts, hardware registers, messages.
void PrintImm(OperandClass cls, int32_t value, const Inst& inst, Isa isa, Text* t);
// Everything behind the operands.
void PrintMods(const Inst& inst, Isa isa, Text* t);
void PrintMemoryMods(const Inst& inst, Isa isa, Text* t);
// `type`: how an inline constant is spelled. `half`: a literal has 16 bits.
void PrintOperand(const Operand& o, DataType type, Isa isa, Text* t);

}  // namespace tg::amd::internal

#endif  // TG_CODEGEN_ISA_AMD_PRINT_TEXT_H_
