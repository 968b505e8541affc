// The part of a C source above the kernel: vector types and helper functions, each written once
// when something first needs it. What takes an operand more than once, or more than one line, is a
// helper; the kernel stays readable.
#ifndef TG_CODEGEN_RENDER_CSTYLE_C_PRELUDE_H_
#define TG_CODEGEN_RENDER_CSTYLE_C_PRELUDE_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "codegen/ir/dtype.h"
#include "codegen/ir/op.h"
#include "codegen/render/cstyle/dialect.h"

namespace tg::render {

class CPrelude {
 public:
  explicit CPrelude(const Dialect& dialect) : dialect_(dialect) {}

  // Name of the type of values of `d`; of its elements in memory (a bool is a byte there); of a
  // vector that is aligned to one element.
  std::string Type(ir::DType d);
  std::string ElementType(ir::DType d);
  std::string MemoryType(ir::DType d);

  // Expressions of the same lanes as `x`.
  std::string Cast(const std::string& x, ir::DType from, ir::DType to);
  std::string Bitcast(const std::string& x, ir::DType from, ir::DType to);
  // 0 or 1 as a bool value, from what a comparison of values of `d` gives.
  std::string FromComparison(const std::string& x, ir::DType d);
  // cond ? a : b for bool vectors.
  std::string Select(const std::string& cond, const std::string& a, const std::string& b,
                     ir::DType d);

  // Calls of helpers.
  std::string Divide(ir::Op op, const std::string& x, const std::string& y, ir::DType d);
  std::string Max(const std::string& x, const std::string& y, ir::DType d);
  std::string Reduce(ir::Op op, const std::string& x, ir::DType source);
  // `index` and `gate` have lanes, or one; `address` points to elements. An empty gate is none.
  // A vector `index` is relative to `address`; an empty one means consecutive elements.
  std::string LoadLanes(const std::string& address, const std::string& index, ir::DType index_type,
                        const std::string& gate, const std::string& alternative, ir::DType d);
  std::string StoreLanes(const std::string& address, const std::string& index, ir::DType index_type,
                         const std::string& gate, const std::string& value, ir::DType d);

  const std::string& text() const { return text_; }

 private:
  // Adds "static inline RESULT name(PARAMETERS) {BODY}" unless it is there. The other pieces of the
  // prelude that its text needs must have been asked for before.
  void Define(const std::string& name, const std::string& result, const std::string& parameters,
              const std::string& body);
  std::string Convert(const std::string& x, ir::DType to);
  // A comparison's result as 0 or 1 in the type of `d` (an integer).
  std::string OneOrZero(const std::string& comparison, ir::DType d);

  std::string SmallFloatToFloat32(const std::string& x, ir::DType from);
  std::string Float32ToSmallFloat(const std::string& x, ir::DType to);
  std::string Float64ToOddFloat32(const std::string& x, int lanes);
  std::string FloatToInt(const std::string& x, ir::DType from, ir::DType to);

  const Dialect& dialect_;
  std::string text_;
  absl::flat_hash_set<std::string> defined_;
};

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_CSTYLE_C_PRELUDE_H_
