// Writes expressions of the language as C++.
//
// Their numbers are std::int64_t, or core::Fraction if a part divides exactly. Private to codegen/.
// Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "spec/expr.h"

namespace ripeline::codegen {

// Whether the value of `expr` or of a part may not be an integer; floor(a / b) and ceil(a / b) do
// not count, as they have functions of their own in C++.
[[nodiscard]] bool has_fractions(const spec::Expr& expr);

class ExpressionText {
 public:
  // The ranks of C++'s operators: a higher one binds tighter.
  enum Rank : std::uint8_t {
    kConditional,
    kOr,
    kAnd,
    kEqual,
    kCompare,
    kSum,
    kProduct,
    kUnary,
    kAtom
  };
  using NameText = std::function<std::string(const std::string&)>;

  // `name` gives the C++ text for a name, an expression of type type().
  ExpressionText(bool fractions, NameText name) : fractions_(fractions), name_(std::move(name)) {}

  [[nodiscard]] bool has_fractions() const { return fractions_; }
  [[nodiscard]] const char* type() const { return fractions_ ? "core::Fraction" : "std::int64_t"; }
  // In parentheses if the expression binds less tightly than `least`.
  [[nodiscard]] std::string number(const spec::Expr& expr, Rank least = kConditional) const;
  // The text as an argument of type std::int64_t.
  [[nodiscard]] std::string whole(const spec::Expr& expr) const;

 private:
  struct Text {
    std::string text;
    Rank rank = kAtom;
  };

  static std::string at_least(const Text& text, Rank least);
  [[nodiscard]] Text number_text(const spec::Expr& expr) const;
  [[nodiscard]] std::string branch(const spec::Expr& expr) const;
  [[nodiscard]] Text literal(const spec::Rational& value) const;
  [[nodiscard]] Text arithmetic(const spec::Expr& expr) const;
  [[nodiscard]] Text call(const spec::Expr& expr) const;
  [[nodiscard]] Text function(const std::string& name, const std::vector<spec::Expr>& args) const;
  [[nodiscard]] std::string condition(const spec::Expr& expr, Rank least) const;
  [[nodiscard]] Text condition_text(const spec::Expr& expr) const;

  bool fractions_;
  NameText name_;
};

}  // namespace ripeline::codegen
