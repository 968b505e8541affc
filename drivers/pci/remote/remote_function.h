#ifndef TG_DRIVERS_PCI_REMOTE_REMOTE_FUNCTION_H_
#define TG_DRIVERS_PCI_REMOTE_REMOTE_FUNCTION_H_

// PCI functions of another machine, which runs remote_pci.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "drivers/pci/device_lock.h"
#include "drivers/pci/function.h"
#include "drivers/pci/match.h"
#include "drivers/pci/remote/protocol.h"

namespace tg::pci::remote {

// The client's end of a stream. After an error of the stream everything fails with it: answers
// could no longer be told apart. Errors of the device are "RPC failed: ..." and leave it usable.
// Writes to BARs and memory are not answered, so their failure shows in the next call.
// Not thread safe; functions of one client share it.
class Client {
 public:
  // `name` is for the names of functions: "10.0.0.2:6667".
  Client(std::unique_ptr<Stream> stream, std::string name)
      : stream_(std::move(stream)), name_(std::move(name)) {}

  static absl::StatusOr<std::shared_ptr<Client>> Connect(const Address& address,
                                                         absl::Duration timeout);

  const std::string& name() const { return name_; }

  absl::Status Ping();
  // Names as "remote:10.0.0.2:6667:0000:03:00.0:0"; the last number is the index.
  absl::StatusOr<std::vector<std::string>> Probe(const Match& match);

  // A request, the data that belongs to it, and its answer. `data` is filled with what follows the
  // answer; its size must be the one announced.
  absl::StatusOr<Answer> Call(const Request& request, absl::Span<uint8_t> data = {},
                              absl::Span<const uint8_t> payload = {});
  // The same where only the answer tells how much follows. ResourceExhausted, and the end of the
  // client, when that is more than `limit`.
  absl::StatusOr<Answer> CallForBytes(const Request& request, uint64_t limit,
                                      std::vector<uint8_t>& data,
                                      absl::Span<const uint8_t> payload = {});
  absl::Status Post(const Request& request, absl::Span<const uint8_t> payload);

  // "remote: sent 1.2 MB (...), recv 0.1 MB (...), 12 roundtrips in 0.05s".
  std::string Statistics() const;

 private:
  absl::Status Send(const Request& request, absl::Span<const uint8_t> payload);
  absl::Status Receive(absl::Span<uint8_t> bytes);
  absl::Status Break(absl::Status status);
  absl::StatusOr<Answer> ReceiveAnswer();

  const std::unique_ptr<Stream> stream_;
  const std::string name_;
  absl::Status broken_;
  std::vector<uint8_t> out_;
  uint64_t sent_ = 0, received_ = 0, calls_ = 0;
  absl::Duration waited_;
};

// Opens one of Client::Probe's functions: takes its lock on this machine, so that others here see
// who uses it. No interrupts.
absl::StatusOr<std::unique_ptr<Function>> OpenRemoteFunction(
    std::shared_ptr<Client> client, const std::string& name, const std::string& locks = kLockFolder,
    absl::string_view lock_prefix = kAmdLocks);

}  // namespace tg::pci::remote

#endif  // TG_DRIVERS_PCI_REMOTE_REMOTE_FUNCTION_H_
