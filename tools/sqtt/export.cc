#include "tools/sqtt/export.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"

namespace tg::sqtt {
namespace {

using nlohmann::json;

// Threads are numbered so that the order of numbers is that of places.
int ThreadOf(const WaveSlot& s) { return s.sa << 12 | s.cu << 7 | s.simd << 5 | s.wave; }

std::string Quoted(absl::string_view field) {
  if (field.find_first_of(",\"\n") == absl::string_view::npos) return std::string(field);
  return absl::StrCat("\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::string PerfettoJson(absl::Span<const NamedAnalysis> traces) {
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  bool first = true;
  auto add = [&](const json& event) {
    absl::StrAppend(&out, first ? "\n" : ",\n",
                    event.dump(-1, ' ', false, json::error_handler_t::replace));
    first = false;
  };
  int process = 0;
  for (const NamedAnalysis& t : traces) {
    const Analysis& a = *t.analysis;
    const double us = a.shader_mhz.has_value() ? 1 / *a.shader_mhz : 1e-3;
    ++process;
    add({{"ph", "M"},
         {"pid", process},
         {"tid", 0},
         {"name", "process_name"},
         {"args", {{"name", absl::StrCat(t.name, " (shader engine ", t.shader_engine, ")")}}}});
    std::set<int> threads;
    for (const Wave& w : a.waves) {
      const int thread = ThreadOf(w.slot);
      if (threads.insert(thread).second) {
        add({{"ph", "M"},
             {"pid", process},
             {"tid", thread},
             {"name", "thread_name"},
             {"args",
              {{"name",
                absl::StrFormat("CU %d SIMD %d wave %d", w.slot.cu, w.slot.simd, w.slot.wave)}}}});
      }
      add({{"ph", "X"},
           {"pid", process},
           {"tid", thread},
           {"cat", "wave"},
           {"name", absl::StrCat("wave ", w.slot.wave)},
           {"ts", static_cast<double>(w.start) * us},
           {"dur", static_cast<double>(w.end - w.start) * us},
           {"args", {{"start", w.start}, {"end", w.end}, {"ended", w.ended}}}});
    }
    for (const IssuedInst& i : a.insts) {
      const InstClass c = ClassOf(a.summary.layout, i.packet, i.op);
      add({{"ph", "X"},
           {"pid", process},
           {"tid", ThreadOf({.cu = a.traced.cu, .simd = a.traced.simd, .wave = i.wave})},
           {"cat", std::string(InstClassName(c))},
           {"name", t.program != nullptr ? t.program->Text(i.index) : ""},
           {"ts", static_cast<double>(i.time) * us},
           {"dur", static_cast<double>(i.duration) * us},
           {"args", {{"clock", i.time}, {"stall", i.stall}, {"index", i.index}}}});
    }
  }
  out += "\n]}\n";
  return out;
}

std::string InstsCsv(absl::Span<const NamedAnalysis> traces) {
  std::string out = "trace,time,wave,pc,instruction,class,packet,op,duration,stall\n";
  for (const NamedAnalysis& t : traces) {
    if (t.program == nullptr) continue;
    const Layout layout = t.analysis->summary.layout;
    for (const IssuedInst& i : t.analysis->insts) {
      absl::StrAppend(&out, Quoted(t.name), ",", i.time, ",", i.wave, ",0x",
                      absl::Hex(t.program->Address(i.index)), ",", Quoted(t.program->Text(i.index)),
                      ",", InstClassName(ClassOf(layout, i.packet, i.op)), ",",
                      PacketName(i.packet), ",", i.op < 0 ? "" : InstOpName(layout, i.op), ",",
                      i.duration, ",", i.stall, "\n");
    }
  }
  return out;
}

}  // namespace tg::sqtt
