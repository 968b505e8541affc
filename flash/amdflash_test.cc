// amdflash from its command line to its files and exit status, on simulated cards.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/run_tool.h"
#include "base/runfiles.h"
#include "flash/test_image.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tg::flash {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class AmdflashTest : public ::testing::Test {
 protected:
  struct Outcome : base::ProcessResult {
    nlohmann::json Json() const { return nlohmann::json::parse(out); }
  };

  void SetUp() override {
    dir_ = absl::StrCat(::testing::TempDir(), "/amdflash_",
                        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
    Write("stock.bin", TestImage(1));
    Write("card.bin", TestImage(2));
  }

  void Write(const std::string& name, const std::vector<uint8_t>& bytes) {
    std::ofstream(absl::StrCat(dir_, "/", name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  std::string Read(const std::string& name) {
    std::ifstream in(absl::StrCat(dir_, "/", name), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  bool Exists(const std::string& name) {
    return std::filesystem::exists(absl::StrCat(dir_, "/", name));
  }

  // The tool in the test's folder.
  Outcome Run(const std::string& args) {
    return {base::RunTool("flash/amdflash", args, {.directory = dir_})};
  }
  Outcome Sim(const std::string& args) { return Run("--transport sim:card.bin " + args); }

  std::string dir_;
};

TEST_F(AmdflashTest, Info) {
  const Outcome run = Sim("info");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("JEDEC capture: c86015c8 (C8 60 15 detected)"),
                    HasSubstr("SR1/SR2/SR3: 00/00/00  CMP=clear"), HasSubstr("signature_offset=1"),
                    HasSubstr("on a simulated chip only: read, erase, program")));
  const Outcome json = Run("info --json --sim cmp --transport sim:card.bin");
  EXPECT_EQ(json.Json()["status_registers"], (std::vector<int>{0, 0x40, 0}));
  EXPECT_EQ(json.Json()["cmp"], true);
  EXPECT_EQ(json.Json()["protected"], (std::vector<int>{0, 0x200000}));
  EXPECT_EQ(json.Json()["ok"], true);
}

TEST_F(AmdflashTest, ReadAndDump) {
  EXPECT_EQ(Sim("read 0x2000 4").out, "24505350\n");
  EXPECT_EQ(Sim("read 8192 4").out, "24505350\n");
  EXPECT_EQ(Sim("read 0 0").out, "\n");
  EXPECT_EQ(Sim("read 0x1ffff0 0x10 -o part").status, 0);
  EXPECT_EQ(Read("part"), Read("card.bin").substr(0x1ffff0));
  EXPECT_THAT(Sim("read 0x1ffff0 0x11").err, StartsWith("error: read outside 2 MiB flash"));
  EXPECT_THAT(Sim("read 0 0xffffffff").err, StartsWith("error: read outside 2 MiB flash"));
  for (const char* dump : {"dump d.bin", "dump d.bin --firmware"}) {
    std::filesystem::remove(dir_ + "/d.bin");
    EXPECT_EQ(Sim(dump).status, 0);
    EXPECT_EQ(Read("d.bin"), Read("card.bin"));
  }
}

TEST_F(AmdflashTest, AFailedDumpLeavesTheOldFile) {
  std::ofstream(dir_ + "/d.bin") << "old";
  EXPECT_EQ(Sim("--sim lose-at=900000 dump d.bin").status, 1);
  EXPECT_EQ(Sim("--sim boot=sos dump d.bin --firmware").status, 1);
  EXPECT_EQ(Read("d.bin"), "old");
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(dir_)) {
    files.push_back(file.path().filename().string());
  }
  EXPECT_THAT(files, ::testing::UnorderedElementsAre("d.bin", "stock.bin", "card.bin"));
}

TEST_F(AmdflashTest, FlashesAndVerifies) {
  EXPECT_THAT(Sim("verify stock.bin").err, StartsWith("error: verify mismatch at 0x4: flash="));
  const Outcome run = Sim("flash stock.bin --yes");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(Read("card.bin"), Read("stock.bin"));
  // All of this comes before the first sector.
  const std::string before = run.out.substr(0, run.out.find("OK sector 000/511 @0x00000 elapsed="));
  EXPECT_THAT(before, AllOf(HasSubstr("GD25LQ16E"), HasSubstr("protected: nothing"),
                            HasSubstr("0x200000 bytes, sha256 "), HasSubstr("different  318"),
                            HasSubstr("erase, program and compare 512 sectors (2048 KiB)")));
  EXPECT_THAT(run.out, HasSubstr("OK sector 511/511 @0x1ff000 elapsed="));
  EXPECT_THAT(run.out, HasSubstr(" KiB/s, 0:00 left"));
  EXPECT_THAT(Sim("verify stock.bin").out, StartsWith("verified 0x200000 bytes sha256="));
  EXPECT_EQ(Sim("flash stock.bin --diff --yes --json").Json()["sectors_to_write"], 0);
}

TEST_F(AmdflashTest, DryRunAndDiff) {
  const std::string before = Read("card.bin");
  const Outcome dry = Sim("flash stock.bin --diff --dry-run --json --start-sector 400");
  EXPECT_EQ(dry.status, 0) << dry.err;
  EXPECT_THAT(dry.Json()["different_sectors"], ElementsAre(495, 496));
  EXPECT_EQ(dry.Json()["sectors_to_write"], 2);
  EXPECT_EQ(Read("card.bin"), before);
  EXPECT_EQ(Sim("flash stock.bin --diff --yes --start-sector 495 --sector-count 1").status, 0);
  EXPECT_EQ(Read("card.bin"), before.substr(0, 495 * 4096) +
                                  Read("stock.bin").substr(495 * 4096, 4096) +
                                  before.substr(496 * 4096));
}

TEST_F(AmdflashTest, ProtectionStopsIt) {
  const std::string before = Read("card.bin");
  EXPECT_THAT(Sim("--sim cmp flash stock.bin --yes").err,
              StartsWith("error: CMP protects the full array; rerun with --clear-cmp"));
  EXPECT_THAT(Sim("--sim bp=9 flash stock.bin --yes").err,
              StartsWith("error: sector 0 is protected"));
  EXPECT_EQ(Read("card.bin"), before);
  const Outcome cleared = Sim("--sim cmp flash stock.bin --clear-cmp --yes");
  EXPECT_EQ(cleared.status, 0) << cleared.err;
  EXPECT_THAT(cleared.out, HasSubstr("clear CMP (it stays clear), then erase"));
  EXPECT_THAT(cleared.out, HasSubstr("cleared SR2.CMP"));
  EXPECT_EQ(Read("card.bin"), Read("stock.bin"));
}

TEST_F(AmdflashTest, TheCommandThatResumesDoes) {
  for (const char* fault : {"fail-at=2500000", "lose-at=3000000", "ones-at=2600000"}) {
    Write("card.bin", TestImage(2));
    const Outcome broken = Sim(absl::StrCat("--sim ", fault, " flash stock.bin --yes --json"));
    EXPECT_EQ(broken.status, 1);
    EXPECT_EQ(broken.Json()["ok"], false);
    EXPECT_NE(Read("card.bin"), Read("stock.bin"));
    const std::string resume = broken.Json()["resume"];
    EXPECT_THAT(broken.err, HasSubstr("Resume with:\n  " + resume + "\n"));
    EXPECT_THAT(resume, StartsWith("amdflash --transport sim:card.bin flash stock.bin "));
    EXPECT_GT(broken.Json()["next_sector"], 0);
    const Outcome resumed = Run(resume.substr(std::string("amdflash ").size()));
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_EQ(Read("card.bin"), Read("stock.bin")) << fault;
  }
}

// A kill at any time leaves an image file that the same command completes.
TEST_F(AmdflashTest, KilledAndRunAgain) {
  const std::string tool = std::filesystem::absolute(*base::FindRunfile("flash/amdflash")).string();
  for (int wait_us : {20000, 60000, 100000}) {
    Write("card.bin", TestImage(2));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (chdir(dir_.c_str()) != 0 || !freopen("/dev/null", "w", stdout)) _exit(3);
      execl(tool.c_str(), "amdflash", "--transport", "sim:card.bin", "flash", "stock.bin", "--yes",
            nullptr);
      _exit(3);
    }
    usleep(static_cast<useconds_t>(wait_us));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(Sim("flash stock.bin --diff --yes").status, 0);
    EXPECT_EQ(Read("card.bin"), Read("stock.bin"));
  }
}

TEST_F(AmdflashTest, RefusalsComeBeforeFilesAndCards) {
  // Neither the image nor the card exists.
  const auto refused = [&](const std::string& args) {
    const Outcome run = Run("--transport sim:none.bin " + args);
    EXPECT_EQ(run.status, 1);
    return run.err;
  };
  const std::string disabled = "error: firmware writes are disabled: stock reflash";
  EXPECT_THAT(refused("flash none"), StartsWith("error: refusing to write without --yes"));
  EXPECT_EQ(refused("stream 0x82 none"), "error: refusing to stream without --yes\n");
  EXPECT_THAT(refused("stream 0x82 none --yes"), StartsWith(disabled));
  EXPECT_EQ(refused("ifwi-step none"), "error: refusing to stream without --yes\n");
  EXPECT_THAT(refused("--yes ifwi-step none"), StartsWith(disabled));
  EXPECT_EQ(refused("ifwi-all none"), "error: refusing to stream without --yes\n");
  EXPECT_EQ(refused("live-flash none"), "error: refusing to flash without --yes\n");
  EXPECT_THAT(refused("live-flash none --yes"), StartsWith(disabled));
  // The image and the range come before the card.
  Write("short.bin", std::vector<uint8_t>(0x1ff000));
  Write("long.bin", std::vector<uint8_t>(0x200001));
  for (const char* file : {"short.bin", "long.bin", "/dev/null"}) {
    EXPECT_THAT(refused(absl::StrCat("flash --yes ", file)),
                HasSubstr("image must be exactly 0x200000 bytes"));
    EXPECT_THAT(refused(absl::StrCat("verify ", file)),
                HasSubstr("image must be exactly 0x200000 bytes"));
    EXPECT_THAT(refused(absl::StrCat("ifwi-all --yes ", file)),
                HasSubstr("Navi31 IFWI image must be exactly 2 MiB"));
  }
  for (const char* range : {"--start-sector 512", "--start-sector -1", "--sector-count 0",
                            "--sector-count 513", "--start-sector 511 --sector-count 2"}) {
    EXPECT_THAT(refused(absl::StrCat("flash stock.bin --yes ", range)),
                HasSubstr("invalid sector range"));
  }
  EXPECT_THAT(refused("flash stock.bin --yes"), HasSubstr("none.bin: No such file"));
  EXPECT_THAT(Run("--transport sim:card.bin --device 1 info").err,
              StartsWith("error: device index 1 out of range (found 1)"));
  EXPECT_THAT(Run("--transport sim:short.bin info").err, HasSubstr("has 2097152"));
  EXPECT_THAT(Sim("info --prescale 16").err, StartsWith("error: prescale must be 0..15"));
}

TEST_F(AmdflashTest, UsageErrors) {
  for (const char* args :
       {"", "nonsense", "info more", "read 1", "read x 1", "read 0x 1", "read 1 -2", "dump",
        "flash", "flash a b", "--transport serial info", "--sim cmp info",
        "--transport sim:card.bin --sim what info", "--transport sim:card.bin --sim fail-at=x info",
        "--stesp info", "--device x info", "stream one stock.bin"}) {
    const Outcome run = Run(args);
    EXPECT_EQ(run.status, 2) << args;
    EXPECT_THAT(run.err, StartsWith("error: ")) << args;
  }
  EXPECT_EQ(Run("--help").status, 0);
  EXPECT_THAT(Run("--help").out, AllOf(HasSubstr("REHEARSAL"), HasSubstr("EXAMPLES")));
}

TEST_F(AmdflashTest, States) {
  EXPECT_THAT(Sim("--sim boot=firmware flash stock.bin --yes").err,
              HasSubstr("ROM_SW engine is gated (status=0x04000800)"));
  EXPECT_THAT(Sim("--sim boot=sos info").err, HasSubstr("the card does not answer"));
  EXPECT_THAT(Sim("--sim boot=romless probe").err,
              HasSubstr("PSP mailbox is not ready before command 0x1: status=0x00000000"));
  EXPECT_THAT(Sim("probe").out, HasSubstr("transfer_type: error=0x0 response=0x1\n"));
  const Outcome sos = Sim("--sim boot=sos probe");
  EXPECT_EQ(sos.status, 0);
  EXPECT_THAT(sos.out, EndsWith("transfer_type: error=0xa response=0x0\n"));
  EXPECT_EQ(sos.err, "update commands gated: reset card and do not initialize AMDev/SOS\n");
  EXPECT_THAT(Sim("--sim boot=sos dump d.bin --firmware").err,
              HasSubstr("raw SMUIO ROM controller is unavailable"));
  EXPECT_FALSE(Exists("d.bin"));
}

TEST_F(AmdflashTest, IfwiAll) {
  const Outcome run = Sim("ifwi-all stock.bin --yes");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("IFWI step 1: state=0x1 item=0x1 phase=0\n"));
  EXPECT_THAT(run.out, HasSubstr("resolved requested item 0x82: offset=0x5800 size=0x100\n"));
  EXPECT_THAT(run.out, HasSubstr("stream complete: type=0x8 size=0x8000"));
  EXPECT_THAT(run.out, EndsWith("IFWI stream complete after terminal state 0x289; hard power "
                                "cycle required\n"));
  EXPECT_EQ(Sim("ifwi-all stock.bin --yes --json").Json()["states"].size(), 18u);
  std::vector<uint8_t> bad = TestImage(1);
  bad[0x4000] = 0;
  Write("bad.bin", bad);
  EXPECT_THAT(Sim("ifwi-all bad.bin --yes").err, HasSubstr("invalid $SGN table pointer"));
  EXPECT_THAT(Sim("ifwi-all stock.bin --yes --sim boot=sos").err,
              HasSubstr("PSP GET_TRANSFER_TYPE failed: error=0xa (partition update error)"));
  EXPECT_THAT(Sim("ifwi-all stock.bin --yes --sim fail-at=5000").err,
              HasSubstr("the firmware has taken"));
}

TEST_F(AmdflashTest, AnImageThatIsNoneIsWarnedAbout) {
  Write("blank.bin", std::vector<uint8_t>(0x200000, 0xff));
  const Outcome run = Sim("flash blank.bin --dry-run");
  EXPECT_THAT(run.out, HasSubstr("WARNING  not a Navi 31 IFWI: all bytes are ones"));
  EXPECT_THAT(Sim("flash stock.bin --dry-run").out, Not(HasSubstr("WARNING")));
}

}  // namespace
}  // namespace tg::flash
