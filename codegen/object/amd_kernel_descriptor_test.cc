#include "codegen/object/amd_kernel_descriptor.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "codegen/object/mutate_file.h"
#include "gtest/gtest.h"

namespace tg::object {
namespace {

const AmdProcessor& Processor(absl::string_view name) {
  const AmdProcessor* processor = FindAmdProcessor(name);
  EXPECT_NE(processor, nullptr) << name;
  return *processor;
}

std::string Hex(const AmdKernelDescriptor& descriptor) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(&descriptor), sizeof(descriptor)));
}

// Each line is processor, name=value pairs and the bytes that LLVM makes of them.
TEST(AmdKernelDescriptorTest, EqualsLlvms) {
  const std::string text = ReadFileOrDie("codegen/object/testdata/amd_descriptors.txt");
  int cases = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> columns = absl::StrSplit(line, ' ');
    ASSERT_EQ(columns.size(), 3u) << line;
    const AmdProcessor& processor = Processor(columns[0]);
    AmdKernelDescription description;
    for (absl::string_view pair : absl::StrSplit(columns[1], ',')) {
      const std::pair<std::string, std::string> named = absl::StrSplit(pair, '=');
      uint64_t value = 0;
      ASSERT_TRUE(absl::SimpleAtoi(named.second, &value));
      const absl::Status set = SetAmdKernelValue(processor, named.first, value, &description);
      ASSERT_TRUE(set.ok()) << set << "\n" << line;
    }
    const absl::StatusOr<AmdKernelDescriptor> descriptor =
        MakeAmdKernelDescriptor(processor, description);
    ASSERT_TRUE(descriptor.ok()) << descriptor.status() << "\n" << line;
    EXPECT_EQ(Hex(*descriptor), columns[2]) << line;
    // The negative control: one value more, and the bytes differ.
    description.kernarg_size += 1;
    EXPECT_NE(Hex(*MakeAmdKernelDescriptor(processor, description)), columns[2]) << line;
    ++cases;
  }
  EXPECT_EQ(cases, 200);
}

TEST(AmdKernelDescriptorTest, ValuesComeBack) {
  AmdKernelDescription description;
  description.next_free_vgpr = 100;
  description.accum_offset = 64;
  description.next_free_sgpr = 30;
  description.user_sgpr_kernarg_segment_ptr = 1;
  description.tg_split = 1;
  const absl::StatusOr<AmdKernelDescriptor> descriptor =
      MakeAmdKernelDescriptor(Processor("gfx942"), description);
  ASSERT_TRUE(descriptor.ok()) << descriptor.status();
  int found = 0;
  for (const auto& [name, value] : AmdKernelValues(Processor("gfx942"), *descriptor)) {
    if (name == "vgprs") found += value == 104;
    if (name == "accum_offset") found += value == 64;
    if (name == "sgprs") found += value == 40;
    if (name == "user_sgpr_count") found += value == 2;
    if (name == "tg_split") found += value == 1;
    EXPECT_NE(name, "workgroup_processor_mode") << "CDNA has no such thing";
  }
  EXPECT_EQ(found, 5);
}

TEST(AmdKernelDescriptorTest, SaysWhatIsWrong) {
  struct Case {
    const char* processor;
    const char* name;
    uint32_t value;
    const char* message;
  };
  constexpr Case kCases[] = {
      {"gfx1100", "tg_split", 1, "gfx1100 has no tg_split"},
      {"gfx942", "wavefront_size32", 1, "gfx942 has no wavefront_size32"},
      {"gfx1201", "ieee_mode", 1, "gfx1201 has no ieee_mode"},
      {"gfx1100", "no_such_thing", 1, "no value is called no_such_thing"},
      {"gfx1100", "float_round_mode_32", 4, "float_round_mode_32 is 4; the largest possible"},
      {"gfx1100", "inst_pref_size", 64, "inst_pref_size is 64; the largest possible value is 63"},
      {"gfx1201", "inst_pref_size", 256, "the largest possible value is 255"},
      {"gfx1100", "next_free_vgpr", 257, "next_free_vgpr is 257; the largest possible"},
      {"gfx1100", "next_free_sgpr", 107, "next_free_sgpr is 107; the largest possible"},
      {"gfx942", "accum_offset", 6, "accum_offset is 6; it must be a multiple of 4"},
      {"gfx942", "accum_offset", 0, "accum_offset is 0; it must be a multiple of 4"},
      {"gfx942", "accum_offset", 64, "accum_offset is 64, beyond all registers"},
      {"gfx942", "user_sgpr_kernarg_preload_length", 4, "preloading reads up to 16"},
      {"gfx1100", "user_sgpr_count", 17, "user_sgpr_count is 17; the largest possible"},
      {"gfx900", "kernarg_size", 8, "gfx900 has no kernarg_size"},
  };
  for (const Case& c : kCases) {
    AmdKernelDescription description;
    description.accum_offset = absl::string_view(c.processor) == "gfx942" ? 4 : 0;
    absl::Status status = SetAmdKernelValue(Processor(c.processor), c.name, c.value, &description);
    if (status.ok()) {
      status = MakeAmdKernelDescriptor(Processor(c.processor), description).status();
    }
    EXPECT_TRUE(!status.ok() && absl::StrContains(status.message(), c.message))
        << c.processor << " " << c.name << ": " << status;
  }
  AmdKernelDescription description;
  description.user_sgpr_count = 1;
  description.user_sgpr_dispatch_ptr = 1;
  EXPECT_EQ(MakeAmdKernelDescriptor(Processor("gfx1100"), description).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeAmdKernelDescriptor(Processor("gfx1030"), {}).status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace tg::object
