// Random programs, as text, for every number of ranks, which they name by their param `ranks`.
//
// They have chains, loops and V placements; ops with needs in all directions, some at some stages
// only; pools per stage and rank with capacities that depend on the stage and the ranks; committed
// orders. Some do not compile at some number of ranks. The seed determines all. Pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace ripeline::testing_support {

[[nodiscard]] std::string random_depth_text(std::uint64_t seed);

}  // namespace ripeline::testing_support
