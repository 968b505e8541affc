// What stands between the brackets: t.Index({Slice(1, 5), 3, kNewAxis, kEllipsis, tensor}).
//
// Integers pick one element of an axis and drop the axis. Slices take [begin, end) in steps, with
// negative values counted from the end and negative steps backwards, and clip as Python's do.
// kNewAxis adds an axis of size 1. kEllipsis stands for as many whole axes as are left over (one at
// most). Integer tensors pick along their axis (negative values count from the end, out of range
// gives 0); several broadcast together, and their axes take the place of the first when they stand
// side by side, else the front (numpy, torch). Bool tensors are refused: the result's shape would
// depend on values; use Where, MaskedFill or an integer tensor.
// Throws ShapeError (an index out of range, too many indices) and DTypeError.
#ifndef TG_TENSOR_INDEX_H_
#define TG_TENSOR_INDEX_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <variant>

#include "tg/tensor/tensor.h"

namespace tg {

struct NewAxisType {};
struct EllipsisType {};
inline constexpr NewAxisType kNewAxis;
inline constexpr EllipsisType kEllipsis;

// begin:end:step; an absent bound is the end of the axis on its side.
struct Slice {
  Slice() = default;
  Slice(std::optional<Sint> begin, std::optional<Sint> end, int64_t step = 1)
      : begin(begin), end(end), step(step) {}
  std::optional<Sint> begin;
  std::optional<Sint> end;
  int64_t step = 1;
};

class Indexer {
 public:
  template <std::integral T>
  Indexer(T i) : value_(Sint(i)) {}                  // NOLINT
  Indexer(Sint i) : value_(i) {}                     // NOLINT
  Indexer(Slice slice) : value_(slice) {}            // NOLINT
  Indexer(NewAxisType) : value_(NewAxisType()) {}    // NOLINT
  Indexer(EllipsisType) : value_(EllipsisType()) {}  // NOLINT
  Indexer(const Tensor& tensor) : value_(tensor) {}  // NOLINT

  const std::variant<Sint, Slice, NewAxisType, EllipsisType, Tensor>& value() const {
    return value_;
  }

 private:
  std::variant<Sint, Slice, NewAxisType, EllipsisType, Tensor> value_;
};

}  // namespace tg

#endif  // TG_TENSOR_INDEX_H_
