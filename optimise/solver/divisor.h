// The divisor of a model's times for the solver.
//
// Short times are solved much faster: as long as a task is a few tens. Rounded down, they lose
// little if the divisor fits them: of (18546, 18097, 9321, 762) divided by 377 a third of a percent
// is lost, by 390 two percent.
#pragma once

#include "optimise/model.h"

namespace ripeline::optimise {

// The divisor by which a task of mean length is between `least` and `most` long, and rounding down
// loses the least of the longest path and of the busiest machine's work. If such a task is not
// longer than `fine` without rounding, the one that divides all times. For models with very many
// tasks, any such divisor. At least 1.
[[nodiscard]] Time divisor_of(const Model& model, Time least, Time most, Time fine);

}  // namespace ripeline::optimise
