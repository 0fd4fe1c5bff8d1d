#include "certificates/depth_evidence.h"

#include <set>

#include <fmt/format.h>

#include "certificates/order_evidence.h"
#include "spec/indexing.h"
#include "verify/depth/depth.h"
#include "verify/solver/solver.h"
#include "verify/verdict.h"

namespace ripeline::certificates {

spec::Result<DepthEvidence> depth_evidence(
    const spec::ast::Pipeline& pipeline, const spec::Source& source,
    const spec::ElaborateOptions& options,
    const std::function<bool(std::size_t number, const std::string& smtlib)>& has_no_model) {
  DepthEvidence found;
  std::set<std::string> known;
  const auto use =
      verify::SolverUse::asking([&](const std::string& query, const verify::Solver& solver,
                                    const std::vector<verify::Term>& extra) {
        Question question = question_of(query, solver, extra, solver.required(), false);
        if (!has_no_model(found.answers.size(), question.smtlib)) {
          found.answers += 'o';
          return verify::Answer::unknown;
        }
        found.answers += 'u';
        if (known.insert(question.smtlib).second) found.questions.push_back(std::move(question));
        return verify::Answer::unsat;
      });
  auto derived = judge_every_depth(pipeline, source, options, use);
  if (!derived.ok()) return derived.errors();
  found.derived = std::move(derived).value();
  return found;
}

Evidence evidence_for(const DepthEvidence& depth, const std::vector<Claim>& claims) {
  Evidence evidence;
  evidence.questions = depth.questions;
  for (const Claim& claim : claims) {
    const auto& all = depth.derived.verdict.obligations;
    const bool follows = std::any_of(all.begin(), all.end(), [&](const verify::Obligation& o) {
      return o.kind == claim.obligation && o.outcome == verify::Outcome::proved &&
             o.method == claim.method;
    });
    if (claim.outcome == verify::Outcome::unknown ||
        (claim.outcome == verify::Outcome::proved && follows))
      continue;
    evidence.gaps.push_back(
        fmt::format("`{}` does not follow for every number of ranks.", name_of(claim.obligation)));
  }
  return evidence;
}

}  // namespace ripeline::certificates
