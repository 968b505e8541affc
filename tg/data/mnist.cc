#include "tg/data/mnist.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tg/data/idx.h"

namespace tg::data {
namespace {

// The existing file of `dir` among `stem` followed by each of the usual endings; empty when there
// is none, with the names that were tried appended to `tried`.
std::string FindFile(const std::string& dir, const std::string& stem, const char* suffix,
                     std::vector<std::string>* tried) {
  for (const char* separator : {"-", "."}) {
    for (const char* extension : {"", ".gz"}) {
      std::string name = absl::StrCat(stem, separator, suffix, extension);
      std::string path = absl::StrCat(dir, "/", name);
      struct stat st;
      if (stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode)) return path;
      tried->push_back(std::move(name));
    }
  }
  return "";
}

absl::StatusOr<LabelledImages> LoadPair(const std::string& images_file,
                                        const std::string& labels_file, int classes) {
  absl::StatusOr<IdxArray> images = ReadIdxFile(images_file);
  if (!images.ok()) return images.status();
  absl::StatusOr<IdxArray> labels = ReadIdxFile(labels_file);
  if (!labels.ok()) return labels.status();

  auto fail = [](const std::string& file, auto... why) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", why...));
  };
  auto found = [](const IdxArray& a) {
    return absl::StrCat("found ", a.dtype.ToString(), " [", absl::StrJoin(a.shape, ", "), "]");
  };
  if (images->dtype != ir::kUInt8 || images->shape.size() != 3) {
    return fail(images_file, "images: uint8 [count, height, width] expected, ", found(*images));
  }
  if (labels->dtype != ir::kUInt8 || labels->shape.size() != 1) {
    return fail(labels_file, "labels: uint8 [count] expected, ", found(*labels));
  }
  if (images->bytes.empty()) return fail(images_file, "no pixels, ", found(*images));
  if (images->shape[0] != labels->shape[0]) {
    return fail(labels_file, labels->shape[0], " labels, but ", images->shape[0], " images in ",
                images_file);
  }
  for (size_t i = 0; i < labels->bytes.size(); ++i) {
    if (labels->bytes[i] >= classes) {
      return fail(labels_file, "label ", i, " is ", int{labels->bytes[i]}, ", not below ", classes);
    }
  }
  LabelledImages result;
  result.count = images->shape[0];
  result.height = images->shape[1];
  result.width = images->shape[2];
  result.pixels = std::move(images->bytes);
  result.labels = std::move(labels->bytes);
  result.images_file = images_file;
  result.labels_file = labels_file;
  return result;
}

// Loads the first of the splits named `stems` of which a file exists.
absl::StatusOr<LabelledImages> LoadSplit(const std::string& dir,
                                         const std::vector<std::string>& stems, int classes) {
  std::vector<std::string> tried;
  for (const std::string& stem : stems) {
    std::vector<std::string> missing;
    const std::string images = FindFile(dir, absl::StrCat(stem, "-images"), "idx3-ubyte", &missing);
    const std::string labels = FindFile(dir, absl::StrCat(stem, "-labels"), "idx1-ubyte", &missing);
    if (!images.empty() && !labels.empty()) return LoadPair(images, labels, classes);
    if (!images.empty() || !labels.empty()) {
      return absl::NotFoundError(absl::StrCat(images.empty() ? labels : images,
                                              ": its partner is missing; looked for ",
                                              absl::StrJoin(missing, ", ")));
    }
    tried.insert(tried.end(), missing.begin(), missing.end());
  }
  return absl::NotFoundError(
      absl::StrCat(dir, ": none of these files is there: ", absl::StrJoin(tried, ", ")));
}

}  // namespace

absl::StatusOr<MnistFolder> LoadMnistFolder(const std::string& dir, int classes) {
  absl::StatusOr<LabelledImages> train = LoadSplit(dir, {"train"}, classes);
  if (!train.ok()) return train.status();
  absl::StatusOr<LabelledImages> test = LoadSplit(dir, {"t10k", "test"}, classes);
  if (!test.ok()) return test.status();
  if (train->height != test->height || train->width != test->width) {
    return absl::InvalidArgumentError(absl::StrCat(
        test->images_file, ": images of ", test->height, " x ", test->width, ", but those of ",
        train->images_file, " have ", train->height, " x ", train->width));
  }
  return MnistFolder{*std::move(train), *std::move(test)};
}

}  // namespace tg::data
