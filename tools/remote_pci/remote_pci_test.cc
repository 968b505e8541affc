// The program itself, serving a folder that looks like sysfs.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/run_tool.h"
#include "base/runfiles.h"
#include "drivers/pci/config_space.h"
#include "drivers/pci/device_lock.h"
#include "drivers/pci/remote/remote_function.h"
#include "drivers/sim/pci/sysfs_tree.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::pci::remote {
namespace {

constexpr char kBus[] = "0000:03:00.0";

TEST(RemotePci, ServesDevicesOfThisMachine) {
  const std::string root = ::testing::TempDir() + "/remote_pci";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root + "/tmp");
  std::filesystem::create_directories(root + "/client");
  sim::SysfsTree tree(root + "/sys");
  sim::SysfsFunction card;
  card.bus = kBus;
  card.identity = {.vendor = 0x1002, .device = 0x744c, .class_code = 0x030000};
  card.bar_sizes = {1 << 20, 0, 0, 0, 0, 4096};
  tree.Add(card);

  const std::string program = base::FindRunfile("tools/remote_pci/remote_pci").value();
  const std::string command = program + " 0 --once --root " + root + " 2>" + root + "/stderr";
  FILE* out = popen(command.c_str(), "r");
  ASSERT_NE(out, nullptr);
  char line[200] = "";
  ASSERT_NE(std::fgets(line, sizeof(line), out), nullptr);
  absl::string_view port = line;
  ASSERT_TRUE(absl::ConsumePrefix(&port, "listening on 127.0.0.1:")) << line;
  Address address{"127.0.0.1", 0};
  ASSERT_TRUE(absl::SimpleAtoi(port, &address.port)) << line;
  {
    auto client = Client::Connect(address, absl::Seconds(10)).value();
    const auto names = client->Probe(Navi31Cards()).value();
    ASSERT_EQ(names.size(), 1u);
    EXPECT_EQ(names[0], "remote:" + client->name() + ":0000:03:00.0:0");
    const auto function = OpenRemoteFunction(client, names[0], root + "/client").value();
    EXPECT_EQ(ReadIdentity(*function)->device, 0x744c);
    EXPECT_EQ(DeviceLock::Acquire(LockPath(root + "/tmp", kAmdLocks, kBus)).status().code(),
              absl::StatusCode::kUnavailable)
        << "the server holds the device";
    const auto bar = function->MapBar(5).value();
    ASSERT_TRUE(bar->Write32(16, 0x04030201).ok());
    EXPECT_EQ(bar->Read32(16).value(), 0x04030201u);
    EXPECT_EQ(base::ReadFile(tree.Folder(kBus) + "/resource5")->substr(16, 4), "\1\2\3\4");
  }
  ASSERT_NE(std::fgets(line, sizeof(line), out), nullptr);
  EXPECT_STREQ(line, "disconnected\n");
  EXPECT_EQ(pclose(out), 0);
  EXPECT_EQ(base::ReadFile(root + "/stderr").value(), "");
  EXPECT_TRUE(DeviceLock::Acquire(LockPath(root + "/tmp", kAmdLocks, kBus)).ok());
}

TEST(RemotePci, Mistakes) {
  auto run = [](const std::string& args) {
    return base::RunTool("tools/remote_pci/remote_pci", args).status;
  };
  EXPECT_EQ(run("65536"), 2);
  EXPECT_EQ(run("x"), 2);
  EXPECT_EQ(run("--nonsense"), 2);
  EXPECT_EQ(run("0 --listen 203.0.113.1"), 1) << "an address of another machine";
  EXPECT_EQ(run("--help"), 0);
}

}  // namespace
}  // namespace tg::pci::remote
