// Bounds on the amounts that pools hold: those that programs assert, and the least true bounds.
#include "verify/judge/bounds.h"

#include <limits>
#include <numeric>
#include <utility>

#include "verify/order/eventually.h"
#include "verify/solver/expressions.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

using spec::Program;

namespace {

Names names_of(const Program& program, const spec::Pool& pool) {
  Names names;
  names.constants["r"] = {pool.rank, 1};
  if (pool.stage >= 0) names.constants["s"] = {pool.stage, 1};
  names.constants["chunks"] = {program.chunks(pool.rank), 1};
  return names;
}

// A guess: a pool that exceeds this amount grows with the microbatches. If the guess is wrong,
// which requires a program of unusual size, bounds are less tight.
std::int64_t beyond_growth(const Program& program) {
  std::int64_t sum = 1'000'000;
  for (const spec::Pool& pool : program.pools) sum += pool.capacity.value_or(0);
  return sum;
}

std::int64_t acquired_per_microbatch(const Program& program, int pool) {
  std::int64_t sum = 0;
  for (const spec::Lane& lane : program.lanes) {
    for (const auto& a : lane.acquires) sum += a.pool == pool ? a.amount : 0;
  }
  return sum;
}
// Each assertion with each pool to which it applies.
std::vector<std::pair<const spec::PeakAssertion*, int>> asserted_pools(const Program& program) {
  std::vector<std::pair<const spec::PeakAssertion*, int>> found;
  for (const spec::PeakAssertion& assertion : program.assertions) {
    for (int p = 0; p < size_of(program.pools); ++p) {
      if (at(program.pools, p).resource == assertion.resource) found.emplace_back(&assertion, p);
    }
  }
  return found;
}

}  // namespace

spec::Result<std::vector<AssertedBound>> asserted_bounds(const Program& program, Solver& solver,
                                                         Term microbatches) {
  std::vector<AssertedBound> found;
  for (const auto& [assertion, pool] : asserted_pools(program)) {
    Names names = names_of(program, at(program.pools, pool));
    names.terms["microbatches"] = microbatches;
    const IntegerTerm term = integer_term(solver, assertion->bound, names);
    if (!term.term) {
      return spec::Diagnostic{"bound-not-linear", "the bound " + term.problem, "", assertion->span};
    }
    found.push_back({pool, assertion, *term.term});
  }
  return found;
}

std::optional<std::vector<std::vector<InQ>>> asserted_in_q(const Program& program, InQ microbatches,
                                                           std::int64_t first) {
  std::vector<std::vector<InQ>> bounds(program.pools.size());
  Eventually math(first);
  const auto lookup = [&](std::string_view name) -> std::optional<Value> {
    if (name != "microbatches") return std::nullopt;
    return Value{microbatches.slope, microbatches.base, 1};
  };
  for (const auto& [assertion, pool] : asserted_pools(program)) {
    try {
      const Names names = names_of(program, at(program.pools, pool));
      const Value bound = math.value(folded(assertion->bound, names), lookup);
      if (bound.divisor != 1 || math.first() != first) return std::nullopt;
      at(bounds, pool).push_back({bound.slope, bound.base});
    } catch (const Trouble&) {
      return std::nullopt;
    }
  }
  return bounds;
}

Goal goal_of_assertions(const Program& program, int microbatches) {
  Goal goal;
  goal.bounds.resize(program.pools.size());
  for (const auto& [assertion, pool] : asserted_pools(program)) {
    const auto bound =
        spec::asserted_bound(program, *assertion, at(program.pools, pool), microbatches);
    auto& least = at(goal.bounds, pool);
    if (bound && (!least || *bound < *least)) least = bound;
  }
  return goal;
}

std::optional<spec::Span> bound_without_value(const Program& program, int microbatches) {
  for (const auto& [assertion, pool] : asserted_pools(program)) {
    if (!spec::asserted_bound(program, *assertion, at(program.pools, pool), microbatches)) {
      return assertion->span;
    }
  }
  return std::nullopt;
}

spec::Span span_of_broken(const Program& program, const Goal& goal, int microbatches,
                          int last_lane) {
  for (const spec::PeakAssertion& assertion : program.assertions) {
    for (const auto& a : at(program.lanes, last_lane).acquires) {
      const spec::Pool& pool = at(program.pools, a.pool);
      if (pool.resource != assertion.resource) continue;
      if (spec::asserted_bound(program, assertion, pool, microbatches) == at(goal.bounds, a.pool)) {
        return assertion.span;
      }
    }
  }
  return {};
}

std::vector<std::optional<std::int64_t>> capacities_of(const Program& program) {
  std::vector<std::optional<std::int64_t>> capacities;
  for (const spec::Pool& pool : program.pools) capacities.push_back(pool.capacity);
  return capacities;
}

std::vector<std::optional<std::int64_t>> least_bounds(
    const Program& program, Solver& solver, const std::function<Term(int pool, Term bound)>& above,
    std::vector<std::int64_t> known) {
  const int pools = size_of(program.pools);
  std::vector<std::optional<std::int64_t>> found(program.pools.size());
  const auto above_value = [&](int pool, std::int64_t bound) {
    return above(pool, solver.number(bound));
  };
  // Usually the known amounts bound every pool, so that one query settles all pools.
  std::vector<Term> more;
  for (int p = 0; p < pools; ++p) more.push_back(above_value(p, at(known, p)));
  if (solver.check("peak: as some run", {solver.any_of(more)}) == Answer::unsat) {
    for (int p = 0; p < pools; ++p) at(found, p) = at(known, p);
    return found;
  }
  // If that fails, one query may show that each pool can be full.
  std::vector<Term> full;
  for (int p = 0; p < pools; ++p) {
    const auto& capacity = at(program.pools, p).capacity;
    if (capacity) full.push_back(above_value(p, *capacity - 1));
  }
  const bool all_fill = !full.empty() && solver.check("peak: all full", full) == Answer::sat;
  for (int p = 0; p < pools; ++p) {
    const auto& capacity = at(program.pools, p).capacity;
    if (capacity && all_fill) {
      at(found, p) = *capacity;
      continue;
    }
    std::int64_t low = at(known, p);  // no amount below it is asked about
    std::int64_t high = 0;            // never exceeded
    if (capacity) {
      high = *capacity;
    } else if (program.microbatches.max) {
      const std::int64_t each = acquired_per_microbatch(program, p);
      if (each > std::numeric_limits<std::int64_t>::max() / *program.microbatches.max) continue;
      high = each * *program.microbatches.max;
    } else {
      high = beyond_growth(program);
      const std::string query = "peak: growth of " + program.pool_name(p);
      if (solver.check(query, {above_value(p, high)}) != Answer::unsat) continue;
    }
    while (low < high) {
      // Most pools can be full, so the greatest value is tried first; then the range is halved.
      const std::int64_t middle = high == capacity ? high - 1 : std::midpoint(low, high);
      const Answer answer = solver.check("peak: " + program.pool_name(p), {above_value(p, middle)});
      if (answer == Answer::sat) {
        low = middle + 1;
      } else if (answer == Answer::unsat) {
        high = middle;
      } else {
        break;
      }
    }
    at(found, p) = high;
  }
  return found;
}

}  // namespace ripeline::verify
