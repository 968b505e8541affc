#include "codegen/render/testing/run_program.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "codegen/render/cstyle/clang_renderer.h"
#include "codegen/render/llvm/llvm_cpu_renderer.h"

namespace tg::render {

using ir::DType;

GuardedMemory::GuardedMemory(size_t bytes, bool at_start) : size_(bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t inner = (bytes + page - 1) / page * page;
  map_size_ = inner + 2 * page;
  map_ = mmap(nullptr, map_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TG_CHECK(map_ != MAP_FAILED);
  char* first = static_cast<char*>(map_) + page;
  if (inner > 0) TG_CHECK_EQ(mprotect(first, inner, PROT_READ | PROT_WRITE), 0);
  data_ = at_start ? first : first + inner - bytes;
}

GuardedMemory::~GuardedMemory() {
  if (map_ != nullptr) munmap(map_, map_size_);
}

Number ReadElement(const void* memory, DType d, int64_t index) {
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(memory) + index * d.bytes(), d.bytes());
  if (d.IsFloat()) return {.f = ir::DecodeFloat(bits, d)};
  return {.i = ir::WrapToInt(static_cast<int64_t>(bits), d)};
}

void WriteElement(void* memory, DType d, int64_t index, Number n) {
  const uint64_t bits = d.IsFloat() ? ir::EncodeFloat(n.f, d) : static_cast<uint64_t>(n.i);
  std::memcpy(static_cast<char*>(memory) + index * d.bytes(), &bits, d.bytes());
}

bool SameNumber(Number a, Number b, DType d) {
  if (!d.IsFloat()) return a.i == b.i;
  return std::isnan(a.f) || std::isnan(b.f) ? std::isnan(a.f) && std::isnan(b.f) : a.f == b.f;
}

std::string NumberToString(Number n, DType d) {
  if (!d.IsFloat()) return absl::StrCat(n.i);
  char text[64];
  snprintf(text, sizeof(text), "%.17g (%a)", n.f, n.f);
  return text;
}

absl::StatusOr<CompiledProgram> CompiledProgram::Compile(const Renderer& renderer,
                                                         const lower::LinearProgram& program) {
  auto bytes = renderer.Compile(program);
  if (!bytes.ok()) return bytes.status();
  auto object = object::LoadedObject::Load(*bytes, [](absl::string_view name) {
    return dlsym(RTLD_DEFAULT, std::string(name).c_str());
  });
  if (!object.ok()) return object.status();
  auto symbol = object->Symbol(program.name);
  if (!symbol.ok()) return symbol.status();
  CompiledProgram result(*std::move(object));
  result.kernel_ = reinterpret_cast<Kernel>(*symbol);
  result.threads_ = program.threads;
  return result;
}

void CompiledProgram::Run(absl::Span<void* const> buffers, absl::Span<const int64_t> vars) const {
  for (int core = 0; core < threads_; ++core) kernel_(buffers.data(), vars.data(), core);
}

absl::Status RunProgram(const Renderer& renderer, const lower::LinearProgram& program,
                        absl::Span<void* const> buffers, absl::Span<const int64_t> vars) {
  TG_CHECK_EQ(buffers.size(), program.params.size());
  TG_CHECK_EQ(vars.size(), program.variables.size());
  auto compiled = CompiledProgram::Compile(renderer, program);
  if (!compiled.ok()) return compiled.status();
  compiled->Run(buffers, vars);
  return absl::OkStatus();
}

const std::vector<RendererCase>& AllCpuRenderers() {
  static const auto& cases = *new std::vector<RendererCase>{
      {"llvm", MakeLlvmCpuRenderer({.cpu = "", .verify = true})},
      {"clang", MakeClangRenderer()},
  };
  return cases;
}

}  // namespace tg::render
