// What is wrong with a trace, where, and that reading went on.
#ifndef TG_TOOLS_SQTT_REPORT_H_
#define TG_TOOLS_SQTT_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tg::sqtt {

enum class Problem : uint8_t {
  kUnknownCode,        // Bits that begin no packet.
  kPacketLost,         // Hardware says that it dropped packets (CDNA_MISC PACKET_LOST).
  kWaveStartTwice,     // A wave starts in a slot whose wave has not ended: its WAVEEND is lost.
  kWaveEndAlone,       // A wave ends that never started: its WAVESTART is lost.
  kWaveNotEnded,       // The trace ends before the wave.
  kNotInProgram,       // A wave's program counter is outside of the program.
  kBranchWithoutJump,  // A branch was paired with a packet that is no JUMP or JUMP_NO.
  kJumpWithoutBranch,  // The other way round.
  kIndirectJump,       // A wave went on at an address that only its registers know.
  kNoWave,             // An instruction of a slot in which no wave runs.
};
inline constexpr int kNumProblems = 10;

// "unknown-code", for scripts.
absl::string_view ProblemName(Problem problem);
// A sentence's worth for people.
absl::string_view ProblemText(Problem problem);

struct Report {
  Problem problem;
  uint64_t offset;  // In nibbles from the start of the trace.
  uint64_t time;
  int wave;  // Slot, or -1.
};

// The first reports whole, the others counted: a trace of garbage gives no list without end.
class Reports {
 public:
  void Add(Problem problem, uint64_t offset, uint64_t time, int wave = -1) {
    ++counts_[static_cast<int>(problem)];
    if (first_.size() < kMaxKept) first_.push_back({problem, offset, time, wave});
  }

  bool empty() const { return first_.empty(); }
  const std::vector<Report>& first() const { return first_; }
  uint64_t count(Problem problem) const { return counts_[static_cast<int>(problem)]; }
  uint64_t total() const;

  static constexpr size_t kMaxKept = 100;

 private:
  std::vector<Report> first_;
  uint64_t counts_[kNumProblems] = {};
};

// "unknown-code at nibble 812 (byte 406), clock 77: bits that begin no packet"
std::string ToString(const Report& report);

}  // namespace tg::sqtt

#endif  // TG_TOOLS_SQTT_REPORT_H_
