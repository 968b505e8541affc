#include "codegen/interp/renderer.h"

#include <string>

#include "codegen/interp/serialize.h"

namespace tg::interp {
namespace {

class InterpRenderer : public render::Renderer {
 public:
  InterpRenderer() {
    target_.name = "INTERP";
    target_.vector_bytes = 16;
    target_.vector_registers = 16;
    target_.has_threads = true;
    target_.supports = [](ir::DType d) { return !d.IsVoid() && !d.IsWeak(); };
    target_.native_op = [](ir::Op, ir::DType) { return true; };
  }

  const render::Target& target() const override { return target_; }
  absl::StatusOr<std::string> Render(const lower::LinearProgram& program) const override {
    return lower::ProgramToString(program);
  }
  absl::StatusOr<std::string> Compile(const lower::LinearProgram& program) const override {
    return Serialize(program);
  }

 private:
  render::Target target_;
};

}  // namespace

std::unique_ptr<render::Renderer> MakeRenderer() { return std::make_unique<InterpRenderer>(); }

}  // namespace tg::interp
