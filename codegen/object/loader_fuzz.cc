// libFuzzer: any bytes load, or are refused with a status. Loaded code is not run.
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/object/loader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static int external = 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<tg::object::LoadedObject> object =
      tg::object::LoadedObject::Load(bytes, [](absl::string_view) -> void* { return &external; });
  if (object.ok()) (void)object->Symbol("Kernel");
  return 0;
}
