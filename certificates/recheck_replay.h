// Checks of a certificate's runs, orders and states, made by spec::Machine.
//
// The functions deliberately share no code with verify/states/search.cpp, although visit_states()
// is breadth first like the search: a certificate must reveal a mistake in the search, and shared
// code would repeat the mistake. The search runs whole tasks and relies on an argument why this
// suffices; here every event is a step of its own and nothing is left out. Asserted bounds are
// evaluated as in the verifier. Throws only std::bad_alloc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "certificates/evidence.h"

namespace ripeline::certificates {

// Each function that returns an optional text returns an error, or nullopt if all is as claimed.

// Checks that the program's dispatch allows each event, and that the run proves the refutation.
[[nodiscard]] std::optional<std::string> replay_run(const spec::Program& program,
                                                    const Claim& claim,
                                                    const std::vector<spec::Event>& events);

// Returns nullopt if some rank's order lacks a task or has one too many; otherwise an error.
[[nodiscard]] std::optional<std::string> confirm_not_once(const spec::Program& program,
                                                          int microbatches);

// Runs `tasks` of a committed order one after another. With `finishes`, all tasks must end.
// Otherwise links have no bounds, and no task may be able to start at the end. With `peaks`, no
// start may violate an assertion or exceed the pool's peak, if it has one. Amounts include what a
// task that runs beside the started one may still hold.
[[nodiscard]] std::optional<std::string> replay_order(
    const spec::Program& program, int microbatches, const std::vector<std::string>& tasks,
    bool finishes, const std::vector<std::optional<std::int64_t>>* peaks);

struct VisitResult {
  std::optional<std::string> problem;
  bool complete = false;  // every state was visited
};
// Checks that no state sticks (for `deadlock`), or that no start breaks an assertion or a peak.
[[nodiscard]] VisitResult visit_states(const spec::Program& program, const Exploration& exploration,
                                       std::uint64_t most_states);

}  // namespace ripeline::certificates
