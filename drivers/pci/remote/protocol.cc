#include "drivers/pci/remote/protocol.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tg::pci::remote {
namespace {

template <typename T>
uint8_t* Put(uint8_t* at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) *at++ = static_cast<uint8_t>(uint64_t{value} >> (8 * i));
  return at;
}

template <typename T>
const uint8_t* Get(const uint8_t* at, T& value) {
  uint64_t bits = 0;
  for (size_t i = 0; i < sizeof(T); ++i) bits |= uint64_t{*at++} << (8 * i);
  value = static_cast<T>(bits);
  return at;
}

}  // namespace

std::array<uint8_t, kRequestSize> Encode(const Request& request) {
  std::array<uint8_t, kRequestSize> bytes;
  uint8_t* at = Put(bytes.data(), static_cast<uint8_t>(request.command));
  at = Put(Put(at, request.device), request.index);
  Put(Put(Put(at, request.x), request.y), request.z);
  return bytes;
}

Request DecodeRequest(const std::array<uint8_t, kRequestSize>& bytes) {
  Request request;
  uint8_t command;
  const uint8_t* at = Get(bytes.data(), command);
  request.command = static_cast<Command>(command);
  at = Get(Get(at, request.device), request.index);
  Get(Get(Get(at, request.x), request.y), request.z);
  return request;
}

std::array<uint8_t, kAnswerSize> Encode(const Answer& answer) {
  std::array<uint8_t, kAnswerSize> bytes;
  Put(Put(Put(bytes.data(), answer.status), answer.a), answer.b);
  return bytes;
}

Answer DecodeAnswer(const std::array<uint8_t, kAnswerSize>& bytes) {
  Answer answer;
  Get(Get(Get(bytes.data(), answer.status), answer.a), answer.b);
  return answer;
}

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  Address address;
  absl::string_view rest = text;
  absl::string_view port;
  bool has_port = false;
  if (absl::ConsumePrefix(&rest, "[")) {
    const size_t end = rest.find(']');
    if (end == absl::string_view::npos) rest = "";
    address.host = std::string(rest.substr(0, end));
    rest.remove_prefix(end == absl::string_view::npos ? 0 : end + 1);
    has_port = absl::ConsumePrefix(&rest, ":");
    if (!has_port && !rest.empty()) address.host.clear();
    port = rest;
  } else {
    const size_t colon = rest.find(':');
    address.host = std::string(rest.substr(0, colon));
    has_port = colon != absl::string_view::npos;
    if (has_port) port = rest.substr(colon + 1);
  }
  if (address.host.empty() || (has_port && (!absl::SimpleAtoi(port, &address.port) ||
                                            address.port < 1 || address.port > 65535))) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no address; expected HOST, HOST:PORT or [IPV6]:PORT"));
  }
  return address;
}

}  // namespace tg::pci::remote
