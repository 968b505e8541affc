#include "codegen/object/amd_processor.h"

namespace tg::object {
namespace {

constexpr AmdProcessor kProcessors[] = {
    {"gfx900", 0x2c, AmdFamily::kOther, true, false},
    {"gfx906", 0x2f, AmdFamily::kOther, true, true},
    {"gfx908", 0x30, AmdFamily::kOther, true, true},
    {"gfx90a", 0x3f, AmdFamily::kOther, true, true},
    {"gfx90c", 0x32, AmdFamily::kOther, true, false},
    {"gfx942", 0x4c, AmdFamily::kCdna3, true, true},
    {"gfx950", 0x4f, AmdFamily::kCdna4, true, true},
    {"gfx1010", 0x33, AmdFamily::kOther, true, false},
    {"gfx1030", 0x36, AmdFamily::kOther, false, false},
    {"gfx1031", 0x37, AmdFamily::kOther, false, false},
    {"gfx1032", 0x38, AmdFamily::kOther, false, false},
    {"gfx1100", 0x41, AmdFamily::kRdna3, false, false},
    {"gfx1101", 0x46, AmdFamily::kRdna3, false, false},
    {"gfx1102", 0x47, AmdFamily::kRdna3, false, false},
    {"gfx1103", 0x44, AmdFamily::kRdna3, false, false},
    {"gfx1150", 0x43, AmdFamily::kRdna3, false, false},
    {"gfx1151", 0x4a, AmdFamily::kRdna3, false, false},
    {"gfx1152", 0x55, AmdFamily::kRdna3, false, false},
    {"gfx1153", 0x58, AmdFamily::kRdna3, false, false},
    {"gfx1200", 0x48, AmdFamily::kRdna4, false, false},
    {"gfx1201", 0x4e, AmdFamily::kRdna4, false, false},
    {"gfx1250", 0x49, AmdFamily::kOther, true, false},
};

}  // namespace

absl::Span<const AmdProcessor> AmdProcessors() { return kProcessors; }

const AmdProcessor* FindAmdProcessor(absl::string_view name) {
  for (const AmdProcessor& p : kProcessors) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

const AmdProcessor* FindAmdProcessor(uint8_t number) {
  for (const AmdProcessor& p : kProcessors) {
    if (p.number == number) return &p;
  }
  return nullptr;
}

}  // namespace tg::object
