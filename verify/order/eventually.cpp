#include "verify/order/eventually.h"

#include <algorithm>
#include <numeric>

namespace ripeline::verify {

using spec::Expr;

namespace {

constexpr const char* kOverflow = "a number is too large";

std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) throw Trouble{kOverflow};
  return result;
}

std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) throw Trouble{kOverflow};
  return result;
}

std::int64_t floor_of(std::int64_t a, std::int64_t b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

// The value in lowest terms.
Value reduced(std::int64_t slope, std::int64_t base, std::int64_t divisor) {
  const std::int64_t common = std::gcd(std::gcd(slope, base), divisor);
  return {slope / common, base / common, divisor / common};
}

Value truth(bool value) { return {0, value ? 1 : 0, 1}; }

}  // namespace

Value Eventually::sum(const Value& a, const Value& b) {
  return reduced(add(multiply(a.slope, b.divisor), multiply(b.slope, a.divisor)),
                 add(multiply(a.base, b.divisor), multiply(b.base, a.divisor)),
                 multiply(a.divisor, b.divisor));
}

Value Eventually::difference(const Value& a, const Value& b) {
  return sum(a, {multiply(b.slope, -1), multiply(b.base, -1), b.divisor});
}

Value Eventually::product(const Value& a, const Value& b) {
  if (a.slope != 0 && b.slope != 0) throw Trouble{"it multiplies the microbatches by themselves"};
  const Value& number = a.slope == 0 ? a : b;
  const Value& other = a.slope == 0 ? b : a;
  return reduced(multiply(other.slope, number.base), multiply(other.base, number.base),
                 multiply(other.divisor, number.divisor));
}

Value Eventually::quotient(const Value& a, const Value& b) {
  if (b.slope != 0) throw Trouble{"it divides by the microbatches"};
  if (b.base == 0) throw Trouble{"it divides by 0"};
  const std::int64_t turn = b.base < 0 ? -1 : 1;
  return product(a, {0, multiply(turn, b.divisor), multiply(turn, b.base)});
}

Value Eventually::floor(const Value& a) {
  if (a.slope % a.divisor != 0) {
    throw Trouble{"its remainder depends on the microbatches",
                  a.divisor / std::gcd(a.slope, a.divisor)};
  }
  return {a.slope / a.divisor, floor_of(a.base, a.divisor), 1};
}

int Eventually::sign(const Value& a) {
  const auto of = [](std::int64_t x) { return x < 0 ? -1 : x > 0 ? 1 : 0; };
  if (a.slope == 0) return of(a.base);
  const int later = of(a.slope);
  // From the first q beyond -base / slope on, the sign is that of the slope.
  const std::int64_t turned = multiply(a.base, -later);
  first_ = std::max(first_, add(floor_of(turned, multiply(a.slope, later)), 1));
  return later;
}

Value Eventually::value(const Expr& expr, const Lookup& lookup) {
  switch (expr.kind) {
    case Expr::Kind::number:
      return {0, expr.value.numerator, expr.value.denominator};
    case Expr::Kind::name:
      if (const std::optional<Value> known = lookup(expr.text)) return *known;
      throw Trouble{"it depends on `" + expr.text + "`"};
    case Expr::Kind::unary: {
      const Value of = value(expr.args[0], lookup);
      return expr.text == "not" ? truth(sign(of) == 0) : difference({}, of);
    }
    case Expr::Kind::binary:
      return binary(expr, lookup);
    case Expr::Kind::conditional:
      return value(expr.args[sign(value(expr.args[0], lookup)) != 0 ? 1 : 2], lookup);
    case Expr::Kind::call:
      return call(expr, lookup);
  }
  return {};
}

Value Eventually::binary(const Expr& expr, const Lookup& lookup) {
  const std::string& op = expr.text;
  const Value a = value(expr.args[0], lookup);
  if (op == "and" && sign(a) == 0) return truth(false);
  if (op == "or" && sign(a) != 0) return truth(true);
  const Value b = value(expr.args[1], lookup);
  if (op == "+") return sum(a, b);
  if (op == "-") return difference(a, b);
  if (op == "*") return product(a, b);
  if (op == "/") return quotient(a, b);
  if (op == "div") return floor(quotient(a, b));
  if (op == "%") return difference(a, product(floor(quotient(a, b)), b));
  if (op == "and" || op == "or") return truth(sign(b) != 0);
  const int compared = sign(difference(a, b));
  if (op == "<") return truth(compared < 0);
  if (op == "<=") return truth(compared <= 0);
  if (op == ">") return truth(compared > 0);
  if (op == ">=") return truth(compared >= 0);
  if (op == "==") return truth(compared == 0);
  if (op == "!=") return truth(compared != 0);
  throw Trouble{"it has an operator `" + op + "`"};
}

Value Eventually::call(const Expr& expr, const Lookup& lookup) {
  Value result = value(expr.args[0], lookup);
  if (expr.text == "floor") return floor(result);
  if (expr.text == "ceil") return difference({}, floor(difference({}, result)));
  if (expr.text != "min" && expr.text != "max") {
    throw Trouble{"it calls `" + expr.text + "`"};
  }
  for (std::size_t i = 1; i < expr.args.size(); ++i) {
    const Value next = value(expr.args[i], lookup);
    const bool less = sign(difference(next, result)) < 0;
    if (less == (expr.text == "min")) result = next;
  }
  return result;
}

}  // namespace ripeline::verify
