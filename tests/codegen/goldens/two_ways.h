// The arbiter of pipeline two_ways: 2 ranks, 1 .. 12 microbatches.
//
// Written by ripeline 0.1.0 from two_ways.ripe, program hash 81cc59aa2881a274.
// Do not edit; to write it again:
//   ripeline generate two_ways.ripe --name two_ways -o two_ways.h
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

namespace two_ways {

namespace core = ripeline::core;
static_assert(core::kCoreVersion == 8,
              "this file is for another version of Ripeline: generate it again");

namespace ops {
inline constexpr int kF = 0;
inline constexpr int kB = 1;
inline constexpr int kP = 2;
}  // namespace ops

// Name, kind.
inline constexpr core::OpFacts kOps[] = {
    {"F", core::OpKind::forward}, {"B", core::OpKind::backward}, {"P", core::OpKind::user},
};

// Op, stage, rank, chunk, engine, once (if so), its share: a period, and a bit for each remainder.
inline constexpr core::LaneFacts kLanes[] = {
    // Rank 0, from lane 0: 0F 0B 0P 3F 3B 3P
    {ops::kF, 0, 0, 0, core::Engine::compute, false, {2, 0x1}},
    {ops::kB, 0, 0, 0, core::Engine::compute, false, {2, 0x1}},
    {ops::kP, 0, 0, 0, core::Engine::compute, false, {3, 0x1}},
    {ops::kF, 3, 0, 1, core::Engine::compute, false, {2, 0x2}},
    {ops::kB, 3, 0, 1, core::Engine::compute, false, {2, 0x2}},
    {ops::kP, 3, 0, 1, core::Engine::compute, false, {3, 0x1}},
    // Rank 1, from lane 6: 1F 1B 1P 2F 2B 2P
    {ops::kF, 1, 1, 0, core::Engine::compute, false, {2, 0x1}},
    {ops::kB, 1, 1, 0, core::Engine::compute, false, {2, 0x1}},
    {ops::kP, 1, 1, 0, core::Engine::compute, false, {3, 0x1}},
    {ops::kF, 2, 1, 1, core::Engine::compute, false, {2, 0x2}},
    {ops::kB, 2, 1, 1, core::Engine::compute, false, {2, 0x2}},
    {ops::kP, 2, 1, 1, core::Engine::compute, false, {3, 0x1}},
};

// The producer's lane, the consumer's (then which tasks, inbox, fifo, rendezvous,
// whether they have different shares); by the consumer's rank.
inline constexpr core::EdgeFacts kEdges[] = {
    {0, 1}, {7, 1}, {1, 2, core::Of::same, -1, false, false, true},
    {7, 2, core::Of::same, -1, false, false, true}, {9, 3}, {3, 4},
    {4, 5, core::Of::same, -1, false, false, true},
    {0, 6}, {6, 7}, {7, 8, core::Of::same, -1, false, false, true}, {9, 10}, {4, 10},
    {10, 11, core::Of::same, -1, false, false, true},
    {4, 11, core::Of::same, -1, false, false, true},
};

// Resource, unit, rank, stage (-1: of the rank), proved peak, capacity (-1: none).
inline constexpr core::PoolFacts kPools[] = {
    {"activation", "", 0, -1, 2, 2}, {"activation", "", 1, -1, 2, 2},
};

// Lane, pool, what a task acquires at its start, releases at its end, leaves free (if any).
inline constexpr core::UseFacts kUses[] = {
    {0, 0, 1, 0}, {1, 0, 0, 1}, {3, 0, 1, 0}, {4, 0, 0, 1},
    {6, 1, 1, 0}, {7, 1, 0, 1}, {9, 1, 1, 0}, {10, 1, 0, 1},
};

inline constexpr core::ProgramFacts facts = {
    .core_version = core::kCoreVersion,
    .name = "two_ways",
    .hash = 0x81cc59aa2881a274U,
    .proved = true,
    .ranks = 2,
    .stages = 4,
    .min_microbatches = 1,
    .max_microbatches = 12,
    .ops = kOps,
    .lanes = kLanes,
    .edges = kEdges,
    .pools = kPools,
    .uses = kUses,
    .dispatch = {.in_order = true},
    .one_engine = true,
};

// The first pool of activation; the others follow, by rank.
inline constexpr int kPool_activation = 0;

// F may start when there is room for it in activation.
template <class Number>
constexpr core::Truth<Number> admits_F(const Number& activation_held) {
  return activation_held + 1 <= 2;
}

// Order two_ways: its places on rank r.
inline void order_two_ways(std::int64_t r, std::int64_t microbatches, core::OrderWriter& order) {
  const std::int64_t near = r;
  core::OrderStream all;
  all.add(ops::kF, near, 1);
  for (std::int64_t unit = 0; unit < core::ceil_div(microbatches, 2); ++unit) {
    all.add(ops::kF, 1 - near, 1);
    all.add(ops::kB, 1 - near, 1);
    all.add(ops::kB, near, 1);
    all.add(ops::kF, near, 1);
  }
  for (std::int64_t place = 0; place < 2 * microbatches; ++place) all.take(order);
  for (std::int64_t place = 0; place < core::ceil_div(microbatches, 3); ++place) {
    order.add(ops::kP, 0);
  }
  for (std::int64_t place = 0; place < core::ceil_div(microbatches, 3); ++place) {
    order.add(ops::kP, 1);
  }
}

// The program's rules, which core::RuleArbiter asks.
struct Rules : core::FreeRules {
  static constexpr bool kOneEngine = two_ways::facts.one_engine;
  static constexpr const core::ProgramFacts& facts() { return two_ways::facts; }
  // Whether a task of `id` finds what it acquires, when so much of each pool is held.
  template <class Number>
  static constexpr core::Truth<Number> has_room(core::LaneId id, const Number* held) {
    const core::LaneFacts& lane = kLanes[id];
    return lane.op != ops::kF ||
           admits_F(held[kPool_activation + lane.rank]);
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

  static core::Status write_order(int rank, int microbatches,
                                  core::OrderWriter& order) {
    order_two_ways(rank, microbatches, order);
    return {};
  }
};
using Arbiter = core::RuleArbiter<Rules>;

inline std::unique_ptr<core::Arbiter> make_arbiter(int rank) {
  return std::make_unique<Arbiter>(rank);
}

}  // namespace two_ways
