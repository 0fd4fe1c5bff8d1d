#include "verify/solver/expressions.h"

#include <functional>
#include <utility>
#include <vector>

namespace ripeline::verify {
namespace {

using spec::Expr;
using Kind = spec::Expr::Kind;

// The value numerator / denominator, with a denominator above 0.
struct Quotient {
  Term numerator;
  std::int64_t denominator = 1;
};

// Factors above this limit might overflow when they are multiplied.
constexpr std::int64_t kMostFactor = 1'000'000;

class Translation {
 public:
  Translation(Solver& solver, const Names& names) : solver_(solver), names_(names) {}

  std::optional<Quotient> translate(const Expr& expr) {
    switch (expr.kind) {
      case Kind::number:
        return scaled(solver_.number(expr.value.numerator), 1, expr.value.denominator);
      case Kind::name:
        return name(expr);
      case Kind::unary:
        return unary(expr);
      case Kind::binary:
        return binary(expr);
      case Kind::conditional:
        return conditional(expr);
      case Kind::call:
        return call(expr);
    }
    return fail(expr);
  }

  std::optional<Quotient> fail(const Expr& expr) {
    if (problem_.empty()) problem_ = "`" + print(expr) + "` is not linear in the microbatches";
    return std::nullopt;
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  std::optional<Quotient> scaled(Term term, std::int64_t factor, std::int64_t denominator) {
    if (denominator > kMostFactor || factor > kMostFactor || factor < -kMostFactor) {
      problem_ = "its numbers are too large";
      return std::nullopt;
    }
    return Quotient{factor == 1 ? term : factor * term, denominator};
  }

  std::optional<Quotient> name(const Expr& expr) {
    const auto it = names_.terms.find(expr.text);
    if (it == names_.terms.end()) {
      problem_ = "`" + expr.text + "` has no value here";
      return std::nullopt;
    }
    return Quotient{it->second, 1};
  }

  // Both expressions as quotients with one denominator.
  std::optional<std::pair<Quotient, Quotient>> aligned(const Expr& left, const Expr& right) {
    const auto a = translate(left);
    const auto b = translate(right);
    if (!a || !b) return std::nullopt;
    if (a->denominator == b->denominator) return std::pair{*a, *b};
    const auto wide_a = scaled(a->numerator, b->denominator, a->denominator * b->denominator);
    const auto wide_b = scaled(b->numerator, a->denominator, a->denominator * b->denominator);
    if (!wide_a || !wide_b) return std::nullopt;
    return std::pair{*wide_a, *wide_b};
  }

  std::optional<Quotient> truth(Term term) {
    return Quotient{if_then_else(term, solver_.number(1), solver_.number(0)), 1};
  }
  Term is_true(const Quotient& q) { return !(q.numerator == solver_.number(0)); }

  std::optional<Quotient> unary(const Expr& expr) {
    const auto a = translate(expr.args[0]);
    if (!a) return std::nullopt;
    if (expr.text == "not") return truth(!is_true(*a));
    return scaled(a->numerator, -1, a->denominator);
  }

  std::optional<Quotient> binary(const Expr& expr) {
    const std::string& op = expr.text;
    if (op == "*") return product(expr);
    if (op == "/" || op == "div" || op == "%") return quotient(expr);
    const auto both = aligned(expr.args[0], expr.args[1]);
    if (!both) return std::nullopt;
    const Term a = both->first.numerator;
    const Term b = both->second.numerator;
    if (op == "+") return Quotient{a + b, both->first.denominator};
    if (op == "-") return Quotient{a - b, both->first.denominator};
    if (op == "<") return truth(a < b);
    if (op == "<=") return truth(a <= b);
    if (op == ">") return truth(b < a);
    if (op == ">=") return truth(b <= a);
    if (op == "==") return truth(a == b);
    if (op == "!=") return truth(!(a == b));
    const Term x = is_true(both->first);
    const Term y = is_true(both->second);
    if (op == "and") return truth(solver_.all_of({x, y}));
    if (op == "or") return truth(solver_.any_of({x, y}));
    return fail(expr);
  }

  std::optional<Quotient> product(const Expr& expr) {
    const bool left = expr.args[0].kind == Kind::number;
    const Expr& factor = expr.args[left ? 0 : 1];
    if (factor.kind != Kind::number) return fail(expr);
    const auto other = translate(expr.args[left ? 1 : 0]);
    if (!other || factor.value.denominator > kMostFactor) return std::nullopt;
    return scaled(other->numerator, factor.value.numerator,
                  other->denominator * factor.value.denominator);
  }

  std::optional<Quotient> quotient(const Expr& expr) {
    const Expr& divisor = expr.args[1];
    if (divisor.kind != Kind::number || divisor.value.numerator <= 0 ||
        divisor.value.numerator > kMostFactor) {
      return fail(expr);
    }
    const auto a = translate(expr.args[0]);
    if (!a) return std::nullopt;
    const auto exact =
        scaled(a->numerator, divisor.value.denominator, a->denominator * divisor.value.numerator);
    if (!exact || expr.text == "/") return exact;
    if (expr.text == "div") return Quotient{floor_div(exact->numerator, exact->denominator), 1};
    if (a->denominator != 1 || divisor.value.denominator != 1) return fail(expr);
    return Quotient{floor_mod(a->numerator, divisor.value.numerator), 1};
  }

  std::optional<Quotient> conditional(const Expr& expr) {
    const auto condition = translate(expr.args[0]);
    const auto both = aligned(expr.args[1], expr.args[2]);
    if (!condition || !both) return std::nullopt;
    return Quotient{
        if_then_else(is_true(*condition), both->first.numerator, both->second.numerator),
        both->first.denominator};
  }

  std::optional<Quotient> call(const Expr& expr) {
    if (expr.text == "min" || expr.text == "max") return extreme(expr);
    const auto a = translate(expr.args[0]);
    if (!a) return std::nullopt;
    if (expr.text == "floor") return Quotient{floor_div(a->numerator, a->denominator), 1};
    if (expr.text == "ceil") {
      return Quotient{floor_div(a->numerator + solver_.number(a->denominator - 1), a->denominator),
                      1};
    }
    return fail(expr);
  }

  std::optional<Quotient> extreme(const Expr& expr) {
    std::vector<Quotient> args;
    std::int64_t denominator = 1;
    for (const Expr& arg : expr.args) {
      const auto q = translate(arg);
      if (!q) return std::nullopt;
      args.push_back(*q);
      denominator *= q->denominator;
      if (denominator > kMostFactor) return fail(expr);
    }
    std::optional<Term> best;
    for (const Quotient& q : args) {
      const auto wide = scaled(q.numerator, denominator / q.denominator, denominator);
      if (!wide) return std::nullopt;
      if (!best) {
        best = wide->numerator;
        continue;
      }
      const Term less = expr.text == "min" ? wide->numerator < *best : *best < wide->numerator;
      best = if_then_else(less, wide->numerator, *best);
    }
    return Quotient{*best, denominator};
  }

  Solver& solver_;
  const Names& names_;
  std::string problem_;
};

}  // namespace

spec::Expr folded(const Expr& expr, const Names& names) {
  return fold(expr, [&](std::string_view name) -> std::optional<spec::Rational> {
    const auto it = names.constants.find(name);
    if (it == names.constants.end()) return std::nullopt;
    return it->second;
  });
}

IntegerTerm integer_term(Solver& solver, const Expr& expr, const Names& names) {
  Translation translation(solver, names);
  const Expr simple = folded(expr, names);
  const auto found = translation.translate(simple);
  if (!found) {
    const std::string& problem = translation.problem();
    return {std::nullopt, problem.empty() ? "`" + print(simple) + "` is not supported" : problem};
  }
  if (found->denominator != 1) {
    return {std::nullopt, "`" + print(simple) + "` need not be an integer"};
  }
  return {found->numerator, ""};
}

}  // namespace ripeline::verify
