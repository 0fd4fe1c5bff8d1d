// The events of a trace: what happened in a run, as values.
//
// A Record holds the events of one rank or of many. Recording needs no lock and no I/O, and
// allocates only when vectors grow, unless reserve() was called before. Times are nanoseconds on
// one clock. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/task.h"

namespace ripeline::trace {

// The gradients that a backward's input half left for its weight half, as the input half reports.
struct Deferral {
  std::int32_t parameters = 0;  // the number of the stage's parameters; 0 if not known
  std::int32_t deferred = 0;    // how many of them have gradients left for the weight half
  std::int64_t bytes = 0;       // size of the gradients kept for the weight half
  bool operator==(const Deferral&) const = default;
};

// The run of a task from its start to its end.
struct TaskEvent {
  core::Task task;
  core::Time start{0};
  core::Time end{0};
  std::int64_t step = 0;
  Deferral deferral = {};
  core::Time queued{0};  // the time from the rank's choice of the task to its start
  // The time when the rank chose the task; from then on its room is held and its slots are free.
  [[nodiscard]] core::Time chosen() const { return start - queued; }
  bool operator==(const TaskEvent&) const = default;
};

// The way of a message from its sender to the rank of its consumer.
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
  input,      // no task had its needs met, as a message was under way or its producer had not ended
  slot,       // the needed message waited at its sender for a slot or a grant
  room,       // a task had its needs met, but a pool had too little room
  engine,     // the needed task ran on another engine, or this engine handed a message over
  order,      // a task could have started, but the rank's order put another first
  hold,       // the hint held the engine idle
  agreement,  // the group had not agreed
  done,       // the rank had no task left for the engine
  host,       // the rank's own thread had not yet started a task
};

// A part of an idle interval; intervals are cut where their cause changes.
struct IdleEvent {
  std::int32_t rank = 0;
  core::Engine engine = core::Engine::compute;
  Cause cause = Cause::unknown;
  core::Task next = {};  // the task that ended the interval; lane -1 if none did
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
  // Adds `by` to all times, for a clock that is ahead by this time.
  void move(core::Time by) {
    for (TaskEvent& e : tasks) e.start += by, e.end += by;
    for (MessageEvent& e : messages) e.sent += by, e.arrived += by;
    for (IdleEvent& e : idle) e.start += by, e.end += by;
  }
  // Removes all events, but does not free memory.
  void clear() {
    tasks.clear();
    messages.clear();
    idle.clear();
  }
  bool operator==(const Record&) const = default;
};

// The cause as a text for people, such as `no input`, and as the single word in files and JSON.
[[nodiscard]] const char* text_of(Cause cause);
[[nodiscard]] const char* word_of(Cause cause);

}  // namespace ripeline::trace
