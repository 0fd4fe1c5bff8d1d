// The arbiter of pipeline one_f_one_b: 4 ranks, any number of microbatches.
//
// Written by ripeline 0.1.0 from one_f_one_b.ripe, program hash 358c74cee137cafb.
// Do not edit; to write it again:
//   ripeline generate one_f_one_b.ripe --name one_f_one_b -o one_f_one_b.h
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

#include "core/rule_arbiter.h"

namespace one_f_one_b {

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
    // Rank 2, from lane 4: 2F 2B
    {ops::kF, 2, 2, 0, core::Engine::compute}, {ops::kB, 2, 2, 0, core::Engine::compute},
    // Rank 3, from lane 6: 3F 3B
    {ops::kF, 3, 3, 0, core::Engine::compute}, {ops::kB, 3, 3, 0, core::Engine::compute},
};

// The producer's lane, the consumer's; by the consumer's rank.
inline constexpr core::EdgeFacts kEdges[] = {
    {0, 1}, {3, 1},
    {0, 2}, {2, 3}, {5, 3},
    {2, 4}, {4, 5}, {7, 5},
    {4, 6}, {6, 7},
};

// Resource, unit, rank, stage (-1: of the rank), proved peak, capacity (-1: none).
inline constexpr core::PoolFacts kPools[] = {
    {"activation", "", 0, 0, 4, 4}, {"activation", "", 1, 1, 3, 3}, {"activation", "", 2, 2, 2, 2},
    {"activation", "", 3, 3, 1, 1},
};

// Lane, pool, what a task acquires at its start, releases at its end, leaves free (if any).
inline constexpr core::UseFacts kUses[] = {
    {0, 0, 1, 0}, {1, 0, 0, 1},
    {2, 1, 1, 0}, {3, 1, 0, 1},
    {4, 2, 1, 0}, {5, 2, 0, 1},
    {6, 3, 1, 0}, {7, 3, 0, 1},
};

inline constexpr core::ProgramFacts facts = {
    .core_version = core::kCoreVersion,
    .name = "one_f_one_b",
    .hash = 0x358c74cee137cafbU,
    .proved = true,
    .ranks = 4,
    .stages = 4,
    .min_microbatches = 1,
    .max_microbatches = 0,  // no limit
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

// The capacity of activation, by stage.
inline constexpr std::int64_t kCapacity_activation[] = {4, 3, 2, 1};

// F may start when there is room for it in activation.
template <class Number>
constexpr core::Truth<Number> admits_F(const Number& activation_held,
                                       std::int64_t activation_capacity) {
  return activation_held + 1 <= activation_capacity;
}

// Order one_f_one_b: its places on rank r.
inline void order_one_f_one_b(std::int64_t r, std::int64_t microbatches, core::OrderWriter& order) {
  const std::int64_t warm = std::min<std::int64_t>(3 - r, microbatches);
  for (std::int64_t place = 0; place < warm; ++place) order.add(ops::kF, 0);
  for (std::int64_t place = 0; place < microbatches - warm; ++place) {
    order.add(ops::kF, 0);
    order.add(ops::kB, 0);
  }
  for (std::int64_t place = 0; place < warm; ++place) order.add(ops::kB, 0);
}

// The program's rules, which core::RuleArbiter asks.
struct Rules : core::FreeRules {
  static constexpr bool kOneEngine = one_f_one_b::facts.one_engine;
  static constexpr const core::ProgramFacts& facts() { return one_f_one_b::facts; }
  // Whether a task of `id` finds what it acquires, when so much of each pool is held.
  template <class Number>
  static constexpr core::Truth<Number> has_room(core::LaneId id, const Number* held) {
    const core::LaneFacts& lane = kLanes[id];
    return lane.op != ops::kF ||
           admits_F(held[kPool_activation + lane.stage], kCapacity_activation[lane.stage]);
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

  static core::Status write_order(int rank, int microbatches,
                                  core::OrderWriter& order) {
    order_one_f_one_b(rank, microbatches, order);
    return {};
  }
};
using Arbiter = core::RuleArbiter<Rules>;

inline std::unique_ptr<core::Arbiter> make_arbiter(int rank) {
  return std::make_unique<Arbiter>(rank);
}

}  // namespace one_f_one_b
