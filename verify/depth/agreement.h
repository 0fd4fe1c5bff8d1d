// Checks of the reading of a tree against what the elaborator makes of it: at each depth by a
// question, and at small depths by comparing the two.
#pragma once

#include <optional>
#include <string>

#include "spec/program.h"
#include "verify/depth/shape.h"
#include "verify/solver/solver.h"

namespace ripeline::verify::depth {

// The checks that the elaborator makes at one depth, for all depths: lanes that are needed exist,
// amounts fit. A sentence about what could not be shown, or nothing.
[[nodiscard]] std::optional<std::string> not_well_formed(const Shape& shape, const SolverUse& use);

// The terms of the shape mean, with the ranks of this program, what verify/ready/counters.h makes
// of the program; and so do its range, its order and its assertions. A sentence that says what does
// not.
[[nodiscard]] std::optional<std::string> disagreement(const Shape& shape,
                                                      const spec::Program& program,
                                                      const SolverUse& use);

}  // namespace ripeline::verify::depth
