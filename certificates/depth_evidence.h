// DepthEvidence: the evidence for a proof for every number of ranks.
//
// The encoder of verify/depth/ runs with given answers instead of a solver. The answers state for
// each question, in order, whether it has no model. All conclusions follow from these answers, so
// they are the evidence. Nothing is solved here. Pure; throws only std::bad_alloc.
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
// `has_no_model` returns whether the question `smtlib`, whose number counts from 0, has no model.
[[nodiscard]] spec::Result<DepthEvidence> depth_evidence(
    const spec::ast::Pipeline& pipeline, const spec::Source& source,
    const spec::ElaborateOptions& options,
    const std::function<bool(std::size_t number, const std::string& smtlib)>& has_no_model);

// The questions as evidence, with a gap for each claim that does not follow from them.
[[nodiscard]] Evidence evidence_for(const DepthEvidence& depth, const std::vector<Claim>& claims);

}  // namespace ripeline::certificates
