// Explains in words why no order takes less time than a bound. Pure functions.
#pragma once

#include <string>

#include "optimise/bounds/bounds.h"
#include "optimise/problem.h"

namespace ripeline::optimise {

// The line `what binds: …` if an order reaches the bound; otherwise the line `the bound counts …`,
// since it is unknown what binds. Empty if nothing takes time. `bound` must be the problem's.
[[nodiscard]] std::string what_binds(const Problem& problem, const Bound& bound, bool is_reached);

}  // namespace ripeline::optimise
