#include "codegen/isa/amd/table_gen_token.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>

#include "codegen/isa/amd/table_gen_text.h"

namespace tg::amd::gen {

std::string Camel(const std::string& snake) {
  std::string s = "k";
  bool up = true;
  for (char c : snake) {
    if (c == '_') {
      up = true;
    } else {
      s += up ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      up = false;
    }
  }
  return s;
}

bool StartsWith(const std::string& s, const char* prefix) { return s.rfind(prefix, 0) == 0; }
bool Contains(const std::vector<std::string>& v, const std::string& s) {
  return std::find(v.begin(), v.end(), s) != v.end();
}

Token ParseToken(const std::string& text, const std::string& where) {
  Token t;
  size_t colon = text.find(':');
  if (colon == std::string::npos) Fail(where + ": expected FIELD:CLASS: " + text);
  t.field = text.substr(0, colon);
  t.cls = text.substr(colon + 1);
  size_t plus = t.cls.find('+');
  if (plus != std::string::npos) {
    std::string m = t.cls.substr(plus + 1);
    t.neg = m.find('n') != std::string::npos;
    t.abs = m.find('a') != std::string::npos;
    t.hidden = m.find('h') != std::string::npos;
    if (m.find('r') != std::string::npos) t.role = "kDstSrc";
    if (m.find('s') != std::string::npos) t.role = "kSrc";
    t.cls.resize(plus);
  }
  size_t dot = t.cls.find('.');
  if (dot != std::string::npos) {
    t.type = t.cls.substr(dot + 1);
    t.cls.resize(dot);
  }
  size_t digit = t.cls.find_first_of("0123456789");
  t.letters = t.cls.substr(0, digit);
  if (digit != std::string::npos) t.bits = std::atoi(t.cls.c_str() + digit);
  return t;
}

ClassInfo Classify(const Token& t, bool low_halves, bool field9, const std::string& where) {
  const std::string& l = t.letters;
  if (t.cls == "vcc32" || t.cls == "vcc64") return {"kVcc", "kVcc"};
  bool half = t.bits == 16;
  if (l == "v")
    return half ? ClassInfo{low_halves ? "kVgpr16Low" : "kVgpr16", "kVgpr16"}
                : ClassInfo{"kVgpr", "kVgpr"};
  if (l == "x")
    return half ? ClassInfo{low_halves ? "kSrc16Low" : "kSrc16", "kSrc16"}
                : ClassInfo{"kSrc", "kSrc"};
  if (l == "l") return {"kVgpr", "kVgpr"};
  if (l == "a") return {"kAcc", "kAcc"};
  if (l == "va") return {"kVgprAcc", "kVgprOrAcc"};
  if (l == "mva") return {"kSrcAccConst", "kSrcVgprOrConst"};
  if (l == "mv") return {"kSrcAccConst", "kSrcVgprOrConst"};
  if (l == "c" || l == "sl") return {"kSsrc", "kSsrc"};
  if (l == "s") return {"kSreg", "kSgpr"};
  if (l == "sbase") return {"kSbase", "kSgpr"};
  if (l == "srsrc") return {field9 ? "kSreg" : "kSrsrc", "kSgpr"};
  if (l == "soff") return {"kSoffset", "kSsrc"};
  if (l == "bufaddr") return {"kBufAddr", "kVgpr"};
  if (l == "exp") return {"kExpSrc", "kVgpr"};
  if (t.cls == "smemoff") return {"kSmemOffset", "kSmemOffset"};
  if (l == "bufdata") return {"kBufData", "kVgprOrAcc"};
  if (l == "imgdata") return {"kImgData", "kVgpr"};
  if (l == "imglast") return {"kImgLast", "kVgpr"};
  if (l == "mata") return {"kMatA", "kVgprOrAcc"};
  if (l == "matb") return {"kMatB", "kVgprOrAcc"};
  if (l == "imgaddr") return {"kImgAddr", "kVgpr"};
  if (l == "off") return {"kOff", "kOff"};
  if (t.cls == "unused") return {"kUnused", "kUnused"};
  if (t.cls == "m0") return {"kM0", "kM0"};
  if (t.cls == "lit32") return {"kLit32", "kLit32"};
  if (t.cls == "lit16") return {"kLit16", "kLit16"};
  static const std::map<std::string, const char*> kNumbers = {
      {"hex", "kHex"},          {"dec", "kImm"},         {"auto", "kAuto"},
      {"label", "kLabel"},      {"hwreg", "kHwreg"},     {"sendmsg", "kSendmsg"},
      {"waitcnt", "kWaitcnt"},  {"depctr", "kDepctr"},   {"delay", "kDelayAlu"},
      {"endpgm", "kEndpgm"},    {"attr", "kAttr"},       {"chan", "kAttrChan"},
      {"target", "kExpTarget"}, {"version", "kVersion"}, {"gpridx", "kGprIdx"},
      {"barrier", "kBarrier"}};
  auto it = kNumbers.find(t.cls);
  if (it == kNumbers.end()) Fail(where + ": unknown operand class " + t.cls);
  return {"kImm", it->second};
}

}  // namespace tg::amd::gen
