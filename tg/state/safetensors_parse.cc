#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tg/state/safetensors.h"

namespace tg::state {
namespace {

constexpr char kMetadataKey[] = "__metadata__";
constexpr uint64_t kLengthBytes = 8;
// A valid header nests three deep; the rest is for fields that later versions of the format may
// add.
constexpr int kMaxDepth = 16;

struct DTypeName {
  ir::ScalarType scalar;
  const char* name;
};
// Names: https://docs.rs/safetensors, enum Dtype.
constexpr DTypeName kDTypeNames[] = {
    {ir::ScalarType::kBool, "BOOL"},       {ir::ScalarType::kInt8, "I8"},
    {ir::ScalarType::kUInt8, "U8"},        {ir::ScalarType::kInt16, "I16"},
    {ir::ScalarType::kUInt16, "U16"},      {ir::ScalarType::kInt32, "I32"},
    {ir::ScalarType::kUInt32, "U32"},      {ir::ScalarType::kInt64, "I64"},
    {ir::ScalarType::kUInt64, "U64"},      {ir::ScalarType::kFp8E4M3, "F8_E4M3"},
    {ir::ScalarType::kFp8E5M2, "F8_E5M2"}, {ir::ScalarType::kFloat16, "F16"},
    {ir::ScalarType::kBFloat16, "BF16"},   {ir::ScalarType::kFloat32, "F32"},
    {ir::ScalarType::kFloat64, "F64"},
};

std::optional<ir::DType> DTypeOfName(absl::string_view name) {
  for (const DTypeName& row : kDTypeNames) {
    if (name == row.name) return ir::DType(row.scalar);
  }
  return std::nullopt;
}

// A foreign string made fit for an error message.
std::string Quoted(absl::string_view s) {
  constexpr size_t kMax = 80;
  return absl::StrCat("'", absl::Utf8SafeCHexEscape(s.substr(0, kMax)),
                      s.size() > kMax ? "...'" : "'");
}

// Builds the entries from the events of the JSON parser, so that nothing but them is ever allocated
// and nothing recurses. Every handler returns false to stop, with error() set.
class HeaderHandler {
 public:
  using Json = nlohmann::json;

  const std::string& error() const { return error_; }
  std::vector<SafetensorsEntry>& entries() { return entries_; }
  SafetensorsMetadata& metadata() { return metadata_; }

  // --- the events nlohmann::json::sax_parse calls ---
  bool null() { return OtherValue("null"); }
  bool boolean(bool) { return OtherValue("a boolean"); }
  bool number_integer(Json::number_integer_t) { return OtherValue("a negative number"); }
  bool number_float(Json::number_float_t, const std::string& text) {
    return OtherValue(absl::StrCat("the number ", text.substr(0, 40)));
  }
  bool binary(Json::binary_t&) { return OtherValue("binary"); }

  bool number_unsigned(Json::number_unsigned_t v) {
    if (skip_depth_ > 0) return true;
    if (place_ == Place::kShape) {
      if (v > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return Fail(absl::StrCat(Field(), ": dimension ", v, " is out of range"));
      }
      entries_.back().shape.push_back(static_cast<int64_t>(v));
      return true;
    }
    if (place_ == Place::kOffsets) {
      if (offset_count_ == 2) return Fail(absl::StrCat(Field(), ": more than two numbers"));
      offsets_[offset_count_++] = v;
      return true;
    }
    return OtherValue("a number");
  }

  bool string(std::string& v) {
    if (skip_depth_ > 0) return true;
    if (place_ == Place::kMetadata) {
      metadata_.emplace_back(std::move(key_), std::move(v));
      return true;
    }
    if (place_ == Place::kTensor && key_ == "dtype") {
      std::optional<ir::DType> dtype = DTypeOfName(v);
      if (!dtype) return Fail(absl::StrCat(Field(), ": unknown dtype ", Quoted(v)));
      entries_.back().dtype = *dtype;
      return true;
    }
    return OtherValue("a string");
  }

  bool key(std::string& v) {
    if (skip_depth_ > 0) return true;
    key_ = std::move(v);
    switch (place_) {
      case Place::kRoot:
        if (key_ == kMetadataKey) {
          if (seen_metadata_) return Fail("__metadata__ occurs twice");
          seen_metadata_ = true;
          return true;
        }
        return true;
      case Place::kMetadata:
        return true;
      default: {
        const int bit = FieldBit(key_);
        if (bit != 0 && (seen_fields_ & bit) != 0)
          return Fail(absl::StrCat(Field(), " occurs twice"));
        seen_fields_ |= bit;
        return true;
      }
    }
  }

  bool start_object(size_t) {
    if (skip_depth_ > 0) return Skip();
    switch (place_) {
      case Place::kStart:
        place_ = Place::kRoot;
        return true;
      case Place::kRoot:
        if (key_ == kMetadataKey) {
          place_ = Place::kMetadata;
          return true;
        }
        entries_.emplace_back();
        entries_.back().name = std::move(key_);
        key_.clear();
        seen_fields_ = 0;
        place_ = Place::kTensor;
        return true;
      case Place::kTensor:
        if (FieldBit(key_) == 0) return Skip();
        return OtherValue("an object");
      default:
        return OtherValue("an object");
    }
  }

  bool end_object() {
    if (skip_depth_ > 0) return Unskip();
    if (place_ == Place::kTensor) {
      for (const char* field : {"dtype", "shape", "data_offsets"}) {
        if ((seen_fields_ & FieldBit(field)) == 0) {
          return Fail(
              absl::StrCat("tensor ", Quoted(entries_.back().name), ": ", field, " is missing"));
        }
      }
    }
    place_ = Place::kRoot;
    return true;
  }

  bool start_array(size_t) {
    if (skip_depth_ > 0) return Skip();
    if (place_ != Place::kTensor) return OtherValue("an array");
    if (key_ == "shape") {
      place_ = Place::kShape;
    } else if (key_ == "data_offsets") {
      place_ = Place::kOffsets;
      offset_count_ = 0;
    } else if (FieldBit(key_) == 0) {
      return Skip();
    } else {
      return OtherValue("an array");
    }
    return true;
  }

  bool end_array() {
    if (skip_depth_ > 0) return Unskip();
    SafetensorsEntry& entry = entries_.back();
    if (place_ == Place::kOffsets) {
      if (offset_count_ != 2) return Fail(absl::StrCat(Field(), ": two numbers expected"));
      if (offsets_[0] > offsets_[1]) {
        return Fail(absl::StrCat(Field(), ": begin ", offsets_[0], " is after end ", offsets_[1]));
      }
      entry.offset = offsets_[0];
      entry.size = offsets_[1] - offsets_[0];
    } else {
      entry.shape.shrink_to_fit();
    }
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const Json::exception& e) {
    // The library's text may quote the input at length; its last clause says what is wrong.
    absl::string_view what = e.what();
    const size_t clause = what.find("; last read");
    const size_t reason = what.find("parse error");
    what = what.substr(0, clause);
    if (reason != absl::string_view::npos && reason < what.size()) what = what.substr(reason);
    return Fail(absl::StrCat("JSON at byte ", position, ": ",
                             absl::Utf8SafeCHexEscape(what.substr(0, 160))));
  }

 private:
  enum class Place { kStart, kRoot, kMetadata, kTensor, kShape, kOffsets };

  static int FieldBit(absl::string_view field) {
    return field == "dtype" ? 1 : field == "shape" ? 2 : field == "data_offsets" ? 4 : 0;
  }

  std::string Field() const {
    switch (place_) {
      case Place::kStart:
        return "header";
      case Place::kRoot:
        return key_ == kMetadataKey ? std::string(kMetadataKey)
                                    : absl::StrCat("tensor ", Quoted(key_));
      case Place::kMetadata:
        return absl::StrCat("__metadata__: ", Quoted(key_));
      default:
        return absl::StrCat("tensor ", Quoted(entries_.back().name), ": ", Quoted(key_));
    }
  }

  bool Fail(std::string why) {
    error_ = std::move(why);
    return false;
  }

  // A value where none of its kind belongs. Fields this version does not know may hold anything.
  bool OtherValue(absl::string_view what) {
    if (skip_depth_ > 0) return true;
    absl::string_view wanted = "an object";
    if (place_ == Place::kMetadata) wanted = "a string";
    if (place_ == Place::kShape || place_ == Place::kOffsets) wanted = "an unsigned integer";
    if (place_ == Place::kTensor) {
      const int bit = FieldBit(key_);
      if (bit == 0) return true;
      wanted = bit == 1 ? "a string" : "an array";
    }
    return Fail(absl::StrCat(Field(), ": ", wanted, " expected, found ", what));
  }

  bool Skip() {
    if (++skip_depth_ > kMaxDepth) return Fail(absl::StrCat(Field(), ": nested too deep"));
    return true;
  }
  bool Unskip() {
    --skip_depth_;
    return true;
  }

  Place place_ = Place::kStart;
  int skip_depth_ = 0;  // open brackets inside an unknown field
  std::string key_;
  int seen_fields_ = 0;
  bool seen_metadata_ = false;
  uint64_t offsets_[2] = {0, 0};
  int offset_count_ = 0;
  std::vector<SafetensorsEntry> entries_;
  SafetensorsMetadata metadata_;
  std::string error_;
};

// The index of an item whose key an earlier one has, if any. Sorts indices instead of filling a
// set: a hostile header has millions of keys.
template <typename Items, typename KeyOf>
std::optional<uint32_t> FindDuplicate(const Items& items, KeyOf key_of) {
  std::vector<uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return key_of(items[a]) < key_of(items[b]); });
  for (size_t i = 1; i < order.size(); ++i) {
    if (key_of(items[order[i - 1]]) == key_of(items[order[i]])) return order[i];
  }
  return std::nullopt;
}

// What a file that is no safetensors file seems to be.
absl::string_view GuessKind(absl::string_view start) {
  if (absl::StartsWith(start, "PK\x03\x04")) return " (a zip archive: a PyTorch checkpoint?)";
  if (absl::StartsWith(start, "GGUF")) return " (a GGUF file)";
  if (absl::StartsWith(start, "version https://git-lfs"))
    return " (a Git LFS pointer: the file was not downloaded)";
  if (absl::StartsWith(start, "\x89HDF")) return " (an HDF5 file)";
  if (absl::StartsWith(start, "\x1f\x8b")) return " (gzip-compressed)";
  if (absl::StartsWith(start, "{")) return " (JSON without the 8-byte length)";
  absl::string_view text = start.substr(std::min(start.find_first_not_of(" \t\r\n"), start.size()));
  if (absl::StartsWithIgnoreCase(text, "<!doctype") || absl::StartsWithIgnoreCase(text, "<html")) {
    return " (an HTML page: the download failed?)";
  }
  return "";
}

// Sizes agree with shapes, and the tensors cover the `data_size` bytes exactly.
absl::Status CheckLayout(const std::vector<SafetensorsEntry>& entries, uint64_t data_size,
                         absl::string_view file) {
  auto fail = [&](const SafetensorsEntry& e, auto... why) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": tensor ", Quoted(e.name), ": ", why...));
  };
  for (const SafetensorsEntry& e : entries) {
    const std::optional<uint64_t> size = SafetensorsSize(e.dtype, e.shape);
    if (!size) return fail(e, "'shape': the number of bytes overflows");
    if (*size != e.size) {
      return fail(e, "'data_offsets' span ", e.size, " bytes, dtype and 'shape' need ", *size);
    }
  }
  std::vector<uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(entries[a].offset, entries[a].size) <
           std::pair(entries[b].offset, entries[b].size);
  });
  uint64_t covered = 0;
  for (uint32_t i : order) {
    const SafetensorsEntry& e = entries[i];
    if (e.offset > covered) {
      return fail(e, "'data_offsets' begin at ", e.offset, ", a hole after byte ", covered,
                  " of the data");
    }
    if (e.offset < covered) {
      return fail(e, "'data_offsets' begin at ", e.offset, ", inside another tensor that ends at ",
                  covered);
    }
    // begin <= end was checked, so the sum does not wrap.
    covered = e.offset + e.size;
    if (covered > data_size) {
      return fail(e, "'data_offsets' end at ", covered, ", the file has only ", data_size,
                  " bytes of data (truncated download?)");
    }
  }
  if (covered != data_size) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", data_size - covered,
                                                   " bytes after the last tensor belong to none"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view SafetensorsName(const ir::DType& dtype) {
  if (dtype.lanes() != 1) return "";
  for (const DTypeName& row : kDTypeNames) {
    if (row.scalar == dtype.scalar()) return row.name;
  }
  return "";
}

std::optional<uint64_t> SafetensorsSize(const ir::DType& dtype, absl::Span<const int64_t> shape) {
  uint64_t bytes = static_cast<uint64_t>(dtype.bytes());
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes) ||
               bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return std::nullopt;
    }
  }
  return empty ? 0 : bytes;
}

const SafetensorsEntry* SafetensorsHeader::Find(absl::string_view name) const {
  for (const SafetensorsEntry& entry : tensors) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

absl::StatusOr<SafetensorsHeader> ParseSafetensors(absl::Span<const uint8_t> content,
                                                   absl::string_view file) {
  const absl::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  auto fail = [&](auto... why) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", why...));
  };
  if (content.size() < kLengthBytes) {
    return fail("header length: ", content.size(), " bytes, at least ", kLengthBytes, " expected",
                GuessKind(text), content.empty() ? " (an empty file)" : "");
  }
  uint64_t length = 0;
  for (uint64_t i = 0; i < kLengthBytes; ++i)
    length |= static_cast<uint64_t>(content[i]) << (8 * i);
  if (length > kSafetensorsMaxHeaderBytes) {
    return fail("header length: ", length, " is over the limit of ", kSafetensorsMaxHeaderBytes,
                GuessKind(text));
  }
  if (length > content.size() - kLengthBytes) {
    return fail("header length: ", length, ", the file has only ", content.size() - kLengthBytes,
                " bytes after it (truncated download?)", GuessKind(text));
  }
  const absl::string_view json = text.substr(kLengthBytes, length);
  if (json.empty() || json[0] != '{')
    return fail("header: does not begin with '{'", GuessKind(text));
  // The JSON library takes a NUL for the end of the input.
  if (const size_t nul = json.find('\0'); nul != absl::string_view::npos) {
    return fail("header: NUL at byte ", nul);
  }

  HeaderHandler handler;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &handler)) {
    return fail("header: ", handler.error());
  }
  SafetensorsHeader header;
  header.tensors = std::move(handler.entries());
  header.metadata = std::move(handler.metadata());
  header.data_start = kLengthBytes + length;
  auto name_of = [](const SafetensorsEntry& e) -> const std::string& { return e.name; };
  if (std::optional<uint32_t> i = FindDuplicate(header.tensors, name_of)) {
    return fail("header: tensor ", Quoted(header.tensors[*i].name), " occurs twice");
  }
  auto key_of = [](const auto& pair) -> const std::string& { return pair.first; };
  if (std::optional<uint32_t> i = FindDuplicate(header.metadata, key_of)) {
    return fail("header: __metadata__: key ", Quoted(header.metadata[*i].first), " occurs twice");
  }
  absl::Status layout = CheckLayout(header.tensors, content.size() - header.data_start, file);
  if (!layout.ok()) return layout;
  return header;
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  absl::StatusOr<base::MappedFile> map = base::MappedFile::Open(path);
  if (!map.ok()) return map.status();
  absl::StatusOr<SafetensorsHeader> header = ParseSafetensors(map->bytes(), path);
  if (!header.ok()) return header.status();
  return SafetensorsFile(path, *std::move(map), *std::move(header));
}

absl::Span<const uint8_t> SafetensorsFile::Bytes(const SafetensorsEntry& entry) const {
  return map_.bytes().subspan(header_.data_start + entry.offset, entry.size);
}

}  // namespace tg::state
