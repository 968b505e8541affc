// Where the assembler stands in its text. Every line ends in '\n', the last one included, and
// nothing but a loop over whole lines steps over that: so no read needs to ask for the end.
#ifndef TG_CODEGEN_ISA_AMD_ASM_CURSOR_H_
#define TG_CODEGEN_ISA_AMD_ASM_CURSOR_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace tg::amd::asm_internal {

enum : uint8_t { kWordStart = 1, kDigit = 2, kHexDigit = 4, kBlank = 8 };

inline constexpr std::array<uint8_t, 256> kCharClass = [] {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = classes[c - 'a' + 'A'] = kWordStart;
  for (int c = 'a'; c <= 'f'; ++c) {
    classes[c] |= kHexDigit;
    classes[c - 'a' + 'A'] |= kHexDigit;
  }
  for (int c = '0'; c <= '9'; ++c) classes[c] = kDigit | kHexDigit;
  classes['_'] = classes['.'] = classes['$'] = kWordStart;
  classes[' '] = classes['\t'] = classes['\r'] = kBlank;
  return classes;
}();

inline bool Is(char c, uint8_t classes) {
  return (kCharClass[static_cast<uint8_t>(c)] & classes) != 0;
}

struct Cursor {
  const char* at = nullptr;

  char Peek() const { return *at; }

  // Blanks and comments that end on the same line.
  void SkipBlanks() {
    while (Is(*at, kBlank)) ++at;
    if (*at == '/') SkipComment();
  }

  // A comment to the line's end, or one that ends on this line.
  void SkipComment() {
    while (*at == '/') {
      if (at[1] == '/') {
        SkipLine();
        return;
      }
      if (at[1] != '*') return;
      const char* p = at + 2;
      while (*p != '\n' && !(p[0] == '*' && p[1] == '/')) ++p;
      if (*p == '\n') return;  // Longer comments are for the loop over lines.
      at = p + 2;
      while (Is(*at, kBlank)) ++at;
    }
  }

  // To the '\n'.
  void SkipLine() {
    while (*at != '\n') ++at;
  }

  bool AtEnd() const { return *at == '\n' || *at == ';'; }

  bool Take(char c) {
    if (*at != c) return false;
    ++at;
    SkipBlanks();
    return true;
  }

  // The word here; empty when there is none. Does not skip what follows.
  std::string_view Word() {
    const char* begin = at;
    if (!Is(*at, kWordStart)) return {};
    do {
      ++at;
    } while (Is(*at, kWordStart | kDigit));
    return {begin, static_cast<size_t>(at - begin)};
  }

  std::string_view PeekWord() const {
    Cursor copy = *this;
    return copy.Word();
  }
};

}  // namespace tg::amd::asm_internal

#endif  // TG_CODEGEN_ISA_AMD_ASM_CURSOR_H_
