// What holds the reading of a tree to what the elaborator makes of it: at each depth by a question,
// and at small depths by comparing the two.
#pragma once

#include <optional>
#include <string>

#include "spec/program.h"
#include "verify/depth/shape.h"
#include "verify/solver/solver.h"

namespace ripeline::verify::depth {

// What the elaborator checks at one depth, for all of them: lanes that are needed exist, amounts
// fit. A sentence, or nothing.
[[nodiscard]] std::optional<std::string> not_well_formed(const Shape& shape, const SolverUse& use);

// The terms of the shape mean, with the ranks of this program, what verify/ready/counters.h makes
// of the program; and so do its range, its order and its assertions. A sentence that says what does
// not.
[[nodiscard]] std::optional<std::string> disagreement(const Shape& shape,
                                                      const spec::Program& program,
                                                      const SolverUse& use);

}  // namespace ripeline::verify::depth
