// The arbiter of pipeline uneven: 2 ranks, any number of microbatches.
//
// Written by ripeline 0.1.0 from uneven.ripe, program hash d23040852be78cbf.
// Do not edit; to write it again:
//   ripeline generate uneven.ripe --name uneven -o uneven.h
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
#include "core/fraction.h"
#include "core/order.h"
#include "core/ready_rows.h"

namespace uneven {

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
    // Rank 0, from lane 0: 0F 0B 2F 2B
    {ops::kF, 0, 0, 0, core::Engine::compute}, {ops::kB, 0, 0, 0, core::Engine::compute},
    {ops::kF, 2, 0, 1, core::Engine::compute}, {ops::kB, 2, 0, 1, core::Engine::compute},
    // Rank 1, from lane 4: 1F 1B
    {ops::kF, 1, 1, 0, core::Engine::compute}, {ops::kB, 1, 1, 0, core::Engine::compute},
};

// The producer's lane, the consumer's; by the consumer's rank.
inline constexpr core::EdgeFacts kEdges[] = {
    {0, 1}, {5, 1}, {4, 2}, {2, 3},
    {0, 4}, {4, 5}, {3, 5},
};

inline constexpr core::ProgramFacts facts = {
    .core_version = core::kCoreVersion,
    .name = "uneven",
    .hash = 0xd23040852be78cbfU,
    .proved = true,
    .ranks = 2,
    .stages = 3,
    .min_microbatches = 1,
    .max_microbatches = 0,  // no limit
    .ops = kOps,
    .lanes = kLanes,
    .edges = kEdges,
    .pools = {},
    .uses = {},
};

// Stages, by rank.
inline constexpr int kChunks[] = {2, 1};

// Order halves: calls `then(op, chunk)` for each of its places on rank r, in order.
template <class Then>
void order_halves(core::Fraction r,
                  core::Fraction chunks,
                  core::Fraction microbatches,
                  const Then& then) {
  const core::Fraction half = microbatches / 2;
  for (std::int64_t place = 0; place < core::floor(half); ++place) then(ops::kF, 0);
  for (std::int64_t place = 0; place < core::floor(half); ++place) {
    then(ops::kF, (chunks - 1).whole());
  }
  for (std::int64_t place = 0; place < (r == 0 ? microbatches : core::Fraction{1}); ++place) {
    then(ops::kB, (chunks - 1).whole());
  }
  for (std::int64_t place = 0; place < core::ceil(half); ++place) then(ops::kF, 0);
}

class Arbiter final : public core::Arbiter {
 public:
  explicit Arbiter(int rank) : rows_(uneven::facts, rank) {}

  [[nodiscard]] const core::ProgramFacts& facts() const override { return uneven::facts; }
  [[nodiscard]] int rank() const override { return rows_.rank(); }

  [[nodiscard]] core::Status begin_step(std::int64_t /*step*/, int microbatches) override {
    if (core::Status status = rows_.begin_step(microbatches); !status.ok()) return status;
    step_ = {};
    order_.reset(rows_.first_lane(), rows_.end_lane());
    order_halves(rows_.rank(), kChunks[rows_.rank()], microbatches,
                 [this](int op, std::int64_t chunk) { order_.add(rows_.lane(op, chunk)); });
    return {};
  }

  void on_arrived(core::Message message, core::Time /*now*/) override { rows_.arrived(message); }

  void started(core::Task task, core::Time /*now*/) override {
    rows_.started(task);
    step_.idle = false;
    order_.started(task.lane);
  }

  void on_finished(core::Task task, core::Time /*now*/) override {
    rows_.finished(task);
    step_.idle = true;
  }

  void ready(core::Engine engine, core::TaskSet& out) const override {
    rows_.reset(out);
    if (engine != core::Engine::compute || !step_.idle) return;
    out = rows_.tasks();
  }

  // Hint halves: follows order halves.
  [[nodiscard]] core::Choice choose(core::Engine engine, const core::TaskSet* allowed,
                                    core::Time /*now*/) const override {
    if (engine != core::Engine::compute || !step_.idle) return {};
    core::Choice earliest;
    int place = core::FollowedOrder::kNoPlace;
    for (core::LaneId lane = rows_.first_lane(); lane < rows_.end_lane(); ++lane) {
      if (order_.next_place(lane) >= place) continue;
      if (const core::Choice c = offer_lane(lane, allowed); c.starts()) {
        earliest = c;
        place = order_.next_place(lane);
      }
    }
    if (earliest.starts()) return earliest;
    // Lanes that the order does not list, or not so often.
    if (const core::Choice c = offer(ops::kF, allowed); c.starts()) return c;
    return offer(ops::kB, allowed);
  }

 private:
  struct Step {
    bool idle = true;
  };

  // The lowest microbatch of `lane` that may start and is allowed.
  [[nodiscard]] core::Choice offer_lane(core::LaneId lane, const core::TaskSet* allowed) const {
    return rows_.offer(lane, allowed);
  }

  // The lowest microbatch of `op` that may start and is allowed: of a forward at the lower chunk,
  // else at the higher.
  [[nodiscard]] core::Choice offer(int op, const core::TaskSet* allowed) const {
    const bool up = kOps[op].kind == core::OpKind::forward;
    for (int i = 0; i < 2; ++i) {
      const core::LaneId lane = rows_.lane(op, up ? i : 1 - i);
      if (const core::Choice c = offer_lane(lane, allowed); c.starts()) return c;
    }
    return {};
  }

  core::ReadyRows rows_;
  Step step_;
  core::FollowedOrder order_;
};

inline std::unique_ptr<core::Arbiter> make_arbiter(int rank) {
  return std::make_unique<Arbiter>(rank);
}

}  // namespace uneven
