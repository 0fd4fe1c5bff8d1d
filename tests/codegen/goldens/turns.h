// The arbiter of pipeline turns: 2 ranks, any number of microbatches.
//
// Written by ripeline 0.1.0 from turns.ripe, program hash 7745881f4822c870.
// Do not edit; to write it again:
//   ripeline generate turns.ripe --name turns -o turns.h
//
// Proved, for every timing and any choice among the tasks that may start:
//   deadlock     counters
//   collectives  structure
//   messages     structure
//   memory       counters
//   once         structure
// Assumed:
//   Every task that starts ends.
//   Links are reliable: a message that is sent arrives, whole and once.
//   Each message has a slot of its own at its receiver, so no send waits.
//   A rank runs one task at a time, and none waits inside for a message.
//   Collectives of other groups (data-parallel, expert) are outside, or in a fixed order.
#pragma once

#include <cstdint>
#include <memory>

#include "core/arbiter.h"
#include "core/ready_rows.h"
#include "core/vocabulary/turn.h"

namespace turns {

namespace core = ripeline::core;
static_assert(core::kCoreVersion == 7,
              "this file is for another version of Ripeline: generate it again");

namespace ops {
inline constexpr int kF = 0;
inline constexpr int kI = 1;
inline constexpr int kW = 2;
}  // namespace ops

// Name, kind.
inline constexpr core::OpFacts kOps[] = {
    {"F", core::OpKind::forward}, {"I", core::OpKind::backward_input},
    {"W", core::OpKind::backward_weight},
};

// Op, stage, rank, chunk, engine.
inline constexpr core::LaneFacts kLanes[] = {
    // Rank 0, from lane 0: 0F 0I 0W 2F 2I 2W
    {ops::kF, 0, 0, 0, core::Engine::compute}, {ops::kI, 0, 0, 0, core::Engine::compute},
    {ops::kW, 0, 0, 0, core::Engine::compute}, {ops::kF, 2, 0, 1, core::Engine::compute},
    {ops::kI, 2, 0, 1, core::Engine::compute}, {ops::kW, 2, 0, 1, core::Engine::compute},
    // Rank 1, from lane 6: 1F 1I 1W 3F 3I 3W
    {ops::kF, 1, 1, 0, core::Engine::compute}, {ops::kI, 1, 1, 0, core::Engine::compute},
    {ops::kW, 1, 1, 0, core::Engine::compute}, {ops::kF, 3, 1, 1, core::Engine::compute},
    {ops::kI, 3, 1, 1, core::Engine::compute}, {ops::kW, 3, 1, 1, core::Engine::compute},
};

// The producer's lane, the consumer's; by the consumer's rank.
inline constexpr core::EdgeFacts kEdges[] = {
    {0, 1}, {7, 1}, {1, 2}, {6, 3}, {3, 4}, {10, 4}, {4, 5},
    {0, 6}, {6, 7}, {4, 7}, {7, 8}, {3, 9}, {9, 10}, {10, 11},
};

// Resource, unit, rank, stage (-1: of the rank), proved peak, capacity (-1: none).
inline constexpr core::PoolFacts kPools[] = {
    {"activation", "", 0, -1, 4, 4}, {"activation", "", 1, -1, 4, 4},
};

// Lane, pool, what a task acquires at its start, releases at its end, leaves free (if any).
inline constexpr core::UseFacts kUses[] = {
    {0, 0, 1, 0, 1}, {1, 0, 0, 1}, {3, 0, 1, 0}, {4, 0, 0, 1},
    {6, 1, 1, 0, 1}, {7, 1, 0, 1}, {9, 1, 1, 0}, {10, 1, 0, 1},
};

inline constexpr core::ProgramFacts facts = {
    .core_version = core::kCoreVersion,
    .name = "turns",
    .hash = 0x7745881f4822c870U,
    .proved = true,
    .ranks = 2,
    .stages = 4,
    .min_microbatches = 1,
    .max_microbatches = 0,  // no limit
    .ops = kOps,
    .lanes = kLanes,
    .edges = kEdges,
    .pools = kPools,
    .uses = kUses,
};

// The first pool of activation; the others follow, by rank.
inline constexpr int kPool_activation = 0;

// What F leaves of activation, by stage.
inline constexpr std::int64_t kLeaving_F_activation[] = {1, 1, 0, 0};

// F may start when there is room for it in activation.
template <class Number>
constexpr core::Truth<Number> admits_F(const Number& activation_held,
                                       std::int64_t activation_leaving) {
  return activation_held + 1 + activation_leaving <= 4;
}

// Whether a task of `id` finds what it acquires, when so much of each pool is held.
template <class Number>
constexpr core::Truth<Number> has_room(core::LaneId id, const Number* held) {
  const core::LaneFacts& lane = kLanes[id];
  return lane.op != ops::kF ||
         admits_F(held[kPool_activation + lane.rank], kLeaving_F_activation[lane.stage]);
}

// What a task of `id` acquires at its start.
template <class Number>
constexpr void acquire(core::LaneId id, Number* held) {
  const core::LaneFacts& lane = kLanes[id];
  if (lane.op == ops::kF) held[kPool_activation + lane.rank] += 1;
}

// What it releases at its end.
template <class Number>
constexpr void release(core::LaneId id, Number* held) {
  const core::LaneFacts& lane = kLanes[id];
  if (lane.op == ops::kI) held[kPool_activation + lane.rank] -= 1;
}

class Arbiter final : public core::Arbiter {
 public:
  explicit Arbiter(int rank) : rows_(turns::facts, rank) {}

  [[nodiscard]] const core::ProgramFacts& facts() const override { return turns::facts; }
  [[nodiscard]] int rank() const override { return rows_.rank(); }

  [[nodiscard]] core::Status begin_step(std::int64_t /*step*/, int microbatches) override {
    if (core::Status status = rows_.begin_step(microbatches); !status.ok()) return status;
    step_ = {};
    return {};
  }

  void on_arrived(core::Message message, core::Time /*now*/) override { rows_.arrived(message); }

  void started(core::Task task, core::Time /*now*/) override {
    rows_.started(task);
    step_.idle = false;
    acquire(task.lane, step_.held);
    const core::LaneFacts& lane = kLanes[task.lane];
    switch (lane.op) {
      case ops::kF:
        step_.round = core::turn_after(step_.round, 4, [&lane](int place) { return (place == 2 && lane.chunk == kChunk_2[lane.rank]) || place == 3; });
        break;
      case ops::kI:
        step_.round = core::turn_after(step_.round, 4, [](int place) { return place == 0 || place == 1; });
        break;
      case ops::kW:
        if (lane.chunk == 1) step_.round = 0;
        break;
    }
  }

  void on_finished(core::Task task, core::Time /*now*/) override {
    rows_.finished(task);
    step_.idle = true;
    release(task.lane, step_.held);
  }

  void ready(core::Engine engine, core::TaskSet& out) const override {
    rows_.reset(out);
    if (engine != core::Engine::compute || !step_.idle) return;
    for (core::LaneId lane = rows_.first_lane(); lane < rows_.end_lane(); ++lane) {
      if (has_room(lane, step_.held)) out.row(lane) = rows_.tasks().row(lane);
    }
  }

  // Hint turns: rounds I, I, F@kChunk_2, F; fill W@1.
  [[nodiscard]] core::Choice choose(core::Engine engine, const core::TaskSet* allowed,
                                    core::Time /*now*/) const override {
    if (engine != core::Engine::compute || !step_.idle) return {};
    switch (step_.round) {
      case 0:  // I first
        if (const core::Choice c = offer(ops::kI, allowed); c.starts()) return c;
        if (const core::Choice c = offer_lane(rows_.first_lane() + 3 * (kChunk_2[rows_.rank()]) + ops::kF, allowed); c.starts()) return c;
        if (const core::Choice c = offer(ops::kF, allowed); c.starts()) return c;
        break;
      case 1:  // I first
        if (const core::Choice c = offer(ops::kI, allowed); c.starts()) return c;
        if (const core::Choice c = offer_lane(rows_.first_lane() + 3 * (kChunk_2[rows_.rank()]) + ops::kF, allowed); c.starts()) return c;
        if (const core::Choice c = offer(ops::kF, allowed); c.starts()) return c;
        break;
      case 2:  // F@kChunk_2 first
        if (const core::Choice c = offer_lane(rows_.first_lane() + 3 * (kChunk_2[rows_.rank()]) + ops::kF, allowed); c.starts()) return c;
        if (const core::Choice c = offer(ops::kF, allowed); c.starts()) return c;
        if (const core::Choice c = offer(ops::kI, allowed); c.starts()) return c;
        break;
      default:  // F first
        if (const core::Choice c = offer(ops::kF, allowed); c.starts()) return c;
        if (const core::Choice c = offer(ops::kI, allowed); c.starts()) return c;
        if (const core::Choice c = offer_lane(rows_.first_lane() + 3 * (kChunk_2[rows_.rank()]) + ops::kF, allowed); c.starts()) return c;
        break;
    }
    if (const core::Choice c = offer_unlisted(ops::kW, allowed); c.starts()) return c;
    return offer_lane(rows_.first_lane() + 3 * (1) + ops::kW, allowed);
  }

 private:
  struct Step {
    bool idle = true;
    int round = 0;  // the entry of hint turns to try first
    std::int64_t held[2] = {};  // by pool
  };

  // A chunk that the hint names, by rank.
  static constexpr int kChunk_2[] = {
      0, 1,
  };

  // The lowest microbatch of `lane` that may start and is allowed.
  [[nodiscard]] core::Choice offer_lane(core::LaneId lane, const core::TaskSet* allowed) const {
    return has_room(lane, step_.held) ? rows_.offer(lane, allowed) : core::Choice{};
  }

  // The lowest microbatch of `op` that may start and is allowed: of a forward at the lower chunk,
  // else at the higher.
  [[nodiscard]] core::Choice offer(int op, const core::TaskSet* allowed) const {
    const bool up = kOps[op].kind == core::OpKind::forward;
    for (int i = 0; i < 2; ++i) {
      const core::LaneId lane = rows_.first_lane() + 3 * (up ? i : 1 - i) + op;
      if (const core::Choice c = offer_lane(lane, allowed); c.starts()) return c;
    }
    return {};
  }

  // As offer(), but not at the chunks that the hint fills with.
  [[nodiscard]] core::Choice offer_unlisted(int op, const core::TaskSet* allowed) const {
    const bool up = kOps[op].kind == core::OpKind::forward;
    for (int i = 0; i < 2; ++i) {
      const core::LaneId id = rows_.first_lane() + 3 * (up ? i : 1 - i) + op;
      if (id < 0) continue;
      const core::LaneFacts& lane = kLanes[id];
      if ((op == ops::kW && (lane.chunk == 1))) continue;
      if (const core::Choice c = offer_lane(id, allowed); c.starts()) return c;
    }
    return {};
  }

  core::ReadyRows rows_;
  Step step_;
};

inline std::unique_ptr<core::Arbiter> make_arbiter(int rank) {
  return std::make_unique<Arbiter>(rank);
}

}  // namespace turns
