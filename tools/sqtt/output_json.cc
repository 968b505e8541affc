#include <set>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tools/sqtt/output.h"

namespace tg::sqtt {
namespace {

using json = nlohmann::ordered_json;

std::string Dump(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

json Counts(const Analysis& a) {
  json counts = json::object();
  for (const PacketSpec& spec : PacketSpecs()) {
    const uint64_t n = a.counts[static_cast<int>(spec.type)];
    if (n > 0) counts[spec.name] = n;
  }
  return counts;
}

json Ops(const Analysis& a) {
  json ops = json::object();
  for (int op = 0; op < kNumInstOps; ++op) {
    if (a.ops[op] == 0) continue;
    const absl::string_view name = InstOpName(a.summary.layout, op);
    ops[name.empty() ? absl::StrCat("0x", absl::Hex(op)) : std::string(name)] = a.ops[op];
  }
  return ops;
}

json Problems(const Analysis& a) {
  json reports = json::array();
  for (const Report& r : a.reports.first()) {
    reports.push_back({{"problem", std::string(ProblemName(r.problem))},
                       {"nibble", r.offset},
                       {"time", r.time},
                       {"wave", r.wave < 0 ? json() : json(r.wave)}});
  }
  return {{"count", a.reports.total()}, {"first", reports}};
}

json Base(const Analyzed& a) {
  return {{"trace", a.trace->name}, {"shader_engine", a.trace->shader_engine}};
}

std::string OpText(const Analyzed& a, const IssuedInst& i) {
  return i.op < 0 ? "" : std::string(InstOpName(a.analysis.summary.layout, i.op));
}

}  // namespace

std::string JsonString(absl::string_view text) { return Dump(json(std::string(text))); }

std::string InfoJson(const Analyzed& a) {
  const Analysis& n = a.analysis;
  json j = Base(a);
  j["layout"] = std::string(LayoutName(n.summary.layout));
  j["size"] = n.size;
  j["packets"] = n.summary.packets;
  j["last_time"] = n.summary.last_time;
  j["tail_nibbles"] = n.summary.tail_nibbles;
  j["shader_mhz"] = n.shader_mhz.has_value() ? json(*n.shader_mhz) : json();
  j["waves"] = n.waves.size();
  j["instructions"] = n.insts.size();
  j["counts"] = Counts(n);
  j["inst_ops"] = Ops(n);
  j["problems"] = Problems(n);
  return Dump(j);
}

std::string WavesJson(const Analyzed& a) {
  json j = Base(a);
  j["waves"] = json::array();
  for (const Wave& w : a.analysis.waves) {
    j["waves"].push_back({{"start", w.start},
                          {"end", w.end},
                          {"ended", w.ended},
                          {"sa", w.slot.sa},
                          {"cu", w.slot.cu},
                          {"simd", w.slot.simd},
                          {"wave", w.slot.wave},
                          {"id", w.id}});
  }
  j["problems"] = Problems(a.analysis);
  return Dump(j);
}

std::string InstsJson(const Analyzed& a, int wave, bool totals_only) {
  json j = Base(a);
  j["kernel"] = a.program == nullptr ? json() : json(a.trace->kernel);
  if (a.program == nullptr) return Dump(j);
  if (!totals_only) {
    j["instructions"] = json::array();
    for (const IssuedInst& i : a.analysis.insts) {
      if (wave >= 0 && i.wave != wave) continue;
      const InstClass c = ClassOf(a.analysis.summary.layout, i.packet, i.op);
      j["instructions"].push_back({{"time", i.time},
                                   {"wave", i.wave},
                                   {"pc", a.program->Address(i.index)},
                                   {"instruction", a.program->Text(i.index)},
                                   {"class", std::string(InstClassName(c))},
                                   {"packet", std::string(PacketName(i.packet))},
                                   {"op", OpText(a, i)},
                                   {"duration", i.duration},
                                   {"stall", i.stall}});
    }
  }
  j["totals"] = json::array();
  for (const PcTotals& t : TotalsByPc(a.analysis.insts, *a.program)) {
    j["totals"].push_back({{"pc", a.program->Address(t.index)},
                           {"instruction", a.program->Text(t.index)},
                           {"hits", t.hits},
                           {"cycles", t.cycles},
                           {"stall", t.stall}});
  }
  j["problems"] = Problems(a.analysis);
  return Dump(j);
}

std::string OccupancyJson(const Analyzed& a) {
  const Occupancy o = ComputeOccupancy(a.analysis.waves, 100);
  json j = Base(a);
  j["begin"] = o.begin;
  j["end"] = o.end;
  j["simds"] = json::array();
  for (const SimdOccupancy& s : o.simds) {
    j["simds"].push_back({{"sa", s.simd.sa},
                          {"cu", s.simd.cu},
                          {"simd", s.simd.simd},
                          {"waves", s.waves},
                          {"busy_clocks", s.busy},
                          {"wave_clocks", s.wave_clocks},
                          {"max_waves", s.max_waves}});
  }
  j["average_waves"] = o.average_by_bucket;
  return Dump(j);
}

std::string SummaryJson(const Analyzed& a) {
  const Analysis& n = a.analysis;
  json j = Base(a);
  const Occupancy o = ComputeOccupancy(n.waves, 0);
  j["clocks"] = o.end - o.begin;
  j["waves"] = n.waves.size();
  j["simds"] = o.simds.size();
  j["executions"] = {{"SALU", n.executions.salu}, {"VALU", n.executions.valu},
                     {"LDS", n.executions.lds},   {"LDS_ALT", n.executions.lds_alt},
                     {"VMEM", n.executions.vmem}, {"VMEM_ALT", n.executions.vmem_alt}};
  json classes = json::object();
  const std::array<ClassTotals, kNumInstClasses> totals = TotalsByClass(n);
  for (int c = 0; c < kNumInstClasses; ++c) {
    const ClassTotals& t = totals[c];
    if (t.count == 0) continue;
    classes[std::string(InstClassName(static_cast<InstClass>(c)))] = {
        {"instructions", t.count}, {"cycles", t.cycles}, {"stall", t.stall}};
  }
  j["classes"] = classes;
  j["problems"] = Problems(n);
  return Dump(j);
}

std::string StatsJson(const Analyzed& a) {
  const Analysis& n = a.analysis;
  json waves = json::array(), rows = json::array();
  for (const Wave& w : n.waves) {
    if (w.ended) waves.push_back({w.start, w.end, w.slot.cu, w.slot.simd, w.slot.wave});
  }
  std::set<int> slots;
  const bool cdna = n.summary.layout == Layout::kCdna;
  for (const IssuedInst& i : n.insts) {
    slots.insert(i.wave);
    // A wave ends with s_endpgm, also where its instructions were not traced.
    const bool end = i.packet == PacketType::kWaveEnd || i.packet == PacketType::kWaveEndRdna4;
    rows.push_back({i.time, i.wave, a.program->Address(i.index), std::string(PacketName(i.packet)),
                    OpText(a, i), end ? "s_endpgm" : a.program->Text(i.index)});
  }
  json error;
  if (a.program == nullptr && !cdna) error = "no program";
  const json j = {{"size", n.size},
                  {"packets", n.summary.packets},
                  {"monotonic", n.monotonic},
                  {"last_time", n.summary.last_time},
                  {"counts", Counts(n)},
                  {"inst_ops", Ops(n)},
                  {"waves_start_end_cu_simd_wave", waves},
                  {"inst_trace",
                   {{"columns", {"time", "wave", "pc(elf address)", "packet", "op", "disasm"}},
                    {"count", rows.size()},
                    {"error", error},
                    {"waves", slots},
                    {"rows", rows}}}};
  return Dump(j);
}

std::string PacketJson(const Packet& packet) {
  json fields = json::object();
  for (const Field& f : Spec(packet.type).field_span()) {
    fields[f.name] = Bits(packet.raw, f.hi, f.lo);
  }
  return Dump({{"time", packet.time},
               {"type", std::string(PacketName(packet.type))},
               {"nibble", packet.offset},
               {"raw", absl::StrCat("0x", absl::Hex(packet.raw))},
               {"fields", fields}});
}

}  // namespace tg::sqtt
