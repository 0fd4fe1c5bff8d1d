// Whether a protocol keeps a group of any size together, by an induction over rounds: if two
// members have issued the same tasks up to a round, they issue the same task in it.
#pragma once

#include <cstdint>

#include "verify/group/protocol.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

// True if two members of a group of any size issued the same tasks up to a round, but not in it.
[[nodiscard]] Term two_members_part(const Protocol& protocol, Solver& solver);
// The solver's answer whether two_members_part() is possible; `unsat` if it never is.
[[nodiscard]] Answer agrees_for_every_size(const Protocol& protocol, std::uint64_t steps);

}  // namespace ripeline::verify
