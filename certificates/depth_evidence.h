// DepthEvidence: what a proof for every number of ranks rests on.
//
// The encoder of verify/depth/ is run with answers instead of a solver: which of its questions has
// no model, in the order in which it asks. All that it concludes it concludes from those, so they
// are the evidence. Nothing is solved here. Pure; never throws but for want of memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "certificates/evidence.h"
#include "spec/ast.h"
#include "spec/elaborate.h"
#include "verify/every_depth.h"

namespace ripeline::verify {

struct DepthEvidence {
  DepthVerdict derived;
  std::string answers;              // a letter for each question: u, it has no model; o, left open
  std::vector<Question> questions;  // those without a model, each once
};
// `has_no_model` is told the number of the question, from 0, and its text.
[[nodiscard]] spec::Result<DepthEvidence> depth_evidence(
    const spec::ast::Pipeline& pipeline, const spec::Source& source,
    const spec::ElaborateOptions& options,
    const std::function<bool(std::size_t number, const std::string& smtlib)>& has_no_model);

// The questions, and a gap for each claim that they do not lead to.
[[nodiscard]] Evidence evidence_for(const DepthEvidence& depth, const std::vector<Claim>& claims);

}  // namespace ripeline::verify
