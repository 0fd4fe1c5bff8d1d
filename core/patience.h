// Patience: whether a rank that follows an order waits for what is next in it.
//
// Another task is ready, the next one is not: run that, or keep the engine idle a little? A rank
// tells its neighbours what it has started (core/notice.h), so that they know what is about to
// arrive. With x the lane that is next and y the task that is ready, y runs at once if
//   - nothing is known of when x can start, or it is yield * duration(y) away or more; or
//   - whoever takes what x makes still has something to do: each consumer on another rank has not
//     yet started on all that we sent it. (Where x sends nothing: if no other lane that the order
//     lists has a task left and x feeds nothing but fillers.) This does not count while the
//     pipeline fills, that is, where x and y are of one op, at two stages, and their engine, which
//     has other ops for every microbatch, has started none of those: their first task waits for x,
//     and what comes late then stays late.
// Else the engine waits, until patience * duration(y) after x was to arrive, or after the engine
// became idle if that was later; then y runs. So it never waits for ever, whatever is noticed.
//
// With `learns`, once the lane's messages have been seen often enough, the engine waits instead
// while one that is expected comes, of those that were so late at least, within yield *
// duration(y) in half of the cases or more; beyond the latest that was seen it waits for patience *
// duration(y). What was learned stays from step to step.
//
// With `forecasts` a rank also says when the next task of each lane will start, and says so again
// when that has moved. A task that lacks nothing but room is forecast as if it started now, so its
// forecast moves with the clock; and each forecast that a rank hears has it look at its own again.
// That would keep two ranks talking for ever while nothing can start. So a rank makes only a
// limited number of forecasts until a task of its own starts or ends or a message arrives.
//
// Beside a task that runs, the same is asked of those that are a pair with it; what is noticed and
// forecast is of tasks that run alone.
//
// Without costs it never waits. One rank's; one thread. Memory is taken by begin_step().
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/arbiter.h"
#include "core/costs.h"
#include "core/lateness.h"
#include "core/notice.h"
#include "core/order.h"
#include "core/ready_rows.h"

namespace ripeline::core {

class Patience {
 public:
  // The facts' dispatch must have patience, and they must outlive it. A lane that the hint fills
  // with is never waited for.
  Patience(const ProgramFacts& facts, int rank);

  void expect(const Costs& costs);
  // `order` is the one that is followed; it must outlive the step.
  void begin_step(int microbatches, const FollowedOrder& order);
  void arrived(Message message, Time now);
  void noticed(const Notice& notice, Time now);
  void started(Task task, Time now);
  void finished(Task task, Time now);

  // `ready` is what may start, if anything; `next` is the lane that the order has next and that has
  // room, or -1. The answer is `ready`, or to hold.
  [[nodiscard]] Choice choose(const Choice& ready, LaneId next, Time now) const;

  // Appends what is to be sent since the last call: what has started and, with forecasts, when the
  // next task of each lane will, as far as that is known, if it differs from what was said before.
  void take_notices(Time now, std::vector<Notice>& out);

 private:
  struct Lane {
    std::vector<EdgeId> in;   // from other ranks
    std::vector<EdgeId> out;  // to other ranks
    bool filler = false;
    bool feeds = false;  // a lane of this rank that is no filler
    int tasks = 0;       // in this step
    int started = 0;
    int finished = 0;
    std::vector<std::int32_t> coming;  // microbatches with an expected message
    Lateness late;
    // The state of a forecast that is being made:
    std::size_t ahead = 0;  // tasks that it has seen
    bool unknown = false;   // nor those after them
    std::vector<Time> ends;
  };
  // The last forecast of a message over an edge.
  struct LastNotice {
    std::int32_t microbatch = -1;
    Time arrives{0};
  };

  [[nodiscard]] Lane& lane(LaneId id) { return lanes_[static_cast<std::size_t>(id - first_lane_)]; }
  [[nodiscard]] const Lane& lane(LaneId id) const {
    return lanes_[static_cast<std::size_t>(id - first_lane_)];
  }
  [[nodiscard]] std::size_t row(Message message) const {
    return static_cast<std::size_t>(place_[static_cast<std::size_t>(message.edge)]) *
               static_cast<std::size_t>(microbatches_) +
           static_cast<std::size_t>(message.microbatch);
  }
  [[nodiscard]] Time& due(Message message) { return due_[row(message)]; }
  [[nodiscard]] const Time& due(Message message) const { return due_[row(message)]; }
  [[nodiscard]] bool put_off(Message message);
  [[nodiscard]] Time duration(LaneId id) const {
    return costs_.tasks[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] Time duration(Task task) const { return costs_.of(task); }
  // When the lane's task of `microbatch` can start, as far as messages go; kUnknown.
  [[nodiscard]] Time expected(const Lane& lane, std::int32_t microbatch) const;
  // The least expected() of its coming microbatches; kUnknown.
  [[nodiscard]] Time earliest(const Lane& lane) const;
  // Until when it waits for `x` rather than to start what takes `instead`; `now` or less: it does
  // not.
  [[nodiscard]] Time wait_until(const Lane& x, Time idle, Time instead, Time now) const;
  // Both are of one op, and of the others of their engine none has started: the pipeline fills.
  [[nodiscard]] bool fills(LaneId instead, LaneId next) const;
  // Whoever takes what the lane makes has something to do without it.
  [[nodiscard]] bool is_covered(const Lane& lane) const;
  void settle(Lane& lane, std::int32_t microbatch);
  void forecast(Time now);
  [[nodiscard]] LaneId next_to_forecast() const;
  // When the lane's task that is `ahead` can start, and which one that will be.
  [[nodiscard]] std::pair<Time, std::int32_t> input(LaneId id, Time now) const;
  void say(const Lane& lane, std::int32_t microbatch, Time ends, Time now);
  void unsay(EdgeId edge);

  const ProgramFacts& facts_;
  PatienceRules rules_;
  LaneId first_lane_ = 0;
  Costs costs_;
  int microbatches_ = 0;
  std::vector<Lane> lanes_;              // own
  std::vector<std::int32_t> place_;      // per edge that comes from another rank: its row; else -1
  std::vector<Time> due_;                // per row and microbatch
  std::vector<std::uint8_t> put_off_;    // how often
  std::vector<std::int32_t> taken_;      // per edge: of its consumer, as last noticed
  std::array<Time, kEngines> idle_{};    // per engine: since when, or until when it runs
  std::array<int, kEngines> running_{};  // per engine: tasks
  ReadyRows rows_;
  const FollowedOrder* order_ = nullptr;
  std::vector<LastNotice> said_;  // per edge
  int forecasts_ = 0;             // since a task started or ended or a message arrived
  std::vector<Notice> notices_;
};

}  // namespace ripeline::core
