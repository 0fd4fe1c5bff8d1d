// The arbiter of pipeline prefer: 2 ranks, 2 .. 64 microbatches.
//
// Written by ripeline 0.1.0 from prefer.ripe, program hash f3c4a813bb7bd57f.
// Do not edit; to write it again:
//   ripeline generate prefer.ripe --name prefer -o prefer.h
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

#include "core/rule_arbiter.h"

namespace prefer {

namespace core = ripeline::core;
static_assert(core::kCoreVersion == 8,
              "this file is for another version of Ripeline: generate it again");

namespace ops {
inline constexpr int kF = 0;
inline constexpr int kB = 1;
inline constexpr int kV = 2;
}  // namespace ops

// Name, kind, whether its tasks start one after another (if so).
inline constexpr core::OpFacts kOps[] = {
    {"F", core::OpKind::forward, true}, {"B", core::OpKind::backward}, {"V", core::OpKind::plain},
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
    {"activation", "MiB", 0, -1, 8, 8}, {"activation", "MiB", 1, -1, 4, 6},
    {"slot", "", 0, 0, 2, 4}, {"slot", "", 1, 1, 2, 4}, {"slot", "", 0, 2, 2, 4},
};

// Lane, pool, what a task acquires at its start, releases at its end, leaves free (if any).
inline constexpr core::UseFacts kUses[] = {
    {0, 0, 3, 0, 2}, {0, 2, 1, 0}, {1, 0, 0, 3}, {1, 2, 0, 1}, {2, 0, 1, 0}, {2, 4, 1, 0},
    {3, 0, 0, 1}, {3, 4, 0, 1},
    {4, 1, 2, 0}, {4, 3, 1, 0}, {5, 1, 0, 2}, {5, 3, 0, 1},
};

// Hint eager: prefer B; fill V.
inline constexpr core::PlaceFacts kPlaces[] = {
    {ops::kB},
};
inline constexpr core::PlaceFacts kFill[] = {
    {ops::kV},
};

inline constexpr core::ProgramFacts facts = {
    .core_version = core::kCoreVersion,
    .name = "prefer",
    .hash = 0xf3c4a813bb7bd57fU,
    .proved = true,
    .ranks = 2,
    .stages = 3,
    .min_microbatches = 2,
    .max_microbatches = 64,
    .ops = kOps,
    .lanes = kLanes,
    .edges = kEdges,
    .pools = kPools,
    .uses = kUses,
    .dispatch = {.rule = core::HintRule::prefer, .places = kPlaces, .fill = kFill},
    .one_engine = true,
};

// The first pool of activation; the others follow, by rank.
inline constexpr int kPool_activation = 0;

// The capacity of activation, by rank.
inline constexpr std::int64_t kCapacity_activation[] = {8, 6};

// The first pool of slot; the others follow, by stage.
inline constexpr int kPool_slot = 2;

// The amount of activation that F acquires, by stage.
inline constexpr std::int64_t kAmount_F_activation[] = {3, 2, 1};

// The room in activation that F leaves, by stage.
inline constexpr std::int64_t kLeaving_F_activation[] = {2, 0, 0};

// The amount of activation that B releases, by stage.
inline constexpr std::int64_t kRelease_B_activation[] = {3, 2, 1};

// F may start when there is room for it in activation and in slot.
template <class Number>
constexpr core::Truth<Number> admits_F(const Number& activation_held,
                                       std::int64_t activation_amount,
                                       std::int64_t activation_leaving,
                                       std::int64_t activation_capacity,
                                       const Number& slot_held) {
  return activation_held + activation_amount + activation_leaving <= activation_capacity &&
         slot_held + 1 <= 4;
}

// The program's rules, which core::RuleArbiter asks.
struct Rules : core::FreeRules {
  static constexpr bool kOneEngine = prefer::facts.one_engine;
  static constexpr const core::ProgramFacts& facts() { return prefer::facts; }
  // Whether a task of `id` finds what it acquires, when so much of each pool is held.
  template <class Number>
  static constexpr core::Truth<Number> has_room(core::LaneId id, const Number* held) {
    const core::LaneFacts& lane = kLanes[id];
    return lane.op != ops::kF ||
           admits_F(held[kPool_activation + lane.rank],
                    kAmount_F_activation[lane.stage],
                    kLeaving_F_activation[lane.stage],
                    kCapacity_activation[lane.rank],
                    held[kPool_slot + lane.stage]);
  }
  // Takes what a task of `id` acquires at its start.
  template <class Number>
  static constexpr void acquire(core::LaneId id, Number* held) {
    const core::LaneFacts& lane = kLanes[id];
    if (lane.op == ops::kF) {
      held[kPool_activation + lane.rank] += kAmount_F_activation[lane.stage];
      held[kPool_slot + lane.stage] += 1;
    }
  }
  // Gives back what it releases at its end.
  template <class Number>
  static constexpr void release(core::LaneId id, Number* held) {
    const core::LaneFacts& lane = kLanes[id];
    if (lane.op == ops::kB) {
      held[kPool_activation + lane.rank] -= kRelease_B_activation[lane.stage];
      held[kPool_slot + lane.stage] -= 1;
    }
  }
};
using Arbiter = core::RuleArbiter<Rules>;

inline std::unique_ptr<core::Arbiter> make_arbiter(int rank) {
  return std::make_unique<Arbiter>(rank);
}

}  // namespace prefer
