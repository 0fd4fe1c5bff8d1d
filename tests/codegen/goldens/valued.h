// The arbiter of pipeline valued: 2 ranks, 2 .. 70 microbatches.
//
// Written by ripeline 0.1.0 from valued.ripe, program hash 675b985218b0f0ce.
// Do not edit; to write it again:
//   ripeline generate valued.ripe --name valued -o valued.h
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

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/rule_arbiter.h"

namespace valued {

namespace core = ripeline::core;
static_assert(core::kCoreVersion == 8,
              "this file is for another version of Ripeline: generate it again");

namespace ops {
inline constexpr int kF = 0;
inline constexpr int kB = 1;
inline constexpr int kV = 2;
}  // namespace ops

// Name, kind.
inline constexpr core::OpFacts kOps[] = {
    {"F", core::OpKind::forward}, {"B", core::OpKind::backward}, {"V", core::OpKind::plain},
};

// Op, stage, rank, chunk, engine.
inline constexpr core::LaneFacts kLanes[] = {
    // Rank 0, from lane 0: 0F 0B 2F 2B
    {ops::kF, 0, 0, 0, core::Engine::compute}, {ops::kB, 0, 0, 0, core::Engine::compute},
    {ops::kF, 2, 0, 1, core::Engine::compute}, {ops::kB, 2, 0, 1, core::Engine::compute},
    // Rank 1, from lane 4: 1F 1B 1V
    {ops::kF, 1, 1, 0, core::Engine::compute}, {ops::kB, 1, 1, 0, core::Engine::compute},
    {ops::kV, 1, 1, 0, core::Engine::compute},
};

// The producer's lane, the consumer's; by the consumer's rank.
inline constexpr core::EdgeFacts kEdges[] = {
    {0, 1}, {5, 1}, {4, 2}, {2, 3},
    {0, 4}, {4, 5}, {3, 5}, {5, 6},
};

// Resource, unit, rank, stage (-1: of the rank), proved peak, capacity (-1: none).
inline constexpr core::PoolFacts kPools[] = {
    {"activation", "", 0, -1, 4, 4}, {"activation", "", 1, -1, 2, 2},
};

// Lane, pool, what a task acquires at its start, releases at its end, leaves free (if any).
inline constexpr core::UseFacts kUses[] = {
    {0, 0, 1, 0, 1}, {1, 0, 0, 1}, {2, 0, 1, 0}, {3, 0, 0, 1},
    {4, 1, 1, 0}, {5, 1, 0, 1},
};

// Hint valued: priority B = activation > chunks ? 1 : -m, F = -(m div 2) * chunks - chunk + min(2, (microbatches - m) div 4).
inline constexpr core::PlaceFacts kPlaces[] = {
    {ops::kB, {}, true}, {ops::kF, {}, true},
};

inline constexpr core::ProgramFacts facts = {
    .core_version = core::kCoreVersion,
    .name = "valued",
    .hash = 0x675b985218b0f0ceU,
    .proved = true,
    .ranks = 2,
    .stages = 3,
    .min_microbatches = 2,
    .max_microbatches = 70,
    .ops = kOps,
    .lanes = kLanes,
    .edges = kEdges,
    .pools = kPools,
    .uses = kUses,
    .dispatch = {.rule = core::HintRule::priority, .places = kPlaces},
    .one_engine = true,
};

// The first pool of activation; the others follow, by rank.
inline constexpr int kPool_activation = 0;

// The capacity of activation, by rank.
inline constexpr std::int64_t kCapacity_activation[] = {4, 2};

// The room in activation that F leaves, by stage.
inline constexpr std::int64_t kLeaving_F_activation[] = {1, 0, 0};

// F may start when there is room for it in activation.
template <class Number>
constexpr core::Truth<Number> admits_F(const Number& activation_held,
                                       std::int64_t activation_leaving,
                                       std::int64_t activation_capacity) {
  return activation_held + 1 + activation_leaving <= activation_capacity;
}

// Stages, by rank.
inline constexpr int kChunksOfRank[] = {
    2, 1,
};

// The program's rules, which core::RuleArbiter asks.
struct Rules : core::FreeRules {
  static constexpr bool kOneEngine = valued::facts.one_engine;
  static constexpr const core::ProgramFacts& facts() { return valued::facts; }
  // Whether a task of `id` finds what it acquires, when so much of each pool is held.
  template <class Number>
  static constexpr core::Truth<Number> has_room(core::LaneId id, const Number* held) {
    const core::LaneFacts& lane = kLanes[id];
    return lane.op != ops::kF ||
           admits_F(held[kPool_activation + lane.rank],
                    kLeaving_F_activation[lane.stage],
                    kCapacity_activation[lane.rank]);
  }
  // Takes what a task of `id` acquires at its start.
  template <class Number>
  static constexpr void acquire(core::LaneId id, Number* held) {
    const core::LaneFacts& lane = kLanes[id];
    if (lane.op == ops::kF) held[kPool_activation + lane.rank] += 1;
  }
  // Gives back what it releases at its end.
  template <class Number>
  static constexpr void release(core::LaneId id, Number* held) {
    const core::LaneFacts& lane = kLanes[id];
    if (lane.op == ops::kB) held[kPool_activation + lane.rank] -= 1;
  }

  // The value of a task, when so much of each pool is held: the greatest goes first.
  static std::int64_t priority(core::Task task, [[maybe_unused]] const std::int64_t* held,
                               [[maybe_unused]] std::int64_t microbatches) {
    const core::LaneFacts& lane = kLanes[task.lane];
    [[maybe_unused]] const std::int64_t chunk = lane.chunk;
    [[maybe_unused]] const std::int64_t chunks = kChunksOfRank[lane.rank];
    [[maybe_unused]] const std::int64_t m = facts().microbatch_of(task);
    switch (lane.op) {
      case ops::kB:
        return held[kPool_activation + lane.rank] > chunks ? std::int64_t{1} : -m;
      case ops::kF:
        return -core::floor_div(m, 2) * chunks - chunk + std::min<std::int64_t>(2, core::floor_div(microbatches - m, 4));
      default:
        return 0;
    }
  }
};
using Arbiter = core::RuleArbiter<Rules>;

inline std::unique_ptr<core::Arbiter> make_arbiter(int rank) {
  return std::make_unique<Arbiter>(rank);
}

}  // namespace valued
