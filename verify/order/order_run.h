// A committed order with one microbatch count, as a graph of tasks.
//
// A rank runs its tasks one after another. A task that finds no room when it is next never starts,
// so all runs of one microbatch count run the same tasks: either all runs deadlock or none does,
// whatever the timing. The same is true with several engines if no resource is acquired on two of
// them, and with rendezvous, since a wait that has ended never begins again. The only exception is
// slots that other messages may take (Overflow). Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"
#include "verify/states/run.h"

namespace ripeline::verify {

struct OrderRunResult {
  std::optional<spec::Diagnostics> invalid;  // set if the order has no meaning for this count
  bool finished = false;                     // every task has ended
  Run run;  // all tasks that can run, in an order in which they can run
  // By pool. For a pair: the greatest possible amount while its first task runs and holds its own.
  std::vector<std::int64_t> peaks;
  std::vector<int> peak_at;  // by pool: index in `run` of the start that reaches the peak, or -1
  // Why a rank's list does not have each task exactly once; empty if every list does.
  std::string not_once;
};
// Takes time in proportion to the number of tasks. With `as_given`, links have their slots, and
// each message arrives just before the task that takes it; no timing gets further. Slots can only
// delay engines, so peaks are found without slots, which is simpler.
enum class Slots : std::uint8_t { as_given, unbounded };
[[nodiscard]] OrderRunResult run_order(const spec::Program& program, int microbatches, Slots slots);

// A run after which more messages wait for an inbox than it has slots. Timing may then deny a slot
// to the message that is needed first, so that its rank never passes the task that needs it. If
// there is no such run, no message ever waits for a slot. The order must end with the slots that
// links have, and only one engine may take messages from an inbox.
struct Overflow {
  int inbox = -1;
  Run run;
};
// Takes time in proportion to the number of tasks times the number of ranks with inboxes.
[[nodiscard]] std::optional<Overflow> find_overflow(const spec::Program& program, int microbatches);

// Why the order alone does not decide which tasks run, as a sentence's beginning: "X is acquired"
// (on two engines); nullopt if it does. A resource that two engines of a rank acquire goes to the
// faster one, and an inbox from which two engines take may be filled by messages of either.
[[nodiscard]] std::optional<std::string> depends_on_timing(const spec::Program& program);

}  // namespace ripeline::verify
