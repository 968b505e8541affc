// The mnist tool from its command line to its files and exit status, on a folder of tiny images.

#include <sys/wait.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/runfiles.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tg/data/idx.h"

namespace tg::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class MnistToolTest : public ::testing::Test {
 protected:
  struct Outcome {
    int status;
    std::string out, err;

    nlohmann::json Json() const {
      const std::vector<std::string> lines = absl::StrSplit(out, '\n', absl::SkipEmpty());
      return lines.empty() ? nlohmann::json() : nlohmann::json::parse(lines.back());
    }
  };

  void SetUp() override {
    dir_ = absl::StrCat(::testing::TempDir(), "/mnist_tool_",
                        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_ + "/data");
    Write("train", 48, 1);
    Write("t10k", 20, 2);
  }

  // Images of 20 x 20 with the label's row of pixels lit, and a little noise.
  void Write(const std::string& split, int count, uint32_t seed) {
    data::IdxArray images{ir::kUInt8, {count, 20, 20}, {}}, labels{ir::kUInt8, {count}, {}};
    for (int i = 0; i < count; ++i) {
      const int label = i % 10;
      labels.bytes.push_back(static_cast<uint8_t>(label));
      for (int p = 0; p < 400; ++p) {
        seed = seed * 1664525 + 1013904223;
        images.bytes.push_back(
            static_cast<uint8_t>((p / 40 == label ? 200 : 0) + (seed >> 24) % 50));
      }
    }
    for (const auto& [name, array] :
         {std::pair{"-images-idx3-ubyte", &images}, {"-labels-idx1-ubyte", &labels}}) {
      const std::vector<uint8_t> bytes = *data::EncodeIdx(*array);
      std::ofstream(absl::StrCat(dir_, "/data/", split, name), std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    }
  }

  // Runs the tool in a shell, in the test's folder; `before` are settings or commands.
  Outcome Run(const std::string& args, const std::string& before = "") {
    static const std::string tool =
        std::filesystem::absolute(*base::FindRunfile("tools/mnist")).string();
    const std::string command =
        absl::StrCat("cd ", dir_, " && export CACHEDB=", ::testing::TempDir(),
                     "/cache.db && unset BUILD_WORKING_DIRECTORY && ", before, " ", tool, " ", args,
                     " >", dir_, "/out 2>", dir_, "/err");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadAll(dir_ + "/out"),
            ReadAll(dir_ + "/err")};
  }

  std::string dir_;
};

const char kShort[] = "--data data --steps 3 --batch_size 16 ";

TEST_F(MnistToolTest, TrainsTestsAndSaves) {
  const Outcome plain = Run(kShort);
  ASSERT_EQ(plain.status, 0) << plain.err;
  EXPECT_THAT(plain.out, HasSubstr("48 training and 20 test images of 20 x 20"));
  EXPECT_THAT(plain.out, HasSubstr("train  3 steps of 16 images"));
  EXPECT_THAT(plain.out, HasSubstr("digit  0"));
  EXPECT_THAT(plain.out, HasSubstr("saved  mnist.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(dir_ + "/mnist.safetensors"));

  const Outcome json = Run(absl::StrCat(kShort, "--json --seed 5 --save other.safetensors"));
  ASSERT_EQ(json.status, 0) << json.err;
  // Nothing but the object on stdout.
  EXPECT_EQ(json.out.find('\n'), json.out.size() - 1);
  const nlohmann::json j = json.Json();
  EXPECT_EQ(j["losses"].size(), 3);
  EXPECT_GE(j["test_accuracy"], 0.0);
  EXPECT_LE(j["test_accuracy"], 1.0);
  EXPECT_EQ(j["test_images"], 20);
  EXPECT_EQ(j["steps"], 3);
  EXPECT_EQ(j["batch_size"], 16);
  EXPECT_EQ(j["seed"], 5);
  EXPECT_GT(j["parameters"], 80000);
  EXPECT_GT(j["seconds"], 0.0);
  EXPECT_GT(j["images_per_second"], 0.0);
  EXPECT_EQ(j["model"], "other.safetensors");
  EXPECT_THAT(json.err, HasSubstr("digit  0"));

  // The saved model tests the same, and can be trained on.
  const Outcome tested = Run("--data data --load other.safetensors --eval_only --json");
  ASSERT_EQ(tested.status, 0) << tested.err;
  EXPECT_EQ(tested.Json()["confusion"], j["confusion"]);
  EXPECT_EQ(tested.Json()["steps"], 0);
  const Outcome more =
      Run(absl::StrCat(kShort, "--seed 5 --load other.safetensors --save '' --json"));
  ASSERT_EQ(more.status, 0) << more.err;
  EXPECT_LT(more.Json()["losses"][0], j["losses"][0]);
  EXPECT_EQ(more.Json()["model"], "other.safetensors");
}

TEST_F(MnistToolTest, SameSeedSameLosses) {
  const std::string args = absl::StrCat(kShort, "--json --save '' --seed ");
  const nlohmann::json one = Run(args + "1", "CPU_COUNT=1").Json()["losses"];
  ASSERT_EQ(one.size(), 3);
  EXPECT_EQ(Run(args + "1", "CPU_COUNT=2").Json()["losses"], one);
  EXPECT_EQ(Run(args + "1", "CPU_COUNT=5").Json()["losses"], one);
  EXPECT_NE(Run(args + "2", "CPU_COUNT=1").Json()["losses"], one);
}

TEST_F(MnistToolTest, WrongUsageExitsWith2) {
  for (const auto& [args, message] : std::vector<std::pair<std::string, std::string>>{
           {"--stesp 3", "did you mean --steps?"},
           {"--steps 0", "--steps=0: expected at least 1"},
           {"--batch_size -1", "--batch_size=-1: expected 1 to 65536"},
           {"--lr 0", "--lr=0: expected a positive number"},
           {"--shift 9", "--shift=9: expected 0 to 8"},
           {"--seed=-1", "--seed=-1: expected 0 or more"},
           {"--eval_only", "--eval_only needs a model to test: --load FILE"},
       }) {
    const Outcome outcome = Run(args);
    EXPECT_EQ(outcome.status, 2) << args;
    EXPECT_THAT(outcome.err, HasSubstr("error: "));
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
  const Outcome setting = Run(kShort, "DEBUG=much");
  EXPECT_EQ(setting.status, 2);
  EXPECT_THAT(setting.err, HasSubstr("DEBUG"));
  const Outcome help = Run("--help");
  EXPECT_EQ(help.status, 0);
  for (const char* flag :
       {"--steps N", "--batch_size N", "--lr RATE", "--shift PIXELS", "--seed N", "--data DIR",
        "--save FILE", "--load FILE", "--eval_only", "--json", "EXAMPLES"}) {
    EXPECT_THAT(help.out, HasSubstr(flag));
  }
}

TEST_F(MnistToolTest, FailuresExitWith1AndSayWhich) {
  const Outcome missing = Run("--data nowhere");
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr("error: nowhere: none of these files is there"));

  // Found before the training.
  const Outcome folder = Run(absl::StrCat(kShort, "--save no/folder/m.safetensors"));
  EXPECT_EQ(folder.status, 1);
  EXPECT_THAT(folder.err, HasSubstr("there is no folder no/folder"));
  EXPECT_THAT(folder.err, Not(HasSubstr("train")));
  EXPECT_THAT(Run(absl::StrCat(kShort, "--save data")).err, HasSubstr("data: is a folder"));

  std::ofstream(dir_ + "/bad.safetensors") << "no model";
  const Outcome bad = Run("--data data --load bad.safetensors --eval_only");
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.err, HasSubstr("bad.safetensors"));

  std::ofstream(dir_ + "/data/t10k-labels-idx1-ubyte") << "no labels";
  const Outcome labels = Run(kShort);
  EXPECT_EQ(labels.status, 1);
  EXPECT_THAT(labels.err, HasSubstr("t10k-labels-idx1-ubyte"));
}

TEST_F(MnistToolTest, ModelOfAnotherSizeIsRefused) {
  ASSERT_EQ(Run(absl::StrCat(kShort, "--save small.safetensors")).status, 0);
  // The digits that come with the tool are larger.
  const Outcome outcome = Run("--load small.safetensors --eval_only");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("small.safetensors: Shape mismatch in layer `fc.weight`: "
                                     "Expected shape (10, 576), but found (10, 64)"));
}

TEST_F(MnistToolTest, AFullDiskLeavesNoHalfFile) {
  // Files may have no more than 100 blocks of 512 bytes; the model needs 350 KB.
  const Outcome outcome = Run(absl::StrCat(kShort, "--save m.safetensors"),
                              "export CACHELEVEL=0; trap '' XFSZ; ulimit -f 100;");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("m.safetensors"));
  for (const auto& entry : std::filesystem::directory_iterator(dir_)) {
    EXPECT_THAT(entry.path().string(), Not(HasSubstr("safetensors")));
  }
}

}  // namespace
}  // namespace tg::tools
