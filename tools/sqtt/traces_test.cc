// Traces of real cards, from the folder that TG_SHARED names: packets, waves and instructions.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/sqtt/decode.h"
#include "tools/sqtt/instructions.h"
#include "tools/sqtt/program.h"
#include "tools/sqtt/waves.h"

namespace tg::sqtt {
namespace {

using nlohmann::json;

std::string ReadAll(const std::filesystem::path& path) {
  absl::StatusOr<std::string> text = base::ReadFile(path.string());
  return text.ok() ? *text : "";
}

json Row(const Packet& p) {
  json fields = json::object();
  for (const Field& f : Spec(p.type).field_span()) fields[f.name] = Bits(p.raw, f.hi, f.lo);
  return {p.time, std::string(PacketName(p.type)), absl::StrCat(absl::Hex(p.raw)), fields};
}

// What the expectations say about a blob, computed.
json Decoded(absl::Span<const uint8_t> bytes, const Program* program) {
  std::map<std::string, uint64_t> counts, ops;
  std::vector<Packet> packets;
  Reports reports;
  WaveCollector waves(&reports);
  absl::StatusOr<DecodeSummary> sum =
      Decode(bytes, [&](PacketType type, uint64_t raw, uint64_t time, uint64_t offset) {
        packets.push_back({raw, time, offset, type});
        ++counts[std::string(PacketName(type))];
        waves(type, raw, time, offset);
      });
  if (!sum.ok()) return {{"error", sum.status().ToString()}};
  for (const Packet& p : packets) {
    const int op = InstOp(p.type, p.raw);
    if (op >= 0) ++ops[std::string(InstOpName(sum->layout, op))];
  }
  json j = {{"size", bytes.size()},
            {"packets", sum->packets},
            {"last_time", sum->last_time},
            {"counts", counts},
            {"inst_ops", ops}};
  for (size_t i = 0; i < 24; ++i) {
    j["first"].push_back(Row(packets[i]));
    j["last"].push_back(Row(packets[packets.size() - 24 + i]));
  }
  j["waves"] = json::array();
  for (const Wave& w : waves.waves()) {
    j["waves"].push_back({w.start, w.end, w.slot.cu, w.slot.simd, w.slot.wave});
  }
  j["rows"] = json::array();
  if (program != nullptr && sum->layout != Layout::kCdna) {
    auto sink = [&](const IssuedInst& i) {
      j["rows"].push_back({i.time, i.wave, program->Address(i.index),
                           std::string(PacketName(i.packet)),
                           i.op < 0 ? "" : std::string(InstOpName(sum->layout, i.op))});
    };
    InstructionMatcher matcher(*program, &reports, sink);
    for (const Packet& p : packets) matcher(p.type, p.raw, p.time, p.offset);
  }
  EXPECT_TRUE(reports.empty()) << ToString(reports.first().front());
  EXPECT_EQ(sum->unknown_codes, 0);
  return j;
}

// The first difference; empty when there is none.
std::string Difference(const json& actual, const json& expected) {
  for (const char* key : {"size", "packets", "last_time", "counts", "inst_ops", "first", "last"}) {
    if (actual.value(key, json()) != expected[key]) {
      return absl::StrCat(key, ": ", actual.value(key, json()).dump(), "\ninstead of ",
                          expected[key].dump());
    }
  }
  if (actual["waves"] != expected["waves_start_end_cu_simd_wave"]) return "waves";
  json rows = json::array();
  for (json row : expected["inst_trace"]["rows"]) {
    row.erase(5);  // The text is another disassembler's.
    rows.push_back(row);
  }
  for (size_t i = 0; i < std::max(rows.size(), actual["rows"].size()); ++i) {
    const json a = i < actual["rows"].size() ? actual["rows"][i] : json();
    const json e = i < rows.size() ? rows[i] : json();
    if (a != e) return absl::StrCat("row ", i, ": ", a.dump(), " instead of ", e.dump());
  }
  return "";
}

TEST(TracesTest, EqualExpectations) {
  const char* shared = std::getenv("TG_SHARED");
  if (shared == nullptr || *shared == '\0') {
    GTEST_SKIP() << "TG_SHARED is not set: no traces of real cards were read";
  }
  int blobs = 0, instructions = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(absl::StrCat(shared, "/data/sqtt"))) {
    if (entry.path().filename() != "expected.json") continue;
    const std::filesystem::path folder = entry.path().parent_path();
    const json expected = json::parse(ReadAll(entry.path()));
    const json meta = json::parse(ReadAll(folder / "meta.json"));
    for (const json& blob : meta["sqtt"]) {
      const std::string name = blob["file"];
      SCOPED_TRACE((folder / name).string());
      const std::string bytes = ReadAll(folder / name);
      const int kernel = blob["kern"];
      const std::string elf = ReadAll(folder / std::string(meta["programs"][kernel]["file"]));
      const std::string arch = meta["arch"];
      absl::StatusOr<Program> program = Program::Read(elf, arch);
      ASSERT_TRUE(program.ok()) << program.status();
      json actual = Decoded(base::AsBytes(bytes), &*program);
      EXPECT_EQ(Difference(actual, expected["blobs"][name]), "");
      ++blobs;
      instructions += static_cast<int>(actual["rows"].size());
      // The comparison notices what is wrong.
      if (!actual["rows"].empty()) {
        actual["rows"].back()[2] = 4;
        EXPECT_NE(Difference(actual, expected["blobs"][name]), "");
      }
      actual["last_time"] = 1;
      EXPECT_NE(Difference(actual, expected["blobs"][name]), "");
    }
  }
  EXPECT_GT(blobs, 0);
  std::printf("%d traces, %d instructions\n", blobs, instructions);
}

}  // namespace
}  // namespace tg::sqtt
