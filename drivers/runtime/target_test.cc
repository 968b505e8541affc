#include "drivers/runtime/target.h"

#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace tg::drivers {
namespace {

TEST(TargetTest, Parses) {
  struct Case {
    const char* text;
    Target target;  // interface, indices, device, index, renderer, arch, path
    const char* device_name;
    const char* printed;
  };
  const Case cases[] = {
      {"CPU", {"", "", "CPU", 0, "", "", ""}, "CPU", "CPU"},
      {"cpu", {"", "", "CPU", 0, "", "", ""}, "CPU", "CPU"},
      {"CPU:0", {"", "", "CPU", 0, "", "", ""}, "CPU", "CPU"},
      {"CPU:1", {"", "", "CPU", 1, "", "", ""}, "CPU:1", "CPU:1"},
      {"CPU:llvm", {"", "", "CPU", 0, "LLVM", "", ""}, "CPU", "CPU:LLVM"},
      {"CPU:3:CLANG:x86_64,znver2,-avx512f",
       {"", "", "CPU", 3, "CLANG", "x86_64,znver2,-avx512f", ""},
       "CPU:3",
       "CPU:3:CLANG:x86_64,znver2,-avx512f"},
      {"CPU::x86_64", {"", "", "CPU", 0, "", "x86_64", ""}, "CPU", "CPU::x86_64"},
      {"NULL:HIP:gfx950", {"", "", "NULL", 0, "HIP", "gfx950", ""}, "NULL", "NULL:HIP:gfx950"},
      {"MOCKKFD+AMD:LLVM:gfx1100",
       {"MOCKKFD", "", "AMD", 0, "LLVM", "gfx1100", ""},
       "MOCKKFD+AMD",
       "MOCKKFD+AMD:LLVM:gfx1100"},
      {"pci:0,2+amd:1", {"PCI", "0,2", "AMD", 1, "", "", ""}, "PCI:0,2+AMD:1", "PCI:0,2+AMD:1"},
      {"PCI:0-3+AMD", {"PCI", "0-3", "AMD", 0, "", "", ""}, "PCI:0-3+AMD", "PCI:0-3+AMD"},
      {"disk:/Data/a+b:c",
       {"", "", "DISK", 0, "", "", "/Data/a+b:c"},
       "DISK:/Data/a+b:c",
       "DISK:/Data/a+b:c"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const absl::StatusOr<Target> target = ParseTarget(c.text);
    ASSERT_TRUE(target.ok()) << target.status();
    EXPECT_EQ(*target, c.target);
    EXPECT_EQ(target->DeviceName(), c.device_name);
    EXPECT_EQ(target->ToString(), c.printed);
  }
}

TEST(TargetTest, RefusesWithReason) {
  struct Case {
    const char* text;
    const char* why;
  };
  const Case cases[] = {
      {"", "no device's name"},
      {":1", "no device's name"},
      {"1", "no device's name"},
      {"C PU", "no device's name"},
      {"CPU:", "nothing after the last ':'"},
      {"CPU:LLVM:", "nothing after the last ':'"},
      {"CPU:LLVM:a:b", "too many ':'"},
      {"CPU:1:LLVM:a:b", "too many ':'"},
      {"CPU:9999999999999999999", "too large an index"},
      {"CPU:-1", "a renderer that is no name"},
      {"A+B+C", "too many '+'"},
      {"+AMD", "no interface's name"},
      {"A:1:2+AMD", "too many ':' before '+'"},
      {"A:x+AMD", "indices"},
      {"A:1-2-3+AMD", "indices"},
      {"A:+AMD", "indices"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const absl::StatusOr<Target> target = ParseTarget(c.text);
    ASSERT_FALSE(target.ok()) << target->ToString();
    EXPECT_TRUE(absl::IsInvalidArgument(target.status()));
    EXPECT_TRUE(absl::StrContains(target.status().message(), c.why)) << target.status();
    EXPECT_TRUE(absl::StrContains(target.status().message(), c.text)) << target.status();
  }
}

TEST(TargetTest, WhatParsesPrintsAndParsesBack) {
  std::mt19937 random(3);
  const std::string letters = "AMDcpu01:+,-_ /";
  int parsed = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string text;
    const size_t length = random() % 12;
    while (text.size() < length) text += letters[random() % letters.size()];
    const absl::StatusOr<Target> target = ParseTarget(text);
    if (!target.ok()) continue;
    ++parsed;
    const absl::StatusOr<Target> again = ParseTarget(target->ToString());
    ASSERT_TRUE(again.ok()) << text << ": " << again.status();
    ASSERT_EQ(*again, *target) << text;
  }
  EXPECT_GT(parsed, 1000);
}

}  // namespace
}  // namespace tg::drivers
