// Explains stuck runs and broken bounds in sentences.
#include "verify/states/explain.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "spec/hand_over.h"
#include "spec/indexing.h"
#include "verify/states/run.h"

namespace ripeline::verify {

using spec::Block;
using spec::Event;
using spec::Machine;
using spec::Program;

namespace {

Machine::State state_after(const Machine& machine, const std::vector<Event>& events) {
  Machine::State state = machine.initial();
  for (const Event& event : events) machine.step(state, event);
  return state;
}

class Explanation {
 public:
  Explanation(const Machine& machine, const std::vector<Event>& events)
      : machine_(machine), program_(machine.program()), state_(state_after(machine, events)) {}

  std::vector<BlockedTask> waits() const {
    std::vector<BlockedTask> found;
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      const int m = lowest_waiting(lane);
      if (m < 0) continue;
      const std::optional<Block> block = telling(lane, m);
      if (!block) continue;
      found.push_back({lane, m, *block, machine_.describe(state_, lane, m, *block)});
    }
    // A wait for room is the most informative, so it is first.
    std::stable_partition(found.begin(), found.end(), [](const BlockedTask& wait) {
      return wait.block.why == Block::Why::room;
    });
    return found;
  }

  std::string stuck() const {
    const std::vector<BlockedTask> all = waits();
    for (const BlockedTask& wait : all) {
      if (wait.block.why == Block::Why::room) return full(wait);
    }
    for (const BlockedTask& wait : all) {
      const std::string text = circle({wait.lane, wait.microbatch});
      if (!text.empty()) return text;
    }
    return "Not all tasks have run, and none may start.";
  }

  // The holders of the pool, as in: 4 of 4 held, all for stage 0
  std::string holders(int pool) const {
    std::map<int, std::int64_t> per_stage;
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      const spec::Lane& l = at(program_.lanes, lane);
      for (int m = 0; m < machine_.microbatches(); ++m) {
        const Machine::TaskState task = task_state({lane, m});
        if (task == Machine::TaskState::waiting) continue;
        for (const auto& a : l.acquires) {
          if (a.pool == pool) per_stage[l.stage] += a.amount;
        }
        if (task != Machine::TaskState::ended) continue;
        for (const auto& r : l.releases) {
          if (r.pool == pool) per_stage[l.stage] -= r.amount;
        }
      }
    }
    std::erase_if(per_stage, [](const auto& entry) { return entry.second == 0; });
    const auto& capacity = at(program_.pools, pool).capacity;
    std::string text = std::to_string(at(state_.held, pool));
    if (capacity) text += fmt::format(" of {}", *capacity);
    if (at(program_.pools, pool).stage >= 0) return text;
    if (per_stage.size() == 1) {
      return text + fmt::format(", all for stage {}", per_stage.begin()->first);
    }
    const char* separator = ": ";
    for (const auto& [stage, amount] : per_stage) {
      text += fmt::format("{}{} for stage {}", separator, amount, stage);
      separator = ", ";
    }
    return text;
  }

  const Machine::State& state() const { return state_; }

 private:
  Machine::TaskState task_state(const Task& task) const {
    return state_.tasks[static_cast<std::size_t>(task.lane) *
                            static_cast<std::size_t>(machine_.microbatches()) +
                        static_cast<std::size_t>(task.microbatch)];
  }

  int lowest_waiting(int lane) const {
    for (int m = 0; m < program_.tasks_of(lane, machine_.microbatches()); ++m) {
      if (task_state({lane, m}) == Machine::TaskState::waiting) return m;
    }
    return -1;
  }

  // The block to name: a missing need rather than lack of room; nullopt for a task that is not next
  // in its rank's order.
  std::optional<Block> telling(int lane, int microbatch) const {
    const std::vector<Block> blocks = machine_.blocks(state_, lane, microbatch);
    for (const Block::Why why : {Block::Why::order, Block::Why::need, Block::Why::sequence,
                                 Block::Why::room, Block::Why::kept, Block::Why::engine}) {
      for (const Block& block : blocks) {
        if (block.why != why) continue;
        // If another task of its rank is next, that task's wait is the reason; if the order has
        // ended, the reason is that the order leaves the task out.
        if (why == Block::Why::order && !order_ended(lane)) return std::nullopt;
        return block;
      }
    }
    return std::nullopt;
  }

  bool order_ended(int lane) const {
    const spec::Lane& l = at(program_.lanes, lane);
    return machine_.next_in_order(state_, l.rank, l.engine).lane < 0;
  }

  std::string full(const BlockedTask& wait) const {
    const int pool = wait.block.pool;
    const std::string task = program_.task_name(wait.lane, wait.microbatch);
    const auto& acquires = at(program_.lanes, wait.lane).acquires;
    const auto acquire = std::find_if(acquires.begin(), acquires.end(),
                                      [pool](const auto& a) { return a.pool == pool; });
    std::string text = fmt::format("{} is taken: {}. {} needs {}", program_.pool_name(pool),
                                   holders(pool), task, acquire->amount);
    if (acquire->leaving > 0) text += fmt::format(" and {} to spare", acquire->leaving);
    const std::vector<Task> releasers = would_free(pool);
    if (releasers.empty()) return text + ", and nothing that has started would free any.";
    std::string names = program_.task_name(releasers.front().lane, releasers.front().microbatch);
    if (releasers.size() > 1) {
      names += releasers.size() == 2 ? " and " : " … ";
      names += program_.task_name(releasers.back().lane, releasers.back().microbatch);
    }
    const bool one = releasers.size() == 1;
    text += fmt::format("; only {} would free {}", names, one ? "it" : "some");
    const bool behind = std::all_of(releasers.begin(), releasers.end(), [&](const Task& r) {
      const std::vector<int> needed = spec::ancestors(program_, r.lane);
      return std::binary_search(needed.begin(), needed.end(), wait.lane) &&
             task_state({wait.lane, r.microbatch}) == Machine::TaskState::waiting;
    });
    if (behind) {
      return text +
             fmt::format(", which need{} {}.", one ? "s" : "", program_.lane_name(wait.lane));
    }
    const std::string round = circle({wait.lane, wait.microbatch});
    if (!round.empty()) return text + ". " + round;
    return text + fmt::format(", and {} in turn.", one ? "it waits" : "they wait");
  }

  // Tasks that release to the pool what their stage has acquired for the same microbatch.
  std::vector<Task> would_free(int pool) const {
    std::vector<Task> found;
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      const auto& releases = at(program_.lanes, lane).releases;
      if (std::none_of(releases.begin(), releases.end(),
                       [pool](const auto& r) { return r.pool == pool; })) {
        continue;
      }
      for (int m = 0; m < program_.tasks_of(lane, machine_.microbatches()); ++m) {
        if (task_state({lane, m}) == Machine::TaskState::waiting &&
            has_acquired(at(program_.lanes, lane).stage, pool, program_.microbatch_of(lane, m))) {
          found.push_back({lane, m});
        }
      }
    }
    return found;
  }

  bool has_acquired(int stage, int pool, int microbatch) const {
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      const spec::Lane& l = at(program_.lanes, lane);
      if (l.stage != stage || !l.share.has(microbatch)) continue;
      if (task_state({lane, l.share.below(microbatch)}) == Machine::TaskState::waiting) continue;
      for (const auto& a : l.acquires) {
        if (a.pool == pool) return true;
      }
    }
    return false;
  }

  struct Reason {
    Task next;
    std::string text;
  };

  std::optional<Reason> reason(const Task& task) const {
    const std::string name = program_.task_name(task.lane, task.microbatch);
    if (task_state(task) == Machine::TaskState::ended) return until_taken(task);
    const auto named = [&](const Task& t) { return program_.task_name(t.lane, t.microbatch); };
    for (const Block& block : machine_.blocks(state_, task.lane, task.microbatch)) {
      Task next;
      switch (block.why) {
        case Block::Why::order:
          next = next_in_order(at(program_.lanes, task.lane));
          if (next.lane < 0 || next.microbatch >= machine_.microbatches()) return std::nullopt;
          return Reason{next, fmt::format("{} comes after {} on rank {}", name, named(next),
                                          at(program_.lanes, task.lane).rank)};
        case Block::Why::need:
          next = {at(program_.edges, block.edge).producer,
                  machine_.first_missing(state_, block.edge, task.microbatch)};
          if (task_state(next) == Machine::TaskState::ended) return undelivered(task, block.edge);
          return Reason{next, fmt::format("{} needs {}", name, named(next))};
        case Block::Why::sequence:
          next = {task.lane, task.microbatch - 1};
          return Reason{next, fmt::format("{} must follow {}", name, named(next))};
        case Block::Why::room: {
          const std::vector<Task> releasers = would_free(block.pool);
          if (releasers.empty()) return std::nullopt;
          next = releasers.front();
          return Reason{next, fmt::format("{} needs what {} frees", name, named(next))};
        }
        case Block::Why::kept:
          next = {block.lane, lowest_waiting(block.lane)};
          return Reason{next, fmt::format("{} must leave room for {}", name, named(next))};
        case Block::Why::engine: {
          const std::optional<spec::HandOver> held = handed_over_by(task.lane);
          if (!held) return std::nullopt;
          next = held->sender;
          return Reason{next, fmt::format("{} comes after {} on rank {}", name, named(next),
                                          at(program_.lanes, task.lane).rank)};
        }
        case Block::Why::started:
          return std::nullopt;
      }
    }
    return std::nullopt;
  }

  Task next_in_order(const spec::Lane& lane) const {
    const auto [next, microbatch] = machine_.next_in_order(state_, lane.rank, lane.engine);
    return {next, microbatch};
  }

  std::optional<spec::HandOver> handed_over_by(int lane) const {
    const spec::Lane& l = at(program_.lanes, lane);
    return spec::handed_over(machine_, state_, l.rank, l.engine);
  }

  // The reason if the task has ended, but its engine waits until its rendezvous message is taken.
  std::optional<Reason> until_taken(const Task& task) const {
    const std::optional<spec::HandOver> held = handed_over_by(task.lane);
    if (!held || held->sender != task) return std::nullopt;
    return Reason{held->taker,
                  fmt::format("{} waits for {}, which takes its message",
                              program_.task_name(task.lane, task.microbatch),
                              program_.task_name(held->taker.lane, held->taker.microbatch))};
  }

  // The reason if the needed task has ended, but its message does not arrive, since the slots are
  // taken or the receiver has not reached the rendezvous.
  std::optional<Reason> undelivered(const Task& task, int edge) const {
    const spec::Edge& e = at(program_.edges, edge);
    const int missing = machine_.first_missing(state_, edge, task.microbatch);
    const std::string wait = fmt::format("{} needs {}, whose message waits for ",
                                         program_.task_name(task.lane, task.microbatch),
                                         program_.task_name(e.producer, missing));
    if (e.rendezvous) {
      const Task next = next_in_order(at(program_.lanes, e.consumer));
      if (next.lane < 0) return std::nullopt;
      return Reason{next,
                    wait + "its rank to pass " + program_.task_name(next.lane, next.microbatch)};
    }
    if (e.inbox < 0) return std::nullopt;
    const std::vector<Task> holders = takers(e.inbox);
    if (holders.empty()) return std::nullopt;
    return Reason{
        holders.front(),
        wait + fmt::format("{}, taken until {} starts", program_.inbox_name(e.inbox),
                           program_.task_name(holders.front().lane, holders.front().microbatch))};
  }

  // The tasks whose messages occupy the inbox's slots.
  std::vector<Task> takers(int inbox) const {
    std::vector<Task> found;
    for (int edge = 0; edge < size_of(program_.edges); ++edge) {
      const spec::Edge& e = at(program_.edges, edge);
      if (e.inbox != inbox) continue;
      for (int m = 0; m < machine_.microbatches(); ++m) {
        const auto message = state_.messages[static_cast<std::size_t>(edge) *
                                                 static_cast<std::size_t>(machine_.microbatches()) +
                                             static_cast<std::size_t>(m)];
        const Task taker{e.consumer, program_.needed_by(e, m, machine_.microbatches())};
        if (message == Machine::MessageState::arrived && taker.microbatch >= 0 &&
            task_state(taker) == Machine::TaskState::waiting) {
          found.push_back(taker);
        }
      }
    }
    return found;
  }

  // Follows one reason after another until a task occurs a second time.
  std::string circle(Task task) const {
    std::vector<Task> tasks;
    std::vector<std::string> texts;
    while (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) {
      const std::optional<Reason> why = reason(task);
      if (!why) return {};
      tasks.push_back(task);
      texts.push_back(why->text);
      task = why->next;
    }
    const auto first = std::find(tasks.begin(), tasks.end(), task) - tasks.begin();
    texts.erase(texts.begin(), texts.begin() + first);
    std::string joined;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      joined += (i == 0 ? "" : i + 1 == texts.size() ? ", and " : ", ") + texts[i];
    }
    return "A circle: " + joined + ".";
  }

  const Machine& machine_;
  const Program& program_;
  Machine::State state_;
};

}  // namespace

std::vector<BlockedTask> waits_after(const Machine& machine, const std::vector<Event>& events) {
  return Explanation(machine, events).waits();
}

std::string explain_stuck(const Machine& machine, const std::vector<Event>& events) {
  return Explanation(machine, events).stuck();
}

std::string explain_excess(const Machine& machine, const Goal& goal,
                           const std::vector<Event>& events) {
  if (events.empty()) return {};
  const Explanation explanation(machine, events);
  const Event& last = events.back();
  for (const auto& a : at(machine.program().lanes, last.lane).acquires) {
    const auto& bound = at(goal.bounds, a.pool);
    if (!bound || at(explanation.state().held, a.pool) <= *bound) continue;
    return fmt::format("{} holds {} once {} starts, above the asserted {}.",
                       machine.program().pool_name(a.pool), at(explanation.state().held, a.pool),
                       machine.program().task_name(last.lane, last.microbatch), *bound);
  }
  return {};
}

}  // namespace ripeline::verify
