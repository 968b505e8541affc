// Tensors on several devices: copies between them, kernels where their data are, errors.

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "drivers/runtime/counters.h"
#include "gtest/gtest.h"
#include "tg/engine/backend.h"
#include "tg/engine/jit.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/index.h"
#include "tg/tensor/random.h"
#include "tg/tensor/tensor.h"

namespace tg {
namespace {

using Values = std::vector<float>;

class DeviceTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(engine::EngineIsBackend()); }

  template <typename E>
  static std::string Thrown(const std::function<void()>& f) {
    try {
      f();
    } catch (const E& e) {
      return e.what();
    }
    return "";
  }
};

TEST_F(DeviceTest, CopiesThereAndBack) {
  const Tensor x = FromData<float>({1, 2, 3, 4}, {2, 2});
  for (const char* device : {"CPU:1", "INTERP", "CPU"}) {
    const Tensor y = x.To(device);
    EXPECT_EQ(y.device(), device);
    EXPECT_EQ(y.ToVector<float>(), (Values{1, 2, 3, 4}));
    // What is computed from it is computed there; a view or an expression is copied as a whole.
    EXPECT_EQ((y * 2).ToVector<float>(), (Values{2, 4, 6, 8}));
    EXPECT_EQ((x.T() + 1).To(device).Flip(0).ToVector<float>(), (Values{3, 5, 2, 4}));
    EXPECT_EQ((y + 1).To("CPU").MatMul(x).ToVector<float>(), (Values{11, 16, 19, 28}));
  }
}

TEST_F(DeviceTest, OneRunOverThreeDevices) {
  const Tensor a = Arange(6).Cast(kFloat32).Reshape({2, 3}).Clone();
  const Tensor b = (a.To("CPU:1") * 10).Sum(0);
  const Tensor c = (b.To("INTERP") + 1).Exp2().Log2();
  const Tensor d = c.To("CPU") + a;
  Tensor::Realize(std::vector<Tensor>{b, c, d});
  EXPECT_EQ(b.ToVector<float>(), (Values{30, 50, 70}));
  const Values v = d.ToVector<float>();
  for (int i = 0; i < 6; ++i) {
    EXPECT_NEAR(v[i], 31 + 20 * (i % 3) + i, 1e-4);
  }
}

TEST_F(DeviceTest, AssignmentsKeepTheirDevice) {
  Tensor x = Zeros({3}, {kFloat32, "CPU:1"}).Clone().Realize();
  const Tensor y = FromData<float>({1, 2, 3});
  x.Assign(x + y.To("CPU:1"));
  x.Assign(x * 2);
  EXPECT_EQ(x.device(), "CPU:1");
  EXPECT_EQ(x.ToVector<float>(), (Values{2, 4, 6}));
  EXPECT_THROW(x.Assign(y), DeviceError);
}

TEST_F(DeviceTest, NumbersGoWithAny) {
  const Tensor x = FromData<float>({1, 2}, {2}, {{}, "INTERP"});
  EXPECT_EQ((x * 2.5 + 1).ToVector<float>(), (Values{3.5, 6}));
  EXPECT_EQ((Tensor(3).Cast(kFloat32) - x).ToVector<float>(), (Values{2, 1}));
  EXPECT_EQ(Full({2}, 3).To("CPU:1").ToVector<float>(), (Values{3, 3}));
}

TEST_F(DeviceTest, MisuseIsNamed) {
  const Tensor x = Ones({2}).Clone(), y = Ones({2}, {kFloat32, "CPU:1"}).Clone();
  const std::string mixed = Thrown<DeviceError>([&] { x + y; });
  EXPECT_NE(mixed.find("CPU:1"), std::string::npos) << mixed;
  const std::string unknown = Thrown<DeviceError>([&] { x.To("GPU9"); });
  EXPECT_NE(unknown.find("GPU9"), std::string::npos) << unknown;
  EXPECT_THROW(Ones({2}, {kFloat32, "CUDA"}), DeviceError);
}

TEST_F(DeviceTest, AnUnknownRendererIsNamed) {
  base::Scoped<std::string> dev(base::kDev, "CPU:FORTRAN");
  const std::string error = Thrown<Error>([] { (Arange(3) + 1).Clone().Realize(); });
  EXPECT_NE(error.find("FORTRAN"), std::string::npos) << error;
  EXPECT_NE(error.find("CLANG"), std::string::npos) << error;
}

TEST_F(DeviceTest, TheSettingChoosesTheDefault) {
  for (const char* name : {"CPU", "INTERP", "CPU:LLVM", "CPU:CLANG"}) {
    base::Scoped<std::string> dev(base::kDev, name);
    const Tensor x = Arange(5).Clone();
    EXPECT_EQ(x.device(), std::string(name) == "INTERP" ? "INTERP" : "CPU");
    EXPECT_EQ((x * x).Sum().Item<int>(), 30);
  }
}

// NULL runs nothing and counts.
TEST_F(DeviceTest, Null) {
  base::Scoped<std::string> dev(base::kDev, "NULL");
  const Tensor x = Empty({1 << 20, 1 << 10}).Realize();
  const int64_t before = drivers::GlobalCounters().Read().kernels;
  (x.Softmax() + 1).Realize();
  EXPECT_EQ(drivers::GlobalCounters().Read().kernels, before + 1);
  EXPECT_THROW(x.Sum().Item(), Error);
}

TEST_F(DeviceTest, RecordedCopies) {
  Jit f([](const std::vector<Tensor>& in) {
    const Tensor there = in[0].To("CPU:1") * 3;
    return std::vector<Tensor>{there.To("CPU") + in[1], there};
  });
  for (int i = 0; i < 5; ++i) {
    const auto out = f({Full({3}, i).Clone(), FromData<float>({0, 10, 20})});
    EXPECT_EQ(out[0].ToVector<float>(), (Values{3.0f * i, 3.0f * i + 10, 3.0f * i + 20}));
    EXPECT_EQ(out[1].device(), "CPU:1");
    EXPECT_EQ(out[1].ToVector<float>(), Values(3, 3.0f * i));
  }
}

// Streams of their own, which do not depend on each other.
TEST_F(DeviceTest, RandomStreams) {
  ManualSeed(3);
  const Values here = Rand({4}).ToVector<float>();
  const Values there = Rand({4}, {kFloat32, "CPU:1"}).ToVector<float>();
  EXPECT_NE(here, there);
  ManualSeed(3);
  EXPECT_EQ(Rand({4}).ToVector<float>(), here);
  Rand({4});
  EXPECT_EQ(Rand({4}, {kFloat32, "CPU:1"}).ToVector<float>(), there);
}

}  // namespace
}  // namespace tg
