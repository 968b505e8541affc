#include "tools/mnist_batches.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "tg/tensor/creation.h"

namespace tg::tools {
namespace {

// Image `i`, moved by (down, right) pixels, to `out`, which is zero.
void CopyImage(const data::LabelledImages& images, int64_t i, int64_t down, int64_t right,
               float* out) {
  const int64_t h = images.height, w = images.width;
  const uint8_t* in = images.pixels.data() + i * h * w;
  for (int64_t y = std::max<int64_t>(0, down); y < std::min(h, h + down); ++y) {
    for (int64_t x = std::max<int64_t>(0, right); x < std::min(w, w + right); ++x) {
      out[y * w + x] = static_cast<float>(in[(y - down) * w + x - right]) / 255.0f;
    }
  }
}

Batch ToTensors(const data::LabelledImages& images, const std::vector<float>& pixels,
                const std::vector<int32_t>& labels) {
  const auto size = static_cast<int64_t>(labels.size());
  return {FromData(pixels, {size, 1, images.height, images.width}), FromData(labels, {size})};
}

}  // namespace

uint64_t HostRandom::Next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

int64_t HostRandom::Below(int64_t n) {
  return static_cast<int64_t>((static_cast<unsigned __int128>(Next()) * static_cast<uint64_t>(n)) >>
                              64);
}

Batches::Batches(const data::LabelledImages& images, int64_t size, uint64_t seed, int64_t shift)
    : images_(images),
      size_(size),
      shift_(shift),
      random_(seed),
      order_(images.count),
      next_(images.count) {
  TG_CHECK(images.count > 0 && size > 0 && shift >= 0);
  std::iota(order_.begin(), order_.end(), 0);
  pixels_.resize(size * images.height * images.width);
  labels_.resize(size);
}

Batch Batches::Next() {
  std::fill(pixels_.begin(), pixels_.end(), 0.0f);
  for (int64_t b = 0; b < size_; ++b) {
    if (next_ == order_.size()) {
      for (size_t i = order_.size() - 1; i > 0; --i) {
        std::swap(order_[i], order_[random_.Below(static_cast<int64_t>(i) + 1)]);
      }
      next_ = 0;
    }
    const int64_t i = order_[next_++];
    const int64_t down = shift_ > 0 ? random_.Below(2 * shift_ + 1) - shift_ : 0;
    const int64_t right = shift_ > 0 ? random_.Below(2 * shift_ + 1) - shift_ : 0;
    CopyImage(images_, i, down, right, pixels_.data() + b * images_.height * images_.width);
    labels_[b] = images_.labels[i];
  }
  return ToTensors(images_, pixels_, labels_);
}

Batch BatchInOrder(const data::LabelledImages& images, int64_t begin, int64_t size) {
  std::vector<float> pixels(size * images.height * images.width);
  std::vector<int32_t> labels(size, -1);
  for (int64_t b = 0; b < std::min(size, images.count - begin); ++b) {
    CopyImage(images, begin + b, 0, 0, pixels.data() + b * images.height * images.width);
    labels[b] = images.labels[begin + b];
  }
  return ToTensors(images, pixels, labels);
}

}  // namespace tg::tools
