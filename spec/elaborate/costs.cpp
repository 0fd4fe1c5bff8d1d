#include "spec/elaborate/costs.h"

#include <algorithm>

#include <fmt/format.h>

namespace ripeline::spec::elaboration {
namespace {

// Bounds the time spent on trying microbatches. Errors beyond this limit are found by the code that
// evaluates a cost.
constexpr std::int64_t kMostTrials = 1'000'000;

const ast::Cost* written_cost(const ast::Op& op) {
  for (const ast::OpClause& clause : op.clauses) {
    if (const auto* cost = std::get_if<ast::Cost>(&clause.value)) return cost;
  }
  return nullptr;
}

bool has_name(const Expr& expr, std::string_view name) {
  const Names names = names_in(expr);
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The power of `input` with which an expression grows; nullopt if it does not grow with a power.
using Degree = std::optional<int>;
constexpr int kZero = -1;  // the expression is 0, which fits every power

Degree degree_of(const Expr& expr);

Degree common(const Degree& a, const Degree& b) {
  if (!a || !b) return std::nullopt;
  if (*a == kZero) return b;
  return *b == kZero || a == b ? a : std::nullopt;
}

// Whether the expression does not depend on `input`.
bool is_constant(const Expr& expr) { return degree_of(expr).value_or(1) <= 0; }

Degree degree_of_binary(const Expr& expr) {
  const Degree left = degree_of(expr.args[0]);
  const Degree right = degree_of(expr.args[1]);
  if (expr.text == "+" || expr.text == "-") return common(left, right);
  if (!left || !right) return std::nullopt;
  if (expr.text == "*") return std::min(*left, *right) == kZero ? kZero : *left + *right;
  if (expr.text == "/") return *right <= 0 ? left : std::nullopt;
  return *left <= 0 && *right <= 0 ? Degree(0) : std::nullopt;
}

Degree degree_of(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::number:
      return expr.value.numerator == 0 ? kZero : 0;
    case Expr::Kind::name:
      return expr.text == "input" ? 1 : 0;
    case Expr::Kind::unary:
      if (expr.text == "-") return degree_of(expr.args[0]);
      return is_constant(expr.args[0]) ? Degree(0) : std::nullopt;
    case Expr::Kind::binary:
      return degree_of_binary(expr);
    case Expr::Kind::conditional:
      if (!is_constant(expr.args[0])) return std::nullopt;
      return common(degree_of(expr.args[1]), degree_of(expr.args[2]));
    case Expr::Kind::call: {
      Degree all = degree_of(expr.args[0]);
      for (std::size_t i = 1; i < expr.args.size(); ++i) all = common(all, degree_of(expr.args[i]));
      const bool rounds = expr.text == "floor" || expr.text == "ceil";
      return rounds && all.value_or(1) > 0 ? std::nullopt : all;
    }
  }
  return std::nullopt;
}

// How many microbatches are tried for each lane.
int tried(const Work& work) {
  const auto lanes = static_cast<std::int64_t>(work.program.stages.size() * work.ops.size());
  const std::int64_t most = std::max<std::int64_t>(1, kMostTrials / lanes);
  return static_cast<int>(std::min<std::int64_t>(
      {kTriedMicrobatches, most, work.program.microbatches.max.value_or(kTriedMicrobatches)}));
}

// Reports the errors of the first microbatch that has some.
void try_microbatches(Work& work, const Cost& cost, const Share& share, const std::string& name,
                      const std::string& where) {
  const int end = tried(work);
  // With an input order other than natural, any input may be any microbatch.
  const bool all = work.program.inputs != InputOrder::natural;
  for (int m = 0; m < end; ++m) {
    if (!all && !share.has(m)) continue;
    const Result<Rational> value = cost.of(m);
    if (value.ok()) continue;
    for (const Diagnostic& d : value.errors()) {
      const std::string message =
          d.id == "cost-negative" ? "the cost of " + name + " is negative" : d.message;
      work.error(d.id, fmt::format("{}{}, of microbatch {}", message, where, m), d.hint, d.span);
    }
    return;
  }
}

}  // namespace

void check_cost(Work& work, const ast::Op& op) {
  const ast::Cost* const cost = written_cost(op);
  if (cost == nullptr) return;
  const bool input = has_name(cost->value, "input");
  if (op.once && (input || has_name(cost->value, "m"))) {
    work.error(
        "cost-once",
        fmt::format("{} runs once in a step, and its cost is one of a microbatch", op.name.text),
        "a cost of an op that is `once` names neither m nor input", cost->value.span);
  }
  if (input && degree_of(cost->value).value_or(2) > 1) {
    work.error("cost-input", fmt::format("the cost of {} is no multiple of input", op.name.text),
               "all tasks of a microbatch take `input` times as long: write E * input, or E",
               cost->value.span);
  }
}

Cost cost_of(Work& work, const ast::Op& op, const Share& share, const Values& values,
             const std::string& where) {
  const ast::Cost* const written = written_cost(op);
  if (written == nullptr) return {};
  Values known = values;
  known.set("input", 1);  // the mean of `input`
  const Expr& expr = written->value;
  if (has_name(expr, "m")) {
    Expr folded = fold(expr, known.lookup());
    folded.span = expr.span;
    if (has_name(folded, "m")) {
      Cost cost = Cost::by_microbatch(std::move(folded));
      try_microbatches(work, cost, share, op.name.text, where);
      return cost;
    }
  }
  const auto value = value_of(work, expr, known, where);
  if (value && value->numerator < 0) {
    work.error("cost-negative", fmt::format("the cost of {} is negative{}", op.name.text, where),
               "a cost is 0 or more", expr.span);
  }
  return {.each = value.value_or(Rational{1, 1})};
}

}  // namespace ripeline::spec::elaboration
