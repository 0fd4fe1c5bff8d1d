// The divisor of a model's times for the solver.
//
// Problems with short times, of a few tens for a task, are solved much faster. Rounding down loses
// little if the divisor fits the times: (18546, 18097, 9321, 762) divided by 377 lose a third of a
// percent, divided by 390 two percent.
#pragma once

#include "optimise/model.h"

namespace ripeline::optimise {

// The divisor with which a task of mean length takes from `least` to `most`, and rounding down
// loses the least of the longest path and of the busiest machine's work. If a mean task takes no
// more than `fine` after division by the common divisor of all times, that divisor is returned. For
// models with very many tasks, any divisor with that mean is taken. At least 1.
[[nodiscard]] Time divisor_of(const Model& model, Time least, Time most, Time fine);

}  // namespace ripeline::optimise
