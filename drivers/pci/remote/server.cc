#include "drivers/pci/remote/server.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "drivers/pci/config_space.h"

namespace tg::pci::remote {
namespace {

constexpr size_t kMaxHandles = 4096;

struct Device {
  std::string bus;
  std::unique_ptr<Function> function;                         // when it is first used
  std::array<std::unique_ptr<Region>, Function::kBars> bars;  // when they are first used
};

absl::StatusOr<Width> WidthOf(uint64_t bytes) {
  if (bytes == 1 || bytes == 2 || bytes == 4) return static_cast<Width>(bytes);
  return absl::InvalidArgumentError(
      absl::StrCat("config space is accessed with 1, 2 or 4 bytes, not ", bytes));
}

// Registers are read and written as such: one access of the client's size.
std::optional<Width> RegisterWidth(uint64_t offset, uint64_t size) {
  if (size != 1 && size != 2 && size != 4) return std::nullopt;
  if (offset % size != 0) return std::nullopt;
  return static_cast<Width>(size);
}

absl::Status CheckRange(uint64_t offset, uint64_t size, uint64_t end) {
  if (offset <= end && size <= end - offset) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrFormat("%d bytes at 0x%x are not within 0x%x", size, offset, end));
}

class Session {
 public:
  Session(Stream& stream, FunctionSource& source) : stream_(stream), source_(source) {}

  // An error ends the connection.
  absl::Status Handle(const Request& request) {
    switch (request.command) {
      case Command::kMmioWrite:
      case Command::kSysmemWrite: {
        const absl::Status s = HandleWrite(request);
        if (s.ok()) return s;
        return absl::Status(s.code(), absl::StrCat("write failed: ", s.message()));
      }
      case Command::kMmioRead:
      case Command::kSysmemRead:
        return HandleRead(request);
      case Command::kProbe:
        return HandleProbe(request);
      case Command::kMapSysmem:
        return HandleMapSysmem(request);
      default:
        break;
    }
    const absl::StatusOr<Answer> answer = Simple(request);
    return answer.ok() ? Send(*answer) : SendError(answer.status());
  }

 private:
  absl::Status Send(const Answer& answer, absl::Span<const uint8_t> data = {}) {
    // In one piece: two would be two packets.
    out_.resize(kAnswerSize + data.size());
    const std::array<uint8_t, kAnswerSize> head = Encode(answer);
    std::memcpy(out_.data(), head.data(), head.size());
    if (!data.empty()) std::memcpy(out_.data() + kAnswerSize, data.data(), data.size());
    return stream_.Write(out_);
  }
  absl::Status SendError(const absl::Status& error) {
    const std::string text(error.message().substr(0, kMaxText));
    return Send({.status = 1, .a = text.size()},
                {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }

  absl::StatusOr<Device*> GetDevice(const Request& request) {
    if (request.device >= devices_.size()) {
      return absl::NotFoundError(absl::StrCat("device ", request.device, " not probed"));
    }
    Device& device = devices_[request.device];
    if (device.function == nullptr) {
      absl::StatusOr<std::unique_ptr<Function>> function = source_.Open(device.bus);
      if (!function.ok()) return function.status();
      device.function = *std::move(function);
    }
    return &device;
  }

  absl::StatusOr<Region*> GetRegion(const Request& request) {
    absl::StatusOr<Device*> device = GetDevice(request);
    if (!device.ok()) return device.status();
    if (request.index >= Function::kBars) {
      return absl::OutOfRangeError(absl::StrCat("BAR ", request.index, ": there are only 0 to 5"));
    }
    std::unique_ptr<Region>& region = (*device)->bars[request.index];
    if (region == nullptr) {
      absl::StatusOr<std::unique_ptr<Region>> mapped =
          (*device)->function->MapBar(static_cast<int>(request.index));
      if (!mapped.ok()) return mapped.status();
      region = *std::move(mapped);
    }
    return region.get();
  }

  absl::StatusOr<DmaMemory*> GetMemory(const Request& request) {
    const auto it = memory_.find(request.index);
    if (it == memory_.end() || it->second.first != request.device) {
      return absl::NotFoundError(absl::StrCat("no memory has the handle ", request.index));
    }
    return it->second.second.get();
  }

  absl::StatusOr<Answer> Simple(const Request& request) {
    const auto command = static_cast<int>(request.command);
    if (request.command == Command::kPing) return Answer{};
    if (request.command == Command::kMapSysmemFd) {
      return absl::UnimplementedError("memory cannot be shared over a network");
    }
    if (request.command > Command::kPing) {
      return absl::UnimplementedError(absl::StrCat("unknown command ", command));
    }
    absl::StatusOr<Device*> device = GetDevice(request);
    if (!device.ok()) return device.status();
    Function& function = *(*device)->function;
    switch (request.command) {
      case Command::kMapBar: {
        if (request.index >= Function::kBars) {
          return absl::OutOfRangeError(
              absl::StrCat("BAR ", request.index, ": there are only 0 to 5"));
        }
        absl::StatusOr<Bar> bar = function.GetBar(static_cast<int>(request.index));
        if (!bar.ok()) return bar.status();
        return Answer{0, bar->address, bar->size};
      }
      case Command::kConfigRead: {
        absl::StatusOr<Width> width = WidthOf(request.y);
        if (!width.ok()) return width.status();
        if (absl::Status s = CheckRange(request.x, request.y, Function::kConfigSize); !s.ok()) {
          return s;
        }
        absl::StatusOr<uint32_t> value =
            function.ReadConfig(static_cast<uint32_t>(request.x), *width);
        if (!value.ok()) return value.status();
        return Answer{0, *value, 0};
      }
      case Command::kConfigWrite: {
        absl::StatusOr<Width> width = WidthOf(request.y);
        if (!width.ok()) return width.status();
        if (absl::Status s = CheckRange(request.x, request.y, Function::kConfigSize); !s.ok()) {
          return s;
        }
        if (request.z > AllOnes(*width)) {
          return absl::InvalidArgumentError("the value has more bytes than the register");
        }
        return Done(function.WriteConfig(static_cast<uint32_t>(request.x), *width,
                                         static_cast<uint32_t>(request.z)));
      }
      case Command::kReset:
        return Done(function.Reset());
      case Command::kResizeBar:
        return Done(Resize(**device, request));
      default:
        return absl::UnimplementedError(absl::StrCat("unknown command ", command));
    }
  }
  static absl::StatusOr<Answer> Done(const absl::Status& status) {
    if (!status.ok()) return status;
    return Answer{};
  }

  absl::Status Resize(Device& device, const Request& request) {
    if (request.index >= Function::kBars) {
      return absl::OutOfRangeError(absl::StrCat("BAR ", request.index, ": there are only 0 to 5"));
    }
    const auto index = static_cast<int>(request.index);
    uint64_t size = request.x;
    if (size == 0) {
      absl::StatusOr<uint64_t> sizes = ResizableBarSizes(*device.function, index);
      if (!sizes.ok()) return sizes.status();
      size = std::bit_floor(*sizes) << 20;
    }
    for (std::unique_ptr<Region>& region : device.bars) region.reset();
    return device.function->ResizeBar(index, size);
  }

  absl::Status HandleProbe(const Request& request) {
    // What follows is to be skipped even when it makes no sense, so its size must make some.
    if (request.y > kMaxProbePayload || request.y % 8 != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a list of devices of ", request.y, " bytes cannot be"));
    }
    std::vector<uint8_t> payload(request.y);
    if (absl::Status s = stream_.Read(absl::MakeSpan(payload)); !s.ok()) return s;
    if (request.x > 0xff || request.z > 0xffff) {
      return SendError(absl::InvalidArgumentError("a class has 8 bits, a vendor 16"));
    }
    Match match;
    match.vendor = static_cast<uint16_t>(request.z);
    if (request.x != 0) match.base_class = static_cast<uint8_t>(request.x);
    for (size_t i = 0; i < payload.size(); i += 8) {
      match.devices.emplace_back(static_cast<uint16_t>(payload[i] | payload[i + 1] << 8),
                                 static_cast<uint16_t>(payload[i + 4] | payload[i + 5] << 8));
    }
    absl::StatusOr<std::vector<std::string>> buses = source_.List(match);
    if (!buses.ok()) return SendError(buses.status());
    std::vector<std::string> lines;
    for (const std::string& bus : *buses) {
      // A device keeps its index for as long as the client stays.
      size_t i = 0;
      while (i < devices_.size() && devices_[i].bus != bus) ++i;
      if (i == devices_.size()) devices_.push_back({bus, nullptr, {}});
      lines.push_back(absl::StrCat(bus, ":", i));
    }
    const std::string text = absl::StrJoin(lines, "\n");
    if (text.size() > kMaxText) return SendError(absl::ResourceExhaustedError("too many devices"));
    return Send({0, text.size(), 0}, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }

  absl::Status HandleMapSysmem(const Request& request) {
    absl::StatusOr<Device*> device = GetDevice(request);
    if (!device.ok()) return SendError(device.status());
    if (request.x == 0 || request.x > kMaxSysmem - sysmem_ || memory_.size() >= kMaxHandles) {
      return SendError(absl::ResourceExhaustedError(
          absl::StrCat("no ", request.x, " bytes: a client gets ", kMaxSysmem, " in all")));
    }
    absl::StatusOr<std::unique_ptr<DmaMemory>> memory =
        (*device)->function->AllocateDma(request.x, request.y != 0);
    if (!memory.ok()) return SendError(memory.status());
    sysmem_ += (*memory)->size();
    const uint32_t handle = next_handle_++;
    std::vector<uint8_t> list;
    list.reserve(8 * (*memory)->pages().size());
    for (uint64_t page : (*memory)->pages()) {
      for (int b = 0; b < 8; ++b) list.push_back(static_cast<uint8_t>(page >> (8 * b)));
    }
    memory_[handle] = {request.device, *std::move(memory)};
    return Send({0, list.size(), handle}, list);
  }

  using Move = absl::FunctionRef<absl::Status(uint64_t offset, absl::Span<uint8_t> bytes)>;

  absl::Status HandleRead(const Request& request) {
    if (request.command == Command::kSysmemRead) {
      absl::StatusOr<DmaMemory*> memory = GetMemory(request);
      if (!memory.ok()) return SendError(memory.status());
      return SendBytes(request, (*memory)->size(), [&](uint64_t offset, absl::Span<uint8_t> bytes) {
        return (*memory)->Read(offset, bytes);
      });
    }
    absl::StatusOr<Region*> region = GetRegion(request);
    if (!region.ok()) return SendError(region.status());
    return SendBytes(request, (*region)->size(), [&](uint64_t offset, absl::Span<uint8_t> bytes) {
      const std::optional<Width> width = RegisterWidth(request.x, request.y);
      if (!width) return (*region)->ReadBytes(offset, bytes);
      absl::StatusOr<uint64_t> value = (*region)->Read(offset, *width);
      if (!value.ok()) return value.status();
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(*value >> (8 * i));
      return absl::OkStatus();
    });
  }

  absl::Status SendBytes(const Request& request, uint64_t end, Move read) {
    if (absl::Status s = CheckRange(request.x, request.y, end); !s.ok()) return SendError(s);
    uint64_t done = 0;
    do {
      data_.resize(std::min(kChunk, request.y - done));
      const absl::Status s = read(request.x + done, absl::MakeSpan(data_));
      // Once the answer has begun, its only end is that of the connection.
      if (!s.ok()) return done == 0 ? SendError(s) : s;
      const absl::Status sent = done == 0 ? Send({0, request.y, 0}, data_) : stream_.Write(data_);
      if (!sent.ok()) return sent;
      done += data_.size();
    } while (done < request.y);
    return absl::OkStatus();
  }

  absl::Status HandleWrite(const Request& request) {
    if (request.command == Command::kSysmemWrite) {
      absl::StatusOr<DmaMemory*> memory = GetMemory(request);
      if (!memory.ok()) return memory.status();
      return ReceiveBytes(request, (*memory)->size(),
                          [&](uint64_t offset, absl::Span<uint8_t> bytes) {
                            return (*memory)->Write(offset, bytes);
                          });
    }
    absl::StatusOr<Region*> region = GetRegion(request);
    if (!region.ok()) return region.status();
    return ReceiveBytes(request, (*region)->size(),
                        [&](uint64_t offset, absl::Span<uint8_t> bytes) {
                          const std::optional<Width> width = RegisterWidth(request.x, request.y);
                          if (!width) return (*region)->WriteBytes(offset, bytes);
                          uint64_t value = 0;
                          for (size_t i = 0; i < bytes.size(); ++i)
                            value |= uint64_t{bytes[i]} << (8 * i);
                          return (*region)->Write(offset, *width, value);
                        });
  }

  absl::Status ReceiveBytes(const Request& request, uint64_t end, Move write) {
    if (absl::Status s = CheckRange(request.x, request.y, end); !s.ok()) return s;
    for (uint64_t done = 0; done < request.y; done += data_.size()) {
      data_.resize(std::min(kChunk, request.y - done));
      if (absl::Status s = stream_.Read(absl::MakeSpan(data_)); !s.ok()) return s;
      if (absl::Status s = write(request.x + done, absl::MakeSpan(data_)); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  Stream& stream_;
  FunctionSource& source_;
  std::vector<Device> devices_;
  // By handle, with the index of the device. Gone before the functions.
  std::map<uint32_t, std::pair<uint32_t, std::unique_ptr<DmaMemory>>> memory_;
  uint32_t next_handle_ = 0;
  uint64_t sysmem_ = 0;
  std::vector<uint8_t> out_, data_;
};

}  // namespace

absl::Status ServeClient(Stream& stream, FunctionSource& source, const RequestLog& log) {
  Session session(stream, source);
  for (;;) {
    std::array<uint8_t, kRequestSize> bytes;
    // The end of the stream before a request is how clients leave.
    if (!stream.Read(absl::MakeSpan(bytes).first(1)).ok()) return absl::OkStatus();
    if (absl::Status s = stream.Read(absl::MakeSpan(bytes).subspan(1)); !s.ok()) return s;
    const Request request = DecodeRequest(bytes);
    if (log) {
      log(absl::StrFormat("command %d device %d index %d: 0x%x 0x%x 0x%x",
                          static_cast<int>(request.command), request.device, request.index,
                          request.x, request.y, request.z));
    }
    if (absl::Status s = session.Handle(request); !s.ok()) return s;
  }
}

}  // namespace tg::pci::remote
