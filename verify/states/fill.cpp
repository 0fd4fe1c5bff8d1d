#include "verify/states/fill.h"

#include <algorithm>
#include <utility>

namespace ripeline::verify {

using spec::Event;
using spec::Machine;
using spec::Program;
using spec::Task;
using MessageState = spec::Machine::MessageState;

namespace {

class GreedyRun {
 public:
  GreedyRun(const Machine& machine, const Wishes& wishes,
            std::vector<std::optional<std::int64_t>> enough, Budget& budget)
      : machine_(machine),
        program_(machine.program()),
        wishes_(wishes),
        enough_(std::move(enough)),
        budget_(budget),
        side_by_side_(runs_side_by_side(program_)),
        state_(machine.initial()) {
    for (int edge = 0; edge < size_of(program_.edges); ++edge) {
      if (at(program_.edges, edge).rendezvous) rendezvous_.push_back(edge);
    }
  }

  std::vector<Event> run() {
    left_ = std::count_if(enough_.begin(), enough_.end(), [](const auto& e) { return e; });
    while (start_wanted() || end_one()) {
    }
    return std::move(events_);
  }

 private:
  // Starts wanted tasks; true if any started, as more wanted lanes may then be able to start.
  bool start_wanted() {
    hand_over();
    bool any = false;
    for (int i = 0; i < size_of(wishes_.lanes); ++i) {
      const int lane = at(wishes_.lanes, i);
      while (start(lane)) {
        any = true;
        if (i >= wishes_.freely) return true;
      }
    }
    return any;
  }

  bool start(int lane) {
    if (left_ == 0 || !budget_.spend(1)) return false;
    const spec::Lane& l = at(program_.lanes, lane);
    if (!machine_.engine_takes(state_, lane)) return false;
    const auto task = next_of(lane);
    if (!task || !machine_.has_room(state_, lane) || !collect(*task)) return false;
    const Event start{.what = Event::Do::start, .lane = lane, .microbatch = task->microbatch};
    if (!take(start)) return false;
    for (const spec::Acquire& a : l.acquires) {
      auto& enough = at(enough_, a.pool);
      if (!enough || at(state_.held, a.pool) < *enough) continue;
      enough.reset();
      --left_;
    }
    if (!side_by_side_ || l.releases.empty()) {
      end(*task);
    } else {
      running_.push_back(*task);
    }
    return true;
  }

  // With dispatch ready, the lowest unstarted task, which is a guess: others may be ready earlier.
  std::optional<Task> next_of(int lane) const {
    const spec::Lane& l = at(program_.lanes, lane);
    if (program_.dispatch.in_order) {
      const Task next = machine_.next_in_order(state_, l.rank, l.engine);
      return next.lane == lane ? std::optional(next) : std::nullopt;
    }
    const int started = at(state_.started, lane);
    if (started >= program_.tasks_of(lane, machine_.microbatches())) return std::nullopt;
    return Task{lane, started};
  }

  // Lets the task's messages that were sent arrive; false if some of its messages do not arrive.
  bool collect(const Task& task) {
    for (const int edge : at(program_.lanes, task.lane).edges) {
      const spec::Edge& e = at(program_.edges, edge);
      if (!program_.crosses_ranks(e)) continue;  // the start checks these needs
      const auto [first, last] = program_.needed(e, task.microbatch, machine_.microbatches());
      for (int m = first; m < last; ++m) {
        while (message(edge, m) == MessageState::sent) {
          if (!arrive(edge, e.fifo ? at(state_.queues, edge).front() : m)) return false;
        }
        if (message(edge, m) != MessageState::arrived) return false;
      }
    }
    return true;
  }

  MessageState message(int edge, int microbatch) const {
    return state_.messages[static_cast<std::size_t>(edge) *
                               static_cast<std::size_t>(machine_.microbatches()) +
                           static_cast<std::size_t>(microbatch)];
  }

  // Lets all rendezvous messages that are due arrive, which frees the engines of their senders.
  void hand_over() {
    for (const int edge : rendezvous_) {
      for (int m = 0; m < machine_.microbatches(); ++m) {
        if (message(edge, m) == MessageState::sent) arrive(edge, m);
      }
    }
  }

  bool arrive(int edge, int microbatch) { return take(arrival_of(program_, edge, microbatch)); }

  void end(const Task& task) {
    take({.what = Event::Do::end, .lane = task.lane, .microbatch = task.microbatch});
  }

  // Ends the running task of the most wanted lane, since ends of other tasks release amounts.
  bool end_one() {
    if (running_.empty() || left_ == 0 || budget_.left == 0) return false;
    const auto place = [&](const Task& task) {
      return std::find(wishes_.lanes.begin(), wishes_.lanes.end(), task.lane);
    };
    const auto first =
        std::min_element(running_.begin(), running_.end(),
                         [&](const Task& a, const Task& b) { return place(a) < place(b); });
    const Task task = *first;
    running_.erase(first);
    end(task);
    return true;
  }

  bool take(const Event& event) {
    if (!machine_.is_enabled(state_, event, Machine::Chooser::any)) return false;
    machine_.step(state_, event);
    events_.push_back(event);
    return true;
  }

  const Machine& machine_;
  const Program& program_;
  const Wishes& wishes_;
  std::vector<std::optional<std::int64_t>> enough_;  // per pool: the amount, if not reached yet
  std::ptrdiff_t left_ = 0;                          // how many pools have an amount
  Budget& budget_;
  bool side_by_side_;
  Machine::State state_;
  std::vector<Event> events_;
  std::vector<Task> running_;
  std::vector<int> rendezvous_;  // the rendezvous edges
};

}  // namespace

std::vector<Event> fill(const Machine& machine, const Wishes& wishes,
                        std::vector<std::optional<std::int64_t>> enough, Budget& budget) {
  return GreedyRun(machine, wishes, std::move(enough), budget).run();
}

std::vector<std::int64_t> most_held(const Machine& machine, const std::vector<Event>& events) {
  const Program& program = machine.program();
  std::vector<std::int64_t> held(program.pools.size(), 0);
  std::vector<std::int64_t> most = held;
  for (const Event& event : events) {
    if (event.what == Event::Do::start) {
      for (const spec::Acquire& a : at(program.lanes, event.lane).acquires) {
        const auto pool = static_cast<std::size_t>(a.pool);
        held[pool] += a.amount;
        most[pool] = std::max(most[pool], held[pool]);
      }
    } else if (event.what == Event::Do::end) {
      for (const spec::Release& r : at(program.lanes, event.lane).releases) {
        held[static_cast<std::size_t>(r.pool)] -= r.amount;
      }
    }
  }
  return most;
}

}  // namespace ripeline::verify
