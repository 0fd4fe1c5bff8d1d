#include "core/find_waits.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "core/vocabulary/index.h"

namespace ripeline::core {
namespace {

using For = Wait::For;

class Finder {
 public:
  explicit Finder(const RankView& view)
      : view_(view),
        facts_(view.facts),
        progress_(view.progress),
        microbatches_(view.progress.microbatches()) {
    const LaneSpan lanes = progress_.lanes();
    const auto before = [](const UseFacts& use, LaneId lane) { return use.lane < lane; };
    const auto first =
        std::lower_bound(facts_.uses.begin(), facts_.uses.end(), lanes.first, before);
    uses_ = {first, std::lower_bound(first, facts_.uses.end(), lanes.end, before)};
  }

  void needs(Task task, std::vector<Wait>& out) const {
    const EdgeId end = first_edge(task.lane + 1);
    for (EdgeId id = first_edge(task.lane); id < end; ++id) {
      const TaskSpan needed = facts_.needed(id, task.microbatch, microbatches_);
      for (int m = needed.first; m < needed.last; ++m) {
        if (is_here({id, m})) continue;
        out.push_back(missing(task, {id, m}));
        break;
      }
    }
  }

  void lane(LaneId id, std::vector<Wait>& out) const {
    const Task first = progress_.first_left(id);
    if (first.microbatch < 0) return;
    // The order may put a later one first: both wait.
    const Task next = view_.arbiter.next_in_order(engine_of(id));
    if (next.lane == id && next != first && progress_.has(next)) task(next, out);
    task(first, out);
  }

 private:
  void task(Task task, std::vector<Wait>& out) const {
    if (!progress_.waits(task)) return;
    const std::size_t before = out.size();
    needs(task, out);
    if (out.size() == before) out.push_back(kept_back(task));
  }

  // The first edge whose consumer is the lane or a later one.
  [[nodiscard]] EdgeId first_edge(LaneId lane) const {
    const auto before = [](const EdgeFacts& e, LaneId id) { return e.consumer < id; };
    return static_cast<EdgeId>(
        std::lower_bound(facts_.edges.begin(), facts_.edges.end(), lane, before) -
        facts_.edges.begin());
  }
  [[nodiscard]] Engine engine_of(LaneId lane) const { return facts_.lanes[index(lane)].engine; }
  [[nodiscard]] int rank_of(LaneId lane) const { return facts_.lanes[index(lane)].rank; }
  [[nodiscard]] bool is_here(Message message) const {
    if (facts_.crosses_ranks(message.edge)) return view_.links.has_arrived(message);
    return progress_.is_done({facts_.edges[index(message.edge)].producer, message.microbatch});
  }

  Wait missing(Task task, Message message) const {
    const EdgeFacts& e = facts_.edges[index(message.edge)];
    const Task producer{e.producer, message.microbatch};
    Wait wait{.reason = For::need, .task = task, .message = message, .other = producer};
    wait.on = rank_of(e.producer);
    if (wait.on == view_.rank || !view_.links.awaits_grant(message)) return wait;
    wait.on = view_.rank;
    if (e.rendezvous) {
      wait.other = view_.arbiter.next_in_order(engine_of(e.consumer));
      if (wait.other == task || !progress_.has(wait.other)) wait.other = {};
    } else {
      wait.held = view_.links.taken(e.inbox);
      wait.other = taker(e.inbox);
    }
    return wait;
  }

  // A task whose start frees a slot of the inbox.
  Task taker(int inbox) const {
    const EdgeId end = first_edge(progress_.lanes().end);
    for (EdgeId id = first_edge(progress_.lanes().first); id < end; ++id) {
      const EdgeFacts& e = facts_.edges[index(id)];
      if (e.inbox != inbox) continue;
      for (int m = 0; m < facts_.tasks_of(e.producer, microbatches_); ++m) {
        const int wanted = facts_.needed_by(id, m, microbatches_);
        if (wanted < 0 || !view_.links.has_slot({id, m})) continue;
        if (const Task task{e.consumer, wanted}; progress_.waits(task)) return task;
      }
    }
    return {};
  }

  // Of a task that needs nothing more.
  Wait kept_back(Task task) const {
    Wait wait{.reason = For::turn, .task = task, .on = view_.rank};
    if (for_engine(wait) || for_room(wait)) return wait;
    const Engine engine = engine_of(task.lane);
    const Task next = view_.arbiter.next_in_order(engine);
    if (next.lane >= 0 && next != task) {
      wait.other = next;
      return wait;
    }
    wait.on = -1;
    const Idle idle = view_.idle[static_cast<std::size_t>(engine)];
    if (idle == Idle::undecided) wait.reason = For::agreement;
    if (idle == Idle::held) wait.reason = For::hold;
    return wait;
  }

  bool for_engine(Wait& wait) const {
    const Engine engine = engine_of(wait.task.lane);
    if (view_.links.hands_over(engine)) {
      std::vector<Wait> messages;
      view_.links.waits(false, messages);
      for (const Wait& message : messages) {
        const EdgeFacts& e = facts_.edges[index(message.message.edge)];
        if (!e.rendezvous || engine_of(e.producer) != engine) continue;
        wait.other = message.task;
        wait.message = message.message;
        wait.on = message.on;
        break;
      }
    } else if (const RunningTasks& running = view_.running[static_cast<std::size_t>(engine)];
               !running.takes(wait.task.lane, facts_)) {
      wait.other = progress_.last_started(running.lane()).task;
    }
    if (wait.other.lane < 0) return false;
    wait.reason = For::engine;
    return true;
  }

  bool for_room(Wait& wait) const {
    for (const UseFacts& use : uses_) {
      if (use.lane != wait.task.lane) continue;
      const std::optional<Room> room = facts_.room(use);
      const std::int64_t held = view_.ledger.held(use.pool);
      if (!room || room->fits(held)) continue;
      wait.reason = For::room;
      wait.pool = use.pool;
      wait.held = held;
      wait.other = releaser(use.pool);
      return true;
    }
    return false;
  }

  // The task that will give back some of what is held: one that runs, if any does.
  Task releaser(int pool) const {
    Task first;
    for (const UseFacts& gives : uses_) {
      if (gives.pool != pool || gives.releases == 0) continue;
      const Task last = progress_.last_started(gives.lane).task;
      if (last.lane >= 0 && progress_.runs(last)) return last;
      for (Task task{gives.lane, 0}; first.lane < 0 && progress_.has(task); ++task.microbatch) {
        if (progress_.waits(task) && is_acquired(pool, task)) first = task;
      }
    }
    return first;
  }

  // Something of the stage has acquired for the microbatch of `gives`.
  bool is_acquired(int pool, Task gives) const {
    const int microbatch = facts_.microbatch_of(gives);
    const int stage = facts_.lanes[index(gives.lane)].stage;
    return std::any_of(uses_.begin(), uses_.end(), [&](const UseFacts& use) {
      const LaneFacts& l = facts_.lanes[index(use.lane)];
      if (use.pool != pool || use.acquires == 0 || l.stage != stage) return false;
      if (!l.share.has(microbatch)) return false;
      const Task task{use.lane, l.share.below(microbatch)};
      return progress_.has(task) && !progress_.waits(task);
    });
  }

  const RankView& view_;
  const ProgramFacts& facts_;
  const TaskProgress& progress_;
  int microbatches_;
  std::span<const UseFacts> uses_;  // of the rank's lanes
};

}  // namespace

void find_needs(const RankView& view, Task task, std::vector<Wait>& waits) {
  Finder(view).needs(task, waits);
}

RankWaits find_waits(const RankView& view, std::int64_t step) {
  RankWaits found{.rank = view.rank, .step = step, .running = {}, .waits = {}};
  if (step < 0) return found;
  const TaskProgress& progress = view.progress;
  view.links.waits(progress.all_done(), found.waits);
  const Finder finder(view);
  for (LaneId lane = progress.lanes().first; lane < progress.lanes().end; ++lane) {
    const RunningTask& last = progress.last_started(lane);
    if (last.task.lane >= 0 && progress.runs(last.task)) found.running.push_back(last);
    finder.lane(lane, found.waits);
  }
  return found;
}

}  // namespace ripeline::core
