// The arbiter of pipeline by_rank: 3 ranks, any number of microbatches.
//
// Written by ripeline 0.1.0 from by_rank.ripe, program hash 6ae2f27d14521b0e.
// Do not edit; to write it again:
//   ripeline generate by_rank.ripe --name by_rank -o by_rank.h
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

namespace by_rank {

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
    // Rank 0, from lane 0: 0F 0I 0W
    {ops::kF, 0, 0, 0, core::Engine::compute}, {ops::kI, 0, 0, 0, core::Engine::compute},
    {ops::kW, 0, 0, 0, core::Engine::compute},
    // Rank 1, from lane 3: 1F 1I 1W
    {ops::kF, 1, 1, 0, core::Engine::compute}, {ops::kI, 1, 1, 0, core::Engine::compute},
    {ops::kW, 1, 1, 0, core::Engine::compute},
    // Rank 2, from lane 6: 2F 2I 2W
    {ops::kF, 2, 2, 0, core::Engine::compute}, {ops::kI, 2, 2, 0, core::Engine::compute},
    {ops::kW, 2, 2, 0, core::Engine::compute},
};

// The producer's lane, the consumer's; by the consumer's rank.
inline constexpr core::EdgeFacts kEdges[] = {
    {0, 1}, {4, 1}, {1, 2},
    {0, 3}, {3, 4}, {7, 4}, {4, 5},
    {3, 6}, {6, 7}, {7, 8},
};

// Resource, unit, rank, stage (-1: of the rank), proved peak, capacity (-1: none).
inline constexpr core::PoolFacts kPools[] = {
    {"a", "", 0, -1, 3, -1}, {"a", "", 1, -1, 2, -1}, {"a", "", 2, -1, -1, -1},
};

// Lane, pool, what a task acquires at its start, releases at its end, leaves free (if any).
inline constexpr core::UseFacts kUses[] = {
    {0, 0, 1, 0}, {2, 0, 0, 1},
    {3, 1, 1, 0}, {5, 1, 0, 1},
    {6, 2, 1, 0}, {8, 2, 0, 1},
};

inline constexpr core::ProgramFacts facts = {
    .core_version = core::kCoreVersion,
    .name = "by_rank",
    .hash = 0x6ae2f27d14521b0eU,
    .proved = true,
    .ranks = 3,
    .stages = 3,
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

// Order by_rank: its places on rank r.
inline void order_by_rank(std::int64_t r, std::int64_t microbatches, core::OrderWriter& order) {
  const std::int64_t all = microbatches;
  if (r == 0) {
    for (std::int64_t place = 0; place < std::min<std::int64_t>(2, all); ++place) {
      order.add(ops::kF, 0);
    }
    for (std::int64_t place = 0; place < std::max<std::int64_t>(0, all - 2); ++place) {
      order.add(ops::kI, 0);
      order.add(ops::kF, 0);
      order.add(ops::kW, 0);
    }
  }
  if (r == 1) {
    order.add(ops::kF, 0);
    for (std::int64_t place = 0; place < all - 1; ++place) {
      order.add(ops::kF, 0);
      order.add(ops::kI, 0);
      order.add(ops::kW, 0);
    }
    order.add(ops::kI, 0);
  }
  for (std::int64_t place = 0; place < (r == 2 ? all : std::int64_t{0}); ++place) {
    order.add(ops::kF, 0);
    order.add(ops::kI, 0);
  }
  if (r == 0) {
    for (std::int64_t place = 0; place < std::min<std::int64_t>(2, all); ++place) {
      order.add(ops::kI, 0);
      order.add(ops::kW, 0);
    }
  }
  if (r == 1) {
    order.add(ops::kW, 0);
  }
  if (r == 2) {
    for (std::int64_t place = 0; place < all; ++place) order.add(ops::kW, 0);
  }
}

// The program's rules, which core::RuleArbiter asks.
struct Rules : core::FreeRules {
  static constexpr bool kOneEngine = by_rank::facts.one_engine;
  static constexpr const core::ProgramFacts& facts() { return by_rank::facts; }
  static core::Status write_order(int rank, int microbatches,
                                  core::OrderWriter& order) {
    order_by_rank(rank, microbatches, order);
    return {};
  }
};
using Arbiter = core::RuleArbiter<Rules>;

inline std::unique_ptr<core::Arbiter> make_arbiter(int rank) {
  return std::make_unique<Arbiter>(rank);
}

}  // namespace by_rank
