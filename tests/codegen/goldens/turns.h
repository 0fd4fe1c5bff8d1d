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

#include "core/rule_arbiter.h"

namespace turns {

namespace core = ripeline::core;
static_assert(core::kCoreVersion == 8,
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

// A chunk that the hint names, by rank.
inline constexpr int kChunk_0[] = {
    0, 1,
};
// A chunk that the hint names, by rank.
inline constexpr int kChunk_1[] = {
    1, 1,
};
// Hint turns: rounds I, I, F@0,1, F; fill W@1.
inline constexpr core::PlaceFacts kPlaces[] = {
    {ops::kI}, {ops::kI}, {ops::kF, kChunk_0}, {ops::kF},
};
inline constexpr core::PlaceFacts kFill[] = {
    {ops::kW, kChunk_1},
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
    .dispatch = {.rule = core::HintRule::rounds, .places = kPlaces, .fill = kFill},
    .one_engine = true,
};

// The first pool of activation; the others follow, by rank.
inline constexpr int kPool_activation = 0;

// The room in activation that F leaves, by stage.
inline constexpr std::int64_t kLeaving_F_activation[] = {1, 1, 0, 0};

// F may start when there is room for it in activation.
template <class Number>
constexpr core::Truth<Number> admits_F(const Number& activation_held,
                                       std::int64_t activation_leaving) {
  return activation_held + 1 + activation_leaving <= 4;
}

// The program's rules, which core::RuleArbiter asks.
struct Rules : core::FreeRules {
  static constexpr bool kOneEngine = turns::facts.one_engine;
  static constexpr const core::ProgramFacts& facts() { return turns::facts; }
  // Whether a task of `id` finds what it acquires, when so much of each pool is held.
  template <class Number>
  static constexpr core::Truth<Number> has_room(core::LaneId id, const Number* held) {
    const core::LaneFacts& lane = kLanes[id];
    return lane.op != ops::kF ||
           admits_F(held[kPool_activation + lane.rank], kLeaving_F_activation[lane.stage]);
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
    if (lane.op == ops::kI) held[kPool_activation + lane.rank] -= 1;
  }
};
using Arbiter = core::RuleArbiter<Rules>;

inline std::unique_ptr<core::Arbiter> make_arbiter(int rank) {
  return std::make_unique<Arbiter>(rank);
}

}  // namespace turns
