// Folders of labelled grey images in IDX files: MNIST, Fashion-MNIST and others of the same form.
#ifndef TG_DATA_MNIST_H_
#define TG_DATA_MNIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tg::data {

// Images of one size with a class each.
struct LabelledImages {
  int64_t count = 0;
  int64_t height = 0;           // pixels
  int64_t width = 0;            // pixels
  std::vector<uint8_t> pixels;  // count * height * width, row-major, 0 to 255
  std::vector<uint8_t> labels;  // count, each below the number of classes
  std::string images_file;      // where they came from, for messages
  std::string labels_file;
};

struct MnistFolder {
  LabelledImages train;
  LabelledImages test;
};

// Loads the four files of `dir`:
//   training   train-images, train-labels
//   test       t10k-images, t10k-labels, or else test-images, test-labels
// each followed by "-idx3-ubyte" (images) or "-idx1-ubyte" (labels), where the '-' before idx may
// be a '.', and then by nothing or ".gz". Content decides whether a file is compressed, not its
// name. Of several candidates the first is taken: '-' before '.', plain before ".gz".
//
// Errors: NotFound when a file is missing (the message lists the names that were tried);
// InvalidArgument when a file is no IDX file, images are not u8 [count, height, width] or labels
// not u8 [count], counts disagree or are zero, a label is not below `classes`, or train and test
// images differ in size.
absl::StatusOr<MnistFolder> LoadMnistFolder(const std::string& dir, int classes = 10);

}  // namespace tg::data

#endif  // TG_DATA_MNIST_H_
