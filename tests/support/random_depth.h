// Random programs for every number of ranks, as text: their param `ranks` is used, not folded.
//
// Chains, loops and V placements; ops with needs in all directions, some at some stages only; pools
// per stage and per rank whose capacities depend on the stage and the ranks; committed orders. Some
// are no programs at some number of ranks. The same for the same seed everywhere. Pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace ripeline::testing_support {

[[nodiscard]] std::string random_depth_text(std::uint64_t seed);

}  // namespace ripeline::testing_support
