// Bounds of what pools hold: what programs assert, and the least that hold.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "spec/program.h"
#include "verify/order/periods.h"
#include "verify/solver/solver.h"
#include "verify/states/goal.h"

namespace ripeline::verify {

// The asserted bound of a pool, if there is one: of several, each is a bound.
struct AssertedBound {
  int pool = 0;
  const spec::PeakAssertion* assertion = nullptr;
  Term bound;
};
// Errors: bound-not-linear, with its place.
[[nodiscard]] spec::Result<std::vector<AssertedBound>> asserted_bounds(const spec::Program& program,
                                                                       Solver& solver,
                                                                       Term microbatches);
// Per pool its asserted bounds, of `microbatches` in q; nothing: one of them is not linear from the
// least q of them on, or has no integer value.
[[nodiscard]] std::optional<std::vector<std::vector<InQ>>> asserted_in_q(
    const spec::Program& program, InQ microbatches, std::int64_t first);
// Per pool the least asserted bound for this count.
[[nodiscard]] Goal goal_of_assertions(const spec::Program& program, int microbatches);
// A bound that has no integer value for this count, with its place: it bounds nothing, so nothing
// is proved of it.
[[nodiscard]] std::optional<spec::Span> bound_without_value(const spec::Program& program,
                                                            int microbatches);
// The assertion that the last start of these events breaks.
[[nodiscard]] spec::Span span_of_broken(const spec::Program& program, const Goal& goal,
                                        int microbatches, int last_lane);

// The capacities, which the guards keep to: per pool, or nothing.
[[nodiscard]] std::vector<std::optional<std::int64_t>> capacities_of(const spec::Program& program);
// A bound of each pool that is never exceeded, the least that `above` shows, or nothing where it
// grows with the microbatches. `known`: below that nothing is asked.
[[nodiscard]] std::vector<std::optional<std::int64_t>> least_bounds(
    const spec::Program& program, Solver& solver,
    const std::function<Term(int pool, Term bound)>& above, std::vector<std::int64_t> known);

}  // namespace ripeline::verify
