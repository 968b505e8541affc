#include "tools/mnist_training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/settings.h"
#include "tg/state/state_dict.h"

namespace tg::tools {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

TrainStep::TrainStep(const DigitNet& net)
    : optimizer_(state::GetParameters(net)),
      step_([this, &net](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        const Tensor logits = net(in[0]);
        const Tensor loss = logits.SparseCategoricalCrossEntropy(in[1]);
        const Tensor correct = (logits.ArgMax(1) == in[1]).Sum();
        optimizer_.ZeroGrad();
        loss.Backward();
        // Everything in one run: the results share the forward pass with the update.
        std::vector<Tensor> all = optimizer_.ScheduleStep();
        all.push_back(loss);
        all.push_back(correct);
        Tensor::Realize(all);
        return {loss, correct};
      }) {}

TrainStep::Result TrainStep::operator()(const Batch& batch, double lr) {
  base::Scoped<int> training(base::kTraining, 1);
  optimizer_.SetLr(lr);
  const std::vector<Tensor> out = step_({batch.images, batch.labels});
  const Result result = {out[0].Item<float>(), out[1].Item<int64_t>()};
  if (!std::isfinite(result.loss)) {
    throw UsageError(absl::StrCat("training: the loss is ", result.loss,
                                  "; try a lower learning rate than ", lr));
  }
  return result;
}

double LearningRate(int step, int steps, double peak) {
  const int warm_up = std::max(1, steps / 10);
  if (step < warm_up) return peak * (step + 1) / warm_up;
  const double progress = static_cast<double>(step - warm_up) / std::max(1, steps - warm_up);
  return peak * (0.005 + 0.995 * 0.5 * (1 + std::cos(std::numbers::pi * progress)));
}

TrainResult Train(const DigitNet& net, const data::LabelledImages& images,
                  const TrainOptions& options,
                  absl::FunctionRef<void(int done, const TrainStep::Result&)> on_step) {
  TrainResult result;
  const Clock::time_point start = Clock::now();
  Batches batches(images, options.batch_size, options.seed, options.shift);
  TrainStep step(net);
  for (int i = 0; i < options.steps; ++i) {
    const TrainStep::Result r = step(batches.Next(), LearningRate(i, options.steps, options.lr));
    result.losses.push_back(r.loss);
    if (i == 0) result.first_step_seconds = SecondsSince(start);
    on_step(i + 1, r);
  }
  result.seconds = SecondsSince(start);
  result.images_per_second =
      static_cast<double>(options.steps * options.batch_size) / std::max(result.seconds, 1e-9);
  return result;
}

TestResult Evaluate(const DigitNet& net, const data::LabelledImages& images, int classes) {
  base::Scoped<int> training(base::kTraining, 0);
  const int64_t batch_size = std::min<int64_t>(images.count, 250);
  Jit classify([&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    return {net(in[0]).Detach().ArgMax(1)};
  });
  TestResult result;
  result.count = images.count;
  result.confusion.assign(classes, std::vector<int64_t>(classes));
  for (int64_t begin = 0; begin < images.count; begin += batch_size) {
    const std::vector<int32_t> predicted =
        classify({BatchInOrder(images, begin, batch_size).images})[0].ToVector<int32_t>();
    for (int64_t i = begin; i < std::min(begin + batch_size, images.count); ++i) {
      const int label = images.labels[i];
      const int guess = std::clamp(predicted[i - begin], 0, classes - 1);
      ++result.confusion[label][guess];
      result.correct += label == guess;
    }
  }
  return result;
}

}  // namespace tg::tools
