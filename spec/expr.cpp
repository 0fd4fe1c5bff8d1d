// Expressions: exact arithmetic, evaluation, folding, printing.
//
// Recursion follows the tree; the parser bounds its depth.
#include "spec/expr.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "spec/infix.h"

namespace ripeline::spec {
namespace {

__extension__ using Wide = __int128;  // products of two 64-bit numbers

using Exact = std::optional<Rational>;  // nullopt if it overflows

Exact reduced(Wide numerator, Wide denominator) {
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  Wide a = numerator < 0 ? -numerator : numerator;
  Wide b = denominator;
  while (b != 0) a = std::exchange(b, a % b);
  if (a > 1) {
    numerator /= a;
    denominator /= a;
  }
  constexpr Wide kMax = std::numeric_limits<std::int64_t>::max();
  // The smallest integer is excluded, so that every number has a negation.
  if (numerator > kMax || numerator < -kMax || denominator > kMax) return std::nullopt;
  return Rational{static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator)};
}

Exact add(const Rational& a, const Rational& b, int sign) {
  // The two products are each below 2^126, so their sum still fits.
  return reduced(Wide{a.numerator} * b.denominator + sign * Wide{b.numerator} * a.denominator,
                 Wide{a.denominator} * b.denominator);
}

Exact multiply(const Rational& a, const Rational& b) {
  return reduced(Wide{a.numerator} * b.numerator, Wide{a.denominator} * b.denominator);
}

Exact divide(const Rational& a, const Rational& b) {
  return reduced(Wide{a.numerator} * b.denominator, Wide{a.denominator} * b.numerator);
}

Rational floor_of(const Rational& a) {
  std::int64_t quotient = a.numerator / a.denominator;
  if (a.numerator % a.denominator < 0) --quotient;
  return {quotient, 1};
}

Rational ceil_of(const Rational& a) {
  std::int64_t quotient = a.numerator / a.denominator;
  if (a.numerator % a.denominator > 0) ++quotient;
  return {quotient, 1};
}

Rational truth(bool value) { return {value ? 1 : 0, 1}; }
bool is_true(const Rational& value) { return value.numerator != 0; }

Diagnostic overflow(const Expr& expr) {
  return {"expr-overflow", "the value of " + print(expr) + " does not fit in 64 bits",
          "use smaller numbers", expr.span};
}

Exact arithmetic(const std::string& op, const Rational& a, const Rational& b) {
  if (op == "+") return add(a, b, 1);
  if (op == "-") return add(a, b, -1);
  if (op == "*") return multiply(a, b);
  if (op == "/") return divide(a, b);
  const Exact quotient = divide(a, b);
  if (!quotient) return std::nullopt;
  if (op == "div") return floor_of(*quotient);
  const Exact whole = multiply(floor_of(*quotient), b);
  return whole ? add(a, *whole, -1) : std::nullopt;
}

std::optional<bool> comparison(const std::string& op, const Rational& a, const Rational& b) {
  if (op == "<") return less(a, b);
  if (op == ">") return less(b, a);
  if (op == "<=") return !less(b, a);
  if (op == ">=") return !less(a, b);
  if (op == "==") return a == b;
  if (op == "!=") return !(a == b);
  return std::nullopt;
}

Result<Rational> evaluate_binary(const Expr& expr, const Lookup& lookup) {
  Result<Rational> left = evaluate(expr.args[0], lookup);
  if (!left.ok()) return left;
  // `and` and `or` do not evaluate the right side if the left decides.
  if (expr.text == "and" && !is_true(left.value())) return truth(false);
  if (expr.text == "or" && is_true(left.value())) return truth(true);
  Result<Rational> right = evaluate(expr.args[1], lookup);
  if (!right.ok()) return right;
  if (expr.text == "and" || expr.text == "or") return truth(is_true(right.value()));
  if (const auto holds = comparison(expr.text, left.value(), right.value())) return truth(*holds);
  const bool divides = expr.text == "/" || expr.text == "div" || expr.text == "%";
  if (divides && right.value().numerator == 0) {
    return Diagnostic{"expr-division-by-zero", print(expr.args[1]) + " is zero here",
                      "a divisor must never be zero", expr.args[1].span};
  }
  if (const Exact value = arithmetic(expr.text, left.value(), right.value())) return *value;
  return overflow(expr);
}

Result<Rational> evaluate_call(const Expr& expr, const Lookup& lookup) {
  Result<Rational> best = evaluate(expr.args[0], lookup);
  if (!best.ok()) return best;
  if (expr.text == "floor") return floor_of(best.value());
  if (expr.text == "ceil") return ceil_of(best.value());
  for (std::size_t i = 1; i < expr.args.size(); ++i) {
    Result<Rational> next = evaluate(expr.args[i], lookup);
    if (!next.ok()) return next;
    if (expr.text == "min" ? less(next.value(), best.value()) : less(best.value(), next.value())) {
      best = std::move(next);
    }
  }
  return best;
}

Expr number_of(const Rational& value, Span span) {
  Expr expr = Expr::number(value.numerator);
  if (!value.is_integer()) expr.text += " / " + std::to_string(value.denominator);
  expr.value = value;
  expr.span = span;
  return expr;
}

void collect_names(const Expr& expr, std::vector<std::string>& names) {
  if (expr.kind == Expr::Kind::name &&
      std::find(names.begin(), names.end(), expr.text) == names.end()) {
    names.push_back(expr.text);
  }
  for (const Expr& arg : expr.args) collect_names(arg, names);
}

// An expression gets parentheses if it binds less tightly than its position requires.
Strength strength(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::number:  // computed numbers may be negative or fractions
      if (expr.text.find('/') != std::string::npos) return Strength::product;
      return expr.value.numerator < 0 ? Strength::minus : Strength::atom;
    case Expr::Kind::unary:
      return expr.text == "not" ? Strength::negation : Strength::minus;
    case Expr::Kind::binary:
      return strength_of_binary(expr.text);
    case Expr::Kind::conditional:
      return Strength::conditional;
    case Expr::Kind::name:
    case Expr::Kind::call:
      break;
  }
  return Strength::atom;
}

void print_to(std::string& out, const Expr& expr, Strength least) {
  const Strength own = strength(expr);
  const bool parentheses = own < least;
  if (parentheses) out += '(';
  switch (expr.kind) {
    case Expr::Kind::number:
    case Expr::Kind::name:
      out += expr.text;
      break;
    case Expr::Kind::unary:
      out += expr.text == "not" ? "not " : "-";
      print_to(out, expr.args[0], own);
      break;
    case Expr::Kind::binary:
      // Operators of equal strength group to the left; comparisons do not chain.
      print_to(out, expr.args[0], own == Strength::comparison ? Strength::sum : own);
      out += " " + expr.text + " ";
      print_to(out, expr.args[1], tighter(own));
      break;
    case Expr::Kind::conditional:
      print_to(out, expr.args[0], Strength::disjunction);
      out += " ? ";
      print_to(out, expr.args[1], Strength::disjunction);
      out += " : ";
      print_to(out, expr.args[2], Strength::conditional);
      break;
    case Expr::Kind::call:
      out += expr.text + "(";
      for (std::size_t i = 0; i < expr.args.size(); ++i) {
        if (i > 0) out += ", ";
        print_to(out, expr.args[i], Strength::conditional);
      }
      out += ')';
      break;
  }
  if (parentheses) out += ')';
}

}  // namespace

Expr Expr::number(std::int64_t value) {
  Expr expr;
  expr.text = std::to_string(value);
  expr.value = {value, 1};
  return expr;
}

Expr Expr::name(std::string name) {
  Expr expr;
  expr.kind = Kind::name;
  expr.text = std::move(name);
  return expr;
}

Expr Expr::binary(std::string op, Expr left, Expr right) {
  Expr expr;
  expr.kind = Kind::binary;
  expr.text = std::move(op);
  expr.span = {left.span.begin, right.span.end};
  expr.args.push_back(std::move(left));
  expr.args.push_back(std::move(right));
  return expr;
}

bool same(const Expr& a, const Expr& b) {
  return a.kind == b.kind && a.text == b.text && a.value == b.value &&
         std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(),
                    [](const Expr& x, const Expr& y) { return same(x, y); });
}

bool less(const Rational& a, const Rational& b) {
  return Wide{a.numerator} * b.denominator < Wide{b.numerator} * a.denominator;
}

Result<Rational> evaluate(const Expr& expr, const Lookup& lookup) {
  switch (expr.kind) {
    case Expr::Kind::number:
      return expr.value;
    case Expr::Kind::name: {
      if (const auto value = lookup(expr.text)) return *value;
      return Diagnostic{"expr-unknown-name", "nothing here is called '" + expr.text + "'", "",
                        expr.span};
    }
    case Expr::Kind::unary: {
      Result<Rational> value = evaluate(expr.args[0], lookup);
      if (!value.ok()) return value;
      if (expr.text == "not") return truth(!is_true(value.value()));
      const Exact negative = multiply(value.value(), {-1, 1});
      if (!negative) return overflow(expr);
      return *negative;
    }
    case Expr::Kind::binary:
      return evaluate_binary(expr, lookup);
    case Expr::Kind::conditional: {
      Result<Rational> condition = evaluate(expr.args[0], lookup);
      if (!condition.ok()) return condition;
      return evaluate(expr.args[is_true(condition.value()) ? 1 : 2], lookup);
    }
    case Expr::Kind::call:
      return evaluate_call(expr, lookup);
  }
  return overflow(expr);
}

Expr fold(const Expr& expr, const Lookup& lookup) {
  if (expr.kind == Expr::Kind::number) return expr;
  Expr folded = expr;
  for (Expr& arg : folded.args) arg = fold(arg, lookup);
  const bool constant = std::all_of(folded.args.begin(), folded.args.end(),
                                    [](const Expr& arg) { return arg.kind == Expr::Kind::number; });
  if (constant) {
    const Result<Rational> value = evaluate(folded, lookup);
    if (value.ok()) return number_of(value.value(), expr.span);
  }
  // If the condition is known, only one branch remains, even if that branch is not constant.
  if (folded.kind == Expr::Kind::conditional && folded.args[0].kind == Expr::Kind::number) {
    return std::move(folded.args[is_true(folded.args[0].value) ? 1 : 2]);
  }
  return folded;
}

std::vector<std::string> names_in(const Expr& expr) {
  std::vector<std::string> names;
  collect_names(expr, names);
  return names;
}

std::string print(const Expr& expr) {
  std::string out;
  print_to(out, expr, Strength::conditional);
  return out;
}

}  // namespace ripeline::spec
