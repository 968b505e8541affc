#ifndef TG_DRIVERS_AMD_PAGE_TABLES_H_
#define TG_DRIVERS_AMD_PAGE_TABLES_H_

// The page tables of an AMD GPU, as far as an observer reads them.
//
// Four levels of 512 entries of 8 bytes; an entry of level 0, 1, 2 and 3 covers 2^39, 2^30, 2^21
// and 2^12 bytes. Bits of an entry: 0 valid, 1 memory of the host, 47:12 the address of a page or
// of the next table. An entry above the last level is a page when bit 54 is set, from GC 12 on bit
// 63; in GC 9 a level 2 entry is one unless bit 56 is set. Source: amdgpu_vm.h in the Linux kernel.

#include <cstdint>

#include "absl/status/statusor.h"
#include "drivers/amd/ip_discovery.h"
#include "drivers/amd/vram_window.h"

namespace tg::amd {

// Bytes of the card's memory that are mapped by the tables below `root`, an address in that memory;
// each mapping counts. `base` is what addresses in tables are higher than addresses in the memory:
// not 0 in groups of cards. OutOfRange: a table lies outside of the memory. ResourceExhausted: more
// tables than can be looked at. Tables may change meanwhile.
absl::StatusOr<uint64_t> MappedVram(VramWindow* vram, IpVersion gc, uint64_t root, uint64_t base);

}  // namespace tg::amd

#endif  // TG_DRIVERS_AMD_PAGE_TABLES_H_
