#include "drivers/sim/amd/psp_boot_mailbox.h"

#include <limits>
#include <utility>

#include "absl/strings/str_format.h"

namespace tg::sim {
namespace {

enum Command : uint32_t {
  kGetBootPartition = 0x01,
  kGetFbState = 0x06,
  kGetTransferType = 0x07,
  kStartTransfer = 0x08,
  kDataTransfer = 0x09,
  kEndTransfer = 0x0a,
  kSpiGetModelId = 0x0b,
};

constexpr uint32_t kReady = 1u << 31;
constexpr int64_t kCommandNs = 20'000;
// The firmware checks signatures and writes the flash when an item ends.
constexpr int64_t kEndNs = 300'000'000;

std::vector<uint32_t> DefaultSequence() {
  std::vector<uint32_t> sequence;
  for (uint32_t item : {0x01, 0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88}) {
    sequence.push_back(item);
  }
  for (uint32_t item : {0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08}) {
    sequence.push_back(0x100 | item);
  }
  sequence.push_back(0x200 | 0x89);
  return sequence;
}

}  // namespace

PspBootMailbox::PspBootMailbox(State state, const SimClock* clock)
    : state_(state),
      clock_(clock),
      sequence_(DefaultSequence()),
      command_(state == State::kDead ? 0 : kReady) {}

void PspBootMailbox::FailCommand(uint32_t command, int64_t nth, uint32_t error) {
  faults_[command] = {nth, false, error};
}

void PspBootMailbox::HangCommand(uint32_t command, int64_t nth) {
  faults_[command] = {nth, true, 0};
}

absl::StatusOr<uint32_t> PspBootMailbox::Read(uint32_t offset) {
  if (offset == kDoorbell) return absl::UnimplementedError("PSP mailbox: reading the doorbell");
  if (busy_until_ns_ >= 0 && clock_->now_ns() >= busy_until_ns_) {
    busy_until_ns_ = -1;
    command_ = kReady | result_;
    data_ = response_;
  }
  return offset == kCommand ? command_ : data_;
}

absl::Status PspBootMailbox::Write(uint32_t offset, uint32_t value) {
  if (state_ == State::kDead) return absl::OkStatus();
  if (busy_until_ns_ >= 0) {
    return absl::UnimplementedError(
        absl::StrFormat("PSP mailbox: BAR5+0x%x written while a command runs", offset));
  }
  if (offset == kCommandData) {
    data_ = value;
  } else if (offset == kCommand) {
    command_ = value;  // bit 31 is clear until the firmware sets it
  } else {
    if (value != 1) return absl::UnimplementedError("PSP mailbox: a doorbell other than 1");
    const uint32_t command = (command_ >> 16) & 0xff;
    const int64_t nth = counts_[command]++;
    bool hang = false;
    const auto fault = faults_.find(command);
    if (fault != faults_.end() &&
        (fault->second.nth == nth || (fault->second.hang && fault->second.nth <= nth))) {
      hang = fault->second.hang;
      result_ = fault->second.error;
      response_ = 0;
    } else {
      const Result result = Run(command, data_);
      result_ = result.error;
      response_ = result.response;
    }
    busy_until_ns_ = hang ? std::numeric_limits<int64_t>::max()
                          : clock_->now_ns() + (command == kEndTransfer ? kEndNs : kCommandNs);
  }
  return absl::OkStatus();
}

PspBootMailbox::Result PspBootMailbox::Run(uint32_t command, uint32_t data) {
  switch (command) {
    case kGetBootPartition:
      return {kOk, 1};
    case kGetFbState:
      return {kOk, 0};
    case kSpiGetModelId:
      return {kOk, 0x1560c8};
    case kGetTransferType:
    case kStartTransfer:
    case kDataTransfer:
    case kEndTransfer:
      break;
    default:
      return {kInvalidCommand};
  }
  if (state_ == State::kSos) return {kPartitionUpdate};
  if (command == kStartTransfer) return Start(data);
  if (command == kDataTransfer) return Data(data);
  if (command == kEndTransfer) return End(data);
  if (finished()) return {kNotInitialized};
  return {kOk, sequence_[step_]};
}

PspBootMailbox::Result PspBootMailbox::Start(uint32_t data) {
  if (finished()) return {kNotInitialized};
  if (receiving_) return {kTransfer};
  if ((data & 0xff) != (sequence_[step_] & 0xff)) return {kInvalidParameter};
  if (data >> 8 == 0) return {kInvalidParameter};
  receiving_ = true;
  expected_size_ = data >> 8;
  received_.clear();
  return {kOk};
}

PspBootMailbox::Result PspBootMailbox::Data(uint32_t data) {
  if (!receiving_) return {kNotInitialized};
  if (received_.size() + 4 > expected_size_) return {kTransfer};
  for (int i = 0; i < 4; ++i) received_.push_back(static_cast<uint8_t>(data >> (8 * i)));
  return {kOk};
}

PspBootMailbox::Result PspBootMailbox::End(uint32_t data) {
  if (!receiving_) return {kNotInitialized};
  receiving_ = false;  // an end that is rejected gives the item up: it is asked for again
  const uint32_t item = sequence_[step_] & 0xff;
  if ((data & 0xff) != item || data >> 8 != received_.size() ||
      received_.size() != expected_size_) {
    return {kTransfer};
  }
  // Directories and tables begin with their cookies.
  const auto starts_with = [&](const char* cookie) {
    for (size_t i = 0; i < 4; ++i) {
      if (received_.size() < 4 || received_[i] != static_cast<uint8_t>(cookie[i])) return false;
    }
    return true;
  };
  if ((item == 0x02 || item == 0x03) && !starts_with("$PSP")) return {kSignature};
  if (item == 0x81 && !starts_with("$SGN")) return {kSignature};
  items_[item] = std::move(received_);
  received_.clear();
  ++step_;
  return {kOk};
}

}  // namespace tg::sim
