#include "tools/sqtt/report.h"

#include "absl/strings/str_cat.h"

namespace tg::sqtt {
namespace {

struct Texts {
  absl::string_view name, text;
};

// In the order of Problem.
constexpr Texts kTexts[kNumProblems] = {
    {"unknown-code", "bits that begin no packet"},
    {"packet-lost", "the hardware dropped packets here"},
    {"wave-start-twice", "a wave starts where another has not ended"},
    {"wave-end-alone", "a wave ends that did not start"},
    {"wave-not-ended", "the trace ends before the wave"},
    {"not-in-program", "the wave's program counter left the program"},
    {"branch-without-jump", "a branch came with another instruction's packet"},
    {"jump-without-branch", "a jump's packet came with another instruction"},
    {"indirect-jump", "a wave went on at an address that only its registers know"},
    {"no-wave", "an instruction in a slot without a wave"},
};

}  // namespace

absl::string_view ProblemName(Problem problem) { return kTexts[static_cast<int>(problem)].name; }
absl::string_view ProblemText(Problem problem) { return kTexts[static_cast<int>(problem)].text; }

uint64_t Reports::total() const {
  uint64_t sum = 0;
  for (uint64_t n : counts_) sum += n;
  return sum;
}

std::string ToString(const Report& report) {
  return absl::StrCat(ProblemName(report.problem), " at nibble ", report.offset, " (byte ",
                      report.offset / 2, "), clock ", report.time,
                      report.wave >= 0 ? absl::StrCat(", wave ", report.wave) : "", ": ",
                      ProblemText(report.problem));
}

}  // namespace tg::sqtt
