#include "base/error.h"

#include "gtest/gtest.h"

namespace tg {
namespace {

TEST(ErrorTest, EveryKindIsAnError) {
  EXPECT_THROW(throw ShapeError("reshape: 6 against 8"), Error);
  EXPECT_THROW(throw DTypeError("add: int8 and bool"), Error);
  EXPECT_THROW(throw DeviceError("CUDA: not there"), Error);
  EXPECT_THROW(throw UsageError("item: inside a Jit"), Error);
  EXPECT_THROW(throw DataError("a.idx: truncated"), Error);
}

TEST(ErrorTest, KeepsItsMessageAsStandardException) {
  try {
    throw ShapeError("reshape: 6 against 8");
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "reshape: 6 against 8");
  }
}

}  // namespace
}  // namespace tg
