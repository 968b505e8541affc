#include "drivers/sim/amd/wave/vectors.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "drivers/sim/amd/wave/execute.h"
#include "drivers/sim/amd/wave/memory.h"
#include "drivers/sim/amd/wave/program.h"
#include "nlohmann/json.hpp"

namespace tg::amd::sim {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kCode = 0x10000;
constexpr uint64_t kLdsBytes = 0x28000;
// The recordings flush denormals of f32 and of f64, not those of f16; MODE has one field for the
// latter two.
constexpr uint32_t kFlush32 = 0xc0, kFlushAll = 0;

struct State {
  std::vector<uint32_t> rows;
  std::vector<uint32_t> sgprs;
  std::vector<uint8_t> lds;
  bool scc = false;
  uint64_t pc = 0;
};

template <class F>
void EachLane(const Json& registers, int first_row, F f) {
  for (const auto& [name, lanes] : registers.items()) {
    int row = first_row + std::atoi(name.c_str());
    if (row < 0 || row >= kShadowRow) continue;
    if (lanes.is_array()) {
      for (size_t l = 0; l < lanes.size() && l < 64; ++l)
        f(row, static_cast<int>(l), lanes[l].template get<uint32_t>());
    } else {
      for (const auto& [lane, value] : lanes.items()) {
        int l = std::atoi(lane.c_str());
        if (l >= 0 && l < 64) f(row, l, value.template get<uint32_t>());
      }
    }
  }
}

void ApplyScalars(const Json& registers, State* state) {
  for (const auto& [name, value] : registers.items()) {
    int code = std::atoi(name.c_str());
    if (code == 253) {
      state->scc = value.get<uint32_t>() != 0;
    } else if (code >= 0 && code < 128) {
      state->sgprs[code] = value.get<uint32_t>();
    }
  }
}

// Distance of floats in units of the last place; of NaNs 0.
template <class U>
uint64_t UlpDistance(U a, U b, U infinity) {
  U sign = U{1} << (sizeof(U) * 8 - 1);
  bool nan_a = (a & ~sign) > infinity, nan_b = (b & ~sign) > infinity;
  if (nan_a || nan_b) return nan_a && nan_b ? 0 : ~uint64_t{0};
  auto order = [&](U x) {
    return x & sign ? -static_cast<__int128>(x & ~sign) : static_cast<__int128>(x);
  };
  __int128 d = order(a) - order(b);
  return static_cast<uint64_t>(d < 0 ? -d : d);
}

// Whether all differences between two rows of registers are within `extent`.
bool Within(absl::string_view extent, const State& got, const State& want) {
  if (extent == "any") return true;
  std::vector<absl::string_view> parts = absl::StrSplit(extent, ' ');
  if (parts.size() != 2 || got.sgprs != want.sgprs || got.scc != want.scc || got.lds != want.lds ||
      got.pc != want.pc) {
    return false;
  }
  uint64_t limit = std::strtoull(std::string(parts[1]).c_str(), nullptr, 10);
  for (size_t i = 0; i < got.rows.size(); ++i) {
    uint32_t a = got.rows[i], b = want.rows[i];
    if (a == b) continue;
    uint64_t d = ~uint64_t{0};
    if (parts[0] == "f32") d = UlpDistance<uint32_t>(a, b, 0x7f800000);
    if (parts[0] == "f16") {
      d = std::max(
          UlpDistance<uint16_t>(static_cast<uint16_t>(a), static_cast<uint16_t>(b), 0x7c00),
          UlpDistance<uint16_t>(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16),
                                0x7c00));
    }
    if (parts[0] == "bits") d = a > b ? a - b : b - a;
    if (d > limit) return false;
  }
  return true;
}

std::string Difference(const State& got, const State& want) {
  std::string text;
  int shown = 0;
  auto add = [&](const std::string& what, uint64_t g, uint64_t w) {
    if (shown++ < 4) absl::StrAppendFormat(&text, " %s=0x%x want 0x%x;", what, g, w);
  };
  for (size_t c = 0; c < want.sgprs.size(); ++c) {
    if (got.sgprs[c] != want.sgprs[c]) add(absl::StrCat("s", c), got.sgprs[c], want.sgprs[c]);
  }
  if (got.scc != want.scc) add("scc", got.scc, want.scc);
  if (got.pc != want.pc) add("pc", got.pc, want.pc);
  for (size_t i = 0; i < want.rows.size(); ++i) {
    if (got.rows[i] == want.rows[i]) continue;
    size_t row = i / kRow;
    add(absl::StrCat(row < kAccRow ? "v" : "a", row % kAccRow, "[", i % kRow, "]"), got.rows[i],
        want.rows[i]);
  }
  for (size_t i = 0; i < want.lds.size(); ++i) {
    if (got.lds[i] != want.lds[i]) add(absl::StrCat("lds[", i, "]"), got.lds[i], want.lds[i]);
  }
  if (shown > 4) absl::StrAppend(&text, " and ", shown - 4, " more");
  return text;
}

struct Outcome {
  bool ran = false;
  std::string error;
  State got, want;
};

Outcome RunOne(Arch arch, const Json& row) {
  Outcome o;
  std::string bytes = absl::HexStringToBytes(row.at("h").get<std::string>());
  Memory memory;
  absl::Status mapped = memory.Map(kCode, bytes.size(), bytes.data(), "code");
  if (!mapped.ok()) {
    o.error = std::string(mapped.message());
    return o;
  }
  Isa isa = IsaOf(arch);
  Wave w(isa, IsRdna(isa) ? 32 : 64);
  Group group;
  group.lds.resize(kLdsBytes);
  group.waves.push_back(&w);
  w.group = &group;
  w.memory = &memory;
  w.pc = kCode;
  w.SetMode(absl::StrContains(row.at("o").get<std::string>(), "F64") ? kFlushAll : kFlush32);
  State in;
  in.rows.assign(static_cast<size_t>(kShadowRow) * kRow, 0);
  in.sgprs.assign(128, 0);
  in.lds.assign(kLdsBytes, 0);
  if (row.contains("lds")) {
    for (uint32_t i = 0; i < 2048; ++i) {
      uint32_t x = i * 0x9E3779B1u;
      std::memcpy(&in.lds[4 * i], &x, 4);
    }
  }
  if (row.contains("s")) ApplyScalars(row["s"], &in);
  auto set = [](State& s) { return [&s](int r, int l, uint32_t x) { s.rows[r * kRow + l] = x; }; };
  if (row.contains("v")) EachLane(row["v"], 0, set(in));
  if (row.contains("a")) EachLane(row["a"], kAccRow, set(in));

  std::copy(in.rows.begin(), in.rows.end(), w.vgpr);
  std::copy(in.sgprs.begin(), in.sgprs.end(), w.sgpr);
  w.scc = in.scc;
  group.lds = in.lds;

  o.want = in;
  if (row.contains("S")) ApplyScalars(row["S"], &o.want);
  if (row.contains("V")) EachLane(row["V"], 0, set(o.want));
  if (row.contains("A")) EachLane(row["A"], kAccRow, set(o.want));
  if (row.contains("L")) {
    for (const auto& [name, value] : row["L"].items()) {
      size_t i = std::strtoull(name.c_str(), nullptr, 10);
      uint32_t x = value.get<uint32_t>();
      if (4 * i + 4 <= o.want.lds.size()) std::memcpy(&o.want.lds[4 * i], &x, 4);
    }
  }

  Program program(arch, &memory);
  std::string error;
  const MicroOp* op = program.At(w.pc, &error);
  if (op == nullptr) {
    o.error = error;
    return o;
  }
  w.pc += op->size;
  o.want.pc = kCode + (row.contains("pc") ? row["pc"].get<uint64_t>() : op->size);
  Execute(w, *op);
  if (w.stop == Stop::kFault) {
    o.error = w.fault;
    return o;
  }
  o.ran = true;
  o.got.rows.assign(w.vgpr, w.vgpr + static_cast<size_t>(kShadowRow) * kRow);
  o.got.sgprs.assign(w.sgpr, w.sgpr + 128);
  o.got.lds = group.lds;
  o.got.scc = w.scc;
  o.got.pc = w.pc;
  return o;
}

bool Same(const State& a, const State& b) {
  return a.rows == b.rows && a.sgprs == b.sgprs && a.lds == b.lds && a.scc == b.scc && a.pc == b.pc;
}

bool Matches(const Justification& j, absl::string_view isa, absl::string_view op,
             absl::string_view text) {
  if (j.isa != "*" && j.isa != isa) return false;
  absl::string_view pattern = j.op;
  // "OP text:PART" wants both, "text:PART" the latter.
  size_t at = pattern.find("text:");
  if (at != absl::string_view::npos) {
    if (!absl::StrContains(text, pattern.substr(at + 5))) return false;
    pattern = absl::StripAsciiWhitespace(pattern.substr(0, at));
    if (pattern.empty()) return true;
  }
  return absl::ConsumeSuffix(&pattern, "*") ? absl::StartsWith(op, pattern) : op == pattern;
}

}  // namespace

absl::StatusOr<std::vector<Justification>> ParseJustifications(absl::string_view text) {
  std::vector<Justification> all;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits('|', 3));
    if (parts.size() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": want isa | op | extent | reason"));
    }
    auto part = [&](int i) { return std::string(absl::StripAsciiWhitespace(parts[i])); };
    all.push_back({part(0), part(1), part(2), part(3)});
  }
  return all;
}

absl::StatusOr<std::vector<VectorResult>> RunVectors(Arch arch, absl::string_view text,
                                                     const std::vector<Justification>& justified) {
  std::vector<VectorResult> results;
  std::string isa(IsaName(IsaOf(arch)));
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    VectorResult r{VectorResult::Kind::kPassed, number, "", ""};
    try {
      Json row = Json::parse(line.begin(), line.end());
      r.op = row.at("o").get<std::string>();
      Outcome o = RunOne(arch, row);
      if (o.ran && Same(o.got, o.want)) {
        results.push_back(std::move(r));
        continue;
      }
      std::string t = row.value("t", "");
      r.kind = VectorResult::Kind::kFailed;
      r.detail =
          absl::StrCat(t, ":", o.ran ? Difference(o.got, o.want) : absl::StrCat(" ", o.error));
      for (const Justification& j : justified) {
        if (!o.ran || !Matches(j, isa, r.op, t) || !Within(j.extent, o.got, o.want)) continue;
        r.kind = VectorResult::Kind::kJustified;
        r.detail = j.reason;
        break;
      }
    } catch (const Json::exception& e) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", e.what()));
    }
    results.push_back(std::move(r));
  }
  return results;
}

}  // namespace tg::amd::sim
