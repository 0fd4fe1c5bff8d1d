// Least and small values, found by repeated questions with a bound.
#include "verify/solver/least.h"

#include <algorithm>

namespace ripeline::verify {

std::optional<std::int64_t> least(Solver& solver, const std::string& query, Term objective,
                                  std::int64_t lower_bound, std::vector<Term> extra) {
  // The least value is often the lower bound or near it, so the bounds in the questions grow from
  // there by 1, 2, 4, …, and only the last steps halve what is left.
  std::int64_t low = lower_bound;
  std::optional<std::int64_t> high;
  bool current = false;  // the last model attains `high`
  const auto ask = [&](const std::vector<Term>& terms) {
    const Answer answer = solver.check(query, terms);
    current = answer == Answer::sat;
    if (current) high = solver.value(objective);
    return answer;
  };
  const auto at_most = [&](std::int64_t bound) {
    std::vector<Term> terms = extra;
    terms.push_back(objective <= solver.number(bound));
    return ask(terms);
  };
  Answer answer = at_most(low);
  if (answer == Answer::unsat) {
    ++low;
    answer = ask(extra);
  }
  if (answer != Answer::sat) return std::nullopt;
  constexpr std::int64_t kLongest = std::int64_t{1} << 60;
  for (std::int64_t step = 1; low < *high; step = std::min(2 * step, kLongest)) {
    const std::int64_t bound = low + std::min(step - 1, (*high - low) / 2);
    answer = at_most(bound);
    if (answer == Answer::unknown) return std::nullopt;
    if (answer == Answer::unsat) low = bound + 1;
  }
  if (!current && at_most(*high) != Answer::sat) return std::nullopt;
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
