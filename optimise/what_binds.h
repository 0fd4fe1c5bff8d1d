// Explains in plain words why no order is below a bound. Pure functions.
#pragma once

#include <string>

#include "optimise/bounds/bounds.h"
#include "optimise/problem.h"

namespace ripeline::optimise {

// The line `what binds: …` if an order reaches the bound. Otherwise what binds is unknown, and the
// line is `the bound counts …`. `bound` must be one of the problem. Empty if nothing takes time.
[[nodiscard]] std::string what_binds(const Problem& problem, const Bound& bound, bool is_reached);

}  // namespace ripeline::optimise
