// The divisor of a model's times for the solver.
//
// Problems with short times, up to a few tens per task, are solved much faster. Rounding down loses
// little time if the divisor fits the times: the times (18546, 18097, 9321, 762) lose a third of a
// percent with the divisor 377, and two percent with 390.
#pragma once

#include "optimise/model.h"

namespace ripeline::optimise {

// Returns the divisor with the least rounding loss, in the longest path and in the busiest
// machine's work, among those with which a mean task takes from `least` to `most`. If a mean task
// takes at most `fine` with the common divisor of all times, returns that common divisor. With very
// many tasks, returns any divisor that gives such a mean. At least 1.
[[nodiscard]] Time divisor_of(const Model& model, Time least, Time most, Time fine);

}  // namespace ripeline::optimise
