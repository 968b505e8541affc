#ifndef TG_DRIVERS_PCI_REMOTE_SOCKET_H_
#define TG_DRIVERS_PCI_REMOTE_SOCKET_H_

// TCP streams of the protocol.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "drivers/pci/remote/protocol.h"

namespace tg::pci::remote {

// A connected socket. Reads are buffered. Small writes are sent at once: each is a register access
// that somebody waits for.
class SocketStream final : public Stream {
 public:
  // Takes the socket over.
  explicit SocketStream(int fd) : fd_(fd), buffer_(64 << 10) {}
  ~SocketStream() override;
  SocketStream(const SocketStream&) = delete;
  SocketStream& operator=(const SocketStream&) = delete;

  // Unavailable: nobody listens there; DeadlineExceeded: no answer within `timeout`.
  static absl::StatusOr<std::unique_ptr<SocketStream>> Connect(const Address& address,
                                                               absl::Duration timeout);

  absl::Status Read(absl::Span<uint8_t> bytes) override;
  absl::Status Write(absl::Span<const uint8_t> bytes) override;

 private:
  const int fd_;
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0, end_ = 0;
};

class Listener {
 public:
  // Port 0: any that is free.
  static absl::StatusOr<Listener> Open(const Address& address);

  Listener(Listener&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), address_(std::move(other.address_)) {}
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  // Where it listens, with the real port: "127.0.0.1:6667".
  const Address& address() const { return address_; }
  // Waits for a client.
  absl::StatusOr<std::unique_ptr<SocketStream>> Accept();

 private:
  Listener(int fd, Address address) : fd_(fd), address_(std::move(address)) {}
  int fd_;
  Address address_;
};

}  // namespace tg::pci::remote

#endif  // TG_DRIVERS_PCI_REMOTE_SOCKET_H_
