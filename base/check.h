#ifndef TG_BASE_CHECK_H_
#define TG_BASE_CHECK_H_

// Checks for our own bugs: a condition that fails prints file, line, the condition and a message on
// stderr and aborts. Always on, also in optimized builds; keep them out of the innermost loops.
//
//   TG_CHECK(n > 0) << "axis " << axis << " of " << shape;
//   TG_CHECK_EQ(a.size(), b.size());        // prints both values
//   TG_FATAL() << "unhandled op " << op;    // never returns
//
// A user's mistake throws tg::Error (base/error.h); bytes from outside and devices give
// absl::Status. The arguments of << are evaluated only on failure. Thread safe.

#include <optional>
#include <sstream>
#include <string>
#include <type_traits>

namespace tg::base {
namespace internal {

// Collects a message and aborts the process when destroyed.
class FatalMessage {
 public:
  FatalMessage(const char* file, int line, const char* what);
  FatalMessage(const char* file, int line, const std::string& what);
  FatalMessage(const FatalMessage&) = delete;
  FatalMessage& operator=(const FatalMessage&) = delete;
  [[noreturn]] ~FatalMessage();

  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

// Gives `stream << ...` the type void, so that it can be a branch of ?:. & binds looser than <<.
struct Voidify {
  void operator&(std::ostream&) const {}
};

template <typename T>
concept Streamable = requires(std::ostream& os, const T& value) {
  os << value;
};

template <typename T>
void PrintOperand(std::ostream& os, const T& value) {
  if constexpr (std::is_enum_v<T> && !Streamable<T>) {
    os << static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (Streamable<T>) {
    os << value;
  } else {
    os << "?";
  }
}

template <typename A, typename B>
[[gnu::noinline, gnu::cold]] std::string FailedComparison(const char* text, const A& a,
                                                          const B& b) {
  std::ostringstream os;
  os << text << " (";
  PrintOperand(os, a);
  os << " vs. ";
  PrintOperand(os, b);
  os << ")";
  return os.str();
}

#define TG_DEFINE_CHECK_OP(name, op)                                                 \
  template <typename A, typename B>                                                  \
  inline std::optional<std::string> name(const A& a, const B& b, const char* text) { \
    if (a op b) [[likely]] {                                                         \
      return std::nullopt;                                                           \
    }                                                                                \
    return FailedComparison(text, a, b);                                             \
  }
TG_DEFINE_CHECK_OP(CheckEq, ==)
TG_DEFINE_CHECK_OP(CheckNe, !=)
TG_DEFINE_CHECK_OP(CheckLt, <)
TG_DEFINE_CHECK_OP(CheckLe, <=)
TG_DEFINE_CHECK_OP(CheckGt, >)
TG_DEFINE_CHECK_OP(CheckGe, >=)
#undef TG_DEFINE_CHECK_OP

}  // namespace internal
}  // namespace tg::base

#define TG_FATAL() ::tg::base::internal::FatalMessage(__FILE__, __LINE__, "fatal").stream()

#define TG_CHECK(condition)                                                                     \
  (__builtin_expect(static_cast<bool>(condition), 1))                                           \
      ? (void)0                                                                                 \
      : ::tg::base::internal::Voidify() &                                                       \
            ::tg::base::internal::FatalMessage(__FILE__, __LINE__, "check failed: " #condition) \
                .stream()

// The loop body aborts: it runs at most once.
#define TG_CHECK_OP_(name, op, a, b)                                                   \
  while (auto tg_check_failure =                                                       \
             ::tg::base::internal::name((a), (b), "check failed: " #a " " #op " " #b)) \
  ::tg::base::internal::FatalMessage(__FILE__, __LINE__, *tg_check_failure).stream()

#define TG_CHECK_EQ(a, b) TG_CHECK_OP_(CheckEq, ==, a, b)
#define TG_CHECK_NE(a, b) TG_CHECK_OP_(CheckNe, !=, a, b)
#define TG_CHECK_LT(a, b) TG_CHECK_OP_(CheckLt, <, a, b)
#define TG_CHECK_LE(a, b) TG_CHECK_OP_(CheckLe, <=, a, b)
#define TG_CHECK_GT(a, b) TG_CHECK_OP_(CheckGt, >, a, b)
#define TG_CHECK_GE(a, b) TG_CHECK_OP_(CheckGe, >=, a, b)

#endif  // TG_BASE_CHECK_H_
