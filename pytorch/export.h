// Exports a program's order as PyTorch's actions.
//
// Each rank's tasks are in the order of their starts in one run, in which tasks take the program's
// costs and messages take no time; a task that is chosen and may start starts at once, rank after
// rank. A committed order is exported as it is; readiness-first, the hint determines the run. Ops
// become F, B, I and W by their kinds. Pure; never throws.
#pragma once

#include <string>

#include "pytorch/check.h"
#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::pytorch {

struct ExportedActions {
  ActionTable table;  // compute_only, without blanks
  Placement placement = Placement::chain;
  StageMap map;
};

// `microbatches` must be in the program's range. Errors: export-op (an op that is not F, B, I or
// W, or a second one at a stage), export-engine, export-where, export-inputs, export-stages
// (stages that are no chain), export-placement (neither chain, loop nor v), export-stuck,
// export-too-large, export-unsupported (a construct that is not executed), and those of Cost::of()
// and expand().
[[nodiscard]] spec::Result<ExportedActions> export_actions(const spec::Program& program,
                                                           int microbatches);

// True if PyTorch's actions can express the whole program, so that an export can fail only because
// of the program's run.
[[nodiscard]] bool has_actions(const spec::Program& program, int microbatches);

// The export as a file, and the result of checking the file as `ripeline check` does.
struct ExportedFile {
  ExportedActions actions;
  std::string text;      // the file's content
  CheckOptions options;  // the file's shape and form, with which it was checked
  ActionTable table;     // as it is read from the text
  CheckReport report;    // if not proved, PyTorch would refuse the file or hang on it
};
// The sentence above the report on a file that is not proved.
inline constexpr const char* kNeedsMore = "PyTorch needs more than the program says";
// Errors: those of export_actions() and check().
[[nodiscard]] spec::Result<ExportedFile> export_file(const spec::Program& program, int microbatches,
                                                     ActionForm form);

// The settings that a launch needs in addition to the file with this name.
[[nodiscard]] std::string loading_text(const std::string& file, const ExportedFile& exported);

}  // namespace ripeline::pytorch
