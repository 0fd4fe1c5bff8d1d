// Checks that a Shape agrees with what the elaborator makes of the same tree. A solver checks the
// elaborator's conditions for all depths at once. At small depths, Shape and Program are compared.
#pragma once

#include <optional>
#include <string>

#include "spec/program.h"
#include "verify/depth/shape.h"
#include "verify/solver/solver.h"

namespace ripeline::verify::depth {

// Does the elaborator's checks for all depths at once: lanes that are needed exist, and amounts
// fit. Returns a sentence about a check that could not be shown to succeed, or nullopt.
[[nodiscard]] std::optional<std::string> not_well_formed(const Shape& shape, const SolverUse& use);

// For the ranks of this program, compares the terms of the shape with those that
// verify/ready/counters.h makes of the program; also compares the range, the order and the
// assertions. Returns a sentence that names a possible difference, or nullopt.
[[nodiscard]] std::optional<std::string> disagreement(const Shape& shape,
                                                      const spec::Program& program,
                                                      const SolverUse& use);

}  // namespace ripeline::verify::depth
