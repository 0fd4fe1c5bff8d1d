// Least and small values, found by repeated questions with a bound.
#include "verify/solver/least.h"

#include <numeric>

namespace ripeline::verify {

std::optional<std::int64_t> least(Solver& solver, const std::string& query, Term objective,
                                  std::int64_t lower_bound, std::vector<Term> extra) {
  if (solver.check(query, extra) != Answer::sat) return std::nullopt;
  std::int64_t low = lower_bound;
  std::int64_t high = solver.value(objective);
  bool current = true;  // the last model attains `high`
  extra.emplace_back();
  while (low < high) {
    const std::int64_t middle = std::midpoint(low, high);
    extra.back() = objective <= solver.number(middle);
    switch (solver.check(query, extra)) {
      case Answer::sat:
        high = solver.value(objective);
        current = true;
        break;
      case Answer::unsat:
        low = middle + 1;
        current = false;
        break;
      case Answer::unknown:
        return std::nullopt;
    }
  }
  if (!current) {
    extra.back() = objective <= solver.number(high);
    if (solver.check(query, extra) != Answer::sat) return std::nullopt;
  }
  return high;
}

std::optional<std::int64_t> small(Solver& solver, const std::string& query, Term objective,
                                  std::vector<Term> extra) {
  // The first model often has the least value; a proof of this takes long, so steps are limited.
  constexpr std::uint64_t kSteps = 300'000;
  if (solver.check(query, extra) != Answer::sat) return std::nullopt;
  std::int64_t best = solver.value(objective);
  bool current = true;  // the last model attains `best`
  extra.emplace_back();
  for (std::int64_t step = 1; step > 0;) {
    extra.back() = objective <= solver.number(best - step);
    if (solver.check(query, extra, kSteps) == Answer::sat) {
      best = solver.value(objective);
      current = true;
      step *= 2;
    } else {
      current = false;
      step /= 2;
    }
  }
  if (!current) {
    extra.back() = objective <= solver.number(best);
    if (solver.check(query, extra) != Answer::sat) return std::nullopt;
  }
  return best;
}

}  // namespace ripeline::verify
