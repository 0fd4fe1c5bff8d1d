// The arbiter of pipeline file_hint: 2 ranks, 8 microbatches.
//
// Written by ripeline 0.1.0 from file_hint.ripe, program hash 4d0815547f5c05a8.
// Do not edit; to write it again:
//   ripeline generate file_hint.ripe --name file_hint -o file_hint.h
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
#include "core/order.h"
#include "core/ready_rows.h"

namespace file_hint {

namespace core = ripeline::core;
static_assert(core::kCoreVersion == 7,
              "this file is for another version of Ripeline: generate it again");

namespace ops {
inline constexpr int kF = 0;
inline constexpr int kB = 1;
}  // namespace ops

// Name, kind.
inline constexpr core::OpFacts kOps[] = {
    {"F", core::OpKind::forward}, {"B", core::OpKind::backward},
};

// Op, stage, rank, chunk, engine.
inline constexpr core::LaneFacts kLanes[] = {
    // Rank 0, from lane 0: 0F 0B
    {ops::kF, 0, 0, 0, core::Engine::compute}, {ops::kB, 0, 0, 0, core::Engine::compute},
    // Rank 1, from lane 2: 1F 1B
    {ops::kF, 1, 1, 0, core::Engine::compute}, {ops::kB, 1, 1, 0, core::Engine::compute},
};

// The producer's lane, the consumer's; by the consumer's rank.
inline constexpr core::EdgeFacts kEdges[] = {
    {0, 1}, {3, 1},
    {0, 2}, {2, 3},
};

// Resource, unit, rank, stage (-1: of the rank), proved peak, capacity (-1: none).
inline constexpr core::PoolFacts kPools[] = {
    {"activation", "", 0, 0, 3, 3}, {"activation", "", 1, 1, 3, 3},
};

// Lane, pool, what a task acquires at its start, releases at its end, leaves free (if any).
inline constexpr core::UseFacts kUses[] = {
    {0, 0, 1, 0}, {1, 0, 0, 1},
    {2, 1, 1, 0}, {3, 1, 0, 1},
};

inline constexpr core::ProgramFacts facts = {
    .core_version = core::kCoreVersion,
    .name = "file_hint",
    .hash = 0x4d0815547f5c05a8U,
    .proved = true,
    .ranks = 2,
    .stages = 2,
    .min_microbatches = 8,
    .max_microbatches = 8,
    .ops = kOps,
    .lanes = kLanes,
    .edges = kEdges,
    .pools = kPools,
    .uses = kUses,
};

// The first pool of activation; the others follow, by stage.
inline constexpr int kPool_activation = 0;

// F may start when there is room for it in activation.
template <class Number>
constexpr core::Truth<Number> admits_F(const Number& activation_held) {
  return activation_held + 1 <= 3;
}

// Whether a task of `id` finds what it acquires, when so much of each pool is held.
template <class Number>
constexpr core::Truth<Number> has_room(core::LaneId id, const Number* held) {
  const core::LaneFacts& lane = kLanes[id];
  return lane.op != ops::kF ||
         admits_F(held[kPool_activation + lane.stage]);
}

// What a task of `id` acquires at its start.
template <class Number>
constexpr void acquire(core::LaneId id, Number* held) {
  const core::LaneFacts& lane = kLanes[id];
  if (lane.op == ops::kF) held[kPool_activation + lane.stage] += 1;
}

// What it releases at its end.
template <class Number>
constexpr void release(core::LaneId id, Number* held) {
  const core::LaneFacts& lane = kLanes[id];
  if (lane.op == ops::kB) held[kPool_activation + lane.stage] -= 1;
}

// Order listed, from a file: each rank's tasks (lane, microbatch), in order.
inline constexpr core::Task kOrder_listed[] = {
    {0, 1}, {0, 0}, {1, 1}, {0, 3}, {1, 0}, {0, 2}, {1, 3}, {0, 5}, {1, 2}, {0, 4}, {1, 5},
    {0, 7}, {1, 4}, {0, 6}, {1, 7}, {1, 6}, {2, 1}, {3, 1}, {2, 0}, {3, 0}, {2, 3}, {3, 3},
    {2, 2}, {3, 2}, {2, 5}, {3, 5}, {2, 4}, {3, 4}, {2, 7}, {3, 7}, {2, 6}, {3, 6},
};
// Where those of each rank begin; and the end.
inline constexpr int kBegin_listed[] = {
    0, 16, 32,
};

class Arbiter final : public core::Arbiter {
 public:
  explicit Arbiter(int rank) : rows_(file_hint::facts, rank) {}

  [[nodiscard]] const core::ProgramFacts& facts() const override { return file_hint::facts; }
  [[nodiscard]] int rank() const override { return rows_.rank(); }

  [[nodiscard]] core::Status begin_step(std::int64_t /*step*/, int microbatches) override {
    if (core::Status status = rows_.begin_step(microbatches); !status.ok()) return status;
    step_ = {};
    order_.reset(rows_.first_lane(), rows_.end_lane());
    const int end = kBegin_listed[rows_.rank() + 1];
    for (int place = kBegin_listed[rows_.rank()]; place < end; ++place) {
      order_.add(kOrder_listed[place]);
    }
    return {};
  }

  void on_arrived(core::Message message, core::Time /*now*/) override { rows_.arrived(message); }

  void started(core::Task task, core::Time /*now*/) override {
    rows_.started(task);
    step_.idle = false;
    acquire(task.lane, step_.held);
    order_.started(task);
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

  // Hint listed: follows order listed.
  [[nodiscard]] core::Choice choose(core::Engine engine, const core::TaskSet* allowed,
                                    core::Time /*now*/) const override {
    if (engine != core::Engine::compute || !step_.idle) return {};
    for (const core::Task task : order_.left()) {
      if (!rows_.contains(task) || !has_room(task.lane, step_.held)) continue;
      if (allowed != nullptr && !allowed->contains(task)) continue;
      return {.kind = core::Choice::Kind::start, .task = task, .until = core::Time{0}};
    }
    // Tasks that the file does not list.
    if (const core::Choice c = offer(ops::kF, allowed); c.starts()) return c;
    return offer(ops::kB, allowed);
  }

 private:
  struct Step {
    bool idle = true;
    std::int64_t held[2] = {};  // by pool
  };

  // The lowest microbatch of `lane` that may start and is allowed.
  [[nodiscard]] core::Choice offer_lane(core::LaneId lane, const core::TaskSet* allowed) const {
    return has_room(lane, step_.held) ? rows_.offer(lane, allowed) : core::Choice{};
  }

  // The lowest microbatch of `op` that may start and is allowed.
  [[nodiscard]] core::Choice offer(int op, const core::TaskSet* allowed) const {
    return offer_lane(rows_.first_lane() + op, allowed);
  }

  core::ReadyRows rows_;
  Step step_;
  core::FollowedTasks order_;
};

inline std::unique_ptr<core::Arbiter> make_arbiter(int rank) {
  return std::make_unique<Arbiter>(rank);
}

}  // namespace file_hint
