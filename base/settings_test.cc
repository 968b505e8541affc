#include "base/settings.h"

#include <stdlib.h>

#include <string>
#include <thread>

#include "base/cpu_count.h"
#include "base/error.h"
#include "gtest/gtest.h"

namespace tg::base {
namespace {

// Forgets what was read, as if the process had just started with `value` in its environment.
void Restart(SettingId id, const char* name, const char* value) {
  internal::process_settings.value[static_cast<size_t>(id)] = internal::kUnset;
  if (value == nullptr) {
    unsetenv(name);
  } else {
    setenv(name, value, 1);
  }
}

std::string MessageOf(SettingId id) {
  try {
    internal::ReadSetting(id);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SettingsTest, DefaultsWithoutEnvironment) {
  Restart(SettingId::kDebug, "DEBUG", nullptr);
  Restart(SettingId::kDefaultFloat, "DEFAULT_FLOAT", nullptr);
  Restart(SettingId::kCpuCount, "CPU_COUNT", "");
  EXPECT_EQ(Get(kDebug), 0);
  EXPECT_EQ(Get(kDefaultFloat), "float32");
  EXPECT_EQ(Get(kCpuCount), AvailableCpus());
}

TEST(SettingsTest, ReadsTheEnvironmentOnce) {
  Restart(SettingId::kDebug, "DEBUG", " 100 ");
  EXPECT_EQ(Get(kDebug), 100);
  setenv("DEBUG", "3", 1);
  EXPECT_EQ(Get(kDebug), 100);
  Restart(SettingId::kDebug, "DEBUG", nullptr);
}

TEST(SettingsTest, NamesOfDtypesInAnyCase) {
  Restart(SettingId::kDefaultFloat, "DEFAULT_FLOAT", "HALF");
  EXPECT_EQ(Get(kDefaultFloat), "half");
  Restart(SettingId::kDefaultFloat, "DEFAULT_FLOAT", nullptr);
}

TEST(SettingsTest, WrongValuesNameTheSettingAndTheForm) {
  Restart(SettingId::kJit, "JIT", "yes");
  EXPECT_EQ(MessageOf(SettingId::kJit), "JIT=yes: expected an integer from 0 to 2");
  EXPECT_EQ(MessageOf(SettingId::kJit), "JIT=yes: expected an integer from 0 to 2");
  EXPECT_THROW(CheckEnvironment(), UsageError);
  Restart(SettingId::kJit, "JIT", "3");
  EXPECT_EQ(MessageOf(SettingId::kJit), "JIT=3: expected an integer from 0 to 2");
  Restart(SettingId::kJit, "JIT", "99999999999999999999");
  EXPECT_NE(MessageOf(SettingId::kJit), "accepted");
  Restart(SettingId::kJit, "JIT", nullptr);
  EXPECT_EQ(MessageOf(SettingId::kJit), "accepted");

  Restart(SettingId::kDefaultInt, "DEFAULT_INT", "float32");
  EXPECT_EQ(
      MessageOf(SettingId::kDefaultInt),
      "DEFAULT_INT=float32: expected one of int32, int64, int16, int8, int, long, short, char");
  Restart(SettingId::kDefaultInt, "DEFAULT_INT", nullptr);
}

TEST(SettingsTest, AnyTextTurnsColourOff) {
  Restart(SettingId::kNoColor, "NO_COLOR", "please");
  EXPECT_EQ(Get(kNoColor), 1);
  Restart(SettingId::kNoColor, "NO_COLOR", nullptr);
  EXPECT_EQ(Get(kNoColor), 0);
}

TEST(SettingsTest, ScopesNestAndEnd) {
  const int before = Get(kBeam);
  {
    Scoped<int> outer(kBeam, 4);
    EXPECT_EQ(Get(kBeam), 4);
    {
      Scoped inner(kBeam, 8);
      EXPECT_EQ(Get(kBeam), 8);
    }
    EXPECT_EQ(Get(kBeam), 4);
    EXPECT_THROW(Scoped<int>(kBeam, -1), UsageError);
    EXPECT_EQ(Get(kBeam), 4);
  }
  EXPECT_EQ(Get(kBeam), before);

  Scoped<std::string> dev(kDev, "INTERP");
  EXPECT_EQ(Get(kDev), "INTERP");
}

TEST(SettingsTest, ScopesBelongToTheirThreadUnlessCarried) {
  Restart(SettingId::kDebug, "DEBUG", nullptr);
  Scoped<int> debug(kDebug, 6);
  const Overrides carried = Overrides::OfThisThread();
  int plain = -1, with = -1, after = -1;
  std::thread([&] {
    plain = Get(kDebug);
    {
      ScopedOverrides scope(carried);
      with = Get(kDebug);
    }
    after = Get(kDebug);
  }).join();
  EXPECT_EQ(plain, 0);
  EXPECT_EQ(with, 6);
  EXPECT_EQ(after, 0);
}

TEST(SettingsTest, ProcessValuesReachAllThreadsBelowScopes) {
  SetProcessValue(kDebug, 2);
  int seen = -1;
  std::thread([&] { seen = Get(kDebug); }).join();
  EXPECT_EQ(seen, 2);
  Scoped<int> scope(kDebug, 5);
  SetProcessValue(kDebug, 0);
  EXPECT_EQ(Get(kDebug), 5);
}

TEST(SettingsTest, StringsOutliveTheirScope) {
  const std::string* text;
  {
    Scoped<std::string> cc(kCc, "some-compiler");
    text = &Get(kCc);
  }
  EXPECT_EQ(*text, "some-compiler");
}

TEST(SettingsTest, TableIsConsistent) {
  std::string names;
  for (const SettingInfo& setting : AllSettings()) {
    EXPECT_EQ(names.find("," + std::string(setting.name) + ","), std::string::npos) << setting.name;
    names += "," + std::string(setting.name) + ",";
    EXPECT_NE(std::string(setting.doc), "");
    EXPECT_NE(setting.accepted, "");
  }
}

}  // namespace
}  // namespace tg::base
