// DepthEvidence: the evidence for a proof for every number of ranks.
//
// The encoder of verify/depth/ runs with given answers instead of a solver. They tell which of its
// questions have no model, in the order of the questions. The encoder draws all conclusions from
// them, so they are the evidence. Nothing is solved here. Pure; throws only std::bad_alloc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "certificates/evidence.h"
#include "spec/ast.h"
#include "spec/elaborate.h"
#include "verify/every_depth.h"

namespace ripeline::certificates {

struct DepthEvidence {
  verify::DepthVerdict derived;
  std::string answers;              // a letter per question: u if it has no model, o if open
  std::vector<Question> questions;  // the questions without a model, each once
};
// `has_no_model` gives the answer to the question with this number, from 0, and this text.
[[nodiscard]] spec::Result<DepthEvidence> depth_evidence(
    const spec::ast::Pipeline& pipeline, const spec::Source& source,
    const spec::ElaborateOptions& options,
    const std::function<bool(std::size_t number, const std::string& smtlib)>& has_no_model);

// The questions, and a gap for each claim that does not follow from them.
[[nodiscard]] Evidence evidence_for(const DepthEvidence& depth, const std::vector<Claim>& claims);

}  // namespace ripeline::certificates
