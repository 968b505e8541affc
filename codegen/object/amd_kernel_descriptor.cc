#include "codegen/object/amd_kernel_descriptor.h"

#include <algorithm>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tg::object {
namespace {

using Description = AmdKernelDescription;
using Descriptor = AmdKernelDescriptor;

enum : uint8_t { kCdna = 1, kRdna3 = 2, kRdna4 = 4, kRdna = kRdna3 | kRdna4, kAll = kCdna | kRdna };

uint8_t FamilyBit(const AmdProcessor& processor) {
  switch (processor.family) {
    case AmdFamily::kCdna3:
    case AmdFamily::kCdna4:
      return kCdna;
    case AmdFamily::kRdna3:
      return kRdna3;
    case AmdFamily::kRdna4:
      return kRdna4;
    case AmdFamily::kOther:
      break;
  }
  return 0;
}

enum class Place : uint8_t {
  kRsrc1,
  kRsrc2,
  kRsrc3,
  kProperties,
  kPreload,
  kWord,      // A field of its own, of 32 bits.
  kComputed,  // MakeAmdKernelDescriptor has the formula.
};

using Member = std::variant<uint32_t Description::*, std::optional<uint32_t> Description::*>;

// Where a value goes: width bits from `shift` on.
struct Row {
  absl::string_view name;
  Member member;
  uint8_t families;
  Place place;
  uint8_t shift = 0;
  uint8_t width = 1;
};

constexpr Row kRows[] = {
    {"group_segment_fixed_size", &Description::group_segment_fixed_size, kAll, Place::kWord, 0, 32},
    {"private_segment_fixed_size", &Description::private_segment_fixed_size, kAll, Place::kWord, 0,
     32},
    {"kernarg_size", &Description::kernarg_size, kAll, Place::kWord, 0, 32},
    {"next_free_vgpr", &Description::next_free_vgpr, kAll, Place::kComputed, 0, 16},
    {"accum_offset", &Description::accum_offset, kCdna, Place::kComputed, 0, 16},
    {"next_free_sgpr", &Description::next_free_sgpr, kAll, Place::kComputed, 0, 16},
    {"reserve_vcc", &Description::reserve_vcc, kAll, Place::kComputed},
    {"reserve_xnack_mask", &Description::reserve_xnack_mask, kCdna, Place::kComputed},
    {"float_round_mode_32", &Description::float_round_mode_32, kAll, Place::kRsrc1, 12, 2},
    {"float_round_mode_16_64", &Description::float_round_mode_16_64, kAll, Place::kRsrc1, 14, 2},
    {"float_denorm_mode_32", &Description::float_denorm_mode_32, kAll, Place::kRsrc1, 16, 2},
    {"float_denorm_mode_16_64", &Description::float_denorm_mode_16_64, kAll, Place::kRsrc1, 18, 2},
    {"dx10_clamp", &Description::dx10_clamp, kCdna | kRdna3, Place::kRsrc1, 21},
    {"round_robin_scheduling", &Description::round_robin_scheduling, kRdna4, Place::kRsrc1, 21},
    {"ieee_mode", &Description::ieee_mode, kCdna | kRdna3, Place::kRsrc1, 23},
    {"fp16_overflow", &Description::fp16_overflow, kAll, Place::kRsrc1, 26},
    {"workgroup_processor_mode", &Description::workgroup_processor_mode, kRdna, Place::kRsrc1, 29},
    {"memory_ordered", &Description::memory_ordered, kRdna, Place::kRsrc1, 30},
    {"forward_progress", &Description::forward_progress, kRdna, Place::kRsrc1, 31},
    {"enable_private_segment", &Description::enable_private_segment, kAll, Place::kRsrc2, 0},
    {"user_sgpr_count", &Description::user_sgpr_count, kAll, Place::kComputed, 1, 5},
    {"system_sgpr_workgroup_id_x", &Description::system_sgpr_workgroup_id_x, kAll, Place::kRsrc2,
     7},
    {"system_sgpr_workgroup_id_y", &Description::system_sgpr_workgroup_id_y, kAll, Place::kRsrc2,
     8},
    {"system_sgpr_workgroup_id_z", &Description::system_sgpr_workgroup_id_z, kAll, Place::kRsrc2,
     9},
    {"system_sgpr_workgroup_info", &Description::system_sgpr_workgroup_info, kAll, Place::kRsrc2,
     10},
    {"system_vgpr_workitem_id", &Description::system_vgpr_workitem_id, kAll, Place::kRsrc2, 11, 2},
    {"exception_fp_ieee_invalid_op", &Description::exception_fp_ieee_invalid_op, kAll,
     Place::kRsrc2, 24},
    {"exception_fp_denorm_src", &Description::exception_fp_denorm_src, kAll, Place::kRsrc2, 25},
    {"exception_fp_ieee_div_zero", &Description::exception_fp_ieee_div_zero, kAll, Place::kRsrc2,
     26},
    {"exception_fp_ieee_overflow", &Description::exception_fp_ieee_overflow, kAll, Place::kRsrc2,
     27},
    {"exception_fp_ieee_underflow", &Description::exception_fp_ieee_underflow, kAll, Place::kRsrc2,
     28},
    {"exception_fp_ieee_inexact", &Description::exception_fp_ieee_inexact, kAll, Place::kRsrc2, 29},
    {"exception_int_div_zero", &Description::exception_int_div_zero, kAll, Place::kRsrc2, 30},
    {"tg_split", &Description::tg_split, kCdna, Place::kRsrc3, 16},
    {"shared_vgpr_count", &Description::shared_vgpr_count, kRdna3, Place::kRsrc3, 0, 4},
    {"inst_pref_size", &Description::inst_pref_size, kRdna3, Place::kRsrc3, 4, 6},
    {"inst_pref_size", &Description::inst_pref_size, kRdna4, Place::kRsrc3, 4, 8},
    {"user_sgpr_dispatch_ptr", &Description::user_sgpr_dispatch_ptr, kAll, Place::kProperties, 1},
    {"user_sgpr_queue_ptr", &Description::user_sgpr_queue_ptr, kAll, Place::kProperties, 2},
    {"user_sgpr_kernarg_segment_ptr", &Description::user_sgpr_kernarg_segment_ptr, kAll,
     Place::kProperties, 3},
    {"user_sgpr_dispatch_id", &Description::user_sgpr_dispatch_id, kAll, Place::kProperties, 4},
    {"user_sgpr_private_segment_size", &Description::user_sgpr_private_segment_size, kAll,
     Place::kProperties, 6},
    {"wavefront_size32", &Description::wavefront_size32, kRdna, Place::kComputed, 10},
    {"uses_dynamic_stack", &Description::uses_dynamic_stack, kAll, Place::kProperties, 11},
    {"user_sgpr_kernarg_preload_length", &Description::user_sgpr_kernarg_preload_length, kCdna,
     Place::kPreload, 0, 7},
    {"user_sgpr_kernarg_preload_offset", &Description::user_sgpr_kernarg_preload_offset, kCdna,
     Place::kPreload, 7, 9},
};

constexpr uint64_t MaxOf(int width) { return (uint64_t{1} << width) - 1; }

std::optional<uint32_t> Get(const Member& member, const Description& description) {
  return std::visit([&](auto m) -> std::optional<uint32_t> { return description.*m; }, member);
}

uint64_t Field(const Descriptor& d, Place place, int shift, int width) {
  uint64_t word = 0;
  switch (place) {
    case Place::kRsrc1:
      word = d.compute_pgm_rsrc1;
      break;
    case Place::kRsrc2:
      word = d.compute_pgm_rsrc2;
      break;
    case Place::kRsrc3:
      word = d.compute_pgm_rsrc3;
      break;
    case Place::kProperties:
      word = d.kernel_code_properties;
      break;
    case Place::kPreload:
      word = d.kernarg_preload;
      break;
    case Place::kWord:
    case Place::kComputed:
      break;
  }
  return word >> shift & MaxOf(width);
}

void Put(Place place, int shift, uint32_t value, Descriptor* d) {
  switch (place) {
    case Place::kRsrc1:
      d->compute_pgm_rsrc1 |= value << shift;
      break;
    case Place::kRsrc2:
      d->compute_pgm_rsrc2 |= value << shift;
      break;
    case Place::kRsrc3:
      d->compute_pgm_rsrc3 |= value << shift;
      break;
    case Place::kProperties:
      d->kernel_code_properties |= static_cast<uint16_t>(value << shift);
      break;
    case Place::kPreload:
      d->kernarg_preload |= static_cast<uint16_t>(value << shift);
      break;
    case Place::kWord:
    case Place::kComputed:
      break;
  }
}

absl::Status TooLarge(absl::string_view name, uint64_t value, uint64_t limit) {
  return absl::OutOfRangeError(
      absl::StrCat(name, " is ", value, "; the largest possible value is ", limit));
}

// SGPRs that are allocated beyond those a kernel numbers itself (CDNA): VCC, the XNACK mask and
// the flat scratch address come after them, and having a later one implies the earlier ones. CDNA3
// and later always have the flat scratch address.
constexpr uint32_t kExtraSgprs = 6;
constexpr uint32_t kSgprGranule = 8;

uint32_t ImpliedUserSgprs(const Description& d) {
  return 2 * d.user_sgpr_dispatch_ptr + 2 * d.user_sgpr_queue_ptr +
         2 * d.user_sgpr_kernarg_segment_ptr + 2 * d.user_sgpr_dispatch_id +
         d.user_sgpr_private_segment_size + d.user_sgpr_kernarg_preload_length;
}

uint32_t Granules(uint32_t count, uint32_t granule) {
  return (std::max(count, 1u) + granule - 1) / granule - 1;
}

absl::Status SetRegisterCounts(const AmdProcessor& processor, const Description& in, bool wave32,
                               Descriptor* d) {
  if (in.next_free_vgpr > static_cast<uint32_t>(processor.MaxVgprs())) {
    return TooLarge("next_free_vgpr", in.next_free_vgpr, processor.MaxVgprs());
  }
  Put(Place::kRsrc1, 0, Granules(in.next_free_vgpr, processor.VgprGranule(wave32)), d);
  if (in.next_free_sgpr > static_cast<uint32_t>(processor.MaxSgprs())) {
    return TooLarge("next_free_sgpr", in.next_free_sgpr, processor.MaxSgprs());
  }
  if (!processor.is_cdna()) return absl::OkStatus();  // RDNA always allocates all scalar registers.
  Put(Place::kRsrc1, 6, Granules(in.next_free_sgpr + kExtraSgprs, kSgprGranule), d);
  const uint32_t offset = in.accum_offset;
  if (offset < 4 || offset > 256 || offset % 4 != 0) {
    return absl::OutOfRangeError(
        absl::StrCat("accum_offset is ", offset, "; it must be a multiple of 4 from 4 to 256"));
  }
  if (offset > ((std::max(in.next_free_vgpr, 1u) + 3) & ~3u)) {
    return absl::InvalidArgumentError(absl::StrCat("accum_offset is ", offset,
                                                   ", beyond all registers: next_free_vgpr is ",
                                                   in.next_free_vgpr));
  }
  Put(Place::kRsrc3, 0, offset / 4 - 1, d);
  return absl::OkStatus();
}

}  // namespace

absl::Status SetAmdKernelValue(const AmdProcessor& processor, absl::string_view name,
                               uint64_t value, AmdKernelDescription* description) {
  const uint8_t family = FamilyBit(processor);
  bool elsewhere = false;
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    elsewhere = true;
    if ((row.families & family) == 0) continue;
    if (value > MaxOf(row.width)) return TooLarge(name, value, MaxOf(row.width));
    std::visit([&](auto m) { description->*m = static_cast<uint32_t>(value); }, row.member);
    return absl::OkStatus();
  }
  return absl::NotFoundError(elsewhere ? absl::StrCat(processor.name, " has no ", name)
                                       : absl::StrCat("no value is called ", name));
}

absl::StatusOr<AmdKernelDescriptor> MakeAmdKernelDescriptor(
    const AmdProcessor& processor, const AmdKernelDescription& description) {
  const uint8_t family = FamilyBit(processor);
  if (family == 0) {
    return absl::UnimplementedError(
        absl::StrCat("kernel descriptors of ", processor.name, " are not supported"));
  }
  Descriptor d;
  d.group_segment_fixed_size = description.group_segment_fixed_size;
  d.private_segment_fixed_size = description.private_segment_fixed_size;
  d.kernarg_size = description.kernarg_size;
  for (const Row& row : kRows) {
    const std::optional<uint32_t> value = Get(row.member, description);
    if ((row.families & family) == 0) {
      const auto same = [&](const Row& other) {
        return other.name == row.name && (other.families & family) != 0;
      };
      if (value != Get(row.member, Description()) &&
          std::none_of(std::begin(kRows), std::end(kRows), same)) {
        return absl::InvalidArgumentError(absl::StrCat(processor.name, " has no ", row.name));
      }
      continue;
    }
    if (value.has_value() && *value > MaxOf(row.width)) {
      return TooLarge(row.name, *value, MaxOf(row.width));
    }
    if (row.place != Place::kComputed) Put(row.place, row.shift, value.value_or(0), &d);
  }
  const bool wave32 = processor.is_rdna() && description.wavefront_size32.value_or(1) != 0;
  Put(Place::kProperties, 10, wave32 ? 1 : 0, &d);
  if (absl::Status status = SetRegisterCounts(processor, description, wave32, &d); !status.ok()) {
    return status;
  }
  const uint64_t preload_end = uint64_t{4} * (description.user_sgpr_kernarg_preload_length +
                                              description.user_sgpr_kernarg_preload_offset);
  if (preload_end > description.kernarg_size) {
    return absl::InvalidArgumentError(absl::StrCat("kernarg_size is ", description.kernarg_size,
                                                   ", but preloading reads up to ", preload_end));
  }
  const uint32_t implied = ImpliedUserSgprs(description);
  const uint32_t users = description.user_sgpr_count.value_or(implied);
  if (users < implied) {
    return absl::InvalidArgumentError(
        absl::StrCat("user_sgpr_count is ", users, ", but the values asked for take ", implied));
  }
  constexpr uint32_t kMaxUserSgprs = 16;
  if (users > kMaxUserSgprs) return TooLarge("user_sgpr_count", users, kMaxUserSgprs);
  Put(Place::kRsrc2, 1, users, &d);
  return d;
}

std::vector<std::pair<absl::string_view, uint64_t>> AmdKernelValues(
    const AmdProcessor& processor, const AmdKernelDescriptor& descriptor) {
  std::vector<std::pair<absl::string_view, uint64_t>> values = {
      {"group_segment_fixed_size", descriptor.group_segment_fixed_size},
      {"private_segment_fixed_size", descriptor.private_segment_fixed_size},
      {"kernarg_size", descriptor.kernarg_size}};
  const uint8_t family = FamilyBit(processor);
  if (family == 0) return values;
  const bool wave32 = Field(descriptor, Place::kProperties, 10, 1) != 0;
  values.emplace_back("vgprs",
                      (Field(descriptor, Place::kRsrc1, 0, 6) + 1) * processor.VgprGranule(wave32));
  if (processor.is_cdna()) {
    values.emplace_back("accum_offset", (Field(descriptor, Place::kRsrc3, 0, 6) + 1) * 4);
    values.emplace_back("sgprs", (Field(descriptor, Place::kRsrc1, 6, 4) + 1) * kSgprGranule);
  }
  values.emplace_back("user_sgpr_count", Field(descriptor, Place::kRsrc2, 1, 5));
  if (processor.is_rdna()) values.emplace_back("wavefront_size32", wave32 ? 1 : 0);
  for (const Row& row : kRows) {
    if ((row.families & family) == 0) continue;
    if (row.place == Place::kComputed || row.place == Place::kWord) continue;
    values.emplace_back(row.name, Field(descriptor, row.place, row.shift, row.width));
  }
  return values;
}

}  // namespace tg::object
