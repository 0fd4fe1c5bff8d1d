// Wait: what a rank waits for, as data, and in words.
//
// Executor::waits() gives a RankWaits: what the rank runs; the messages that wait to leave; and of
// each lane that is not done the next task, with every need of it that is missing or, if none is,
// the first of these that keeps it: its engine, room, its turn. core/wait_graph.h follows the waits
// of all ranks to whoever causes them. Ids are those of the program's facts. What came from another
// process is printed only if it fits() them. Plain values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/facts.h"
#include "core/task.h"

namespace ripeline::core {

struct Wait {
  enum class For : std::uint8_t {
    need,       // `task`: for the task that made `message`, or for that message to come
    engine,     // `task`: for its engine, which runs `other`, or hands over `other`'s `message`
    room,       // `task`: for room in `pool`, which the end of `other` would make
    turn,       // `task`: for `other`, which the rank's order puts first; if none, to be chosen
    hold,       // `task`: for its hint, which keeps the engine idle for what is about to come
    agreement,  // `task`: for the other members of its group; of those, for number `on`, if known
    slot,       // the message of `task`: for one of its link's own slots; `other` takes it then
    grant,      // the same, announced: for a slot of its channel, or its rendezvous
    end,        // the end of the step: for slots of `message.edge` to be free again
    gather,     // the process itself: for process `on` to come to where all meet
  };
  For reason = For::need;
  Task task = {};        // lane -1: the rank itself
  Message message = {};  // edge -1: none
  // The task that must start or end first, if that is known: else lane -1. If a need's message has
  // been announced: the task that holds its slot, or that is next where it is taken.
  Task other = {};
  int pool = -1;
  // The rank that owes it; -1: nobody. Of a need the producer's, or one's own when the message has
  // been announced and is not granted.
  int on = -1;
  std::int64_t held = -1;  // in the pool; or slots that are taken, if the rank knows
  bool operator==(const Wait&) const = default;

  // Whether a message waits, and not a task.
  [[nodiscard]] bool is_of_message() const { return reason == For::slot || reason == For::grant; }
};

struct RunningTask {
  Task task;
  Time since{0};
  bool operator==(const RunningTask&) const = default;
};

// The running tasks and the waits of one rank, at one moment.
struct RankWaits {
  int rank = -1;
  std::int64_t step = -1;
  std::vector<RunningTask> running;  // by lane
  std::vector<Wait> waits;           // those of messages, then by lane
};

// Whether its ids are of the program, and all that its reason uses is there.
[[nodiscard]] bool fits(const ProgramFacts& facts, const Wait& wait);
[[nodiscard]] bool fits(const ProgramFacts& facts, Task task);

// 0F1 and 1B0 from rank 1: what the waits of one task are for.
[[nodiscard]] std::string print_reasons(const ProgramFacts& facts, std::span<const Wait> waits);
// 0B0 waits for 1B0 from rank 1
[[nodiscard]] std::string print_wait(const ProgramFacts& facts, const Wait& wait);
// A line for each task that runs, message and task that waits, `rank 0: …`: at most `lines`, and at
// most half of them of messages.
[[nodiscard]] std::string print_waits(const ProgramFacts& facts, const RankWaits& waits, int lines);

}  // namespace ripeline::core
