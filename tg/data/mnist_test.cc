#include "tg/data/mnist.h"

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tg/data/idx.h"
#include "tg/data/test_files.h"

namespace tg::data {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

Bytes Images(uint8_t count, uint8_t height, uint8_t width) {
  Bytes b = {0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, height, 0, 0, 0, width};
  for (int i = 0; i < count * height * width; ++i) b.push_back(static_cast<uint8_t>(i));
  return b;
}

Bytes Labels(const Bytes& labels) {
  Bytes b = {0, 0, 8, 1, 0, 0, 0, static_cast<uint8_t>(labels.size())};
  for (uint8_t label : labels) b.push_back(label);
  return b;
}

class MnistFolderTest : public ::testing::Test {
 protected:
  void SetUp() override { Clear(); }
  void Clear() {
    dir_ = ::testing::TempDir() + "/mnist_" +
           ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directory(dir_);
  }
  void Write(const std::string& name, const Bytes& bytes) { WriteFile(dir_ + "/" + name, bytes); }
  void WriteGood() {
    Write("train-images-idx3-ubyte", Images(3, 2, 2));
    Write("train-labels-idx1-ubyte", Labels({0, 9, 4}));
    Write("t10k-images-idx3-ubyte", Images(1, 2, 2));
    Write("t10k-labels-idx1-ubyte", Labels({7}));
  }
  // Loads the folder, which must fail with a text that has `part`.
  void ExpectError(absl::StatusCode code, const std::string& part) {
    const absl::Status status = LoadMnistFolder(dir_).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
    EXPECT_THAT(std::string(status.message()), HasSubstr(dir_));
  }
  std::string dir_;
};

TEST_F(MnistFolderTest, LoadsFourFiles) {
  WriteGood();
  auto folder = LoadMnistFolder(dir_);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(folder->train.count, 3);
  EXPECT_EQ(folder->train.height, 2);
  EXPECT_EQ(folder->train.width, 2);
  EXPECT_EQ(folder->train.pixels.size(), 12u);
  EXPECT_EQ(folder->train.labels, (Bytes{0, 9, 4}));
  EXPECT_EQ(folder->test.count, 1);
  EXPECT_EQ(folder->test.labels, (Bytes{7}));
  EXPECT_EQ(folder->test.labels_file, dir_ + "/t10k-labels-idx1-ubyte");
}

TEST_F(MnistFolderTest, TakesTheNamesInUse) {
  for (const char* test : {"t10k", "test"}) {
    for (const char* dot : {"-", "."}) {
      for (bool packed : {false, true}) {
        // A name may say gz of a plain file and the reverse: content decides.
        for (const char* gz : {"", ".gz"}) {
          Clear();
          for (std::string split : {"train", test}) {
            const Bytes images = Images(2, 1, 3);
            const Bytes labels = Labels({1, 2});
            Write(split + "-images" + dot + "idx3-ubyte" + gz, packed ? Gzip(images) : images);
            Write(split + "-labels" + dot + "idx1-ubyte" + gz, packed ? Gzip(labels) : labels);
          }
          auto folder = LoadMnistFolder(dir_);
          ASSERT_TRUE(folder.ok()) << folder.status();
          EXPECT_EQ(folder->test.pixels, (Bytes{0, 1, 2, 3, 4, 5}));
        }
      }
    }
  }
}

TEST_F(MnistFolderTest, MissingFiles) {
  ExpectError(absl::StatusCode::kNotFound, "train-images-idx3-ubyte, train-images-idx3-ubyte.gz");
  WriteGood();
  std::filesystem::remove(dir_ + "/t10k-labels-idx1-ubyte");
  ExpectError(absl::StatusCode::kNotFound, "t10k-images-idx3-ubyte: its partner is missing");
  std::filesystem::remove(dir_ + "/t10k-images-idx3-ubyte");
  ExpectError(absl::StatusCode::kNotFound, "test-labels.idx1-ubyte.gz");
  EXPECT_EQ(LoadMnistFolder(dir_ + "/none").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(MnistFolderTest, RejectsWhatDoesNotFit) {
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  WriteGood();
  Write("train-labels-idx1-ubyte", Labels({0, 1}));
  ExpectError(kInvalid, "2 labels, but 3 images");
  WriteGood();
  Write("train-labels-idx1-ubyte", Labels({0, 10, 1}));
  ExpectError(kInvalid, "label 1 is 10, not below 10");
  EXPECT_TRUE(LoadMnistFolder(dir_, 11).ok());
  WriteGood();
  Write("t10k-images-idx3-ubyte", Images(1, 2, 3));
  ExpectError(kInvalid, "images of 2 x 3");
  WriteGood();
  Write("train-images-idx3-ubyte", Images(0, 2, 2));
  Write("train-labels-idx1-ubyte", Labels({}));
  ExpectError(kInvalid, "no pixels");
  WriteGood();
  Write("train-images-idx3-ubyte", Images(3, 0, 2));
  ExpectError(kInvalid, "no pixels");
  WriteGood();
  Write("train-images-idx3-ubyte", Labels({1, 2, 3}));
  ExpectError(kInvalid, "images: uint8 [count, height, width] expected, found uint8 [3]");
  WriteGood();
  Write("t10k-labels-idx1-ubyte", {0, 0, 9, 1, 0, 0, 0, 1, 1});
  ExpectError(kInvalid, "labels: uint8 [count] expected, found int8 [1]");
  WriteGood();
  Write("t10k-labels-idx1-ubyte", {0, 0, 8, 1, 0, 0, 0, 2, 1});
  ExpectError(kInvalid, "t10k-labels-idx1-ubyte: elements");
}

TEST(Mnist, OwnDigits) {
  auto folder = LoadMnistFolder("testdata/mnist");
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(folder->train.count, 8000);
  EXPECT_EQ(folder->test.count, 1000);
  for (const LabelledImages* split : {&folder->train, &folder->test}) {
    EXPECT_EQ(split->height, 28);
    EXPECT_EQ(split->width, 28);
    std::vector<int> of_class(10);
    for (uint8_t label : split->labels) ++of_class[label];
    for (int n : of_class) EXPECT_GT(n, split->count / 20);
    // Ink covers about an eighth of an image.
    const double mean = std::accumulate(split->pixels.begin(), split->pixels.end(), 0.0) /
                        static_cast<double>(split->pixels.size());
    EXPECT_GT(mean, 20);
    EXPECT_LT(mean, 50);
  }
}

}  // namespace
}  // namespace tg::data
