// A file as a device: its bytes are copied from and to, never computed on.
//
//   DISK:/data/weights.bin      a file, or a block device
//   DISK:shm:name               the shared memory object /dev/shm/name
//
// An allocation is the file's first `size` bytes; take parts of it with Buffer::View. Allocating
// neither creates nor changes a file. Reads beyond the file's end are errors. The first write
// creates the file, and extends it to the allocation's size. A file that may not be written is
// opened for reading, and then a write is an error. All errors name the path. AllocOptions have no
// meaning here.
//
// The host pointer is a shared mapping of the file, present when the file is as long as the
// allocation; writes through it reach a file that may be written and stay private to the process
// otherwise. Should somebody shorten the file meanwhile, touching what is gone raises SIGBUS: for
// files that others may change use copies, which report it as an error.
#ifndef TG_DRIVERS_DISK_DISK_DEVICE_H_
#define TG_DRIVERS_DISK_DISK_DEVICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drivers/runtime/device.h"

namespace tg::drivers {

// `path` as after `DISK:`. Does not touch the file. InvalidArgument for an empty path.
absl::StatusOr<std::shared_ptr<Device>> MakeDiskDevice(absl::string_view path);

}  // namespace tg::drivers

#endif  // TG_DRIVERS_DISK_DISK_DEVICE_H_
