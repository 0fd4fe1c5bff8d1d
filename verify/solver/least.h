// Least and small values of a term, found by asking a solver repeatedly with a bound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/solver/solver.h"

namespace ripeline::verify {

// The least value of `objective` that the extra terms allow; the caller knows that they allow a
// value. The solver's last model attains it. nullopt if the solver gives no answer.
[[nodiscard]] std::optional<std::int64_t> least(Solver& solver, const std::string& query,
                                                Term objective, std::int64_t lower_bound,
                                                std::vector<Term> extra);

// A small value of `objective`, found with few steps; the solver's last model attains it. nullopt
// if the extra terms allow no value, or the solver gives no answer.
[[nodiscard]] std::optional<std::int64_t> small(Solver& solver, const std::string& query,
                                                Term objective, std::vector<Term> extra);

}  // namespace ripeline::verify
