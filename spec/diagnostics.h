// Diagnostics: what is wrong with a program, where, and what to do. Also Result, a value or
// diagnostics, which functions that compile a program return.
//
// They are rendered as
//   chain.ripe:9:34: error[need-unknown-op]: no op is called 'G'
//     op F forward  { cost 1;  needs G at prev; }
//                                    ^
//     ops here: F, B. Did you mean F?
// Ids are stable: tests, tools and people refer to them. Plain values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ripeline::spec {

// Bytes begin .. end-1 of the source; lines and columns are derived when printed.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const Span&) const = default;
};

struct Diagnostic {
  std::string id;       // kebab-case, stable
  std::string message;  // one sentence without a full stop: what is wrong
  std::string hint;     // the expectation or the remedy; may be empty
  Span span;
  // The wrong command-line option, such as -D ranks=9; empty if the error is in the text.
  std::string option = {};
  bool operator==(const Diagnostic&) const = default;
};

using Diagnostics = std::vector<Diagnostic>;

// An error that has no place in a text, as for a wrong option or a file that cannot be read; the
// sentence names the option or file. The error's id is `input`.
[[nodiscard]] Diagnostic failure(std::string sentence);
[[nodiscard]] bool is_failure(const Diagnostic& error);

// A text and the name that messages give it.
struct Source {
  std::string name;  // as the user wrote it: a path, a library name, or <stdin>
  std::string text;
};

struct Position {
  int line = 1;    // from 1
  int column = 1;  // from 1, in bytes
};
[[nodiscard]] Position position_of(const Source& source, std::size_t offset);

// All diagnostics, sorted by position, each with its source line and a caret.
[[nodiscard]] std::string render(const Source& source, const Diagnostics& diagnostics);

// The candidate nearest to `name`, if it is so near that it may have been meant.
[[nodiscard]] std::optional<std::string> nearest(std::string_view name,
                                                 const std::vector<std::string>& candidates);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Diagnostics errors) : state_(std::in_place_index<1>, std::move(errors)) {}
  Result(Diagnostic error) : state_(std::in_place_index<1>, Diagnostics{std::move(error)}) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] const Diagnostics& errors() const { return std::get<1>(state_); }

 private:
  std::variant<T, Diagnostics> state_;
};

// Success without a value, or at least one diagnostic that gives the reason of the failure.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Diagnostics errors) : errors_(std::move(errors)) {}
  Result(Diagnostic error) : errors_{std::move(error)} {}

  [[nodiscard]] bool ok() const { return errors_.empty(); }
  [[nodiscard]] const Diagnostics& errors() const { return errors_; }

 private:
  Diagnostics errors_;
};

}  // namespace ripeline::spec
