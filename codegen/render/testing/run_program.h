// Compiles a program with a renderer, loads it and runs it on memory with guard pages.
#ifndef TG_CODEGEN_RENDER_TESTING_RUN_PROGRAM_H_
#define TG_CODEGEN_RENDER_TESTING_RUN_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/ir/dtype.h"
#include "codegen/lower/program.h"
#include "codegen/object/loader.h"
#include "codegen/render/renderer.h"

namespace tg::render {

// Memory for `bytes` between two pages that fault on any access. The last byte lies directly before
// the upper one or, with `at_start`, the first directly after the lower one.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes, bool at_start = false);
  GuardedMemory(GuardedMemory&& o) noexcept { *this = std::move(o); }
  GuardedMemory& operator=(GuardedMemory&& o) noexcept {
    std::swap(map_, o.map_);
    std::swap(map_size_, o.map_size_);
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }
  ~GuardedMemory();

  void* data() const { return data_; }
  size_t size() const { return size_; }
  template <typename T>
  absl::Span<T> as() const {
    return {static_cast<T*>(data_), size_ / sizeof(T)};
  }

 private:
  void* map_ = nullptr;
  size_t map_size_ = 0;
  void* data_ = nullptr;
  size_t size_ = 0;
};

// An element as a number: floats (and only they) in `f`, other kinds in `i` as ir::WrapToInt gives
// it.
struct Number {
  double f = 0;
  int64_t i = 0;
};
Number ReadElement(const void* memory, ir::DType d, int64_t index);
void WriteElement(void* memory, ir::DType d, int64_t index, Number n);
// The same number; all NaNs are the same.
bool SameNumber(Number a, Number b, ir::DType d);
std::string NumberToString(Number n, ir::DType d);

// A program that was compiled by a renderer and loaded. Run goes through its parts in turn; `vars`
// are in the order of the program's variables.
class CompiledProgram {
 public:
  static absl::StatusOr<CompiledProgram> Compile(const Renderer& renderer,
                                                 const lower::LinearProgram& program);
  void Run(absl::Span<void* const> buffers, absl::Span<const int64_t> vars = {}) const;

 private:
  using Kernel = void (*)(void* const*, const int64_t*, int64_t);
  explicit CompiledProgram(object::LoadedObject object) : object_(std::move(object)) {}

  object::LoadedObject object_;
  Kernel kernel_ = nullptr;
  int threads_ = 1;
};

// Compiles and runs it once.
absl::Status RunProgram(const Renderer& renderer, const lower::LinearProgram& program,
                        absl::Span<void* const> buffers, absl::Span<const int64_t> vars = {});

// A renderer under test. Prints as its name.
struct RendererCase {
  const char* name;
  std::shared_ptr<Renderer> renderer;
};
inline std::ostream& operator<<(std::ostream& os, const RendererCase& c) { return os << c.name; }

// Every renderer for CPUs, made once.
const std::vector<RendererCase>& AllCpuRenderers();

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_TESTING_RUN_PROGRAM_H_
