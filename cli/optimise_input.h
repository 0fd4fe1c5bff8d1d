// The input of `ripeline optimise`: a program, or a model that flags describe. The returned errors
// are about flags that do not fit together or cannot be read. Errors in a FILE are printed on
// standard error and not returned.
#pragma once

#include <string>
#include <vector>

#include "cli/optimise_flags.h"
#include "load/program.h"
#include "optimise/model_options.h"
#include "spec/diagnostics.h"

namespace ripeline::cli {

// A program, and the step that is optimised.
struct OptimisedStep {
  load::LoadedProgram loaded;  // for `microbatches` alone
  int microbatches = 1;
  simulate::TimingOptions times;
};
[[nodiscard]] spec::Result<OptimisedStep> read_step(const OptimiseFlags& flags);
[[nodiscard]] spec::Result<optimise::ModelOptions> model_of(const OptimiseFlags& flags);
// The forms (optimise/model_forms.h) of the program or of the model.
[[nodiscard]] spec::Result<optimise::ModelForms> read_forms(const OptimiseFlags& flags);

// Comments for the written program: the command that found it, and flags that give the same times.
[[nodiscard]] std::vector<std::string> command_lines(const OptimiseFlags& flags,
                                                     const optimise::ModelForms& forms);

// Runs `ripeline optimise --memory A..B`, the best time for each memory. Returns the exit code.
[[nodiscard]] int optimise_range(const OptimiseFlags& flags);

}  // namespace ripeline::cli
