#include "drivers/pci/remote/remotes.h"

#include <cstdio>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/settings.h"
#include "drivers/pci/remote/protocol.h"

namespace tg::pci::remote {

absl::StatusOr<std::vector<std::shared_ptr<Client>>> ConnectRemotes(absl::string_view addresses,
                                                                    absl::Duration timeout) {
  std::vector<std::shared_ptr<Client>> clients;
  for (absl::string_view text : absl::StrSplit(addresses, ',', absl::SkipWhitespace())) {
    const absl::StatusOr<Address> address = ParseAddress(text);
    if (!address.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("REMOTE: ", address.status().message()));
    }
    absl::StatusOr<std::shared_ptr<Client>> client = Client::Connect(*address, timeout);
    if (!client.ok()) {
      return absl::Status(client.status().code(),
                          absl::StrCat("REMOTE: ", client.status().message(),
                                       "; does remote_pci run there and listen to this machine?"));
    }
    if (base::Get(base::kDebug) >= 1) {
      // Says it when the last user of the client has gone, and then lets the client go.
      Client* const counted = client->get();
      client = std::shared_ptr<Client>(counted, [owner = *std::move(client)](Client* c) {
        std::fprintf(stderr, "%s\n", c->Statistics().c_str());
      });
    }
    clients.push_back(*std::move(client));
  }
  return clients;
}

absl::StatusOr<std::vector<RemoteDevice>> ListRemoteDevices(
    const std::vector<std::shared_ptr<Client>>& clients, const Match& match) {
  std::vector<RemoteDevice> devices;
  for (const std::shared_ptr<Client>& client : clients) {
    absl::StatusOr<std::vector<std::string>> names = client->Probe(match);
    if (!names.ok()) {
      return absl::Status(names.status().code(),
                          absl::StrCat("REMOTE: ", client->name(), ": ", names.status().message()));
    }
    for (std::string& name : *names) devices.push_back({client, std::move(name)});
  }
  return devices;
}

}  // namespace tg::pci::remote
