#ifndef TG_BASE_ERROR_H_
#define TG_BASE_ERROR_H_

// What the frontend throws when it is misused. The message names the operation, what it was given
// and what it expected: "reshape: cannot view (2, 3) as (4, 2): 6 elements against 8".
//
// Bytes from outside and devices give absl::Status instead; our own bugs abort (base/check.h).
// Immutable; copies share nothing that a thread could write.

#include <stdexcept>
#include <string>

namespace tg {

// The root of the hierarchy: catch it to catch every misuse.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

// Shapes that do not fit together, an axis or an index that is out of range.
class ShapeError : public Error {
 public:
  using Error::Error;
};

// A dtype that the operation does not take, or dtypes that do not mix.
class DTypeError : public Error {
 public:
  using Error::Error;
};

// Tensors on different devices, or a device that is unknown, absent or failed.
class DeviceError : public Error {
 public:
  using Error::Error;
};

// A call at the wrong time or with arguments that contradict each other: reading a value while a
// Jit captures, Backward() without a loss, a setting with an unknown value.
class UsageError : public Error {
 public:
  using Error::Error;
};

// A file or another outside input that was given to the frontend and cannot be used.
class DataError : public Error {
 public:
  using Error::Error;
};

}  // namespace tg

#endif  // TG_BASE_ERROR_H_
