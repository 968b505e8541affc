#ifndef TG_DRIVERS_PCI_REMOTE_PROTOCOL_H_
#define TG_DRIVERS_PCI_REMOTE_PROTOCOL_H_

// How PCI functions of another machine are driven over a byte stream (TCP, port 6667). Numbers are
// little-endian. The client sends requests of 33 bytes,
//
//   0   u8   command
//   1   u32  index of the device
//   5   u32  BAR, or handle of memory
//   9   u64  x, y, z
//
// some with a payload behind them. The server answers in order, with 17 bytes,
//
//   0   u8   status; 0: success
//   1   u64  a, b
//
// or, when the status is not 0, with a bytes of text behind them. Writes to BARs and to memory are
// not answered, so they are as fast as the stream; one that fails ends the connection.
//
//   command          x, y, z               payload        answer a, b; data behind it
//   0  PROBE         class, bytes, vendor  u32 pairs of   bytes of text; "bus:index\n..."
//                                          mask, device
//   1  MAP_BAR                                            address, size
//   3  CFG_READ      offset, width                        value
//   4  CFG_WRITE     offset, width, value
//   5  RESET
//   6  MMIO_READ     offset, size                         size; the bytes
//   7  MMIO_WRITE    offset, size          the bytes      none
//   8  MAP_SYSMEM    size, contiguous                     bytes of u64 page addresses, handle
//   9  SYSMEM_READ   offset, size                         size; the bytes
//   10 SYSMEM_WRITE  offset, size          the bytes      none
//   11 RESIZE_BAR    size; 0: the largest
//   12 PING
//
// Class 0 is any base class, and no pairs are any device. Command 2 passes file descriptors over
// local sockets and is not served. There is neither encryption nor authentication: a peer can do
// what the devices can do, which is to read and write all of the machine's memory.

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tg::pci::remote {

inline constexpr int kDefaultPort = 6667;

enum class Command : uint8_t {
  kProbe = 0,
  kMapBar = 1,
  kMapSysmemFd = 2,
  kConfigRead = 3,
  kConfigWrite = 4,
  kReset = 5,
  kMmioRead = 6,
  kMmioWrite = 7,
  kMapSysmem = 8,
  kSysmemRead = 9,
  kSysmemWrite = 10,
  kResizeBar = 11,
  kPing = 12,
};

struct Request {
  Command command = Command::kPing;
  uint32_t device = 0;
  uint32_t index = 0;
  uint64_t x = 0, y = 0, z = 0;
};

struct Answer {
  uint8_t status = 0;
  uint64_t a = 0, b = 0;
};

inline constexpr size_t kRequestSize = 33;
inline constexpr size_t kAnswerSize = 17;

// What either side accepts at most, so that a hostile peer costs little.
inline constexpr uint64_t kMaxText = 64 << 10;
inline constexpr uint64_t kMaxProbePayload = 4096;
inline constexpr uint64_t kChunk = 256 << 10;              // data is moved in pieces of this size
inline constexpr uint64_t kMaxSysmem = uint64_t{1} << 30;  // of one client

std::array<uint8_t, kRequestSize> Encode(const Request& request);
Request DecodeRequest(const std::array<uint8_t, kRequestSize>& bytes);
std::array<uint8_t, kAnswerSize> Encode(const Answer& answer);
Answer DecodeAnswer(const std::array<uint8_t, kAnswerSize>& bytes);

// A reliable stream of bytes in both directions. After an error it is of no use.
class Stream {
 public:
  virtual ~Stream() = default;
  // Fills `bytes`. Unavailable "Connection closed" when the peer ends the stream before.
  virtual absl::Status Read(absl::Span<uint8_t> bytes) = 0;
  virtual absl::Status Write(absl::Span<const uint8_t> bytes) = 0;
};

// "host", "host:port", "[::1]:port".
struct Address {
  std::string host;
  int port = kDefaultPort;
};
absl::StatusOr<Address> ParseAddress(absl::string_view text);

}  // namespace tg::pci::remote

#endif  // TG_DRIVERS_PCI_REMOTE_PROTOCOL_H_
