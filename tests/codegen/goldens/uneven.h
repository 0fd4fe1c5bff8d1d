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

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/fraction.h"
#include "core/rule_arbiter.h"

namespace uneven {

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

// Hint halves: follows order halves.

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
    .dispatch = {.rule = core::HintRule::order},
    .one_engine = true,
};

// Stages, by rank.
inline constexpr int kChunks[] = {2, 1};

// Order halves: its places on rank r.
inline void order_halves(core::Fraction r,
                         core::Fraction chunks,
                         core::Fraction microbatches,
                         core::OrderWriter& order) {
  const core::Fraction half = microbatches / 2;
  for (std::int64_t place = 0; place < core::floor(half); ++place) order.add(ops::kF, 0);
  for (std::int64_t place = 0; place < core::floor(half); ++place) {
    order.add(ops::kF, (chunks - 1).whole());
  }
  for (std::int64_t place = 0; place < (r == 0 ? microbatches : core::Fraction{1}); ++place) {
    order.add(ops::kB, (chunks - 1).whole());
  }
  for (std::int64_t place = 0; place < core::ceil(half); ++place) order.add(ops::kF, 0);
}

// The program's rules, which core::RuleArbiter asks.
struct Rules : core::FreeRules {
  static constexpr bool kOneEngine = uneven::facts.one_engine;
  static constexpr const core::ProgramFacts& facts() { return uneven::facts; }
  static core::Status write_order(int rank, int microbatches,
                                  core::OrderWriter& order) {
    order_halves(rank, kChunks[rank], microbatches, order);
    return {};
  }
};
using Arbiter = core::RuleArbiter<Rules>;

inline std::unique_ptr<core::Arbiter> make_arbiter(int rank) {
  return std::make_unique<Arbiter>(rank);
}

}  // namespace uneven
