// Cards that are folders: a sysfs tree of a test's own.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/run_tool.h"
#include "drivers/pci/device_lock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/am_smi/model.h"
#include "tools/am_smi/print.h"

namespace tg::am_smi {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class AmSmiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = absl::StrCat(::testing::TempDir(), "/smi_",
                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/tmp");
    std::filesystem::create_directories(root_ + "/sys/bus/pci/devices");
  }

  std::string Device(const std::string& bus) { return root_ + "/sys/bus/pci/devices/" + bus; }
  void Put(const std::string& bus, const std::string& file, const std::string& text) {
    const std::filesystem::path path = Device(bus) + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void PutCard(const std::string& bus) {
    Put(bus, "vendor", "0x1002");
    Put(bus, "device", "0x744c");
    Put(bus, "class", "0x030000");
  }
  // A card with amdgpu and sensors like those of Navi 31.
  void PutBusyCard(const std::string& bus) {
    PutCard(bus);
    std::filesystem::create_directory_symlink("/sys/bus/pci/drivers/amdgpu",
                                              Device(bus) + "/driver");
    Put(bus, "product_name", "Radeon RX 7900 XTX");
    Put(bus, "hwmon/hwmon3/temp1_label", "edge");
    Put(bus, "hwmon/hwmon3/temp1_input", "61000");
    Put(bus, "hwmon/hwmon3/temp2_label", "junction");
    Put(bus, "hwmon/hwmon3/temp2_input", "90000");
    Put(bus, "hwmon/hwmon3/power1_average", "301500000");
    Put(bus, "hwmon/hwmon3/freq1_label", "sclk");
    Put(bus, "hwmon/hwmon3/freq1_input", "2500000000");
    Put(bus, "hwmon/hwmon3/fan1_input", "many");
    Put(bus, "gpu_busy_percent", "97");
    Put(bus, "mem_info_vram_used", "6442450944");
    Put(bus, "mem_info_vram_total", "25769803776");
    Put(bus, "power_state", "D0");
    Put(bus, "current_link_speed", "16.0 GT/s PCIe");
    Put(bus, "current_link_width", "16");
  }

  std::string root_;
};

TEST_F(AmSmiTest, Sensors) {
  PutBusyCard("0000:03:00.0");
  const std::vector<Gpu> gpus = ReadGpus(root_, "").value();
  ASSERT_EQ(gpus.size(), 1);
  const Gpu& g = gpus[0];
  EXPECT_EQ(g.name, "1002:744c Radeon RX 7900 XTX");
  EXPECT_EQ(g.driver, "amdgpu");
  EXPECT_EQ(g.link, "16.0 GT/s PCIe x16");
  EXPECT_EQ(*Find(g, "temperature_edge_c")->value, 61);
  EXPECT_EQ(*Find(g, "temperature_hotspot_c")->value, 90);
  EXPECT_EQ(*Find(g, "power_w")->value, 301.5);
  EXPECT_EQ(*Find(g, "clock_gfx_mhz")->value, 2500);
  EXPECT_EQ(*Find(g, "vram_used_bytes")->value, 6442450944.0);
  // Absent is not zero.
  EXPECT_FALSE(Find(g, "temperature_memory_c")->value.has_value());
  EXPECT_EQ(Find(g, "temperature_memory_c")->absent, "the kernel's driver does not report it");
  EXPECT_EQ(Find(g, "fan_rpm")->absent, "fan1_input is \"many\", no number");
  EXPECT_EQ(Find(g, "nonsense"), nullptr);
}

TEST_F(AmSmiTest, OneModelTwoPrinters) {
  PutBusyCard("0000:03:00.0");
  const std::vector<Gpu> gpus = ReadGpus(root_, "").value();
  const std::string text = ToText(gpus, 80, /*color=*/false);
  EXPECT_THAT(text, HasSubstr("edge   61 C      hotspot  90 C  memory   -\n"));
  EXPECT_THAT(text, HasSubstr("6.0 GiB of 24.0 GiB"));
  EXPECT_THAT(text, HasSubstr("97%"));
  EXPECT_THAT(text, HasSubstr("not known: fan_rpm: fan1_input is \"many\", no number"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(ToText(gpus, 80, /*color=*/true), HasSubstr("\x1b["));
  const nlohmann::json j = nlohmann::json::parse(ToJson(gpus))["gpus"][0];
  EXPECT_EQ(j["pci_bus"], "0000:03:00.0");
  EXPECT_EQ(j["readings"]["power_w"], 301.5);
  EXPECT_TRUE(j["readings"]["fan_rpm"].is_null());
  EXPECT_EQ(j["absent"]["fan_rpm"], "fan1_input is \"many\", no number");
}

TEST_F(AmSmiTest, WhatIsNoAmdGpuIsNotShown) {
  PutCard("0000:04:00.0");
  Put("0000:04:00.0", "class", "0x120000");  // An accelerator is.
  PutCard("0000:05:00.0");
  Put("0000:05:00.0", "class", "0x040300");  // Its sound is not.
  PutCard("0000:06:00.0");
  Put("0000:06:00.0", "vendor", "0x10de");
  const std::vector<Gpu> gpus = ReadGpus(root_, "").value();
  ASSERT_EQ(gpus.size(), 1);
  EXPECT_EQ(gpus[0].bus, "0000:04:00.0");
  EXPECT_EQ(Find(gpus[0], "power_w")->absent,
            "no driver is bound to it: nothing reads its sensors");
  EXPECT_EQ(ReadGpus(root_, "0000:09:00.0").status().message(),
            "there is no AMD GPU at 0000:09:00.0");
}

TEST_F(AmSmiTest, ACardThatAProgramDrives) {
  PutCard("0000:03:00.0");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    new pci::DeviceLock(pci::DeviceLock::Acquire(root_ + "/tmp/am_0000:03:00.0.lock").value());
    if (write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char c;
  ASSERT_EQ(read(ready[0], &c, 1), 1);
  const Gpu g = ReadGpus(root_, "0000:03:00.0").value()[0];
  EXPECT_TRUE(g.locked);
  ASSERT_EQ(g.processes.size(), 1);
  EXPECT_EQ(g.processes[0].pid, pid);
  EXPECT_THAT(g.note, HasSubstr("a program drives it from user space"));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_FALSE(ReadGpus(root_, "").value()[0].locked);
}

TEST_F(AmSmiTest, Tool) {
  auto run = [&](const std::string& args) {
    const base::ProcessResult r =
        base::RunTool("tools/am_smi/am_smi", absl::StrCat("--root ", root_, " ", args));
    return std::pair{r.status, r.out + r.err};
  };
  EXPECT_EQ(run("--list"), (std::pair<int, std::string>{0, "no AMD GPU\n"}));
  EXPECT_EQ(run("--json"), (std::pair<int, std::string>{0, "{\"gpus\":[]}\n"}));
  PutBusyCard("0000:03:00.0");
  EXPECT_THAT(run("").second, HasSubstr("Radeon RX 7900 XTX"));
  EXPECT_EQ(run("--dev 0000:08:00.0").first, 1);
  EXPECT_EQ(run("--interval 0").first, 2);
  EXPECT_EQ(run("--help").first, 0);
}

}  // namespace
}  // namespace tg::am_smi
