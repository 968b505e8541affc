#include "codegen/object/relocate.h"

#include <array>
#include <cstring>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace tg::object {
namespace {

struct Outcome {
  absl::Status status;
  uint64_t bytes;  // The eight bytes at the place afterwards.
};

Outcome Apply(ElfMachine machine, uint32_t type, uint64_t before, uint64_t place, uint64_t target,
              int64_t addend) {
  std::array<std::byte, 8> bytes;
  std::memcpy(bytes.data(), &before, 8);
  Outcome outcome;
  outcome.status = ApplyRelocation(machine, type, absl::MakeSpan(bytes), place, target, addend);
  std::memcpy(&outcome.bytes, bytes.data(), 8);
  return outcome;
}

TEST(RelocateTest, X86) {
  struct Case {
    uint32_t type;
    uint64_t place, target;
    int64_t addend;
    bool fits;
    uint64_t bytes;  // From zeroes.
  };
  const Case cases[] = {
      // R_X86_64_64
      {1, 0x1000, 0x123456789abcdef0, 1, true, 0x123456789abcdef1},
      // R_X86_64_PC32: the displacement is counted from the instruction's end, hence -4.
      {2, 0x1000, 0x2000, -4, true, 0xffc},
      {2, 0x2000, 0x1000, -4, true, 0xffffeffc},
      {2, 0x1000, 0x80000fff, 0, true, 0x7fffffff},
      {2, 0x1000, 0x80001000, 0, false, 0},
      {2, 0x80001000, 0x1000, 0, true, 0x80000000},
      {2, 0x80001001, 0x1000, 0, false, 0},
      // R_X86_64_PLT32, GOTPCREL, GOTPCRELX, REX_GOTPCRELX
      {4, 0x1000, 0x1100, -4, true, 0xfc},
      {9, 0x1000, 0x1100, -4, true, 0xfc},
      {41, 0x1000, 0x1100, -4, true, 0xfc},
      {42, 0x1000, 0x1100, -4, true, 0xfc},
      {42, 0x1000, 0x7f0000000000, -4, false, 0},
      // R_X86_64_32: zero-extended. R_X86_64_32S: sign-extended.
      {10, 0, 0xffffffff, 0, true, 0xffffffff},
      {10, 0, 0xffffffff, 1, false, 0},
      {10, 0, 0, -1, false, 0},
      {11, 0, 0x7fffffff, 0, true, 0x7fffffff},
      {11, 0, 0x7fffffff, 1, false, 0},
      {11, 0, 0, -1, true, 0xffffffff},
      // R_X86_64_PC64
      {24, 0x1000, 0x10, 0, true, 0x10 - uint64_t{0x1000}},
      // R_X86_64_NONE
      {0, 0x1000, 0x2000, 0, true, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << "type " << c.type << " target " << c.target);
    const Outcome got = Apply(ElfMachine::kX86_64, c.type, 0, c.place, c.target, c.addend);
    EXPECT_EQ(got.status.code(), c.fits ? absl::StatusCode::kOk : absl::StatusCode::kOutOfRange);
    EXPECT_EQ(got.bytes, c.bytes);
  }
}

TEST(RelocateTest, Aarch64) {
  struct Case {
    uint32_t type;
    uint32_t before;
    uint64_t place, target;
    int64_t addend;
    absl::StatusCode code;
    uint32_t after;
  };
  constexpr absl::StatusCode kOk = absl::StatusCode::kOk;
  constexpr absl::StatusCode kOutOfRange = absl::StatusCode::kOutOfRange;
  const Case cases[] = {
      // bl: 26 bits of words.
      {283, 0x94000000, 0x1000, 0x2000, 0, kOk, 0x94000400},
      {283, 0x94000000, 0x2000, 0x1000, 0, kOk, 0x97fffc00},
      {283, 0x94000000, 0x1000, 0x2002, 0, kOutOfRange, 0x94000000},
      {283, 0x94000000, 0, 0x7fffffc, 0, kOk, 0x95ffffff},
      {283, 0x94000000, 0, 0x8000000, 0, kOutOfRange, 0x94000000},
      {282, 0x14000000, 0x1000, 0x1004, 0, kOk, 0x14000001},
      // adrp x0: 21 bits of pages.
      {275, 0x90000000, 0x1234, 0x5678, 0, kOk, 0x90000020},
      {275, 0x90000000, 0x1234, 0x6678, 0, kOk, 0xb0000020},
      {275, 0x90000000, 0x5678, 0x1234, 0, kOk, 0x90ffffe0},
      {275, 0x90000000, 0, uint64_t{1} << 32, 0, kOutOfRange, 0x90000000},
      {311, 0x90000000, 0x1000, 0x5000, 0, kOk, 0x90000020},
      // add x0, x0: the low 12 bits.
      {277, 0x91000000, 0, 0x12345, 0, kOk, 0x910d1400},
      {277, 0x91000000, 0, 0x12345, 1, kOk, 0x910d1800},
      // ldr: low 12 bits in units of the access.
      {278, 0x39400000, 0, 0x12345, 0, kOk, 0x394d1400},
      {284, 0x79400000, 0, 0x12346, 0, kOk, 0x79468c00},
      {285, 0xb9400000, 0, 0x12344, 0, kOk, 0xb9434400},
      {286, 0xf9400000, 0, 0x12348, 0, kOk, 0xf941a400},
      {286, 0xf9400000, 0, 0x12344, 0, kOutOfRange, 0xf9400000},
      {299, 0x3dc00000, 0, 0x12340, 0, kOk, 0x3dc0d000},
      {312, 0xf9400000, 0, 0x12348, 0, kOk, 0xf941a400},
      // .word
      {261, 0, 0x2000, 0x1000, 0, kOk, 0xfffff000},
      {258, 0, 0, 0xffffffff, 0, kOk, 0xffffffff},
      {258, 0, 0, 0xffffffff, 1, kOutOfRange, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << "type " << c.type << " target " << c.target);
    const Outcome got = Apply(ElfMachine::kAarch64, c.type, c.before, c.place, c.target, c.addend);
    EXPECT_EQ(got.status.code(), c.code) << got.status;
    EXPECT_EQ(static_cast<uint32_t>(got.bytes), c.after) << std::hex << got.bytes;
  }
}

TEST(RelocateTest, WritesNoMoreThanItsWidth) {
  EXPECT_EQ(Apply(ElfMachine::kX86_64, 2, ~uint64_t{0}, 0, 1, 0).bytes, 0xffffffff00000001);
  EXPECT_EQ(ClassifyRelocation(ElfMachine::kX86_64, 2).width, 4);
  EXPECT_EQ(ClassifyRelocation(ElfMachine::kX86_64, 1).width, 8);
}

TEST(RelocateTest, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(ClassifyRelocation(ElfMachine::kX86_64, 23).use, RelocationUse::kUnknown);
  EXPECT_EQ(ClassifyRelocation(ElfMachine::kAmdGpu, 5).use, RelocationUse::kUnknown);
  EXPECT_TRUE(absl::IsUnimplemented(Apply(ElfMachine::kX86_64, 23, 0, 0, 0, 0).status));
  EXPECT_TRUE(absl::IsUnimplemented(Apply(ElfMachine::kAarch64, 1, 0, 0, 0, 0).status));
  std::array<std::byte, 4> small;
  EXPECT_TRUE(absl::IsInvalidArgument(
      ApplyRelocation(ElfMachine::kX86_64, 1, absl::MakeSpan(small), 0, 0, 0)));
}

}  // namespace
}  // namespace tg::object
