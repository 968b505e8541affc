// Memory of the process through addresses that may be wrong, as a kernel reads and writes it.
#ifndef TG_DRIVERS_SIM_AMD_KFD_USER_MEMORY_H_
#define TG_DRIVERS_SIM_AMD_KFD_USER_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace tg::amd::sim {

// 0, or -EFAULT when not all of it is mapped (what came before may have been copied).
int CopyFromUser(void* to, uint64_t from, size_t size);
int CopyToUser(uint64_t to, const void* from, size_t size);
// 0 when each page of the range can be read; -EFAULT. 1 GiB takes about 0.1 s.
int CheckUserRange(uint64_t address, uint64_t size);

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_KFD_USER_MEMORY_H_
