// The interpreter's machine: cells, memories and decoded instructions. Internal to this folder.
#ifndef TG_CODEGEN_INTERP_MACHINE_H_
#define TG_CODEGEN_INTERP_MACHINE_H_

#include <cstdint>
#include <vector>

#include "codegen/ir/uop.h"

namespace tg::interp {

// One lane of a value. Floats of any type are held as the double they are equal to; integers and
// bools as ir::WrapToInt gives them (uint64: the same bits).
union Cell {
  int64_t i;
  double f;
};

struct MemoryRef {
  uint8_t* base = nullptr;
  int64_t size = 0;            // elements
  uint8_t* written = nullptr;  // registers and local memory: one flag per element
};

struct Machine;
struct Instruction;

// Executes one instruction. Null: fine; otherwise what is wrong, as the end of a sentence that
// begins with the operation.
using Handler = const char* (*)(const Instruction&, Machine&);

inline constexpr uint32_t kNoCell = 0xFFFFFFFF;

struct Instruction {
  Handler run = nullptr;
  uint32_t lanes = 1;
  uint32_t out = kNoCell;                        // first cell of the result
  uint32_t in[3] = {kNoCell, kNoCell, kNoCell};  // first cells of the sources
  uint32_t memory = 0;                           // index into Machine::memories
  uint32_t gate = kNoCell;
  uint32_t target = 0;    // where a branch goes
  uint32_t position = 0;  // in LinearProgram::ops, for messages
  uint16_t index_lanes = 1;
  uint16_t gate_lanes = 1;
  uint16_t in_lanes = 1;                           // kBitcast, kReduce: lanes of the source
  ir::ScalarType type = ir::ScalarType::kVoid;     // of the result; of the value for kStore
  ir::ScalarType in_type = ir::ScalarType::kVoid;  // of the first source
};

struct Machine {
  std::vector<Cell> cells;
  std::vector<MemoryRef> memories;
  size_t next = 0;     // instruction to run after this one
  int64_t detail = 0;  // the index that is out of bounds
};

// Handlers for elementwise operations and for kReduce over lanes; null where there is none.
Handler FindElementwise(ir::Op op, ir::DType result, ir::DType source);
Handler FindReduce(ir::Op op, ir::DType type);
// Handlers for kLoad and kStore of elements of a type.
Handler FindLoad(ir::ScalarType type);
Handler FindStore(ir::ScalarType type);

}  // namespace tg::interp

#endif  // TG_CODEGEN_INTERP_MACHINE_H_
