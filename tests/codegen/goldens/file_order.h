// The arbiter of pipeline file_order: 2 ranks, 8 microbatches.
//
// Written by ripeline 0.1.0 from file_order.ripe, program hash b9a77264a072692f.
// Do not edit; to write it again:
//   ripeline generate file_order.ripe --name file_order -o file_order.h
//
// Proved, for every timing and any choice among the tasks that may start:
//   deadlock     graph
//   collectives  structure
//   messages     structure
//   memory       graph
//   once         graph
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

namespace file_order {

namespace core = ripeline::core;
static_assert(core::kCoreVersion == 8,
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
    {"activation", "", 0, 0, 2, 3}, {"activation", "", 1, 1, 1, 3},
};

// Lane, pool, what a task acquires at its start, releases at its end, leaves free (if any).
inline constexpr core::UseFacts kUses[] = {
    {0, 0, 1, 0}, {1, 0, 0, 1},
    {2, 1, 1, 0}, {3, 1, 0, 1},
};

inline constexpr core::ProgramFacts facts = {
    .core_version = core::kCoreVersion,
    .name = "file_order",
    .hash = 0xb9a77264a072692fU,
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
    .dispatch = {.in_order = true},
    .one_engine = true,
};

// The first pool of activation; the others follow, by stage.
inline constexpr int kPool_activation = 0;

// F may start when there is room for it in activation.
template <class Number>
constexpr core::Truth<Number> admits_F(const Number& activation_held) {
  return activation_held + 1 <= 3;
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

// The program's rules, which core::RuleArbiter asks.
struct Rules : core::FreeRules {
  static constexpr bool kOneEngine = file_order::facts.one_engine;
  static constexpr const core::ProgramFacts& facts() { return file_order::facts; }
  // Whether a task of `id` finds what it acquires, when so much of each pool is held.
  template <class Number>
  static constexpr core::Truth<Number> has_room(core::LaneId id, const Number* held) {
    const core::LaneFacts& lane = kLanes[id];
    return lane.op != ops::kF ||
           admits_F(held[kPool_activation + lane.stage]);
  }
  // Takes what a task of `id` acquires at its start.
  template <class Number>
  static constexpr void acquire(core::LaneId id, Number* held) {
    const core::LaneFacts& lane = kLanes[id];
    if (lane.op == ops::kF) held[kPool_activation + lane.stage] += 1;
  }
  // Gives back what it releases at its end.
  template <class Number>
  static constexpr void release(core::LaneId id, Number* held) {
    const core::LaneFacts& lane = kLanes[id];
    if (lane.op == ops::kB) held[kPool_activation + lane.stage] -= 1;
  }

  static core::Status write_order(int rank, int /*microbatches*/,
                                  core::OrderWriter& order) {
    const int end = kBegin_listed[rank + 1];
    for (int place = kBegin_listed[rank]; place < end; ++place) order.add(kOrder_listed[place]);
    return {};
  }
};
using Arbiter = core::RuleArbiter<Rules>;

inline std::unique_ptr<core::Arbiter> make_arbiter(int rank) {
  return std::make_unique<Arbiter>(rank);
}

}  // namespace file_order
