// World: a program for one number of microbatches, as plain tasks and messages.
//
// World is written only from the comments of spec/program.h and core/vocabulary/hint.h, and shares
// no code with spec/machine, spec/hint or verify/. Lanes and edges are expanded to tasks and
// messages, each of which is a bit; the quantities in those comments (slots taken, room held,
// engines that hand over, the next task of an order) are counted anew in each state, from what has
// started, ended and arrived. No states are skipped.
//
// Two machine words hold all tasks and all messages, so larger programs do not fit. The program
// must outlive its World. A World never changes and can be shared freely.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "spec/program.h"

namespace ripeline::oracle {

enum class Choices {
  any,       // any task that may start
  dispatch,  // the task that the program's dispatch chooses
};

using Bits = std::uint64_t;
using Listed = std::vector<std::pair<int, int>>;  // lane and microbatch, which may not exist

struct State {
  static constexpr std::size_t kQueues = 12;
  Bits started = 0;                     // tasks
  Bits ended = 0;                       // tasks
  Bits here = 0;                        // messages that have arrived
  Bits rounds = 0;                      // four bits per rank: the position in its hint's round
  std::array<Bits, kQueues> left = {};  // per fifo edge: four bits for each message on its way, in
                                        // the order of leaving, starting with the lowest bits
  bool operator==(const State&) const = default;
};

struct Move {
  enum class Do : std::uint8_t { start, end, arrive };
  Do what = Do::start;
  int item = 0;  // a task, or a message if it arrives
};

struct Task {
  int lane = 0;
  int microbatch = 0;  // the number in its lane
  int of = 0;          // the microbatch's number in the step
  int engine = 0;      // numbered over all ranks
  Bits ended = 0;      // tasks that must have ended before it starts
  Bits messages = 0;   // messages that must have arrived
};

struct Message {
  int edge = 0;
  int producer = 0;  // task
  Bits needed_by = 0;
  int inbox = -1;
  int queue = -1;  // fifo
  bool rendezvous = false;
};

// The microbatches for which a lane has tasks, in order.
[[nodiscard]] std::vector<int> microbatches_of(const spec::Lane& lane, int microbatches);

class World {
 public:
  // For each rank, `orders` has the tasks that the program's dispatch commits to, keeps room for or
  // follows; `orders` is empty if there is no order.
  World(const spec::Program& program, int microbatches, Choices choices,
        std::vector<Listed> orders);

  [[nodiscard]] bool fits() const { return fits_; }  // if false, no other function may be called
  // The number of machine words at the beginning of a state that are in use.
  [[nodiscard]] std::size_t words() const { return 4 + queues_; }
  [[nodiscard]] const std::vector<Task>& tasks() const { return tasks_; }
  [[nodiscard]] const std::vector<Message>& messages() const { return messages_; }

  // All events that may happen next. If an unfinished state has none, the program is stuck.
  void moves(const State& s, std::vector<Move>& found) const;
  [[nodiscard]] State after(const State& s, const Move& move) const;
  [[nodiscard]] bool finished(const State& s) const { return s.ended == all_; }
  [[nodiscard]] std::int64_t held(const State& s, int pool) const;

 private:
  struct Part {  // an amount that each of some tasks acquires from a pool, or releases
    Bits tasks = 0;
    std::int64_t amount = 0;
  };
  struct PoolParts {
    std::vector<Part> acquired;
    std::vector<Part> released;
  };

  void spell_out_tasks();
  void spell_out_messages();
  void spell_out_needs();
  void spell_out_pools();
  void spell_out_orders();
  [[nodiscard]] bool has_task(int lane, int microbatch) const;
  [[nodiscard]] int task(int lane, int microbatch) const;
  [[nodiscard]] bool needs(const spec::Edge& edge, const Task& consumer, int producer) const;

  [[nodiscard]] bool may_start(const State& s, int task) const;
  [[nodiscard]] bool runs_beside(const State& s, int task) const;
  [[nodiscard]] bool may_arrive(const State& s, int message) const;
  [[nodiscard]] Bits on_the_way(const State& s) const;          // messages
  [[nodiscard]] int next_of(const State& s, int engine) const;  // task, or -1
  [[nodiscard]] bool leaves_room(const State& s, int task) const;
  void add_choice(const State& s, int engine, std::vector<Move>& found) const;
  [[nodiscard]] std::array<int, 3> preference(const State& s, int lane) const;
  [[nodiscard]] std::int64_t priority(const State& s, int task, const spec::Expr& expr) const;
  [[nodiscard]] int greatest(const State& s, int engine) const;  // task, or -1

  const spec::Program& program_;
  int m_;
  Choices choices_;
  std::vector<Listed> orders_;
  bool bound_ = false;  // the hint follows a file, which also determines the number of microbatches
  bool fits_ = true;
  std::size_t queues_ = 0;
  Bits all_ = 0;
  std::vector<Task> tasks_;  // lane by lane
  std::vector<Message> messages_;
  std::vector<int> first_task_;    // per lane
  std::vector<Bits> of_engine_;    // tasks
  std::vector<Bits> handed_over_;  // per engine: the rendezvous messages of its tasks
  std::vector<Bits> in_inbox_;     // messages
  std::vector<Bits> sends_;        // per task: messages
  std::vector<PoolParts> pools_;
  std::vector<std::vector<int>> next_;  // per engine: tasks in order, -1 if one does not exist
};

}  // namespace ripeline::oracle
