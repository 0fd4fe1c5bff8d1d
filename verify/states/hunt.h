// hunt: searches for a run that shows a stuck state, or a broken bound, found by a solver.
//
// A model of the counters may be a state that no run reaches, or that the dispatch does not reach.
// Nothing is refuted before Machine has replayed a run.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "verify/states/search.h"

namespace ripeline::verify {

struct HuntResult {
  enum class What : std::uint8_t {
    refuted,  // the dispatch makes this run
    others,   // other choices make this run; the dispatch was not found to make one
    safe,     // all states were visited: no choice leads to the goal
    open,     // nothing was found, and not all states were visited
  };
  What what = What::open;
  std::vector<spec::Event> events;
  bool dispatch_is_safe =
      false;  // for others and open: true if all states that the dispatch reaches were visited
};

// Visits all states, if these are few: a run of the dispatch has the fewest tasks, and a count is
// safe if no choice leads to the goal. nullopt if they are many, or if only other choices make a
// run.
[[nodiscard]] std::optional<HuntResult> hunt_few(const spec::Program& program, int microbatches,
                                                 const Goal& goal, bool counts_decide,
                                                 Budget& budget);

// `next_target` returns states to search for, the most promising first, and nullopt at the end.
[[nodiscard]] HuntResult hunt(const spec::Program& program, int microbatches, const Goal& goal,
                              bool counts_decide,
                              const std::function<std::optional<Target>()>& next_target,
                              Budget& budget);

}  // namespace ripeline::verify
