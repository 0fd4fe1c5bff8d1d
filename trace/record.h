// The events of a trace: what happened in a run, as values.
//
// A Record holds those of one rank or of many. To record takes no lock and no I/O, and no memory
// but the amortised growth of a vector: reserve() takes it at once. Times are nanoseconds on one
// clock. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/task.h"

namespace ripeline::trace {

// The gradients that the input half of a backward left for the weight half, as the work reported.
struct Deferral {
  std::int32_t parameters = 0;  // the stage's; 0: nothing is known
  std::int32_t deferred = 0;    // those whose gradients were left
  std::int64_t bytes = 0;       // size of the gradients that were kept for it
  bool operator==(const Deferral&) const = default;
};

// From the start of a task to its end.
struct TaskEvent {
  core::Task task;
  core::Time start{0};
  core::Time end{0};
  std::int64_t step = 0;
  Deferral deferral = {};
  core::Time queued{0};  // how long before its start its rank had chosen it, for its engine
  // The rank chose it by what it knew then; from then on it has its room and its slots are free.
  [[nodiscard]] core::Time chosen() const { return start - queued; }
  bool operator==(const TaskEvent&) const = default;
};

// A message left its sender and was handed to the rank of its consumer.
struct MessageEvent {
  core::Message message;  // microbatch: the producer's
  core::Time sent{0};     // after the end of its producer, if it waited for a slot or a grant
  core::Time arrived{0};
  std::int64_t step = 0;
  bool operator==(const MessageEvent&) const = default;
};

// Why an engine was idle.
enum class Cause : std::uint8_t {
  unknown,    // not recorded
  input,      // no task had its needs met: a message is on its way, or its producer has not ended
  slot,       // the needed message waited at its sender for a slot or a grant
  room,       // a task had its needs met, and a pool too little room
  engine,     // the needed task runs on another engine of the rank, or this one hands over
  order,      // a task might have started, and the rank's order put another first
  hold,       // the hint held the engine idle
  agreement,  // the group had not agreed
  done,       // the rank had no task left for it
  host,       // the rank's own thread had not come to it
};

// The whole of an idle interval is cut where its cause changes.
struct IdleEvent {
  std::int32_t rank = 0;
  core::Engine engine = core::Engine::compute;
  Cause cause = Cause::unknown;
  core::Task next = {};  // the task that ended the interval; lane -1: none did
  core::Time start{0};
  core::Time end{0};
  std::int64_t step = 0;
  bool operator==(const IdleEvent&) const = default;
};

struct Record {
  std::vector<TaskEvent> tasks;
  std::vector<MessageEvent> messages;
  std::vector<IdleEvent> idle;

  void reserve(std::size_t task_count, std::size_t message_count) {
    tasks.reserve(task_count);
    messages.reserve(message_count);
  }
  void task(std::int64_t step, core::Task task, core::Time start, core::Time end,
            core::Time queued = core::Time{0}) {
    tasks.push_back({task, start, end, step, {}, queued});
  }
  void message(std::int64_t step, core::Message message, core::Time sent, core::Time arrived) {
    messages.push_back({message, sent, arrived, step});
  }
  // To a clock that shows so much more.
  void move(core::Time by) {
    for (TaskEvent& e : tasks) e.start += by, e.end += by;
    for (MessageEvent& e : messages) e.sent += by, e.arrived += by;
    for (IdleEvent& e : idle) e.start += by, e.end += by;
  }
  // Keeps the memory.
  void clear() {
    tasks.clear();
    messages.clear();
    idle.clear();
  }
  bool operator==(const Record&) const = default;
};

// `no input`, for people; and the one word that files and JSON have.
[[nodiscard]] const char* text_of(Cause cause);
[[nodiscard]] const char* word_of(Cause cause);

}  // namespace ripeline::trace
