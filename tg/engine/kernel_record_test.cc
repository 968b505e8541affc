#include "tg/engine/kernel_record.h"

#include <random>
#include <string>

#include "codegen/ir/uop.h"
#include "gtest/gtest.h"

namespace tg::engine {
namespace {

KernelRecord Example() {
  KernelRecord k;
  k.name = "E_4_4";
  k.params = {{.dtype = ir::kFloat32, .size = int64_t{5} << 33, .read = false, .written = true},
              {.dtype = ir::kUInt8, .size = 0, .read = true, .written = false},
              {.dtype = ir::kBFloat16, .size = 7, .read = true, .written = true}};
  k.variables = {ir::Variable("n", 1, 100), ir::Variable("start", -3, int64_t{1} << 40)};
  k.threads = 6;
  k.estimates = {.ops = 1e12, .mem_bytes = 4.5, .lds_bytes = 0};
  k.binary = std::string("\0\x7f\xff program", 11);
  return k;
}

TEST(KernelRecordTest, ComesBack) {
  const KernelRecord k = Example();
  const auto r = DecodeKernelRecord(EncodeKernelRecord(k));
  ASSERT_TRUE(r.ok()) << r.status();
  EXPECT_EQ(r->name, k.name);
  ASSERT_EQ(r->params.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(r->params[i].dtype, k.params[i].dtype);
    EXPECT_EQ(r->params[i].size, k.params[i].size);
    EXPECT_EQ(r->params[i].read, k.params[i].read);
    EXPECT_EQ(r->params[i].written, k.params[i].written);
  }
  EXPECT_EQ(r->variables, k.variables);
  EXPECT_EQ(r->threads, 6);
  EXPECT_EQ(r->estimates.ops, 1e12);
  EXPECT_EQ(r->estimates.mem_bytes, 4.5);
  EXPECT_EQ(r->binary, k.binary);
  // Empty in all parts.
  EXPECT_TRUE(DecodeKernelRecord(EncodeKernelRecord(KernelRecord())).ok());
}

TEST(KernelRecordTest, TruncatedAndLongerRecordsAreRefused) {
  const std::string bytes = EncodeKernelRecord(Example());
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(DecodeKernelRecord(bytes.substr(0, n)).ok()) << n;
  }
  EXPECT_FALSE(DecodeKernelRecord(bytes + "x").ok());
}

// Whatever the bytes are: an error or a record that encodes again, and no large allocation.
TEST(KernelRecordTest, RandomBytes) {
  std::mt19937 rng(1);
  const std::string good = EncodeKernelRecord(Example());
  int accepted = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string bytes = good;
    if (trial % 4 == 0) {
      bytes.resize(rng() % 200);
      for (char& c : bytes) c = static_cast<char>(rng());
    } else {
      for (unsigned n = 1 + rng() % 3; n > 0; --n) {
        bytes[rng() % bytes.size()] = static_cast<char>(rng() % 3 == 0 ? 0xff : rng());
      }
    }
    const auto r = DecodeKernelRecord(bytes);
    if (!r.ok()) continue;
    ++accepted;
    EXPECT_TRUE(DecodeKernelRecord(EncodeKernelRecord(*r)).ok());
  }
  // Changes in the binary and in numbers are none of the decoder's business.
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace tg::engine
