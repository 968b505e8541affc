// Command streams that a driver wrote for real cards, from the folder that TG_SHARED names: each
// executes, and does what its name says.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "base/file.h"
#include "drivers/sim/amd/queue/queue_set.h"
#include "drivers/sim/amd/queue/test_queue.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tg::amd::sim {
namespace {

using Json = nlohmann::ordered_json;

// Addresses in the streams, as their names give them.
constexpr uint64_t kSignal = 0x7f1234567000, kWord = 0x7f1200001000, kCode = 0x7f3300001000,
                   kArguments = 0x7f2200000000, kFrom = 0x7f4400000000, kTo = 0x7f5500000000,
                   kBuffer = 0x7f6600000000;
constexpr uint32_t kEndpgm = 0xbfb00000, kEndpgmCdna = 0xbf810000;

class StreamsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* shared = std::getenv("TG_SHARED");
    if (shared == nullptr || *shared == '\0') {
      GTEST_SKIP() << "TG_SHARED is not set: recorded streams were not executed";
    }
    auto text =
        base::ReadFile(std::string(shared) + "/data/hw/hcq/streams_" + GetParam() + ".json");
    ASSERT_TRUE(text.ok()) << text.status();
    streams_ = Json::parse(*text);
  }

  Words Stream(const std::string& name) {
    Words words;
    for (const auto& word : streams_.at(name)) {
      uint32_t value = 0;
      EXPECT_TRUE(absl::SimpleHexAtoi(word.get<std::string>(), &value));
      words.push_back(value);
    }
    return words;
  }

  Json streams_;
};

// A card of its own for each stream.
struct Card {
  explicit Card(Arch arch) : gpu(arch, &memory, &clock) {
    for (auto [address, size] : {std::pair<uint64_t, uint64_t>{kSignal, 4096},
                                 {kWord, 4096},
                                 {kCode, 4096},
                                 {kArguments, 4096},
                                 {kFrom, 8192},
                                 {kTo, 8192},
                                 {kBuffer, 4096}}) {
      host.emplace_back(size);
      EXPECT_TRUE(memory.Map(address, size, host.back().data(), "of the stream").ok());
    }
    uint32_t end = IsRdna(IsaOf(arch)) ? kEndpgm : kEndpgmCdna;
    EXPECT_TRUE(memory.Write(kCode + 0x700, &end, 4).ok());
  }
  uint64_t Get(uint64_t address) {
    uint64_t value = 0;
    EXPECT_TRUE(memory.Read(address, &value, 8).ok());
    return value;
  }
  absl::Status Run(QueueType type, const Words& words) {
    TestQueue queue(&gpu, type);
    queue.Put(words);
    queue.Ring();
    QueueSet set;
    set.Add(&*queue);
    set.Run();
    return set.Finished();
  }

  std::vector<std::vector<uint8_t>> host;
  Memory memory;
  GpuClock clock;
  Gpu gpu;
};

TEST_P(StreamsTest, EachExecutes) {
  Arch arch = *FindArch(std::string_view(GetParam()));
  int executed = 0;
  for (const auto& [name, unused] : streams_.items()) {
    if (absl::StartsWith(name, "_")) continue;
    SCOPED_TRACE(name);
    Card card(arch);
    Words words = Stream(name);
    QueueType type = absl::StartsWith(name, "pm4.")    ? QueueType::kPm4
                     : absl::StartsWith(name, "sdma.") ? QueueType::kSdma
                                                       : QueueType::kAql;
    // What streams that name no address of their own need.
    std::vector<uint8_t> large;
    if (absl::StartsWith(name, "pm4.timestamp") || absl::StartsWith(name, "sdma.timestamp")) {
      EXPECT_TRUE(card.Run(type, words).ok()) << card.Run(type, words);
      EXPECT_GT(card.Get(kSignal + 8), 0u);
      ++executed;
      continue;
    }
    if (absl::StrContains(name, "max_copy_size")) {
      // A copy of the largest size and 32 bytes: more memory than is mapped.
      uint64_t size = streams_.at("_info").at("max_copy_size").get<uint64_t>() + 0x20;
      if (size > (64 << 20)) {
        absl::Status status = card.Run(type, words);
        EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
        ++executed;
        continue;
      }
      ASSERT_TRUE(card.memory.Free(kFrom).ok());
      ASSERT_TRUE(card.memory.Free(kTo).ok());
      large.resize(2 * size);
      for (uint64_t i = 0; i < size; ++i) large[i] = static_cast<uint8_t>(i * 7 >> 3);
      ASSERT_TRUE(card.memory.Map(kFrom, size, large.data(), "from").ok());
      ASSERT_TRUE(card.memory.Map(kTo, size, large.data() + size, "to").ok());
      absl::Status status = card.Run(type, words);
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_EQ(std::memcmp(large.data(), large.data() + size, size), 0);
      ++executed;
      continue;
    }
    bool waits = absl::StrContains(name, ".wait(") || absl::StrContains(name, "poll_bit");
    if (waits) {  // It must wait, until the value is there.
      EXPECT_EQ(card.Run(type, words).code(), absl::StatusCode::kDeadlineExceeded);
      uint64_t value = 0x10;
      ASSERT_TRUE(card.memory.Write(kSignal, &value, 8).ok());
      ASSERT_TRUE(card.memory.Write(kWord, &value, 8).ok());
    }
    if (absl::StartsWith(name, "sdma.copy")) {
      std::memset(card.host[4].data(), 0x5a, 8192);
    }
    if (type == QueueType::kAql) {
      Words nops(20, 0xffff1000);
      ASSERT_TRUE(card.memory.Write(kBuffer, nops.data(), 80).ok());
    }
    absl::Status status = card.Run(type, words);
    EXPECT_TRUE(status.ok()) << status;
    if (absl::StartsWith(name, "pm4.signal")) {
      EXPECT_EQ(card.Get(kSignal), 0x11223344u);
    }
    if (absl::StartsWith(name, "sdma.signal")) {
      EXPECT_EQ(card.Get(kSignal), 9u);
    }
    if (absl::StartsWith(name, "pm4.write32")) {
      EXPECT_EQ(card.Get(kWord), 0xdeadbeefu);
    }
    if (absl::StrContains(name, "write64")) {
      EXPECT_EQ(card.Get(kWord), 0x1122334455667788u);
    }
    if (absl::StartsWith(name, "sdma.write32")) {
      EXPECT_EQ(card.Get(kWord), 5u);
    }
    if (absl::StartsWith(name, "sdma.copy")) {
      EXPECT_EQ(card.host[5][0xfff], 0x5a);
      EXPECT_EQ(card.host[5][0x1000], 0);
    }
    if (absl::StartsWith(name, "pm4.exec")) {
      EXPECT_EQ(card.gpu.stats().workgroups, 64u * 2 * 1);
      EXPECT_EQ(card.gpu.stats().waves, 64u * 2 * (32 * 4 / (IsRdna(IsaOf(arch)) ? 32 : 64)));
    }
    ++executed;
  }
  EXPECT_GE(executed, 21);
}

INSTANTIATE_TEST_SUITE_P(All, StreamsTest, testing::Values("gfx1100", "gfx1201", "gfx950"));

}  // namespace
}  // namespace tg::amd::sim
