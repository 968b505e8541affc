#include "codegen/interp/interpreter.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "codegen/interp/machine.h"
#include "codegen/ir/print.h"
#include "codegen/lower/program_verify.h"

namespace tg::interp {
namespace {

using ir::DType;
using ir::Op;
using ir::UOp;

// --- Control, vectors -------------------------------------------------------------------------

// in[0]: size; out: the counter.
const char* RunRange(const Instruction& i, Machine& m) {
  m.cells[i.out].i = 0;
  if (m.cells[i.in[0]].i <= 0) m.next = i.target;
  return nullptr;
}

// out: the counter; in[0]: size; target: the first instruction of the body.
const char* RunEnd(const Instruction& i, Machine& m) {
  if (++m.cells[i.out].i < m.cells[i.in[0]].i) m.next = i.target;
  return nullptr;
}

const char* RunIf(const Instruction& i, Machine& m) {
  if (m.cells[i.in[0]].i == 0) m.next = i.target;
  return nullptr;
}

// Memory of the program begins without contents.
const char* RunBuffer(const Instruction& i, Machine& m) {
  MemoryRef& memory = m.memories[i.memory];
  if (memory.size > 0) std::memset(memory.written, 0, memory.size);
  return nullptr;
}

const char* RunCopy(const Instruction& i, Machine& m) {
  std::copy_n(&m.cells[i.in[0]], i.lanes, &m.cells[i.out]);
  return nullptr;
}

struct OwnMemory {
  uint32_t memory;
  int64_t size;
  int bytes;
};

}  // namespace

struct Interpreter::Impl {
  lower::LinearProgram program;
  std::vector<Instruction> code;
  std::vector<Cell> cells;          // constants are in place
  std::vector<uint32_t> var_cells;  // by variable; kNoCell: unused
  std::vector<OwnMemory> own;       // registers and local memory
  size_t memory_count = 0;          // parameters first, by slot
  uint32_t thread_cell = kNoCell;

  absl::Status Decode();
  absl::Status DecodeOne(const UOp& u, uint32_t position);
  absl::Status Execute(Machine& m) const;
  absl::Status Fail(const Instruction& i, const Machine& m, const char* what) const;

  uint32_t CellsOf(const UOp& u) const { return cell_of.at(u.id()); }
  uint32_t MemoryOf(const UOp& u) const { return memory_of.at(u.id()); }
  void DecodeAccess(const UOp& index, Instruction* i) const;
  void Emit(Instruction i) { code.push_back(i); }

  absl::flat_hash_map<const void*, uint32_t> cell_of;
  absl::flat_hash_map<const void*, uint32_t> memory_of;
  absl::flat_hash_map<const void*, uint32_t> opener_at;  // kRange, kIf: position in `code`
};

void Interpreter::Impl::DecodeAccess(const UOp& index, Instruction* i) const {
  i->memory = MemoryOf(index.src(0));
  i->in[0] = CellsOf(index.src(1));
  i->index_lanes = static_cast<uint16_t>(index.src(1).dtype().lanes());
  if (index.src_count() == 3) {
    i->gate = CellsOf(index.src(2));
    i->gate_lanes = static_cast<uint16_t>(index.src(2).dtype().lanes());
  }
}

absl::Status Interpreter::Impl::DecodeOne(const UOp& u, uint32_t position) {
  Instruction i;
  i.position = position;
  i.type = u.dtype().scalar();
  i.lanes = static_cast<uint32_t>(u.dtype().lanes());
  if (u.src_count() > 0) {
    i.in_type = u.src(0).dtype().scalar();
    i.in_lanes = static_cast<uint16_t>(u.src(0).dtype().lanes());
  }
  const bool has_value =
      !u.dtype().IsVoid() && !u.Is(Op::kIndex) && !u.Is(Op::kParam) && !u.Is(Op::kBuffer);
  if (has_value) {
    i.out = static_cast<uint32_t>(cells.size());
    cell_of[u.id()] = i.out;
    cells.resize(cells.size() + i.lanes, Cell{.i = 0});
  }

  switch (u.op()) {
    case Op::kConst:
      for (uint32_t l = 0; l < i.lanes; ++l) {
        if (u.dtype().IsFloat()) {
          cells[i.out + l].f = u.const_float();
        } else {
          cells[i.out + l].i = u.const_int();
        }
      }
      return absl::OkStatus();
    case Op::kVariable: {
      auto it = std::find(program.variables.begin(), program.variables.end(), u);
      var_cells[it - program.variables.begin()] = i.out;
      return absl::OkStatus();
    }
    case Op::kParam:
      memory_of[u.id()] = static_cast<uint32_t>(u.arg_as<ir::ParamArg>().slot);
      return absl::OkStatus();
    case Op::kBuffer: {
      const int64_t size = u.arg_as<ir::BufferArg>().size;
      constexpr int64_t kLargest = int64_t{1} << 28;
      if (size > kLargest) {
        return absl::InvalidArgumentError(
            absl::StrCat("local memory of ", size, " elements is too large: ", DescribeNode(u)));
      }
      i.memory = static_cast<uint32_t>(memory_count++);
      memory_of[u.id()] = i.memory;
      own.push_back({i.memory, size, u.dtype().bytes()});
      i.run = RunBuffer;
      Emit(i);
      return absl::OkStatus();
    }
    case Op::kIndex:
    case Op::kSink:
    case Op::kGroup:
    case Op::kBarrier:
    case Op::kWait:
      return absl::OkStatus();
    case Op::kLoad:
      DecodeAccess(u.src(0), &i);
      if (u.src_count() == 2) i.in[1] = CellsOf(u.src(1));
      i.run = FindLoad(i.type);
      Emit(i);
      return absl::OkStatus();
    case Op::kStore:
      DecodeAccess(u.src(0), &i);
      i.in[1] = CellsOf(u.src(1));
      i.lanes = static_cast<uint32_t>(u.src(1).dtype().lanes());
      i.type = u.src(1).dtype().scalar();
      i.run = FindStore(i.type);
      Emit(i);
      return absl::OkStatus();
    case Op::kRange:
      if (u.arg_as<ir::RangeArg>().type == ir::AxisType::kThread) {
        thread_cell = i.out;
        return absl::OkStatus();
      }
      i.in[0] = CellsOf(u.src(0));
      i.run = RunRange;
      opener_at[u.id()] = static_cast<uint32_t>(code.size());
      Emit(i);
      return absl::OkStatus();
    case Op::kEnd:
      for (int s = u.src_count() - 1; s > 0; --s) {
        const UOp& range = u.src(s);
        if (range.arg_as<ir::RangeArg>().type == ir::AxisType::kThread) continue;
        const uint32_t opener = opener_at.at(range.id());
        i.out = CellsOf(range);
        i.in[0] = CellsOf(range.src(0));
        i.target = opener + 1;
        i.run = RunEnd;
        Emit(i);
        code[opener].target = static_cast<uint32_t>(code.size());
      }
      return absl::OkStatus();
    case Op::kIf:
      i.in[0] = CellsOf(u.src(0));
      i.run = RunIf;
      opener_at[u.id()] = static_cast<uint32_t>(code.size());
      Emit(i);
      return absl::OkStatus();
    case Op::kEndIf:
      code[opener_at.at(u.src(0).id())].target = static_cast<uint32_t>(code.size());
      return absl::OkStatus();
    case Op::kStack:
      // A copy for each lane: a vector's cells are its own.
      for (int s = 0; s < u.src_count(); ++s) {
        Instruction lane = i;
        lane.lanes = 1;
        lane.out = i.out + static_cast<uint32_t>(s);
        lane.in[0] = CellsOf(u.src(s));
        lane.run = RunCopy;
        Emit(lane);
      }
      return absl::OkStatus();
    case Op::kLane:
      i.in[0] = CellsOf(u.src(0)) + static_cast<uint32_t>(u.arg_as<int64_t>());
      i.run = RunCopy;
      Emit(i);
      return absl::OkStatus();
    case Op::kNoop:
      if (!has_value) return absl::OkStatus();
      i.in[0] = CellsOf(u.src(0));
      i.run = RunCopy;
      Emit(i);
      return absl::OkStatus();
    case Op::kReduce:
      i.in[0] = CellsOf(u.src(0));
      i.run = FindReduce(u.arg_as<ir::ReduceArg>().op, u.dtype());
      break;
    default:
      if (ir::IsElementwise(u.op())) {
        for (int s = 0; s < u.src_count(); ++s) i.in[s] = CellsOf(u.src(s));
        i.run = FindElementwise(u.op(), u.dtype(), u.src(0).dtype());
      }
      break;
  }
  if (i.run == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("kernel ", program.name, ": the interpreter has no ", DescribeNode(u)));
  }
  Emit(i);
  return absl::OkStatus();
}

absl::Status Interpreter::Impl::Decode() {
  if (absl::Status s = lower::VerifyProgram(program); !s.ok()) return s;
  memory_count = program.params.size();
  var_cells.assign(program.variables.size(), kNoCell);
  for (size_t i = 0; i < program.ops.size(); ++i) {
    absl::Status s = DecodeOne(program.ops[i], static_cast<uint32_t>(i));
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status Interpreter::Impl::Fail(const Instruction& i, const Machine& m,
                                     const char* what) const {
  const UOp& u = program.ops[i.position];
  std::string message = absl::StrCat("kernel ", program.name, ", instruction ", i.position, ": ",
                                     ir::OpName(u.op()), " ", what);
  const bool access = u.Is(Op::kLoad) || u.Is(Op::kStore);
  const bool bounds = access && absl::string_view(what) == "is out of bounds";
  if (bounds) {
    absl::StrAppend(&message, " (element ", m.detail, " of ", m.memories[i.memory].size, ")");
  }
  // The counters of the loops around it.
  std::string counters;
  std::vector<UOp> loops;
  for (uint32_t p = 0; p < i.position; ++p) {
    const UOp& o = program.ops[p];
    if (o.Is(Op::kRange)) loops.push_back(o);
    if (o.Is(Op::kEnd)) {
      for (const UOp& r : o.src().subspan(1)) {
        loops.erase(std::remove(loops.begin(), loops.end(), r), loops.end());
      }
    }
  }
  for (const UOp& r : loops) {
    absl::StrAppend(&counters, counters.empty() ? " with " : ", ", ir::PrintExpr(r), " = ",
                    m.cells[CellsOf(r)].i);
  }
  absl::StrAppend(&message, counters, ": ", DescribeNode(u));
  if (bounds) return absl::OutOfRangeError(message);
  return access ? absl::FailedPreconditionError(message) : absl::InvalidArgumentError(message);
}

absl::Status Interpreter::Impl::Execute(Machine& m) const {
  const Instruction* begin = code.data();
  const size_t n = code.size();
  m.next = 0;
  while (m.next < n) {
    const Instruction& i = begin[m.next++];
    if (const char* what = i.run(i, m)) return Fail(i, m, what);
  }
  return absl::OkStatus();
}

Interpreter::Interpreter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Interpreter::~Interpreter() = default;

const lower::LinearProgram& Interpreter::program() const { return impl_->program; }

absl::StatusOr<std::unique_ptr<Interpreter>> Interpreter::Create(
    const lower::LinearProgram& program) {
  auto impl = std::make_unique<Impl>();
  impl->program = program;
  if (absl::Status s = impl->Decode(); !s.ok()) return s;
  return std::unique_ptr<Interpreter>(new Interpreter(std::move(impl)));
}

absl::Status Interpreter::Run(absl::Span<const absl::Span<uint8_t>> buffers,
                              absl::Span<const int64_t> vars) const {
  const lower::LinearProgram& p = impl_->program;
  auto invalid = [&p](auto... parts) {
    return absl::InvalidArgumentError(absl::StrCat("kernel ", p.name, ": ", parts...));
  };
  if (buffers.size() != p.params.size()) {
    return invalid("takes ", p.params.size(), " buffers, not ", buffers.size());
  }
  if (vars.size() != p.variables.size()) {
    return invalid("takes ", p.variables.size(), " variables, not ", vars.size());
  }
  Machine m;
  m.cells = impl_->cells;
  m.memories.resize(impl_->memory_count);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const int64_t bytes = p.params[i].size * p.params[i].dtype.bytes();
    if (static_cast<int64_t>(buffers[i].size()) < bytes) {
      return invalid("buffer ", i, " has ", buffers[i].size(), " bytes, not ", bytes);
    }
    m.memories[i] = {buffers[i].data(), p.params[i].size, nullptr};
  }
  for (size_t i = 0; i < vars.size(); ++i) {
    const UOp& v = p.variables[i];
    if (vars[i] < v.vmin() || vars[i] > v.vmax()) {
      return invalid("variable ", v.arg_as<ir::VariableArg>().name, " is ", vars[i],
                     ", not between ", v.vmin(), " and ", v.vmax());
    }
    if (impl_->var_cells[i] != kNoCell) m.cells[impl_->var_cells[i]].i = vars[i];
  }
  std::vector<std::vector<uint8_t>> own;
  for (const OwnMemory& o : impl_->own) {
    uint8_t* bytes = own.emplace_back(static_cast<size_t>(o.size) * o.bytes).data();
    m.memories[o.memory] = {bytes, o.size, own.emplace_back(static_cast<size_t>(o.size)).data()};
  }
  for (int part = 0; part < p.threads; ++part) {
    if (impl_->thread_cell != kNoCell) m.cells[impl_->thread_cell].i = part;
    if (absl::Status s = impl_->Execute(m); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status Interpret(const lower::LinearProgram& program,
                       absl::Span<const absl::Span<uint8_t>> buffers,
                       absl::Span<const int64_t> vars) {
  absl::StatusOr<std::unique_ptr<Interpreter>> interpreter = Interpreter::Create(program);
  if (!interpreter.ok()) return interpreter.status();
  return (*interpreter)->Run(buffers, vars);
}

}  // namespace tg::interp
