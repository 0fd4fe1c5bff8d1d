// Status: how a call of the runtime reports failure.
//
// A value. After success it is a single null pointer, since every event of a run returns several
// statuses. The message is one line: the subject, what was expected and what was found. A caller
// only adds the place.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ripeline::core {

enum class StatusCode {
  ok,       // nothing failed
  invalid,  // the caller's argument or the peer's frame is wrong
  refused,  // the parties do not match (another program, another version)
  lost,     // a peer went away
  timeout,  // a wait reached its limit
  breach,   // an invariant that was proved does not hold: a bug, or a foreign arbiter
  failed,   // the work itself failed (user code, the operating system)
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  // With `ok` the message is dropped.
  Status(StatusCode code, std::string message) {
    if (code == StatusCode::ok) return;
    failure_ = std::make_unique<const Failure>(Failure{code, std::move(message)});
  }
  Status(const Status& other) {
    if (!other.ok()) copy(other);
  }
  Status& operator=(const Status& other) {
    if (!ok() || !other.ok()) copy(other);
    return *this;
  }
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  [[nodiscard]] bool ok() const { return failure_ == nullptr; }
  [[nodiscard]] StatusCode code() const { return ok() ? StatusCode::ok : failure_->code; }
  // Empty when ok.
  [[nodiscard]] const std::string& message() const {
    static const std::string none;
    return ok() ? none : failure_->message;
  }

 private:
  struct Failure {
    StatusCode code;
    std::string message;
  };
  // Defined out of line, so that the code that copies a successful status stays short.
  void copy(const Status& other);

  std::unique_ptr<const Failure> failure_;
};

// A value, or a failure instead of the value.
template <class T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(T value) : value_(std::move(value)) {}
  // The status must be a failure.
  StatusOr(Status failure) : status_(std::move(failure)) {}

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const { return status_; }
  // Empty when ok.
  [[nodiscard]] const std::string& message() const { return status_.message(); }
  // Requires ok().
  [[nodiscard]] T& value() & { return *value_; }
  [[nodiscard]] const T& value() const& { return *value_; }
  [[nodiscard]] T&& value() && { return *std::move(value_); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace ripeline::core
