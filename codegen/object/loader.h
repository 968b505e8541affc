// Loads a relocatable object file (.o) into this process, as a linker would, in memory.
//
//   absl::StatusOr<LoadedObject> object = LoadedObject::Load(bytes, resolver);
//   absl::StatusOr<void*> kernel = object->Symbol("kernel");
//
// Code is never writable and data never executable once Load returns. Unwind tables, notes and
// debug sections are left out: exceptions must not pass through loaded code. Constructors are not
// run; objects with thread-local variables, common symbols or indirect functions are refused.
#ifndef TG_CODEGEN_OBJECT_LOADER_H_
#define TG_CODEGEN_OBJECT_LOADER_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/object/elf.h"

namespace tg::object {

// Address of an external symbol; null when it may not be used. Called during Load only.
using SymbolResolver = absl::FunctionRef<void*(absl::string_view name)>;

class LoadedObject {
 public:
  // The machine that this process runs on.
  static ElfMachine HostMachine();

  // `bytes` need not outlive the call. Errors: InvalidArgument (malformed, or not a relocatable
  // object), Unimplemented (another machine, an unsupported relocation or symbol; says its number),
  // NotFound (names the external symbols that the resolver does not have), OutOfRange (a value that
  // does not fit its field), ResourceExhausted (no memory, or an image over 64 times the size of
  // `bytes` plus 64 MiB).
  static absl::StatusOr<LoadedObject> Load(absl::string_view bytes, SymbolResolver resolver);

  LoadedObject(LoadedObject&& other) noexcept { *this = std::move(other); }
  LoadedObject& operator=(LoadedObject&& other) noexcept;
  // Unmaps the code: nothing may be running in it.
  ~LoadedObject();

  // Address of a defined symbol that is not local. NotFound lists the symbols that there are.
  absl::StatusOr<void*> Symbol(absl::string_view name) const;

  // Bytes of address space that the image takes.
  size_t image_size() const { return image_size_; }

 private:
  LoadedObject() = default;

  void* image_ = nullptr;
  size_t image_size_ = 0;
  absl::flat_hash_map<std::string, void*> symbols_;
};

}  // namespace tg::object

#endif  // TG_CODEGEN_OBJECT_LOADER_H_
