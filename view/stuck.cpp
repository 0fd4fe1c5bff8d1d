#include "view/stuck.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "core/blocks.h"
#include "core/print.h"
#include "core/vocabulary/cycle.h"

namespace ripeline::view {
namespace {

using core::EdgeId;
using core::LaneId;
using core::Task;

// A reason why a task waits; any task of `on` would end the wait.
struct StuckOn {
  std::string text;
  std::vector<Task> on;
};

class EndState {
 public:
  EndState(const Timeline& timeline, const std::vector<Task>& next)
      : timeline_(timeline), facts_(timeline.facts()), step_(timeline.last_step()), next_(next) {}

  // The first task of each lane that has not run.
  std::vector<Task> waiting() const {
    std::vector<Task> found;
    for (LaneId lane = 0; lane < static_cast<LaneId>(facts_.lanes.size()); ++lane) {
      for (int m = 0; m < tasks_of(lane); ++m) {
        if (ran({lane, m})) continue;
        found.push_back({lane, m});
        break;
      }
    }
    return found;
  }

  // The first reason that blocks a task that has not run.
  StuckOn waits_on(Task task) const {
    StuckOn found{"its turn in its rank's order", {}};
    core::each_block(facts_, *this, task, [&](const core::Block& block) {
      switch (block.by) {
        case core::Block::By::need:
          found = missing(block.message);
          break;
        case core::Block::By::sequence:
          found = {name({task.lane, task.microbatch - 1}) + ", the one before it",
                   {{task.lane, task.microbatch - 1}}};
          break;
        case core::Block::By::engine:
          return false;
        case core::Block::By::room:
          found = no_room(block);
          break;
        case core::Block::By::turn:
          found = {name(block.next) + ", which is before it in its rank's order", {block.next}};
          break;
      }
      return true;
    });
    return found;
  }

  // The state at the end, as core/blocks.h needs it: all tasks that started have ended.
  int microbatches() const { return timeline_.run().microbatches; }
  bool is_here(EdgeId e, int m) const {
    if (facts_.crosses_ranks(e)) return timeline_.find(step_, core::Message{e, m}) != nullptr;
    return has_ended({facts_.edges[static_cast<std::size_t>(e)].producer, m});
  }
  bool has_ended(Task task) const { return ran(task); }
  static bool takes(LaneId /*lane*/) { return true; }
  std::int64_t held(int pool) const {
    std::int64_t held = 0;
    for (const core::UseFacts& use : facts_.uses) {
      if (use.pool != pool) continue;
      for (int m = 0; m < tasks_of(use.lane); ++m) {
        if (ran({use.lane, m})) held += use.acquires - use.releases;
      }
    }
    return held;
  }
  Task next(LaneId lane) const {
    const auto its = std::find_if(next_.begin(), next_.end(), [&](const Task& task) {
      return task.lane >= 0 && same_engine(task.lane, lane);
    });
    return its == next_.end() ? Task{} : *its;
  }

  std::string name(Task task) const { return core::task_name(facts_, task); }

 private:
  bool ran(Task task) const { return timeline_.find(step_, task) >= 0; }
  int tasks_of(LaneId lane) const { return facts_.tasks_of(lane, timeline_.run().microbatches); }
  const core::LaneFacts& lane(LaneId id) const {
    return facts_.lanes[static_cast<std::size_t>(id)];
  }

  StuckOn missing(core::Message message) const {
    const core::EdgeFacts& edge = facts_.edges[static_cast<std::size_t>(message.edge)];
    const Task producer{edge.producer, message.microbatch};
    return ran(producer) ? message_waits(message.edge, producer)
                         : StuckOn{name(producer), {producer}};
  }

  // Why the message has not arrived: it lacks a slot, its turn, or its rendezvous.
  StuckOn message_waits(EdgeId e, Task producer) const {
    const core::EdgeFacts& edge = facts_.edges[static_cast<std::size_t>(e)];
    StuckOn block{fmt::format("the message of {}", name(producer)), {}};
    if (edge.rendezvous) {
      block.text += ", which its rank takes in its order";
      for (const Task next : next_) {
        if (next.lane >= 0 && same_engine(next.lane, edge.consumer)) block.on.push_back(next);
      }
    } else if (edge.inbox >= 0) {
      block.text += fmt::format(": {} is full", core::inbox_name(facts_, edge.inbox));
      block.on = takers(edge.inbox);
    }
    return block;
  }

  // The tasks that would free a slot. Their messages have arrived, but they have not started.
  std::vector<Task> takers(int inbox) const {
    std::vector<Task> found;
    for (EdgeId e = 0; e < static_cast<EdgeId>(facts_.edges.size()); ++e) {
      const core::EdgeFacts& edge = facts_.edges[static_cast<std::size_t>(e)];
      if (edge.inbox != inbox) continue;
      for (int m = 0; m < tasks_of(edge.producer); ++m) {
        if (timeline_.find(step_, core::Message{e, m}) == nullptr) continue;
        const int consumer = facts_.needed_by(e, m, timeline_.run().microbatches);
        if (consumer >= 0 && !ran({edge.consumer, consumer})) {
          found.push_back({edge.consumer, consumer});
        }
      }
    }
    return found;
  }

  StuckOn no_room(const core::Block& block) const {
    std::string text =
        fmt::format("room in {}: {} of {} held", core::pool_name(facts_, block.use.pool),
                    block.held, block.room.capacity);
    if (block.room.leaving > 0) text += fmt::format(", {} to be left", block.room.leaving);
    return {std::move(text), releasers(block.use.pool)};
  }

  // The tasks that release what their stage acquired for the same microbatch.
  std::vector<Task> releasers(int pool) const {
    std::vector<Task> found;
    for (const core::UseFacts& gives : facts_.uses) {
      if (gives.pool != pool || gives.releases == 0) continue;
      for (int m = 0; m < tasks_of(gives.lane); ++m) {
        const Task task{gives.lane, m};
        if (ran(task)) continue;
        if (has_acquired(pool, lane(gives.lane).stage, facts_.microbatch_of(task))) {
          found.push_back(task);
        }
      }
    }
    return found;
  }

  bool has_acquired(int pool, int stage, int microbatch) const {
    return std::any_of(facts_.uses.begin(), facts_.uses.end(), [&](const core::UseFacts& use) {
      return use.pool == pool && use.acquires > 0 && lane(use.lane).stage == stage &&
             has_run(use.lane, microbatch);
    });
  }

  // `microbatch` is numbered within the step, not within the lane.
  bool has_run(LaneId id, int microbatch) const {
    const core::Share& share = lane(id).share;
    if (!share.has(microbatch) || (lane(id).once && microbatch > 0)) return false;
    return ran({id, share.below(microbatch)});
  }

  bool same_engine(LaneId a, LaneId b) const {
    return lane(a).rank == lane(b).rank && lane(a).engine == lane(b).engine;
  }

  const Timeline& timeline_;
  const core::ProgramFacts& facts_;
  std::int64_t step_;
  const std::vector<Task>& next_;
};

// The tasks of the shortest circle of waits through `first`; empty if there is none.
std::vector<Task> circle_from(Task first, const EndState& ended) {
  constexpr std::int64_t kTasks = std::int64_t{1} << 32;  // a lane has fewer
  const auto number_of = [](Task task) { return task.lane * kTasks + task.microbatch; };
  const auto task_of = [](std::int64_t number) {
    return Task{static_cast<LaneId>(number / kTasks), static_cast<std::int32_t>(number % kTasks)};
  };
  const auto arcs = [&](std::int64_t task, const auto& visit) {
    for (const Task on : ended.waits_on(task_of(task)).on) visit(number_of(on), 0);
  };
  std::vector<Task> circle;
  for (const auto& step : core::shortest_cycle<std::int64_t, int>(number_of(first), arcs)) {
    circle.push_back(task_of(step.node));
  }
  return circle;
}

}  // namespace

Stuck stuck_at_end(const Timeline& timeline, const std::vector<Task>& next) {
  const EndState ended(timeline, next);
  const std::vector<Task> waiting = ended.waiting();
  std::vector<Task> circle;
  for (const Task task : waiting) {
    std::vector<Task> found = circle_from(task, ended);
    if (!found.empty() && (circle.empty() || found.size() < circle.size())) {
      circle = std::move(found);
    }
    if (circle.size() == 1 || circle.size() == 2) break;  // no shorter circle exists
  }
  Stuck stuck;
  stuck.circle = circle.size();
  for (std::size_t i = 0; i < circle.size(); ++i) {
    stuck.waits.push_back(
        {circle[i], ended.waits_on(circle[i]).text, circle[(i + 1) % circle.size()]});
  }
  for (const Task task : waiting) {
    if (std::find(circle.begin(), circle.end(), task) != circle.end()) continue;
    StuckOn block = ended.waits_on(task);
    const Task on = block.on.empty() ? Task{} : block.on.front();
    stuck.waits.push_back({task, std::move(block.text), on});
  }
  return stuck;
}

}  // namespace ripeline::view
