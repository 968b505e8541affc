#include "drivers/pci/remote/remote_function.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "drivers/pci/config_space.h"
#include "drivers/pci/remote/socket.h"

namespace tg::pci::remote {
namespace {

uint64_t LoadLittle(absl::Span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{bytes[i]} << (8 * i);
  return value;
}

class RemoteRegion final : public Region {
 public:
  RemoteRegion(std::shared_ptr<Client> client, uint32_t device, int index, uint64_t size)
      : Region(size),
        client_(std::move(client)),
        device_(device),
        index_(static_cast<uint32_t>(index)) {}

 private:
  Request Of(Command command, uint64_t offset, uint64_t size) const {
    return {command, device_, index_, offset, size, 0};
  }
  absl::StatusOr<uint64_t> DoRead(uint64_t offset, Width width) override {
    std::array<uint8_t, 8> bytes;
    const absl::Span<uint8_t> span = absl::MakeSpan(bytes).first(static_cast<size_t>(width));
    if (absl::Status s = DoReadBytes(offset, span); !s.ok()) return s;
    return LoadLittle(span);
  }
  absl::Status DoWrite(uint64_t offset, Width width, uint64_t value) override {
    std::array<uint8_t, 8> bytes;
    for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
    return DoWriteBytes(offset, absl::MakeSpan(bytes).first(static_cast<size_t>(width)));
  }
  absl::Status DoReadBytes(uint64_t offset, absl::Span<uint8_t> bytes) override {
    return client_->Call(Of(Command::kMmioRead, offset, bytes.size()), bytes).status();
  }
  absl::Status DoWriteBytes(uint64_t offset, absl::Span<const uint8_t> bytes) override {
    return client_->Post(Of(Command::kMmioWrite, offset, bytes.size()), bytes);
  }

  const std::shared_ptr<Client> client_;
  const uint32_t device_;
  const uint32_t index_;
};

class RemoteMemory final : public DmaMemory {
 public:
  RemoteMemory(std::shared_ptr<Client> client, uint32_t device, uint32_t handle,
               std::vector<uint64_t> pages)
      : DmaMemory(pages.size() * kPageSize, pages),
        client_(std::move(client)),
        device_(device),
        handle_(handle) {}

 private:
  absl::Status DoRead(uint64_t offset, absl::Span<uint8_t> bytes) override {
    return client_->Call({Command::kSysmemRead, device_, handle_, offset, bytes.size(), 0}, bytes)
        .status();
  }
  absl::Status DoWrite(uint64_t offset, absl::Span<const uint8_t> bytes) override {
    return client_->Post({Command::kSysmemWrite, device_, handle_, offset, bytes.size(), 0}, bytes);
  }

  const std::shared_ptr<Client> client_;
  const uint32_t device_;
  const uint32_t handle_;
};

class RemoteFunction final : public Function {
 public:
  RemoteFunction(std::shared_ptr<Client> client, std::string name, uint32_t device, DeviceLock lock)
      : client_(std::move(client)),
        name_(std::move(name)),
        device_(device),
        lock_(std::move(lock)) {}

  const std::string& bus() const override { return name_; }

  absl::StatusOr<std::unique_ptr<DmaMemory>> AllocateDma(uint64_t size, bool contiguous) override {
    // A huge page may be given for less.
    const uint64_t most = size / DmaMemory::kPageSize + 513;
    if (size > kMaxSysmem) {
      return absl::ResourceExhaustedError(
          absl::StrCat(name_, ": no ", size, " bytes: a client gets ", kMaxSysmem, " in all"));
    }
    std::vector<uint8_t> list;
    absl::StatusOr<Answer> answer = client_->CallForBytes(
        {Command::kMapSysmem, device_, 0, size, contiguous ? uint64_t{1} : 0, 0}, 8 * most, list);
    if (!answer.ok()) return answer.status();
    std::vector<uint64_t> pages(list.size() / 8);
    for (size_t i = 0; i < pages.size(); ++i) {
      pages[i] = LoadLittle(absl::MakeSpan(list).subspan(8 * i, 8));
    }
    if (list.size() % 8 != 0 || pages.size() * DmaMemory::kPageSize < size ||
        answer->b > 0xffffffff) {
      return absl::DataLossError(absl::StrCat(name_, ": the server gave ", list.size(),
                                              " bytes of page addresses for ", size, " bytes"));
    }
    return std::make_unique<RemoteMemory>(client_, device_, static_cast<uint32_t>(answer->b),
                                          std::move(pages));
  }

  absl::Status Reset() override {
    return client_->Call({Command::kReset, device_, 0, 0, 0, 0}).status();
  }

  absl::StatusOr<std::unique_ptr<Interrupt>> EnableInterrupt() override {
    return absl::UnimplementedError(
        absl::StrCat(name_, ": no interrupts over a network; poll the device's memory"));
  }

 private:
  absl::StatusOr<uint32_t> DoReadConfig(uint32_t offset, Width width) override {
    absl::StatusOr<Answer> answer =
        client_->Call({Command::kConfigRead, device_, 0, offset, static_cast<uint64_t>(width), 0});
    if (!answer.ok()) return answer.status();
    return static_cast<uint32_t>(answer->a & AllOnes(width));
  }
  absl::Status DoWriteConfig(uint32_t offset, Width width, uint32_t value) override {
    return client_
        ->Call({Command::kConfigWrite, device_, 0, offset, static_cast<uint64_t>(width), value})
        .status();
  }
  absl::StatusOr<Bar> DoGetBar(int index) override {
    absl::StatusOr<Answer> answer =
        client_->Call({Command::kMapBar, device_, static_cast<uint32_t>(index), 0, 0, 0});
    if (!answer.ok()) return answer.status();
    Bar bar;
    bar.size = answer->b;
    if (bar.size == 0) return bar;
    bar.address = answer->a;
    const uint32_t at = kConfigBar0 + 4 * static_cast<uint32_t>(index);
    absl::StatusOr<uint32_t> flags = DoReadConfig(at, Width::k32);
    if (!flags.ok()) return flags.status();
    bar.prefetchable = (*flags & kBarPrefetchable) != 0;
    bar.is_64bit = (*flags & kBar64) != 0;
    return bar;
  }
  absl::StatusOr<std::unique_ptr<Region>> DoMapBar(int index, const Bar& bar) override {
    return std::make_unique<RemoteRegion>(client_, device_, index, bar.size);
  }
  absl::Status DoResizeBar(int index, uint64_t size) override {
    return client_->Call({Command::kResizeBar, device_, static_cast<uint32_t>(index), size, 0, 0})
        .status();
  }

  const std::shared_ptr<Client> client_;
  const std::string name_;
  const uint32_t device_;
  const DeviceLock lock_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Client>> Client::Connect(const Address& address,
                                                        absl::Duration timeout) {
  absl::StatusOr<std::unique_ptr<SocketStream>> stream = SocketStream::Connect(address, timeout);
  if (!stream.ok()) return stream.status();
  return std::make_shared<Client>(*std::move(stream),
                                  absl::StrCat(address.host, ":", address.port));
}

absl::Status Client::Break(absl::Status status) {
  broken_ = absl::Status(status.code(), absl::StrCat(name_, ": ", status.message()));
  return broken_;
}

absl::Status Client::Send(const Request& request, absl::Span<const uint8_t> payload) {
  if (!broken_.ok()) return broken_;
  const std::array<uint8_t, kRequestSize> head = Encode(request);
  sent_ += kRequestSize + payload.size();
  // Small ones in one packet; large ones are not worth a copy.
  const size_t together = payload.size() <= 4096 ? payload.size() : 0;
  out_.assign(head.begin(), head.end());
  out_.insert(out_.end(), payload.begin(), payload.begin() + static_cast<ptrdiff_t>(together));
  absl::Status s = stream_->Write(out_);
  if (s.ok() && together < payload.size()) s = stream_->Write(payload);
  return s.ok() ? s : Break(s);
}

absl::Status Client::Receive(absl::Span<uint8_t> bytes) {
  if (bytes.empty()) return absl::OkStatus();
  received_ += bytes.size();
  const absl::Status s = stream_->Read(bytes);
  return s.ok() ? s : Break(s);
}

absl::StatusOr<Answer> Client::ReceiveAnswer() {
  ++calls_;
  std::array<uint8_t, kAnswerSize> bytes;
  if (absl::Status s = Receive(absl::MakeSpan(bytes)); !s.ok()) return s;
  const Answer answer = DecodeAnswer(bytes);
  if (answer.status == 0) return answer;
  if (answer.a > kMaxText) {
    return Break(absl::DataLossError(absl::StrCat("an error text of ", answer.a, " bytes")));
  }
  std::string text(answer.a, '\0');
  const absl::Span<uint8_t> span(reinterpret_cast<uint8_t*>(text.data()), text.size());
  if (absl::Status s = Receive(span); !s.ok()) return s;
  return absl::UnknownError(
      absl::StrCat(name_, ": RPC failed: ", text.empty() ? "unknown error" : text));
}

absl::StatusOr<Answer> Client::Call(const Request& request, absl::Span<uint8_t> data,
                                    absl::Span<const uint8_t> payload) {
  const absl::Time begin = absl::Now();
  if (absl::Status s = Send(request, payload); !s.ok()) return s;
  absl::StatusOr<Answer> answer = ReceiveAnswer();
  if (answer.ok()) {
    if (absl::Status s = Receive(data); !s.ok()) return s;
  }
  waited_ += absl::Now() - begin;
  return answer;
}

absl::StatusOr<Answer> Client::CallForBytes(const Request& request, uint64_t limit,
                                            std::vector<uint8_t>& data,
                                            absl::Span<const uint8_t> payload) {
  absl::StatusOr<Answer> answer = Call(request, {}, payload);
  if (!answer.ok()) return answer;
  if (answer->a > limit) {
    return Break(absl::ResourceExhaustedError(
        absl::StrCat("the server sends ", answer->a, " bytes where ", limit, " are the most")));
  }
  // In pieces: what is announced need not come.
  data.clear();
  while (data.size() < answer->a) {
    const size_t had = data.size();
    data.resize(had + std::min(kChunk, answer->a - had));
    if (absl::Status s = Receive(absl::MakeSpan(data).subspan(had)); !s.ok()) return s;
  }
  return answer;
}

absl::Status Client::Post(const Request& request, absl::Span<const uint8_t> payload) {
  return Send(request, payload);
}

absl::Status Client::Ping() { return Call({Command::kPing, 0, 0, 0, 0, 0}).status(); }

absl::StatusOr<std::vector<std::string>> Client::Probe(const Match& match) {
  std::vector<uint8_t> pairs;
  for (const auto& [mask, id] : match.devices) {
    for (uint32_t word : {uint32_t{mask}, uint32_t{id}}) {
      for (int b = 0; b < 4; ++b) pairs.push_back(static_cast<uint8_t>(word >> (8 * b)));
    }
  }
  std::vector<uint8_t> text;
  absl::StatusOr<Answer> answer = CallForBytes(
      {Command::kProbe, 0, 0, match.base_class.value_or(0), pairs.size(), match.vendor}, kMaxText,
      text, pairs);
  if (!answer.ok()) return answer.status();
  std::vector<std::string> names;
  const absl::string_view lines(reinterpret_cast<const char*>(text.data()), text.size());
  for (absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    names.push_back(absl::StrCat("remote:", name_, ":", line));
  }
  return names;
}

std::string Client::Statistics() const {
  const double seconds = std::max(absl::ToDoubleSeconds(waited_), 1e-9);
  const double out = static_cast<double>(sent_) / 1e6, in = static_cast<double>(received_) / 1e6;
  return absl::StrFormat(
      "remote: sent %.2f MB (%.2f MB/s), recv %.2f MB (%.2f MB/s), %d roundtrips in %.3fs", out,
      out / seconds, in, in / seconds, calls_, absl::ToDoubleSeconds(waited_));
}

absl::StatusOr<std::unique_ptr<Function>> OpenRemoteFunction(std::shared_ptr<Client> client,
                                                             const std::string& name,
                                                             const std::string& locks,
                                                             absl::string_view lock_prefix) {
  const std::string begin = absl::StrCat("remote:", client->name(), ":");
  uint32_t device;
  // The server chose the rest of the name, and it becomes one of a file.
  if (!absl::StartsWith(name, begin) || absl::StrContains(name, '/') ||
      absl::StrContains(name, '\0') ||
      !absl::SimpleAtoi(name.substr(name.rfind(':') + 1), &device)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name, "\" is no device of ", client->name()));
  }
  absl::StatusOr<DeviceLock> lock = DeviceLock::Acquire(LockPath(locks, lock_prefix, name));
  if (!lock.ok()) return lock.status();
  auto function =
      std::make_unique<RemoteFunction>(std::move(client), name, device, *std::move(lock));
  if (absl::Status s = ReadIdentity(*function).status(); !s.ok()) return s;
  return function;
}

}  // namespace tg::pci::remote
