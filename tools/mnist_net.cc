#include "tools/mnist_net.h"

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace tg::tools {
namespace {

constexpr int64_t kChannels1 = 32, kChannels2 = 64;

// What is left of an axis before the linear layer: each convolution takes kernel - 1, each pooling
// halves, rounding down.
int64_t SizeAfterPooling(int64_t size) {
  if (size < DigitNet::kLeastSize) {
    throw ShapeError(absl::StrCat("digit net: images of at least ", DigitNet::kLeastSize, " x ",
                                  DigitNet::kLeastSize, " pixels expected, got a side of ", size));
  }
  return ((size - 4 - 4) / 2 - 2 - 2) / 2;
}

}  // namespace

DigitNet::DigitNet(int64_t height, int64_t width, int64_t classes)
    : conv1(1, kChannels1, 5),
      conv2(kChannels1, kChannels1, 5),
      bn1(kChannels1),
      conv3(kChannels1, kChannels2, 3),
      conv4(kChannels2, kChannels2, 3),
      bn2(kChannels2),
      fc(kChannels2 * SizeAfterPooling(height) * SizeAfterPooling(width), classes) {}

Tensor DigitNet::operator()(const Tensor& images) const {
  Tensor x = bn1(conv2(conv1(images).Relu()).Relu()).MaxPool2d();
  x = bn2(conv4(conv3(x).Relu()).Relu()).MaxPool2d();
  return fc(x.Flatten(1));
}

void DigitNet::VisitState(const state::StateVisitor& visit) const {
  visit("conv1", conv1);
  visit("conv2", conv2);
  visit("bn1", bn1);
  visit("conv3", conv3);
  visit("conv4", conv4);
  visit("bn2", bn2);
  visit("fc", fc);
}

}  // namespace tg::tools
