// Writes expressions of the language as C++.
//
// The C++ numbers are std::int64_t, or core::Fraction if a part of the expression divides exactly.
// Private to codegen/. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "spec/expr.h"

namespace ripeline::codegen {

// True if the value of `expr` or of one of its parts may not be an integer. The quotient in floor(a
// / b) or ceil(a / b) does not count, since a C++ function computes these.
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

  // `name` returns the C++ text for a name of the language. The type of that text is type().
  ExpressionText(bool fractions, NameText name) : fractions_(fractions), name_(std::move(name)) {}

  [[nodiscard]] bool has_fractions() const { return fractions_; }
  [[nodiscard]] const char* type() const { return fractions_ ? "core::Fraction" : "std::int64_t"; }
  // The text, in parentheses if the expression binds less tightly than `least`.
  [[nodiscard]] std::string number(const spec::Expr& expr, Rank least = kConditional) const {
    return number_text(expr).in(least);
  }
  // The text of the expression, as an argument of type std::int64_t.
  [[nodiscard]] std::string whole(const spec::Expr& expr) const;

 private:
  struct Text {
    std::string text;
    Rank rank = kAtom;
    [[nodiscard]] std::string in(Rank least) const {
      return rank < least ? "(" + text + ")" : text;
    }
  };

  [[nodiscard]] Text number_text(const spec::Expr& expr) const;
  [[nodiscard]] Text conditional(const spec::Expr& expr) const;
  [[nodiscard]] Text arithmetic(const spec::Expr& expr) const;
  [[nodiscard]] Text call(const spec::Expr& expr) const;
  [[nodiscard]] Text function(const std::string& name, const std::vector<spec::Expr>& args) const;
  [[nodiscard]] Text condition(const spec::Expr& expr) const;

  bool fractions_;
  NameText name_;
};

}  // namespace ripeline::codegen
