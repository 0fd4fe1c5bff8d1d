// Run facts: the text above a picture of a run. It says what program ran, how, and what resulted.
//
// Pure function of the panel.
#pragma once

#include <string>
#include <vector>

#include "view/picture.h"

namespace ripeline::view {

struct RunFact {
  std::string name;   // `bubble by makespan`
  std::string value;  // `9 (27.27 %)`
  bool operator==(const RunFact&) const = default;
};

// Returns the facts in this order, except those that the trace does not contain: program, ranks,
// params, dispatch, microbatches, steps if several, makespan, bubble by makespan, span and bubble
// by span if the span is shorter, peak of each resource (over the ranks), source of the times,
// unit.
[[nodiscard]] std::vector<RunFact> run_facts(const Panel& panel);

}  // namespace ripeline::view
