#include "tools/am_smi/print.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/table.h"
#include "base/terminal.h"
#include "nlohmann/json.hpp"

namespace tg::am_smi {
namespace {

using base::Color;
using json = nlohmann::ordered_json;

std::string Bar(double part, int width, Color color, bool enabled) {
  const int filled = std::clamp(static_cast<int>(std::lround(part * width)), 0, width);
  std::string bar, rest;
  for (int i = 0; i < filled; ++i) bar += "█";
  for (int i = filled; i < width; ++i) rest += "░";
  return base::Paint(bar, color, enabled) + rest;
}

std::string Bytes(double bytes) {
  if (bytes >= 1 << 30) return absl::StrFormat("%.1f GiB", bytes / (1 << 30));
  return absl::StrFormat("%.0f MiB", bytes / (1 << 20));
}

std::string Number(const Gpu& gpu, const char* name, const char* unit, bool color) {
  const Value* v = Find(gpu, name);
  if (v == nullptr || !v->value.has_value()) return "-";
  const std::string text = absl::StrFormat("%.0f %s", *v->value, unit);
  // Where cards begin to slow down, and shortly before.
  constexpr double kHot = 87, kWarm = 80;
  if (absl::string_view(unit) != "C") return text;
  return base::Paint(text,
                     *v->value >= kHot    ? Color::kRed
                     : *v->value >= kWarm ? Color::kYellow
                                          : Color::kNone,
                     color);
}

std::string Share(const Gpu& gpu, const char* part, const char* whole, bool bytes, int width,
                  bool color) {
  const Value *a = Find(gpu, part), *b = whole != nullptr ? Find(gpu, whole) : nullptr;
  const double total = whole == nullptr ? 100 : b != nullptr ? b->value.value_or(0) : 0;
  if (a == nullptr || !a->value.has_value() || total <= 0) return "-";
  return absl::StrCat(Bar(*a->value / total, width, Color::kGreen, color), " ",
                      bytes ? absl::StrCat(Bytes(*a->value), " of ", Bytes(total))
                            : absl::StrFormat("%.0f%%", *a->value));
}

bool IsShownByName(absl::string_view name) {
  constexpr absl::string_view kNames[] = {"temperature_edge_c",     "temperature_hotspot_c",
                                          "temperature_memory_c",   "power_w",
                                          "power_limit_w",          "fan_rpm",
                                          "clock_gfx_mhz",          "clock_memory_mhz",
                                          "voltage_gfx_mv",         "activity_gfx_percent",
                                          "vram_used_bytes",        "vram_total_bytes",
                                          "activity_memory_percent"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// "temperature_vr_gfx_c": "vr gfx"; "voltage_soc_mv": "soc voltage".
std::string Label(const Reading& r) {
  absl::string_view name = r.name;
  name = name.substr(0, name.rfind('_'));  // the unit
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(name, absl::MaxSplits('_', 1));
  const std::string rest = absl::StrReplaceAll(parts.second, {{"_", " "}});
  if (rest.empty()) return std::string(parts.first);
  return parts.first == "temperature" ? rest : absl::StrCat(rest, " ", parts.first);
}

}  // namespace

std::string ToText(absl::Span<const Gpu> gpus, int width, bool color) {
  if (gpus.empty()) return "no AMD GPU\n";
  const int bar = std::clamp(width - 60, 10, 50);
  std::string out;
  for (const Gpu& gpu : gpus) {
    if (!out.empty()) out += "\n";
    absl::StrAppend(&out, base::Paint(gpu.bus, Color::kBold, color), "  ", gpu.name, "  driver ",
                    gpu.driver.empty() ? "none" : gpu.driver,
                    gpu.locked ? ", driven from user space" : "",
                    gpu.power_state.empty() ? "" : absl::StrCat("  ", gpu.power_state),
                    gpu.link.empty() ? "" : absl::StrCat("  ", gpu.link),
                    gpu.blocks.empty() ? "" : absl::StrCat("  ", gpu.blocks), "\n");
    base::Table table({{""}, {""}, {""}, {""}, {""}, {""}});
    table.AddRow({"edge", Number(gpu, "temperature_edge_c", "C", color), "hotspot",
                  Number(gpu, "temperature_hotspot_c", "C", color), "memory",
                  Number(gpu, "temperature_memory_c", "C", color)});
    table.AddRow({"power", Number(gpu, "power_w", "W", color), "limit",
                  Number(gpu, "power_limit_w", "W", color), "fan",
                  Number(gpu, "fan_rpm", "rpm", color)});
    table.AddRow({"gfx", Number(gpu, "clock_gfx_mhz", "MHz", color), "memory",
                  Number(gpu, "clock_memory_mhz", "MHz", color), "voltage",
                  Number(gpu, "voltage_gfx_mv", "mV", color)});
    // What only some cards measure, three in a row.
    std::vector<std::string> cells;
    const auto end_row = [&] {
      cells.resize(6);
      table.AddRow(cells);
      cells.clear();
    };
    for (const Reading& r : gpu.readings) {
      if (IsShownByName(r.name)) continue;
      cells.push_back(Label(r));
      cells.push_back(Number(gpu, r.name, r.unit, color));
      if (cells.size() == 6) end_row();
    }
    if (!cells.empty()) end_row();
    out += table.ToString();
    base::Table shares({{""}, {""}});
    shares.AddRow({"gfx busy", Share(gpu, "activity_gfx_percent", nullptr, false, bar, color)});
    shares.AddRow(
        {"memory busy", Share(gpu, "activity_memory_percent", nullptr, false, bar, color)});
    shares.AddRow({"vram", Share(gpu, "vram_used_bytes", "vram_total_bytes", true, bar, color)});
    out += shares.ToString();
    for (const Process& p : gpu.processes) {
      absl::StrAppend(&out, "  process ", p.pid, " ", p.command,
                      p.vram_bytes.has_value() ? absl::StrCat("  ", Bytes(*p.vram_bytes)) : "",
                      "\n");
    }
    // Each reason once, with what it is the reason for.
    std::map<std::string, std::vector<std::string>> absent;
    for (const Reading& r : gpu.readings) {
      if (!r.value.value.has_value()) absent[r.value.absent].push_back(r.name);
    }
    for (const auto& [reason, names] : absent) {
      if (names.size() == gpu.readings.size()) {
        absl::StrAppend(&out, base::Paint("  nothing is known: " + reason, Color::kGray, color),
                        "\n");
        continue;
      }
      absl::StrAppend(
          &out,
          base::Paint(absl::StrCat("  not known: ", absl::StrJoin(names, ", "), ": ", reason),
                      Color::kGray, color),
          "\n");
    }
  }
  return out;
}

std::string ToJson(absl::Span<const Gpu> gpus) {
  json list = json::array();
  for (const Gpu& gpu : gpus) {
    json readings = json::object(), absent = json::object(), processes = json::array();
    for (const Reading& r : gpu.readings) {
      readings[r.name] = r.value.value.has_value() ? json(*r.value.value) : json();
      if (!r.value.value.has_value()) absent[r.name] = r.value.absent;
    }
    for (const Process& p : gpu.processes) {
      processes.push_back(
          {{"pid", p.pid},
           {"command", p.command},
           {"vram_bytes", p.vram_bytes.has_value() ? json(*p.vram_bytes) : json()}});
    }
    list.push_back({{"pci_bus", gpu.bus},
                    {"name", gpu.name},
                    {"driver", gpu.driver.empty() ? json() : json(gpu.driver)},
                    {"driven_from_user_space", gpu.locked},
                    {"power_state", gpu.power_state},
                    {"link", gpu.link},
                    {"blocks", gpu.blocks},
                    {"readings", readings},
                    {"absent", absent},
                    {"processes", processes},
                    {"note", gpu.note}});
  }
  return json{{"gpus", list}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace tg::am_smi
