// Client and server of the protocol against each other, and each against peers that lie.
#include <sys/socket.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "drivers/pci/config_space.h"
#include "drivers/pci/remote/borrowed_source.h"
#include "drivers/pci/remote/protocol.h"
#include "drivers/pci/remote/remote_function.h"
#include "drivers/pci/remote/server.h"
#include "drivers/pci/remote/socket.h"
#include "drivers/sim/pci/sim_function.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::pci::remote {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A peer that has said all it will ever say; remembers what it is told.
class Script final : public Stream {
 public:
  explicit Script(std::vector<uint8_t> input) : input_(std::move(input)) {}
  absl::Status Read(absl::Span<uint8_t> bytes) override {
    if (bytes.size() > input_.size() - at_) return absl::UnavailableError("Connection closed");
    std::copy_n(input_.begin() + static_cast<ptrdiff_t>(at_), bytes.size(), bytes.begin());
    at_ += bytes.size();
    return absl::OkStatus();
  }
  absl::Status Write(absl::Span<const uint8_t> bytes) override {
    output.insert(output.end(), bytes.begin(), bytes.end());
    return absl::OkStatus();
  }
  std::vector<uint8_t> output;

 private:
  const std::vector<uint8_t> input_;
  size_t at_ = 0;
};

class RemoteTest : public ::testing::Test {
 protected:
  RemoteTest()
      : card_("0000:03:00.0", {.vendor = 0x1002, .device = 0x744c, .class_code = 0x030000}),
        locks_(::testing::TempDir() + "/remote_locks_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(locks_);
    std::filesystem::create_directories(locks_);
    card_.AddMemoryBar(0, 1 << 20);
    card_.MakeResizable(0, 0b101);
    card_.AddRegisterBar(5, 4096,
                         {[this](uint64_t offset, Width width) -> absl::StatusOr<uint64_t> {
                            if (width != Width::k32) return absl::UnimplementedError("only dwords");
                            ++accesses_;
                            return registers_[offset];
                          },
                          [this](uint64_t offset, Width width, uint64_t value) -> absl::Status {
                            if (width != Width::k32) return absl::UnimplementedError("only dwords");
                            registers_[offset] = static_cast<uint32_t>(value);
                            return absl::OkStatus();
                          }});
  }
  ~RemoteTest() override {
    client_.reset();
    if (server_.joinable()) server_.join();
  }

  void Connect() {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    server_ = std::thread([this, fd = pair[0]] {
      SocketStream stream(fd);
      BorrowedSource source(&card_);
      end_ = ServeClient(stream, source);
    });
    client_ = std::make_shared<Client>(std::make_unique<SocketStream>(pair[1]), "host:6667");
  }
  std::unique_ptr<Function> Open() {
    return OpenRemoteFunction(client_, client_->Probe(Navi31Cards()).value().at(0), locks_).value();
  }
  absl::Status EndOfServer() {
    client_.reset();
    server_.join();
    return end_;
  }
  // What a server does with these bytes, and answers.
  absl::Status Serve(std::vector<uint8_t> input, std::vector<uint8_t>* output = nullptr) {
    Script script(std::move(input));
    BorrowedSource source(&card_);
    const absl::Status end = ServeClient(script, source);
    if (output != nullptr) *output = script.output;
    return end;
  }

  sim::SimFunction card_;
  const std::string locks_;
  std::map<uint64_t, uint32_t> registers_;
  int accesses_ = 0;
  std::thread server_;
  absl::Status end_;
  std::shared_ptr<Client> client_;
};

std::vector<uint8_t> Bytes(const Request& request, std::vector<uint8_t> payload = {}) {
  const auto head = Encode(request);
  payload.insert(payload.begin(), head.begin(), head.end());
  return payload;
}
void Append(std::vector<uint8_t>& to, const std::vector<uint8_t>& more) {
  to.insert(to.end(), more.begin(), more.end());
}
std::vector<uint8_t> Probe() {
  return Bytes({Command::kProbe, 0, 0, 0, 8, 0x1002}, {0xff, 0xff, 0, 0, 0x4c, 0x74, 0, 0});
}

TEST(Protocol, Layout) {
  const auto request = Encode({Command::kConfigWrite, 0x01020304, 0x05060708, 0x1112131415161718,
                               0x2122232425262728, 0x3132333435363738});
  EXPECT_THAT(request, ElementsAre(4, 4, 3, 2, 1, 8, 7, 6, 5, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13,
                                   0x12, 0x11, 0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0x38,
                                   0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31));
  EXPECT_EQ(Encode(DecodeRequest(request)), request);
  const auto answer = Encode(Answer{7, 0x0102, 0x8000000000000000});
  EXPECT_THAT(answer, ElementsAre(7, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80));
  EXPECT_EQ(Encode(DecodeAnswer(answer)), answer);
}

TEST(Protocol, Addresses) {
  EXPECT_EQ(ParseAddress("box")->port, 6667);
  EXPECT_EQ(ParseAddress("box:80")->port, 80);
  EXPECT_EQ(ParseAddress("box:80")->host, "box");
  EXPECT_EQ(ParseAddress("[::1]:80")->host, "::1");
  EXPECT_EQ(ParseAddress("[::1]")->port, 6667);
  for (const char* bad : {"", ":80", "box:", "box:0", "box:65536", "box:x", "[::1", "[::1]80"}) {
    EXPECT_FALSE(ParseAddress(bad).ok()) << bad;
  }
}

TEST_F(RemoteTest, DrivesACard) {
  Connect();
  ASSERT_TRUE(client_->Ping().ok());
  EXPECT_THAT(client_->Probe(Navi31Cards()).value(),
              ElementsAre("remote:host:6667:0000:03:00.0:0"));
  EXPECT_THAT(client_->Probe({.vendor = 0x10de}).value(), IsEmpty());
  EXPECT_THAT(client_->Probe({.vendor = 0x1002, .base_class = 4}).value(), IsEmpty());
  const auto card = Open();
  EXPECT_EQ(ReadIdentity(*card)->device, 0x744c);
  ASSERT_TRUE(EnableCommand(*card, kCommandMaster).ok());
  EXPECT_EQ(card_.ReadConfig(kConfigCommand, Width::k16).value(), 6u);

  for (int i = 0; i < Function::kBars; ++i) {
    const Bar theirs = card->GetBar(i).value(), ours = card_.GetBar(i).value();
    EXPECT_EQ(theirs.address, ours.address) << i;
    EXPECT_EQ(theirs.size, ours.size) << i;
    EXPECT_EQ(theirs.prefetchable, ours.prefetchable) << i;
    EXPECT_EQ(theirs.is_64bit, ours.is_64bit) << i;
  }
  const auto registers = card->MapBar(5).value();
  ASSERT_TRUE(registers->Write32(0x20, 0xcafef00d).ok());
  EXPECT_EQ(registers->Read32(0x20).value(), 0xcafef00d);
  EXPECT_EQ(registers_[0x20], 0xcafef00d);
  EXPECT_EQ(accesses_, 1);
  EXPECT_THAT(std::string(registers->Read(0x20, Width::k8).status().message()),
              HasSubstr("host:6667: RPC failed: only dwords"));
  EXPECT_TRUE(client_->Ping().ok()) << "an error of the device is none of the connection";

  // Several chunks, at an odd place.
  const auto memory = card->MapBar(0).value();
  std::vector<uint8_t> bytes(700'001), back(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 13 >> 3);
  ASSERT_TRUE(memory->WriteBytes(3, bytes).ok());
  ASSERT_TRUE(memory->ReadBytes(3, absl::MakeSpan(back)).ok());
  EXPECT_EQ(back, bytes);

  const auto dma = card->AllocateDma(10000, false).value();
  EXPECT_EQ(dma->size(), 12288u);
  ASSERT_TRUE(dma->Write(4094, std::vector<uint8_t>{1, 2, 3, 4}).ok());
  std::vector<uint8_t> seen(4);
  ASSERT_TRUE(dma->Read(4094, absl::MakeSpan(seen)).ok());
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4));
  std::vector<uint8_t> by_device(2);
  ASSERT_TRUE(card_.ReadHost(dma->pages()[1], absl::MakeSpan(by_device)).ok());
  EXPECT_THAT(by_device, ElementsAre(3, 4));

  ASSERT_TRUE(card->ResizeBar(0, 4 << 20).ok());
  EXPECT_EQ(card->GetBar(0)->size, uint64_t{4 << 20});
  EXPECT_FALSE(card->ResizeBar(0, 2 << 20).ok());
  ASSERT_TRUE(card->Reset().ok());
  EXPECT_EQ(card_.ReadConfig(kConfigCommand, Width::k16).value(), kCommandMemory);
  EXPECT_EQ(card->EnableInterrupt().status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(client_->Statistics(), HasSubstr("roundtrips in"));
}

TEST_F(RemoteTest, OneUserHere) {
  Connect();
  const auto card = Open();
  EXPECT_EQ(OpenRemoteFunction(client_, card->bus(), locks_).status().code(),
            absl::StatusCode::kUnavailable);
  for (const char* name : {"remote:other:6667:0000:03:00.0:0", "remote:host:6667:a/../b:0",
                           "remote:host:6667:0000:03:00.0:x"}) {
    EXPECT_EQ(OpenRemoteFunction(client_, name, locks_).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  }
}

TEST_F(RemoteTest, FailedWritesEndTheConnection) {
  Connect();
  {
    const auto card = Open();
    ASSERT_TRUE(card->MapBar(5).value()->Write(0, Width::k16, 1).ok());
    const absl::Status next = client_->Ping();
    EXPECT_EQ(next.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(next.message()), HasSubstr("host:6667: Connection closed"));
    EXPECT_EQ(client_->Ping(), next);
  }
  EXPECT_EQ(EndOfServer().message(), "write failed: only dwords");
}

TEST_F(RemoteTest, WrongRequestsAreAnswered) {
  Connect();
  const auto card = Open();
  auto error = [&](const Request& request) {
    return std::string(client_->Call(request).status().message());
  };
  const uint64_t huge = ~uint64_t{0};
  EXPECT_THAT(error({Command::kMapBar, 7, 0, 0, 0, 0}), HasSubstr("device 7 not probed"));
  EXPECT_THAT(error({static_cast<Command>(13), 0, 0, 0, 0, 0}), HasSubstr("unknown command 13"));
  EXPECT_THAT(error({static_cast<Command>(255), 0, 0, 0, 0, 0}), HasSubstr("unknown command 255"));
  EXPECT_THAT(error({Command::kMapSysmemFd, 0, 0, 64, 0, 0}), HasSubstr("cannot be shared"));
  EXPECT_THAT(error({Command::kMapBar, 0, 6, 0, 0, 0}), HasSubstr("only 0 to 5"));
  EXPECT_THAT(error({Command::kMapBar, 0, 0xffffffff, 0, 0, 0}), HasSubstr("only 0 to 5"));
  EXPECT_THAT(error({Command::kConfigRead, 0, 0, 0, 8, 0}), HasSubstr("1, 2 or 4 bytes"));
  EXPECT_THAT(error({Command::kConfigRead, 0, 0, huge, 4, 0}), HasSubstr("not within"));
  EXPECT_THAT(error({Command::kConfigRead, 0, 0, 1, 4, 0}), HasSubstr("unaligned"));
  EXPECT_THAT(error({Command::kConfigWrite, 0, 0, 4, 2, 0x10000}), HasSubstr("more bytes"));
  EXPECT_THAT(error({Command::kMmioRead, 0, 5, 4092, 8, 0}), HasSubstr("not within"));
  EXPECT_THAT(error({Command::kMmioRead, 0, 0, 16, huge, 0}), HasSubstr("not within"));
  EXPECT_THAT(error({Command::kMmioRead, 0, 3, 0, 4, 0}), HasSubstr("has no BAR 3"));
  EXPECT_THAT(error({Command::kSysmemRead, 0, 9, 0, 4, 0}), HasSubstr("no memory has the handle"));
  EXPECT_THAT(error({Command::kMapSysmem, 0, 0, huge, 0, 0}), HasSubstr("a client gets"));
  EXPECT_THAT(error({Command::kMapSysmem, 0, 0, 0, 0, 0}), HasSubstr("a client gets"));
  EXPECT_THAT(error({Command::kResizeBar, 0, 5, 0, 0, 0}), HasSubstr("not resizable"));
  EXPECT_TRUE(client_->Ping().ok());
}

TEST_F(RemoteTest, EveryTruncationOfASession) {
  std::vector<uint8_t> session = Probe();
  Append(session, Bytes({Command::kMmioWrite, 0, 5, 0, 4, 0}, {1, 2, 3, 4}));
  Append(session, Bytes({Command::kMmioRead, 0, 5, 0, 4, 0}));
  Append(session, Bytes({Command::kMapSysmem, 0, 0, 4096, 0, 0}));
  Append(session, Bytes({Command::kSysmemWrite, 0, 0, 0, 3, 0}, {1, 2, 3}));
  std::vector<uint8_t> output;
  ASSERT_TRUE(Serve(session, &output).ok());
  EXPECT_EQ(output.size(), 17u + 14 + 17 + 4 + 17 + 8);
  const std::vector<size_t> ends = {0, 41, 78, 111, 144, 180};
  for (size_t n = 0; n <= session.size(); ++n) {
    const bool whole = std::find(ends.begin(), ends.end(), n) != ends.end();
    EXPECT_EQ(Serve({session.begin(), session.begin() + static_cast<ptrdiff_t>(n)}).ok(), whole)
        << n;
  }
}

TEST_F(RemoteTest, AbsurdSizesCostNothing) {
  const uint64_t huge = ~uint64_t{0};
  EXPECT_FALSE(Serve(Bytes({Command::kProbe, 0, 0, 0, huge, 0x1002})).ok());
  EXPECT_FALSE(Serve(Bytes({Command::kProbe, 0, 0, 0, 12, 0x1002}, std::vector<uint8_t>(12))).ok());
  for (uint64_t size : {uint64_t{4097}, uint64_t{1} << 40, huge}) {
    std::vector<uint8_t> session = Probe();
    Append(session, Bytes({Command::kMmioWrite, 0, 5, 0, size, 0}));
    const absl::Status end = Serve(session);
    EXPECT_THAT(std::string(end.message()), HasSubstr("write failed: ")) << size;
  }
  std::vector<uint8_t> session;
  Append(session, Bytes({Command::kSysmemWrite, 0, 0, 0, huge, 0}));
  EXPECT_THAT(std::string(Serve(session).message()), HasSubstr("write failed: no memory"));
}

TEST_F(RemoteTest, ServersThatLie) {
  auto client = [](std::vector<uint8_t> answers) {
    return Client(std::make_unique<Script>(std::move(answers)), "liar:1");
  };
  auto answer = [](const Answer& a, std::vector<uint8_t> data = {}) {
    const auto head = Encode(a);
    data.insert(data.begin(), head.begin(), head.end());
    return data;
  };
  EXPECT_THAT(std::string(client(answer({1, 0, 0})).Ping().message()),
              HasSubstr("RPC failed: unknown error"));
  EXPECT_THAT(std::string(client(answer({1, 2, 0}, {'n', 'o'})).Ping().message()),
              HasSubstr("RPC failed: no"));
  EXPECT_THAT(std::string(client(answer({1, 9, 0}, {'n', 'o'})).Ping().message()),
              HasSubstr("Connection closed"));
  EXPECT_EQ(client(answer({1, ~uint64_t{0}, 0})).Ping().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(client({}).Ping().message()), HasSubstr("Connection closed"));
  EXPECT_EQ(client(answer({0, ~uint64_t{0}, 0})).Probe(Navi31Cards()).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(client(answer({0, 60000, 0})).Probe(Navi31Cards()).ok());

  // Page addresses that are too few, too many, or no whole number of them.
  for (uint64_t bytes : {uint64_t{8}, uint64_t{12}, uint64_t{1} << 40}) {
    std::vector<uint8_t> script = answer({0, 0x744c1002, 0});
    Append(script, answer({0, 0, 0}));
    Append(script, answer({0, 0, 0}));
    Append(script, answer({0, bytes, 0}, std::vector<uint8_t>(16)));
    auto liar = std::make_shared<Client>(std::make_unique<Script>(script), "liar:1");
    const auto card = OpenRemoteFunction(liar, "remote:liar:1:0000:03:00.0:0", locks_).value();
    EXPECT_FALSE(card->AllocateDma(8192, false).ok()) << bytes;
  }
}

TEST_F(RemoteTest, OverTcp) {
  Listener listener = Listener::Open({"127.0.0.1", 0}).value();
  const Address address = listener.address();
  EXPECT_EQ(address.host, "127.0.0.1");
  server_ = std::thread([&] {
    BorrowedSource source(&card_);
    for (int i = 0; i < 2; ++i) {
      const auto stream = listener.Accept();
      ASSERT_TRUE(stream.ok()) << stream.status();
      EXPECT_TRUE(ServeClient(**stream, source).ok());
    }
  });
  for (int i = 0; i < 2; ++i) {
    auto client = Client::Connect(address, absl::Seconds(3)).value();
    EXPECT_TRUE(client->Ping().ok());
    EXPECT_EQ(client->Probe(Navi31Cards())->size(), 1u);
  }
  server_.join();
  const Address nobody = Listener::Open({"127.0.0.1", 0})->address();
  EXPECT_EQ(Client::Connect(nobody, absl::Seconds(3)).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace tg::pci::remote
