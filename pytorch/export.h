// A program's order as PyTorch's actions.
//
// Each rank's tasks in the order of their starts, of one run: tasks take the program's costs,
// messages no time, and whatever may start and is chosen starts at once, ranks in order. With a
// committed order that is the order; readiness-first it is the run that the hint makes when all
// goes as the costs say. Ops become F, B, I and W by their kinds. Pure; never throws.
#pragma once

#include "pytorch/csv/actions.h"
#include "pytorch/lower.h"
#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::spec {

struct ExportedActions {
  ActionTable table;  // compute_only, without blanks
  Placement placement = Placement::chain;
  StageMap map;
};

// `microbatches` is in the program's range. Errors: export-op (no F, B, I or W of PyTorch, or twice
// at a stage), export-engine, export-where, export-inputs, export-stages (no chain of stages),
// export-placement (neither chain, loop nor v), export-stuck, export-too-large,
// export-unsupported (the program says what is not executed), and those of Cost::of() and
// expand().
[[nodiscard]] Result<ExportedActions> export_actions(const Program& program, int microbatches);

// Whether PyTorch's actions can say all of the program, so that nothing but its run is left to
// fail.
[[nodiscard]] bool has_actions(const Program& program, int microbatches);

}  // namespace ripeline::spec
