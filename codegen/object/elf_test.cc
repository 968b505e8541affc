#include "codegen/object/elf.h"

#include <cstring>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "codegen/object/mutate_file.h"
#include "gtest/gtest.h"

namespace tg::object {
namespace {

std::string Sample() { return ReadFileOrDie("codegen/object/sample_pic.o"); }

// `bytes` with a little-endian field replaced.
template <typename T>
std::string With(std::string bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
  return bytes;
}

template <typename T>
T Field(const std::string& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

constexpr size_t kTableField = 40;  // e_shoff
constexpr size_t kCountField = 60;  // e_shnum
constexpr size_t kNamesField = 62;  // e_shstrndx

// Where the section header row of `name` begins.
size_t Row(const std::string& bytes, absl::string_view name) {
  const absl::StatusOr<ElfFile> file = ElfFile::Parse(bytes);
  const ElfSection* section = file->FindSection(name);
  return Field<uint64_t>(bytes, kTableField) + 64 * (section - file->sections().data());
}

void ExpectRefused(const std::string& bytes, absl::string_view message) {
  const absl::StatusOr<ElfFile> file = ElfFile::Parse(bytes);
  ASSERT_FALSE(file.ok()) << "expected: " << message;
  EXPECT_TRUE(absl::StrContains(file.status().message(), message)) << file.status();
}

TEST(ElfTest, ReadsWhatTheCompilerWrote) {
  const std::string bytes = Sample();
  const absl::StatusOr<ElfFile> file = ElfFile::Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->type(), ElfType::kRelocatable);
  const ElfSection* text = file->FindSection(".text");
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(text->flags & (kFlagAlloc | kFlagExec | kFlagWrite), kFlagAlloc | kFlagExec);
  EXPECT_EQ(text->data.size(), text->size);
  const ElfSection* bss = file->FindSection(".bss");
  ASSERT_NE(bss, nullptr);
  EXPECT_EQ(bss->type, kSectionNoBits);
  EXPECT_GE(bss->size, 4000u);
  EXPECT_TRUE(bss->data.empty());

  const ElfSymbol* add = file->FindSymbol("Add");
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(add->type, SymbolType::kFunction);
  EXPECT_EQ(add->binding, SymbolBinding::kGlobal);
  EXPECT_EQ(add->place, ElfSymbol::Place::kSection);
  EXPECT_LT(add->value, text->size);
  EXPECT_EQ(file->FindSymbol("expf"), nullptr) << "it is not defined here";
  EXPECT_EQ(file->FindSymbol("Twice"), nullptr) << "it is local";
}

TEST(ElfTest, ReadsRelocations) {
  const std::string bytes = Sample();
  const absl::StatusOr<ElfFile> file = ElfFile::Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  const ElfSection* rela = file->FindSection(".rela.text");
  ASSERT_NE(rela, nullptr);
  const uint32_t index = static_cast<uint32_t>(rela - file->sections().data());
  const absl::StatusOr<std::vector<ElfRelocation>> rows = file->Relocations(index);
  ASSERT_TRUE(rows.ok()) << rows.status();
  bool calls_expf = false;
  for (const ElfRelocation& row : *rows) {
    EXPECT_LT(row.offset, file->FindSection(".text")->size);
    calls_expf |= file->symbols()[row.symbol].name == "expf";
  }
  EXPECT_TRUE(calls_expf);
  EXPECT_FALSE(file->Relocations(0).ok());
  EXPECT_FALSE(file->Relocations(1u << 30).ok());
}

TEST(ElfTest, SaysWhichFieldIsWrong) {
  const std::string good = Sample();
  ExpectRefused("", "the header needs 64 bytes, the file has 0");
  ExpectRefused(With<uint8_t>(good, 1, 'F'), "no magic number");
  ExpectRefused(With<uint8_t>(good, 4, 1), "64-bit little-endian");
  ExpectRefused(With<uint8_t>(good, 5, 2), "64-bit little-endian");
  ExpectRefused(With<uint64_t>(good, kTableField, good.size()), "e_shoff");
  ExpectRefused(With<uint64_t>(good, kTableField, ~uint64_t{0}), "e_shoff");
  ExpectRefused(With<uint16_t>(good, 58, 40), "e_shentsize is 40");
  ExpectRefused(With<uint16_t>(good, kCountField, 0x7fff), "e_shnum 32767");
  ExpectRefused(With<uint16_t>(good, kNamesField, 0xfffe), "e_shstrndx 65534");

  const size_t text = Row(good, ".text");
  ExpectRefused(With<uint32_t>(good, text, ~0u), "sh_name");
  ExpectRefused(With<uint64_t>(good, text + 24, ~uint64_t{0}), "sh_offset");
  ExpectRefused(With<uint64_t>(good, text + 32, ~uint64_t{0} - 1000), "sh_size");
  ExpectRefused(With<uint64_t>(good, text + 48, 3), "not a power of two");

  const size_t symbols = Row(good, ".symtab");
  ExpectRefused(With<uint32_t>(good, symbols + 40, 9999), "sh_link 9999");
  ExpectRefused(With<uint64_t>(good, symbols + 32, 25), "not a multiple of 24");
  ExpectRefused(With<uint32_t>(good, text + 4, kSectionSymbols), "more than one symbol table");
  const size_t row = Field<uint64_t>(good, symbols + 24) + 24;
  ExpectRefused(With<uint32_t>(good, row, 0x7fffffff), "symbol 1: st_name");
  ExpectRefused(With<uint16_t>(good, row + 6, 0xfeff), "symbol 1: st_shndx");
  ExpectRefused(With<uint16_t>(good, row + 6, 0xff20), "symbol 1: st_shndx");
  ExpectRefused(With<uint16_t>(good, row + 6, 0xffff), "extended section indices");
}

TEST(ElfTest, CountsBeyondSixteenBitsAreInTheNullSection) {
  std::string bytes = Sample();
  const uint64_t table = Field<uint64_t>(bytes, kTableField);
  const uint16_t count = Field<uint16_t>(bytes, kCountField);
  const uint16_t names = Field<uint16_t>(bytes, kNamesField);
  bytes = With<uint16_t>(With<uint16_t>(bytes, kCountField, 0), kNamesField, 0xffff);
  bytes = With<uint64_t>(With<uint32_t>(bytes, table + 40, names), table + 32, count);
  const absl::StatusOr<ElfFile> file = ElfFile::Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->sections().size(), count);
  EXPECT_NE(file->FindSection(".text"), nullptr);
  ExpectRefused(With<uint64_t>(bytes, table + 32, ~uint64_t{0} / 64), "e_shnum");
}

TEST(ElfTest, EveryTruncationIsRefusedOrHarmless) {
  const std::string bytes = Sample();
  for (size_t size = 0; size < bytes.size(); ++size) {
    // The copy ends where the sanitizer notices a byte read beyond it.
    const std::string cut(bytes, 0, size);
    EXPECT_FALSE(ElfFile::Parse(cut).ok()) << size << ": the section table is at the end";
  }
}

TEST(ElfTest, DamagedFilesNeverCrash) {
  const std::string bytes = Sample();
  std::mt19937_64 random(1);
  int parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string damaged = Mutate(bytes, random);
    const absl::StatusOr<ElfFile> file = ElfFile::Parse(damaged);
    if (!file.ok()) continue;
    ++parsed;
    for (uint32_t s = 0; s < file->sections().size(); ++s) {
      (void)file->Relocations(s);
    }
    (void)file->FindSymbol("Kernel");
  }
  EXPECT_GT(parsed, 100) << "the damage is too great to test anything";
  EXPECT_LT(parsed, 19900) << "the damage is too small to test anything";
}

}  // namespace
}  // namespace tg::object
