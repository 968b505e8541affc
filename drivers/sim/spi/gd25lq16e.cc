#include "drivers/sim/spi/gd25lq16e.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"

namespace tg::sim {
namespace {

// Commands of the data sheet that are modelled.
enum Command : uint8_t {
  kWriteStatus1And2 = 0x01,
  kPageProgram = 0x02,
  kReadData = 0x03,
  kWriteDisable = 0x04,
  kReadStatus1 = 0x05,
  kWriteEnable = 0x06,
  kFastRead = 0x0b,
  kReadStatus3 = 0x15,
  kSectorErase = 0x20,
  kReadStatus2 = 0x35,
  kBlockErase32 = 0x52,
  kReadSfdp = 0x5a,
  kChipErase60 = 0x60,
  kReadId = 0x9f,
  kChipEraseC7 = 0xc7,
  kBlockErase64 = 0xd8,
};

constexpr std::array<uint8_t, 3> kJedecId = {0xc8, 0x60, 0x15};

// Status register 1: S0 write in progress, S1 write enable latch, S2..S4 BP0..BP2, S5 BP3 (bottom),
// S6 BP4 (4 KiB units), S7 SRP0.
constexpr uint8_t kWip = 0x01, kWel = 0x02, kBp3 = 0x20, kBp4 = 0x40;
// Status register 2: S8 SRP1, S9 QE, S10 SUS2, S11..S13 LB1..LB3 (one-time programmable), S14 CMP,
// S15 SUS1.
constexpr uint8_t kSrp1 = 0x01, kQe = 0x02, kLocks = 0x38, kCmp = 0x40;

constexpr size_t kPage = 0x100;

// The serial flash discoverable parameters: JESD216 header, one parameter header, and the basic
// table of nine dwords at 0x30 (4 KiB erase with 20h, 3-byte addresses, 16 Mbit, erase types 4, 32
// and 64 KiB).
constexpr size_t kSfdpSize = 0x100;
constexpr std::array<uint8_t, 16> kSfdpHeader = {
    'S',  'F',  'D',  'P',  0x00, 0x01, 0x00, 0xff,   // revision 1.0, one parameter header
    0x00, 0x00, 0x01, 0x09, 0x30, 0x00, 0x00, 0xff};  // JEDEC basic 1.0, 9 dwords at 0x000030
constexpr size_t kSfdpBasicAt = 0x30;
constexpr std::array<uint8_t, 36> kSfdpBasic = {
    0xe5, 0x20, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x00, 0x44, 0xeb, 0x08, 0x6b,
    0x08, 0x3b, 0x42, 0xbb, 0xee, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0xff,
    0xff, 0xff, 0x00, 0xff, 0x0c, 0x20, 0x0f, 0x52, 0x10, 0xd8, 0x00, 0xff};

size_t Address(absl::Span<const uint8_t> out) {
  // The chip has 21 address bits; it does not look at the others.
  return (size_t{out[1]} << 16 | size_t{out[2]} << 8 | out[3]) & (Gd25lq16e::kSize - 1);
}

absl::Status NotModelled(absl::Span<const uint8_t> out, absl::string_view why) {
  return absl::UnimplementedError(
      absl::StrFormat("GD25LQ16E: command 0x%02x with %d bytes: %s", out[0], out.size(), why));
}

}  // namespace

Gd25lq16e::Gd25lq16e(absl::Span<uint8_t> array, const SimClock* clock)
    : array_(array), clock_(clock) {
  TG_CHECK_EQ(array.size(), kSize);
}

void Gd25lq16e::Inject(SpiFault fault, int64_t nth) {
  fault_armed_ = true;
  fault_ = fault;
  fault_countdown_ = nth;
}

bool Gd25lq16e::Strike(SpiFault fault) {
  if (!fault_armed_ || fault_ != fault || fault_countdown_-- > 0) return false;
  fault_armed_ = false;
  return true;
}

void Gd25lq16e::PowerCycle() {
  status_[0] &= static_cast<uint8_t>(~kWel);
  busy_until_ns_ = 0;
}

void Gd25lq16e::StartBusy(int64_t ns) {
  busy_until_ns_ =
      Strike(SpiFault::kStuckBusy) ? std::numeric_limits<int64_t>::max() : clock_->now_ns() + ns;
  status_[0] &= static_cast<uint8_t>(~kWel);
}

bool Gd25lq16e::TakeEnable() {
  if (status_[0] & kWel) return true;
  ++counters_.ignored;
  return false;
}

// The data sheet's table "Protected Area Sizes" for 16 Mbit.
absl::Status Gd25lq16e::CheckProtection(Area area, bool* is_protected) const {
  const unsigned bp = (status_[0] >> 2) & 7;
  const bool bottom = status_[0] & kBp3, small = status_[0] & kBp4;
  size_t size = 0;
  if (bp == 0) {
    size = 0;
  } else if (!small) {
    size = bp >= 6 ? kSize : size_t{0x10000} << (bp - 1);
  } else if (bp <= 5) {
    size = std::min(size_t{0x1000} << (bp - 1), size_t{0x8000});
  } else if (bp == 7) {
    size = kSize;
  } else {
    return absl::UnimplementedError("GD25LQ16E: protection with BP4 = 1 and BP2..BP0 = 6");
  }
  const Area guarded = bottom ? Area{0, size} : Area{kSize - size, kSize};
  const bool touches = area.begin < guarded.end && guarded.begin < area.end;
  const bool inside = guarded.begin <= area.begin && area.end <= guarded.end;
  // CMP turns the table round: what was guarded is free and the rest is guarded.
  *is_protected = (status_[1] & kCmp) ? !(inside && size > 0) : touches;
  return absl::OkStatus();
}

void Gd25lq16e::ReadStatus(int index, absl::Span<uint8_t> in) const {
  uint8_t value = status_[static_cast<size_t>(index)];
  if (index == 0 && busy()) value |= kWip;
  std::fill(in.begin(), in.end(), value);
}

absl::Status Gd25lq16e::WriteStatus(absl::Span<const uint8_t> data) {
  if (Strike(SpiFault::kDropStatus)) return absl::OkStatus();
  if (!TakeEnable()) return absl::OkStatus();
  if (status_[1] & kSrp1) {  // locked until the power is cycled, or for ever
    ++counters_.ignored;
    return absl::OkStatus();
  }
  status_[0] = static_cast<uint8_t>((data[0] & 0xfc) | (status_[0] & kWel));
  status_[1] = static_cast<uint8_t>((data[1] & (kSrp1 | kQe | kLocks | kCmp)) |
                                    (status_[1] & (kLocks | 0x84)));
  StartBusy(timing_.write_status_ns);
  return absl::OkStatus();
}

absl::Status Gd25lq16e::Read(absl::Span<const uint8_t> out, absl::Span<uint8_t> in, bool dummy) {
  if (out.size() < 4) return NotModelled(out, "read without an address");
  size_t skip = dummy ? 5 - std::min<size_t>(out.size(), 5) : 0;
  if (out.size() > 4 + (dummy ? 1u : 0u)) return NotModelled(out, "read with data");
  size_t at = Address(out);
  for (uint8_t& byte : in) {
    if (skip > 0) {
      --skip;
      byte = 0xff;
      continue;
    }
    byte = array_[at];
    at = (at + 1) & (kSize - 1);
  }
  if (!in.empty() && Strike(SpiFault::kFlipRead)) in[in.size() / 2] ^= 0x10;
  return absl::OkStatus();
}

void Gd25lq16e::ReadSfdp(absl::Span<const uint8_t> out, absl::Span<uint8_t> in) const {
  size_t at = Address(out);
  size_t skip = 5 - std::min<size_t>(out.size(), 5);  // one dummy byte
  for (uint8_t& byte : in) {
    byte = 0xff;
    if (skip > 0) {
      --skip;
      continue;
    }
    if (at < kSfdpHeader.size()) {
      byte = kSfdpHeader[at];
    } else if (at >= kSfdpBasicAt && at < kSfdpBasicAt + kSfdpBasic.size()) {
      byte = kSfdpBasic[at - kSfdpBasicAt];
    }
    at = (at + 1) % kSfdpSize;
  }
}

absl::Status Gd25lq16e::Program(absl::Span<const uint8_t> out) {
  if (out.size() < 5) {
    ++counters_.ignored;
    return absl::OkStatus();
  }
  if (!TakeEnable()) return absl::OkStatus();
  const size_t address = Address(out), page = address & ~(kPage - 1);
  bool is_protected = false;
  if (absl::Status s = CheckProtection({page, page + kPage}, &is_protected); !s.ok()) return s;
  if (is_protected) {
    ++counters_.ignored;
    return absl::OkStatus();
  }
  ++counters_.programs;
  absl::Span<const uint8_t> data = out.subspan(4);
  size_t at = address & (kPage - 1);
  // More bytes than a page: the first ones are overwritten in the chip's page buffer.
  if (data.size() > kPage) {
    at = (at + data.size() - kPage) & (kPage - 1);
    data = data.subspan(data.size() - kPage);
  }
  size_t count = data.size();
  if (Strike(SpiFault::kDropProgram)) count = 0;
  if (Strike(SpiFault::kHalfProgram)) count /= 2;
  for (size_t i = 0; i < count; ++i) {
    array_[page + ((at + i) & (kPage - 1))] &= data[i];  // programming only clears bits
  }
  if (count > 0 && Strike(SpiFault::kFlipProgram)) {
    uint8_t& byte = array_[page + at];
    byte &= static_cast<uint8_t>(byte - 1);  // the lowest bit that is set
  }
  StartBusy(timing_.page_program_ns);
  return absl::OkStatus();
}

absl::Status Gd25lq16e::Erase(absl::Span<const uint8_t> out, size_t size, int64_t ns) {
  const bool whole = size == kSize;
  if (out.size() != (whole ? 1 : 4)) {
    ++counters_.ignored;
    return absl::OkStatus();
  }
  if (!TakeEnable()) return absl::OkStatus();
  const size_t begin = whole ? 0 : Address(out) & ~(size - 1);
  bool is_protected = false;
  if (absl::Status s = CheckProtection({begin, begin + size}, &is_protected); !s.ok()) return s;
  if (is_protected) {
    ++counters_.ignored;
    return absl::OkStatus();
  }
  ++counters_.erases;
  size_t count = size;
  if (Strike(SpiFault::kDropErase)) count = 0;
  if (Strike(SpiFault::kHalfErase)) count /= 2;
  std::fill_n(array_.begin() + static_cast<ptrdiff_t>(begin), count, 0xff);
  StartBusy(ns);
  return absl::OkStatus();
}

absl::Status Gd25lq16e::Transfer(absl::Span<const uint8_t> out, absl::Span<uint8_t> in) {
  if (out.empty()) return absl::UnimplementedError("GD25LQ16E: selected without a command");
  ++counters_.transfers;
  std::fill(in.begin(), in.end(), 0xff);
  switch (out[0]) {
    case kReadStatus1:
      ReadStatus(0, in);
      return absl::OkStatus();
    case kReadStatus2:
      ReadStatus(1, in);
      return absl::OkStatus();
    case kReadStatus3:
      ReadStatus(2, in);
      return absl::OkStatus();
    default:
      break;
  }
  if (busy()) {  // everything but the status is deaf meanwhile
    ++counters_.ignored;
    return absl::OkStatus();
  }
  switch (out[0]) {
    case kWriteEnable:
      if (!Strike(SpiFault::kDropEnable)) status_[0] |= kWel;
      return absl::OkStatus();
    case kWriteDisable:
      status_[0] &= static_cast<uint8_t>(~kWel);
      return absl::OkStatus();
    case kReadId:
      for (size_t i = 0; i < in.size(); ++i) in[i] = kJedecId[i % kJedecId.size()];
      return absl::OkStatus();
    case kWriteStatus1And2:
      // What one byte alone does to register 2 differs between the generations of this family.
      if (out.size() != 3) return NotModelled(out, "only writing two registers at once is");
      return WriteStatus(out.subspan(1));
    case kReadData:
      return Read(out, in, /*dummy=*/false);
    case kFastRead:
      return Read(out, in, /*dummy=*/true);
    case kReadSfdp:
      if (out.size() < 4 || out.size() > 5) return NotModelled(out, "SFDP takes an address");
      ReadSfdp(out, in);
      return absl::OkStatus();
    case kPageProgram:
      return Program(out);
    case kSectorErase:
      return Erase(out, 0x1000, timing_.sector_erase_ns);
    case kBlockErase32:
      return Erase(out, 0x8000, timing_.block32_erase_ns);
    case kBlockErase64:
      return Erase(out, 0x10000, timing_.block64_erase_ns);
    case kChipErase60:
    case kChipEraseC7:
      return Erase(out, kSize, timing_.chip_erase_ns);
    default:
      return NotModelled(out, "not modelled");
  }
}

}  // namespace tg::sim
