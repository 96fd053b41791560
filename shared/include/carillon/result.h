#pragma once

#include <string>
#include <utility>
#include <variant>

#include "carillon/abort.h"

// The result of a call that can fail: a value or an Error.
//
// Carillon does not throw exceptions. The compiler warns about an ignored Result. Reading the value
// of a failed Result, or the error of a successful one, is a bug: it stops the process.
namespace carillon {

// Tells the caller how to react. The numbers are part of the wire protocol and never change.
enum class ErrorCode : int {
  kInvalidArgument = 1,  // fix the input
  kNotFound = 2,         // the named object does not exist
  kConflict = 3,         // the state has changed: read it again and decide
  kUnavailable = 4,      // try again later
  kTimeout = 5,          // the outcome is unknown: check before you repeat it
  kLimit = 6,            // slow down
  kCorrupt = 7,          // stored data is damaged: stop and ask an operator
  kDenied = 8,           // the caller may not do this
};

// The name of a code in logs and JSON: "invalid_argument", "not_found", ...
const char* to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string message{};  // lower case, no full stop; names the object and the remedy

  // The same error with a prefix: "context: message".
  Error with_context(const std::string& context) const { return {code, context + ": " + message}; }

  bool operator==(const Error&) const = default;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {
  }  // NOLINT(google-explicit-constructor): `return value;`
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {
  }  // NOLINT(google-explicit-constructor): `return error;`

  bool ok() const { return state_.index() == 0; }

  T& value() & {
    check(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }
  const T& value() const& {
    check(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }
  T&& value() && {
    check(ok(), "value() of a failed Result");
    return std::move(std::get<0>(state_));
  }
  const Error& error() const& {
    check(!ok(), "error() of a successful Result");
    return std::get<1>(state_);
  }
  Error&& error() && {
    check(!ok(), "error() of a successful Result");
    return std::move(std::get<1>(state_));
  }

 private:
  void check(bool right_side, const char* what) const {
    if (!right_side) [[unlikely]] {
      abort_with(what, ok() ? "" : std::get<1>(state_).message.c_str());
    }
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error)
      : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor): `return error;`

  bool ok() const { return state_.index() == 0; }
  void value() const {
    if (!ok()) [[unlikely]] {
      abort_with("value() of a failed Status", std::get<1>(state_).message.c_str());
    }
  }
  const Error& error() const& {
    if (ok()) [[unlikely]]
      abort_with("error() of a successful Status", "");
    return std::get<1>(state_);
  }
  Error&& error() && {
    if (ok()) [[unlikely]]
      abort_with("error() of a successful Status", "");
    return std::move(std::get<1>(state_));
  }

 private:
  std::variant<std::monostate, Error> state_;
};

using Status = Result<void>;

}  // namespace carillon

// Evaluates to the value of a Result, or returns its Error from the function. Use it once per
// statement, and not within a braced initializer: g++ 12 does not destroy the members that it has
// already constructed.
#define CARILLON_TRY(expression)              \
  __extension__({                             \
    auto carillon_try = (expression);         \
    if (!carillon_try.ok()) [[unlikely]]      \
      return std::move(carillon_try).error(); \
    std::move(carillon_try).value();          \
  })
