// Exports a program's order as PyTorch's actions.
//
// Each rank's tasks are in the order of their starts in one run: tasks take the program's costs,
// messages take no time, and a task that may start and is chosen starts at once, ranks in order.
// With a committed order this is the order; readiness-first it is the run that the hint makes if
// all goes as the costs say. Ops become F, B, I and W by their kinds. Pure; never throws.
#pragma once

#include "pytorch/csv/actions.h"
#include "pytorch/lower.h"
#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::pytorch {

struct ExportedActions {
  ActionTable table;  // compute_only, without blanks
  Placement placement = Placement::chain;
  StageMap map;
};

// `microbatches` must be in the program's range. Errors: export-op (an op that is no F, B, I or
// W, or the second one at a stage), export-engine, export-where, export-inputs, export-stages
// (no chain of stages), export-placement (neither chain, loop nor v), export-stuck,
// export-too-large, export-unsupported (a construct that is not executed), and those of
// Cost::of() and expand().
[[nodiscard]] spec::Result<ExportedActions> export_actions(const spec::Program& program,
                                                           int microbatches);

// True if PyTorch's actions can express the whole program, so that an export can fail only because
// of its run.
[[nodiscard]] bool has_actions(const spec::Program& program, int microbatches);

}  // namespace ripeline::pytorch
