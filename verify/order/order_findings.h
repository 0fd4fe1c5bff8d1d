// Findings about one count of microbatches of a committed order, with the runs that show them.
//
// An engine's tasks start in one order, so one run of the graph, continued as far as possible,
// decides: every run ends where this one ends, except that messages may fill slots in another
// order. A run counts only after Machine has replayed it. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "verify/judge/judge.h"
#include "verify/order/order_run.h"

namespace ripeline::verify {

[[nodiscard]] std::string with_microbatches(int n);
// An unknown finding: Machine does not make the run that was found, so the verifier has a mistake.
[[nodiscard]] Finding not_confirmed(const std::string& what, int microbatches, Method method);

// Why the lists do not have each task once; nullopt if they do.
[[nodiscard]] std::optional<Finding> not_listed_once(const spec::Program& program, int microbatches,
                                                     const OrderRunResult& graph);
// nullopt if the order can reach its end. Messages that take slots from others may still block it.
[[nodiscard]] std::optional<Finding> stuck(const spec::Program& program, int microbatches,
                                           bool fewest, Method method);
// The same, for a run that is at hand; `result` was made with the slots that links have.
[[nodiscard]] std::optional<Finding> stuck(const spec::Program& program, int microbatches,
                                           bool fewest, Method method,
                                           const OrderRunResult& result);
[[nodiscard]] Finding overfull(const spec::Program& program, int microbatches,
                               const Overflow& overflow, Method method);
// A refutation or an unknown finding; the latter has no reason if the run exceeds no bound.
[[nodiscard]] Finding bound_broken(const spec::Program& program, int microbatches,
                                   const OrderRunResult& result);
// Proved, refuted, or unknown with or without a reason. For pairs, and for ranks that slots may
// stop, graphs give only upper bounds of the amounts held. `graph` was made without slots.
[[nodiscard]] Finding asserted_peaks_of(const spec::Program& program, int microbatches,
                                        const OrderRunResult& graph);

}  // namespace ripeline::verify
