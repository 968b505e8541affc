// Small made-up traces: for tests, and as an example of how to write one with the encoder.
#ifndef TG_TOOLS_SQTT_SAMPLE_H_
#define TG_TOOLS_SQTT_SAMPLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/isa/amd/arch.h"
#include "tools/sqtt/packet.h"

namespace tg::sqtt {

struct Sample {
  amd::Arch arch;
  std::vector<uint8_t> code;   // A loop of vector additions; empty for CDNA.
  std::vector<uint8_t> trace;  // Three waves on two SIMDs, two of them traced.
};
// Where an ELF file would have the code.
inline constexpr uint64_t kSampleAddress = 0x100;
// Trips of the sample's loop, in each wave.
inline constexpr int kSampleTrips = 3;

Sample MakeSample(Layout layout);

}  // namespace tg::sqtt

#endif  // TG_TOOLS_SQTT_SAMPLE_H_
