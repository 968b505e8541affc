#include "base/runfiles.h"

#include <stdlib.h>

#include <string>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::base {
namespace {

constexpr char kData[] = "base/testdata/runfile.txt";

TEST(RunfilesTest, FoundThroughTheEnvironment) {
  const absl::StatusOr<std::string> path = FindRunfile(kData);
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(ReadFile(*path).value(), "found\n");
}

TEST(RunfilesTest, FoundBesideTheBinary) {
  unsetenv("RUNFILES_DIR");
  unsetenv("TEST_SRCDIR");
  const absl::StatusOr<std::string> path = FindRunfile(kData);
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(ReadFile(*path).value(), "found\n");
}

TEST(RunfilesTest, MissingNamesThePlaces) {
  const absl::StatusOr<std::string> path = FindRunfile("base/testdata/none");
  EXPECT_EQ(path.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(path.status().message()), testing::HasSubstr("share/tg"));
}

}  // namespace
}  // namespace tg::base
