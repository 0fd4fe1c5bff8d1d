// The judge of every depth: reads a program's tree as a Shape, compares the Shape with the
// elaborator's programs at a few depths, and proves obligations by questions about extremal stages.
#pragma once

#include "spec/ast.h"
#include "spec/elaborate.h"
#include "verify/every_depth.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

// Does what verify_every_depth() does, with the answers of `use`. With SolverUse::asking(), a proof
// follows from the answers `unsat` alone, so whoever confirms these answers confirms the proof;
// small depths are then not judged by themselves.
[[nodiscard]] spec::Result<DepthVerdict> judge_every_depth(const spec::ast::Pipeline& pipeline,
                                                           const spec::Source& source,
                                                           const spec::ElaborateOptions& options,
                                                           const SolverUse& use);

}  // namespace ripeline::verify
