#include "drivers/pci/remote/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace tg::pci::remote {
namespace {

struct AddrInfoDeleter {
  void operator()(addrinfo* info) const { freeaddrinfo(info); }
};
using AddrInfo = std::unique_ptr<addrinfo, AddrInfoDeleter>;

std::string Name(const Address& address) { return absl::StrCat(address.host, ":", address.port); }

absl::StatusOr<AddrInfo> Resolve(const Address& address, int flags) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* info = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &info);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot find ", address.host, ": ", gai_strerror(error)));
  }
  return AddrInfo(info);
}

void Tune(int fd) {
  // Failures cost speed alone.
  const int on = 1;
  const int size = 64 << 20;
  static_cast<void>(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
  static_cast<void>(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)));
  static_cast<void>(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)));
  static_cast<void>(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
}

absl::Status ConnectWithin(int fd, const addrinfo& to, absl::Duration timeout) {
  if (connect(fd, to.ai_addr, to.ai_addrlen) == 0) return absl::OkStatus();
  if (errno != EINPROGRESS) return absl::UnavailableError(std::strerror(errno));
  const absl::Time deadline = absl::Now() + timeout;
  for (;;) {
    pollfd p{fd, POLLOUT, 0};
    const absl::Duration left = std::max(deadline - absl::Now(), absl::ZeroDuration());
    const int n = poll(&p, 1, static_cast<int>(absl::ToInt64Milliseconds(left)));
    if (n == 0) {
      return absl::DeadlineExceededError(
          absl::StrCat("no answer within ", absl::FormatDuration(timeout)));
    }
    if (n > 0) break;
    if (errno != EINTR) return absl::UnavailableError(std::strerror(errno));
  }
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? absl::OkStatus() : absl::UnavailableError(std::strerror(error));
}

}  // namespace

SocketStream::~SocketStream() { close(fd_); }

absl::StatusOr<std::unique_ptr<SocketStream>> SocketStream::Connect(const Address& address,
                                                                    absl::Duration timeout) {
  absl::StatusOr<AddrInfo> list = Resolve(address, 0);
  if (!list.ok()) return list.status();
  absl::Status last = absl::UnavailableError("no address");
  for (const addrinfo* to = list->get(); to != nullptr; to = to->ai_next) {
    const int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
      last = absl::UnavailableError(std::strerror(errno));
      continue;
    }
    last = ConnectWithin(fd, *to, timeout);
    if (last.ok() && fcntl(fd, F_SETFL, 0) != 0) last = absl::ErrnoToStatus(errno, "fcntl");
    if (last.ok()) {
      Tune(fd);
      return std::make_unique<SocketStream>(fd);
    }
    close(fd);
  }
  return absl::Status(last.code(),
                      absl::StrCat("cannot connect to ", Name(address), ": ", last.message()));
}

absl::Status SocketStream::Read(absl::Span<uint8_t> bytes) {
  while (!bytes.empty()) {
    if (begin_ < end_) {
      const size_t n = std::min(bytes.size(), end_ - begin_);
      std::memcpy(bytes.data(), buffer_.data() + begin_, n);
      begin_ += n;
      bytes.remove_prefix(n);
      continue;
    }
    // What is as large as the buffer does not go through it.
    const bool whole = bytes.size() >= buffer_.size();
    const ssize_t n = whole ? recv(fd_, bytes.data(), bytes.size(), 0)
                            : recv(fd_, buffer_.data(), buffer_.size(), 0);
    if (n == 0) return absl::UnavailableError("Connection closed");
    if (n < 0) {
      if (errno == EINTR) continue;
      return absl::UnavailableError(absl::StrCat("Connection closed: ", std::strerror(errno)));
    }
    if (whole) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else {
      begin_ = 0;
      end_ = static_cast<size_t>(n);
    }
  }
  return absl::OkStatus();
}

absl::Status SocketStream::Write(absl::Span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EINTR) continue;
      return absl::UnavailableError(absl::StrCat("Connection closed: ", std::strerror(errno)));
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::StatusOr<Listener> Listener::Open(const Address& address) {
  absl::StatusOr<AddrInfo> list = Resolve(address, AI_PASSIVE);
  if (!list.ok()) return list.status();
  const addrinfo& at = **list;
  const int fd = socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot make a socket");
  const int on = 1;
  static_cast<void>(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  if (bind(fd, at.ai_addr, at.ai_addrlen) != 0 || listen(fd, 1) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    const absl::Status status =
        absl::ErrnoToStatus(errno, absl::StrCat("cannot listen on ", Name(address)));
    close(fd);
    return status;
  }
  char host[INET6_ADDRSTRLEN] = "";
  Address real;
  if (bound.ss_family == AF_INET6) {
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(bound);
    inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof(host));
    real.port = ntohs(in6.sin6_port);
  } else {
    const auto& in = reinterpret_cast<const sockaddr_in&>(bound);
    inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
    real.port = ntohs(in.sin_port);
  }
  real.host = host;
  return Listener(fd, real);
}

Listener::~Listener() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<std::unique_ptr<SocketStream>> Listener::Accept() {
  for (;;) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) {
      Tune(fd);
      return std::make_unique<SocketStream>(fd);
    }
    // A client that has gone again is no reason to stop.
    if (errno != EINTR && errno != ECONNABORTED) {
      return absl::ErrnoToStatus(errno, "cannot take a client");
    }
  }
}

}  // namespace tg::pci::remote
