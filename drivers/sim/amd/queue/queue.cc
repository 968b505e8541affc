#include "drivers/sim/amd/queue/queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tg::amd::sim {
namespace {

// Indirect buffers in indirect buffers: the MEC's limit is two levels; one more is harmless.
constexpr size_t kMaxDepth = 4;
constexpr uint64_t kAqlDwords = 16;

}  // namespace

const char* QueueTypeName(QueueType type) {
  return type == QueueType::kPm4 ? "PM4" : type == QueueType::kSdma ? "SDMA" : "AQL";
}

Queue::Queue(Gpu* gpu, QueueConfig config)
    : gpu_(gpu),
      config_(std::move(config)),
      pm4_(gpu),
      sdma_(gpu),
      aql_(gpu, config_.read_pointer - kAmdQueueReadDispatchId) {
  frames_.push_back({.address = config_.ring});
}

absl::StatusOr<std::unique_ptr<Queue>> Queue::Create(Gpu* gpu, QueueConfig config) {
  uint64_t size = config.ring_size;
  if (size < 256 || (size & (size - 1)) != 0 || size > uint64_t{1} << 32) {
    return absl::InvalidArgumentError(absl::StrCat(config.name, ": a ring of ", size, " bytes"));
  }
  if (config.ring % 256 != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: ring at 0x%x, which is no multiple of 256", config.name, config.ring));
  }
  if (config.read_pointer % 8 != 0 || config.write_pointer % 8 != 0) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: pointers at 0x%x and 0x%x", config.name,
                                                      config.read_pointer, config.write_pointer));
  }
  std::unique_ptr<Queue> queue(new Queue(gpu, std::move(config)));
  return queue;
}

void Queue::Stop(absl::Status status) {
  if (state_ == State::kStopped) return;
  state_ = State::kStopped;
  status_ = std::move(status);
}

void Queue::Ring(uint64_t value) {
  if (state_ == State::kStopped) return;
  uint64_t end = config_.type == QueueType::kAql ? value + 1 : value;
  if (end < doorbell_) {
    return Stop(absl::InvalidArgumentError(absl::StrFormat(
        "%s: doorbell 0x%x is behind 0x%x, which it was before", config_.name, end, doorbell_)));
  }
  doorbell_ = end;
  // From the pointers' units to dwords.
  uint64_t dwords = end;
  if (config_.type == QueueType::kSdma) {
    if (end % 4 != 0) {
      return Stop(absl::InvalidArgumentError(
          absl::StrFormat("%s: doorbell 0x%x is no multiple of 4", config_.name, end)));
    }
    dwords = end / 4;
  } else if (config_.type == QueueType::kAql) {
    dwords = end * kAqlDwords;
  }
  if (dwords - frames_[0].position > RingDwords()) {
    return Stop(absl::OutOfRangeError(
        absl::StrFormat("%s: doorbell 0x%x, but the queue has come to dword 0x%x only: more than "
                        "its ring of %u dwords can hold",
                        config_.name, end, frames_[0].position, RingDwords())));
  }
  frames_[0].end = dwords;
  if (state_ == State::kIdle && dwords != frames_[0].position) state_ = State::kRunning;
}

absl::Status Queue::Fetch(const Frame& frame, uint64_t count, std::vector<uint32_t>* out) {
  out->resize(count);
  if (frames_.size() > 1) {
    return gpu_->Read(frame.address + frame.position * 4, out->data(), count * 4);
  }
  uint64_t at = frame.position % RingDwords();
  uint64_t first = std::min(count, RingDwords() - at);
  absl::Status status = gpu_->Read(frame.address + at * 4, out->data(), first * 4);
  if (!status.ok() || first == count) return status;
  return gpu_->Read(frame.address, out->data() + first, (count - first) * 4);
}

absl::Status Queue::PublishReadPointer() {
  uint64_t position = frames_[0].position;
  if (config_.type == QueueType::kSdma) position *= 4;
  if (config_.type == QueueType::kAql) position /= kAqlDwords;
  return gpu_->Write64(config_.read_pointer, position);
}

absl::Status Queue::Enter(const Outcome& outcome) {
  bool chain = outcome.kind == Outcome::Kind::kChain && frames_.size() > 1;
  if (!chain && frames_.size() >= kMaxDepth) {
    return absl::InvalidArgumentError("indirect buffers are nested too deeply");
  }
  Frame frame{.address = outcome.address, .position = 0, .end = outcome.dwords};
  if (chain) {
    frames_.back() = frame;
  } else {
    frames_.push_back(frame);
  }
  return absl::OkStatus();
}

// Moves on behind a packet of `length` dwords, as its outcome says.
absl::StatusOr<Queue::Progress> Queue::Apply(const Outcome& outcome, uint64_t length) {
  if (outcome.kind == Outcome::Kind::kWait) {
    state_ = State::kWaiting;
    reason_ = outcome.reason;
    return Progress::kNone;
  }
  ++packets_;
  state_ = State::kRunning;
  bool ring = frames_.size() == 1;
  Frame& frame = frames_.back();
  frame.position += length;
  if (outcome.kind == Outcome::Kind::kSkip) {
    if (ring) {
      return absl::InvalidArgumentError("PRED_EXEC works in indirect buffers only");
    }
    if (outcome.dwords > frame.end - frame.position) {
      return absl::InvalidArgumentError("PRED_EXEC reaches beyond its buffer");
    }
    frame.position += outcome.dwords;
  }
  bool enters = outcome.kind == Outcome::Kind::kCall || outcome.kind == Outcome::Kind::kChain;
  if (enters) {
    absl::Status status = Enter(outcome);
    if (!status.ok()) return status;
  }
  // A vendor packet's slot is free only when its buffer is done.
  if (ring && !(enters && config_.type == QueueType::kAql)) {
    absl::Status status = PublishReadPointer();
    if (!status.ok()) return status;
  }
  return Progress::kSome;
}

absl::StatusOr<Queue::Progress> Queue::StepAql() {
  Frame& ring = frames_[0];
  uint64_t address = ring.address + ring.position % RingDwords() * 4;
  AqlPacket packet;
  absl::Status status = gpu_->Read(address, &packet, sizeof(packet));
  if (!status.ok()) return status;
  std::memcpy(&header_, &packet, 4);
  header_known_ = true;
  if (packet.type() == AqlType::kInvalid) {  // The doorbell came before the packet.
    state_ = State::kWaiting;
    reason_ = "the packet is INVALID";
    return Progress::kNone;
  }
  absl::StatusOr<Outcome> outcome = aql_.Execute(packet, address);
  if (!outcome.ok()) return outcome.status();
  if (outcome->kind == Outcome::Kind::kNext) {
    uint16_t done = static_cast<uint16_t>(AqlType::kInvalid);
    status = gpu_->Write(address, &done, sizeof(done));
    if (status.ok()) status = aql_.Complete(packet);
    if (!status.ok()) return status;
  } else if (outcome->kind != Outcome::Kind::kWait) {
    vendor_packet_ = packet;
  }
  return Apply(*outcome, kAqlDwords);
}

absl::Status Queue::FinishVendorPacket() {
  AqlPacket packet = *vendor_packet_;
  vendor_packet_.reset();
  uint64_t slot = (frames_[0].position - kAqlDwords) % RingDwords();
  uint16_t done = static_cast<uint16_t>(AqlType::kInvalid);
  absl::Status status = gpu_->Write(config_.ring + slot * 4, &done, sizeof(done));
  if (status.ok()) status = aql_.Complete(packet);
  if (status.ok()) status = PublishReadPointer();
  return status;
}

absl::StatusOr<Queue::Progress> Queue::TryStep() {
  while (frames_.size() > 1 && frames_.back().position == frames_.back().end) {
    frames_.pop_back();
    if (frames_.size() == 1 && vendor_packet_.has_value()) {
      absl::Status status = FinishVendorPacket();
      if (!status.ok()) return status;
    }
  }
  bool ring = frames_.size() == 1;
  Frame& frame = frames_.back();
  header_known_ = false;
  if (ring && frame.position == frame.end) {
    state_ = State::kIdle;
    return Progress::kNone;
  }
  if (ring && config_.type == QueueType::kAql) return StepAql();

  uint64_t available = frame.end - frame.position;
  std::vector<uint32_t> words;
  absl::Status status = Fetch(frame, std::min<uint64_t>(available, 4), &words);
  if (!status.ok()) return status;
  header_ = words[0];
  header_known_ = true;
  bool sdma = config_.type == QueueType::kSdma;
  absl::StatusOr<uint32_t> length = sdma ? sdma_.Length(words) : Pm4Processor::Length(words[0]);
  if (!length.ok()) return length.status();
  if (*length == 0 || *length > available) {
    if (!ring) {
      return absl::InvalidArgumentError(
          absl::StrCat("a packet of ", *length, " dwords in a buffer with ", available, " left"));
    }
    if (*length > RingDwords()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a packet of ", *length, " dwords in a ring of ", RingDwords()));
    }
    state_ = State::kWaiting;
    reason_ = "the rest of the packet is not written";
    return Progress::kNone;
  }
  status = Fetch(frame, *length, &words);
  if (!status.ok()) return status;
  absl::StatusOr<Outcome> outcome = sdma ? sdma_.Execute(words) : pm4_.Execute(words);
  if (!outcome.ok()) return outcome.status();
  return Apply(*outcome, *length);
}

Queue::Progress Queue::Step() {
  if (state_ == State::kStopped) return Progress::kNone;
  absl::StatusOr<Progress> progress = TryStep();
  if (progress.ok()) return *progress;
  fault_ = gpu_->TakeFault();
  Stop(absl::Status(progress.status().code(),
                    absl::StrCat(Where(), ": ", progress.status().message())));
  return Progress::kSome;
}

std::string Queue::Where() const {
  const Frame& frame = frames_.back();
  bool ring = frames_.size() == 1;
  uint64_t position = ring ? frame.position % RingDwords() : frame.position;
  std::string text = absl::StrFormat(
      "%s (%s, %s) at %s 0x%x+0x%x", config_.name, QueueTypeName(config_.type),
      std::string(ArchName(gpu_->arch())), ring ? "ring" : "buffer", frame.address, position * 4);
  if (header_known_) absl::StrAppendFormat(&text, ", header 0x%08x", header_);
  return text;
}

std::string Queue::Describe() const {
  switch (state_) {
    case State::kIdle:
      return absl::StrCat(Where(), ": idle after ", packets_, " packets");
    case State::kRunning:
      return absl::StrCat(Where(), ": running");
    case State::kWaiting:
      return absl::StrCat(Where(), ": waits: ", reason_);
    default:
      return absl::StrCat(config_.name, ": stopped: ", status_.message());
  }
}

}  // namespace tg::amd::sim
