// One microbatch count of a committed order: engines go on as far as they can.
#include "verify/order/order_run.h"

#include <deque>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "spec/guards.h"

namespace ripeline::verify {
namespace {

using spec::Program;

class OrderGraph {
 public:
  OrderGraph(const Program& program, int microbatches, Slots slots)
      : program_(program),
        microbatches_(microbatches),
        slots_(slots),
        guards_(spec::guards_of(program)) {}

  OrderRunResult run() {
    if (!prepare()) return std::move(result_);
    go();
    result_.finished = size_of(result_.run) == tasks_;
    return std::move(result_);
  }

  // Holds the receiver back before each of its tasks in turn, while all else goes on: then most
  // messages wait for it.
  std::optional<Overflow> overflow() {
    (void)prepare();
    std::vector<std::vector<int>> inboxes(orders_.size());  // per engine of the receivers
    for (int inbox = 0; inbox < size_of(program_.inboxes); ++inbox) {
      const int engine = receiver(inbox);
      if (engine >= 0) at(inboxes, engine).push_back(inbox);
    }
    for (int engine = 0; engine < size_of(inboxes); ++engine) {
      if (at(inboxes, engine).empty()) continue;
      reset();
      held_back_ = engine;
      for (may_begin_ = 0; may_begin_ <= at(orders_, engine).size(); ++may_begin_) {
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
  bool prepare() {
    const spec::Order& order = at(program_.orders, program_.dispatch.order);
    for (int rank = 0; rank < program_.ranks; ++rank) {
      spec::Result<std::vector<spec::Task>> tasks = expand(program_, order, rank, microbatches_);
      if (!tasks.ok()) {
        result_.invalid = tasks.errors();
        return false;
      }
      check_once(rank, tasks.value());
      by_engine(tasks.value());
    }
    find_stops();
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      tasks_ += program_.tasks_of(lane, microbatches_);
    }
    reset();
    return true;
  }

  void check_once(int rank, const std::vector<spec::Task>& tasks) {
    const int first = program_.first_lane(rank);
    std::vector<std::vector<int>> listed(
        static_cast<std::size_t>(program_.first_lane(rank + 1) - first));
    for (const spec::Task& task : tasks) {
      at(listed, task.lane - first).push_back(task.microbatch);
    }
    for (int lane = first; lane < first + size_of(listed) && result_.not_once.empty(); ++lane) {
      std::vector<int>& its = at(listed, lane - first);
      const int count = program_.tasks_of(lane, microbatches_);
      std::sort(its.begin(), its.end());
      // The first that is not the one after what stands before it.
      int next = 0;
      while (next < size_of(its) && its[static_cast<std::size_t>(next)] == next) ++next;
      if (next == count && next == size_of(its)) continue;
      const int found = next < size_of(its) ? at(its, next) : count;
      if (found < next) {
        result_.not_once = fmt::format("{} is listed twice", program_.task_name(lane, found));
      } else if (next < count) {
        result_.not_once = fmt::format("{} is missing", program_.task_name(lane, next));
      } else {
        result_.not_once =
            fmt::format("{} is beyond the last microbatch", program_.task_name(lane, found));
      }
    }
  }

  void by_engine(const std::vector<spec::Task>& tasks) {
    const std::size_t first = orders_.size();
    orders_.resize(first + spec::kEngines);
    place_.resize(program_.lanes.size());
    for (const spec::Task& task : tasks) {
      const auto engine = first + static_cast<std::size_t>(at(program_.lanes, task.lane).engine);
      std::vector<int>& its = at(place_, task.lane);
      const auto m = static_cast<std::size_t>(task.microbatch);
      if (its.size() <= m) its.resize(m + 1, -1);
      if (its[m] < 0) its[m] = size_of(orders_[engine]);
      orders_[engine].push_back(task);
    }
  }

  int engine_of(int lane) const {
    const spec::Lane& l = at(program_.lanes, lane);
    return static_cast<int>(spec::engine_index(l.rank, l.engine));
  }

  // The engine that takes from the inbox, if timing decides what waits for its slots: over a fifo
  // edge it does not (find_stops).
  int receiver(int inbox) const {
    int engine = -1;
    for (const spec::Edge& e : program_.edges) {
      if (e.inbox == inbox && !e.fifo) engine = engine_of(e.consumer);
    }
    return engine;
  }

  // The producer's microbatches whose slots of the edge's inbox the task's start frees: of all, the
  // first task of its lane frees them.
  core::TaskSpan freed(const spec::Edge& e, const spec::Task& task) const {
    if (e.of == spec::Of::all && begun_[static_cast<std::size_t>(task.lane)]) return {0, 0};
    return program_.needed(e, task.microbatch, microbatches_);
  }

  // The messages of a fifo edge.
  struct Queue {
    std::vector<int> place;  // per microbatch: so many are sent before it; -1: it is not sent
    std::set<int> untaken;   // places
  };

  Queue queue_of(const spec::Edge& e) const {
    Queue queue;
    queue.place.assign(static_cast<std::size_t>(microbatches_), -1);
    for (const spec::Task& task : at(orders_, engine_of(e.producer))) {
      const auto m = static_cast<std::size_t>(task.microbatch);
      if (task.lane != e.producer || m >= queue.place.size() || queue.place[m] >= 0) continue;
      if (program_.needed_by(e, task.microbatch, microbatches_) < 0) continue;
      queue.place[m] = static_cast<int>(queue.untaken.size());
      queue.untaken.insert(queue.untaken.end(), queue.place[m]);
    }
    return queue;
  }

  // Where each engine ends for good, for its next task is none, or its messages never all have
  // slots at once, whatever the timing: they are more than the inbox has; or those that a fifo edge
  // brings before them, and that later tasks take, leave them none.
  //
  // Nothing else waits for ever if messages arrive just before their task starts: of an inbox that
  // is no fifo all slots are free then, and of a fifo's so many as are looked for here.
  void find_stops() {
    stops_.assign(orders_.size(), kNowhere);
    if (program_.inboxes.empty() || slots_ == Slots::unbounded) return;
    std::vector<Queue> queues;
    for (const spec::Edge& e : program_.edges) {
      queues.push_back(e.inbox >= 0 && e.fifo ? queue_of(e) : Queue{});
    }
    begun_.assign(program_.lanes.size(), false);
    for (std::size_t engine = 0; engine < orders_.size(); ++engine) {
      const std::vector<spec::Task>& order = orders_[engine];
      for (std::size_t i = 0; i < order.size() && stops_[engine] == kNowhere; ++i) {
        const auto [lane, microbatch] = order[i];
        const bool exists = microbatch < program_.tasks_of(lane, microbatches_);
        if (!exists || !slots_suffice(order[i], queues)) stops_[engine] = i;
        begun_[static_cast<std::size_t>(lane)] = true;
      }
    }
  }

  // Takes the task's messages from the queues.
  bool slots_suffice(const spec::Task& task, std::vector<Queue>& queues) const {
    std::map<int, std::int64_t> at_once;  // per inbox: messages that must have arrived
    for (const int edge : at(program_.lanes, task.lane).edges) {
      const spec::Edge& e = at(program_.edges, edge);
      if (e.inbox < 0) continue;
      const auto [first, last] = freed(e, task);
      Queue& queue = at(queues, edge);
      int latest = -1;
      for (int m = first; m < last && e.fifo; ++m) latest = std::max(latest, at(queue.place, m));
      at_once[e.inbox] +=
          e.fifo ? std::distance(queue.untaken.begin(), queue.untaken.upper_bound(latest))
                 : last - first;
      for (int m = first; m < last && e.fifo; ++m) queue.untaken.erase(at(queue.place, m));
    }
    return std::all_of(at_once.begin(), at_once.end(), [&](const auto& inbox) {
      return inbox.second <= at(program_.inboxes, inbox.first).slots;
    });
  }

  void reset() {
    result_.run.clear();
    position_.assign(orders_.size(), 0);
    done_.assign(program_.lanes.size(), {});
    for (int lane = 0; lane < size_of(place_); ++lane) {
      const auto most = static_cast<std::size_t>(program_.tasks_of(lane, microbatches_));
      at(done_, lane).assign(std::min(at(place_, lane).size(), most), false);
    }
    begun_.assign(program_.lanes.size(), false);
    held_.assign(program_.pools.size(), 0);
    pending_.assign(program_.inboxes.size(), 0);
    result_.peaks.assign(program_.pools.size(), 0);
    result_.peak_at.assign(program_.pools.size(), -1);
    waiting_.assign(program_.lanes.size(), {});
    waiting_for_place_.assign(orders_.size(), {});
    waiting_for_room_.assign(static_cast<std::size_t>(program_.ranks), {});
    ready_.clear();
    for (int engine = 0; engine < size_of(orders_); ++engine) ready_.push_back(engine);
  }

  void go() {
    while (!ready_.empty()) {
      const int engine = ready_.front();
      ready_.pop_front();
      advance(engine);
    }
  }

  // Runs the engine until its next task cannot start, and leaves its name with what it waits for.
  void advance(int engine) {
    const std::vector<spec::Task>& order = at(orders_, engine);
    for (std::size_t& next = position_[static_cast<std::size_t>(engine)]; next < order.size();) {
      if (engine == held_back_ && next >= may_begin_) return;
      if (next == at(stops_, engine)) return;
      if (next > 0 && !handed_over(order[next - 1], engine)) return;
      if (!may_start(order[next], engine)) return;
      start(order[next]);
      ++next;
      wake(at(waiting_for_place_, engine));
    }
  }

  bool may_start(const spec::Task& task, int engine) {
    const auto [lane, microbatch] = task;
    const spec::Guards& guards = at(guards_, lane);
    // Beyond the last, or listed before: it never starts.
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

  // What the task before sent by rendezvous has been accepted.
  bool handed_over(const spec::Task& task, int engine) {
    for (const int edge : at(program_.lanes, task.lane).feeds) {
      const spec::Edge& e = at(program_.edges, edge);
      const int needed_by = program_.needed_by(e, task.microbatch, microbatches_);
      if (!e.rendezvous || needed_by < 0) continue;
      const std::vector<int>& places = at(place_, e.consumer);
      const int receiver = engine_of(e.consumer);
      const bool listed = needed_by < size_of(places) && at(places, needed_by) >= 0;
      if (listed && size_of_position(receiver) >= at(places, needed_by)) continue;
      at(waiting_for_place_, receiver).push_back(engine);
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

  // The most that a pair of the lane may still hold that runs beside it, though it counts as ended;
  // with room for the lane's own.
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

  // Takes those that it needs from their inboxes and puts its own where they are to wait.
  void count_messages(const spec::Task& task) {
    const spec::Lane& l = at(program_.lanes, task.lane);
    for (const int edge : l.edges) {
      const spec::Edge& e = at(program_.edges, edge);
      if (e.inbox < 0) continue;
      const auto [first, last] = freed(e, task);
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

  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  const Program& program_;
  int microbatches_;
  Slots slots_;
  std::vector<spec::Guards> guards_;  // per lane
  int tasks_ = 0;
  OrderRunResult result_;
  std::vector<std::vector<spec::Task>> orders_;  // per rank and engine
  std::vector<std::vector<int>> place_;  // per lane and microbatch: where it stands in those, or -1
  std::vector<std::size_t> stops_;       // per rank and engine: a place that it never passes
  std::vector<std::size_t> position_;    // per rank and engine
  std::vector<std::vector<bool>> done_;  // per lane, by microbatch
  std::vector<bool> begun_;              // per lane: a task of it has started
  std::vector<std::int64_t> held_;       // per pool
  std::vector<std::int64_t> pending_;    // per inbox: messages sent and not taken
  std::vector<std::vector<int>> waiting_;            // per lane: engines that wait for a task of it
  std::vector<std::vector<int>> waiting_for_place_;  // per engine: those that wait for it to go on
  std::vector<std::vector<int>> waiting_for_room_;   // per rank
  std::deque<int> ready_;                            // engines that may be able to go on
  int held_back_ = -1;                               // an engine that
  std::size_t may_begin_ = 0;                        // does not go on from here
};

}  // namespace

OrderRunResult run_order(const Program& program, int microbatches, Slots slots) {
  return OrderGraph(program, microbatches, slots).run();
}

std::optional<Overflow> find_overflow(const Program& program, int microbatches) {
  return OrderGraph(program, microbatches, Slots::unbounded).overflow();
}

std::string depends_on_timing(const Program& program) {
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
  return {};
}

}  // namespace ripeline::verify
