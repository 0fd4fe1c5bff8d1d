// Failure: the exception by which the objects of this folder report wrong input. Python sees it as
// `ripeline.Error`.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "core/status.h"
#include "load/program.h"
#include "spec/diagnostics.h"

namespace ripeline::python {

class Failure : public std::exception {
 public:
  // The errors about a text that was read, with their excerpts, as the command line prints them.
  Failure(const load::Reading& reading, const spec::Diagnostics& errors);
  // Errors without a position in a text.
  explicit Failure(const spec::Diagnostics& errors);
  explicit Failure(const core::Status& status);

  // Without a newline at the end.
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  // A JSON list, with the fields of `errors` in the documents of the command line.
  [[nodiscard]] const std::string& errors_json() const { return errors_json_; }

 private:
  std::string text_;
  std::string errors_json_;
};

// The value, or an exception with the errors.
template <class T>
[[nodiscard]] T value_of(spec::Result<T> result) {
  if (!result.ok()) throw Failure(result.errors());
  return std::move(result).value();
}
inline void value_of(const spec::Result<void>& result) {
  if (!result.ok()) throw Failure(result.errors());
}
// The same for an argument, which the errors name as the option of the command line.
template <class T>
[[nodiscard]] T value_of(spec::Result<T> result, const std::string& option) {
  if (result.ok()) return std::move(result).value();
  spec::Diagnostics errors = result.errors();
  for (spec::Diagnostic& error : errors) error.option = option;
  throw Failure(errors);
}
template <class T>
[[nodiscard]] T value_of(spec::Result<T> result, const load::Reading& reading) {
  if (!result.ok()) throw Failure(reading, result.errors());
  return std::move(result).value();
}

}  // namespace ripeline::python
