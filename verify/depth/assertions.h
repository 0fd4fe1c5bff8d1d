// The questions and findings that the judges of both dispatches share, for every number of ranks.
#pragma once

#include <string>
#include <vector>

#include "verify/depth/depth_terms.h"
#include "verify/judge/judge.h"

namespace ripeline::verify::depth {

// A way to start a task: a start of `lane`, at the rank that is asked about, where `here` holds.
struct Start {
  Family lane;
  Term here;
};
// Proved if, where the facts hold, none of these starts at the rank breaks an assertion.
[[nodiscard]] Finding keeps_assertions(DepthTerms& terms, Term rank, const std::vector<Term>& facts,
                                       const std::vector<Start>& starts);
// An unknown finding: the stuck states that `what` names could not be excluded.
[[nodiscard]] Finding not_excluded(const std::string& what);

}  // namespace ripeline::verify::depth
