#include "cli/optimise_input.h"

#include "cli/input.h"

namespace ripeline::cli {

spec::Result<load::LoadedProgram> read_file(const load::SearchOptions& options) {
  const auto& placements = options.model.placements;
  if (options.model.describes_model()) {
    return spec::failure(
        "--ranks, --costs, --memory, --activation and --chunks describe a model; with a "
        "FILE, its text has them: -D sets its params, --rank-costs and --profile its costs");
  }
  if (placements.size() > 1) return spec::failure("--placement any: a FILE has one placement");
  load::ProgramOptions with = of_step(options.program, options.microbatches);
  if (!placements.empty()) with.placement = placements.front();
  auto loaded = load_program(options.file, with);
  if (!loaded.ok()) return spec::Diagnostics();  // the errors are printed already
  return loaded;
}

spec::Result<optimise::ModelForms> read_forms(const load::SearchOptions& options) {
  if (options.file.empty()) return load::forms_of_model(options);
  const auto loaded = read_file(options);
  if (!loaded.ok()) return loaded.errors();
  return load::forms_of_program(loaded.value(), options);
}

}  // namespace ripeline::cli
