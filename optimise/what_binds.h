// Why no order is below a bound, in plain words. Pure functions.
#pragma once

#include <string>

#include "optimise/bounds/bounds.h"
#include "optimise/problem.h"

namespace ripeline::optimise {

// A line: `what binds: …` where an order reaches the bound, else `the bound counts …`, since what
// binds is not known then. `bound` is one of the problem. Empty, if nothing takes any time.
[[nodiscard]] std::string what_binds(const Problem& problem, const Bound& bound, bool is_reached);

}  // namespace ripeline::optimise
