// Expressions: integers, and exact fractions where a cost or a hint's setting is a decimal.
//
// One tree serves all expressions; their place decides which names are known. `/` is exact, `div`
// and `%` round down. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/diagnostics.h"

namespace ripeline::spec {

// An exact number, always in lowest terms with a positive denominator. Overflow of 64 bits is
// reported by the operations, never silent.
struct Rational {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
  bool operator==(const Rational&) const = default;
  [[nodiscard]] bool is_integer() const { return denominator == 1; }
  // The value as a rounded double, for times and settings, never for a verdict.
  [[nodiscard]] double value() const {
    return static_cast<double>(numerator) / static_cast<double>(denominator);
  }
};

[[nodiscard]] bool less(const Rational& a, const Rational& b);

struct Expr {
  enum class Kind : std::uint8_t {
    number,       // text is the literal as written, value is its value
    name,         // text is the name
    unary,        // text is - or not; one argument
    binary,       // text is + - * / div % < <= > >= == != and or; two arguments
    conditional,  // condition ? a : b; three arguments
    call,         // text is min max ceil floor; one or more arguments
  };
  Kind kind = Kind::number;
  std::string text = "0";
  Rational value;
  std::vector<Expr> args;
  Span span;

  static Expr number(std::int64_t value);
  static Expr name(std::string name);
  static Expr binary(std::string op, Expr left, Expr right);
};

// Whether the trees are the same, ignoring spans.
[[nodiscard]] bool same(const Expr& a, const Expr& b);

// The value of a name, or nullopt if the name is not known.
using Lookup = std::function<std::optional<Rational>(std::string_view)>;

// Truth values are 1 and 0. Errors: expr-unknown-name, expr-division-by-zero, expr-overflow.
[[nodiscard]] Result<Rational> evaluate(const Expr& expr, const Lookup& lookup);

// Replaces the names that `lookup` knows by their values, and computes the parts that are then
// constant. A part that fails to compute is left as it is.
[[nodiscard]] Expr fold(const Expr& expr, const Lookup& lookup);

// Every name in the expression, each once, in order of first use.
[[nodiscard]] std::vector<std::string> names_in(const Expr& expr);

// The text of the expression in the language, with the fewest parentheses.
[[nodiscard]] std::string print(const Expr& expr);

}  // namespace ripeline::spec
