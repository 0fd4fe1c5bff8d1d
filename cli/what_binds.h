// Why no order is below a bound, in plain words.
#pragma once

#include <string>

#include "optimise/bounds/bounds.h"
#include "optimise/problem.h"

namespace ripeline::cli {

// A line: `what binds: …` where an order reaches the bound, else `the bound counts …`, since what
// binds is not known then. `bound` is one of the problem, whose `by` may have a form's name in
// front. Empty, if nothing takes any time.
[[nodiscard]] std::string what_binds(const optimise::Problem& problem, const optimise::Bound& bound,
                                     bool is_reached);

}  // namespace ripeline::cli
