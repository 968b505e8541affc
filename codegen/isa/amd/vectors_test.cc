// Decodes and prints every vector of data files, one a line, and encodes it back.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/runfiles.h"
#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/encode.h"
#include "codegen/isa/amd/print.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

struct Vector {
  std::vector<uint8_t> bytes;
  std::string text;
  std::string encoding;
  bool optional = false;  // LLVM 22 does not take it for an instruction.
};

std::vector<uint8_t> Bytes(const std::string& hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16)));
  }
  return bytes;
}

// Without remarks, white space single.
std::string Normal(const std::string& text) {
  std::string s;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "/*") == 0) {
      size_t end = text.find("*/", i);
      if (end == std::string::npos) break;
      i = end + 1;
      continue;
    }
    if (text[i] == ' ' && (s.empty() || s.back() == ' ')) continue;
    s += text[i];
  }
  while (!s.empty() && s.back() == ' ') s.pop_back();
  return s;
}

// Columns: bytes, LLVM's text, encoding, opcode, whether it assembles back, another version's text
// ("=": the same, "!": none). `second`: the other version is LLVM 22.
std::vector<Vector> Read(const std::string& path, bool second) {
  std::vector<Vector> vectors;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> columns = absl::StrSplit(line, '\t');
    if (columns.size() < 2) continue;
    Vector v;
    v.bytes = Bytes(columns[0]);
    v.text = columns[1];
    if (columns.size() > 2) v.encoding = columns[2];
    if (columns.size() > 5 && second) {
      v.optional = columns[5] == "!";
      if (columns[5] != "=" && columns[5] != "!" && !columns[5].empty()) v.text = columns[5];
    }
    v.text = Normal(v.text);
    vectors.push_back(v);
  }
  return vectors;
}

// "" or what is wrong.
std::string Check(const Vector& v, Arch arch) {
  Inst inst;
  DecodeError error = DecodeFast(v.bytes, IsaOf(arch), &inst);
  if (error != DecodeError::kOk) {
    return v.optional ? "" : absl::StrCat("does not decode: ", DecodeErrorText(error));
  }
  std::string text = ToString(inst, IsaOf(arch));
  if (text != v.text && !v.optional) return absl::StrCat("printed ", text);
  if (inst.size != v.bytes.size()) return absl::StrCat("took ", inst.size, " bytes");
  // Texts that do not assemble back may read more scalar values than hardware can.
  std::vector<uint8_t> out(kMaxInstBytes);
  EncodeResult result = Encode(inst, IsaOf(arch), out.data(), EncodeChecks::kLayout);
  out.resize(result.size);
  if (!result.ok())
    return absl::StrCat("does not encode: ", std::string(result.ToStatus(inst).message()));
  if (out != v.bytes) return "encodes to other bytes";
  return "";
}

void RunFile(const std::string& path, Arch arch, bool second) {
  std::vector<Vector> vectors = Read(path, second);
  ASSERT_FALSE(vectors.empty()) << path;
  std::map<std::string, int> bad, shown;
  int failed = 0;
  for (const Vector& v : vectors) {
    std::string wrong = Check(v, arch);
    if (wrong.empty()) continue;
    ++failed;
    ++bad[v.encoding];
    static const int kShown =
        std::getenv("TG_SHOWN") != nullptr ? std::atoi(std::getenv("TG_SHOWN")) : 3;
    if (++shown[v.encoding] > kShown) continue;
    std::string hex;
    for (uint8_t b : v.bytes) absl::StrAppend(&hex, absl::Hex(b, absl::kZeroPad2));
    ADD_FAILURE() << hex << " " << v.encoding << ": " << v.text << "\n    " << wrong;
  }
  std::string summary;
  for (auto& [e, n] : bad) absl::StrAppend(&summary, " ", e, ":", n);
  std::printf("%s: %zu of %zu vectors pass%s\n", path.c_str(), vectors.size() - failed,
              vectors.size(), summary.c_str());
}

TEST(VectorsTest, NegativeControl) {
  Vector v;
  v.bytes = {0x05, 0x02, 0x06, 0x7e};
  v.text = "v_mov_b32_e32 v3, s5";
  EXPECT_EQ(Check(v, Arch::kGfx1100), "");
  v.text = "v_mov_b32_e32 v3, s6";
  EXPECT_NE(Check(v, Arch::kGfx1100), "");
  v.text = "v_mov_b32_e32 v3, s5";
  v.bytes[0] = 6;
  EXPECT_NE(Check(v, Arch::kGfx1100), "");
}

TEST(VectorsTest, Shared) {
  const char* shared = std::getenv("TG_SHARED");
  if (shared == nullptr || *shared == 0) GTEST_SKIP() << "TG_SHARED is not set";
  std::string dir = absl::StrCat(shared, "/data/isa/");
  RunFile(dir + "vectors_gfx1100.tsv", Arch::kGfx1100, true);
  RunFile(dir + "vectors_true16_gfx1100.tsv", Arch::kGfx1100, false);
  RunFile(dir + "vectors_gfx1150_only.tsv", Arch::kGfx1150, true);
  RunFile(dir + "vectors_gfx942.tsv", Arch::kGfx942, true);
  RunFile(dir + "vectors_gfx950.tsv", Arch::kGfx950, false);
  RunFile(dir + "vectors_gfx1201.tsv", Arch::kGfx1201, true);
  RunFile(dir + "vectors_true16_gfx1201.tsv", Arch::kGfx1201, false);
}

}  // namespace
}  // namespace tg::amd
