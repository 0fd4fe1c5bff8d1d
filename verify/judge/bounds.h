// Bounds on the amounts that pools hold: those that programs assert, and the least true bounds.
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

// One asserted bound of a pool; a pool may have several, and each must hold.
struct AssertedBound {
  int pool = 0;
  const spec::PeakAssertion* assertion = nullptr;
  Term bound;
};
// Errors: bound-not-linear, with the assertion's place in the source.
[[nodiscard]] spec::Result<std::vector<AssertedBound>> asserted_bounds(const spec::Program& program,
                                                                       Solver& solver,
                                                                       Term microbatches);
// For each pool its asserted bounds as functions of q; `microbatches` is a function of q, too.
// nullopt if a bound is not linear in q from q = `first` on, or has no integer value.
[[nodiscard]] std::optional<std::vector<std::vector<InQ>>> asserted_in_q(
    const spec::Program& program, InQ microbatches, std::int64_t first);
// The goal that has, for each pool, the least asserted bound for this count.
[[nodiscard]] Goal goal_of_assertions(const spec::Program& program, int microbatches);
// The source location of an asserted bound that has no integer value for this count, if there is
// one. Nothing can be proved about such a bound.
[[nodiscard]] std::optional<spec::Span> bound_without_value(const spec::Program& program,
                                                            int microbatches);
// The location of the assertion violated by a run that ends with a start of `last_lane`.
[[nodiscard]] spec::Span span_of_broken(const spec::Program& program, const Goal& goal,
                                        int microbatches, int last_lane);

// For each pool its capacity, which the guards enforce; nullopt if it has none.
[[nodiscard]] std::vector<std::optional<std::int64_t>> capacities_of(const spec::Program& program);
// For each pool the least bound that is never exceeded according to the queries of `above`; nullopt
// if the amount grows with the microbatches. `known` has for each pool the lowest bound to try.
[[nodiscard]] std::vector<std::optional<std::int64_t>> least_bounds(
    const spec::Program& program, Solver& solver,
    const std::function<Term(int pool, Term bound)>& above, std::vector<std::int64_t> known);

}  // namespace ripeline::verify
