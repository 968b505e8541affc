// The convolutional network of the mnist tool and of the benchmarks of training.
#ifndef TG_TOOLS_MNIST_NET_H_
#define TG_TOOLS_MNIST_NET_H_

#include <cstdint>

#include "tg/nn/layers.h"
#include "tg/state/visitor.h"
#include "tg/tensor/tensor.h"

namespace tg::tools {

// conv 5x5x32, relu, conv 5x5x32, relu, batchnorm, maxpool 2x2,
// conv 3x3x64, relu, conv 3x3x64, relu, batchnorm, maxpool 2x2, linear to the classes.
//
// Input (batch, 1, height, width), float32, 0 for background and 1 for ink; output logits
// (batch, classes). For 28 x 28 images and 10 classes: 87,850 trained parameters and 26 MFLOP an
// image forward.
struct DigitNet {
  // The least height and width: one pixel is left after the last pooling.
  static constexpr int64_t kLeastSize = 20;

  // Throws ShapeError for smaller images.
  explicit DigitNet(int64_t height = 28, int64_t width = 28, int64_t classes = 10);

  Tensor operator()(const Tensor& images) const;
  void VisitState(const state::StateVisitor& visit) const;

  nn::Conv2d conv1, conv2;
  nn::BatchNorm bn1;
  nn::Conv2d conv3, conv4;
  nn::BatchNorm bn2;
  nn::Linear fc;
};

}  // namespace tg::tools

#endif  // TG_TOOLS_MNIST_NET_H_
