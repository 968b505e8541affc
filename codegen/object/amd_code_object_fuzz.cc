// libFuzzer: any bytes are an AMD code object, or are refused with a status.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/object/amd_code_object.h"
#include "codegen/object/amd_metadata.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<tg::object::AmdCodeObject> object = tg::object::AmdCodeObject::Read(bytes);
  if (object.ok()) (void)object->Image(4096);
  (void)tg::object::ReadAmdMetadata(bytes);
  (void)tg::object::AmdMetadataFromYaml(bytes);
  return 0;
}
