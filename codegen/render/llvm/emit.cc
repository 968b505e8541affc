#include "codegen/render/llvm/emit.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "codegen/render/llvm/arith.h"
#include "codegen/render/llvm/convert.h"
#include "codegen/render/registers.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"

namespace tg::render {
namespace {

using ir::AddrSpace;
using ir::AxisType;
using ir::DType;
using ir::Op;
using ir::UOp;
using llvm::BasicBlock;
using llvm::Type;
using llvm::Value;

// A piece of a register buffer and the alloca that it is.
struct RegisterStorage {
  RegisterPiece piece;
  llvm::AllocaInst* storage;
};

struct Memory {
  DType dtype;                             // of an element
  int slot = -1;                           // of a parameter
  Value* base = nullptr;                   // parameters and local buffers
  std::vector<RegisterStorage> registers;  // register buffers
};

// A loop or kIf that is open.
struct Scope {
  UOp opener;
  llvm::PHINode* counter = nullptr;
  Value* limit = nullptr;
  BasicBlock* body = nullptr;
  BasicBlock* exit = nullptr;
};

class Emitter {
 public:
  Emitter(const lower::LinearProgram& program, llvm::Module& module)
      : program_(program), context_(module.getContext()), module_(module), b_(context_) {
    llvm::FastMathFlags flags;
    flags.setAllowContract(true);
    b_.setFastMathFlags(flags);
  }

  absl::Status Run();

 private:
  absl::Status Unsupported(const UOp& u) const;
  absl::Status Broken(const UOp& u, absl::string_view why) const;

  void OpenFunction();
  absl::Status DeclareMemory();
  absl::Status DeclareRegisters(const UOp& buffer);
  void MakeAliasScopes();

  absl::Status Emit(const UOp& u);
  absl::Status EmitConst(const UOp& u);
  absl::Status EmitVariable(const UOp& u);
  absl::Status EmitRange(const UOp& u);
  absl::Status EmitEnd(const UOp& u);
  absl::Status EmitIf(const UOp& u);
  absl::Status EmitEndIf(const UOp& u);
  absl::Status EmitStack(const UOp& u);
  absl::Status EmitReduce(const UOp& u);
  absl::Status EmitLoad(const UOp& u);
  absl::Status EmitStore(const UOp& u);
  absl::Status EmitElementwise(const UOp& u);

  Value* Get(const UOp& u) const {
    auto it = values_.find(u.id());
    return it == values_.end() ? nullptr : it->second;
  }
  void Set(const UOp& u, Value* v) { values_[u.id()] = v; }
  // An integer value in 64 bits.
  Value* Wide(const UOp& u);
  // Where an access with a scalar index goes.
  Value* Address(const Memory& memory, const UOp& index);
  Value* VectorAddress(const Memory& memory, const UOp& index);
  void MarkAlias(const Memory& memory, llvm::Instruction* access) const;
  llvm::AllocaInst* EntryAlloca(Type* type, const char* name, uint64_t align);
  // Where a load with a gate and a scalar index goes: to memory, or to zeros where it is shut off.
  Value* GatedAddress(const Memory& memory, const UOp& index, const UOp& gate, int lanes);
  // `bytes` zeros or more.
  Value* Zeros(uint64_t bytes);
  // How many of the open scopes `u` depends on: up to the innermost of them.
  int Depth(const UOp& u) const;

  // Parts of a kIndex.
  struct Access {
    Memory* memory;
    UOp index;
    UOp gate;  // null: always
  };
  absl::Status Decode(const UOp& access_op, Access* out);

  const lower::LinearProgram& program_;
  llvm::LLVMContext& context_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  BasicBlock* entry_ = nullptr;
  absl::flat_hash_map<const void*, Value*> values_;
  absl::flat_hash_map<const void*, Value*> wide_;  // 64-bit twins of int32 values
  absl::flat_hash_map<const void*, Memory> memory_;
  absl::flat_hash_map<std::string, Value*> variable_value_;  // 64 bits each
  std::vector<llvm::MDNode*> alias_scope_;                   // by slot
  std::vector<llvm::MDNode*> no_alias_;
  std::vector<Scope> scopes_;
  llvm::AllocaInst* zeros_ = nullptr;
  uint64_t zero_bytes_ = 0;
};

absl::Status Emitter::Unsupported(const UOp& u) const {
  std::string types;
  for (const UOp& s : u.src())
    absl::StrAppend(&types, types.empty() ? "" : ", ", s.dtype().ToString());
  return absl::UnimplementedError(absl::StrCat("CPU:LLVM: ", program_.name, ": no form for ",
                                               ir::OpName(u.op()), " of ", u.dtype().ToString(),
                                               "(", types, ")"));
}

absl::Status Emitter::Broken(const UOp& u, absl::string_view why) const {
  return absl::InternalError(absl::StrCat("CPU:LLVM: ", program_.name, ": ", ir::OpName(u.op()),
                                          " of ", u.dtype().ToString(), ": ", why));
}

llvm::AllocaInst* Emitter::EntryAlloca(Type* type, const char* name, uint64_t align) {
  llvm::IRBuilder<> entry(entry_, entry_->begin());
  llvm::AllocaInst* storage = entry.CreateAlloca(type, nullptr, name);
  if (align != 0) storage->setAlignment(llvm::Align(align));
  return storage;
}

void Emitter::OpenFunction() {
  Type* pointer = b_.getPtrTy();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, b_.getInt64Ty()}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, program_.name, module_);
  function_->setDoesNotThrow();
  function_->addFnAttr("no-trapping-math", "true");
  const char* names[] = {"buffers", "vars", "core_id"};
  for (int i = 0; i < 3; ++i) {
    function_->getArg(i)->setName(names[i]);
    if (i == 2) continue;
    for (auto attribute : {llvm::Attribute::NoAlias, llvm::Attribute::ReadOnly}) {
      function_->addParamAttr(i, attribute);
    }
  }
  entry_ = BasicBlock::Create(context_, "entry", function_);
  b_.SetInsertPoint(entry_);
}

void Emitter::MakeAliasScopes() {
  llvm::MDBuilder md(context_);
  llvm::MDNode* domain = md.createAnonymousAliasScopeDomain(program_.name);
  const int count = static_cast<int>(program_.params.size());
  std::vector<llvm::Metadata*> scopes(count);
  for (int i = 0; i < count; ++i) {
    scopes[i] = md.createAnonymousAliasScope(domain, absl::StrCat("data", i));
  }
  for (int i = 0; i < count; ++i) {
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + i);
    alias_scope_.push_back(llvm::MDNode::get(context_, scopes[i]));
    no_alias_.push_back(llvm::MDNode::get(context_, others));
  }
}

void Emitter::MarkAlias(const Memory& memory, llvm::Instruction* access) const {
  if (memory.slot < 0) return;
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, alias_scope_[memory.slot]);
  access->setMetadata(llvm::LLVMContext::MD_noalias, no_alias_[memory.slot]);
}

absl::Status Emitter::DeclareMemory() {
  MakeAliasScopes();
  int64_t local_bytes = 0;
  for (const UOp& u : program_.ops) {
    if (u.Is(Op::kParam)) {
      const int slot = u.arg_as<ir::ParamArg>().slot;
      if (slot < 0 || slot >= static_cast<int>(program_.params.size())) {
        return Broken(u, absl::StrCat("slot ", slot, " of ", program_.params.size()));
      }
      Memory& m = memory_[u.id()];
      m.dtype = u.dtype().Scalar();
      m.slot = slot;
      Value* place = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), function_->getArg(0), slot);
      m.base = b_.CreateLoad(b_.getPtrTy(), place, absl::StrCat("data", slot));
    } else if (u.Is(Op::kBuffer)) {
      const ir::BufferArg& arg = u.arg_as<ir::BufferArg>();
      if (arg.space == AddrSpace::kGlobal) return Unsupported(u);
      if (arg.space == AddrSpace::kReg) {
        if (absl::Status s = DeclareRegisters(u); !s.ok()) return s;
        continue;
      }
      local_bytes += arg.size * u.dtype().bytes();
      if (arg.size < 0 || arg.size > kMaxLocalBytes || local_bytes > kMaxLocalBytes) {
        return absl::ResourceExhaustedError(absl::StrCat("CPU:LLVM: ", program_.name,
                                                         ": local buffers of more than ",
                                                         kMaxLocalBytes, " bytes"));
      }
      Memory& m = memory_[u.id()];
      m.dtype = u.dtype().Scalar();
      Type* type = llvm::ArrayType::get(MemoryType(context_, m.dtype), arg.size);
      m.base = EntryAlloca(type, "local", 64);
    }
  }
  return absl::OkStatus();
}

absl::Status Emitter::DeclareRegisters(const UOp& buffer) {
  auto pieces = FindRegisterPieces(program_, buffer);
  if (!pieces.ok()) return pieces.status();
  Memory& m = memory_[buffer.id()];
  m.dtype = buffer.dtype().Scalar();
  for (const RegisterPiece& p : *pieces) {
    const int64_t length = p.end - p.begin;
    Type* type = p.exact ? MemoryType(context_, m.dtype.Vec(static_cast<int>(length)))
                         : llvm::ArrayType::get(MemoryType(context_, m.dtype), length);
    m.registers.push_back({p, EntryAlloca(type, "acc", 0)});
  }
  return absl::OkStatus();
}

Value* Emitter::Zeros(uint64_t bytes) {
  // The size is set when all that is needed is known (Run).
  if (zeros_ == nullptr) zeros_ = EntryAlloca(b_.getInt8Ty(), "zeros", 64);
  zero_bytes_ = std::max(zero_bytes_, bytes);
  return zeros_;
}

int Emitter::Depth(const UOp& u) const {
  int depth = static_cast<int>(scopes_.size());
  while (depth > 0 && !u.DependsOnRange(scopes_[depth - 1].opener)) --depth;
  return depth;
}

// The index is a sum. Terms that change in loops in which the gate does not are left to the
// address; the choice is between the memory at the other terms and as many zeros as the first can
// span. So that choice leaves those loops, and the loads in them are plain.
Value* Emitter::GatedAddress(const Memory& memory, const UOp& index, const UOp& gate, int lanes) {
  constexpr int64_t kMaxZeros = 4096;  // elements
  constexpr int64_t kStep = 1024;      // negative offsets are rounded to this: few different bases
  const int depth = Depth(gate);
  std::vector<UOp> stack = {index}, outer, inner;
  while (!stack.empty()) {
    const UOp u = stack.back();
    stack.pop_back();
    if (u.Is(Op::kAdd) && CannotWrap(u)) {
      stack.push_back(u.src(1));
      stack.push_back(u.src(0));
    } else {
      (u.IsConst() || Depth(u) > depth ? inner : outer).push_back(u);
    }
  }
  int64_t min = 0, max = lanes;
  for (const UOp& u : inner) {
    if (u.vmin() < -kMaxZeros || u.vmax() > kMaxZeros) {
      outer.insert(outer.end(), inner.begin(), inner.end());
      inner.clear();
      min = 0, max = lanes;
      break;
    }
    min += u.vmin();
    max += u.vmax();
  }
  const int64_t shift = min < 0 ? (min - kStep + 1) / kStep * kStep : 0;
  if (max - shift > kMaxZeros) {
    outer.insert(outer.end(), inner.begin(), inner.end());
    inner.clear();
  }
  auto sum = [&](const std::vector<UOp>& terms, int64_t constant) {
    Value* v = nullptr;
    for (const UOp& u : terms) {
      if (u.IsConst()) {
        constant += u.const_int();
      } else {
        v = v == nullptr ? Wide(u) : b_.CreateAdd(v, Wide(u));
      }
    }
    if (v == nullptr) return static_cast<Value*>(b_.getInt64(constant));
    return constant == 0 ? v : b_.CreateAdd(v, b_.getInt64(constant));
  };
  Type* element = MemoryType(context_, memory.dtype);
  const int64_t from = inner.empty() ? 0 : shift;
  const uint64_t span = static_cast<uint64_t>(inner.empty() ? lanes : max - shift);
  Value* base = b_.CreateSelect(Get(gate), b_.CreateGEP(element, memory.base, sum(outer, from)),
                                Zeros(span * static_cast<uint64_t>(memory.dtype.bytes())));
  return inner.empty() ? base : b_.CreateGEP(element, base, sum(inner, -from));
}

Value* Emitter::Wide(const UOp& u) {
  if (auto it = wide_.find(u.id()); it != wide_.end()) return it->second;
  Value* v = Get(u);
  if (u.dtype().bits() == 64) return v;
  const bool is_unsigned = u.dtype().IsUnsigned() || u.dtype().IsBool();
  return is_unsigned || u.vmin() >= 0 ? b_.CreateZExt(v, b_.getInt64Ty(), "", !is_unsigned)
                                      : b_.CreateSExt(v, b_.getInt64Ty());
}

Value* Emitter::Address(const Memory& memory, const UOp& index) {
  if (memory.base == nullptr) {
    const int64_t element = index.const_int();
    for (const RegisterStorage& r : memory.registers) {
      if (element < r.piece.begin || element >= r.piece.end) continue;
      return b_.CreateConstInBoundsGEP1_64(MemoryType(context_, memory.dtype), r.storage,
                                           element - r.piece.begin);
    }
  }
  return b_.CreateInBoundsGEP(MemoryType(context_, memory.dtype), memory.base, Wide(index));
}

Value* Emitter::VectorAddress(const Memory& memory, const UOp& index) {
  return b_.CreateInBoundsGEP(MemoryType(context_, memory.dtype), memory.base, Get(index));
}

absl::Status Emitter::Decode(const UOp& u, Access* out) {
  const UOp& address = u.src(0);
  if (!address.Is(Op::kIndex) || address.src_count() < 2)
    return Broken(u, "its address is no Index");
  auto it = memory_.find(MemoryOf(address).id());
  if (it == memory_.end()) return Broken(u, "memory that is not listed before it");
  out->memory = &it->second;
  out->index = address.src(1);
  if (Get(out->index) == nullptr) return Broken(u, "an index that is not listed before it");
  if (address.src_count() > 2) {
    out->gate = address.src(2);
    if (Get(out->gate) == nullptr) return Broken(u, "a gate that is not listed before it");
    // A gate of equal lanes is a scalar one.
    if (out->gate.Is(Op::kStack)) {
      const UOp first = out->gate.src(0);
      bool equal = true;
      for (const UOp& s : out->gate.src()) equal = equal && s == first;
      if (equal) out->gate = first;
    }
    if (out->gate.IsConstInt(1)) out->gate = UOp();
  }
  const bool is_register = out->memory->base == nullptr;
  if (is_register && !out->index.IsConst()) {
    return Broken(u, "a register index that is no constant");
  }
  return absl::OkStatus();
}

absl::Status Emitter::EmitConst(const UOp& u) {
  const DType d = u.dtype();
  if (d.IsWeak() || d.IsVoid() || u.IsInvalid()) return Unsupported(u);
  Set(u, d.IsFloat() ? FloatConstant(context_, d, u.const_float())
                     : IntConstant(context_, d, u.const_int()));
  return absl::OkStatus();
}

absl::Status Emitter::EmitVariable(const UOp& u) {
  const auto it = variable_value_.find(u.arg_as<ir::VariableArg>().name);
  if (it == variable_value_.end()) return Broken(u, "a variable that the program does not list");
  if (!u.dtype().IsInt() || u.dtype().IsWeak()) return Unsupported(u);
  wide_[u.id()] = it->second;
  Set(u, b_.CreateTrunc(it->second, ValueType(context_, u.dtype())));
  return absl::OkStatus();
}

absl::Status Emitter::EmitRange(const UOp& u) {
  const DType d = u.dtype();
  if (!d.IsInt() || d.IsWeak() || d.lanes() != 1) return Unsupported(u);
  const ir::RangeArg& arg = u.arg_as<ir::RangeArg>();
  if (arg.type == AxisType::kThread) {
    wide_[u.id()] = function_->getArg(2);
    Set(u, b_.CreateTrunc(function_->getArg(2), ValueType(context_, d)));
    return absl::OkStatus();
  }
  const UOp& size = u.src(0);
  if (Get(size) == nullptr) return Broken(u, "a size that is not listed before it");
  Scope scope{u};
  scope.limit = Wide(size);
  BasicBlock* before = b_.GetInsertBlock();
  const std::string name =
      absl::StrCat(std::string(1, ir::AxisTypeLetter(arg.type)), "idx", arg.id);
  scope.body = BasicBlock::Create(context_, name + ".loop", function_);
  scope.exit = BasicBlock::Create(context_, name + ".exit", function_);
  if (size.vmin() > 0) {
    b_.CreateBr(scope.body);
  } else {
    b_.CreateCondBr(b_.CreateICmpSGT(scope.limit, b_.getInt64(0)), scope.body, scope.exit);
  }
  b_.SetInsertPoint(scope.body);
  scope.counter = b_.CreatePHI(b_.getInt64Ty(), 2, name);
  scope.counter->addIncoming(b_.getInt64(0), before);
  wide_[u.id()] = scope.counter;
  Set(u, b_.CreateTrunc(scope.counter, ValueType(context_, d)));
  scopes_.push_back(scope);
  return absl::OkStatus();
}

absl::Status Emitter::EmitEnd(const UOp& u) {
  for (int i = u.src_count() - 1; i >= 1; --i) {
    if (!u.src(i).Is(Op::kRange)) return Broken(u, "it closes what is no range");
    if (u.src(i).arg_as<ir::RangeArg>().type == AxisType::kThread) continue;
    if (scopes_.empty() || !(scopes_.back().opener == u.src(i))) {
      return Broken(u, "it closes a range that is not the innermost open one");
    }
    const Scope scope = scopes_.back();
    scopes_.pop_back();
    Value* next = b_.CreateAdd(scope.counter, b_.getInt64(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
    scope.counter->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, scope.limit), scope.body, scope.exit);
    b_.SetInsertPoint(scope.exit);
  }
  return absl::OkStatus();
}

absl::Status Emitter::EmitIf(const UOp& u) {
  Value* condition = Get(u.src(0));
  if (condition == nullptr || u.src(0).dtype() != ir::kBool) return Broken(u, "no scalar bool");
  Scope scope{u};
  scope.body = BasicBlock::Create(context_, "if", function_);
  scope.exit = BasicBlock::Create(context_, "endif", function_);
  b_.CreateCondBr(condition, scope.body, scope.exit);
  b_.SetInsertPoint(scope.body);
  scopes_.push_back(scope);
  return absl::OkStatus();
}

absl::Status Emitter::EmitEndIf(const UOp& u) {
  if (scopes_.empty() || !(scopes_.back().opener == u.src(0))) {
    return Broken(u, "it closes an If that is not the innermost open scope");
  }
  b_.CreateBr(scopes_.back().exit);
  b_.SetInsertPoint(scopes_.back().exit);
  scopes_.pop_back();
  return absl::OkStatus();
}

absl::Status Emitter::EmitStack(const UOp& u) {
  const DType d = u.dtype();
  if (u.src_count() != d.lanes()) return Broken(u, "lanes and sources differ in number");
  std::vector<Value*> lanes;
  bool splat = true;
  for (const UOp& s : u.src()) {
    lanes.push_back(Get(s));
    if (lanes.back() == nullptr || s.dtype() != d.Scalar())
      return Broken(u, "a lane of another type");
    splat = splat && lanes.back() == lanes.front();
  }
  if (d.lanes() == 1) {
    Set(u, lanes[0]);
  } else if (splat) {
    Set(u, b_.CreateVectorSplat(d.lanes(), lanes[0]));
  } else {
    Value* v = llvm::PoisonValue::get(ValueType(context_, d));
    for (int i = 0; i < d.lanes(); ++i) v = b_.CreateInsertElement(v, lanes[i], b_.getInt64(i));
    Set(u, v);
  }
  return absl::OkStatus();
}

// Halves are combined as long as there is an even number of lanes, then the rest from the left.
// The order is fixed, so results are the same wherever vectors have this width.
absl::Status Emitter::EmitReduce(const UOp& u) {
  const Op op = u.arg_as<ir::ReduceArg>().op;
  const UOp& source = u.src(0);
  const DType d = u.dtype();
  const bool computes = !(d.IsFp8() || d.scalar() == ir::ScalarType::kBFloat16 || d.IsWeak());
  if (u.src_count() != 1 || d.lanes() != 1 || source.dtype().Scalar() != d || !computes ||
      (op != Op::kAdd && op != Op::kMul && op != Op::kMax)) {
    return Unsupported(u);
  }
  Value* v = Get(source);
  if (v == nullptr) return Broken(u, "a source that is not listed before it");
  int lanes = source.dtype().lanes();
  while (lanes > 1 && lanes % 2 == 0) {
    lanes /= 2;
    std::vector<int> low(lanes), high(lanes);
    for (int i = 0; i < lanes; ++i) {
      low[i] = i;
      high[i] = lanes + i;
    }
    v = EmitCombine(b_, op, d, b_.CreateShuffleVector(v, low), b_.CreateShuffleVector(v, high));
  }
  if (source.dtype().lanes() > 1) {
    Value* sum = b_.CreateExtractElement(v, b_.getInt64(0));
    for (int i = 1; i < lanes; ++i) {
      sum = EmitCombine(b_, op, d, sum, b_.CreateExtractElement(v, b_.getInt64(i)));
    }
    v = sum;
  }
  Set(u, v);
  return absl::OkStatus();
}

absl::Status Emitter::EmitLoad(const UOp& u) {
  Access a;
  if (absl::Status s = Decode(u, &a); !s.ok()) return s;
  const DType d = u.dtype();
  if (d.Scalar() != a.memory->dtype) return Broken(u, "memory of another type");
  const int index_lanes = a.index.dtype().lanes();
  Type* memory_type = MemoryType(context_, d);
  const llvm::Align align(d.bytes());
  Value* gate = a.gate ? Get(a.gate) : nullptr;
  const bool gate_has_lanes = a.gate && a.gate.dtype().lanes() > 1;
  if ((index_lanes > 1 && index_lanes != d.lanes()) ||
      (gate_has_lanes && a.gate.dtype().lanes() != d.lanes())) {
    return Broken(u, "lanes of value, index and gate differ");
  }
  Value* alternative = nullptr;  // as in memory
  if (gate != nullptr) {
    alternative = llvm::Constant::getNullValue(memory_type);
    if (u.src_count() > 1) {
      if (Get(u.src(1)) == nullptr || u.src(1).dtype() != d) return Broken(u, "its alternative");
      alternative = ToMemory(b_, Get(u.src(1)), d);
    }
  }
  Value* v;
  if (index_lanes == 1 && !gate_has_lanes) {
    Value* address = gate == nullptr || a.memory->base == nullptr
                         ? Address(*a.memory, a.index)
                         : GatedAddress(*a.memory, a.index, a.gate, d.lanes());
    llvm::LoadInst* load = b_.CreateAlignedLoad(memory_type, address, align);
    MarkAlias(*a.memory, load);
    const auto* constant = llvm::dyn_cast_or_null<llvm::Constant>(alternative);
    v = gate == nullptr || (constant != nullptr && constant->isNullValue())
            ? static_cast<Value*>(load)
            : b_.CreateSelect(gate, load, alternative);
  } else if (index_lanes == 1) {
    llvm::Instruction* load =
        b_.CreateMaskedLoad(memory_type, Address(*a.memory, a.index), align, gate, alternative);
    MarkAlias(*a.memory, load);
    v = load;
  } else if (a.index.Is(Op::kStack) && !gate_has_lanes) {
    // The indices are scalars already: as many scalar loads are at least as fast as a gather.
    v = llvm::PoisonValue::get(memory_type);
    for (int i = 0; i < d.lanes(); ++i) {
      Value* address = gate == nullptr || a.memory->base == nullptr
                           ? Address(*a.memory, a.index.src(i))
                           : GatedAddress(*a.memory, a.index.src(i), a.gate, 1);
      llvm::LoadInst* load = b_.CreateAlignedLoad(memory_type->getScalarType(), address, align);
      MarkAlias(*a.memory, load);
      v = b_.CreateInsertElement(v, load, b_.getInt64(i));
    }
    if (gate != nullptr) v = b_.CreateSelect(gate, v, alternative);
  } else {
    Value* mask = gate;
    if (mask != nullptr && !gate_has_lanes) mask = b_.CreateVectorSplat(d.lanes(), gate);
    llvm::Instruction* load = b_.CreateMaskedGather(memory_type, VectorAddress(*a.memory, a.index),
                                                    align, mask, alternative);
    MarkAlias(*a.memory, load);
    v = load;
  }
  Set(u, FromMemory(b_, v, d));
  return absl::OkStatus();
}

absl::Status Emitter::EmitStore(const UOp& u) {
  Access a;
  if (absl::Status s = Decode(u, &a); !s.ok()) return s;
  const DType d = u.src(1).dtype();
  if (Get(u.src(1)) == nullptr) return Broken(u, "a value that is not listed before it");
  if (d.Scalar() != a.memory->dtype) return Broken(u, "memory of another type");
  const int index_lanes = a.index.dtype().lanes();
  const llvm::Align align(d.bytes());
  Value* gate = a.gate ? Get(a.gate) : nullptr;
  const bool gate_has_lanes = a.gate && a.gate.dtype().lanes() > 1;
  if ((index_lanes > 1 && index_lanes != d.lanes()) ||
      (gate_has_lanes && a.gate.dtype().lanes() != d.lanes())) {
    return Broken(u, "lanes of value, index and gate differ");
  }
  Value* v = ToMemory(b_, Get(u.src(1)), d);
  BasicBlock* after = nullptr;
  if (gate != nullptr && !gate_has_lanes) {
    BasicBlock* store = BasicBlock::Create(context_, "store", function_);
    after = BasicBlock::Create(context_, "stored", function_);
    b_.CreateCondBr(gate, store, after);
    b_.SetInsertPoint(store);
    gate = nullptr;
  }
  if (index_lanes == 1) {
    Value* address = Address(*a.memory, a.index);
    MarkAlias(*a.memory, gate == nullptr ? static_cast<llvm::Instruction*>(
                                               b_.CreateAlignedStore(v, address, align))
                                         : b_.CreateMaskedStore(v, address, align, gate));
  } else if (a.index.Is(Op::kStack) && gate == nullptr) {
    for (int i = 0; i < d.lanes(); ++i) {
      Value* lane = b_.CreateExtractElement(v, b_.getInt64(i));
      MarkAlias(*a.memory, b_.CreateAlignedStore(lane, Address(*a.memory, a.index.src(i)), align));
    }
  } else {
    MarkAlias(*a.memory, b_.CreateMaskedScatter(v, VectorAddress(*a.memory, a.index), align, gate));
  }
  if (after != nullptr) {
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }
  return absl::OkStatus();
}

absl::Status Emitter::EmitElementwise(const UOp& u) {
  std::vector<Value*> sources;
  for (const UOp& s : u.src()) {
    sources.push_back(Get(s));
    if (sources.back() == nullptr) return Broken(u, "a source that is not listed before it");
  }
  const DType d = u.dtype();
  if (u.Is(Op::kCast) || u.Is(Op::kBitcast)) {
    const DType from = u.src(0).dtype();
    if (d.IsWeak() || d.IsVoid() || from.IsWeak() || from.IsVoid()) return Unsupported(u);
    if (u.Is(Op::kCast) ? from.lanes() != d.lanes() : from.size() != d.size()) {
      return Broken(u, "source and result differ in size");
    }
    Set(u,
        u.Is(Op::kCast) ? EmitCast(b_, sources[0], from, d) : EmitBitcast(b_, sources[0], from, d));
    return absl::OkStatus();
  }
  if (!CanEmitAlu(u)) return Unsupported(u);
  Set(u, EmitAlu(b_, u, sources));
  // The 64-bit twin of index arithmetic. What nobody uses of either is removed later.
  if (d == ir::kInt32 && CannotWrap(u)) {
    Value* twin[2];
    for (int i = 0; i < 2; ++i) {
      auto it = wide_.find(u.src(i).id());
      if (it == wide_.end() && !u.src(i).IsConst()) return absl::OkStatus();
      twin[i] = it == wide_.end() ? b_.getInt64(u.src(i).const_int()) : it->second;
    }
    wide_[u.id()] = u.Is(Op::kAdd)   ? b_.CreateNSWAdd(twin[0], twin[1])
                    : u.Is(Op::kSub) ? b_.CreateNSWSub(twin[0], twin[1])
                                     : b_.CreateNSWMul(twin[0], twin[1]);
  }
  return absl::OkStatus();
}

absl::Status Emitter::Emit(const UOp& u) {
  switch (u.op()) {
    case Op::kParam:
    case Op::kBuffer:
    case Op::kIndex:  // part of its loads and stores
    case Op::kSink:
    case Op::kGroup:
    case Op::kAfter:
    case Op::kBarrier:  // a part of a CPU kernel runs on one thread
      return absl::OkStatus();
    case Op::kNoop:
      if (u.src_count() == 1 && Get(u.src(0)) != nullptr) Set(u, Get(u.src(0)));
      return absl::OkStatus();
    case Op::kConst:
      return EmitConst(u);
    case Op::kVariable:
      return EmitVariable(u);
    case Op::kRange:
      return EmitRange(u);
    case Op::kEnd:
      return EmitEnd(u);
    case Op::kIf:
      return EmitIf(u);
    case Op::kEndIf:
      return EmitEndIf(u);
    case Op::kStack:
      return EmitStack(u);
    case Op::kLane: {
      const int64_t lane = u.arg_as<int64_t>();
      Value* v = Get(u.src(0));
      if (v == nullptr || lane < 0 || lane >= u.src(0).dtype().lanes())
        return Broken(u, "no such lane");
      Set(u, u.src(0).dtype().lanes() == 1 ? v : b_.CreateExtractElement(v, b_.getInt64(lane)));
      return absl::OkStatus();
    }
    case Op::kReduce:
      return EmitReduce(u);
    case Op::kLoad:
      return EmitLoad(u);
    case Op::kStore:
      return EmitStore(u);
    default:
      return ir::IsElementwise(u.op()) ? EmitElementwise(u) : Unsupported(u);
  }
}

absl::Status Emitter::Run() {
  OpenFunction();
  if (absl::Status s = DeclareMemory(); !s.ok()) return s;
  for (size_t i = 0; i < program_.variables.size(); ++i) {
    const std::string& name = program_.variables[i].arg_as<ir::VariableArg>().name;
    Value* place = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), function_->getArg(1), i);
    variable_value_[name] = b_.CreateLoad(b_.getInt64Ty(), place, name);
  }
  for (const UOp& u : program_.ops) {
    if (absl::Status s = Emit(u); !s.ok()) return s;
  }
  if (!scopes_.empty()) return Broken(scopes_.back().opener, "it is never closed");
  b_.CreateRetVoid();
  if (zeros_ != nullptr) {
    zeros_->setAllocatedType(llvm::ArrayType::get(b_.getInt8Ty(), zero_bytes_));
    llvm::IRBuilder<> entry(entry_, std::next(zeros_->getIterator()));
    entry.CreateMemSet(zeros_, entry.getInt8(0), zero_bytes_, llvm::MaybeAlign(64));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status EmitProgram(const lower::LinearProgram& program, llvm::Module& module) {
  return Emitter(program, module).Run();
}

}  // namespace tg::render
