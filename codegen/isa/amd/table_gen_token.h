// One operand of a row: "src0:x32.f32+na", and what its class means.
#ifndef TG_CODEGEN_ISA_AMD_TABLE_GEN_TOKEN_H_
#define TG_CODEGEN_ISA_AMD_TABLE_GEN_TOKEN_H_

#include <string>
#include <vector>

namespace tg::amd::gen {

// "src0:x32.f32+na"
struct Token {
  std::string field, cls, type = "other";
  int bits = 0;  // The number in cls: width.
  std::string letters;
  std::string role;  // "kDst" where it is not what the field's name says; else empty.
  bool neg = false, abs = false, hidden = false;
};

// Ends the build step where `text` is no operand; `where` is the row's place.
Token ParseToken(const std::string& text, const std::string& where);

// Of a row that the generator itself writes.
inline Token Make(const std::string& text) { return ParseToken(text, "table_gen"); }

// How a class of tables/README.md is encoded, and what it is to the public.
struct ClassInfo {
  const char* kind;
  const char* cls;
};

// `low_halves`: the encoding names halves of v0 to v127; `field9`: the operand's field has 9 bits.
ClassInfo Classify(const Token& t, bool low_halves, bool field9, const std::string& where);

// op_sel_hi -> kOpSelHi
std::string Camel(const std::string& snake);

bool StartsWith(const std::string& s, const char* prefix);
bool Contains(const std::vector<std::string>& v, const std::string& s);

}  // namespace tg::amd::gen

#endif  // TG_CODEGEN_ISA_AMD_TABLE_GEN_TOKEN_H_
