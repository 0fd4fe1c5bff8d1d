// Least and small values of a term, by asking a solver again with a bound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/solver/solver.h"

namespace ripeline::verify {

// The least value of `objective` that the extra terms allow; the caller knows that they allow one.
// The solver's last model attains the value. Nothing if the solver did not answer.
[[nodiscard]] std::optional<std::int64_t> least(Solver& solver, const std::string& query,
                                                Term objective, std::int64_t lower_bound,
                                                std::vector<Term> extra);

// A small value of `objective`, found with few steps; the solver's last model attains it. Nothing
// if the extra terms allow no value, or the solver did not answer.
[[nodiscard]] std::optional<std::int64_t> small(Solver& solver, const std::string& query,
                                                Term objective, std::vector<Term> extra);

}  // namespace ripeline::verify
