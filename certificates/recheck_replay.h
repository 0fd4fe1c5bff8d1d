// Checks of a certificate's runs, orders and states by spec::Machine.
//
// It shares nothing with verify/states/search.cpp on purpose, although visit_states() walks breadth
// first as that does: a certificate is to show a mistake in the search, and code of both would make
// it twice. So this visits every event by itself and leaves nothing out, where the search runs
// whole tasks and argues that this is enough. Asserted bounds are evaluated as the verifier does.
// Never throws but for want of memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "certificates/evidence.h"

namespace ripeline::verify {

// Each says what is wrong; nothing: it is as claimed.

// The run is one that the program's own dispatch makes, and it shows what is refuted.
[[nodiscard]] std::optional<std::string> replay_run(const spec::Program& program,
                                                    const Claim& claim,
                                                    const std::vector<spec::Event>& events);

// Some rank's order is not each task exactly once.
[[nodiscard]] std::optional<std::string> confirm_not_once(const spec::Program& program,
                                                          int microbatches);

// Tasks of a committed order, one after another, as far as any can go: to the end where `finishes`,
// else as if links had no bounds.
// With `peaks` no start breaks an assertion or, where there is a value for the pool, exceeds it;
// neither with what a task beside it may hold that is a pair with it.
[[nodiscard]] std::optional<std::string> replay_order(
    const spec::Program& program, int microbatches, const std::vector<std::string>& tasks,
    bool finishes, const std::vector<std::optional<std::int64_t>>* peaks);

struct VisitResult {
  std::optional<std::string> problem;
  bool complete = false;  // every state was visited
};
// No state sticks, or no start breaks an assertion or exceeds a claimed peak, whatever is chosen.
[[nodiscard]] VisitResult visit_states(const spec::Program& program, const Exploration& exploration,
                                       std::uint64_t most_states);

}  // namespace ripeline::verify
