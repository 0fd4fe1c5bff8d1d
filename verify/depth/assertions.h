// The questions and the findings that both judges of every number of ranks share.
#pragma once

#include <string>
#include <vector>

#include "verify/depth/depth_terms.h"
#include "verify/judge/judge.h"

namespace ripeline::verify::depth {

// A way to start a task: the lane, at the rank that is asked about, where `here` holds.
struct Start {
  Family lane;
  Term here;
};
// No assertion is broken by one of these starts at the rank, where the facts hold.
[[nodiscard]] Finding keeps_assertions(DepthTerms& terms, Term rank, const std::vector<Term>& facts,
                                       const std::vector<Start>& starts);
// Unknown: stuck states, which `what` names, could not be excluded.
[[nodiscard]] Finding not_excluded(const std::string& what);

}  // namespace ripeline::verify::depth
