// Runs one microbatch count of a committed order: each engine runs its list as far as possible.
#include "verify/order/order_run.h"

#include <algorithm>
#include <deque>

#include "spec/guards.h"
#include "spec/long_work.h"
#include "verify/order/order_lists.h"
#include "verify/order/slot_stops.h"

namespace ripeline::verify {
namespace {

using spec::Program;

class OrderGraph {
 public:
  OrderGraph(const Program& program, int microbatches, Slots slots)
      : program_(program),
        microbatches_(microbatches),
        guards_(spec::guards_of(program)),
        lists_(lists_of_order(program, microbatches)) {
    result_.invalid = lists_.invalid;
    result_.not_once = lists_.not_once;
    if (lists_.invalid) return;
    const bool bounded = !program.inboxes.empty() && slots == Slots::as_given;
    if (bounded) stops_ = slot_stops(program, microbatches, lists_);
    stops_.resize(lists_.of_engine.size(), kNoStop);
    reset();
  }

  OrderRunResult run() {
    if (lists_.invalid) return std::move(result_);
    go();
    int tasks = 0;
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      tasks += program_.tasks_of(lane, microbatches_);
    }
    result_.finished = size_of(result_.run) == tasks;
    return std::move(result_);
  }

  // Holds the receiver back before each of its tasks in turn, while all other engines proceed,
  // since then the most messages wait for the receiver.
  std::optional<Overflow> overflow() {
    std::vector<std::vector<int>> inboxes(lists_.of_engine.size());  // per engine of the receivers
    for (int inbox = 0; inbox < size_of(program_.inboxes); ++inbox) {
      const int engine = receiver(inbox);
      if (engine >= 0) at(inboxes, engine).push_back(inbox);
    }
    for (int engine = 0; engine < size_of(inboxes); ++engine) {
      if (at(inboxes, engine).empty()) continue;
      reset();
      held_back_ = engine;
      for (may_begin_ = 0; may_begin_ <= at(lists_.of_engine, engine).size(); ++may_begin_) {
        ready_.push_back(engine);
        go();
        for (const int inbox : at(inboxes, engine)) {
          if (at(pending_, inbox) > at(program_.inboxes, inbox).slots) {
            return Overflow{inbox, result_.run};
          }
        }
      }
    }
    return std::nullopt;
  }

 private:
  // The engine that takes messages from the inbox, if timing decides which of them get its slots;
  // else -1, as for fifo edges, where timing decides nothing (slot_stops.h).
  int receiver(int inbox) const {
    int engine = -1;
    for (const spec::Edge& e : program_.edges) {
      if (e.inbox == inbox && !e.fifo) engine = list_of(program_, e.consumer);
    }
    return engine;
  }

  void reset() {
    result_.run.clear();
    position_.assign(lists_.of_engine.size(), 0);
    done_.assign(program_.lanes.size(), {});
    for (int lane = 0; lane < size_of(lists_.position); ++lane) {
      const auto most = static_cast<std::size_t>(program_.tasks_of(lane, microbatches_));
      at(done_, lane).assign(std::min(at(lists_.position, lane).size(), most), false);
    }
    begun_.assign(program_.lanes.size(), false);
    held_.assign(program_.pools.size(), 0);
    pending_.assign(program_.inboxes.size(), 0);
    result_.peaks.assign(program_.pools.size(), 0);
    result_.peak_at.assign(program_.pools.size(), -1);
    waiting_.assign(program_.lanes.size(), {});
    waiting_for_position_.assign(lists_.of_engine.size(), {});
    waiting_for_room_.assign(static_cast<std::size_t>(program_.ranks), {});
    ready_.clear();
    for (int engine = 0; engine < size_of(lists_.of_engine); ++engine) ready_.push_back(engine);
  }

  void go() {
    while (!ready_.empty()) {
      const int engine = ready_.front();
      ready_.pop_front();
      advance(engine);
    }
  }

  // Runs the engine until its next task cannot start, then lists it as waiting for the cause.
  void advance(int engine) {
    const std::vector<spec::Task>& order = at(lists_.of_engine, engine);
    for (std::size_t& next = position_[static_cast<std::size_t>(engine)]; next < order.size();) {
      if (engine == held_back_ && next >= may_begin_) return;
      if (next == at(stops_, engine)) return;
      if (next > 0 && !handed_over(order[next - 1], engine)) return;
      if (!may_start(order[next], engine)) return;
      start(order[next]);
      ++next;
      wake(at(waiting_for_position_, engine));
    }
  }

  bool may_start(const spec::Task& task, int engine) {
    const auto [lane, microbatch] = task;
    const spec::Guards& guards = at(guards_, lane);
    // A task beyond the last microbatch, or one that is listed twice, never starts.
    if (microbatch >= program_.tasks_of(lane, microbatches_) || is_done(lane, microbatch)) {
      return false;
    }
    for (const int edge : guards.needs) {
      const spec::Edge& e = at(program_.edges, edge);
      const auto [first, last] = program_.needed(e, microbatch, microbatches_);
      for (int m = first; m < last; ++m) {
        if (is_done(e.producer, m)) continue;
        at(waiting_, e.producer).push_back(engine);
        return false;
      }
    }
    if (guards.in_sequence && microbatch > 0 && !is_done(lane, microbatch - 1)) return false;
    if (has_room(lane)) return true;
    const int rank = at(program_.lanes, lane).rank;
    waiting_for_room_[static_cast<std::size_t>(rank)].push_back(engine);
    return false;
  }

  // True if all messages that the task sent by rendezvous have been accepted.
  bool handed_over(const spec::Task& task, int engine) {
    for (const int edge : at(program_.lanes, task.lane).feeds) {
      const spec::Edge& e = at(program_.edges, edge);
      const int needed_by = program_.needed_by(e, task.microbatch, microbatches_);
      if (!e.rendezvous || needed_by < 0) continue;
      const std::vector<int>& positions = at(lists_.position, e.consumer);
      const int receiver = list_of(program_, e.consumer);
      const bool listed = needed_by < size_of(positions) && at(positions, needed_by) >= 0;
      if (listed && size_of_position(receiver) >= at(positions, needed_by)) continue;
      at(waiting_for_position_, receiver).push_back(engine);
      return false;
    }
    return true;
  }

  int size_of_position(int engine) const {
    return static_cast<int>(position_[static_cast<std::size_t>(engine)]);
  }

  bool is_done(int lane, int microbatch) const {
    const std::vector<bool>& its = at(done_, lane);
    const auto m = static_cast<std::size_t>(microbatch);
    return m < its.size() && its[m];
  }

  bool has_room(int lane) const {
    const auto& rooms = at(guards_, lane).rooms;
    return std::all_of(rooms.begin(), rooms.end(), [&](const spec::RoomGuard& guard) {
      return guard.room.fits(at(held_, guard.pool));
    });
  }

  void start(const spec::Task& task) {
    spec::stop_point();
    const auto [lane, microbatch] = task;
    const spec::Lane& l = at(program_.lanes, lane);
    for (const auto& a : l.acquires) {
      std::int64_t& held = at(held_, a.pool);
      const std::int64_t most = held + a.amount + unreleased_beside(task.lane, a, held);
      held += a.amount;
      if (most > at(result_.peaks, a.pool)) {
        at(result_.peaks, a.pool) = most;
        at(result_.peak_at, a.pool) = size_of(result_.run);
      }
    }
    for (const auto& r : l.releases) at(held_, r.pool) -= r.amount;
    count_messages(task);
    result_.run.push_back({lane, microbatch});
    at(done_, lane)[static_cast<std::size_t>(microbatch)] = true;
    begun_[static_cast<std::size_t>(lane)] = true;
    wake(at(waiting_, lane));
    if (!l.releases.empty()) wake(waiting_for_room_[static_cast<std::size_t>(l.rank)]);
  }

  // The greatest amount that a task paired with the lane may still hold although it counts as
  // ended. Only amounts that leave room for the lane's own amount are possible.
  std::int64_t unreleased_beside(int lane, const spec::Acquire& own, std::int64_t held) const {
    std::int64_t most = 0;
    const spec::Guards& guards = at(guards_, lane);
    if (guards.beside.empty()) return most;
    const auto room = room_in(guards, own.pool);
    for (const int other : guards.beside) {
      if (!begun_[static_cast<std::size_t>(other)]) continue;
      for (const auto& r : at(program_.lanes, other).releases) {
        const bool fits = !room || room->fits(held + r.amount);
        if (r.pool == own.pool && fits) most = std::max(most, r.amount);
      }
    }
    return most;
  }

  // Removes the messages that the task needs from their inboxes, and adds those that it sends.
  void count_messages(const spec::Task& task) {
    const spec::Lane& l = at(program_.lanes, task.lane);
    for (const int edge : l.edges) {
      const spec::Edge& e = at(program_.edges, edge);
      if (e.inbox < 0) continue;
      const auto [first, last] = slots_freed(program_, microbatches_, e, task, begun_);
      at(pending_, e.inbox) -= last - first;
    }
    for (const int edge : l.feeds) {
      const spec::Edge& e = at(program_.edges, edge);
      if (e.inbox >= 0 && program_.needed_by(e, task.microbatch, microbatches_) >= 0) {
        ++at(pending_, e.inbox);
      }
    }
  }

  void wake(std::vector<int>& engines) {
    for (const int engine : engines) ready_.push_back(engine);
    engines.clear();
  }

  const Program& program_;
  int microbatches_;
  std::vector<spec::Guards> guards_;  // per lane
  OrderLists lists_;
  OrderRunResult result_;
  std::vector<std::size_t> stops_;         // per rank and engine: an index never passed
  std::vector<std::size_t> position_;      // per rank and engine
  std::vector<std::vector<bool>> done_;    // per lane, by microbatch
  std::vector<bool> begun_;                // per lane: one of its tasks has started
  std::vector<std::int64_t> held_;         // per pool
  std::vector<std::int64_t> pending_;      // per inbox: messages sent and not taken
  std::vector<std::vector<int>> waiting_;  // per lane: engines that wait for its tasks
  std::vector<std::vector<int>>
      waiting_for_position_;                        // per engine: engines that wait for its steps
  std::vector<std::vector<int>> waiting_for_room_;  // per rank
  std::deque<int> ready_;                           // engines that may be able to proceed
  int held_back_ = -1;                              // the engine held back, or -1
  std::size_t may_begin_ = 0;                       // the first step that this engine cannot begin
};

}  // namespace

OrderRunResult run_order(const Program& program, int microbatches, Slots slots) {
  return OrderGraph(program, microbatches, slots).run();
}

std::optional<Overflow> find_overflow(const Program& program, int microbatches) {
  return OrderGraph(program, microbatches, Slots::unbounded).overflow();
}

std::optional<std::string> depends_on_timing(const Program& program) {
  for (int pool = 0; pool < size_of(program.pools); ++pool) {
    std::optional<spec::Engine> engine;
    for (const spec::Lane& lane : program.lanes) {
      for (const auto& a : lane.acquires) {
        if (a.pool != pool || !at(program.pools, pool).capacity) continue;
        if (engine && *engine != lane.engine) return program.pool_name(pool) + " is acquired";
        engine = lane.engine;
      }
    }
  }
  std::vector<std::optional<spec::Engine>> taken(program.inboxes.size());
  for (const spec::Edge& e : program.edges) {
    if (e.inbox < 0) continue;
    const spec::Engine engine = at(program.lanes, e.consumer).engine;
    std::optional<spec::Engine>& known = at(taken, e.inbox);
    if (known && *known != engine) return program.inbox_name(e.inbox) + " is taken from";
    known = engine;
  }
  return std::nullopt;
}

}  // namespace ripeline::verify
