#include "tg/engine/kernel_record.h"

#include <bit>
#include <cstring>
#include <type_traits>

#include "absl/status/status.h"
#include "base/bytes.h"

namespace tg::engine {
namespace {

template <typename T>
void Append(std::string& out, T v) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &v, sizeof(T));
  out.append(bytes, sizeof(T));
}

void AppendText(std::string& out, const std::string& s) {
  Append<uint64_t>(out, s.size());
  out += s;
}

absl::StatusOr<std::string> ReadText(base::ByteReader& r, absl::string_view field) {
  absl::StatusOr<uint64_t> size = r.Read<uint64_t>(field);
  if (!size.ok()) return size.status();
  absl::StatusOr<absl::string_view> text = r.ReadText(*size, field);
  if (!text.ok()) return text.status();
  return std::string(*text);
}

// Reads into *out; false on failure, with *status set.
template <typename T>
bool Read(base::ByteReader& r, absl::string_view field, T* out, absl::Status* status) {
  absl::StatusOr<T> v = r.Read<T>(field);
  if (!v.ok()) {
    *status = v.status();
    return false;
  }
  *out = *v;
  return true;
}

}  // namespace

std::string EncodeKernelRecord(const KernelRecord& k) {
  static_assert(std::endian::native == std::endian::little);
  std::string out;
  AppendText(out, k.name);
  Append<uint32_t>(out, static_cast<uint32_t>(k.params.size()));
  for (const lower::ProgramParam& p : k.params) {
    Append<uint8_t>(out, static_cast<uint8_t>(p.dtype.scalar()));
    Append<int64_t>(out, p.size);
    Append<uint8_t>(out, static_cast<uint8_t>(p.read | p.written << 1));
  }
  Append<uint32_t>(out, static_cast<uint32_t>(k.variables.size()));
  for (const ir::UOp& v : k.variables) {
    const ir::VariableArg& a = v.arg_as<ir::VariableArg>();
    AppendText(out, a.name);
    Append<int64_t>(out, a.min);
    Append<int64_t>(out, a.max);
  }
  Append<int32_t>(out, k.threads);
  Append<double>(out, k.estimates.ops);
  Append<double>(out, k.estimates.mem_bytes);
  Append<double>(out, k.estimates.lds_bytes);
  AppendText(out, k.binary);
  return out;
}

absl::StatusOr<KernelRecord> DecodeKernelRecord(absl::string_view bytes) {
  base::ByteReader r(
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()),
      "kernel record");
  KernelRecord k;
  absl::Status status;
  absl::StatusOr<std::string> text = ReadText(r, "name");
  if (!text.ok()) return text.status();
  k.name = *std::move(text);
  uint32_t count = 0;
  if (!Read(r, "parameter count", &count, &status)) return status;
  for (uint32_t i = 0; i < count; ++i) {
    uint8_t scalar = 0, flags = 0;
    lower::ProgramParam p;
    if (!Read(r, "dtype", &scalar, &status) || !Read(r, "size", &p.size, &status) ||
        !Read(r, "flags", &flags, &status)) {
      return status;
    }
    if (scalar >= ir::kScalarTypeCount || flags > 3 || p.size < 0) {
      return r.Invalid("parameter", "no such parameter");
    }
    p.dtype = ir::DType(static_cast<ir::ScalarType>(scalar));
    p.read = (flags & 1) != 0;
    p.written = (flags & 2) != 0;
    k.params.push_back(p);
  }
  if (!Read(r, "variable count", &count, &status)) return status;
  for (uint32_t i = 0; i < count; ++i) {
    int64_t min = 0, max = 0;
    absl::StatusOr<std::string> name = ReadText(r, "variable");
    if (!name.ok()) return name.status();
    if (!Read(r, "least value", &min, &status) || !Read(r, "greatest value", &max, &status)) {
      return status;
    }
    if (min > max) return r.Invalid("variable", "empty interval");
    k.variables.push_back(ir::Variable(*name, min, max));
  }
  int32_t threads = 0;
  if (!Read(r, "threads", &threads, &status) || !Read(r, "operations", &k.estimates.ops, &status) ||
      !Read(r, "memory bytes", &k.estimates.mem_bytes, &status) ||
      !Read(r, "load bytes", &k.estimates.lds_bytes, &status)) {
    return status;
  }
  if (threads < 1) return r.Invalid("threads", "less than one");
  k.threads = threads;
  text = ReadText(r, "binary");
  if (!text.ok()) return text.status();
  k.binary = *std::move(text);
  if (!r.done()) return r.Invalid("end", "bytes follow the record");
  return k;
}

}  // namespace tg::engine
