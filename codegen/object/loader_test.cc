#include "codegen/object/loader.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/object/elf.h"
#include "codegen/object/mutate_file.h"
#include "gtest/gtest.h"

namespace tg::object {
namespace {

int host_value = 1234;

void* Resolve(absl::string_view name) {
  if (name == "memcpy") return reinterpret_cast<void*>(&std::memcpy);
  if (name == "expf") return reinterpret_cast<void*>(static_cast<float (*)(float)>(&std::exp));
  if (name == "host_value") return &host_value;
  // Position-independent x86 code may name it, without using it.
  if (name == "_GLOBAL_OFFSET_TABLE_") return &host_value;
  return nullptr;
}

std::string ReadObject(absl::string_view name) {
  return ReadFileOrDie(absl::StrCat("codegen/object/", name, ".o"));
}

template <typename Function>
Function* Get(const LoadedObject& object, absl::string_view name) {
  const absl::StatusOr<void*> symbol = object.Symbol(name);
  EXPECT_TRUE(symbol.ok()) << symbol.status();
  return symbol.ok() ? reinterpret_cast<Function*>(*symbol) : nullptr;
}

class SampleTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    absl::StatusOr<LoadedObject> object = LoadedObject::Load(ReadObject(GetParam()), Resolve);
    ASSERT_TRUE(object.ok()) << object.status();
    object_.emplace(*std::move(object));
  }
  const LoadedObject& object() const { return *object_; }

 private:
  std::optional<LoadedObject> object_;
};

TEST_P(SampleTest, RunsCodeWithItsData) {
  EXPECT_EQ(Get<int(int, int)>(object(), "Add")(2, 3), 5);
  int (*next)() = Get<int()>(object(), "Next");
  EXPECT_EQ(next(), 41);
  EXPECT_EQ(next(), 42);
  EXPECT_EQ(*static_cast<int*>(*object().Symbol("counter")), 42);
  int (*zero)(int, int) = Get<int(int, int)>(object(), "Zero");
  EXPECT_EQ(zero(999, 7), 0);
  EXPECT_EQ(zero(999, 8), 7);
  EXPECT_EQ(Get<int(int)>(object(), "Square")(7), 49);
  int (*choose)(int, int) = Get<int(int, int)>(object(), "Choose");
  EXPECT_EQ(choose(0, 21), 42);
  EXPECT_EQ(choose(1, 21), -21);
  EXPECT_EQ(Get<int(int)>(object(), "Outer")(10), 22);
  const char* (*name)(int) = Get<const char*(int)>(object(), "Name");
  EXPECT_STREQ(name(3), "three");
  EXPECT_STREQ(name(99), "many");
}

TEST_P(SampleTest, CallsTheHost) {
  char to[6] = {};
  Get<void(void*, const void*, size_t)>(object(), "Copy")(to, "hello", 6);
  EXPECT_STREQ(to, "hello");
  float in[3] = {0, 1, -2}, out[3] = {};
  void* const buffers[] = {out, in};
  const int64_t vars[] = {3};
  Get<void(void* const*, const int64_t*, int64_t)>(object(), "Kernel")(buffers, vars, 5);
  for (int i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(out[i], std::exp(in[i]) + 5);
}

TEST_P(SampleTest, NothingIsWritableAndExecutable) {
  const uintptr_t code = reinterpret_cast<uintptr_t>(*object().Symbol("Add"));
  const uintptr_t data = reinterpret_cast<uintptr_t>(*object().Symbol("counter"));
  std::ifstream maps("/proc/self/maps");
  std::string line, code_flags, data_flags;
  while (std::getline(maps, line)) {
    unsigned long begin = 0, end = 0;
    char flags[5] = {};
    ASSERT_EQ(std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, flags), 3);
    if (begin <= code && code < end) code_flags = flags;
    if (begin <= data && data < end) data_flags = flags;
  }
  EXPECT_EQ(code_flags, "r-xp");
  EXPECT_EQ(data_flags, "rw-p");
}

TEST_P(SampleTest, EveryTruncationIsRefused) {
  const std::string bytes = ReadObject(GetParam());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(LoadedObject::Load(std::string(bytes, 0, size), Resolve).ok()) << size;
  }
}

TEST_P(SampleTest, DamagedObjectsNeverCrash) {
  const std::string bytes = ReadObject(GetParam());
  std::mt19937_64 random(2);
  int loaded = 0;
  constexpr int kTrials = 10000;
  for (int i = 0; i < kTrials; ++i) {
    loaded += LoadedObject::Load(Mutate(bytes, random), Resolve).ok();
  }
  EXPECT_GT(loaded, kTrials / 100) << "the damage is too great to test anything";
  EXPECT_LT(loaded, kTrials * 99 / 100) << "the damage is too small to test anything";
}

INSTANTIATE_TEST_SUITE_P(Models, SampleTest,
                         testing::Values("sample_pic", "sample_nopic", "sample_large"));

TEST(LoaderTest, ReadsTheHostsVariables) {
  const absl::StatusOr<LoadedObject> object = LoadedObject::Load(ReadObject("sample_pic"), Resolve);
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(Get<int()>(*object, "HostValue")(), 1234);
}

TEST(LoaderTest, MovesWithItsCode) {
  absl::StatusOr<LoadedObject> first = LoadedObject::Load(ReadObject("sample_pic"), Resolve);
  absl::StatusOr<LoadedObject> second = LoadedObject::Load(ReadObject("sample_nopic"), Resolve);
  ASSERT_TRUE(first.ok() && second.ok());
  LoadedObject moved = *std::move(first);
  EXPECT_EQ(Get<int(int, int)>(moved, "Add")(1, 1), 2);
  moved = *std::move(second);
  EXPECT_EQ(Get<int(int, int)>(moved, "Add")(1, 1), 2);
}

TEST(LoaderTest, TwoCopiesHaveTheirOwnVariables) {
  const std::string bytes = ReadObject("sample_pic");
  const absl::StatusOr<LoadedObject> a = LoadedObject::Load(bytes, Resolve);
  const absl::StatusOr<LoadedObject> b = LoadedObject::Load(bytes, Resolve);
  EXPECT_EQ(Get<int()>(*a, "Next")(), 41);
  EXPECT_EQ(Get<int()>(*b, "Next")(), 41);
}

void ExpectRefused(const std::string& bytes, absl::StatusCode code, absl::string_view message) {
  const absl::StatusOr<LoadedObject> object = LoadedObject::Load(bytes, Resolve);
  ASSERT_FALSE(object.ok()) << "expected: " << message;
  EXPECT_EQ(object.status().code(), code) << object.status();
  EXPECT_TRUE(absl::StrContains(object.status().message(), message)) << object.status();
}

template <typename T>
std::string With(std::string bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
  return bytes;
}

TEST(LoaderTest, SaysWhyItRefuses) {
  ExpectRefused(ReadObject("unsupported_thread_local"), absl::StatusCode::kUnimplemented,
                "thread-local");
  ExpectRefused(ReadObject("unsupported_common"), absl::StatusCode::kUnimplemented, "common");
  ExpectRefused(ReadObject("unsupported_aligned"), absl::StatusCode::kUnimplemented,
                "alignment 8192");
  ExpectRefused(ReadObject("unsupported_missing"), absl::StatusCode::kNotFound, "'NotThere'");
  const std::string good = ReadObject("sample_pic");
  ExpectRefused(With<uint16_t>(good, 16, 3), absl::StatusCode::kInvalidArgument, "e_type is 3");
  ExpectRefused(With<uint16_t>(good, 18, 224), absl::StatusCode::kUnimplemented, "machine 224");
}

TEST(LoaderTest, WeakSymbolsMayBeMissing) {
  const absl::StatusOr<LoadedObject> object =
      LoadedObject::Load(ReadObject("unsupported_weak"), Resolve);
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(Get<int()>(*object, "Get")(), 0);
}

TEST(LoaderTest, UnknownSymbolListsTheKnown) {
  const absl::StatusOr<LoadedObject> object = LoadedObject::Load(ReadObject("sample_pic"), Resolve);
  const absl::Status status = object->Symbol("Ad").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_TRUE(absl::StrContains(status.message(), "no symbol 'Ad'")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "Add, ")) << status;
  EXPECT_FALSE(object->Symbol("Twice").ok()) << "it is local";
}

// Tampers with one row of the section table, found by name.
std::string WithSection(const std::string& bytes, absl::string_view name, size_t field,
                        uint64_t value) {
  const absl::StatusOr<ElfFile> file = ElfFile::Parse(bytes);
  uint64_t table;
  std::memcpy(&table, bytes.data() + 40, 8);
  const size_t row = table + 64 * (file->FindSection(name) - file->sections().data());
  return With(bytes, row + field, value);
}

TEST(LoaderTest, LyingSizesAllocateNothing) {
  const std::string good = ReadObject("sample_pic");
  for (const uint64_t size : {uint64_t{1} << 40, uint64_t{1} << 63, ~uint64_t{0}}) {
    ExpectRefused(WithSection(good, ".bss", 32, size), absl::StatusCode::kResourceExhausted,
                  "its image exceeds");
  }
}

TEST(LoaderTest, RelocationsStayInTheirSection) {
  const std::string good = ReadObject("sample_pic");
  const absl::StatusOr<ElfFile> file = ElfFile::Parse(good);
  const ElfSection* rela = file->FindSection(".rela.text");
  const uint64_t text_size = file->FindSection(".text")->size;
  const size_t row = rela->data.data() - good.data();
  for (const uint64_t offset : {text_size, text_size - 3, ~uint64_t{0}, ~uint64_t{0} - 2}) {
    ExpectRefused(With(good, row, offset), absl::StatusCode::kInvalidArgument,
                  absl::StrCat("relocation at offset ", offset));
  }
  ExpectRefused(With<uint32_t>(good, row + 12, 1u << 31), absl::StatusCode::kInvalidArgument,
                "symbol 2147483648");
  ExpectRefused(With<uint32_t>(good, row + 8, 77), absl::StatusCode::kUnimplemented,
                "relocation type 77");
  // An addend that leads nowhere near.
  ExpectRefused(With<int64_t>(good, row + 16, int64_t{1} << 40), absl::StatusCode::kOutOfRange,
                "does not fit");
}

}  // namespace
}  // namespace tg::object
