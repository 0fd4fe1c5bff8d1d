#include "spec/ranges.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace ripeline::spec {
namespace {

__extension__ using Wide = __int128;  // products of two 64-bit numbers
using RangeLookup = std::function<std::optional<Range>(std::string_view)>;

struct WideRange {
  Wide least = 0;
  Wide most = 0;
};

std::string text_of(const Range& range) {
  return range.least == range.most
             ? std::to_string(range.least)
             : std::to_string(range.least) + " .. " + std::to_string(range.most);
}

// The smallest integer is excluded, as in spec/expr.h.
Result<Range> fitting(const Expr& expr, const WideRange& range) {
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  if (range.least < -kMost || range.most > kMost) {
    return Diagnostic{"range-overflow", print(expr) + " may be too large for 64 bits",
                      "bound its parts, with min and max", expr.span};
  }
  return Range{static_cast<std::int64_t>(range.least), static_cast<std::int64_t>(range.most)};
}

template <class Do>
WideRange corners(const Range& a, const Range& b, const Do& value) {
  const std::array<Wide, 4> all = {value(a.least, b.least), value(a.least, b.most),
                                   value(a.most, b.least), value(a.most, b.most)};
  return {*std::min_element(all.begin(), all.end()), *std::max_element(all.begin(), all.end())};
}

Wide floor_div(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

// The divisor cannot be 0, so the quotient is monotonic between the ends of both ranges.
WideRange quotient(const Range& a, const Range& b, bool up) {
  return corners(a, b, [up](Wide x, Wide y) { return up ? -floor_div(-x, y) : floor_div(x, y); });
}

// The remainder's range; modulo() also bounds the intermediate product b * (a div b).
WideRange remainder(const Range& a, const Range& b) {
  const Wide most = std::max<Wide>(b.most, 0);
  const Wide least = std::min<Wide>(b.least, 0);
  if (a.least >= 0 && b.least > a.most) return {a.least, a.most};
  return {least == 0 ? 0 : least + 1, most == 0 ? 0 : most - 1};
}

std::optional<bool> truth(const Range& range) {
  if (range == Range{0, 0}) return false;
  if (range.least > 0 || range.most < 0) return true;
  return std::nullopt;
}
Range known(std::optional<bool> truth) {
  if (!truth) return {0, 1};
  return *truth ? Range{1, 1} : Range{0, 0};
}

std::optional<bool> less(const Range& a, const Range& b) {
  if (a.most < b.least) return true;
  if (a.least >= b.most) return false;
  return std::nullopt;
}
std::optional<bool> opposite(std::optional<bool> of) {
  return of ? std::optional(!*of) : std::nullopt;
}
std::optional<bool> equal(const Range& a, const Range& b) {
  if (a.least == a.most && a == b) return true;
  if (a.most < b.least || b.most < a.least) return false;
  return std::nullopt;
}

class Ranges {
 public:
  explicit Ranges(const RangeLookup& lookup) : lookup_(lookup) {}

  Result<Range> of(const Expr& expr) const {
    switch (expr.kind) {
      case Expr::Kind::number:
        if (!expr.value.is_integer()) return fraction(expr);
        return Range{expr.value.numerator, expr.value.numerator};
      case Expr::Kind::name:
        if (const auto range = lookup_(expr.text)) return *range;
        return Diagnostic{"expr-unknown-name", "nothing here is called '" + expr.text + "'", "",
                          expr.span};
      case Expr::Kind::unary: {
        const Result<Range> range = of(expr.args[0]);
        if (!range.ok()) return range;
        if (expr.text == "not") return known(opposite(truth(range.value())));
        return Range{-range.value().most, -range.value().least};
      }
      case Expr::Kind::binary:
        return of_binary(expr);
      case Expr::Kind::conditional:
        return of_conditional(expr);
      case Expr::Kind::call:
        return of_call(expr);
    }
    return Range{};
  }

 private:
  static Diagnostic fraction(const Expr& expr) {
    return {"range-not-integer", print(expr) + " may be no integer",
            "a rank computes with integers: write div, or floor or ceil around the division",
            expr.span};
  }

  Result<Range> of_divisor(const Expr& expr) const {
    Result<Range> range = of(expr);
    if (!range.ok() || range.value().least > 0 || range.value().most < 0) return range;
    return Diagnostic{"range-division-by-zero",
                      print(expr) + " may be zero: it is " + text_of(range.value()),
                      "a divisor must never be zero: write max(1, " + print(expr) + ")", expr.span};
  }

  Result<Range> divided(const Expr& whole, const Expr& division, bool up) const {
    const Result<Range> a = of(division.args[0]);
    if (!a.ok()) return a;
    const Result<Range> b = of_divisor(division.args[1]);
    if (!b.ok()) return b;
    return fitting(whole, quotient(a.value(), b.value(), up));
  }

  Result<Range> modulo(const Expr& expr) const {
    const Result<Range> a = of(expr.args[0]);
    if (!a.ok()) return a;
    const Result<Range> b = of_divisor(expr.args[1]);
    if (!b.ok()) return b;
    const Wide size = std::max<Wide>(b.value().most, -Wide{b.value().least});
    const Result<Range> on_the_way =
        fitting(expr, {Wide{a.value().least} - size, Wide{a.value().most} + size});
    if (!on_the_way.ok()) return on_the_way;
    return fitting(expr, remainder(a.value(), b.value()));
  }

  Result<Range> of_binary(const Expr& expr) const {
    const std::string& op = expr.text;
    if (op == "/") return fraction(expr);
    if (op == "div") return divided(expr, expr, false);
    if (op == "%") return modulo(expr);
    const Result<Range> left = of(expr.args[0]);
    if (!left.ok()) return left;
    const Range a = left.value();
    // The right side is not evaluated if the left decides.
    if (op == "and" && truth(a) == false) return known(false);
    if (op == "or" && truth(a) == true) return known(true);
    const Result<Range> right = of(expr.args[1]);
    if (!right.ok()) return right;
    const Range b = right.value();
    if (op == "and" || op == "or") return known(truth(a) == truth(b) ? truth(a) : joined(op, a, b));
    if (op == "+") return fitting(expr, {Wide{a.least} + b.least, Wide{a.most} + b.most});
    if (op == "-") return fitting(expr, {Wide{a.least} - b.most, Wide{a.most} - b.least});
    if (op == "*") {
      return fitting(expr, corners(a, b, [](Wide x, Wide y) { return x * y; }));
    }
    if (op == "<") return known(less(a, b));
    if (op == ">") return known(less(b, a));
    if (op == "<=") return known(opposite(less(b, a)));
    if (op == ">=") return known(opposite(less(a, b)));
    return known(op == "==" ? equal(a, b) : opposite(equal(a, b)));
  }

  // The truth of an `and` or an `or`, if one side alone decides it; else nullopt.
  static std::optional<bool> joined(const std::string& op, const Range& a, const Range& b) {
    const bool decides = op == "or";
    if (truth(a) == decides || truth(b) == decides) return decides;
    return std::nullopt;
  }

  Result<Range> of_conditional(const Expr& expr) const {
    const Result<Range> condition = of(expr.args[0]);
    if (!condition.ok()) return condition;
    if (const auto holds = truth(condition.value())) return of(expr.args[*holds ? 1 : 2]);
    const Result<Range> a = of(expr.args[1]);
    if (!a.ok()) return a;
    const Result<Range> b = of(expr.args[2]);
    if (!b.ok()) return b;
    return Range{std::min(a.value().least, b.value().least),
                 std::max(a.value().most, b.value().most)};
  }

  Result<Range> of_call(const Expr& expr) const {
    const Expr& first = expr.args[0];
    const bool rounds = expr.text == "floor" || expr.text == "ceil";
    if (rounds && first.kind == Expr::Kind::binary && first.text == "/") {
      return divided(expr, first, expr.text == "ceil");
    }
    Result<Range> all = of(first);
    for (std::size_t i = 1; i < expr.args.size() && all.ok(); ++i) {
      const Result<Range> next = of(expr.args[i]);
      if (!next.ok()) return next;
      const Range a = all.value();
      const Range b = next.value();
      all = expr.text == "min" ? Range{std::min(a.least, b.least), std::min(a.most, b.most)}
                               : Range{std::max(a.least, b.least), std::max(a.most, b.most)};
    }
    return all;
  }

  const RangeLookup& lookup_;
};

}  // namespace

Result<Range> range_of(const Expr& expr, const RangeLookup& lookup) {
  return Ranges(lookup).of(expr);
}

}  // namespace ripeline::spec
