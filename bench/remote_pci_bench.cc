// The remote PCI protocol over loopback TCP, to a simulated card: round trips a second, and MB/s of
// transfers. items_per_second are round trips, bytes_per_second the transfers' payload.
//
// The limit is what the kernel takes for a round trip of one byte over the same socket, which
// BM_Socket measures.
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/check.h"
#include "benchmark/benchmark.h"
#include "drivers/pci/config_space.h"
#include "drivers/pci/remote/borrowed_source.h"
#include "drivers/pci/remote/remote_function.h"
#include "drivers/pci/remote/server.h"
#include "drivers/pci/remote/socket.h"
#include "drivers/sim/pci/sim_function.h"

namespace tg::pci::remote {
namespace {

constexpr uint64_t kMemory = 16 << 20;

// A server in another thread, and a client of it.
struct Pair {
  Pair() : card("0000:03:00.0", {.vendor = 0x1002, .device = 0x744c}) {
    card.AddMemoryBar(0, kMemory);
    Listener listener = Listener::Open({"127.0.0.1", 0}).value();
    server = std::thread([this, &listener] {
      const auto stream = listener.Accept().value();
      BorrowedSource source(&card);
      TG_CHECK(ServeClient(*stream, source).ok());
    });
    client = Client::Connect(listener.address(), absl::Seconds(3)).value();
    TG_CHECK(client->Ping().ok());  // it has been accepted
    TG_CHECK_EQ(client->Probe({.vendor = 0x1002})->size(), size_t{1});
  }
  ~Pair() {
    client.reset();
    server.join();
  }

  sim::SimFunction card;
  std::thread server;
  std::shared_ptr<Client> client;
};

void BM_Socket(benchmark::State& state) {
  Listener listener = Listener::Open({"127.0.0.1", 0}).value();
  std::thread echo([&] {
    const auto stream = listener.Accept().value();
    std::vector<uint8_t> byte(1);
    while (stream->Read(absl::MakeSpan(byte)).ok() && stream->Write(byte).ok()) {
    }
  });
  {
    const auto stream = SocketStream::Connect(listener.address(), absl::Seconds(3)).value();
    std::vector<uint8_t> byte(1);
    for (auto _ : state) {
      TG_CHECK(stream->Write(byte).ok());
      TG_CHECK(stream->Read(absl::MakeSpan(byte)).ok());
    }
  }
  echo.join();
  state.SetItemsProcessed(state.iterations());
}

void BM_Ping(benchmark::State& state) {
  Pair pair;
  for (auto _ : state) TG_CHECK(pair.client->Ping().ok());
  state.SetItemsProcessed(state.iterations());
}

void BM_Read(benchmark::State& state) {
  Pair pair;
  std::vector<uint8_t> bytes(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    TG_CHECK(
        pair.client->Call({Command::kMmioRead, 0, 0, 0, bytes.size(), 0}, absl::MakeSpan(bytes))
            .ok());
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

// Writes are not answered; a read of config space every 64 keeps the time honest.
void BM_Write(benchmark::State& state) {
  Pair pair;
  const std::vector<uint8_t> bytes(static_cast<size_t>(state.range(0)), 1);
  int64_t n = 0;
  for (auto _ : state) {
    TG_CHECK(pair.client->Post({Command::kMmioWrite, 0, 0, 0, bytes.size(), 0}, bytes).ok());
    if (++n % 64 == 0) TG_CHECK(pair.client->Call({Command::kConfigRead, 0, 0, 0, 4, 0}).ok());
  }
  TG_CHECK(pair.client->Call({Command::kConfigRead, 0, 0, 0, 4, 0}).ok());
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

BENCHMARK(BM_Socket)->UseRealTime();
BENCHMARK(BM_Ping)->UseRealTime();
BENCHMARK(BM_Read)->Arg(4)->Arg(1 << 10)->Arg(8 << 20)->UseRealTime();
BENCHMARK(BM_Write)->Arg(4)->Arg(1 << 10)->Arg(8 << 20)->UseRealTime();

}  // namespace
}  // namespace tg::pci::remote
