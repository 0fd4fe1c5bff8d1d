// Patience: whether a rank that follows an order waits for the task that is next in it.
//
// If another task is ready but the next one is not, the rank may run it, or keep the engine idle a
// little. A rank tells its neighbours what it has started (core/notice.h), so that they know what
// is about to arrive. Let x be the next lane and y the ready task. Then y runs at once if
//   - it is not known when x can start, or that is at least yield * duration(y) away; or
//   - the ranks that take the results of x have other work: each consumer on another rank has
//     started fewer tasks than x has sent. (If x sends nothing, the condition is that no other lane
//     of the order has a task left, and x feeds nothing but fillers.) This does not count while the
//     pipeline fills, that is, if x and y are of one op, at two stages, and their engine has other
//     ops for every microbatch but has started none of those: their first task waits for x, and a
//     delay then lasts.
// Else the engine waits until patience * duration(y) after the later of x's expected arrival and
// the start of the engine's idle time; then y runs. So no notice can make it wait for ever.
//
// With `learns`, once the lane's messages have been seen often enough, the engine instead looks at
// the past messages that were at least as late as the expected one is now. It waits while half or
// more of these came within a further yield * duration(y); beyond the greatest lateness seen it
// waits for patience * duration(y). The latenesses are kept from step to step.
//
// With `forecasts` a rank also announces when the next task of each lane will start, and again when
// the time has changed. A task that lacks only room is forecast as if it started now, so its
// forecast moves with the clock; and each forecast that a rank receives makes it check its own. Two
// ranks could thus exchange forecasts for ever while nothing can start. So a rank makes only a
// limited number of forecasts until one of its own tasks starts or ends, or a message arrives.
//
// While a task runs, the same rule decides whether a task that is a pair with it starts; notices
// and forecasts assume that tasks run alone.
//
// Without costs the rank never waits. Belongs to one rank; one thread. begin_step() allocates.
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
  // The facts' dispatch must have patience, and the facts must outlive this object. No engine waits
  // for a lane of a `fill` op.
  Patience(const ProgramFacts& facts, int rank);

  void expect(const Costs& costs);
  // The hint follows `order`, which must outlive the step.
  void begin_step(int microbatches, const FollowedOrder& order);
  void arrived(Message message, Time now);
  void noticed(const Notice& notice, Time now);
  void started(Task task, Time now);
  void finished(Task task, Time now);

  // `ready` is the choice to start now, if any; `next` is the lane of Hint::awaited(), or -1.
  // Returns `ready`, or a choice to hold.
  [[nodiscard]] Choice choose(const Choice& ready, LaneId next, Time now) const;

  // Appends the notices since the last call: which tasks have started and, with forecasts, when the
  // next task of each lane will start, as far as this is known and has changed.
  void take_notices(Time now, std::vector<Notice>& out);

 private:
  struct Lane {
    std::vector<EdgeId> in;   // from other ranks
    std::vector<EdgeId> out;  // to other ranks
    bool filler = false;
    bool feeds = false;  // it feeds a lane of this rank that is no filler
    int tasks = 0;       // in this step
    int started = 0;
    int finished = 0;
    std::vector<std::int32_t> coming;  // microbatches with an expected message
    Lateness late;
    // The state of a forecast that is being made:
    std::size_t ahead = 0;  // how many of the lane's tasks the forecast has passed
    bool unknown = false;   // neither its next task nor any later one can be forecast
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
  // The time at which the messages let the lane's task of `microbatch` start; or kUnknown.
  [[nodiscard]] Time expected(const Lane& lane, std::int32_t microbatch) const;
  // The earliest expected() of the lane's coming microbatches; kUnknown if there is none.
  [[nodiscard]] Time earliest(const Lane& lane) const;
  // The time until which the engine waits for `x` instead of starting a task of duration `instead`;
  // not after `now` if the engine does not wait.
  [[nodiscard]] Time wait_until(const Lane& x, Time idle, Time instead, Time now) const;
  // Whether the pipeline fills: both lanes are of one op, and no other op of their engine started.
  [[nodiscard]] bool fills(LaneId instead, LaneId next) const;
  // Whether the ranks that receive the lane's messages have work to do without its next message.
  [[nodiscard]] bool is_covered(const Lane& lane) const;
  void settle(Lane& lane, std::int32_t microbatch);
  void forecast(Time now);
  [[nodiscard]] LaneId next_to_forecast() const;
  // The earliest start (or kUnknown) and microbatch (or -1) of the lane's task to forecast next.
  [[nodiscard]] std::pair<Time, std::int32_t> input(LaneId id, Time now) const;
  void announce(const Lane& lane, std::int32_t microbatch, Time ends, Time now);
  void withdraw(EdgeId edge);

  const ProgramFacts& facts_;
  PatienceRules rules_;
  LaneId first_lane_ = 0;
  Costs costs_;
  int microbatches_ = 0;
  std::vector<Lane> lanes_;              // the rank's lanes
  std::vector<std::int32_t> place_;      // per edge: its row if from another rank, else -1
  std::vector<Time> due_;                // per row and microbatch
  std::vector<std::uint8_t> put_off_;    // per row and microbatch: how often delayed
  std::vector<std::int32_t> taken_;      // per edge: tasks its consumer started, as last noticed
  std::array<Time, kEngines> idle_{};    // per engine: idle since, or running until
  std::array<int, kEngines> running_{};  // per engine: running tasks
  ReadyRows rows_;
  const FollowedOrder* order_ = nullptr;
  std::vector<LastNotice> last_notice_;  // per edge
  int forecasts_ = 0;  // forecasts since a task started or ended or a message arrived
  std::vector<Notice> notices_;
};

}  // namespace ripeline::core
