// Batches of labelled images on the host, in an order that depends on a seed alone.
#ifndef TG_TOOLS_MNIST_BATCHES_H_
#define TG_TOOLS_MNIST_BATCHES_H_

#include <cstdint>
#include <vector>

#include "tg/data/mnist.h"
#include "tg/tensor/tensor.h"

namespace tg::tools {

// Random numbers that are the same everywhere: SplitMix64 (Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014).
class HostRandom {
 public:
  explicit HostRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // Uniform in 0 .. n-1 but for a bias of n / 2^64; n > 0.
  int64_t Below(int64_t n);

 private:
  uint64_t state_;
};

struct Batch {
  Tensor images;  // (size, 1, height, width) float32, ink / 255
  Tensor labels;  // (size) int32
};

// An endless row of batches: all images in random order, then again in another order. A batch may
// span two epochs.
class Batches {
 public:
  // `images` must outlive this and not be empty. Images are moved by up to `shift` pixels up or
  // down and left or right, each time anew, zeros moving in.
  Batches(const data::LabelledImages& images, int64_t size, uint64_t seed, int64_t shift = 0);

  Batch Next();

 private:
  const data::LabelledImages& images_;
  const int64_t size_;
  const int64_t shift_;
  HostRandom random_;
  std::vector<int64_t> order_;
  size_t next_;
  std::vector<float> pixels_;
  std::vector<int32_t> labels_;
};

// Images [begin, begin + size) in order; those past the end are blank and have label -1.
Batch BatchInOrder(const data::LabelledImages& images, int64_t begin, int64_t size);

}  // namespace tg::tools

#endif  // TG_TOOLS_MNIST_BATCHES_H_
