#include "tg/nn/optim.h"

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tg/engine/jit.h"
#include "tg/state/state_dict.h"
#include "tg/tensor/creation.h"

namespace tg::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Values = std::vector<double>;

// An optimizer of one vector, in doubles. Gives the new parameters for a gradient.
using Reference = std::function<Values(const Values& p, const Values& g)>;

Reference SgdReference(SgdOptions o, std::shared_ptr<double> lr) {
  return [o, lr, b = Values()](const Values& p, const Values& g) mutable {
    b.resize(p.size());
    Values next;
    for (size_t i = 0; i < p.size(); ++i) {
      double d = g[i] + o.weight_decay * p[i];
      if (o.classic) {
        // Velocity form: v = momentum * v + lr * g.
        b[i] = o.momentum * b[i] + *lr * d;
        next.push_back(p[i] - (o.nesterov ? *lr * d + o.momentum * b[i] : b[i]));
      } else {
        b[i] = o.momentum * b[i] + d;
        next.push_back(p[i] - *lr * (o.nesterov ? d + o.momentum * b[i] : b[i]));
      }
    }
    return next;
  };
}

Reference LambReference(LambOptions o, bool trust_ratio, std::shared_ptr<double> lr) {
  return [=, t = 0, m = Values(), v = Values()](const Values& p, const Values& g) mutable {
    ++t;
    m.resize(p.size());
    v.resize(p.size());
    Values update;
    double p2 = 0, u2 = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      m[i] = o.b1 * m[i] + (1 - o.b1) * g[i];
      v[i] = o.b2 * v[i] + (1 - o.b2) * g[i] * g[i];
      const double u =
          m[i] / (1 - std::pow(o.b1, t)) / (std::sqrt(v[i] / (1 - std::pow(o.b2, t))) + o.eps) +
          o.weight_decay * p[i];
      update.push_back(u);
      p2 += p[i] * p[i];
      u2 += u * u;
    }
    const double ratio = trust_ratio && p2 > 0 && u2 > 0 ? std::sqrt(p2 / u2) : 1;
    Values next;
    for (size_t i = 0; i < p.size(); ++i) next.push_back(p[i] - *lr * ratio * update[i]);
    return next;
  };
}

// The loss sum(c * (p - target)^4 / 4), whose gradient is c * (p - target)^3.
const Values kStart = {1.5, -0.75, 2.0, 0.25};
const std::vector<float> kTarget = {0.5, 0.5, -0.5, 0.25};
const std::vector<float> kScale = {1, 2, 0.5, 3};

Values GradientAt(const Values& p) {
  Values g;
  for (size_t i = 0; i < p.size(); ++i) g.push_back(kScale[i] * std::pow(p[i] - kTarget[i], 3));
  return g;
}

Tensor LossOf(const Tensor& p) {
  const Tensor d = p - FromData(kTarget);
  return (FromData(kScale) * d.Square().Square()).Sum() * 0.25;
}

Tensor StartParameter() {
  Tensor p = FromData(std::vector<float>(kStart.begin(), kStart.end()));
  p.SetRequiresGrad();
  return p;
}

// Six steps, the learning rate halved after the third, by hand and recorded by a Jit.
void ExpectFollows(
    const std::function<std::unique_ptr<Optimizer>(const std::vector<Tensor>&)>& make,
    const std::function<Reference(std::shared_ptr<double>)>& make_reference, double lr) {
  for (bool jit : {false, true}) {
    base::Scoped<int> training(base::kTraining, 1);
    const Tensor p = StartParameter();
    const std::unique_ptr<Optimizer> optimizer = make({p});
    auto rate = std::make_shared<double>(lr);
    Reference reference = make_reference(rate);
    Values expected = kStart;
    auto step = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      Tensor loss = LossOf(p) * in[0];
      optimizer->ZeroGrad();
      loss.Backward();
      optimizer->Step();
      return {loss};
    };
    Jit recorded(step);
    const Tensor one = FromData(std::vector<float>{1}, {});
    for (int i = 0; i < 6; ++i) {
      if (i == 3) {
        *rate *= 0.5;
        optimizer->SetLr(*rate);
      }
      expected = reference(expected, GradientAt(expected));
      if (jit)
        recorded({one});
      else
        step({one});
      const std::vector<float> actual = p.ToVector<float>();
      for (size_t k = 0; k < expected.size(); ++k) {
        ASSERT_NEAR(actual[k], expected[k], 2e-5)
            << "step " << i << " element " << k << " jit " << jit;
      }
    }
  }
}

void ExpectSgdFollows(const SgdOptions& o) {
  ExpectFollows([&](const std::vector<Tensor>& p) { return std::make_unique<Sgd>(p, o); },
                [&](std::shared_ptr<double> lr) { return SgdReference(o, lr); }, o.lr);
}

TEST(SgdTest, Plain) { ExpectSgdFollows({.lr = 0.05}); }
TEST(SgdTest, WeightDecay) { ExpectSgdFollows({.lr = 0.05, .weight_decay = 0.1}); }
TEST(SgdTest, Momentum) { ExpectSgdFollows({.lr = 0.05, .momentum = 0.9}); }
TEST(SgdTest, Nesterov) { ExpectSgdFollows({.lr = 0.05, .momentum = 0.9, .nesterov = true}); }
TEST(SgdTest, Classic) {
  ExpectSgdFollows({.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .classic = true});
  ExpectSgdFollows({.lr = 0.05, .momentum = 0.9, .nesterov = true, .classic = true});
}

TEST(AdamTest, FollowsReference) {
  const AdamOptions o = {.lr = 0.1, .b1 = 0.8, .b2 = 0.99, .eps = 1e-6};
  ExpectFollows([&](const std::vector<Tensor>& p) { return std::make_unique<Adam>(p, o); },
                [&](std::shared_ptr<double> lr) {
                  return LambReference({o.lr, o.b1, o.b2, o.eps, 0}, false, lr);
                },
                o.lr);
}

TEST(AdamWTest, FollowsReference) {
  const AdamWOptions o = {.lr = 0.1, .weight_decay = 0.2};
  ExpectFollows([&](const std::vector<Tensor>& p) { return std::make_unique<AdamW>(p, o); },
                [&](std::shared_ptr<double> lr) {
                  return LambReference({o.lr, o.b1, o.b2, o.eps, o.weight_decay}, false, lr);
                },
                o.lr);
}

TEST(LambTest, FollowsReference) {
  const LambOptions o = {.lr = 0.02, .weight_decay = 0.1};
  ExpectFollows([&](const std::vector<Tensor>& p) { return std::make_unique<Lamb>(p, o); },
                [&](std::shared_ptr<double> lr) { return LambReference(o, true, lr); }, o.lr);
}

TEST(LambTest, RatioIsOneForZeroParameters) {
  base::Scoped<int> training(base::kTraining, 1);
  Tensor p = Zeros({2}).Clone();
  p.SetRequiresGrad();
  Lamb optimizer({p}, {.lr = 0.5});
  (p * FromData<float>({1, -1})).Sum().Backward();
  optimizer.Step();
  EXPECT_NEAR(p.ToVector<float>()[0], -0.5, 1e-4);
  EXPECT_NEAR(p.ToVector<float>()[1], 0.5, 1e-4);
}

// The comparison must notice another formula.
TEST(OptimizerTest, NegativeControl) {
  const Reference nesterov =
      SgdReference({.momentum = 0.9, .nesterov = true}, std::make_shared<double>(0.05));
  const Reference plain = SgdReference({.momentum = 0.9}, std::make_shared<double>(0.05));
  EXPECT_GT(
      std::abs(nesterov(kStart, GradientAt(kStart))[0] - plain(kStart, GradientAt(kStart))[0]),
      1e-3);
}

TEST(OptimizerTest, SmallFloatsKeepWideState) {
  base::Scoped<int> training(base::kTraining, 1);
  Tensor p = FromData<float>({1, 2}).Cast(kFloat16).Clone();
  p.SetRequiresGrad();
  Adam optimizer({p}, {.lr = 0.25});
  p.Float().Sum().Backward();
  optimizer.Step();
  EXPECT_EQ(p.dtype(), kFloat16);
  EXPECT_THAT(p.ToVector<float>(), ElementsAre(0.75f, 1.75f));
  EXPECT_EQ(state::Find(state::GetStateDict(optimizer), "m.0")->dtype(), kFloat32);
}

TEST(OptimizerTest, SeparatesBuffersAndDropsDuplicates) {
  base::Scoped<int> training(base::kTraining, 1);
  Tensor p = StartParameter();
  Tensor count = Zeros({}, {kInt64, ""}).Clone();
  Sgd optimizer({p, count, p, count}, {.lr = 0.1, .momentum = 0.5});
  EXPECT_EQ(optimizer.params().size(), 1);
  EXPECT_EQ(optimizer.buffers().size(), 1);
  count += 1;
  LossOf(p).Backward();
  optimizer.Step();
  EXPECT_TRUE(count.IsRealized());
  EXPECT_EQ(count.Item<int64_t>(), 1);
  std::vector<std::string> names;
  for (const auto& [name, t] : state::GetStateDict(optimizer, "sgd")) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("sgd.lr", "sgd.b.0"));
}

TEST(OptimizerTest, MinimizeForgetsOldGradients) {
  base::Scoped<int> training(base::kTraining, 1);
  Tensor p = FromData<float>({1, 2});
  p.SetRequiresGrad();
  Sgd optimizer({p}, {.lr = 0.5});
  for (int i = 0; i < 2; ++i) optimizer.Minimize(p.Sum());
  EXPECT_THAT(p.ToVector<float>(), ElementsAre(0, 1));
}

TEST(OptimizerTest, LearningRateIsATensor) {
  base::Scoped<int> training(base::kTraining, 1);
  Tensor p = StartParameter();
  Sgd optimizer({p}, {.lr = 0.1});
  EXPECT_EQ(optimizer.lr().dtype(), kFloat32);
  EXPECT_FLOAT_EQ(optimizer.lr().Item<float>(), 0.1f);
  Tensor(optimizer.lr()).Assign(optimizer.lr() * 0.0);
  LossOf(p).Backward();
  optimizer.Step();
  EXPECT_THAT(p.ToVector<double>(), ElementsAre(1.5, -0.75, 2.0, 0.25));
  EXPECT_EQ(optimizer.lr().Item<float>(), 0.0f);
}

std::string MessageOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no exception";
}

TEST(OptimizerTest, MisuseThrows) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor p = StartParameter();
  EXPECT_THAT(MessageOf([] { Sgd({}); }), HasSubstr("optimizer must have at least one param"));
  EXPECT_THAT(MessageOf([] { Sgd({Zeros({2})}); }), HasSubstr("at least one param"));
  EXPECT_EQ(MessageOf([&] { Sgd({p}, {.lr = -1}); }), "Invalid learning rate: -1");
  EXPECT_EQ(MessageOf([&] { Adam({p}, {.lr = nan}); }), "Invalid learning rate: nan");
  EXPECT_EQ(MessageOf([&] { Sgd({p}, {.momentum = -0.5}); }), "Invalid momentum value: -0.5");
  EXPECT_EQ(MessageOf([&] { AdamW({p}, {.weight_decay = -2}); }), "Invalid weight_decay value: -2");
  EXPECT_EQ(MessageOf([&] { Lamb({p}, {.b2 = 1}); }), "Invalid beta parameter b2: 1");
  EXPECT_THAT(MessageOf([&] { Sgd({p}, {.nesterov = true}); }), HasSubstr("requires a momentum"));

  Sgd optimizer({p});
  EXPECT_EQ(MessageOf([&] { optimizer.Step(); }),
            "TRAINING=0, TRAINING must be enabled to use the optimizer.\n"
            "- help: Consider base::Scoped<int> training(base::kTraining, 1) before calling "
            "Optimizer::Step().");
  base::Scoped<int> training(base::kTraining, 1);
  EXPECT_THAT(MessageOf([&] { optimizer.Step(); }), HasSubstr("parameter 0"));
  EXPECT_THAT(MessageOf([&] { optimizer.Step(); }), HasSubstr("has no gradient; call Backward()"));
  LossOf(p).Backward();
  optimizer.ZeroGrad();
  EXPECT_FALSE(p.grad().defined());
  EXPECT_THAT(MessageOf([&] { optimizer.SetLr(-3); }), HasSubstr("Invalid learning rate: -3"));
}

}  // namespace
}  // namespace tg::nn
