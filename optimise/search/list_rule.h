// Orders of a chain that a rule makes, which a rank follows with what it knows at the moment.
//
// A rank that is idle takes the next forward or input gradient that has arrived. A forward counts
// only while fewer than `warm_up` forwards wait for their input gradients and, to start, while the
// memory has room. A weight gradient runs at once where more than `lag` are put off, or where a
// forward has arrived that only lacks room and no input gradient has; otherwise where nothing is
// ready, unless something is known to arrive within `look_ahead`: then the rank waits, by `evenly`
// only while it has then waited no longer than the rank that has waited the longest. A rank knows
// what arrives from the tasks that its neighbours are running.
//
// From 1F1B's memory on, rules of this kind reach the optimum nearly always. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "optimise/search/incumbent.h"
#include "optimise/search/short_rows.h"
#include "optimise/uniform.h"

namespace ripeline::optimise {

// The task that goes first where a forward and an input gradient are ready.
enum class Tie : std::uint8_t {
  input,      // the input gradient
  alternate,  // the kind that did not run last
  forward,    // the forward
};

struct ListRule {
  std::vector<int> warm_up;  // per rank, > 0
  std::vector<int> lag;      // per rank, >= 0
  std::int64_t look_ahead = 0;
  bool evenly = false;
  Tie tie = Tie::input;
  bool lag_at_end = true;  // whether `lag` counts when no forward is left
};

struct RuleRun {
  ShortRows rows;
  std::int64_t wall = 0;
  std::int64_t span = 0;
};
// Nothing: the objective would be above `most`.
[[nodiscard]] std::optional<RuleRun> run(const Uniform& uniform, const ListRule& rule,
                                         Objective objective, std::int64_t most);

// 1F1B with warm-ups that the memory allows, and each weight gradient right after its input
// gradient: there is always one.
[[nodiscard]] ListRule one_f_one_b(const Uniform& uniform);

inline constexpr std::string_view kListRule = "list rule";

// Families of rules, those that are best at most memories first, until `visit` says false.
void each_list_rule(const Uniform& uniform, const std::function<bool(const ListRule&)>& visit);
// Offers what they make, until the search ends.
void try_list_rules(const Uniform& uniform, UniformIncumbent& incumbent);

}  // namespace ripeline::optimise
