#ifndef TG_DRIVERS_PCI_REMOTE_SERVER_H_
#define TG_DRIVERS_PCI_REMOTE_SERVER_H_

// The side of the protocol that has the devices.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drivers/pci/function.h"
#include "drivers/pci/match.h"
#include "drivers/pci/remote/protocol.h"

namespace tg::pci::remote {

// The functions that are served.
class FunctionSource {
 public:
  virtual ~FunctionSource() = default;
  virtual absl::StatusOr<std::vector<std::string>> List(const Match& match) = 0;
  virtual absl::StatusOr<std::unique_ptr<Function>> Open(const std::string& bus) = 0;
};

// Called for each request, with one line about it.
using RequestLog = std::function<void(absl::string_view line)>;

// Serves one client until it goes: functions are opened when they are first used, and closed, with
// all memory of the client, at the end. Returns why the connection ended; the client just leaving
// is success. What a client asks wrongly is answered with an error; what cannot be answered
// (unanswered writes, requests with sizes that cannot be) ends the connection: "write failed: ...".
// Never holds more of a transfer than kChunk bytes.
absl::Status ServeClient(Stream& stream, FunctionSource& source, const RequestLog& log = nullptr);

}  // namespace tg::pci::remote

#endif  // TG_DRIVERS_PCI_REMOTE_SERVER_H_
