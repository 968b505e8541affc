// Trains a convolutional network on handwritten digits and tests it. See --help.

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/progress.h"
#include "base/runfiles.h"
#include "base/terminal.h"
#include "tg/data/mnist.h"
#include "tg/state/state_dict.h"
#include "tg/tensor/random.h"
#include "tools/mnist_net.h"
#include "tools/mnist_report.h"
#include "tools/mnist_training.h"

namespace tg::tools {
namespace {

constexpr char kDescription[] =
    "Trains a small convolutional network on grey images of handwritten digits, tests it on images "
    "that it has not seen, shows what it took each digit for, and saves it.\n"
    "\n"
    "Without flags it uses the 8,000 training and 1,000 test digits that come with it, takes under "
    "a minute on two cores, and gets more than 98 of 100 test digits right.\n"
    "\n"
    "The network: convolution 5x5 to 32 channels, relu, convolution 5x5 to 32, relu, batch "
    "normalization, max pooling 2x2, convolution 3x3 to 64, relu, convolution 3x3 to 64, relu, "
    "batch normalization, max pooling 2x2, linear to 10 classes. The optimizer is Adam. The "
    "learning rate rises during the first tenth of the steps and then falls along a cosine.\n"
    "\n"
    "Everything random follows from --seed: the same seed gives the same losses, bit for bit, "
    "whatever the number of threads (setting CPU_COUNT).";

constexpr char kFilesText[] =
    "--data takes a folder with four IDX files, each plain or gzip:\n"
    "\n"
    "  train-images-idx3-ubyte[.gz]   train-labels-idx1-ubyte[.gz]\n"
    "  t10k-images-idx3-ubyte[.gz]    t10k-labels-idx1-ubyte[.gz]\n"
    "\n"
    "The test files may be called test-... as well. Images are at least 20 x 20 bytes, labels 0 to "
    "9; MNIST and Fashion-MNIST come in this form.\n"
    "\n"
    "--save and --load use the safetensors format. A model file appears whole or not at all.";

constexpr char kJsonText[] =
    "With --json the last line on stdout is one object, and everything else goes to stderr:\n"
    "\n"
    "  test_accuracy       0 to 1\n"
    "  test_correct, test_images, confusion [true digit][predicted digit]\n"
    "  steps, batch_size, lr, shift, seed, parameters, data, model (file or null)\n"
    "  losses              one for each step\n"
    "  seconds             of the training, compiling included\n"
    "  first_step_seconds  until the first step is done: mostly compiling\n"
    "  images_per_second   over the whole training";

constexpr char kExamplesText[] =
    "  mnist\n"
    "  mnist --steps 100 --seed 7 --json\n"
    "  mnist --data ~/fashion-mnist --save fashion.safetensors\n"
    "  mnist --load mnist.safetensors --eval_only";

struct Flags {
  int steps = 300;
  int batch_size = 128;
  double lr = 0.004;
  int shift = 2;
  int64_t seed = 42;
  std::string data;
  std::string save = "mnist.safetensors";
  std::string load;
  bool eval_only = false;
  bool json = false;
};

absl::Status CheckFlags(const Flags& f) {
  auto wrong = [](auto... parts) { return absl::InvalidArgumentError(absl::StrCat(parts...)); };
  if (f.steps < 1) return wrong("--steps=", f.steps, ": expected at least 1");
  if (f.batch_size < 1 || f.batch_size > 65536) {
    return wrong("--batch_size=", f.batch_size, ": expected 1 to 65536");
  }
  if (!(f.lr > 0) || std::isinf(f.lr)) return wrong("--lr=", f.lr, ": expected a positive number");
  if (f.shift < 0 || f.shift > 8) return wrong("--shift=", f.shift, ": expected 0 to 8");
  if (f.seed < 0) return wrong("--seed=", f.seed, ": expected 0 or more");
  if (f.eval_only && f.load.empty()) {
    return wrong("--eval_only needs a model to test: --load FILE");
  }
  return absl::OkStatus();
}

// The training's outcome should not be lost for a folder that is not there.
absl::Status CheckCanSave(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": is a folder; --save takes a file"));
  }
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? std::string(".") : parent.string();
  if (!std::filesystem::is_directory(folder, ignored)) {
    return absl::NotFoundError(absl::StrCat(path, ": there is no folder ", folder, "; create it"));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0 && access(path.c_str(), W_OK) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": cannot write there; --save names another file"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> DataFolder(const Flags& flags) {
  if (!flags.data.empty()) return base::ResolveUserPath(flags.data);
  absl::StatusOr<std::string> file = base::FindRunfile("testdata/mnist/train-images-idx3-ubyte.gz");
  if (!file.ok()) return file.status();
  return std::filesystem::path(*file).parent_path().string();
}

absl::Status LoadModel(const std::string& path, const DigitNet& net) {
  absl::StatusOr<state::StateDict> dict = state::SafeLoad(path);
  if (!dict.ok()) return dict.status();
  try {
    for (const std::string& line : state::LoadStateDict(net, *dict).Warnings()) {
      std::fprintf(stderr, "%s\n", line.c_str());
    }
  } catch (const DataError& error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.what()));
  }
  return absl::OkStatus();
}

int64_t CountTrained(const DigitNet& net) {
  int64_t count = 0;
  for (const Tensor& t : state::GetParameters(net))
    count += t.requires_grad() ? t.NumElements() : 0;
  return count;
}

TrainResult TrainWithProgress(const DigitNet& net, const data::LabelledImages& images,
                              const TrainOptions& options) {
  base::Progress progress({.label = "train", .total = options.steps});
  // Smoothed, since single batches jump. The weights of the first steps add up to less than 1.
  constexpr double kDecay = 0.9;
  double weight = 0, loss = 0, accuracy = 0;
  auto on_step = [&](int done, const TrainStep::Result& r) {
    weight = kDecay * weight + 1;
    loss = kDecay * loss + r.loss;
    accuracy = kDecay * accuracy +
               static_cast<double>(r.correct) / static_cast<double>(options.batch_size);
    progress.Update(
        done, absl::StrFormat("loss %.3f  acc %.1f%%", loss / weight, 100 * accuracy / weight));
  };
  return Train(net, images, options, on_step);
}

absl::Status Run(const Flags& flags) {
  std::FILE* out = flags.json ? stderr : stdout;
  MnistReport report;
  report.options.steps = flags.steps;
  report.options.batch_size = flags.batch_size;
  report.options.lr = flags.lr;
  report.options.shift = flags.shift;
  report.options.seed = static_cast<uint64_t>(flags.seed);

  absl::StatusOr<std::string> folder = DataFolder(flags);
  if (!folder.ok()) return folder.status();
  report.data = *folder;
  absl::StatusOr<data::MnistFolder> data = data::LoadMnistFolder(*folder);
  if (!data.ok()) return data.status();
  const int64_t height = data->train.height, width = data->train.width;
  if (height < DigitNet::kLeastSize || width < DigitNet::kLeastSize) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: images of %d x %d; the network needs at least %d x %d", data->train.images_file,
        height, width, DigitNet::kLeastSize, DigitNet::kLeastSize));
  }
  const bool save = !flags.eval_only && !flags.save.empty();
  const std::string save_file = base::ResolveUserPath(flags.save);
  if (save) {
    if (absl::Status status = CheckCanSave(save_file); !status.ok()) return status;
  }

  ManualSeed(report.options.seed);
  const DigitNet net(height, width);
  report.parameters = CountTrained(net);
  std::fprintf(out, "data   %s: %s training and %s test images of %d x %d\n",
               flags.data.empty() ? "the digits of this tool" : folder->c_str(),
               FormatCount(data->train.count).c_str(), FormatCount(data->test.count).c_str(),
               static_cast<int>(height), static_cast<int>(width));
  std::fprintf(out, "net    %s parameters\n", FormatCount(report.parameters).c_str());
  if (!flags.load.empty()) {
    report.model_file = base::ResolveUserPath(flags.load);
    if (absl::Status status = LoadModel(report.model_file, net); !status.ok()) return status;
    std::fprintf(out, "loaded %s\n", report.model_file.c_str());
  }
  std::fflush(out);

  if (!flags.eval_only) {
    report.train = TrainWithProgress(net, data->train, report.options);
    std::fprintf(out, "train  %s steps of %s images in %.1f s, %s images/s\n",
                 FormatCount(flags.steps).c_str(), FormatCount(flags.batch_size).c_str(),
                 report.train->seconds,
                 FormatCount(std::llround(report.train->images_per_second)).c_str());
    std::fflush(out);
  }
  if (save) {
    // Before the test, which could be interrupted.
    const absl::Status status = state::SafeSave(save_file, state::GetStateDict(net),
                                                {{"net", "tg mnist"},
                                                 {"steps", absl::StrCat(flags.steps)},
                                                 {"seed", absl::StrCat(flags.seed)}});
    if (!status.ok()) return status;
    report.model_file = save_file;
  }

  report.test = Evaluate(net, data->test);
  std::fprintf(out, "test   %s of %s images right (%s wrong)\n\n%s",
               FormatAccuracy(report.test.correct, report.test.count).c_str(),
               FormatCount(report.test.count).c_str(),
               FormatCount(report.test.count - report.test.correct).c_str(),
               FormatConfusion(report.test, base::UseColor(out)).c_str());
  if (save) std::fprintf(out, "\nsaved  %s\n", save_file.c_str());
  if (flags.json) std::fprintf(stdout, "%s\n", ToJson(report).c_str());
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    return absl::DataLossError("stdout: cannot write the result");
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Flags f;
  base::Flags flags("mnist", "trains a convolutional network on handwritten digits");
  flags.SetDescription(kDescription);
  flags.Add("steps", &f.steps, "N", "optimizer steps");
  flags.Add("batch_size", &f.batch_size, "N", "images in a step");
  flags.Add("lr", &f.lr, "RATE", "the highest learning rate");
  flags.Add("shift", &f.shift, "PIXELS",
            "training images are moved by up to this much, at random, so that the network learns "
            "shapes rather than places; 0: not");
  flags.Add("seed", &f.seed, "N", "start of everything random");
  flags.Add("data", &f.data, "DIR", "folder of IDX files; without it, the digits of this tool");
  flags.Add("save", &f.save, "FILE",
            "where the trained model goes; an empty name: it is not saved");
  flags.Add("load", &f.load, "FILE", "a saved model to start from, or to test");
  flags.Add("eval_only", &f.eval_only, "tests the model of --load without training or saving");
  flags.Add("json", &f.json, "ends with one JSON object on stdout");
  flags.AddSection("FILES", kFilesText);
  flags.AddSection("OUTPUT", kJsonText);
  flags.AddSection("EXAMPLES", kExamplesText);
  flags.ParseOrExit(argc, argv);
  if (absl::Status status = CheckFlags(f); !status.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
    return 2;
  }
  try {
    const absl::Status status = Run(f);
    if (status.ok()) return 0;
    std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "error: out of memory; try a smaller --batch_size than %d\n",
                 f.batch_size);
  }
  return 1;
}

}  // namespace
}  // namespace tg::tools

int main(int argc, char** argv) { return tg::tools::Main(argc, argv); }
