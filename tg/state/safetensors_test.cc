#include "tg/state/safetensors.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::state {
namespace {

using ::testing::HasSubstr;

std::string LittleEndian(uint64_t v) {
  std::string s;
  for (int i = 0; i < 8; ++i) s.push_back(static_cast<char>(v >> (8 * i)));
  return s;
}

// A file of this header and `data` zero bytes.
std::string File(absl::string_view json, size_t data = 0) {
  return absl::StrCat(LittleEndian(json.size()), json, std::string(data, '\0'));
}

absl::StatusOr<SafetensorsHeader> Parse(const std::string& content) {
  // A copy of the exact size on the heap lets AddressSanitizer see a read past the end.
  const std::vector<uint8_t> exact(content.begin(), content.end());
  return ParseSafetensors(exact, "model.safetensors");
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

TEST(Safetensors, ReadsTensorsInOrderWithMetadata) {
  auto header = Parse(File(R"({"b":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]},)"
                           R"("__metadata__":{"format":"pt","note":"\u00e9"},)"
                           R"("a":{"data_offsets":[0,4],"shape":[],"dtype":"I32"}}   )",
                           28));
  ASSERT_TRUE(header.ok()) << header.status();
  ASSERT_EQ(header->tensors.size(), 2u);
  const SafetensorsEntry& b = header->tensors[0];
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.dtype, ir::kFloat32);
  EXPECT_EQ(b.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(b.offset, 4u);
  EXPECT_EQ(b.size, 24u);
  const SafetensorsEntry* a = header->Find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_TRUE(a->shape.empty());
  EXPECT_EQ(header->Find("c"), nullptr);
  EXPECT_EQ(header->metadata, (SafetensorsMetadata{{"format", "pt"}, {"note", "\xc3\xa9"}}));
}

TEST(Safetensors, KnowsEveryDTypeOfTheFormat) {
  const std::pair<const char*, ir::DType> kAll[] = {
      {"BOOL", ir::kBool},   {"I8", ir::kInt8},         {"U8", ir::kUInt8},
      {"I16", ir::kInt16},   {"U16", ir::kUInt16},      {"I32", ir::kInt32},
      {"U32", ir::kUInt32},  {"I64", ir::kInt64},       {"U64", ir::kUInt64},
      {"F16", ir::kFloat16}, {"BF16", ir::kBFloat16},   {"F32", ir::kFloat32},
      {"F64", ir::kFloat64}, {"F8_E4M3", ir::kFp8E4M3}, {"F8_E5M2", ir::kFp8E5M2},
  };
  for (const auto& [name, dtype] : kAll) {
    const int size = dtype.bytes();
    auto header = Parse(File(absl::StrCat(R"({"a":{"dtype":")", name,
                                          R"(","shape":[1],"data_offsets":[0,)", size, "]}}"),
                             size));
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(header->tensors[0].dtype, dtype);
    EXPECT_EQ(SafetensorsName(dtype), name);
  }
  EXPECT_EQ(SafetensorsName(ir::kWeakFloat), "");
  EXPECT_EQ(SafetensorsName(ir::kFp8E4M3Fnuz), "");
  EXPECT_EQ(SafetensorsName(ir::kFloat32.Vec(4)), "");
}

struct Case {
  const char* name;
  std::string content;
  const char* error;  // a part of the message; empty: the file is good
};

// One tensor "a" with these fields, `data` bytes of data.
std::string One(absl::string_view fields, size_t data) {
  return File(absl::StrCat(R"({"a":{)", fields, "}}"), data);
}

std::vector<Case> Cases() {
  const std::string deep(100000, '[');
  const std::string kU8 = R"("dtype":"U8",)";
  return {
      {"empty object", File("{}"), ""},
      {"scalar", One(R"("dtype":"F32","shape":[],"data_offsets":[0,4])", 4), ""},
      {"zero dimension", One(R"("dtype":"F32","shape":[0],"data_offsets":[0,0])", 0), ""},
      {"zero dimension among others",
       One(R"("dtype":"F32","shape":[3,0,5],"data_offsets":[0,0])", 0), ""},
      {"empty tensor between two",
       File(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
            R"("z":{"dtype":"F64","shape":[0],"data_offsets":[1,1]},)"
            R"("b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
            2),
       ""},
      {"odd offset",
       File(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
            R"("b":{"dtype":"F64","shape":[1],"data_offsets":[1,9]}})",
            9),
       ""},
      {"unknown field",
       One(kU8 + R"("shape":[1],"data_offsets":[0,1],"x":{"y":[1.5,null,{"dtype":3}]})", 1), ""},
      {"empty metadata", File(R"({"__metadata__":{}})"), ""},
      {"empty name", File(R"({"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1), ""},

      {"no bytes", "", "header length: 0 bytes"},
      {"seven bytes", "\2\0\0\0\0\0\0", "header length"},
      {"largest length", LittleEndian(~uint64_t{0}) + "{}", "header length: 18446744073709551615"},
      {"length wraps", LittleEndian(~uint64_t{0} - 7) + "{}", "header length"},
      {"over 100 MB", LittleEndian(100'000'001) + "{}", "over the limit"},
      {"past the end", LittleEndian(3) + "{}", "truncated download?"},
      {"no header", LittleEndian(0), "does not begin with '{'"},
      {"array", File("[]"), "does not begin with '{'"},
      {"leading space", File(" {}"), "does not begin with '{'"},
      {"byte order mark", File("\xef\xbb\xbf{}"), "does not begin with '{'"},
      {"bad JSON", File("{a}"), "JSON at byte"},
      {"unfinished JSON", File(R"({"a":)"), "JSON at byte"},
      {"text after JSON", File("{} x"), "JSON at byte"},
      {"second object", File("{}{}"), "JSON at byte"},
      {"NUL after JSON", File(std::string("{}\0x", 4)), "NUL at byte 2"},
      {"comment", File("{/**/}"), "JSON at byte"},
      {"bad UTF-8", File("{\"\xff\xfe\":{}}"), "JSON at byte"},
      {"overlong UTF-8", File("{\"\xc0\xaf\":{}}"), "JSON at byte"},
      {"lone surrogate", File(R"({"\ud800":{}})"), "JSON at byte"},
      {"deep array", File(absl::StrCat(R"({"a":)", deep)), "an object expected, found an array"},
      {"deep array in an unknown field", File(absl::StrCat(R"({"a":{"x":)", deep)),
       "nested too deep"},
      {"deep array in the shape", File(absl::StrCat(R"({"a":{"shape":)", deep)),
       "tensor 'a': 'shape'"},
      {"HTML", "<!DOCTYPE html><html></html>", "HTML page"},
      {"zip", "PK\x03\x04" + std::string(40, 'x'), "zip archive"},
      {"LFS", "version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"},
      {"GGUF", "GGUF" + std::string("\3\0\0\0\0\0\0\0", 8), "GGUF file"},

      {"metadata not an object", File(R"({"__metadata__":3})"), "__metadata__: an object expected"},
      {"metadata value", File(R"({"__metadata__":{"n":1}})"),
       "__metadata__: 'n': a string expected"},
      {"metadata nested", File(R"({"__metadata__":{"n":{}}})"),
       "__metadata__: 'n': a string expected"},
      {"metadata twice", File(R"({"__metadata__":{},"__metadata__":{}})"),
       "__metadata__ occurs twice"},
      {"metadata key twice", File(R"({"__metadata__":{"k":"1","k":"2"}})"), "key 'k' occurs twice"},
      {"tensor not an object", File(R"({"a":1})"),
       "tensor 'a': an object expected, found a number"},
      {"tensor null", File(R"({"a":null})"), "tensor 'a': an object expected, found null"},
      {"tensor twice",
       File(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
            R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
       "tensor 'a' occurs twice"},
      {"field twice", One(kU8 + R"("dtype":"U8","shape":[1],"data_offsets":[0,1])", 1),
       "'dtype' occurs twice"},
      {"no dtype", One(R"("shape":[1],"data_offsets":[0,1])", 1), "dtype is missing"},
      {"no shape", One(kU8 + R"("data_offsets":[0,1])", 1), "shape is missing"},
      {"no offsets", One(kU8 + R"("shape":[1])", 1), "data_offsets is missing"},
      {"empty entry", One("", 0), "dtype is missing"},
      {"unknown dtype", One(R"("dtype":"F4","shape":[1],"data_offsets":[0,1])", 1),
       "unknown dtype 'F4'"},
      {"dtype in lower case", One(R"("dtype":"f32","shape":[1],"data_offsets":[0,4])", 4),
       "unknown dtype 'f32'"},
      {"dtype number", One(R"("dtype":8,"shape":[1],"data_offsets":[0,1])", 1),
       "'dtype': a string expected"},
      {"shape number", One(kU8 + R"("shape":1,"data_offsets":[0,1])", 1),
       "'shape': an array expected"},
      {"shape null", One(kU8 + R"("shape":null,"data_offsets":[0,1])", 1),
       "'shape': an array expected"},
      {"shape string", One(kU8 + R"("shape":["1"],"data_offsets":[0,1])", 1),
       "'shape': an unsigned integer expected"},
      {"shape bool", One(kU8 + R"("shape":[true],"data_offsets":[0,1])", 1),
       "'shape': an unsigned integer expected"},
      {"shape float", One(kU8 + R"("shape":[1.0],"data_offsets":[0,1])", 1),
       "'shape': an unsigned integer expected"},
      {"shape negative", One(kU8 + R"("shape":[-1],"data_offsets":[0,1])", 1), "a negative number"},
      {"shape of two negatives", One(kU8 + R"("shape":[-1,-1],"data_offsets":[0,1])", 1),
       "a negative number"},
      {"dimension 2^63", One(kU8 + R"("shape":[9223372036854775808],"data_offsets":[0,1])", 1),
       "out of range"},
      {"dimension 2^64", One(kU8 + R"("shape":[18446744073709551616],"data_offsets":[0,0])", 0),
       "an unsigned integer expected"},
      {"dimension 2^32+1", One(kU8 + R"("shape":[4294967297],"data_offsets":[0,1])", 1),
       "need 4294967297"},
      {"shape wraps", One(kU8 + R"("shape":[4294967296,4294967296],"data_offsets":[0,0])", 0),
       "overflows"},
      {"shape wraps beside a zero",
       One(kU8 + R"("shape":[4294967296,4294967296,0],"data_offsets":[0,0])", 0), "overflows"},
      {"shape times size wraps",
       One(R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0])", 0), "overflows"},
      {"size mismatch", One(R"("dtype":"F32","shape":[1000,1000],"data_offsets":[0,4])", 4),
       "need 4000000"},
      {"bytes for nothing", One(R"("dtype":"F32","shape":[0],"data_offsets":[0,4])", 4), "need 0"},
      {"one offset", One(kU8 + R"("shape":[1],"data_offsets":[1])", 1), "two numbers expected"},
      {"three offsets", One(kU8 + R"("shape":[1],"data_offsets":[0,1,1])", 1),
       "more than two numbers"},
      {"no offset", One(kU8 + R"("shape":[1],"data_offsets":[])", 1), "two numbers expected"},
      {"offsets object", One(kU8 + R"("shape":[1],"data_offsets":{})", 1),
       "'data_offsets': an array expected"},
      {"offset float", One(kU8 + R"("shape":[1],"data_offsets":[0,1e0])", 1),
       "an unsigned integer expected"},
      {"offset negative", One(kU8 + R"("shape":[1],"data_offsets":[-1,0])", 1),
       "a negative number"},
      {"offset minus zero", One(kU8 + R"("shape":[1],"data_offsets":[-0,1])", 1),
       "a negative number"},
      {"begin after end", One(kU8 + R"("shape":[1],"data_offsets":[1,0])", 1),
       "begin 1 is after end 0"},
      {"end wraps",
       One(kU8 + R"("shape":[1],"data_offsets":[18446744073709551615,18446744073709551615])", 0),
       "need 1"},
      {"offsets at the end of the range",
       One(kU8 + R"("shape":[1],"data_offsets":[18446744073709551614,18446744073709551615])", 1),
       "a hole after byte 0"},
      {"empty tensor far away", One(kU8 + R"("shape":[0],"data_offsets":[9,9])", 0),
       "a hole after byte 0"},
      {"data short", One(R"("dtype":"F32","shape":[4],"data_offsets":[0,16])", 15),
       "truncated download?"},
      {"hole at the start", One(kU8 + R"("shape":[1],"data_offsets":[1,2])", 2),
       "a hole after byte 0"},
      {"hole",
       File(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
            R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
            3),
       "tensor 'b': 'data_offsets' begin at 2, a hole"},
      {"overlap",
       File(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},)"
            R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
            3),
       "inside another tensor that ends at 2"},
      {"same range",
       File(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
            R"("b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
            2),
       "inside another tensor"},
      {"empty tensor inside another",
       File(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
            R"("b":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}})",
            2),
       "inside another tensor"},
      {"trailing byte", One(kU8 + R"("shape":[1],"data_offsets":[0,1])", 2),
       "1 bytes after the last tensor"},
      {"data without tensors", File("{}", 5), "5 bytes after the last tensor"},
  };
}

TEST(Safetensors, AcceptsAndRejects) {
  for (const Case& c : Cases()) {
    const absl::Status status = Parse(c.content).status();
    if (*c.error == '\0') {
      EXPECT_TRUE(status.ok()) << c.name << ": " << status;
      continue;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.error)) << c.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr("model.safetensors: ")) << c.name;
    EXPECT_LT(status.message().size(), 500u) << c.name;
  }
}

std::string SmallFile() {
  std::string file =
      File(R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
           R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})",
           11);
  return file;
}

TEST(Safetensors, RejectsEveryTruncation) {
  const std::string good = SmallFile();
  ASSERT_TRUE(Parse(good).ok());
  for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(Parse(good.substr(0, n)).ok()) << n;
  EXPECT_FALSE(Parse(good + "x").ok());
}

// Whatever the bytes: no crash, and what is accepted keeps the promises of the header.
TEST(Safetensors, SurvivesDamage) {
  const std::string good = SmallFile();
  std::mt19937 random(7);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int k = 0; k < changes; ++k) {
      const size_t at = random() % bad.size();
      switch (random() % 4) {
        case 0:
          bad[at] = static_cast<char>(random());
          break;
        case 1:
          bad.erase(at, random() % 4);
          break;
        case 2:
          bad.insert(at, 1, bad[random() % bad.size()]);
          break;
        default:
          bad[at] = "0123456789{}[],:\""[random() % 17];
          break;
      }
      if (bad.empty()) bad = "x";
    }
    if (random() % 2 == 0 && bad.size() > 19) bad.replace(0, 8, LittleEndian(bad.size() - 19));
    auto header = Parse(bad);
    if (!header.ok()) continue;
    ++accepted;
    uint64_t total = 0;
    for (const SafetensorsEntry& e : header->tensors) {
      EXPECT_LE(header->data_start + e.offset + e.size, bad.size());
      EXPECT_EQ(SafetensorsSize(e.dtype, e.shape), e.size);
      total += e.size;
    }
    EXPECT_EQ(header->data_start + total, bad.size());
  }
  EXPECT_GT(accepted, 0);
}

class SafetensorsFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::path(::testing::TempDir()) /
           ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directory(dir_);
  }
  std::string Path(const char* name) const { return (dir_ / name).string(); }
  size_t FileCount() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(dir_), {}));
  }
  std::filesystem::path dir_;
};

TEST_F(SafetensorsFiles, WritesWhatItReads) {
  std::vector<SafetensorsTensor> tensors = {
      {"flag", ir::kBool, {3}, {}},        {"weight \"q\"\n", ir::kFloat32, {2, 2}, {}},
      {"step", ir::kInt64, {}, {}},        {"none", ir::kFloat64, {0, 4}, {}},
      {"half", ir::kBFloat16, {1, 3}, {}},
  };
  std::vector<std::vector<uint8_t>> data;
  for (SafetensorsTensor& t : tensors) {
    data.emplace_back(*SafetensorsSize(t.dtype, t.shape));
    for (size_t i = 0; i < data.back().size(); ++i) {
      data.back()[i] = static_cast<uint8_t>(37 * data.size() + i);
    }
    t.bytes = data.back();
  }
  const std::string path = Path("m.safetensors");
  const absl::Status written = WriteSafetensors(path, tensors, {{"format", "pt"}, {"who", "tg"}});
  ASSERT_TRUE(written.ok()) << written;
  EXPECT_EQ(FileCount(), 1u);

  auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  const SafetensorsHeader& header = file->header();
  EXPECT_EQ(header.data_start % 8, 0u);
  EXPECT_EQ(header.metadata, (SafetensorsMetadata{{"format", "pt"}, {"who", "tg"}}));
  ASSERT_EQ(header.tensors.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const SafetensorsEntry& e = header.tensors[i];
    EXPECT_EQ(e.name, tensors[i].name);
    EXPECT_EQ(e.dtype, tensors[i].dtype);
    EXPECT_EQ(e.shape, tensors[i].shape);
    EXPECT_EQ(e.offset % e.dtype.bytes(), 0u) << e.name;
    EXPECT_EQ(file->Bytes(e), absl::MakeConstSpan(data[i]));
  }
}

TEST_F(SafetensorsFiles, HeaderBytes) {
  const std::string path = Path("m.safetensors");
  const uint8_t byte = 7;
  const SafetensorsTensor tensor = {"a", ir::kUInt8, {1}, absl::MakeConstSpan(&byte, 1)};
  ASSERT_TRUE(WriteSafetensors(path, {tensor}).ok());
  EXPECT_EQ(
      ReadFile(path),
      LittleEndian(56) + R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})" + "   \x07");
}

TEST_F(SafetensorsFiles, FailedWritesLeaveTheOldFile) {
  const std::string path = Path("m.safetensors");
  std::ofstream(path) << "old";
  const std::vector<uint8_t> four(4);
  const absl::Span<const uint8_t> bytes = four;
  struct Bad {
    std::vector<SafetensorsTensor> tensors;
    SafetensorsMetadata metadata;
    const char* error;
  };
  const Bad kBad[] = {
      {{{"a", ir::kWeakFloat, {1}, {}}}, {}, "tensor 'a': dtype weak"},
      {{{"a", ir::kInt32, {1}, bytes}, {"a", ir::kInt32, {1}, bytes}}, {}, "the name occurs twice"},
      {{{"__metadata__", ir::kInt32, {1}, bytes}}, {}, "reserved"},
      {{{"a", ir::kInt32, {-1}, bytes}}, {}, "shape [-1] has no valid size"},
      {{{"a", ir::kInt32, {2}, bytes}}, {}, "4 bytes given, shape [2] of int32 needs 8"},
      {{{"\xff", ir::kInt32, {1}, bytes}}, {}, "not UTF-8"},
      {{{"a", ir::kInt32, {1}, bytes}}, {{"k", "\xff"}}, "metadata key 'k' is not UTF-8"},
      {{{"a", ir::kInt32, {1}, bytes}}, {{"k", "1"}, {"k", "2"}}, "metadata key 'k' occurs twice"},
  };
  for (const Bad& bad : kBad) {
    const absl::Status status = WriteSafetensors(path, bad.tensors, bad.metadata);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.error));
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  }
  EXPECT_EQ(ReadFile(path), "old");
  EXPECT_EQ(FileCount(), 1u);
  EXPECT_TRUE(WriteSafetensors(path, {{"a", ir::kInt32, {1}, bytes}}).ok());
  EXPECT_TRUE(SafetensorsFile::Open(path).ok());
}

TEST_F(SafetensorsFiles, OpenErrors) {
  EXPECT_EQ(SafetensorsFile::Open(Path("missing")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(SafetensorsFile::Open(dir_.string()).ok());
  std::ofstream(Path("empty")).flush();
  EXPECT_THAT(std::string(SafetensorsFile::Open(Path("empty")).status().message()),
              HasSubstr("an empty file"));
  EXPECT_FALSE(WriteSafetensors(Path("no/such/folder"), {}).ok());
}

// Files that others made, where they are at hand: TG_SHARED names a folder that holds
// data/corpus/manifest.tsv (file, expectation, ...) and the files.
TEST(Safetensors, Corpus) {
  const char* shared = std::getenv("TG_SHARED");
  if (shared == nullptr || *shared == 0) {
    GTEST_SKIP() << "TG_SHARED is not set: the corpus was not read";
  }
  const std::filesystem::path corpus = std::filesystem::path(shared) / "data" / "corpus";
  int count = 0;
  for (absl::string_view line : absl::StrSplit(ReadFile(corpus / "manifest.tsv"), '\n')) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    if (fields.size() < 2 || fields[0].rfind("safetensors/", 0) != 0) continue;
    const absl::Status status = SafetensorsFile::Open(corpus / fields[0]).status();
    if (fields[1] == "either") continue;
    EXPECT_EQ(status.ok(), fields[1] == "accept") << line << "\n" << status;
    ++count;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace tg::state
