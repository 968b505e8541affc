#include "drivers/sim/amd/wave/vectors.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "codegen/isa/amd/decode.h"
#include "drivers/sim/amd/wave/transition.h"
#include "drivers/sim/amd/wave/wave.h"
#include "nlohmann/json.hpp"

namespace tg::amd::sim {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kCode = 0x10000;
constexpr uint64_t kLdsBytes = 0x4000;
// The recordings flush denormals of f32 and of f64, not those of f16; MODE has one field for the
// latter two.
constexpr uint32_t kFlush32 = 0xc0, kFlushAll = 0;

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

void ApplyScalars(const Json& registers, WaveState* state) {
  for (const auto& [name, value] : registers.items()) {
    int code = std::atoi(name.c_str());
    if (code == 253) {
      state->scc = value.get<uint32_t>() != 0;
    } else if (code >= 0 && code < 128) {
      state->sgprs[code] = value.get<uint32_t>();
    }
  }
}

// False when the instruction does not decode; *error says why.
bool Load(Arch arch, const Json& row, Transition* t, std::string* error) {
  std::string bytes = absl::HexStringToBytes(row.at("h").get<std::string>());
  t->arch = arch;
  t->isa = IsaOf(arch);
  t->op = row.at("o").get<std::string>();
  t->text = row.value("t", "");
  t->mode = absl::StrContains(t->op, "F64") ? kFlushAll : kFlush32;
  WaveState& in = t->in;
  in.rows.assign(static_cast<size_t>(kShadowRow) * kRow, 0);
  in.sgprs.assign(128, 0);
  in.lds.assign(kLdsBytes, 0);
  if (row.contains("lds")) {
    for (uint32_t i = 0; i < 2048; ++i) {
      uint32_t x = i * 0x9E3779B1u;
      std::memcpy(&in.lds[4 * i], &x, 4);
    }
  }
  auto set = [](WaveState& s) { return [&s](int r, int l, uint32_t x) { s.lane(r, l) = x; }; };
  if (row.contains("s")) ApplyScalars(row["s"], &in);
  if (row.contains("v")) EachLane(row["v"], 0, set(in));
  if (row.contains("a")) EachLane(row["a"], kAccRow, set(in));
  in.pc = kCode;

  absl::StatusOr<Inst> inst =
      amd::Decode({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, arch);
  if (!inst.ok()) {
    *error = std::string(inst.status().message());
    if (row.at("e").get<std::string>() != "VOP3P" || bytes.size() != 8) return false;
    // neg_hi and op_sel of VOP3P: bits 13:8; op_sel_hi: bits 14, 59 and 60.
    uint32_t low, high;
    std::memcpy(&low, bytes.data(), 4);
    std::memcpy(&high, bytes.data() + 4, 4);
    t->reserved = {low >> 11 & 7, (high >> 27 & 3) | (low >> 14 & 1) << 2};
    bytes[1] = static_cast<char>((bytes[1] & 0x80) | 0x40);
    bytes[7] = static_cast<char>(bytes[7] | 0x18);
    inst = amd::Decode({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, arch);
    if (!inst.ok()) return false;
  }
  t->inst = *inst;
  WaveState& want = t->want;
  want = in;
  if (row.contains("S")) ApplyScalars(row["S"], &want);
  if (row.contains("V")) EachLane(row["V"], 0, set(want));
  if (row.contains("A")) EachLane(row["A"], kAccRow, set(want));
  if (row.contains("L")) {
    for (const auto& [name, value] : row["L"].items()) {
      size_t i = std::strtoull(name.c_str(), nullptr, 10);
      uint32_t x = value.get<uint32_t>();
      if (4 * i + 4 <= want.lds.size()) std::memcpy(&want.lds[4 * i], &x, 4);
    }
  }
  want.pc = kCode + (row.contains("pc") ? row["pc"].get<uint64_t>() : inst->size);
  return true;
}

bool Matches(const Justification& j, absl::string_view isa, const Transition& t) {
  if (j.isa != "*" && j.isa != isa) return false;
  absl::string_view pattern = j.op;
  return absl::ConsumeSuffix(&pattern, "*") ? absl::StartsWith(t.op, pattern) : t.op == pattern;
}

}  // namespace

absl::StatusOr<std::vector<Justification>> ParseJustifications(absl::string_view text) {
  std::vector<Justification> all;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits('|', 4));
    auto fail = [&](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", what));
    };
    if (parts.size() != 5) return fail("want isa | op | rules | recorder | manual");
    auto part = [&](int i) { return std::string(absl::StripAsciiWhitespace(parts[i])); };
    Justification j{part(0), part(1), {}, part(3), part(4)};
    for (absl::string_view name : absl::StrSplit(part(2), ' ', absl::SkipEmpty())) {
      const DifferenceRule* rule = FindDifferenceRule(name);
      if (rule == nullptr) return fail(absl::StrCat("no rule '", name, "'"));
      j.rules.push_back(rule);
    }
    if (j.rules.empty()) return fail("no rules");
    all.push_back(std::move(j));
  }
  return all;
}

bool Explains(const Justification& j, const Transition& transition) {
  Transition t = transition;
  for (const DifferenceRule* rule : j.rules) {
    if (!rule->explain(&t)) return false;
  }
  return t.got == t.want && !t.reserved.has_value();
}

absl::StatusOr<std::vector<VectorResult>> RunVectors(Arch arch, absl::string_view text,
                                                     const std::vector<Justification>& justified,
                                                     const VectorOptions& options) {
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
      Transition t;
      std::string error;
      bool ran = Load(arch, row, &t, &error);
      if (ran) {
        std::string fault = RunTransition(t, t.inst, &t.got);
        ran = fault.empty();
        if (!ran) error = fault;
      }
      if (ran && options.tamper) options.tamper(&t.got, t.want);
      if (ran && t.got == t.want && !t.reserved.has_value()) {
        results.push_back(std::move(r));
        continue;
      }
      r.kind = VectorResult::Kind::kFailed;
      r.detail = absl::StrCat(row.value("t", ""), ":",
                              ran && !t.reserved.has_value() ? DescribeDifference(t.got, t.want)
                                                             : absl::StrCat(" ", error));
      for (const Justification& j : justified) {
        if (!ran || !Matches(j, isa, t) || !Explains(j, t)) continue;
        r.kind = VectorResult::Kind::kJustified;
        r.detail = j.manual;
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
