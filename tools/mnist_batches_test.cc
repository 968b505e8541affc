#include "tools/mnist_batches.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::tools {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Image i has label i % 10 and a single pixel of ink, i + 1, in its middle (row 1, column 2).
data::LabelledImages SomeImages(int64_t count) {
  data::LabelledImages images;
  images.count = count;
  images.height = 3;
  images.width = 5;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t p = 0; p < 15; ++p) {
      images.pixels.push_back(p == 7 ? static_cast<uint8_t>(i + 1) : 0);
    }
    images.labels.push_back(static_cast<uint8_t>(i % 10));
  }
  return images;
}

// Which images are in the batch, told by their ink.
std::vector<int> Inks(const Batch& batch) {
  const std::vector<float> pixels = batch.images.ToVector<float>();
  std::vector<int> inks;
  for (size_t i = 0; i < pixels.size(); i += 15) {
    const float ink = std::accumulate(pixels.begin() + i, pixels.begin() + i + 15, 0.0f);
    inks.push_back(static_cast<int>(ink * 255 + 0.5f) - 1);
  }
  return inks;
}

TEST(HostRandomTest, IsTheSameEverywhere) {
  // The first outputs of the reference implementation for seed 1234567.
  HostRandom random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317u);
  EXPECT_EQ(random.Next(), 3203168211198807973u);
  EXPECT_EQ(random.Next(), 9817491932198370423u);
  std::vector<int> counts(7);
  for (int i = 0; i < 7000; ++i) ++counts[random.Below(7)];
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 850);
  EXPECT_EQ(random.Below(1), 0);
}

TEST(BatchesTest, EachEpochIsAPermutation) {
  const data::LabelledImages images = SomeImages(30);
  Batches batches(images, 4, 1);
  std::vector<int> seen;
  for (int i = 0; i < 15; ++i) {
    const Batch batch = batches.Next();
    const std::vector<int> inks = Inks(batch);
    const std::vector<int32_t> labels = batch.labels.ToVector<int32_t>();
    EXPECT_EQ(ir::ToString(batch.images.shape()), "(4, 1, 3, 5)");
    for (size_t k = 0; k < inks.size(); ++k) {
      EXPECT_EQ(labels[k], inks[k] % 10);
      seen.push_back(inks[k]);
    }
  }
  const std::vector<int> first(seen.begin(), seen.begin() + 30);
  const std::vector<int> second(seen.begin() + 30, seen.end());
  EXPECT_EQ(std::set<int>(first.begin(), first.end()).size(), 30);
  EXPECT_EQ(std::set<int>(second.begin(), second.end()).size(), 30);
  EXPECT_NE(first, second);
}

TEST(BatchesTest, SeedDecides) {
  const data::LabelledImages images = SomeImages(30);
  EXPECT_EQ(Inks(Batches(images, 20, 5).Next()), Inks(Batches(images, 20, 5).Next()));
  EXPECT_NE(Inks(Batches(images, 20, 5).Next()), Inks(Batches(images, 20, 6).Next()));
}

TEST(BatchesTest, ShiftsMoveThePixel) {
  const data::LabelledImages images = SomeImages(1);
  Batches batches(images, 200, 3, /*shift=*/1);
  const std::vector<float> pixels = batches.Next().images.ToVector<float>();
  std::set<size_t> places;
  for (size_t i = 0; i < pixels.size(); ++i) {
    if (pixels[i] > 0) places.insert(i % 15);
  }
  EXPECT_THAT(places, ElementsAre(1, 2, 3, 6, 7, 8, 11, 12, 13));
}

TEST(BatchInOrderTest, PadsTheLast) {
  const data::LabelledImages images = SomeImages(5);
  const Batch batch = BatchInOrder(images, 3, 4);
  EXPECT_THAT(Inks(batch), ElementsAre(3, 4, -1, -1));
  EXPECT_THAT(batch.labels.ToVector<int32_t>(), ElementsAre(3, 4, -1, -1));
  EXPECT_THAT(BatchInOrder(images, 5, 1).images.ToVector<float>(), Each(0.0f));
}

}  // namespace
}  // namespace tg::tools
