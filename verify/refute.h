// From a solver's stuck state, or bound broken, to a run that shows it.
//
// A model of the counters may be a state that no run reaches, or that the dispatch does not reach.
// Nothing is refuted before Machine has replayed a run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verify/internal.h"
#include "verify/search.h"

namespace ripeline::verify {

struct Hunted {
  enum class What : std::uint8_t {
    refuted,  // the dispatch makes this run
    others,   // other choices make this run; the dispatch was not found to
    safe,     // all states were visited: no choice makes one
    open,     // nothing was found, and not all states were visited
  };
  What what = What::open;
  std::vector<spec::Event> events;
  bool dispatch_is_safe =
      false;  // all states that the dispatch reaches were visited, of others and open
};

// `next_target` gives states to search for, the most promising first, then nothing.
[[nodiscard]] Hunted hunt(const spec::Program& program, int microbatches, const Goal& goal,
                          bool counts_decide,
                          const std::function<std::optional<Target>()>& next_target,
                          Budget& budget);

// --- explain.cpp ---

// Why each lane's lowest unstarted task cannot start, after these events; under a committed order,
// of each rank's next task only.
[[nodiscard]] std::vector<Wait> waits_after(const spec::Machine& machine,
                                            const std::vector<spec::Event>& events);
// Who waits for whom, in one or two sentences.
[[nodiscard]] std::string explain_stuck(const spec::Machine& machine,
                                        const std::vector<spec::Event>& events);
// What the last start makes of its pool.
[[nodiscard]] std::string explain_excess(const spec::Machine& machine, const Goal& goal,
                                         const std::vector<spec::Event>& events);

}  // namespace ripeline::verify
