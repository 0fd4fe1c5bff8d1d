// Orders of a chain made by a rule: each rank chooses its next task from what it knows at the time.
//
// An idle rank runs the next forward or input gradient that has arrived. A forward is considered
// only while fewer than `warm_up` forwards wait for their input gradients, and starts only if the
// memory has room. A weight gradient runs at once if more than `lag` of them are postponed. It also
// runs at once if a forward has arrived and lacks only room, and no input gradient has arrived.
// Otherwise it runs if nothing is ready; but the rank waits if it knows that something arrives
// within `look_ahead`. With `evenly`, it waits only if its total wait would then not exceed that of
// some other rank. A rank knows of arrivals from tasks that its neighbours are running.
//
// With 1F1B's memory or more, rules of this kind nearly always find the optimum. Pure; thread-safe.
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

// The task that runs first if both a forward and an input gradient are ready.
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
  bool lag_at_end = true;  // whether `lag` applies after the last forward
};

struct RuleRun {
  ShortRows rows;
  std::int64_t makespan = 0;
  std::int64_t span = 0;
};
// Runs the rule; nullopt if the objective would be above `most`.
[[nodiscard]] std::optional<RuleRun> run(const Uniform& uniform, const ListRule& rule,
                                         Objective objective, std::int64_t most);

// 1F1B with the longest warm-ups that the memory allows, and each weight gradient right after its
// input gradient. Such a rule always exists.
[[nodiscard]] ListRule one_f_one_b(const Uniform& uniform);

inline constexpr std::string_view kListRule = "list rule";

// Visits families of rules, those best for most memories first, until `visit` returns false.
void each_list_rule(const Uniform& uniform, const std::function<bool(const ListRule&)>& visit);
// Offers the orders of these rules to `incumbent`, until the search ends.
void try_list_rules(const Uniform& uniform, UniformIncumbent& incumbent);

}  // namespace ripeline::optimise
