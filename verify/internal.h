// What the files of verify/ share and nobody else sees.
//
// Plain types; see verify.cpp for how the parts follow one another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "spec/machine.h"
#include "spec/program.h"
#include "verify/depth/depth.h"
#include "verify/solver.h"
#include "verify/verify.h"

namespace ripeline::verify {

// A mistake put into the encoding, so that tests can show that each would be noticed. Production
// never sets one.
enum class Fault : std::uint8_t {
  none,
  swapped_release,     // a pool gets its amount back when its acquirer has ended, not its releaser
  missing_release,     // nothing is ever given back
  capacity_too_large,  // one more than there is
  capacity_too_small,  // one less
  dropped_room,        // capacities are not looked at
  dropped_need,        // the last need of each lane is not looked at
  reversed_need,       // the last need of each lane is taken the other way around
  ignored_leaving,     // `leaving` is 0
  amount_of_one,       // every amount is 1
  joins_as_chains,     // independent inputs are taken for nested ones
  sequence_as_chains,  // a sequential consumer of an overtaking producer is taken for exact
  assumed_room,        // the invariant claims one unit that need not be free
  one_lane_forgotten,  // the last lane is never asked whether it may start
  order_place_forgotten,  // the last place of each repeat is never stood at
  order_counts_ahead,     // a task of an order counts as run when it is next
  order_room_forgotten,   // capacities are not looked at under a committed order
  range_from_one,         // the range of microbatches is not looked at
  bound_too_large,        // `assert peak` allows one more
  slots_too_many,         // an inbox has one slot more than it has
  slots_forgotten,        // inboxes are not looked at
  overtaking_forgotten,   // messages of slots are taken to arrive in order
  kept_order_trusted,     // an order that room is kept for is taken for proved
  kept_order_covers_all,  // … and its proof for one of programs that it does not cover
};

// States that searches may still visit. A state of many tasks counts for several.
struct Budget {
  std::uint64_t left = 0;
  [[nodiscard]] bool spend(std::uint64_t amount) {
    if (left < amount) {
      left = 0;
      return false;
    }
    left -= amount;
    return true;
  }
};

struct Task {
  int lane = -1;
  int microbatch = -1;
  bool operator==(const Task&) const = default;
};
// Tasks in the order in which they start; each ends before the next starts.
using Run = std::vector<Task>;

// A sum of counts of ended tasks, with multiples of how many microbatches there are, of all or of a
// share, and a constant.
struct Linear {
  // Each lane, or variable after those of the lanes, at most once, with its factor.
  std::vector<std::pair<int, std::int64_t>> lanes;
  std::vector<std::pair<spec::Share, std::int64_t>> microbatches;  // each share at most once
  std::int64_t constant = 0;

  Linear& add(int lane, std::int64_t factor);
  Linear& add(const spec::Share& share, std::int64_t factor);
  Linear& add(const Linear& other, std::int64_t factor);
  [[nodiscard]] std::int64_t factor_of(int lane) const;
  [[nodiscard]] std::int64_t at(const std::vector<std::int64_t>& done,
                                std::int64_t microbatches_now) const;
};

// How many tasks the lane has.
[[nodiscard]] Linear tasks_of(const spec::Program& program, int lane);

// verify() without the ProvedProgram, with a fault for tests.
[[nodiscard]] Verdict judge(const spec::Program& program, const VerifyOptions& options,
                            Fault fault);

// verify_every_depth() with a fault for tests.
[[nodiscard]] spec::Result<DepthVerdict> judge_every_depth(const spec::ast::Pipeline& pipeline,
                                                           const spec::Source& source,
                                                           const spec::ElaborateOptions& options,
                                                           const VerifyOptions& limits,
                                                           Fault fault);

// What one obligation came to, before it is named and timed.
struct Finding {
  Outcome outcome = Outcome::unknown;
  std::string method{};
  std::string reason{};
  spec::Span span{};
  std::optional<Counterexample> counterexample{};
  std::optional<Counterexample> other_choices{};
  std::vector<int> counts{};  // see Obligation
};

// By how programs are made.
[[nodiscard]] Finding by_structure();
[[nodiscard]] Obligation& obligation(Verdict& verdict, const std::string& name);
// Asks, and writes into the obligation what came of it and how long that took.
void settle(Verdict& verdict, const std::string& name, const std::function<Finding()>& find);
// After `once`. Each message has one producer and one consumer, waits for a slot or has its own,
// and keeps to its link's order, by how programs are made: what remains is that both run once.
// Whether messages wait for ever is a matter of deadlock.
void settle_messages(Verdict& verdict);

[[nodiscard]] std::vector<std::string> assumptions_of(const spec::Program& program);
// Without, what a rank starts is one sequence, and a place without room is passed by nobody.
[[nodiscard]] bool has_other_engines(const spec::Program& program);
// Some rank may run two tasks at once: on several engines, or a pair.
[[nodiscard]] bool runs_side_by_side(const spec::Program& program);

template <class T>
[[nodiscard]] const T& at(const std::vector<T>& v, int i) {
  return v[static_cast<std::size_t>(i)];
}
template <class T>
[[nodiscard]] T& at(std::vector<T>& v, int i) {
  return v[static_cast<std::size_t>(i)];
}
template <class T>
[[nodiscard]] int size_of(const std::vector<T>& v) {
  return static_cast<int>(v.size());
}

}  // namespace ripeline::verify
