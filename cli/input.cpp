#include "cli/input.h"

#include <iostream>

#include <fmt/format.h>

#include "cli/choice.h"
#include "cli/microbatch_flag.h"

namespace ripeline::cli {

void say_errors(const load::Input& input, const spec::Diagnostics& errors) {
  std::cerr << load::errors_text(input, errors, "ripeline: ");
}

void say_read(const load::Reading& reading, const spec::Diagnostics& errors) {
  for (const std::string& note : reading.notes) {
    std::cerr << fmt::format("note: {}: {}\n", reading.input->source.name, note);
  }
  std::cerr << load::errors_text(reading, errors, "ripeline: ");
}

void add_program_options(CLI::App& command, load::ProgramOptions& options) {
  command
      .add_option("-D", options.defines,
                  "set a param, e.g. -D ranks=8; `microbatches` narrows the range to one count")
      ->type_name("K=V")
      ->allow_extra_args(false);
  command
      .add_option("--dispatch", options.dispatch,
                  "dispatch like this instead, e.g. \"ready by bf\"")
      ->type_name("TEXT");
  add_placement(command, options.placement);
}

void add_judged_options(CLI::App& command, load::ProgramOptions& options) {
  add_program_options(command, options);
  add_microbatches(command, options.microbatches,
                   "for this number of microbatches alone, or for each of a range, as 1..128; "
                   "without it, for all that the program is for");
}

void add_placement(CLI::App& command, std::optional<pytorch::Placement>& placement) {
  using pytorch::Placement;
  add_named_choice(
      command, "--placement", placement, {Placement::chain, Placement::loop, Placement::v},
      "of a CSV: which rank owns a stage, which PyTorch's schedule class says and not the file; "
      "without it, what fits the file");
}

spec::Result<load::LoadedProgram> load_program(const std::string& file,
                                               const load::ProgramOptions& options) {
  load::Reading reading;
  auto loaded = load::read_program(file, options, &reading);
  say_read(reading, loaded);
  return loaded;
}

}  // namespace ripeline::cli
