// Checks that the reading of a tree agrees with what the elaborator makes of the tree: by a
// question for every depth, and by comparison at small depths.
#pragma once

#include <optional>
#include <string>

#include "spec/program.h"
#include "verify/depth/shape.h"
#include "verify/solver/solver.h"

namespace ripeline::verify::depth {

// The checks that the elaborator makes at one depth, for all depths: lanes that are needed exist
// and amounts fit. Returns a sentence about what could not be shown, or nothing.
[[nodiscard]] std::optional<std::string> not_well_formed(const Shape& shape, const SolverUse& use);

// Whether, with the ranks of this program, the terms of the shape mean what verify/ready/counters.h
// makes of the program, and the shape's range, order and assertions are the program's. Returns a
// sentence that names what may differ, or nothing.
[[nodiscard]] std::optional<std::string> disagreement(const Shape& shape,
                                                      const spec::Program& program,
                                                      const SolverUse& use);

}  // namespace ripeline::verify::depth
