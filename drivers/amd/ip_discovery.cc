#include "drivers/amd/ip_discovery.h"

#include <array>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes.h"

namespace tg::amd {
namespace {

constexpr uint32_t kBinarySignature = 0x28211407;
constexpr uint32_t kIpSignature = 0x53445049;       // "IPDS"
constexpr uint32_t kHarvestSignature = 0x56524148;  // "HARV"
constexpr size_t kIpTable = 0, kHarvestTable = 2;
constexpr size_t kTablesBeforeVersion2 = 6;
constexpr size_t kMaxDies = 16;
constexpr size_t kMaxHarvested = 32;

// 8 bytes of header and the entries.
constexpr size_t kHarvestSize = 8 + 4 * kMaxHarvested;

struct Table {
  uint16_t offset = 0;  // 0: not there
  uint16_t checksum = 0;
};

uint16_t ByteSum(absl::Span<const uint8_t> bytes) {
  return static_cast<uint16_t>(std::accumulate(bytes.begin(), bytes.end(), uint32_t{0}));
}

// Reads numbers one after the other and keeps the first error, so that a structure's fields can be
// read in a row.
class Fields {
 public:
  explicit Fields(base::ByteReader* reader) : reader_(*reader) {}
  template <typename T>
  T Get(absl::string_view field) {
    if (!status_.ok()) return 0;
    absl::StatusOr<T> value = reader_.Read<T>(field);
    if (value.ok()) return *value;
    status_ = value.status();
    return 0;
  }
  void Seek(uint64_t offset, absl::string_view field) {
    if (status_.ok()) status_ = reader_.Seek(offset, field);
  }
  const absl::Status& status() const { return status_; }

 private:
  base::ByteReader& reader_;
  absl::Status status_;
};

// Cuts `bytes` to the binary's size and gives its tables.
absl::StatusOr<std::vector<Table>> ReadHeader(absl::Span<const uint8_t>& bytes,
                                              absl::string_view source) {
  base::ByteReader reader(bytes, source);
  Fields f(&reader);
  const uint32_t signature = f.Get<uint32_t>("signature");
  const uint16_t major = f.Get<uint16_t>("major version");
  f.Get<uint16_t>("minor version");
  const uint16_t checksum = f.Get<uint16_t>("checksum");
  const uint64_t summed_from = reader.offset();
  const uint16_t size = f.Get<uint16_t>("size");
  size_t count = kTablesBeforeVersion2;
  if (major >= 2) {
    count = f.Get<uint16_t>("number of tables");
    f.Get<uint16_t>("padding");
  }
  if (!f.status().ok()) return f.status();
  if (signature != kBinarySignature) {
    return reader.Invalid("signature", absl::StrFormat("0x%08x, not 0x%08x: this is no discovery "
                                                       "binary",
                                                       signature, kBinarySignature));
  }
  if (size < reader.offset() || size > bytes.size()) {
    return reader.Invalid("size", absl::StrCat(size, " bytes of ", bytes.size()));
  }
  bytes = bytes.first(size);
  const uint16_t sum = ByteSum(bytes.subspan(summed_from));
  if (sum != checksum) {
    return reader.Invalid("checksum",
                          absl::StrFormat("0x%04x, but the bytes add up to 0x%04x", checksum, sum));
  }
  if (count > (size - reader.offset()) / 8) {
    return reader.Invalid("number of tables", absl::StrCat(count, " do not fit"));
  }
  std::vector<Table> tables(count);
  for (Table& table : tables) {
    table.offset = f.Get<uint16_t>("table offset");
    table.checksum = f.Get<uint16_t>("table checksum");
    // Tables say themselves how long they are; this field is not always filled in.
    f.Get<uint16_t>("table size");
    f.Get<uint16_t>("padding");
  }
  if (!f.status().ok()) return f.status();
  return tables;
}

absl::Status CheckTable(base::ByteReader reader, const Table& table, uint64_t size) {
  if (absl::Status s = reader.Seek(table.offset, "table"); !s.ok()) return s;
  const auto bytes = reader.ReadBytes(size, "table");
  if (!bytes.ok()) return bytes.status();
  if (ByteSum(*bytes) == table.checksum) return absl::OkStatus();
  return reader.Invalid("table checksum", "the table's bytes do not add up to it");
}

absl::Status ReadDie(base::ByteReader reader, uint8_t index, uint16_t offset, bool wide,
                     IpDiscovery* discovery) {
  Fields f(&reader);
  f.Seek(offset, "die");
  f.Get<uint16_t>("die id");
  const uint16_t blocks = f.Get<uint16_t>("number of blocks");
  for (int i = 0; i < blocks && f.status().ok(); ++i) {
    IpBlock block;
    block.die = index;
    block.id = f.Get<uint16_t>("block id");
    block.instance = f.Get<uint8_t>("instance");
    const uint8_t bases = f.Get<uint8_t>("number of bases");
    block.version.major = f.Get<uint8_t>("major version");
    block.version.minor = f.Get<uint8_t>("minor version");
    block.version.revision = f.Get<uint8_t>("revision");
    f.Get<uint8_t>("flags");
    for (int b = 0; b < bases && f.status().ok(); ++b) {
      block.bases.push_back(wide ? f.Get<uint64_t>("base") : f.Get<uint32_t>("base"));
    }
    if (f.status().ok()) discovery->blocks.push_back(std::move(block));
  }
  return f.status();
}

absl::Status ReadBlocks(base::ByteReader reader, const Table& table, IpDiscovery* discovery) {
  Fields f(&reader);
  f.Seek(table.offset, "IP table");
  const uint32_t signature = f.Get<uint32_t>("IP table signature");
  const uint16_t version = f.Get<uint16_t>("IP table version");
  const uint16_t size = f.Get<uint16_t>("IP table size");
  f.Get<uint32_t>("IP table id");
  const uint16_t dies = f.Get<uint16_t>("number of dies");
  std::array<uint16_t, kMaxDies> offsets;
  for (uint16_t& offset : offsets) {
    f.Get<uint16_t>("die id");
    offset = f.Get<uint16_t>("die offset");
  }
  const uint8_t flags = f.Get<uint8_t>("flags");
  if (!f.status().ok()) return f.status();
  if (signature != kIpSignature) {
    return reader.Invalid("IP table signature", absl::StrFormat("0x%08x", signature));
  }
  if (absl::Status s = CheckTable(reader, table, size); !s.ok()) return s;
  if (dies > kMaxDies)
    return reader.Invalid("number of dies", absl::StrCat(dies, " of at most 16"));
  for (size_t i = 0; i < dies; ++i) {
    // Dies that overlapped would make the result larger than what it is made of.
    for (size_t j = 0; j < i; ++j) {
      if (offsets[i] == offsets[j]) return reader.Invalid("die offset", "two dies are one");
    }
    const bool wide = version >= 4 && (flags & 1) != 0;
    const absl::Status s = ReadDie(reader, static_cast<uint8_t>(i), offsets[i], wide, discovery);
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status ReadHarvest(base::ByteReader reader, const Table& table, IpDiscovery* discovery) {
  Fields f(&reader);
  f.Seek(table.offset, "harvest table");
  const uint32_t signature = f.Get<uint32_t>("harvest table signature");
  f.Get<uint32_t>("harvest table version");
  if (!f.status().ok()) return f.status();
  if (signature != kHarvestSignature) {
    return reader.Invalid("harvest table signature", absl::StrFormat("0x%08x", signature));
  }
  if (absl::Status s = CheckTable(reader, table, kHarvestSize); !s.ok()) return s;
  for (size_t i = 0; i < kMaxHarvested; ++i) {
    const uint16_t id = f.Get<uint16_t>("harvested id");
    const uint8_t instance = f.Get<uint8_t>("harvested instance");
    f.Get<uint8_t>("padding");
    if (!f.status().ok()) return f.status();
    if (id == 0) break;
    for (IpBlock& block : discovery->blocks) {
      if (block.id == id && block.instance == instance) block.harvested = true;
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string IpVersion::ToString() const { return absl::StrCat(major, ".", minor, ".", revision); }

const IpBlock* IpDiscovery::Find(uint16_t id) const {
  for (const IpBlock& block : blocks) {
    if (block.id == id && !block.harvested) return &block;
  }
  return nullptr;
}

absl::StatusOr<IpDiscovery> ParseIpDiscovery(absl::Span<const uint8_t> bytes,
                                             absl::string_view source) {
  const absl::StatusOr<std::vector<Table>> tables = ReadHeader(bytes, source);
  if (!tables.ok()) return tables.status();
  const base::ByteReader reader(bytes, source);
  if (tables->size() <= kIpTable || (*tables)[kIpTable].offset == 0) {
    return reader.Invalid("tables", "there is none of IP blocks");
  }
  IpDiscovery discovery;
  if (absl::Status s = ReadBlocks(reader, (*tables)[kIpTable], &discovery); !s.ok()) return s;
  if (tables->size() > kHarvestTable && (*tables)[kHarvestTable].offset != 0) {
    if (absl::Status s = ReadHarvest(reader, (*tables)[kHarvestTable], &discovery); !s.ok()) {
      return s;
    }
  }
  return discovery;
}

}  // namespace tg::amd
