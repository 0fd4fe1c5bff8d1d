// Whether a protocol keeps a group of any size together, by an induction over rounds: two members
// that have issued the same tasks up to a round issue the same in it.
#pragma once

#include <cstdint>

#include "verify/group/protocol.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

// The statement that two members of a group of any size, alike up to a round, part in it.
[[nodiscard]] Term two_members_part(const Protocol& protocol, Solver& solver);
// Whether two members of any group, alike up to a round, can part in it; unsat: they never can.
[[nodiscard]] Answer agrees_for_every_size(const Protocol& protocol, std::uint64_t steps);

}  // namespace ripeline::verify
