#include "verify/depth/assertions.h"

#include <fmt/format.h>

namespace ripeline::verify::depth {

Finding keeps_assertions(DepthTerms& terms, Term rank, const std::vector<Term>& facts,
                         const std::vector<Start>& starts) {
  const Shape& shape = terms.shape();
  Solver& solver = terms.solver();
  for (const ShapeAssertion& assertion : shape.assertions) {
    const bool per_rank = at(shape.resources, assertion.resource).per_rank;
    std::vector<Term> ways;
    for (const auto& [lane, here] : starts) {
      for (const Use& use : at(at(shape.ops, lane.op).chunks, lane.chunk).acquires) {
        if (use.resource != assertion.resource) continue;
        const Term bound = terms.value(at(assertion.bound, per_rank ? 0 : lane.chunk), rank);
        const Term after = terms.held(use.resource, lane.chunk, rank) + solver.number(use.amount);
        ways.push_back(solver.all_of({here, bound < after, !terms.no_room(lane, use, rank)}));
      }
    }
    std::vector<Term> question = facts;
    question.push_back(solver.any_of(ways));
    if (solver.check("depth: an assertion broken", question) == Answer::unsat) continue;
    return {.method = Method::depth,
            .reason = "The asserted bound could not be shown to hold for every number of ranks.",
            .span = assertion.span};
  }
  return {.outcome = Outcome::proved, .method = Method::depth};
}

Finding not_excluded(const std::string& what) {
  return {.method = Method::depth,
          .reason = fmt::format(
              "{} could not be excluded: looking at extremal stages and their neighbours does not "
              "suffice, or some number of ranks deadlocks.",
              what)};
}

}  // namespace ripeline::verify::depth
