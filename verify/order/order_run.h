// A committed order with one microbatch count, as a graph of tasks.
//
// A rank does its tasks one after another, so a task whose resource has no room when its turn comes
// never starts, and all runs of one microbatch count run the same tasks: either all deadlock or
// none does, whatever the timing. The same holds with several engines if no resource is acquired on
// two of them, and for rendezvous: a wait that has ended never begins again. Slots that other
// messages may take make the one exception (Overflow). Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"
#include "verify/states/run.h"

namespace ripeline::verify {

struct OrderRunResult {
  std::optional<spec::Diagnostics> invalid;  // the order has no meaning for this count
  bool finished = false;                     // every task has ended
  Run run;  // all tasks that can run, in an order in which they can run
  // Per pool; for pairs, the most that may be held while the first still runs and releases nothing.
  std::vector<std::int64_t> peaks;
  std::vector<int> peak_at;  // per pool: index in `run` of the start that reaches its peak, or -1
  // Why a rank's list does not have each task exactly once; empty if every list does.
  std::string not_once;
};
// Takes time in proportion to the number of tasks. `as_given`: with the slots that links have, each
// message arriving just before the task that takes it; no timing goes further. Slots can only delay
// engines and are simpler to leave out, so peaks are found without slots.
enum class Slots : std::uint8_t { as_given, unbounded };
[[nodiscard]] OrderRunResult run_order(const spec::Program& program, int microbatches, Slots slots);

// A run after which more messages wait for an inbox than it has slots. Timing may then leave out
// the message that is taken first, so that its rank never passes the task that takes it. If there
// is no such run, no message ever waits for a slot. The order must finish with the slots that links
// have, and each inbox must be taken from on one engine only.
struct Overflow {
  int inbox = -1;
  Run run;
};
// Takes time in proportion to the number of tasks times the number of ranks with inboxes.
[[nodiscard]] std::optional<Overflow> find_overflow(const spec::Program& program, int microbatches);

// Why the order alone does not decide which tasks run, as in "X is acquired" (on two engines);
// nothing if it does. A resource that two engines of a rank acquire goes to the engine that comes
// first, and an inbox from which two engines take may be filled by the messages of either.
[[nodiscard]] std::optional<std::string> depends_on_timing(const spec::Program& program);

}  // namespace ripeline::verify
