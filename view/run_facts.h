// Run facts: what stands above a picture of a run: which program ran how, and what came of it.
//
// Pure function of the panel.
#pragma once

#include <string>
#include <vector>

#include "view/picture.h"

namespace ripeline::view {

struct RunFact {
  std::string name;   // `bubble`
  std::string value;  // `9 (27.27%)`
  bool operator==(const RunFact&) const = default;
};

// In this order, without those that the trace does not know: program, ranks, params, dispatch,
// microbatches, steps if there are several, wall, bubble, peak of each resource (over the
// ranks), times (where they come from), unit.
[[nodiscard]] std::vector<RunFact> run_facts(const Panel& panel);

}  // namespace ripeline::view
