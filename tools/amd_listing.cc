#include "tools/amd_listing.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/terminal.h"
#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/print.h"

namespace tg::tools {
namespace {

// More arrows side by side than this are left out: nobody can follow them.
constexpr int kMaxLanes = 8;
constexpr int kTextColumn = 44;  // Where an instruction's words come behind it.

struct Arrow {
  size_t from;
  size_t to;
  int lane = -1;

  size_t top() const { return std::min(from, to); }
  size_t bottom() const { return std::max(from, to); }
};

// Arrows between lines, short ones nearest to the text.
std::vector<Arrow> FindArrows(absl::Span<const ListingLine> lines) {
  std::vector<Arrow> arrows;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].target.has_value()) continue;
    const auto to = std::lower_bound(
        lines.begin(), lines.end(), *lines[i].target,
        [](const ListingLine& line, uint64_t address) { return line.address < address; });
    if (to == lines.end() || to->address != *lines[i].target) continue;
    arrows.push_back({i, static_cast<size_t>(to - lines.begin())});
  }
  std::vector<size_t> order(arrows.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return arrows[a].bottom() - arrows[a].top() < arrows[b].bottom() - arrows[b].top();
  });
  // Which lines a lane is taken on, as intervals.
  std::vector<std::map<size_t, size_t>> lanes(kMaxLanes);
  for (const size_t i : order) {
    Arrow& arrow = arrows[i];
    for (int lane = 0; lane < kMaxLanes; ++lane) {
      std::map<size_t, size_t>& taken = lanes[lane];
      const auto next = taken.upper_bound(arrow.bottom());
      if (next != taken.begin() && std::prev(next)->second >= arrow.top()) continue;
      taken[arrow.top()] = arrow.bottom();
      arrow.lane = lane;
      break;
    }
  }
  return arrows;
}

// The margin of each line: box drawing, `lanes` columns and one for the arrow's head.
std::vector<std::string> DrawArrows(absl::Span<const Arrow> arrows, size_t lines) {
  int lanes = 0;
  for (const Arrow& a : arrows) lanes = std::max(lanes, a.lane + 1);
  if (lanes == 0) return std::vector<std::string>(lines);
  std::vector<std::vector<const char*>> cells(lines, std::vector<const char*>(lanes + 2, " "));
  const auto column = [&](int lane) { return static_cast<size_t>(lanes - 1 - lane); };
  for (const Arrow& a : arrows) {
    if (a.lane < 0) continue;
    for (size_t y = a.top() + 1; y < a.bottom(); ++y) cells[y][column(a.lane)] = "│";
  }
  for (const Arrow& a : arrows) {
    if (a.lane < 0) continue;
    for (const size_t y : {a.from, a.to}) {
      std::vector<const char*>& row = cells[y];
      const size_t x = column(a.lane);
      const bool both = a.from == a.to;
      row[x] = both ? "─" : y == a.top() ? "╭" : "╰";
      for (size_t i = x + 1; i < row.size() - 1; ++i) {
        row[i] = std::strcmp(row[i], "│") == 0 ? "┼" : std::strcmp(row[i], " ") == 0 ? "─" : row[i];
      }
      char const*& head = row[row.size() - 2];
      if (y == a.to) {
        row[row.size() - 1] = "▶";
      } else if (std::strcmp(row[row.size() - 1], " ") == 0) {
        row[row.size() - 1] = "─";
      }
      if (std::strcmp(head, " ") == 0) head = "─";
    }
  }
  std::vector<std::string> result(lines);
  for (size_t y = 0; y < lines; ++y) {
    for (const char* cell : cells[y]) result[y] += cell;
    result[y] += ' ';
  }
  return result;
}

std::string Words(absl::Span<const uint8_t> bytes) {
  std::string words;
  for (size_t i = 0; i < bytes.size(); i += 4) {
    if (i > 0) words += ' ';
    const size_t size = std::min<size_t>(4, bytes.size() - i);
    for (size_t j = size; j-- > 0;) absl::StrAppendFormat(&words, "%02x", bytes[i + j]);
  }
  return words;
}

// Memory instructions stand out: they are what one waits for.
base::Color ColorOf(const ListingLine& line) {
  if (!line.instruction) return base::Color::kGray;
  const absl::string_view text = line.text;
  for (const absl::string_view prefix : {"global_", "flat_", "scratch_", "buffer_", "tbuffer_",
                                         "ds_", "image_", "s_load", "s_buffer"}) {
    if (absl::StartsWith(text, prefix)) return base::Color::kYellow;
  }
  if (absl::StartsWith(text, "s_wait") || absl::StartsWith(text, "s_barrier")) {
    return base::Color::kMagenta;
  }
  if (line.target.has_value() || absl::StartsWith(text, "s_endpgm")) return base::Color::kRed;
  return line.scalar ? base::Color::kCyan : base::Color::kGreen;
}

// The mnemonic in colour.
std::string Painted(const ListingLine& line, bool color) {
  if (!color) return line.text;
  const size_t end = line.instruction ? line.text.find(' ') : std::string::npos;
  std::string text = base::Paint(line.text.substr(0, end), ColorOf(line), true);
  if (end != std::string::npos) text += line.text.substr(end);
  return text;
}

}  // namespace

std::vector<ListingLine> ListCode(absl::Span<const uint8_t> code, uint64_t address,
                                  amd::Arch arch) {
  std::vector<ListingLine> lines;
  lines.reserve(code.size() / 6);
  for (size_t at = 0; at < code.size();) {
    ListingLine& line = lines.emplace_back();
    line.address = address + at;
    const absl::Span<const uint8_t> rest = code.subspan(at);
    const size_t size = static_cast<size_t>(amd::Disassemble(rest, arch, &line.text));
    line.bytes = rest.subspan(0, size);
    at += size;
    line.instruction = line.text[0] != '.';
    if (!line.instruction) continue;
    line.scalar = absl::StartsWith(line.text, "s_");
    if (!line.scalar) continue;
    amd::Inst inst;
    if (amd::DecodeFast(line.bytes, amd::IsaOf(arch), &inst) != amd::DecodeError::kOk) continue;
    for (int i = 0; i < inst.num_operands; ++i) {
      if (inst.form->specs[i].cls != amd::OperandClass::kLabel) continue;
      const int64_t words = static_cast<int16_t>(inst.operands[i].value);
      line.target = line.address + 4 + static_cast<uint64_t>(4 * words);
    }
  }
  return lines;
}

void AddBranchLabels(absl::Span<const ListingLine> lines, ListingLabels* labels) {
  for (const ListingLine& line : lines) {
    if (!line.target.has_value()) continue;
    const auto to = std::lower_bound(
        lines.begin(), lines.end(), *line.target,
        [](const ListingLine& l, uint64_t address) { return l.address < address; });
    if (to == lines.end() || to->address != *line.target) continue;
    labels->emplace(*line.target, absl::StrFormat(".L%x", *line.target));
  }
}

std::string RenderListing(absl::Span<const ListingLine> lines, const ListingLabels& labels,
                          const ListingStyle& style) {
  const std::vector<std::string> margins = style.arrows
                                               ? DrawArrows(FindArrows(lines), lines.size())
                                               : std::vector<std::string>(lines.size());
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    const ListingLine& line = lines[i];
    if (const auto label = labels.find(line.address); label != labels.end()) {
      absl::StrAppend(
          &out, base::Paint(absl::StrCat(label->second, ":"), base::Color::kBold, style.color),
          "\n");
    }
    out += "  ";
    if (style.addresses) {
      absl::StrAppend(
          &out, base::Paint(absl::StrFormat("%06x", line.address), base::Color::kGray, style.color),
          "  ");
    }
    absl::StrAppend(&out, base::Paint(margins[i], base::Color::kBlue, style.color),
                    Painted(line, style.color));
    std::string remark;
    if (style.words) remark = Words(line.bytes);
    if (line.target.has_value()) {
      const auto label = labels.find(*line.target);
      absl::StrAppend(
          &remark, remark.empty() ? "" : "  ", "-> ",
          label != labels.end() ? label->second : absl::StrFormat("0x%x", *line.target));
    }
    if (!remark.empty()) {
      const int width = base::DisplayWidth(line.text);
      absl::StrAppend(&out, std::string(static_cast<size_t>(std::max(2, kTextColumn - width)), ' '),
                      base::Paint(absl::StrCat("// ", remark), base::Color::kGray, style.color));
    }
    out += '\n';
  }
  return out;
}

std::string RenderPlain(absl::Span<const ListingLine> lines) {
  std::string out;
  for (const ListingLine& line : lines) {
    absl::StrAppend(&out,
                    absl::BytesToHexString(absl::string_view(
                        reinterpret_cast<const char*>(line.bytes.data()), line.bytes.size())),
                    "\t", line.text, "\n");
  }
  return out;
}

}  // namespace tg::tools
