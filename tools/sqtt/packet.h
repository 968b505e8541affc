// Packets of SQ thread traces: their names, bits and fields.
//
// A trace is what the sequencers (SQ) of one shader engine wrote while waves ran. It comes in three
// layouts. RDNA's are streams of nibbles, low nibble of a byte first, with packets of 1 to 18 of
// them; CDNA's is one of 16-bit words. The low bits of a packet say what it is.
//
// Sources: AMD, "Radeon GPU Profiler" file format's SQTT chunks and the token tables of Mesa's and
// Linux's amdgpu drivers (SQ_THREAD_TRACE registers and token names); bit positions were checked
// against traces of gfx1100, gfx1201 and gfx950 cards.
#ifndef TG_TOOLS_SQTT_PACKET_H_
#define TG_TOOLS_SQTT_PACKET_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tg::sqtt {

enum class Layout : uint8_t {
  kRdna3,  // gfx11, LAYOUT_HEADER.layout 3
  kRdna4,  // gfx12, LAYOUT_HEADER.layout 4
  kCdna,   // gfx9.4, gfx9.5
};
inline constexpr int kNumLayouts = 3;
absl::string_view LayoutName(Layout layout);  // "RDNA 3"

// Kinds of packets over all layouts. Where RDNA 4 moved bits, its kind has a name of its own, so
// that a kind has one set of fields.
enum class PacketType : uint8_t {
  kNop,
  kLayoutHeader,
  // RDNA.
  kValuInst,
  kVmemExec,
  kAluExec,
  kImmediate,
  kImmediateMask,
  kWaveRdy,
  kTsDeltaS8W3,
  kWaveEnd,
  kWaveStart,
  kTsDeltaS5W2,
  kWaveAlloc,
  kTsDeltaS5W3,
  kPerf,
  kUtilCtr,
  kTsDeltaShort,
  kTsWaveState,
  kEvent,
  kEventBig,
  kReg,
  kSnapshot,
  kTsDeltaOrMark,
  kInst,
  // RDNA 4 where it differs.
  kWaveEndRdna4,
  kWaveStartRdna4,
  kTsDeltaS5W2Rdna4,
  kWaveAllocRdna4,
  kTsDeltaS5W3Rdna4,
  kPerfRdna4,
  kTsDeltaOrMarkRdna4,
  kInstRdna4,
  // CDNA.
  kCdnaMisc,
  kCdnaTimestamp,
  kCdnaReg,
  kCdnaWaveStart,
  kCdnaWaveAlloc,
  kCdnaRegCs,
  kCdnaWaveEnd,
  kCdnaEvent,
  kCdnaEventCs,
  kCdnaEventGfx1,
  kCdnaInst,
  kCdnaInstPc,
  kCdnaUserData,
  kCdnaIssue,
  kCdnaPerf,
  kCdnaRegCsPriv,
};
inline constexpr int kNumPacketTypes = static_cast<int>(PacketType::kCdnaRegCsPriv) + 1;

// Bits hi..lo of a packet.
struct Field {
  const char* name;
  uint8_t hi, lo;
};

// How a kind of packet looks.
struct PacketSpec {
  PacketType type;
  const char* name;   // "WAVESTART"
  uint8_t bits;       // Length. Packets start at nibbles: this is rounded up to 4.
  uint8_t code_bits;  // The low bits that identify it,
  uint8_t code;       // and their value. The longest code that fits decides.
  uint8_t layouts;    // Bit of each Layout.
  Field fields[14];   // Up to the first without a name.

  int nibbles() const { return (bits + 3) / 4; }
  absl::Span<const Field> field_span() const;
  bool In(Layout layout) const { return layouts >> static_cast<int>(layout) & 1; }
};

// All kinds, in the order of PacketType.
absl::Span<const PacketSpec> PacketSpecs();
const PacketSpec& Spec(PacketType type);
absl::string_view PacketName(PacketType type);

// A packet of a trace. Of TS_DELTA_S8_W3, the only one with over 64 bits, `raw` has the low 64.
struct Packet {
  uint64_t raw = 0;     // Its bits; those above its length are 0.
  uint64_t time = 0;    // Shader clocks since the trace began, its own delta included.
  uint64_t offset = 0;  // In nibbles from the start of the trace.
  PacketType type = PacketType::kNop;
};

constexpr uint64_t Bits(uint64_t raw, int hi, int lo) {
  return raw >> lo & (hi - lo == 63 ? ~uint64_t{0} : (uint64_t{1} << (hi - lo + 1)) - 1);
}

// A field's value by name; 0 when the kind has no such field. For printing; programs that care for
// speed use Bits.
uint64_t FieldValue(const Packet& packet, absl::string_view name);

// Whether a TS_DELTA_OR_MARK carries the 100 MHz clock in `delta` instead of a time step.
constexpr bool IsRealTimeMark(PacketType type, uint64_t raw) {
  return type == PacketType::kTsDeltaOrMark        ? (raw >> 8 & 3) == 2  // rt and not pl
         : type == PacketType::kTsDeltaOrMarkRdna4 ? (raw >> 7 & 3) == 1
                                                   : false;
}

// INST.op, CDNA_INST.op; -1 for packets without.
constexpr int InstOp(PacketType type, uint64_t raw) {
  return type == PacketType::kInst        ? static_cast<int>(Bits(raw, 19, 13))
         : type == PacketType::kInstRdna4 ? static_cast<int>(Bits(raw, 19, 12))
         : type == PacketType::kCdnaInst  ? static_cast<int>(Bits(raw, 15, 11))
                                          : -1;
}

// INST.op as the vendor's enumerations name it: "VALUB_16", "JUMP_NO"; "" for values without a
// name.
absl::string_view InstOpName(Layout layout, int op);
// The value with this name; -1 when there is none.
int FindInstOp(Layout layout, absl::string_view name);
// Values of INST.op below this bound may have names.
inline constexpr int kNumInstOps = 256;

// The clocks for which an instruction of this kind keeps its unit busy: the number that ends its
// name, 1 for the others.
int InstOpDuration(Layout layout, int op);

// Memory operations that the other SIMD of the workgroup processor issued (OTHER_LDS_1, ...): no
// instruction of a traced wave.
bool IsOtherSimd(Layout layout, int op);

// Units of ALUEXEC.src and VMEMEXEC.src: "VALU_SALU", "LDS_ALT".
absl::string_view AluSourceName(int src);
absl::string_view MemSourceName(int src);

// CDNA_MISC.misc_type: "PACKET_LOST".
absl::string_view MiscTypeName(int type);
inline constexpr int kMiscPacketLost = 2;

// "time type offset raw field=value ..." without a line feed, for people and tests.
std::string ToString(const Packet& packet);

}  // namespace tg::sqtt

#endif  // TG_TOOLS_SQTT_PACKET_H_
