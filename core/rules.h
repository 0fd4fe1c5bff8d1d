// Rules: the parts of a program that are functions, not tables, as an Arbiter calls them.
//
// An arbiter is RuleArbiter<Rules> (core/rule_arbiter.h), where Rules has the members below. A
// generated header has them for its program; simulate/table_arbiter.h evaluates an elaborated one.
//
//   facts()                                        the tables, which outlive the arbiter
//   kOneEngine                                     facts().one_engine, if constant; else false
//   has_room(lane, held)                           whether a task of the lane finds what it
//                                                  acquires, where `held` is by pool
//   acquire(lane, held), release(lane, held)       adds or subtracts what a task acquires, releases
//   counted(facts), place_of(pool)                 the size of `held`, and a pool's index in it
//   write_order(rank, microbatches, OrderWriter&)  writes the dispatch's order, if it has one; may
//                                                  fail if this microbatch count has no order
//   priority(task, held, microbatches)             the value of a task that a place lists, for a
//                                                  hint by priority; the greatest comes first
//
// FreeRules has the members for a program without bounds; Rules derive from it. Room is counted in
// any number type, so that `ripeline validate` can run the functions on formulas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/order.h"
#include "core/status.h"
#include "core/task.h"

namespace ripeline::core {

// The type of a comparison: bool for numbers, a formula for formulas (validate/probe/probe.h).
template <class Number>
using Truth = decltype(std::declval<Number>() <= std::declval<Number>());

struct FreeRules {
  static constexpr bool kOneEngine = false;
  template <class Number>
  static constexpr Truth<Number> has_room(LaneId /*lane*/, const Number* /*held*/) {
    return true;
  }
  template <class Number>
  static constexpr void acquire(LaneId /*lane*/, Number* /*held*/) {}
  template <class Number>
  static constexpr void release(LaneId /*lane*/, Number* /*held*/) {}
  static std::size_t counted(const ProgramFacts& facts) { return facts.pools.size(); }
  static std::size_t place_of(int pool) { return static_cast<std::size_t>(pool); }
  static Status write_order(int /*rank*/, int /*microbatches*/, OrderWriter& /*order*/) {
    return {};
  }
  static std::int64_t priority(Task /*task*/, const std::int64_t* /*held*/, int /*microbatches*/) {
    return 0;
  }
};

}  // namespace ripeline::core
