// Checks of a certificate's runs, orders and states, made by spec::Machine.
//
// This deliberately shares no code with verify/states/search.cpp, although visit_states() is
// breadth first like the search: a certificate must reveal a mistake in the search, and shared code
// would repeat the mistake. So every event is visited by itself and nothing is left out, while the
// search runs whole tasks, with an argument why this suffices. Asserted bounds are evaluated as in
// the verifier. Throws only std::bad_alloc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "certificates/evidence.h"

namespace ripeline::certificates {

// Each function returns an error, or nullopt if all is as claimed.

// Checks that the program's own dispatch makes the run, and that the run shows the refutation.
[[nodiscard]] std::optional<std::string> replay_run(const spec::Program& program,
                                                    const Claim& claim,
                                                    const std::vector<spec::Event>& events);

// Checks that some rank's order does not have each task exactly once.
[[nodiscard]] std::optional<std::string> confirm_not_once(const spec::Program& program,
                                                          int microbatches);

// Runs the tasks of a committed order one after another, as far as possible: to the end if
// `finishes`, else as if links had no bounds. With `peaks`, no start may violate an assertion, nor
// exceed the pool's value, if there is one. Amounts include those that a task running beside the
// started one may still hold.
[[nodiscard]] std::optional<std::string> replay_order(
    const spec::Program& program, int microbatches, const std::vector<std::string>& tasks,
    bool finishes, const std::vector<std::optional<std::int64_t>>* peaks);

struct VisitResult {
  std::optional<std::string> problem;
  bool complete = false;  // every state was visited
};
// Checks that no state sticks, or that no start violates an assertion or exceeds a claimed peak.
[[nodiscard]] VisitResult visit_states(const spec::Program& program, const Exploration& exploration,
                                       std::uint64_t most_states);

}  // namespace ripeline::certificates
