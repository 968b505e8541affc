#include "drivers/interp/interp_device.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "codegen/interp/program_builder.h"
#include "codegen/interp/renderer.h"
#include "drivers/runtime/buffer.h"
#include "gtest/gtest.h"

namespace tg::drivers {
namespace {

using ir::UOp;

// out[i] = in[i] + n for 8 elements, in two parts.
lower::LinearProgram AddN() {
  interp::ProgramBuilder b("add_n");
  UOp out = b.Param(ir::kInt32, 8), in = b.Param(ir::kInt32, 8);
  UOp n = b.Variable("n", 1, 5);
  UOp t = b.Loop(2, ir::AxisType::kThread);
  UOp i = b.Loop(4);
  UOp at = b.Add(t * 4 + i);
  b.End(b.Store(out, at, b.Load(in, at) + n), {i});
  return b.Build();
}

class InterpDeviceTest : public testing::Test {
 protected:
  BufferRef Make(const std::vector<int32_t>& v) {
    BufferRef b = Buffer::Create(device_, static_cast<int64_t>(v.size() * 4));
    EXPECT_EQ(b->CopyIn({reinterpret_cast<const std::byte*>(v.data()), v.size() * 4}),
              absl::OkStatus());
    return b;
  }
  std::vector<int32_t> Get(const BufferRef& b) {
    std::vector<int32_t> v(b->size() / 4);
    EXPECT_EQ(b->CopyOut({reinterpret_cast<std::byte*>(v.data()), v.size() * 4}), absl::OkStatus());
    return v;
  }

  std::shared_ptr<Device> device_ = MakeInterpDevice({.name = "INTERP", .threads = 2});
  std::string binary_ = *interp::MakeRenderer()->Compile(AddN());
};

TEST_F(InterpDeviceTest, Runs) {
  EXPECT_TRUE(device_->capabilities().runs_programs && device_->capabilities().host_visible);
  EXPECT_EQ(device_->capabilities().max_threads, 2);
  absl::StatusOr<std::unique_ptr<Program>> program = device_->LoadProgram("add_n", binary_, 2);
  ASSERT_TRUE(program.ok()) << program.status();
  BufferRef in = Make({1, 2, 3, 4, 5, 6, 7, 8}), out = Make(std::vector<int32_t>(8));
  double seconds = -1;
  ASSERT_EQ((*program)->Run({out->device_pointer(), in->device_pointer()}, {3}, &seconds),
            absl::OkStatus());
  EXPECT_GE(seconds, 0);
  EXPECT_EQ(Get(out), (std::vector<int32_t>{4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST_F(InterpDeviceTest, ViewsAndSmallBuffers) {
  absl::StatusOr<std::unique_ptr<Program>> program = device_->LoadProgram("add_n", binary_, 2);
  ASSERT_TRUE(program.ok());
  BufferRef base = Make(std::vector<int32_t>(16, 7));
  BufferRef upper = *Buffer::View(base, 32, 32), late = *Buffer::View(base, 28, 36);
  ASSERT_EQ((*program)->Run({upper->device_pointer(), base->device_pointer()}, {1}),
            absl::OkStatus());
  EXPECT_EQ(Get(base)[7], 7);
  EXPECT_EQ(Get(base)[8], 8);
  absl::Status s = (*program)->Run({late->device_pointer(), base->device_pointer()}, {1});
  EXPECT_TRUE(absl::StrContains(s.message(), "buffer 0 has 28 bytes, not 32")) << s;
  EXPECT_FALSE((*program)->Run({nullptr, base->device_pointer()}, {1}).ok());
  EXPECT_FALSE((*program)->Run({base->device_pointer()}, {1}).ok());
}

TEST_F(InterpDeviceTest, MemoryOfOthers) {
  absl::StatusOr<std::unique_ptr<Program>> program = device_->LoadProgram("add_n", binary_, 2);
  ASSERT_TRUE(program.ok());
  std::vector<int32_t> in(8, 1), out(8);
  EXPECT_EQ((*program)->Run({out.data(), in.data()}, {1}), absl::OkStatus());
  EXPECT_EQ(out, std::vector<int32_t>(8, 2));
}

TEST_F(InterpDeviceTest, FreshMemoryIsNoticeable) {
  BufferRef fresh = Buffer::Create(device_, 8);
  ASSERT_EQ(fresh->Allocate(), absl::OkStatus());
  EXPECT_EQ(Get(fresh)[0], static_cast<int32_t>(0xA5A5A5A5));
  BufferRef zero = Buffer::Create(device_, 8, {.zero = true});
  ASSERT_EQ(zero->Allocate(), absl::OkStatus());
  EXPECT_EQ(Get(zero)[0], 0);
}

TEST_F(InterpDeviceTest, RefusesOtherBinaries) {
  EXPECT_EQ(device_
                ->LoadProgram("add_n",
                              "\x7f"
                              "ELF",
                              2)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device_->LoadProgram("other", binary_, 2).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device_->LoadProgram("add_n", binary_, 1).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tg::drivers
