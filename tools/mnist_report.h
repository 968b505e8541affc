// What the mnist tool prints at its end.
#ifndef TG_TOOLS_MNIST_REPORT_H_
#define TG_TOOLS_MNIST_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tools/mnist_training.h"

namespace tg::tools {

struct MnistReport {
  std::string data;                  // the folder
  std::optional<TrainResult> train;  // absent when only tested
  TrainOptions options;
  TestResult test;
  int64_t parameters = 0;  // numbers that are trained
  std::string model_file;  // saved to, or loaded from; empty: neither
};

// "98.7%": one digit, and never 100% unless all are right.
std::string FormatAccuracy(int64_t correct, int64_t count);

// "1,234,567".
std::string FormatCount(int64_t n);

// A table with a row for each true digit: what it was taken for, and how many were right. Zeros are
// dots; in colour, mistakes are red.
std::string FormatConfusion(const TestResult& test, bool color);

// One line of JSON, without the newline:
//   test_accuracy      0 to 1
//   test_correct, test_images
//   confusion          [true digit][predicted digit]
//   steps, batch_size, lr, shift, seed, parameters, data, model
//   losses             one for each step
//   seconds            of the training, with compiling
//   first_step_seconds
//   images_per_second
// Without training steps is 0, losses empty, the times 0. model is null when there is no file.
std::string ToJson(const MnistReport& report);

}  // namespace tg::tools

#endif  // TG_TOOLS_MNIST_REPORT_H_
