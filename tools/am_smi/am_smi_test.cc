// Cards that are folders: a sysfs tree of a test's own.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/file.h"
#include "base/run_tool.h"
#include "drivers/pci/device_lock.h"
#include "drivers/pci/remote/borrowed_source.h"
#include "drivers/pci/remote/server.h"
#include "drivers/pci/remote/socket.h"
#include "drivers/sim/amd/am_card.h"
#include "drivers/sim/amd/discovery_image.h"
#include "drivers/sim/amd/smu.h"
#include "drivers/sim/pci/sysfs_tree.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/am_smi/model.h"
#include "tools/am_smi/observe.h"
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
  EXPECT_THAT(g.note, HasSubstr("it cannot be asked: "));
  EXPECT_EQ(Find(g, "power_w")->absent, g.note);
  EXPECT_THAT(ToText({{g}}, 80, false), HasSubstr("nothing is known: it cannot be asked"));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_FALSE(ReadGpus(root_, "").value()[0].locked);
}

// The firmware of a card whose BARs are files: answers what is written to its mailbox.
class Firmware {
 public:
  explicit Firmware(const std::string& device)
      : memory_(base::MappedFile::OpenWritable(device + "/resource0", kMemory).value()),
        registers_(base::MappedFile::OpenWritable(device + "/resource5", 1 << 20).value()),
        smu_(sim::SmuFirmware::k13_0_0, [this](uint64_t at, absl::Span<const uint8_t> bytes) {
          std::copy(bytes.begin(), bytes.end(), memory_.mutable_bytes().data() + at);
          return absl::OkStatus();
        }) {
    Register(0xde3) = kMemory >> 20;
    Register(0xa000 + 0x2047) = 0xa0000008;
    Register(kResponse) = 1;
    sim::DiscoveryImage image;
    image.dies = {{{11, 0, 11, 0, 0, {0x1260, 0xa000}}, {1, 0, 13, 0, 0, {0x16000}}}};
    const std::vector<uint8_t> bytes = image.Build();
    std::copy(bytes.begin(), bytes.end(), memory_.mutable_bytes().data() + kMemory - (64 << 10));
    Send(15, 0x97000);
    thread_ = std::thread([this] {
      while (!stop_) {
        if (Register(kMessage) == 0) continue;
        const uint32_t message = Register(kMessage);
        Register(kMessage) = 0;
        const uint32_t response = Send(message, Register(kArgument));
        Register(kArgument) = smu_.Read(82).value();
        Register(kResponse) = response;
      }
    });
  }
  ~Firmware() {
    stop_ = true;
    thread_.join();
  }

 private:
  static constexpr uint64_t kMemory = 16 << 20;
  static constexpr size_t kMessage = 0x16282, kArgument = 0x16292, kResponse = 0x1629a;

  volatile uint32_t& Register(size_t dword) {
    return reinterpret_cast<volatile uint32_t*>(registers_.mutable_bytes().data())[dword];
  }
  uint32_t Send(uint32_t message, uint32_t argument) {
    EXPECT_TRUE(smu_.Write(90, 0).ok());
    EXPECT_TRUE(smu_.Write(82, argument).ok());
    EXPECT_TRUE(smu_.Write(66, message).ok());
    return smu_.Read(90).value();
  }

  base::MappedFile memory_, registers_;
  sim::Smu smu_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// All the way: sysfs, BARs, discovery, mailbox, table; while a program has the card's lock.
TEST_F(AmSmiTest, ACardThatIsAskedItself) {
  const std::string bus = "0000:03:00.0";
  sim::SysfsTree tree(root_ + "/sys");
  tree.Add({.bus = bus,
            .identity = {.vendor = 0x1002, .device = 0x744c, .class_code = 0x030000},
            .bar_sizes = {16 << 20, 0, 0, 0, 0, 1 << 20}});
  EXPECT_EQ(Find(ReadGpus(root_, bus).value()[0], "power_w")->absent,
            "no driver is bound to it: nothing reads its sensors");
  const auto lock = pci::DeviceLock::Acquire(root_ + "/tmp/am_" + bus + ".lock").value();
  EXPECT_THAT(ReadGpus(root_, bus).value()[0].note, HasSubstr("is disabled: nobody drives it"));
  Put(bus, "enable", "1");
  EXPECT_THAT(ReadGpus(root_, bus).value()[0].note, HasSubstr("has no memory"))
      << "registers of zeros";
  const Firmware firmware(Device(bus));
  const sim::SmuSensors sensors;
  for (int i = 0; i < 3; ++i) {
    const Gpu g = ReadGpus(root_, bus).value()[0];
    EXPECT_EQ(g.note, "");
    EXPECT_EQ(g.blocks, "GC 11.0.0, SMU 13.0.0");
    EXPECT_EQ(Find(g, "power_w")->value, sensors.power_w);
    EXPECT_EQ(Find(g, "temperature_vr_soc_c")->value, sensors.vr_soc_c);
    EXPECT_EQ(Find(g, "vram_total_bytes")->value, 16 << 20);
    EXPECT_EQ(Find(g, "vram_used_bytes")->value, 0);
  }
  Put(bus, "power_state", "D3hot");
  EXPECT_THAT(ReadGpus(root_, bus).value()[0].note, HasSubstr("is asleep (D3hot)"));
}

TEST_F(AmSmiTest, RemoteCards) {
  auto card = sim::AmCard::Create({}).value();
  auto listener = pci::remote::Listener::Open({.host = "127.0.0.1", .port = 0}).value();
  const std::string address = absl::StrCat("127.0.0.1:", listener.address().port);
  std::thread server([&] {
    for (int i = 0; i < 2; ++i) {
      pci::remote::BorrowedSource source(&card->function());
      const auto stream = listener.Accept();
      EXPECT_TRUE(pci::remote::ServeClient(**stream, source).ok());
    }
  });
  const std::vector<Gpu> gpus = ReadRemote(address, absl::Seconds(5), root_ + "/tmp", "").value();
  ASSERT_EQ(gpus.size(), 1);
  EXPECT_EQ(gpus[0].bus, absl::StrCat("remote:", address, ":sim:gfx1100:0"));
  EXPECT_EQ(Find(gpus[0], "power_w")->value, card->smu().sensors().power_w);
  EXPECT_EQ(ReadRemote(address, absl::Seconds(5), root_ + "/tmp", "nothing").status().code(),
            absl::StatusCode::kNotFound);
  server.join();
  EXPECT_THAT(std::string(ReadRemote("1:2:3", absl::Seconds(5), root_, "").status().message()),
              HasSubstr("REMOTE: \"1:2:3\" is no address"));
}

TEST_F(AmSmiTest, SimulatedCards) {
  for (const char* card : {"gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1201,small-bar"}) {
    const Gpu g = ReadSimulated(card).value()[0];
    EXPECT_EQ(Find(g, "power_w")->value, sim::SmuSensors().power_w) << card;
  }
  const Gpu broken = ReadSimulated("gfx1100,fault=busy").value()[0];
  EXPECT_THAT(Find(broken, "power_w")->absent, HasSubstr("the SMU is busy"));
  EXPECT_TRUE(Find(broken, "vram_used_bytes")->value.has_value());
  const Gpu accelerator = ReadSimulated("gfx942").value()[0];
  EXPECT_EQ(Find(accelerator, "fan_rpm")->absent, "SMU 13.0.6 does not report it");
  EXPECT_EQ(Find(ReadSimulated("gfx942,vf").value()[0], "power_w")->value, std::nullopt);
  EXPECT_FALSE(ReadSimulated("").ok());
  EXPECT_FALSE(ReadSimulated("gfx1100,").ok());
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
  EXPECT_THAT(run("--list --sim gfx1100").second, HasSubstr("hotspot       78 C"));
  EXPECT_THAT(run("--json --sim gfx1100").second, HasSubstr("\"power_w\":287.0"));
  EXPECT_EQ(run("--list --sim gfx906").first, 2);
  EXPECT_EQ(run("--sim gfx1100 --dev 0000:03:00.0").first, 2);
}

}  // namespace
}  // namespace tg::am_smi
