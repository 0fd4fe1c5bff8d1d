// The judge of every depth: a program's tree is read as a Shape, held to what the elaborator makes
// of it at a few depths, and proved by questions about extremal stages.
#pragma once

#include "spec/ast.h"
#include "spec/elaborate.h"
#include "verify/every_depth.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

// verify_every_depth() with the answers of `use`. With SolverUse::asking(), what is proved follows
// from the answers that are unsat, so that whoever confirms these has confirmed the proof; small
// depths are then not judged by themselves.
[[nodiscard]] spec::Result<DepthVerdict> judge_every_depth(const spec::ast::Pipeline& pipeline,
                                                           const spec::Source& source,
                                                           const spec::ElaborateOptions& options,
                                                           const SolverUse& use);

}  // namespace ripeline::verify
