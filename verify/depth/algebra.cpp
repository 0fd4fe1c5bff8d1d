#include "verify/depth/algebra.h"

#include "verify/solver/expressions.h"

namespace ripeline::verify::depth {

using spec::Expr;
using Kind = spec::Expr::Kind;

namespace {

// The greatest quotient that is tried for a division by an expression. This suffices for stages if
// a rank has at most this many.
constexpr std::int64_t kMostQuotient = 64;

Expr replaced(const Expr& expr, const Meaning& meaning) {
  if (expr.kind == Kind::name) {
    const auto it = meaning.find(expr.text);
    return it == meaning.end() ? expr : it->second;
  }
  Expr result = expr;
  for (Expr& arg : result.args) arg = replaced(arg, meaning);
  return result;
}

Expr constants_folded(const Expr& expr) {
  return fold(expr, [](std::string_view) { return std::optional<spec::Rational>{}; });
}

bool is_division(const Expr& expr) {
  return expr.kind == Kind::binary && (expr.text == "%" || expr.text == "div") &&
         expr.args[1].kind != Kind::number;
}

}  // namespace

Algebra::Algebra(int least_ranks, const SolverUse& use) : least_ranks_(least_ranks), solver_(use) {
  r_ = solver_.integer("r");
  ranks_ = solver_.integer("ranks");
  microbatches_ = solver_.integer("microbatches");
  solver_.require(solver_.number(least_ranks) <= ranks_);
  solver_.require(solver_.number(0) <= r_);
  solver_.require(r_ < ranks_);
  solver_.require(solver_.number(1) <= microbatches_);
}

Expr Algebra::normal(const Expr& expr, const Meaning& meaning) {
  const std::function<Expr(const Expr&)> resolve = [&](const Expr& e) {
    Expr result = e;
    for (Expr& arg : result.args) arg = resolve(arg);
    return is_division(result) ? resolved(std::move(result)) : result;
  };
  return constants_folded(resolve(constants_folded(replaced(expr, meaning))));
}

Expr Algebra::resolved(Expr division) {
  const auto dividend = term(division.args[0]);
  const auto divisor = term(division.args[1]);
  if (!dividend || !divisor || !always(solver_.number(1) <= *divisor)) return division;
  for (std::int64_t k = 0; k < kMostQuotient; ++k) {
    if (!always(k * *divisor <= *dividend)) return division;
    if (!always(*dividend < (k + 1) * *divisor)) continue;
    if (division.text == "div") return Expr::number(k);
    return Expr::binary("-", division.args[0],
                        Expr::binary("*", Expr::number(k), division.args[1]));
  }
  return division;
}

std::optional<Term> Algebra::term(const Expr& expr) {
  const Names names{{}, {{"r", r_}, {"ranks", ranks_}, {"microbatches", microbatches_}}};
  return integer_term(solver_, expr, names).term;
}

std::string Algebra::problem(const Expr& expr) {
  const Names names{{}, {{"r", r_}, {"ranks", ranks_}, {"microbatches", microbatches_}}};
  const std::string known = integer_term(solver_, expr, names).problem;
  if (known.find("is not linear") == std::string::npos) return known;
  return "`" + print(expr) +
         "` is not linear in the rank, the number of ranks and the microbatches";
}

bool Algebra::always(Term truth) {
  return solver_.check("depth: always", {!truth}) == Answer::unsat;
}

bool Algebra::always_equal(const Expr& a, const Expr& b) {
  const auto x = term(a);
  const auto y = term(b);
  return x && y && always(*x == *y);
}

bool Algebra::always_at_least(const Expr& a, std::int64_t least) {
  const auto x = term(a);
  return x && always(solver_.number(least) <= *x);
}

std::optional<std::int64_t> Algebra::constant(const Expr& expr) {
  if (expr.kind == Kind::number && expr.value.is_integer()) return expr.value.numerator;
  const auto value = evaluate(expr, [&](std::string_view name) -> std::optional<spec::Rational> {
    return spec::Rational{name == "r" ? 0 : name == "ranks" ? least_ranks_ : 1, 1};
  });
  if (!value.ok() || !value.value().is_integer()) return std::nullopt;
  const std::int64_t guess = value.value().numerator;
  if (!always_equal(expr, Expr::number(guess))) return std::nullopt;
  return guess;
}

}  // namespace ripeline::verify::depth
