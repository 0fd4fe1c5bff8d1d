// Status: how a call of the runtime says that it failed.
//
// A value; empty when the call succeeded. The message says who, what was expected and what was
// found, in one line, so that a caller only adds where it was.
#pragma once

#include <string>
#include <utility>

namespace ripeline::core {

enum class StatusCode {
  ok,       // nothing failed
  invalid,  // the caller's argument or the peer's frame is wrong
  refused,  // the parties do not fit together (another program, another version)
  lost,     // a peer went away
  timeout,  // a wait reached its limit
  breach,   // an invariant that was proved does not hold: our bug, or a foreign arbiter
  failed,   // the work itself failed (user code, the operating system)
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] bool ok() const { return code_ == StatusCode::ok; }
  [[nodiscard]] StatusCode code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::ok;
  std::string message_;
};

}  // namespace ripeline::core
