#include "codegen/object/amd_metadata.h"

#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/object/mutate_file.h"
#include "gtest/gtest.h"

namespace tg::object {
namespace {

constexpr char kYaml[] = R"(---
amdhsa.kernels:
  - .args:
      - .address_space:  global   # a pointer
        .name:           'it''s out'
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .offset:         0x8
        .size:           4
        .value_kind:     by_value
    .group_segment_fixed_size: 256
    .kernarg_segment_align: 8
    .kernarg_segment_size: 12
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 64
    .name:           scale
    .private_segment_fixed_size: 0
    .reqd_workgroup_size: [64, 1, 1]
    .sgpr_count:     18
    .symbol:         scale.kd
    .uses_dynamic_stack: false
    .vgpr_count:     4
    .wavefront_size: 32
amdhsa.target:   amdgcn-amd-amdhsa--gfx1100
amdhsa.version:
  - 1
  - 2
...
)";

TEST(AmdMetadataTest, ReadsYaml) {
  const absl::StatusOr<std::string> bytes = AmdMetadataFromYaml(kYaml);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const absl::StatusOr<AmdMetadata> metadata = ReadAmdMetadata(*bytes);
  ASSERT_TRUE(metadata.ok()) << metadata.status();
  EXPECT_EQ(metadata->target, "amdgcn-amd-amdhsa--gfx1100");
  ASSERT_EQ(metadata->kernels.size(), 1u);
  const AmdKernelMetadata& kernel = metadata->kernels[0];
  EXPECT_EQ(kernel.name, "scale");
  EXPECT_EQ(kernel.symbol, "scale.kd");
  EXPECT_EQ(kernel.kernarg_segment_size, 12u);
  EXPECT_EQ(kernel.sgpr_count, 18u);
  EXPECT_EQ(kernel.reqd_workgroup_size, (std::vector<uint32_t>{64, 1, 1}));
  ASSERT_EQ(kernel.args.size(), 2u);
  EXPECT_EQ(kernel.args[0].name, "it's out");
  EXPECT_EQ(kernel.args[0].address_space, "global");
  EXPECT_EQ(kernel.args[1].offset, 8u);
  EXPECT_EQ(kernel.args[1].value_kind, "by_value");
  const absl::StatusOr<std::string> json = AmdMetadataJson(*bytes);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_TRUE(absl::StrContains(*json, "\".language\": \"OpenCL C\"")) << *json;
}

TEST(AmdMetadataTest, WritesWhatItReads) {
  AmdMetadata metadata;
  metadata.target = "amdgcn-amd-amdhsa--gfx942";
  AmdKernelMetadata& kernel = metadata.kernels.emplace_back();
  kernel.name = "k";
  kernel.symbol = "k.kd";
  kernel.agpr_count = 16;
  kernel.wavefront_size = 64;
  kernel.reqd_workgroup_size = {8, 8, 1};
  kernel.args.push_back({"a", "int*", 0, 8, "global_buffer", "global"});
  const absl::StatusOr<AmdMetadata> back = ReadAmdMetadata(WriteAmdMetadata(metadata));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->target, metadata.target);
  ASSERT_EQ(back->kernels.size(), 1u);
  EXPECT_EQ(back->kernels[0].agpr_count, 16u);
  EXPECT_EQ(back->kernels[0].max_flat_workgroup_size, 1024u);
  EXPECT_EQ(back->kernels[0].reqd_workgroup_size, kernel.reqd_workgroup_size);
  ASSERT_EQ(back->kernels[0].args.size(), 1u);
  EXPECT_EQ(back->kernels[0].args[0].type_name, "int*");
}

TEST(AmdMetadataTest, SaysWhichLineOfYamlIsWrong) {
  struct Case {
    const char* yaml;
    const char* message;
  };
  constexpr Case kCases[] = {
      {"", "1: the document is empty"},
      {"a: 1\n\nb", "3: expected 'key: value'"},
      {"a: 1\na: 2", "2: two values of a"},
      {"a: 'x", "1: a quote is not closed"},
      {"a: 'x' y", "1: text after a closing quote"},
      {"a: [1, 2", "1: a bracket is not closed on its line"},
      {"a: {b: 1}", "1: values that start with { are not supported"},
      {"a: &x 1", "1: values that start with & are not supported"},
      {"a:\nb: 1", "1: no value"},
      {"a:\n    b: 1\n  c: 1", "3: bad indentation"},
      {"a: 1", "1: metadata: amdhsa.version is not 1"},
      {"- 1", "1: metadata: the document is no map"},
      {"amdhsa.version: [1, 2]\namdhsa.kernels: 1", "amdhsa.kernels must be an array"},
      {"amdhsa.version: [1, 2]\namdhsa.kernels:\n  - .name: k", "kernel 0 has no .symbol"},
      {"amdhsa.version: [1, 2]\namdhsa.target: 3", "amdhsa.target must be a string"},
  };
  for (const Case& c : kCases) {
    const absl::Status status = AmdMetadataFromYaml(c.yaml).status();
    EXPECT_TRUE(!status.ok() && absl::StrContains(status.message(), c.message))
        << c.yaml << "\n"
        << status << "\nexpected: " << c.message;
  }
  std::string deep;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&deep, "- ");
  EXPECT_TRUE(
      absl::StrContains(AmdMetadataFromYaml(deep + "1").status().message(), "more than 16 levels"));
}

TEST(AmdMetadataTest, HostileMessagePackIsRefused) {
  const std::string good = *AmdMetadataFromYaml(kYaml);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ReadAmdMetadata(std::string(good, 0, size)).ok()) << size;
  }
  const std::string deep(1 << 20, '\x91');  // Each an array of one element.
  EXPECT_TRUE(absl::StrContains(ReadAmdMetadata(deep).status().message(), "more than 16 levels"));
  const std::string huge("\xdd\xff\xff\xff\xff", 5);  // An array of 2^32-1 elements.
  EXPECT_FALSE(ReadAmdMetadata(huge).ok());
  std::mt19937_64 random(1);
  int good_count = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string damaged = Mutate(good, random);
    good_count += ReadAmdMetadata(damaged).ok() ? 1 : 0;
    (void)AmdMetadataJson(damaged);
  }
  EXPECT_LT(good_count, 4900) << "the damage is too small to test anything";
}

}  // namespace
}  // namespace tg::object
