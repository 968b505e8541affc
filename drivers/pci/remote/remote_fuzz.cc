// libFuzzer: any bytes are a client to the server and a server to the client.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "drivers/pci/remote/borrowed_source.h"
#include "drivers/pci/remote/remote_function.h"
#include "drivers/pci/remote/server.h"
#include "drivers/sim/pci/sim_function.h"

namespace tg::pci::remote {
namespace {

class Script final : public Stream {
 public:
  Script(const uint8_t* data, size_t size) : left_(data, size) {}
  absl::Status Read(absl::Span<uint8_t> bytes) override {
    if (bytes.size() > left_.size()) return absl::UnavailableError("Connection closed");
    std::copy_n(left_.begin(), bytes.size(), bytes.begin());
    left_.remove_prefix(bytes.size());
    return absl::OkStatus();
  }
  absl::Status Write(absl::Span<const uint8_t>) override { return absl::OkStatus(); }

 private:
  absl::Span<const uint8_t> left_;
};

}  // namespace
}  // namespace tg::pci::remote

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tg::pci;          // NOLINT: names of two libraries in ten lines
  using namespace tg::pci::remote;  // NOLINT
  {
    tg::sim::SimFunction card("0000:03:00.0", {.vendor = 0x1002, .device = 0x744c});
    card.AddMemoryBar(0, 1 << 16);
    card.AddMemoryBar(5, 4096, false);
    BorrowedSource source(&card);
    Script script(data, size);
    (void)ServeClient(script, source);
  }
  auto client = std::make_shared<Client>(std::make_unique<Script>(data, size), "x:1");
  (void)client->Ping();
  const auto names = client->Probe({.vendor = 0x1002});
  if (!names.ok() || names->empty()) return 0;
  std::vector<uint8_t> bytes;
  (void)client->CallForBytes({Command::kMapSysmem, 0, 0, 4096, 0, 0}, 4096, bytes);
  return 0;
}
