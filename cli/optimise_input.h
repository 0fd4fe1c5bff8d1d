// The input of `ripeline optimise`: a program, or a model that flags describe. The returned errors
// are about flags that do not fit together or cannot be read. Errors in a FILE are printed on
// standard error and not returned.
#pragma once

#include "cli/optimise_flags.h"
#include "load/program.h"
#include "load/search.h"
#include "optimise/model_forms.h"
#include "spec/diagnostics.h"

namespace ripeline::cli {

// The FILE, for one step.
[[nodiscard]] spec::Result<load::LoadedProgram> read_file(const load::SearchOptions& options);
// The forms (optimise/model_forms.h) of the program or of the model.
[[nodiscard]] spec::Result<optimise::ModelForms> read_forms(const load::SearchOptions& options);

// Runs `ripeline optimise --memory A..B`, the best time for each memory. Returns the exit code.
[[nodiscard]] int optimise_range(const OptimiseFlags& flags);

}  // namespace ripeline::cli
