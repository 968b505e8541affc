#include "codegen/object/amd_code_object.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/process.h"
#include "codegen/object/amd_code_object_writer.h"
#include "codegen/object/mutate_file.h"
#include "gtest/gtest.h"

namespace tg::object {
namespace {

std::string Compiled(absl::string_view processor) {
  return ReadFileOrDie(absl::StrCat("codegen/object/testdata/amd_kernels_", processor, ".o"));
}

AmdCodeObjectSpec SampleSpec(absl::string_view processor) {
  AmdCodeObjectSpec spec;
  spec.processor = FindAmdProcessor(processor);
  spec.text.assign(512, '\0');
  const uint32_t endpgm = 0xbf810000;
  for (size_t at = 0; at < spec.text.size(); at += 4) std::memcpy(&spec.text[at], &endpgm, 4);
  for (const char* name : {"first", "second"}) {
    AmdKernelSpec& kernel = spec.kernels.emplace_back();
    kernel.name = name;
    kernel.entry = 256 * (spec.kernels.size() - 1);
    kernel.size = 4;
    kernel.description.kernarg_size = 16;
    kernel.description.group_segment_fixed_size = 1024;
    kernel.description.next_free_vgpr = 20;
    kernel.description.next_free_sgpr = 10;
    kernel.description.user_sgpr_kernarg_segment_ptr = 1;
    if (spec.processor->is_cdna()) kernel.description.accum_offset = 12;
    kernel.args.push_back({"out", "", 0, 8, "global_buffer", "global"});
  }
  spec.symbols.push_back({"loop", 8, 0, false, false});
  return spec;
}

TEST(AmdCodeObjectTest, ReadsWhatClangWrote) {
  struct Expected {
    const char* processor;
    const char* target;
    uint32_t wavefront;
  };
  constexpr Expected kExpected[] = {
      {"gfx1100", "amdgcn-amd-amdhsa--gfx1100", 32},
      {"gfx1201", "amdgcn-amd-amdhsa--gfx1201", 32},
      {"gfx942", "amdgcn-amd-amdhsa--gfx942", 64},
      {"gfx950", "amdgcn-amd-amdhsa--gfx950", 64},
  };
  for (const Expected& expected : kExpected) {
    const std::string bytes = Compiled(expected.processor);
    const absl::StatusOr<AmdCodeObject> object = AmdCodeObject::Read(bytes);
    ASSERT_TRUE(object.ok()) << expected.processor << ": " << object.status();
    EXPECT_EQ(object->processor().name, expected.processor);
    EXPECT_EQ(AmdTargetName(object->processor(), object->xnack(), object->sramecc()),
              expected.target);
    EXPECT_EQ(object->metadata().target, expected.target);
    EXPECT_EQ(object->version(), 6);
    ASSERT_EQ(object->kernels().size(), 2u);
    for (const AmdKernel& kernel : object->kernels()) {
      EXPECT_GT(kernel.code_size, 16u) << kernel.name;
      ASSERT_GE(kernel.metadata, 0);
      const AmdKernelMetadata& metadata = object->metadata().kernels[kernel.metadata];
      EXPECT_EQ(metadata.name, kernel.name);
      EXPECT_EQ(metadata.wavefront_size, expected.wavefront);
      EXPECT_EQ(metadata.kernarg_segment_size, kernel.descriptor.kernarg_size);
      EXPECT_EQ(metadata.group_segment_fixed_size, kernel.descriptor.group_segment_fixed_size);
    }
    const AmdKernel* scale = object->FindKernel("scale");
    ASSERT_NE(scale, nullptr);
    EXPECT_EQ(scale->descriptor.group_segment_fixed_size, 256u);
    EXPECT_EQ(object->FindKernel("absent"), nullptr);

    // `table`'s address is computed from a distance of two words, relocated in the code.
    const absl::StatusOr<std::string> image = object->Image(0x7f0000000000);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image->size(), object->image_size());
    EXPECT_NE(image->find(std::string("\3\0\0\0\1\0\0\0\4\0\0\0\1\0\0\0", 16)), std::string::npos);
    int64_t offset = 0;
    std::memcpy(&offset, image->data() + scale->descriptor_address + 16, sizeof(offset));
    EXPECT_EQ(scale->descriptor_address + offset, scale->entry);
  }
}

TEST(AmdCodeObjectTest, ReadsWhatItWrites) {
  for (const char* processor :
       {"gfx1100", "gfx1101", "gfx1150", "gfx1200", "gfx1201", "gfx942", "gfx950"}) {
    const AmdCodeObjectSpec spec = SampleSpec(processor);
    const absl::StatusOr<std::string> bytes = WriteAmdCodeObject(spec);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const absl::StatusOr<AmdCodeObject> object = AmdCodeObject::Read(*bytes);
    ASSERT_TRUE(object.ok()) << object.status();
    EXPECT_EQ(object->processor().name, processor);
    EXPECT_EQ(object->type(), ElfType::kShared);
    EXPECT_EQ(object->version(), 5);
    ASSERT_EQ(object->kernels().size(), 2u);
    const absl::StatusOr<std::string> image = object->Image(0);
    ASSERT_TRUE(image.ok()) << image.status();
    for (const AmdKernel& kernel : object->kernels()) {
      EXPECT_EQ(kernel.descriptor_address % 64, 0u);
      EXPECT_EQ(kernel.entry % 256, 0u);
      EXPECT_EQ(kernel.code_size, 4u);
      EXPECT_EQ(image->substr(kernel.entry, 4), spec.text.substr(0, 4));
      EXPECT_EQ(kernel.descriptor.group_segment_fixed_size, 1024u);
      const AmdKernelMetadata& metadata = object->metadata().kernels[kernel.metadata];
      EXPECT_EQ(metadata.vgpr_count, 20u);
      EXPECT_EQ(metadata.args.size(), 1u);
      EXPECT_EQ(metadata.agpr_count.value_or(99), spec.processor->is_cdna() ? 8u : 99u);
    }
    EXPECT_EQ(object->kernels()[1].entry - object->kernels()[0].entry, 256u);
  }
}

TEST(AmdCodeObjectTest, FeaturesAreInTheTarget) {
  AmdCodeObjectSpec spec = SampleSpec("gfx942");
  spec.xnack = AmdFeature::kOff;
  spec.sramecc = AmdFeature::kOn;
  const std::string bytes = *WriteAmdCodeObject(spec);
  const absl::StatusOr<AmdCodeObject> object = AmdCodeObject::Read(bytes);
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(object->xnack(), AmdFeature::kOff);
  EXPECT_EQ(object->sramecc(), AmdFeature::kOn);
  EXPECT_EQ(object->metadata().target, "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-");
}

TEST(AmdCodeObjectTest, RefusesSpecsThatNoLoaderTakes) {
  const auto expect = [](const AmdCodeObjectSpec& spec, absl::string_view message) {
    const absl::Status status = WriteAmdCodeObject(spec).status();
    EXPECT_TRUE(!status.ok() && absl::StrContains(status.message(), message))
        << status << "\nexpected: " << message;
  };
  AmdCodeObjectSpec spec = SampleSpec("gfx1100");
  spec.processor = nullptr;
  expect(spec, "no processor");
  spec = SampleSpec("gfx1100");
  spec.text.clear();
  expect(spec, "no instructions");
  spec = SampleSpec("gfx1100");
  spec.kernels[1].entry = 128;
  expect(spec, "kernel second: its entry 128 must be a multiple of 256");
  spec = SampleSpec("gfx1100");
  spec.kernels[1].entry = 512;
  expect(spec, "kernel second: its entry 512");
  spec = SampleSpec("gfx1100");
  spec.kernels[1].size = 257;
  expect(spec, "kernel second: its size 257 reaches beyond the text");
  spec = SampleSpec("gfx1100");
  spec.kernels[1].name = "first";
  expect(spec, "two symbols are called first");
  spec = SampleSpec("gfx1100");
  spec.symbols[0].name = "first.kd";
  expect(spec, "two symbols are called first.kd");
  spec = SampleSpec("gfx1100");
  spec.symbols[0].offset = 513;
  expect(spec, "symbol loop reaches beyond the text");
  spec = SampleSpec("gfx1100");
  spec.kernels[0].description.next_free_vgpr = 300;
  expect(spec, "kernel first: next_free_vgpr is 300");
}

TEST(AmdCodeObjectTest, EveryTruncationIsRefused) {
  for (const std::string& bytes : {Compiled("gfx942"), *WriteAmdCodeObject(SampleSpec("gfx942"))}) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      const std::string cut(bytes, 0, size);
      EXPECT_FALSE(AmdCodeObject::Read(cut).ok()) << size;
    }
  }
}

TEST(AmdCodeObjectTest, DamagedFilesNeverCrash) {
  std::mt19937_64 random(1);
  for (const std::string& bytes :
       {Compiled("gfx1100"), *WriteAmdCodeObject(SampleSpec("gfx1100"))}) {
    int parsed = 0;
    for (int i = 0; i < 2000; ++i) {
      const std::string damaged = Mutate(bytes, random);
      const absl::StatusOr<AmdCodeObject> object = AmdCodeObject::Read(damaged);
      if (!object.ok()) continue;
      ++parsed;
      (void)object->Image(0x1000);
    }
    EXPECT_GT(parsed, 100) << "the damage is too great to test anything";
    EXPECT_LT(parsed, 1990) << "the damage is too small to test anything";
  }
}

// What a program prints, warnings included.
std::string OutputOf(const std::vector<std::string>& command) {
  const absl::StatusOr<base::ProcessResult> run = base::RunProcess(command);
  return run.ok() ? run->out + run->err : "";
}

TEST(AmdCodeObjectTest, LlvmsToolsReadWhatItWrites) {
  if (OutputOf({"llvm-readelf-22", "--version"}).empty()) {
    GTEST_SKIP() << "llvm-readelf-22 is not installed";
  }
  const std::string path = testing::TempDir() + "/written.co";
  for (const char* processor : {"gfx1100", "gfx1201", "gfx942", "gfx950"}) {
    std::ofstream(path, std::ios::binary) << *WriteAmdCodeObject(SampleSpec(processor));
    const std::string text = OutputOf({"llvm-readelf-22", "-a", "--notes", path});
    EXPECT_FALSE(absl::StrContains(text, "warning")) << text;
    EXPECT_FALSE(absl::StrContains(text, "error")) << text;
    EXPECT_TRUE(absl::StrContains(text, absl::StrCat(", ", processor))) << text;
    EXPECT_TRUE(absl::StrContains(text, "AMDGPU - HSA")) << text;
    EXPECT_TRUE(absl::StrContains(text, ".symbol:         first.kd")) << text;
    const std::string kernel =
        OutputOf({"llvm-objdump-22", "-D", "--disassemble-symbols=first.kd", path});
    EXPECT_TRUE(absl::StrContains(kernel, ".amdhsa_kernel first")) << kernel;
    EXPECT_TRUE(absl::StrContains(kernel, ".amdhsa_kernarg_size 16")) << kernel;
  }
}

}  // namespace
}  // namespace tg::object
