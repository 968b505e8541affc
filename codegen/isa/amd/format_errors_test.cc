// Of every format: what Encode says of a wrong instruction, and Decode of wrong bytes. The right
// ones are random words that decode.
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>

#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/encode.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

struct Sample {
  Inst inst;
  Isa isa = Isa::kGfx11;
  uint8_t bytes[24] = {};
};

// An instruction of each format, with an operand that must be a register.
std::map<Format, Sample> Samples() {
  std::map<Format, Sample> samples;
  std::mt19937_64 random(7);
  for (int i = 0; i < kNumIsas; ++i) {
    const Isa isa = static_cast<Isa>(i);
    for (const Form* form : FormsOf(isa)) {
      if (samples.count(form->format) != 0 || form->extra != Extra::kNone) continue;
      if (form->num_operands < (form->format == Format::kSopp ? 1 : 2)) continue;
      uint64_t mask, value;
      OpcodeBits(*form, &mask, &value);
      for (int tries = 0; tries < 2000; ++tries) {
        Sample s;
        s.isa = isa;
        // Sparse bits, of registers that exist.
        uint64_t words[3] = {random() & random(), random() & random() & random(), 0};
        words[0] = (words[0] & ~mask) | value;
        if (form->format == Format::kVop3px2) {
          // The second half of the pair: its opcode, and VGPRs 0 for factors and addend.
          words[0] = value | 0x0002020000000000u | (random() & 0xff);
          words[1] =
              0xd3800800u | static_cast<uint64_t>(form->opcode) << 16 | uint64_t{0x04020100} << 32;
        }
        std::memcpy(s.bytes, words, sizeof(words));
        uint8_t again[kMaxInstBytes + 4];
        if (DecodeFast(s.bytes, isa, &s.inst) != DecodeError::kOk || s.inst.form != form) continue;
        if (!Encode(s.inst, isa, again).ok()) continue;
        samples[form->format] = s;
        break;
      }
    }
  }
  return samples;
}

TEST(FormatErrorsTest, Encode) {
  const auto samples = Samples();
  ASSERT_EQ(samples.size(), static_cast<size_t>(kNumFormats));
  for (const auto& [format, sample] : samples) {
    SCOPED_TRACE(std::string(FormatName(format)) + " " + sample.inst.form->mnemonic);
    uint8_t out[kMaxInstBytes + 4] = {0xaa};
    Inst inst = sample.inst;
    --inst.num_operands;
    EXPECT_EQ(EncodeErrorName(Encode(inst, sample.isa, out).code),
              std::string(EncodeErrorName(EncodeError::kOperandCount)));

    // Every operand in turn is something that cannot stand there.
    int refused = 0;
    for (int i = 0; i < sample.inst.num_operands; ++i) {
      if (sample.inst.form->specs[i].cls == OperandClass::kUnused) continue;
      inst = sample.inst;
      const bool number = inst.operands[i].kind == OperandKind::kImm;
      inst.operands[i] = number ? Vgpr(1) : Imm(7);
      const EncodeResult result = Encode(inst, sample.isa, out);
      EXPECT_EQ(EncodeErrorName(result.code),
                std::string(EncodeErrorName(EncodeError::kOperandKind)))
          << i << ": " << result.reason;
      EXPECT_EQ(result.operand, i);
      EXPECT_NE(std::string(result.reason), "");
      ++refused;
    }
    EXPECT_GE(refused, 1);

    // A modifier of other formats.
    inst = sample.inst;
    const Mod other = inst.form->Has(Mod::kEn) ? Mod::kDmask : Mod::kEn;
    inst.Set(other, 1);
    EXPECT_EQ(EncodeErrorName(Encode(inst, sample.isa, out).code),
              std::string(EncodeErrorName(EncodeError::kModifier)));

    // Another instruction set.
    for (int i = 0; i < kNumIsas; ++i) {
      if (sample.inst.form->In(static_cast<Isa>(i))) continue;
      EXPECT_EQ(EncodeErrorName(Encode(sample.inst, static_cast<Isa>(i), out).code),
                std::string(EncodeErrorName(EncodeError::kNoInstruction)));
    }
    EXPECT_EQ(out[0], 0xaa);  // Nothing was written.
    EXPECT_TRUE(Encode(sample.inst, sample.isa, out).ok());
    EXPECT_EQ(std::memcmp(out, sample.bytes, sample.inst.size), 0);
  }
}

TEST(FormatErrorsTest, Decode) {
  for (const auto& [format, sample] : Samples()) {
    SCOPED_TRACE(std::string(FormatName(format)) + " " + sample.inst.form->mnemonic);
    Inst inst;
    for (int size = 0; size < sample.inst.size; ++size) {
      EXPECT_NE(DecodeFast({sample.bytes, static_cast<size_t>(size)}, sample.isa, &inst),
                DecodeError::kOk)
          << size;
    }
    EXPECT_EQ(DecodeFast({sample.bytes, 3}, sample.isa, &inst), DecodeError::kTruncated);
    if (sample.inst.size > 4) {
      EXPECT_EQ(
          DecodeFast({sample.bytes, static_cast<size_t>(sample.inst.size) - 1}, sample.isa, &inst),
          DecodeError::kTruncated);
    }
    // Bits that are the same in all instructions of the form, one by one: never this form again.
    uint64_t mask, value;
    OpcodeBits(*sample.inst.form, &mask, &value);
    int reserved = 0;
    for (int bit = 0; bit < 64 && bit < 8 * sample.inst.size; ++bit) {
      if ((mask >> bit & 1) == 0) continue;
      uint8_t bytes[24];
      std::memcpy(bytes, sample.bytes, sizeof(bytes));
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      if (DecodeFast(bytes, sample.isa, &inst) == DecodeError::kOk) {
        EXPECT_NE(inst.form, sample.inst.form) << bit;
      } else {
        ++reserved;
      }
    }
    EXPECT_GE(reserved, 1);
  }
}

}  // namespace
}  // namespace tg::amd
