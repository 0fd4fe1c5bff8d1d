#include "core/find_waits.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "core/blocks.h"
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
        microbatches_(view.progress.microbatches()) {}

  void needs(Task task, std::vector<Wait>& out) const {
    each_missing(facts_, *this, facts_.needs_of(task.lane), task, [&](Message message) {
      out.push_back(missing(task, message));
      return false;
    });
  }

  void lane(LaneId id, std::vector<Wait>& out) const {
    const Task first = progress_.first_left(id);
    if (first.microbatch < 0) return;
    // The order may put a later task of the lane before `first`; then both tasks wait.
    const Task next = this->next(id);
    if (next.lane == id && next != first && progress_.has(next)) task(next, out);
    task(first, out);
  }

  // The members of `State` that core/blocks.h calls.
  [[nodiscard]] int microbatches() const { return microbatches_; }
  [[nodiscard]] bool is_here(EdgeId edge, int microbatch) const {
    if (facts_.crosses_ranks(edge)) return view_.links.has_arrived({edge, microbatch});
    return has_ended({facts_.edges[index(edge)].producer, microbatch});
  }
  [[nodiscard]] bool has_ended(Task task) const { return progress_.is_done(task); }
  [[nodiscard]] bool takes(LaneId lane) const {
    const Engine engine = engine_of(lane);
    return !view_.links.hands_over(engine) &&
           view_.running[static_cast<std::size_t>(engine)].takes(lane, facts_);
  }
  [[nodiscard]] std::int64_t held(int pool) const { return view_.ledger.held(pool); }
  [[nodiscard]] Task next(LaneId lane) const {
    return view_.arbiter.next_in_order(engine_of(lane));
  }

 private:
  // Adds each missing need of the task or, if none is missing, the first other reason why it waits.
  void task(Task task, std::vector<Wait>& out) const {
    if (!progress_.waits(task)) return;
    const std::size_t before = out.size();
    each_block(facts_, *this, task, [&](const Block& block) {
      if (block.by == Block::By::need) {
        out.push_back(missing(task, block.message));
        return false;
      }
      if (out.size() == before) out.push_back(kept_back(task, block));
      return true;
    });
    if (out.size() == before) out.push_back(not_chosen(task));
  }

  // The edges whose consumers are lanes of the rank.
  [[nodiscard]] EdgeSpan own_edges() const {
    const LaneSpan own = progress_.lanes();
    if (own.first == own.end) return {};
    return {facts_.needs_of(own.first).first, facts_.needs_of(own.end - 1).end};
  }
  // The uses of the rank's lanes.
  [[nodiscard]] std::span<const UseFacts> own_uses() const {
    const LaneSpan own = progress_.lanes();
    const auto before = [](const UseFacts& use, LaneId lane) { return use.lane < lane; };
    const auto first = std::lower_bound(facts_.uses.begin(), facts_.uses.end(), own.first, before);
    return {first, std::lower_bound(first, facts_.uses.end(), own.end, before)};
  }
  [[nodiscard]] Engine engine_of(LaneId lane) const { return facts_.lanes[index(lane)].engine; }
  [[nodiscard]] int rank_of(LaneId lane) const { return facts_.lanes[index(lane)].rank; }

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
    const EdgeSpan own = own_edges();
    for (EdgeId id = own.first; id < own.end; ++id) {
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

  // The wait of a task whose needs are met, but which `block` keeps from starting.
  Wait kept_back(Task task, const Block& block) const {
    Wait wait{.reason = For::turn, .task = task, .on = view_.rank};
    switch (block.by) {
      case Block::By::need:
        break;
      case Block::By::sequence:
        wait.other = {task.lane, task.microbatch - 1};
        if (progress_.runs(wait.other)) wait.reason = For::engine;
        break;
      case Block::By::engine:
        wait.reason = For::engine;
        set_engine(wait);
        break;
      case Block::By::room:
        wait.reason = For::room;
        wait.pool = block.use.pool;
        wait.held = block.held;
        wait.other = releaser(block.use.pool);
        break;
      case Block::By::turn:
        wait.other = block.next;
        break;
    }
    return wait;
  }

  // The wait of a task that may start but was not chosen.
  Wait not_chosen(Task task) const {
    Wait wait{.reason = For::turn, .task = task, .on = -1};
    const Idle idle = view_.idle[static_cast<std::size_t>(engine_of(task.lane))];
    if (idle == Idle::undecided) wait.reason = For::agreement;
    if (idle == Idle::held) wait.reason = For::hold;
    return wait;
  }

  // Sets the task that the engine runs, or the message that it hands over with its task.
  void set_engine(Wait& wait) const {
    const Engine engine = engine_of(wait.task.lane);
    if (!view_.links.hands_over(engine)) {
      const RunningTasks& running = view_.running[static_cast<std::size_t>(engine)];
      wait.other = progress_.last_started(running.lane()).task;
      return;
    }
    std::vector<Wait> messages;
    view_.links.waits(false, messages);
    for (const Wait& message : messages) {
      const EdgeFacts& e = facts_.edges[index(message.message.edge)];
      if (!e.rendezvous || engine_of(e.producer) != engine) continue;
      wait.other = message.task;
      wait.message = message.message;
      wait.on = message.on;
      return;
    }
  }

  // A task that will release part of the held amount of the pool; a running task if there is one.
  Task releaser(int pool) const {
    Task first;
    for (const UseFacts& gives : own_uses()) {
      if (gives.pool != pool || gives.releases == 0) continue;
      const Task last = progress_.last_started(gives.lane).task;
      if (last.lane >= 0 && progress_.runs(last)) return last;
      for (Task task{gives.lane, 0}; first.lane < 0 && progress_.has(task); ++task.microbatch) {
        if (progress_.waits(task) && is_acquired(pool, task)) first = task;
      }
    }
    return first;
  }

  // Whether a task of the same stage has acquired from the pool for the microbatch of `gives`.
  bool is_acquired(int pool, Task gives) const {
    const int microbatch = facts_.microbatch_of(gives);
    const int stage = facts_.lanes[index(gives.lane)].stage;
    const std::span<const UseFacts> uses = own_uses();
    return std::any_of(uses.begin(), uses.end(), [&](const UseFacts& use) {
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
