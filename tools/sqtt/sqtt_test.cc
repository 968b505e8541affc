// The tool from its command line to what it prints, on the folders of testdata/sqtt.
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/run_tool.h"
#include "base/runfiles.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tg::sqtt {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

using Outcome = base::ProcessResult;

std::string Folder(absl::string_view name) {
  const std::string file =
      base::FindRunfile(absl::StrCat("testdata/sqtt/", name, "/meta.json")).value();
  return std::filesystem::path(file).parent_path().string();
}

Outcome RunTool(const std::string& args) { return base::RunTool("tools/sqtt/sqtt", args); }

TEST(SqttTest, StatsEqualWhatIsExpected) {
  for (const char* name : {"gfx1100", "gfx1201", "gfx950"}) {
    const Outcome o = RunTool(absl::StrCat("stats --json ", Folder(name)));
    ASSERT_EQ(o.status, 0) << o.err;
    const json expected = json::parse(base::ReadFile(Folder(name) + "/expected.json").value());
    const json j = json::parse(o.out);
    EXPECT_EQ(j["arch"], name);
    EXPECT_EQ(j["blobs"]["se0.bin"], expected);
  }
}

TEST(SqttTest, EveryCommandPrintsTextAndJson) {
  for (const char* arch : {"gfx1100", "gfx1201", "gfx950"}) {
    for (const char* command : {"info", "packets", "waves", "insts", "occupancy", "summary"}) {
      SCOPED_TRACE(absl::StrCat(command, " ", arch));
      const Outcome text = RunTool(absl::StrCat(command, " ", Folder(arch)));
      EXPECT_EQ(text.status, 0) << text.err;
      EXPECT_FALSE(text.out.empty());
      const Outcome with_json = RunTool(absl::StrCat(command, " --json ", Folder(arch)));
      EXPECT_EQ(with_json.status, 0) << with_json.err;
      const json j = json::parse(with_json.out);
      EXPECT_TRUE(j.is_array());
      EXPECT_GT(j.size(), 0);
    }
  }
}

TEST(SqttTest, ATraceAloneWithItsProgram) {
  const std::string f = Folder("gfx1100");
  const Outcome with =
      RunTool(absl::StrCat("insts ", f, "/se0.bin --elf ", f, "/program.co --limit 3"));
  EXPECT_EQ(with.status, 0) << with.err;
  EXPECT_THAT(with.out, HasSubstr("v_mov_b32_e32 v0, 1.0"));
  const Outcome without = RunTool(absl::StrCat("insts ", f, "/se0.bin"));
  EXPECT_THAT(without.out, HasSubstr("no program: name its ELF file with --elf"));
}

TEST(SqttTest, PacketsAreFiltered) {
  const Outcome o =
      RunTool(absl::StrCat("packets --json --type WAVESTART,WAVEEND --wave 0 ", Folder("gfx1100")));
  const json j = json::parse(o.out);
  EXPECT_EQ(j.size(), 4);
  for (const json& p : j) EXPECT_EQ(p["fields"]["wave"], 0);
  EXPECT_EQ(
      json::parse(RunTool(absl::StrCat("packets --json --limit 2 ", Folder("gfx950"))).out).size(),
      2);
}

TEST(SqttTest, PicturesAndExports) {
  const std::string out = ::testing::TempDir() + "/made";
  std::filesystem::create_directories(out);
  EXPECT_EQ(RunTool(absl::StrCat("plot ", Folder("gfx1201"), " ", out, "/a.svg")).status, 0);
  EXPECT_THAT(base::ReadFile(out + "/a.svg").value(), HasSubstr("</svg>"));
  EXPECT_EQ(RunTool(absl::StrCat("export ", Folder("gfx1100"), " --perfetto ", out,
                                 "/a.json --csv ", out, "/a.csv"))
                .status,
            0);
  EXPECT_GT(json::parse(base::ReadFile(out + "/a.json").value())["traceEvents"].size(), 20);
  EXPECT_THAT(base::ReadFile(out + "/a.csv").value(), HasSubstr("s_endpgm"));
}

TEST(SqttTest, Mistakes) {
  const std::string f = Folder("gfx1100");
  EXPECT_EQ(RunTool("").status, 2);
  EXPECT_EQ(RunTool("--help").status, 0);
  EXPECT_EQ(RunTool("frobnicate x").err,
            "error: there is no command frobnicate; see sqtt --help\n");
  EXPECT_EQ(RunTool("info").status, 2);
  const Outcome gone = RunTool("info /nowhere/at/all");
  EXPECT_EQ(gone.status, 1);
  EXPECT_THAT(gone.err, HasSubstr("error: cannot load the trace: /nowhere/at/all"));
  const Outcome elf = RunTool(absl::StrCat("info ", f, "/program.co"));
  EXPECT_EQ(elf.status, 1);
  EXPECT_THAT(elf.err, HasSubstr("which is no LAYOUT_HEADER packet"));
  EXPECT_EQ(RunTool(absl::StrCat("packets --type NONE ", f)).err,
            "error: no packet is called NONE; see sqtt --help\n");
  EXPECT_EQ(RunTool(absl::StrCat("insts ", f, " other")).err,
            "error: no such trace or kernel; traces: se0.bin; kernels: loop; see sqtt --help\n");
  EXPECT_EQ(RunTool(absl::StrCat("export ", f)).status, 2);
  EXPECT_EQ(RunTool(absl::StrCat("plot ", f, " /nowhere/a.svg")).status, 1);
}

// Files that meta.json names lie beside it.
TEST(SqttTest, MetaThatPointsElsewhere) {
  const std::string dir = ::testing::TempDir() + "/meta";
  std::filesystem::create_directories(dir);
  for (const char* meta : {"{\"sqtt\":[{\"file\":\"../se0.bin\"}]}", "{\"sqtt\":[{\"file\":7}]}",
                           "{\"sqtt\":[3]}", "{\"sqtt\":{}}", "[]", "{"}) {
    ASSERT_TRUE(base::WriteFileAtomically(dir + "/meta.json", meta).ok());
    EXPECT_EQ(RunTool("info " + dir).status, 1) << meta;
  }
}

}  // namespace
}  // namespace tg::sqtt
