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
static_assert(core::kCoreVersion == 1,
              "this file is for another version of Ripeline: generate it again");

namespace ops {
inline constexpr int F = 0;
inline constexpr int B = 1;
}  // namespace ops

// Name, kind.
inline constexpr core::OpFacts kOps[] = {
    {"F", core::OpKind::forward}, {"B", core::OpKind::backward},
};

// Op, stage, rank, chunk, engine.
inline constexpr core::LaneFacts kLanes[] = {
    // Rank 0, from lane 0: 0F 0B 2F 2B
    {ops::F, 0, 0, 0, core::Engine::compute}, {ops::B, 0, 0, 0, core::Engine::compute},
    {ops::F, 2, 0, 1, core::Engine::compute}, {ops::B, 2, 0, 1, core::Engine::compute},
    // Rank 1, from lane 4: 1F 1B 3F 3B
    {ops::F, 1, 1, 0, core::Engine::compute}, {ops::B, 1, 1, 0, core::Engine::compute},
    {ops::F, 3, 1, 1, core::Engine::compute}, {ops::B, 3, 1, 1, core::Engine::compute},
};

// The producer's lane, the consumer's; by the consumer's rank.
inline constexpr core::EdgeFacts kEdges[] = {
    {0, 1}, {5, 1}, {4, 2}, {2, 3}, {7, 3},
    {0, 4}, {4, 5}, {3, 5}, {2, 6}, {6, 7},
};

// Resource, unit, rank, stage (-1: of the whole rank), proved peak (-1: none).
inline constexpr core::PoolFacts kPools[] = {
    {"activation", "", 0, -1, 5}, {"activation", "", 1, -1, 3},
};

// Lane, pool, what a task acquires at its start, what it releases at its end.
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

// The capacity of activation, by rank.
inline constexpr std::int64_t kCapacity_activation[] = {5, 3};

// F may start when there is room for it in activation.
template <class Number>
constexpr auto admits_F(const Number& activation_held, const Number& activation_capacity) {
  return activation_held + 1 <= activation_capacity;
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
    for (std::int64_t c = 0; c < 2; ++c) f.add(ops::F, c, 2);
  }
  core::OrderStream b;
  for (std::int64_t g = 0; g < core::ceil_div(microbatches, 2); ++g) {
    for (std::int64_t c = 0; c < 2; ++c) b.add(ops::B, 1 - c, 2);
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
    order_.started();
    const core::LaneFacts& lane = kLanes[task.lane];
    if (lane.op == ops::F) step_.activation_held += 1;
  }

  void on_finished(core::Task task, core::Time /*now*/) override {
    rows_.finished(task);
    step_.idle = true;
    const core::LaneFacts& lane = kLanes[task.lane];
    if (lane.op == ops::B) step_.activation_held -= 1;
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
    std::int64_t activation_held = 0;
  };

  // Whether a task of `id` finds what it acquires.
  [[nodiscard]] bool has_room(core::LaneId id) const {
    const core::LaneFacts& lane = kLanes[id];
    return lane.op != ops::F ||
           admits_F(step_.activation_held, kCapacity_activation[lane.rank]);
  }

  [[nodiscard]] bool next_may_start() const {
    return step_.idle && rows_.contains(order_.next()) && has_room(order_.next().lane);
  }

  core::ReadyRows rows_;
  Step step_;
  core::CommittedOrder order_;
};

inline std::unique_ptr<core::Arbiter> make_arbiter(int rank) {
  return std::make_unique<Arbiter>(rank);
}

}  // namespace interleaved
