// A committed order with one microbatch count, as a graph of tasks.
//
// A rank does its tasks one after another, so a task whose resource has no room when it is next
// never starts, and all runs of one microbatch count do the same tasks: a deadlock is one, or is
// none, whatever the timing. The same holds with several engines when no resource is acquired on
// two of them, and for rendezvous: waiting only ever ends. Slots that other messages may take make
// the one exception (Overflow). Pure functions.
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
  Run run;  // all tasks that can run, in an order in which they can
  // Per pool; of pairs the most that may be held while the first has not released, if it runs on.
  std::vector<std::int64_t> peaks;
  std::vector<int> peak_at;  // per pool: the index in `run` of the task that starts it, or -1
  // A rank's list is not each task exactly once: what is wrong, or empty.
  std::string not_once;
};
// Takes time in proportion to the number of tasks. With the slots that links have, each message
// arriving just before the task that takes it; no timing goes further. Slots only keep engines from
// going on, and without them it is simpler to follow: so peaks are known without them.
enum class Slots : std::uint8_t { as_given, unbounded };
[[nodiscard]] OrderRunResult run_order(const spec::Program& program, int microbatches, Slots slots);

// A run after which more messages wait for an inbox than it has slots. Timing may then leave out
// the one that is taken first, and its rank never passes the task that takes it; and if there is no
// such run, no message ever waits for a slot. The order must finish, with the slots that links
// have. For orders whose inboxes are each taken from on one engine.
struct Overflow {
  int inbox = -1;
  Run run;
};
// Takes time in proportion to the number of tasks and that of ranks with inboxes.
[[nodiscard]] std::optional<Overflow> find_overflow(const spec::Program& program, int microbatches);

// Why the order's tasks alone do not say what runs, as in "X is acquired" (on two engines);
// nothing: they do. A resource that two engines of a rank acquire goes to whichever is first, and
// an inbox from which two engines take is filled by either.
[[nodiscard]] std::optional<std::string> depends_on_timing(const spec::Program& program);

}  // namespace ripeline::verify
