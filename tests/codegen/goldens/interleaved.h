// The arbiter of pipeline interleaved: 2 ranks, any number of microbatches.
//
// Written by ripeline 0.1.0 from interleaved.ripe, program hash 2c863a001095f188.
// Do not edit; to write it again:
//   ripeline generate interleaved.ripe --name interleaved -o interleaved.h
//
// Proved, for every timing and any choice among the tasks that may start:
//   deadlock     cuts
//   collectives  structure
//   messages     structure
//   memory       cuts
//   once         cuts
// Assumed:
//   Every task that starts ends.
//   Links are reliable: a message that is sent arrives, whole and once.
//   Each message has a slot of its own at its receiver, so no send waits.
//   A rank runs one task at a time, and none waits inside for a message.
//   Collectives of other groups (data-parallel, expert) are outside, or in a fixed order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/arbiter.h"
#include "core/order.h"
#include "core/ready_rows.h"

namespace interleaved {

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
    // Rank 1, from lane 4: 1F 1B 3F 3B
    {ops::kF, 1, 1, 0, core::Engine::compute}, {ops::kB, 1, 1, 0, core::Engine::compute},
    {ops::kF, 3, 1, 1, core::Engine::compute}, {ops::kB, 3, 1, 1, core::Engine::compute},
};

// The producer's lane, the consumer's; by the consumer's rank.
inline constexpr core::EdgeFacts kEdges[] = {
    {0, 1}, {5, 1}, {4, 2}, {2, 3}, {7, 3},
    {0, 4}, {4, 5}, {3, 5}, {2, 6}, {6, 7},
};

// Resource, unit, rank, stage (-1: of the rank), proved peak, capacity (-1: none).
inline constexpr core::PoolFacts kPools[] = {
    {"activation", "", 0, -1, 5, 5}, {"activation", "", 1, -1, 3, 3},
};

// Lane, pool, what a task acquires at its start, releases at its end, leaves free (if any).
inline constexpr core::UseFacts kUses[] = {
    {0, 0, 1, 0}, {1, 0, 0, 1}, {2, 0, 1, 0}, {3, 0, 0, 1},
    {4, 1, 1, 0}, {5, 1, 0, 1}, {6, 1, 1, 0}, {7, 1, 0, 1},
};

inline constexpr core::ProgramFacts facts = {
    .core_version = core::kCoreVersion,
    .name = "interleaved",
    .hash = 0x2c863a001095f188U,
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

// The capacity of activation, by rank.
inline constexpr std::int64_t kCapacity_activation[] = {5, 3};

// F may start when there is room for it in activation.
template <class Number>
constexpr core::Truth<Number> admits_F(const Number& activation_held,
                                       std::int64_t activation_capacity) {
  return activation_held + 1 <= activation_capacity;
}

// Whether a task of `id` finds what it acquires, when so much of each pool is held.
template <class Number>
constexpr core::Truth<Number> has_room(core::LaneId id, const Number* held) {
  const core::LaneFacts& lane = kLanes[id];
  return lane.op != ops::kF ||
         admits_F(held[kPool_activation + lane.rank], kCapacity_activation[lane.rank]);
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
  if (lane.op == ops::kB) held[kPool_activation + lane.rank] -= 1;
}

// Order interleaved: calls `then(op, chunk)` for each of its places on rank r, in order.
// `left(op, chunk)` says whether that lane has a microbatch left: a stream leaves out others.
template <class Then, class Left>
void order_interleaved(std::int64_t r,
                       std::int64_t microbatches,
                       const Then& then,
                       const Left& left) {
  const std::int64_t warm = std::min<std::int64_t>(2 * (1 - r) + 2, microbatches * 2);
  core::OrderStream f;
  for (std::int64_t g = 0; g < core::ceil_div(microbatches, 2); ++g) {
    for (std::int64_t c = 0; c < 2; ++c) f.add(ops::kF, c, 2);
  }
  core::OrderStream b;
  for (std::int64_t g = 0; g < core::ceil_div(microbatches, 2); ++g) {
    for (std::int64_t c = 0; c < 2; ++c) b.add(ops::kB, 1 - c, 2);
  }
  for (std::int64_t place = 0; place < warm; ++place) f.take(then, left);
  for (std::int64_t place = 0; place < microbatches * 2 - warm; ++place) {
    f.take(then, left);
    b.take(then, left);
  }
  for (std::int64_t place = 0; place < warm; ++place) b.take(then, left);
}

class Arbiter final : public core::Arbiter {
 public:
  explicit Arbiter(int rank) : rows_(interleaved::facts, rank) {}

  [[nodiscard]] const core::ProgramFacts& facts() const override { return interleaved::facts; }
  [[nodiscard]] int rank() const override { return rows_.rank(); }

  [[nodiscard]] core::Status begin_step(std::int64_t /*step*/, int microbatches) override {
    if (core::Status status = rows_.begin_step(microbatches); !status.ok()) return status;
    step_ = {};
    order_.reset(rows_.first_lane(), rows_.end_lane());
    order_interleaved(rows_.rank(), microbatches,
                      [this](int op, std::int64_t chunk) { order_.add(rows_.lane(op, chunk)); },
                      [this, microbatches](int op, std::int64_t chunk) {
                        return order_.has_left(rows_.lane(op, chunk), microbatches);
                      });
    return {};
  }

  void on_arrived(core::Message message, core::Time /*now*/) override { rows_.arrived(message); }

  void started(core::Task task, core::Time /*now*/) override {
    rows_.started(task);
    step_.idle = false;
    acquire(task.lane, step_.held);
    order_.started();
  }

  void on_finished(core::Task task, core::Time /*now*/) override {
    rows_.finished(task);
    step_.idle = true;
    release(task.lane, step_.held);
  }

  void ready(core::Engine engine, core::TaskSet& out) const override {
    rows_.reset(out);
    if (engine == core::Engine::compute && next_may_start()) out.add(order_.next());
  }

  // The order's next task, or none.
  [[nodiscard]] core::Choice choose(core::Engine engine, const core::TaskSet* allowed,
                                    core::Time /*now*/) const override {
    const core::Task next = order_.next();
    if (engine != core::Engine::compute || !next_may_start()) return {};
    if (allowed != nullptr && !allowed->contains(next)) return {};
    return {.kind = core::Choice::Kind::start, .task = next, .until = core::Time{0}};
  }

 private:
  struct Step {
    bool idle = true;
    std::int64_t held[2] = {};  // by pool
  };

  [[nodiscard]] bool next_may_start() const {
    return step_.idle && rows_.contains(order_.next()) && has_room(order_.next().lane, step_.held);
  }

  core::ReadyRows rows_;
  Step step_;
  core::CommittedOrder order_;
};

inline std::unique_ptr<core::Arbiter> make_arbiter(int rank) {
  return std::make_unique<Arbiter>(rank);
}

}  // namespace interleaved
