// RuleArbiter: the arbiter of every program, built on its facts and its Rules.
//
// ReadyRows list tasks whose needs are met, Engines know the idle engines, the Rules count room, an
// order gives the turn, a KeptOrder keeps room, the Hint chooses a lane, and Patience decides
// whether to wait for another lane. core/rules.h describes `Rules`. Where facts() is a constant,
// parts that the program does not use are not compiled. Memory grows with the rank's tasks and with
// the number of pools that the Rules count.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/arbiter.h"
#include "core/engines.h"
#include "core/kept_order.h"
#include "core/order.h"
#include "core/patience.h"
#include "core/ready_rows.h"
#include "core/rules.h"
#include "core/vocabulary/greatest.h"
#include "core/vocabulary/hint.h"

namespace ripeline::core {

// The parts of an arbiter that a program's dispatch needs.
struct DispatchParts {
  bool in_order = false;       // starts keep to an order
  bool binds = false;          // the order lists tasks, not lanes
  bool has_order = false;      // an order to write at the start of a step
  bool follows_lanes = false;  // hint, kept room or patience reads the order by lane
  bool keeps_room = false;
  bool waits = false;  // the hint has patience
  HintRule rule = HintRule::none;

  constexpr explicit DispatchParts(const DispatchFacts& dispatch)
      : in_order(dispatch.in_order),
        binds(dispatch.binds && dispatch.follows_order()),
        has_order(dispatch.has_order()),
        follows_lanes(!in_order && (dispatch.keeps_room || dispatch.patience.has_value() ||
                                    (has_order && !binds))),
        keeps_room(dispatch.keeps_room),
        waits(dispatch.patience.has_value()),
        rule(dispatch.rule) {}
};
// True for generated rules, whose facts are a compile-time constant.
template <class Rules>
concept HasConstantFacts = requires {
  typename std::integral_constant<bool, Rules::facts().one_engine>;
};

template <class Rules>
class RuleArbiter : public Arbiter {
 public:
  explicit RuleArbiter(int rank, Rules rules = {})
      : rules_(std::move(rules)),
        parts_(rules_.facts().dispatch),
        rows_(rules_.facts(), rank),
        engines_(rules_.facts(), rank),
        held_(rules_.counted(rules_.facts()), 0) {
    const ProgramFacts& facts = rules_.facts();
    const DispatchFacts& dispatch = facts.dispatch;
    if (!dispatch.in_order) {
      const LaneSpan own = rows_.lanes();
      hint_ = Hint(dispatch.rule, facts.ops, facts.lanes, own.first, own.end, dispatch.places,
                   dispatch.fill);
    }
    if (dispatch.keeps_room) kept_.emplace(facts, rank);
    if (dispatch.patience) patience_.emplace(facts, rank);
  }

  // Cannot be copied, since some parts refer to others.
  RuleArbiter(const RuleArbiter&) = delete;
  RuleArbiter& operator=(const RuleArbiter&) = delete;

  [[nodiscard]] const ProgramFacts& facts() const override { return rules_.facts(); }
  [[nodiscard]] int rank() const override { return rows_.rank(); }

  [[nodiscard]] Status begin_step(std::int64_t /*step*/, int microbatches) override {
    if (Status status = rows_.begin_step(microbatches); !status.ok()) return status;
    engines_.begin_step(microbatches);
    held_.assign(held_.size(), 0);
    round_ = 0;
    microbatches_ = microbatches;
    if (!parts().has_order) return {};
    OrderWriter order(facts(), rank(), microbatches);
    if (Status status = rules_.write_order(rank(), microbatches, order); !status.ok()) {
      return status;
    }
    if (parts().in_order) committed_.reset(facts(), order.tasks());
    if (parts().binds) bound_.reset(order.tasks());
    if (parts().follows_lanes) followed_.reset(rows_.lanes(), order.tasks());
    if (parts().keeps_room) kept_->begin_step(microbatches, followed_);
    if (parts().waits) patience_->begin_step(microbatches, followed_);
    return {};
  }

  void on_arrived(Message message, Time now) override {
    rows_.arrived(message);
    if (parts().waits) patience_->arrived(message, now);
  }
  void on_taken(Message message, Time /*now*/) override { engines_.taken(message); }

  void started(Task task, Time now) override {
    rows_.started(task);
    engines_.started(task);
    rules_.acquire(task.lane, held_.data());
    if (parts().in_order) return committed_.started(engine_of(task.lane));
    if (parts().binds) bound_.started(task);
    if (parts().follows_lanes) followed_.started(task.lane);
    if (parts().keeps_room) kept_->started();
    if (parts().waits) patience_->started(task, now);
    round_ = hint_.next_round(round_, task.lane);
  }

  void on_finished(Task task, Time now) override {
    rows_.finished(task);
    engines_.finished(task);
    rules_.release(task.lane, held_.data());
    if (parts().waits) patience_->finished(task, now);
  }

  void ready(Engine engine, TaskSet& out) const override {
    rows_.reset(out);
    if (!engines_.may_take(engine)) return;
    if (parts().in_order) {
      const Task next = committed_.next(engine);
      if (may_start(next, engine, nullptr)) out.add(next);
      return;
    }
    const auto [first, end] = rows_.lanes();
    for (LaneId lane = first; lane < end; ++lane) {
      if (takes(engine, lane)) out.row(lane) = rows_.tasks().row(lane);
    }
  }

  [[nodiscard]] Choice choose(Engine engine, const TaskSet* allowed, Time now) const override {
    if (!engines_.may_take(engine)) return {};
    if (parts().in_order) {
      const Task next = committed_.next(engine);
      return may_start(next, engine, allowed) ? start_of(next) : Choice{};
    }
    if (parts().waits) return patience_->choose(preferred(engine, allowed), awaited(engine), now);
    return preferred(engine, allowed);
  }

  [[nodiscard]] Task next_in_order(Engine engine) const override {
    return parts().in_order ? committed_.next(engine) : Task{};
  }

  void expect(const Costs& costs) override {
    if (parts().waits) patience_->expect(costs);
  }
  void on_notice(const Notice& notice, Time now) override {
    if (parts().waits) patience_->noticed(notice, now);
  }
  void take_notices(Time now, std::vector<Notice>& out) override {
    if (parts().waits) patience_->take_notices(now, out);
  }

  // How much of one of the rank's pools the rank's tasks hold.
  [[nodiscard]] std::int64_t held(int pool) const { return held_[rules_.place_of(pool)]; }

 private:
  using Busy = std::conditional_t<Rules::kOneEngine, OneEngine, Engines>;

  [[nodiscard]] const DispatchParts& parts() const {
    if constexpr (HasConstantFacts<Rules>) {
      static constexpr DispatchParts kParts(Rules::facts().dispatch);
      return kParts;
    } else {
      return parts_;
    }
  }

  [[nodiscard]] Engine engine_of(LaneId lane) const {
    return rules_.facts().lanes[static_cast<std::size_t>(lane)].engine;
  }

  [[nodiscard]] static Choice start_of(Task task) {
    return {.kind = Choice::Kind::start, .task = task, .until = Time{0}};
  }

  // Whether the lane is on this engine, the engine can take a task of the lane, and it finds room.
  [[nodiscard]] bool takes(Engine engine, LaneId lane) const {
    return engines_.takes(engine, lane) && has_room(lane);
  }
  [[nodiscard]] bool has_room(LaneId lane) const {
    if (!rules_.has_room(lane, held_.data())) return false;
    return !parts().keeps_room || kept_->admits(lane, [this](int pool) { return held(pool); });
  }
  [[nodiscard]] bool may_start(Task task, Engine engine, const TaskSet* allowed) const {
    return task.lane >= 0 && rows_.contains(task) && takes(engine, task.lane) &&
           (allowed == nullptr || allowed->contains(task));
  }
  // The lowest microbatch of the lane that may start and is allowed, or -1.
  [[nodiscard]] int lowest(Engine engine, LaneId lane, const TaskSet* allowed) const {
    return takes(engine, lane) ? rows_.lowest(lane, allowed) : -1;
  }

  // The hint's choice, without its patience.
  [[nodiscard]] Choice preferred(Engine engine, const TaskSet* allowed) const {
    if (parts().binds) {
      for (const Task task : bound_.left()) {
        if (may_start(task, engine, allowed)) return start_of(task);
      }
    } else if (parts().rule == HintRule::order) {
      int microbatch = -1;
      const auto place = [this](LaneId lane) { return followed_.next_place(lane); };
      const LaneId lane = hint_.followed(place, [&](LaneId asked) {
        const int m = lowest(engine, asked, allowed);
        if (m >= 0) microbatch = m;
        return m >= 0;
      });
      return lane >= 0 ? start_of({lane, microbatch}) : Choice{};
    } else if (parts().rule == HintRule::priority) {
      const Task task = greatest(
          hint_.valued(),
          [&](LaneId lane, int from) {
            return from > 0 || takes(engine, lane) ? rows_.next(lane, allowed, from) : -1;
          },
          [this](Task asked) { return rules_.priority(asked, held_.data(), microbatches_); });
      if (task.lane >= 0) return start_of(task);
    }
    for (const LaneId lane : hint_.tried(round_)) {
      if (const int m = lowest(engine, lane, allowed); m >= 0) return start_of({lane, m});
    }
    return {};
  }

  [[nodiscard]] LaneId awaited(Engine engine) const {
    return hint_.awaited([this](LaneId lane) { return followed_.next_place(lane); },
                         [&](LaneId lane) {
                           return engines_.takes(engine, lane) &&
                                  rules_.has_room(lane, held_.data());
                         },
                         [&](LaneId lane) { return lowest(engine, lane, nullptr) >= 0; });
  }

  [[no_unique_address]] Rules rules_;
  DispatchParts parts_;
  ReadyRows rows_;
  Busy engines_;
  std::vector<std::int64_t> held_;  // by the pool's place_of()
  int round_ = 0;                   // the place of `rounds` to try first
  int microbatches_ = 0;
  Hint hint_;
  CommittedOrder committed_;
  FollowedTasks bound_;
  FollowedOrder followed_;
  std::optional<KeptOrder> kept_;
  std::optional<Patience> patience_;
};

}  // namespace ripeline::core
