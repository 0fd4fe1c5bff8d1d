// Whether a protocol keeps a group of any size together, by an induction over rounds: if two
// members have issued the same tasks before a round, they issue the same task in this round.
#pragma once

#include <cstdint>

#include "verify/group/protocol.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

// True if two members of a group of any size issue the same tasks until a round, where they differ.
[[nodiscard]] Term two_members_part(const Protocol& protocol, Solver& solver);
// The solver's answer whether two_members_part() is possible; `unsat` if it never is.
[[nodiscard]] Answer agrees_for_every_size(const Protocol& protocol, std::uint64_t steps);

}  // namespace ripeline::verify
