#include "view/stuck.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/print.h"

namespace ripeline::view {
namespace {

using core::EdgeId;
using core::LaneId;
using core::Task;

using Key = std::pair<LaneId, int>;
Key key(Task task) { return {task.lane, task.microbatch}; }

// One thing that a task waits for: any of `on` would end it.
struct Block {
  std::string text;
  std::vector<Task> on;
};

class EndState {
 public:
  EndState(const Timeline& timeline, const std::vector<Task>& next)
      : timeline_(timeline), facts_(timeline.facts()), step_(timeline.last_step()), next_(next) {}

  // Of each lane the first task that did not run.
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

  // Of a task that did not run.
  Block block_of(Task task) const {
    if (auto block = missing_need(task)) return *std::move(block);
    if (auto block = missing_room(task)) return *std::move(block);
    return other_first(task);
  }

  std::string name(Task task) const { return core::task_name(facts_, task); }

 private:
  bool ran(Task task) const { return timeline_.find(step_, task) >= 0; }
  int tasks_of(LaneId lane) const { return facts_.tasks_of(lane, timeline_.run().microbatches); }
  const core::LaneFacts& lane(LaneId id) const {
    return facts_.lanes[static_cast<std::size_t>(id)];
  }

  std::optional<Block> missing_need(Task task) const {
    for (EdgeId e = 0; e < static_cast<EdgeId>(facts_.edges.size()); ++e) {
      const core::EdgeFacts& edge = facts_.edges[static_cast<std::size_t>(e)];
      if (edge.consumer != task.lane) continue;
      const auto needed = facts_.needed(e, task.microbatch, timeline_.run().microbatches);
      for (int m = needed.first; m < needed.last; ++m) {
        const Task producer{edge.producer, m};
        if (!ran(producer)) return Block{name(producer), {producer}};
        if (!facts_.crosses_ranks(e) || timeline_.find(step_, core::Message{e, m}) != nullptr) {
          continue;
        }
        return message_waits(e, producer);
      }
    }
    return std::nullopt;
  }

  // Sent off, and not arrived: for want of a slot, of its turn, or of its rendezvous.
  Block message_waits(EdgeId e, Task producer) const {
    const core::EdgeFacts& edge = facts_.edges[static_cast<std::size_t>(e)];
    Block block{fmt::format("the message of {}", name(producer)), {}};
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

  // The tasks that would free a slot: their messages have arrived and they have not started.
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

  std::optional<Block> missing_room(Task task) const {
    for (const core::UseFacts& use : timeline_.uses_of(task.lane)) {
      const auto room = facts_.room(use);
      if (!room) continue;
      const std::int64_t held = held_of(use.pool);
      if (room->fits(held)) continue;
      std::string text = fmt::format("room in {}: {} of {} held", core::pool_name(facts_, use.pool),
                                     held, room->capacity);
      if (use.leaving > 0) text += fmt::format(", {} to be left", use.leaving);
      return Block{std::move(text), releasers(use.pool)};
    }
    return std::nullopt;
  }

  std::int64_t held_of(int pool) const {
    std::int64_t held = 0;
    for (const core::UseFacts& use : facts_.uses) {
      if (use.pool != pool) continue;
      for (int m = 0; m < tasks_of(use.lane); ++m) {
        if (ran({use.lane, m})) held += use.acquires - use.releases;
      }
    }
    return held;
  }

  // Tasks that give back what their stage acquired for the same microbatch.
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

  // Of the microbatch itself, not of the lane's number.
  bool has_run(LaneId id, int microbatch) const {
    const core::Share& share = lane(id).share;
    if (!share.has(microbatch) || (lane(id).once && microbatch > 0)) return false;
    return ran({id, share.below(microbatch)});
  }

  bool same_engine(LaneId a, LaneId b) const {
    return lane(a).rank == lane(b).rank && lane(a).engine == lane(b).engine;
  }

  Block other_first(Task task) const {
    for (const Task next : next_) {
      if (next.lane < 0 || next == task || !same_engine(next.lane, task.lane)) continue;
      return Block{name(next) + ", which is before it in its rank's order", {next}};
    }
    return Block{"its turn in its rank's order", {}};
  }

  const Timeline& timeline_;
  const core::ProgramFacts& facts_;
  std::int64_t step_;
  const std::vector<Task>& next_;
};

// The tasks of the shortest way from `first` back to it; empty: there is none.
std::vector<Task> circle_from(Task first, const EndState& ended) {
  std::map<Key, Task> from;
  std::vector<Task> front{first};
  while (!front.empty()) {
    std::vector<Task> after;
    for (const Task task : front) {
      const Block block = ended.block_of(task);
      for (const Task on : block.on) {
        if (!from.emplace(key(on), task).second) continue;
        if (on == first) {
          std::vector<Task> circle{first};
          for (Task t = task; t != first; t = from.at(key(t))) circle.push_back(t);
          std::reverse(circle.begin() + 1, circle.end());
          return circle;
        }
        after.push_back(on);
      }
    }
    front = std::move(after);
  }
  return {};
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
    if (circle.size() == 1 || circle.size() == 2) break;  // there is none that is shorter
  }
  Stuck stuck;
  stuck.circle = circle.size();
  for (std::size_t i = 0; i < circle.size(); ++i) {
    stuck.waits.push_back(
        {circle[i], ended.block_of(circle[i]).text, circle[(i + 1) % circle.size()]});
  }
  for (const Task task : waiting) {
    if (std::find(circle.begin(), circle.end(), task) != circle.end()) continue;
    Block block = ended.block_of(task);
    const Task on = block.on.empty() ? Task{} : block.on.front();
    stuck.waits.push_back({task, std::move(block.text), on});
  }
  return stuck;
}

}  // namespace ripeline::view
