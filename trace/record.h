// The events of a trace: what happened in a run, as values.
//
// A Record holds the events of one rank or of many. Recording takes no lock and no I/O, and memory
// only as vectors grow, unless reserve() was called before. Times are nanoseconds on one
// clock. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/task.h"

namespace ripeline::trace {

// The gradients that the input half of a backward left for the weight half, as the work reported.
struct Deferral {
  std::int32_t parameters = 0;  // how many the stage has; 0: not known
  std::int32_t deferred = 0;    // how many of them have gradients left for the weight half
  std::int64_t bytes = 0;       // size of the gradients that were kept for it
  bool operator==(const Deferral&) const = default;
};

// The run of a task from its start to its end.
struct TaskEvent {
  core::Task task;
  core::Time start{0};
  core::Time end{0};
  std::int64_t step = 0;
  Deferral deferral = {};
  core::Time queued{0};  // how long before its start the rank had chosen it for its engine
  // When the rank chose the task by what it knew; from then its room is held, its slots are free.
  [[nodiscard]] core::Time chosen() const { return start - queued; }
  bool operator==(const TaskEvent&) const = default;
};

// A message left its sender and was handed to the rank of its consumer.
struct MessageEvent {
  core::Message message;  // microbatch: the producer's
  core::Time sent{0};     // later than its producer's end if it waited for a slot or a grant
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
  engine,     // the needed task runs on another engine, or this one hands a message over
  order,      // a task could have started, but the rank's order put another first
  hold,       // the hint held the engine idle
  agreement,  // the group had not agreed
  done,       // the rank had no task left for it
  host,       // the rank's own thread had not got round to it
};

// A piece of an idle interval, which is cut where its cause changes.
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
  // Adds `by` to all times, for a clock that is ahead by that.
  void move(core::Time by) {
    for (TaskEvent& e : tasks) e.start += by, e.end += by;
    for (MessageEvent& e : messages) e.sent += by, e.arrived += by;
    for (IdleEvent& e : idle) e.start += by, e.end += by;
  }
  // Removes all events, but keeps the memory.
  void clear() {
    tasks.clear();
    messages.clear();
    idle.clear();
  }
  bool operator==(const Record&) const = default;
};

// The cause as a text for people, `no input`; and as the single word in files and JSON.
[[nodiscard]] const char* text_of(Cause cause);
[[nodiscard]] const char* word_of(Cause cause);

}  // namespace ripeline::trace
