// Questions and findings that the judges of both dispatches share, for every number of ranks.
#pragma once

#include <string>
#include <vector>

#include "verify/depth/depth_terms.h"
#include "verify/judge/judge.h"

namespace ripeline::verify::depth {

// A way to start a task of `lane` at the rank in question; it is possible if `here` holds.
struct Start {
  Family lane;
  Term here;
};
// Proved if the facts imply that none of these starts at the rank violates an assertion.
[[nodiscard]] Finding keeps_assertions(DepthTerms& terms, Term rank, const std::vector<Term>& facts,
                                       const std::vector<Start>& starts);
// An unknown finding, whose reason is that the stuck states named by `what` were not excluded.
[[nodiscard]] Finding not_excluded(const std::string& what);

}  // namespace ripeline::verify::depth
