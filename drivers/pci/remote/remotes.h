#ifndef TG_DRIVERS_PCI_REMOTE_REMOTES_H_
#define TG_DRIVERS_PCI_REMOTE_REMOTES_H_

// The machines of the setting REMOTE, whose PCI functions take the place of this machine's:
// "10.0.0.2", "gpubox:7000,[fe80::2]:6667". Each runs remote_pci.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "drivers/pci/device_lock.h"
#include "drivers/pci/function.h"
#include "drivers/pci/match.h"
#include "drivers/pci/remote/remote_function.h"

namespace tg::pci::remote {

// One of their functions.
struct RemoteDevice {
  std::shared_ptr<Client> client;
  std::string name;  // "remote:10.0.0.2:6667:0000:03:00.0:0"

  absl::StatusOr<std::unique_ptr<Function>> Open(const std::string& locks = kLockFolder) const {
    return OpenRemoteFunction(client, name, locks);
  }
};

// Connects to all of `addresses`, as REMOTE has them. InvalidArgument: one is no address; errors of
// Client::Connect name the address. With DEBUG=1 or more a client says what it has sent and
// received when it is destroyed.
absl::StatusOr<std::vector<std::shared_ptr<Client>>> ConnectRemotes(absl::string_view addresses,
                                                                    absl::Duration timeout);

// The functions that match, machine by machine.
absl::StatusOr<std::vector<RemoteDevice>> ListRemoteDevices(
    const std::vector<std::shared_ptr<Client>>& clients, const Match& match);

}  // namespace tg::pci::remote

#endif  // TG_DRIVERS_PCI_REMOTE_REMOTES_H_
