// Training and testing a DigitNet.
#ifndef TG_TOOLS_MNIST_TRAINING_H_
#define TG_TOOLS_MNIST_TRAINING_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "tg/data/mnist.h"
#include "tg/engine/jit.h"
#include "tg/nn/optim.h"
#include "tools/mnist_batches.h"
#include "tools/mnist_net.h"

namespace tg::tools {

// One optimizer step as one recorded function: forward, backward, update.
class TrainStep {
 public:
  // Trains `net`, which must outlive this. All batches must have one size.
  explicit TrainStep(const DigitNet& net);

  struct Result {
    float loss;       // mean over the batch, before the update
    int64_t correct;  // images of the batch classified right, before the update
  };
  // Throws UsageError when the loss is no longer finite.
  Result operator()(const Batch& batch, double lr);

 private:
  nn::Adam optimizer_;
  Jit step_;
};

// The learning rate of step `step` of `steps`: linearly up to `peak` in the first tenth, then down
// to nearly zero along a cosine.
double LearningRate(int step, int steps, double peak);

struct TrainOptions {
  int steps = 0;
  int64_t batch_size = 0;
  double lr = 0;      // the peak
  uint64_t seed = 0;  // of the order of the images
  int64_t shift = 0;  // pixels that images are moved by at most
};

struct TrainResult {
  std::vector<float> losses;      // one for each step
  double seconds = 0;             // all steps, with compiling
  double first_step_seconds = 0;  // mostly compiling
  double images_per_second = 0;
};

// `on_step` is told the number of steps done.
TrainResult Train(const DigitNet& net, const data::LabelledImages& images,
                  const TrainOptions& options,
                  absl::FunctionRef<void(int done, const TrainStep::Result&)> on_step);

struct TestResult {
  int64_t count = 0;
  int64_t correct = 0;
  // How many images of each class (row) were taken for each class (column).
  std::vector<std::vector<int64_t>> confusion;

  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(count); }
};

// Classifies all images with the running statistics of the net.
TestResult Evaluate(const DigitNet& net, const data::LabelledImages& images, int classes = 10);

}  // namespace tg::tools

#endif  // TG_TOOLS_MNIST_TRAINING_H_
