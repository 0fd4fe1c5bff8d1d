// Wait: what a rank waits for, as data and as text.
//
// Executor::waits() gives a RankWaits: the tasks that the rank runs; the messages that wait to
// leave; and the next task of each lane that is not done, with every missing need or, if none is
// missing, the first other obstacle: its engine, room or its turn. core/wait_graph.h follows the
// waits of all ranks to their cause. Ids are those of the program's facts. Waits that came from
// another process are printed only if they fit() the facts. Plain values.
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
    need,       // `task` waits until the producer of `message` ends, or the message arrives
    engine,     // `task` waits until its engine ends `other` or has handed over `other`'s `message`
    room,       // `task` waits for room in `pool`, which the end of `other` would make
    turn,       // `task` waits for `other`, which is next in the order; if none, to be chosen
    hold,       // `task` waits for its hint, which keeps the engine idle for a later task
    agreement,  // `task` waits for others that agree on its engine; for number `on`, if known
    slot,       // `task`'s message, which `other` needs, waits for a slot of its own link
    grant,      // the announced message waits for a slot of its channel, or its rendezvous
    end,        // the end of the step waits for slots of `message.edge` to be free again
    gather,     // the process waits for process `on` to reach the point where all meet
  };
  For reason = For::need;
  Task task = {};        // lane -1 if the rank itself waits
  Message message = {};  // edge -1 if none
  // The task that must start or end first; lane -1 if it is not known. For a need whose message has
  // been announced, it is the task that holds its slot, or the task that is next at the receiver.
  Task other = {};
  int pool = -1;
  // The rank that must act first; -1 if none. For a need it is the producer's rank, or the waiting
  // rank itself if the message has been announced and not granted.
  int on = -1;
  std::int64_t held = -1;  // the amount in the pool, or the taken slots; -1 if not known
  bool operator==(const Wait&) const = default;

  // Whether a message waits, rather than a task.
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
  std::vector<Wait> waits;           // first those of messages, then by lane
};

// Whether the wait's ids are of the program, and every field that its reason uses is set.
[[nodiscard]] bool fits(const ProgramFacts& facts, const Wait& wait);
[[nodiscard]] bool fits(const ProgramFacts& facts, Task task);

// The reasons of the waits of one task, as in `0F1 and 1B0 from rank 1`.
[[nodiscard]] std::string print_reasons(const ProgramFacts& facts, std::span<const Wait> waits);
// One wait, as in `0B0 waits for 1B0 from rank 1`.
[[nodiscard]] std::string print_wait(const ProgramFacts& facts, const Wait& wait);
// A line `rank 0: …` for each running task, waiting message and waiting task: at most `lines`
// lines, of which at most half are about messages.
[[nodiscard]] std::string print_waits(const ProgramFacts& facts, const RankWaits& waits, int lines);

}  // namespace ripeline::core
