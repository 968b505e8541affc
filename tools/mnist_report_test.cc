#include "tools/mnist_report.h"

#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tg::tools {
namespace {

TestResult SomeResult() {
  TestResult test;
  test.confusion = {{3, 1, 0}, {0, 1200, 0}, {0, 0, 0}};
  test.count = 1204;
  test.correct = 1203;
  return test;
}

TEST(MnistReportTest, Numbers) {
  EXPECT_EQ(FormatAccuracy(987, 1000), "98.7%");
  EXPECT_EQ(FormatAccuracy(9999, 10000), "99.9%");
  EXPECT_EQ(FormatAccuracy(10, 10), "100.0%");
  EXPECT_EQ(FormatAccuracy(0, 7), "0.0%");
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCount(-123456), "-123,456");
}

TEST(MnistReportTest, ConfusionTable) {
  EXPECT_EQ(FormatConfusion(SomeResult(), /*color=*/false),
            "digit  0      1  2   right\n"
            "--------------------------\n"
            "    0  3      1  .   75.0%\n"
            "    1  .  1,200  .  100.0%\n"
            "    2  .      .  .\n");
  EXPECT_NE(FormatConfusion(SomeResult(), /*color=*/true).find("\x1b["), std::string::npos);
}

TEST(MnistReportTest, JsonIsOneLine) {
  MnistReport report;
  report.data = "some\nfolder";
  report.options = {.steps = 2, .batch_size = 5, .lr = 0.25, .seed = 7, .shift = 1};
  report.train = TrainResult{{2.5f, 0.1f}, 1.23456, 0.5, 8.1};
  report.test = SomeResult();
  report.parameters = 11;
  const std::string text = ToJson(report);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  // Floats are as short as they can be.
  EXPECT_NE(text.find("\"losses\":[2.5,0.1]"), std::string::npos) << text;
  const nlohmann::json j = nlohmann::json::parse(text);
  EXPECT_DOUBLE_EQ(j["test_accuracy"], 1203.0 / 1204.0);
  EXPECT_EQ(j["steps"], 2);
  EXPECT_EQ(j["batch_size"], 5);
  EXPECT_EQ(j["lr"], 0.25);
  EXPECT_EQ(j["seed"], 7);
  EXPECT_EQ(j["shift"], 1);
  EXPECT_EQ(j["parameters"], 11);
  EXPECT_EQ(j["seconds"], 1.235);
  EXPECT_EQ(j["images_per_second"], 8.1);
  EXPECT_EQ(j["data"], "some\nfolder");
  EXPECT_TRUE(j["model"].is_null());
  EXPECT_EQ(j["confusion"][0][1], 1);

  report.train.reset();
  report.model_file = "m.safetensors";
  const nlohmann::json tested = nlohmann::json::parse(ToJson(report));
  EXPECT_EQ(tested["steps"], 0);
  EXPECT_TRUE(tested["losses"].empty());
  EXPECT_EQ(tested["model"], "m.safetensors");
}

}  // namespace
}  // namespace tg::tools
