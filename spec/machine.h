// Machine: executes a Program for one microbatch count, according to its meaning.
//
// The rules are those of spec/program.h. A state is a value; timing decides which events happen.
// The machine replays runs, helps to find refutations and serves as the interpreted arbiter. Its
// code is simple rather than fast. The program must outlive it; one thread.
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
  int lane = -1;        // start, end, agree: the task's lane; arrive: the consumer's lane
  int microbatch = -1;  // start, end, agree: the task's; arrive: the producer's
  int edge = -1;        // arrive: the edge of the message
  int member = 0;       // start, end, arrive: which member of a group; for `agree` see spec/group.h
  bool operator==(const Event&) const = default;
};
// The arrival of a message of the edge at its consumer.
[[nodiscard]] Event arrival_of(const Program& program, int edge, int microbatch);

// One reason why a task may not start.
struct Block {
  enum class Why : std::uint8_t {
    started,   // the task has started already
    need,      // `edge` is not met
    sequence,  // the lane's task of the microbatch before has not ended
    engine,    // the engine runs a task that excludes it, or hands a message over
    room,      // `pool` has too little room
    order,     // the task is not the next of its engine in its rank's order
    kept,      // after the task, an earlier one of the kept order finds no room in `pool`
  };
  Why why = Why::need;
  int edge = -1;
  int pool = -1;
  int lane = -1;  // kept: the lane of that earlier task
  bool operator==(const Block&) const = default;
};

// Why a message that was sent does not arrive.
struct Delay {
  enum class Why : std::uint8_t {
    rendezvous,  // the task that needs it is not the next of its engine in its rank's order
    overtaken,   // an earlier message of the same fifo edge has not arrived
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

  // The lanes that an engine runs, or -1. If there are two, they are a pair, the higher lane first.
  struct RunningLanes {
    int lane = -1;
    int other = -1;
    bool operator==(const RunningLanes&) const = default;
  };

  struct State {
    std::vector<TaskState> tasks;  // lane * microbatches + microbatch
    std::vector<MessageState>
        messages;  // edge * microbatches + the producer's number; used for edges across ranks
    std::vector<std::int64_t> held;        // per pool
    std::vector<std::int64_t> taken;       // per inbox: taken slots
    std::vector<std::vector<int>> queues;  // per edge, if fifo: messages sent, not yet arrived
    std::vector<RunningLanes> running;     // per rank and engine
    std::vector<int> handing;   // per rank and engine: rendezvous messages that it hands over
    std::vector<int> position;  // per rank and engine: tasks of its order that have started
    std::vector<int> rounds;    // per rank: the place of the hint's round to try first
    std::vector<int> started;   // per lane: tasks that have started
    std::int64_t ended = 0;
    bool operator==(const State&) const = default;
  };

  // The caller checks that expand() of a binding order succeeds for each rank with this count.
  Machine(const Program& program, int microbatches);

  [[nodiscard]] const Program& program() const { return *program_; }
  [[nodiscard]] int microbatches() const { return microbatches_; }

  [[nodiscard]] State initial() const;
  // Every reason why the task may not start; empty if it may.
  [[nodiscard]] std::vector<Block> blocks(const State& state, int lane, int microbatch) const;
  [[nodiscard]] bool may_start(const State& state, int lane, int microbatch) const;
  [[nodiscard]] bool has_started(const State& state, int lane, int microbatch) const {
    return state.tasks[index(lane, microbatch)] != TaskState::waiting;
  }
  [[nodiscard]] MessageState message(const State& state, int edge, int microbatch) const {
    return state.messages[index(edge, microbatch)];
  }
  // Narrows the choice beyond may_start(); an empty function leaves no task out.
  using Allowed = std::function<bool(int lane, int microbatch)>;
  // The lowest microbatch of the lane that may start and is allowed; -1 if there is none.
  [[nodiscard]] int lowest_startable(const State& state, int lane,
                                     const Allowed& allowed = {}) const;
  // The allowed task that the dispatch would start on this engine now; lane -1 if there is none.
  [[nodiscard]] Task choice(const State& state, int rank, Engine engine,
                            const Allowed& allowed = {}) const;

  // The lane that a hint with patience waits for on this engine, or -1 (core::Hint::awaited). The
  // dispatch must be readiness-first and follow an order.
  [[nodiscard]] int awaited(const State& state, int rank, Engine engine) const;

  // Whether the lane's engine hands nothing over, and is idle or runs a task of a paired lane.
  [[nodiscard]] bool engine_takes(const State& state, int lane) const;
  // Whether each pool that the lane acquires has room for one more of its tasks.
  [[nodiscard]] bool has_room(const State& state, int lane) const;
  // The next task of the engine in its rank's committed order; lane -1 at the end of the order.
  [[nodiscard]] Task next_in_order(const State& state, int rank, Engine engine) const;
  // The first of the producer's microbatches that the task needs and that has not arrived, or -1.
  [[nodiscard]] int first_missing(const State& state, int edge, int microbatch) const;

  // All events that may happen next.
  [[nodiscard]] std::vector<Event> enabled(const State& state, Chooser chooser) const;
  [[nodiscard]] bool is_enabled(const State& state, const Event& event, Chooser chooser) const;
  // The reason why a sent message does not arrive; nullopt if it may arrive, or was not sent.
  [[nodiscard]] std::optional<Delay> delay(const State& state, int edge, int microbatch) const;
  // Carries the event out; the caller has checked that it is enabled. An arrival is accepted even
  // if the message was not sent, since a rank sees only arrivals.
  void step(State& state, const Event& event) const;

  [[nodiscard]] bool done(const State& state) const;
  // True if no event is enabled, and not all tasks have ended.
  [[nodiscard]] bool stuck(const State& state) const;

  [[nodiscard]] std::string describe(
      const Event& event) const;  // start 2F0; end 2F0; arrive 1F0 at 2F0
  // The reason why a task or a message waits, as text.
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
  // The place of the lane's next occurrence in the order that its rank's hint follows.
  [[nodiscard]] int next_place(const State& state, int lane) const;
  // The first task of the kept order that would find no room once a task of `lane` has run, and the
  // pool that lacks the room; lane -1 if all find room.
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
  std::vector<Priorities> priorities_;    // per rank, if the hint goes by priority
  std::vector<std::vector<int>> places_;  // per lane: its places in an order that is followed
  std::vector<std::vector<Task>> bound_;  // per rank: tasks of a followed order from a file
  std::int64_t tasks_ = 0;                // the number of tasks in all lanes
  // Per rank and engine: the tasks of a committed or kept order.
  std::vector<std::vector<Task>> orders_;
};

}  // namespace ripeline::spec
