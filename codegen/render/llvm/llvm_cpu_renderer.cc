#include "codegen/render/llvm/llvm_cpu_renderer.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/render/cpu_native_ops.h"
#include "codegen/render/llvm/emit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

namespace tg::render {
namespace {

using ir::DType;
using ir::ScalarType;

bool Computes(DType d) {
  return !d.IsVoid() && !d.IsWeak() && !d.IsFp8() && d.scalar() != ScalarType::kBFloat16;
}
bool SupportsWithHalf(DType d) { return Computes(d); }
bool SupportsWithoutHalf(DType d) { return Computes(d) && d.scalar() != ScalarType::kFloat16; }

void InitializeLlvm() {
  [[maybe_unused]] static const bool once = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
}

std::string ToStd(llvm::Error error) { return llvm::toString(std::move(error)); }

class LlvmCpuRenderer : public Renderer {
 public:
  explicit LlvmCpuRenderer(const LlvmCpuOptions& options) : verify_(options.verify) {
    InitializeLlvm();
    triple_ = llvm::Triple(llvm::sys::getProcessTriple());
    cpu_ = options.cpu.empty() ? llvm::sys::getHostCPUName().str() : options.cpu;
    if (options.cpu.empty()) {
      std::vector<std::string> features;
      for (const auto& f : llvm::sys::getHostCPUFeatures()) {
        features.push_back(absl::StrCat(f.second ? "+" : "-", f.first().str()));
      }
      std::sort(features.begin(), features.end());
      for (const std::string& f : features) {
        absl::StrAppend(&features_, features_.empty() ? "" : ",", f);
      }
    }
    target_.name = absl::StrCat("CPU:LLVM:", triple_.getArchName().str(), ":", cpu_);
    // A virtual machine may lack features that its processor's name implies.
    if (!features_.empty()) {
      uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
      for (const char c : features_) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
      absl::StrAppend(&target_.name, ":", absl::Hex(hash, absl::kZeroPad16));
    }
    target_.supports = SupportsWithoutHalf;
    target_.native_op = CpuNativeWithoutFma;
    if (auto machine = TakeMachine(); machine.ok()) {
      DescribeTarget(**machine);
      ReturnMachine(*std::move(machine));
    }
  }

  const Target& target() const override { return target_; }

  absl::StatusOr<std::string> Render(const lower::LinearProgram& program) const override {
    llvm::LLVMContext context;
    auto machine = TakeMachine();
    if (!machine.ok()) return machine.status();
    auto module = MakeModule(program, context, **machine);
    ReturnMachine(*std::move(machine));
    if (!module.ok()) return module.status();
    std::string text;
    llvm::raw_string_ostream(text) << **module;
    return text;
  }

  absl::StatusOr<std::string> Compile(const lower::LinearProgram& program) const override {
    llvm::LLVMContext context;
    auto machine = TakeMachine();
    if (!machine.ok()) return machine.status();
    auto module = MakeModule(program, context, **machine);
    if (!module.ok()) return module.status();
    Optimize(**module, **machine);
    llvm::orc::SimpleCompiler compiler(**machine);
    auto object = compiler(**module);
    ReturnMachine(*std::move(machine));
    if (!object) {
      return absl::InternalError(
          absl::StrCat("CPU:LLVM: ", program.name, ": ", ToStd(object.takeError())));
    }
    return (*object)->getBuffer().str();
  }

  absl::StatusOr<std::string> Assembly(const lower::LinearProgram& program) const {
    llvm::LLVMContext context;
    auto machine = TakeMachine();
    if (!machine.ok()) return machine.status();
    auto module = MakeModule(program, context, **machine);
    if (!module.ok()) return module.status();
    Optimize(**module, **machine);
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream stream(text);
    llvm::legacy::PassManager passes;
    if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                        llvm::CodeGenFileType::AssemblyFile)) {
      return absl::UnimplementedError("CPU:LLVM: this target prints no assembly");
    }
    passes.run(**module);
    ReturnMachine(*std::move(machine));
    return text.str().str();
  }

 private:
  using Machine = std::unique_ptr<llvm::TargetMachine>;

  // A target machine serves one compilation at a time; making one takes a while.
  absl::StatusOr<Machine> TakeMachine() const {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        Machine machine = std::move(idle_.back());
        idle_.pop_back();
        return machine;
      }
    }
    llvm::orc::JITTargetMachineBuilder builder(triple_);
    builder.setCPU(cpu_);
    builder.addFeatures(llvm::SubtargetFeatures(features_).getFeatures());
    builder.setRelocationModel(llvm::Reloc::PIC_);
    builder.setCodeModel(llvm::CodeModel::Small);
    builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
    auto machine = builder.createTargetMachine();
    if (!machine) {
      return absl::InternalError(absl::StrCat("CPU:LLVM: ", ToStd(machine.takeError())));
    }
    if (!(*machine)->getMCSubtargetInfo()->isCPUStringValid(cpu_)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "CPU:LLVM: LLVM knows no ", triple_.getArchName().str(), " processor '", cpu_, "'"));
    }
    return std::move(*machine);
  }

  void ReturnMachine(Machine machine) const {
    std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(machine));
  }

  void DescribeTarget(const llvm::TargetMachine& machine) {
    const llvm::MCSubtargetInfo& info = *machine.getMCSubtargetInfo();
    bool has_half = false;
    bool has_fma = true;
    if (triple_.isX86()) {
      const bool avx512 = info.checkFeatures("+avx512f,+avx512vl,+avx512bw,+avx512dq");
      target_.vector_bytes = avx512 ? 64 : info.checkFeatures("+avx2") ? 32 : 16;
      target_.vector_registers = avx512 ? 32 : 16;
      has_half = info.checkFeatures("+avx512fp16");
      has_fma = info.checkFeatures("+fma");
    } else if (triple_.isAArch64()) {
      target_.vector_registers = 32;
      has_half = info.checkFeatures("+fullfp16");
    }
    target_.supports = has_half ? SupportsWithHalf : SupportsWithoutHalf;
    target_.native_op = has_fma ? CpuNativeWithFma : CpuNativeWithoutFma;
  }

  absl::StatusOr<std::unique_ptr<llvm::Module>> MakeModule(const lower::LinearProgram& program,
                                                           llvm::LLVMContext& context,
                                                           llvm::TargetMachine& machine) const {
    auto module = std::make_unique<llvm::Module>(program.name, context);
    module->setTargetTriple(triple_);
    module->setDataLayout(machine.createDataLayout());
    module->setPICLevel(llvm::PICLevel::BigPIC);
    if (absl::Status s = EmitProgram(program, *module); !s.ok()) return s;
    const std::string width = absl::StrCat(target_.vector_bytes * 8);
    for (llvm::Function& f : *module) {
      if (f.isDeclaration()) continue;
      f.addFnAttr("target-cpu", cpu_);
      if (!features_.empty()) f.addFnAttr("target-features", features_);
      // Without these LLVM splits 512-bit vectors on processors that it thinks clock down for them.
      f.addFnAttr("prefer-vector-width", width);
      f.addFnAttr("min-legal-vector-width", width);
    }
    if (verify_) {
      std::string why;
      llvm::raw_string_ostream stream(why);
      if (llvm::verifyModule(*module, &stream)) {
        return absl::InternalError(
            absl::StrCat("CPU:LLVM: ", program.name, ": invalid module: ", why));
      }
    }
    return module;
  }

  // What hand-made kernels need: accumulators into registers, constants and addresses simplified,
  // invariants out of loops. Strength reduction of addresses is part of code generation.
  static void Optimize(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::LoopAnalysisManager loop_analyses;
    llvm::FunctionAnalysisManager function_analyses;
    llvm::CGSCCAnalysisManager cgscc_analyses;
    llvm::ModuleAnalysisManager module_analyses;
    llvm::PassBuilder builder(&machine);
    builder.registerModuleAnalyses(module_analyses);
    builder.registerCGSCCAnalyses(cgscc_analyses);
    builder.registerFunctionAnalyses(function_analyses);
    builder.registerLoopAnalyses(loop_analyses);
    builder.crossRegisterProxies(loop_analyses, function_analyses, cgscc_analyses, module_analyses);
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    passes.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                         /*UseMemorySSA=*/true));
    passes.addPass(llvm::SimplifyCFGPass());
    for (llvm::Function& f : module) {
      if (!f.isDeclaration()) passes.run(f, function_analyses);
    }
  }

  const bool verify_;
  llvm::Triple triple_;
  std::string cpu_;
  std::string features_;
  Target target_;
  mutable std::mutex mutex_;
  mutable std::vector<Machine> idle_;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<Renderer> MakeLlvmCpuRenderer(const LlvmCpuOptions& options) {
  return std::make_unique<LlvmCpuRenderer>(options);
}

absl::StatusOr<std::string> LlvmAssembly(const Renderer& renderer,
                                         const lower::LinearProgram& program) {
  return static_cast<const LlvmCpuRenderer&>(renderer).Assembly(program);
}

}  // namespace tg::render
