// Serves this machine's PCI functions to programs on other machines. See --help.

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/settings.h"
#include "drivers/pci/linux/linux_function.h"
#include "drivers/pci/remote/protocol.h"
#include "drivers/pci/remote/server.h"
#include "drivers/pci/remote/socket.h"

namespace tg::pci::remote {
namespace {

constexpr char kDescription[] =
    "Lets a program on another machine drive the PCI devices of this one: it asks for devices, and "
    "then "
    "reads and writes their registers and memory, and memory of this machine that they can reach. "
    "One "
    "client at a time is served; the others wait. A device is opened, and its lock taken, when the "
    "client "
    "first uses it, and given up when the client leaves. No kernel driver may be bound to it.";

constexpr char kSecurity[] =
    "There is neither a password nor encryption, and whoever can connect can read and write all "
    "memory of "
    "this machine through a device. So only programs on this machine are listened to unless "
    "--listen says "
    "otherwise; better than that is a tunnel:\n"
    "\n"
    "  ssh -L 6667:127.0.0.1:6667 gpubox";

constexpr char kClients[] =
    "Programs of tg take a machine's devices in the place of their own with REMOTE in the "
    "environment:\n"
    "\n"
    "  REMOTE=gpubox am_smi --list\n"
    "  REMOTE=127.0.0.1:6667 amdflash --transport pci info";

constexpr char kExamples[] =
    "  remote_pci\n"
    "  remote_pci 7000 --listen 10.0.0.2\n"
    "\n"
    "DEBUG=4 prints every request.";

constexpr uint16_t kNvidia = 0x10de;

class LinuxSource final : public FunctionSource {
 public:
  explicit LinuxSource(LinuxHost host) : host_(std::move(host)) {}

  absl::StatusOr<std::vector<std::string>> List(const Match& match) override {
    absl::StatusOr<std::vector<std::string>> buses = ListLinuxFunctions(host_, match);
    if (buses.ok()) {
      for (const std::string& bus : *buses) vendors_[bus] = match.vendor;
    }
    return buses;
  }
  absl::StatusOr<std::unique_ptr<Function>> Open(const std::string& bus) override {
    // The lock of programs on this machine, so that they and the client keep out of each other's
    // way.
    LinuxOpenOptions options;
    options.lock_prefix = vendors_[bus] == kNvidia ? kNvidiaLocks : kAmdLocks;
    return OpenLinuxFunction(host_, bus, options);
  }

 private:
  const LinuxHost host_;
  std::map<std::string, uint16_t> vendors_;
};

int Main(int argc, char** argv) {
  std::string port_text = absl::StrCat(kDefaultPort);
  std::string listen = "127.0.0.1";
  std::string root;
  bool once = false;
  base::Flags flags("remote_pci", "serves PCI devices to programs on other machines");
  flags.SetDescription(kDescription);
  flags.AddArgument("PORT", &port_text, "TCP port (default: 6667); 0: any that is free",
                    /*required=*/false);
  flags.Add("listen", &listen, "ADDRESS", "where to listen; 0.0.0.0: to everybody");
  flags.Add("once", &once, "end when the first client has left");
  flags.Add("root", &root, "DIR", "look for /sys, /proc and /tmp below this folder");
  flags.AddSection("SECURITY", kSecurity);
  flags.AddSection("CLIENTS", kClients);
  flags.AddSection("EXAMPLES", kExamples);
  flags.ParseOrExit(argc, argv);

  Address address;
  if (port_text != "0") {
    const absl::StatusOr<Address> parsed = ParseAddress(absl::StrCat("[", listen, "]:", port_text));
    if (!parsed.ok()) {
      std::fprintf(stderr, "error: %s is no port; expected 0 to 65535\n", port_text.c_str());
      return 2;
    }
    address.port = parsed->port;
  } else {
    address.port = 0;
  }
  address.host = listen;

  LinuxHost host;
  if (!root.empty()) {
    root = base::ResolveUserPath(root);
    host = {.sys = root + "/sys", .proc = root + "/proc", .locks = root + "/tmp"};
  }
  absl::StatusOr<Listener> listener = Listener::Open(address);
  if (!listener.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(listener.status().message()).c_str());
    return 1;
  }
  std::printf("listening on %s:%d\n", listener->address().host.c_str(), listener->address().port);
  std::fflush(stdout);
  RequestLog log;
  if (base::Get(base::kDebug) >= 4) {
    log = [](absl::string_view line) { std::fprintf(stderr, "%s\n", std::string(line).c_str()); };
  }
  do {
    absl::StatusOr<std::unique_ptr<SocketStream>> stream = listener->Accept();
    if (!stream.ok()) {
      std::fprintf(stderr, "error: %s\n", std::string(stream.status().message()).c_str());
      return 1;
    }
    LinuxSource source(host);
    const absl::Status end = ServeClient(**stream, source, log);
    if (!end.ok()) std::fprintf(stderr, "ERROR: %s\n", std::string(end.message()).c_str());
    std::printf("disconnected\n");
    std::fflush(stdout);
  } while (!once);
  return 0;
}

}  // namespace
}  // namespace tg::pci::remote

int main(int argc, char** argv) { return tg::pci::remote::Main(argc, argv); }
