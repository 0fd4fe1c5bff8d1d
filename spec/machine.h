// Machine: executes a Program's meaning, for one microbatch count.
//
// The rules are those of spec/program.h. A state is a value; events are what timing decides. Used
// to replay refutations, to search for them and as the interpreted arbiter. Speed matters less than
// being plainly right. The program must outlive it; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/vocabulary/hint.h"
#include "spec/guards.h"
#include "spec/priority.h"
#include "spec/program.h"

namespace ripeline::spec {

struct Event {
  enum class Do : std::uint8_t { start, end, arrive, agree };
  Do what = Do::start;
  int lane = -1;        // start, end, agree: the task's; arrive: the consumer's
  int microbatch = -1;  // start, end, agree: the task's; arrive: the producer's
  int edge = -1;        // arrive
  int member = 0;       // start, end, arrive of a group's member; see spec/group.h for `agree`
  bool operator==(const Event&) const = default;
};

// One reason why a task may not start.
struct Block {
  enum class Why : std::uint8_t {
    started,   // it has started already
    need,      // `edge` is not met
    sequence,  // its lane's microbatch before has not ended
    engine,    // its engine runs what it may not run beside, or hands a message over
    room,      // `pool` has too little room
    order,     // it is not the next of its engine in its rank's order
    kept,      // then a task before it in the kept order would find no room in `pool`
  };
  Why why = Why::need;
  int edge = -1;
  int pool = -1;
  int lane = -1;  // kept: the lane of the task before
  bool operator==(const Block&) const = default;
};

// Why a message that was sent does not arrive.
struct Delay {
  enum class Why : std::uint8_t {
    rendezvous,  // the task that needs it is not the next of its engine in its rank's order
    overtaken,   // one that was sent before it over its fifo edge has not arrived
    slot,        // its inbox is full
  };
  Why why = Why::slot;
  int microbatch = -1;  // overtaken: the other message's
  bool operator==(const Delay&) const = default;
};

class Machine {
 public:
  enum class Chooser : std::uint8_t {
    any,       // any task that may start
    dispatch,  // the choice of the program's own dispatch
  };
  enum class TaskState : std::uint8_t { waiting, running, ended };
  enum class MessageState : std::uint8_t { none, sent, arrived };

  // The lanes that an engine runs; -1: none. Two are a pair, the higher one first.
  struct RunningLanes {
    int lane = -1;
    int other = -1;
    bool operator==(const RunningLanes&) const = default;
  };

  struct State {
    std::vector<TaskState> tasks;  // lane * microbatches + microbatch
    std::vector<MessageState>
        messages;  // edge * microbatches + the producer's; only edges that cross ranks are used
    std::vector<std::int64_t> held;        // per pool
    std::vector<std::int64_t> taken;       // per inbox: slots
    std::vector<std::vector<int>> queues;  // per edge, if fifo: messages sent, not yet arrived
    std::vector<RunningLanes> running;     // per rank and engine
    std::vector<int> handing;   // per rank and engine: rendezvous messages that it hands over
    std::vector<int> position;  // per rank and engine: tasks of its order that have started
    std::vector<int> rounds;    // per rank: the place of its hint's round to try first
    std::vector<int> started;   // per lane
    std::int64_t ended = 0;
    bool operator==(const State&) const = default;
  };

  // Every rank's expansion of a binding order must succeed for this count (check with expand()).
  Machine(const Program& program, int microbatches);

  [[nodiscard]] const Program& program() const { return *program_; }
  [[nodiscard]] int microbatches() const { return microbatches_; }

  [[nodiscard]] State initial() const;
  // Empty: it may start.
  [[nodiscard]] std::vector<Block> blocks(const State& state, int lane, int microbatch) const;
  [[nodiscard]] bool may_start(const State& state, int lane, int microbatch) const;
  [[nodiscard]] bool has_started(const State& state, int lane, int microbatch) const {
    return state.tasks[index(lane, microbatch)] != TaskState::waiting;
  }
  [[nodiscard]] MessageState message(const State& state, int edge, int microbatch) const {
    return state.messages[index(edge, microbatch)];
  }
  // Narrows what may be chosen, beyond may_start(); empty: nothing is left out.
  using Allowed = std::function<bool(int lane, int microbatch)>;
  // The lowest microbatch of the lane that may start and is allowed, or -1.
  [[nodiscard]] int lowest_startable(const State& state, int lane,
                                     const Allowed& allowed = {}) const;
  // The task that the dispatch takes on this engine now, of those allowed: lane -1 if none.
  [[nodiscard]] Task choice(const State& state, int rank, Engine engine,
                            const Allowed& allowed = {}) const;

  // The lane that a hint with patience waits for on this engine, or -1; of a readiness-first
  // dispatch that follows an order (core::Hint::awaited).
  [[nodiscard]] int awaited(const State& state, int rank, Engine engine) const;

  // The lane's engine hands nothing over, and runs nothing or what the lane may run beside.
  [[nodiscard]] bool engine_takes(const State& state, int lane) const;
  // Each pool that the lane acquires has room for one more of its tasks.
  [[nodiscard]] bool has_room(const State& state, int lane) const;
  // The next task of the engine in its rank's committed order, lane -1 at its end.
  [[nodiscard]] Task next_in_order(const State& state, int rank, Engine engine) const;
  // The first of the producer's microbatches that the task needs and has not got, or -1.
  [[nodiscard]] int first_missing(const State& state, int edge, int microbatch) const;

  // Everything that may happen next.
  [[nodiscard]] std::vector<Event> enabled(const State& state, Chooser chooser) const;
  [[nodiscard]] bool is_enabled(const State& state, const Event& event, Chooser chooser) const;
  // The reason why a sent message does not arrive; nothing: it may arrive, or was not sent.
  [[nodiscard]] std::optional<Delay> delay(const State& state, int edge, int microbatch) const;
  // Does it; the caller has checked that it is enabled. An arrival is accepted without its sending:
  // a rank sees arrivals only.
  void step(State& state, const Event& event) const;

  [[nodiscard]] bool done(const State& state) const;
  // Nothing is enabled and not all is done.
  [[nodiscard]] bool stuck(const State& state) const;

  [[nodiscard]] std::string describe(
      const Event& event) const;  // start 2F0; end 2F0; arrive 1F0 at 2F0
  // In words: the task waits for this, and so does the message.
  [[nodiscard]] std::string describe(const State& state, int lane, int microbatch,
                                     const Block& block) const;
  [[nodiscard]] std::string describe(int edge, int microbatch, const Delay& why) const;

 private:
  [[nodiscard]] std::size_t index(int lane, int microbatch) const {
    return static_cast<std::size_t>(lane) * static_cast<std::size_t>(microbatches_) +
           static_cast<std::size_t>(microbatch);
  }
  [[nodiscard]] bool met(const State& state, int edge, int microbatch) const;
  void follow(const Order& order);
  // By priority: of the tasks that may start the greatest, lane -1 if a place lists none.
  [[nodiscard]] Task greatest_of(const State& state, int rank,
                                 const std::function<bool(const Task&)>& may_start) const;
  // Where the next occurrence of the lane stands in the order that its rank's hint follows.
  [[nodiscard]] int next_place(const State& state, int lane) const;
  // The first task of the kept order that would find no room once a task of `lane` has
  // run, and in which pool; lane -1 if all do.
  struct CrowdedPool {
    int lane = -1;
    int pool = -1;
  };
  [[nodiscard]] CrowdedPool crowded_by(const State& state, int lane) const;
  [[nodiscard]] bool may_arrive(const State& state, int edge, int microbatch) const;
  void start(State& state, int lane, int microbatch) const;
  void end(State& state, int lane, int microbatch) const;
  void arrive(State& state, int edge, int microbatch) const;

  const Program* program_;
  int microbatches_;
  std::vector<Guards> guards_;            // per lane
  std::vector<core::Hint> hints_;         // per rank
  std::vector<Priorities> priorities_;    // per rank, of a hint by priority
  std::vector<std::vector<int>> places_;  // per lane, of an order that is followed
  std::vector<std::vector<Task>> bound_;  // per rank, of an order from a file that is followed
  std::int64_t tasks_ = 0;                // in all lanes
  // Per rank and engine: tasks, of a committed order or of one that is kept.
  std::vector<std::vector<Task>> orders_;
};

}  // namespace ripeline::spec
