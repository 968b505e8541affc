// Code with words put in between its instructions; branches go where they went.
// Private to the passes that put in waits and delays.
#ifndef TG_CODEGEN_ISA_AMD_HAZARD_REWRITE_H_
#define TG_CODEGEN_ISA_AMD_HAZARD_REWRITE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/inst.h"

namespace tg::amd {

// SOPP words: opcode 22:16.
constexpr uint32_t Sopp(uint32_t opcode, uint32_t value) {
  return 0xbf800000 | opcode << 16 | value;
}

class CodeRewriter {
 public:
  struct Decoded {
    uint64_t offset = 0;
    Inst inst;
    bool branch = false;  // Has a label.
    bool target = false;  // A branch goes here.
  };

  // InvalidArgument where `code`, which must outlive this, does not decode or computes addresses in
  // itself.
  static absl::StatusOr<CodeRewriter> Create(absl::Span<const uint8_t> code, Isa isa);

  const std::vector<Decoded>& program() const { return program_; }

  // What comes next; words that are put in before an instruction are appended before it, and
  // branches to the instruction go to the first of them.
  void Begin(const Decoded& instruction) { moved_[instruction.offset] = out_.size(); }
  size_t Append(uint32_t word);  // Returns where it is.
  void Append(const Decoded& instruction);
  uint32_t WordAt(size_t where) const;
  void SetWordAt(size_t where, uint32_t word);

  // InvalidArgument where a branch goes between instructions or, now, too far.
  absl::StatusOr<std::vector<uint8_t>> Finish();

 private:
  absl::Span<const uint8_t> code_;
  std::vector<Decoded> program_;
  std::vector<uint8_t> out_;
  std::map<uint64_t, uint64_t> moved_;                   // From offsets to new ones.
  std::vector<std::pair<uint64_t, uint64_t>> branches_;  // New offset, old target.
};

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_HAZARD_REWRITE_H_
