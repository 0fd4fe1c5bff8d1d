// ripeline check-run: whether what ran is the program that was proved.
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/input.h"
#include "cli/pictures.h"
#include "cli/progress.h"
#include "trace/read.h"
#include "validate/run_check.h"
#include "validate/run_report.h"

namespace ripeline::cli {
namespace {

struct CheckRunCommand {
  std::string trace;
  std::string file;
  load::ProgramOptions program;
  std::string format = "text";
};

int exit_code_of_run(validate::RunOutcome outcome) {
  switch (outcome) {
    case validate::RunOutcome::run:
    case validate::RunOutcome::beginning:
      return ok;
    case validate::RunOutcome::refuted:
      return refuted;
    case validate::RunOutcome::unknown:
      break;
  }
  return unknown;
}

// The program with the hash that the trace has: with -m that of what is proved for these counts
// alone, or, where a step of the program was run, that of the program.
spec::Result<load::LoadedProgram> load_for(const trace::File& file,
                                           const CheckRunCommand& command) {
  auto loaded = load_program(command.file, command.program);
  const auto& counts = command.program.microbatches;
  const bool one = counts && counts->one();
  if (!loaded.ok() || !one || loaded.value().program.hash == file.about.facts().hash) return loaded;
  auto of_run = load_program(command.file, load::of_step(command.program, counts));
  return of_run.ok() && of_run.value().program.hash == file.about.facts().hash ? of_run : loaded;
}

int run(const CheckRunCommand& command) {
  trace::File file;
  if (const core::Status s = trace::read(command.trace, file); !s.ok()) {
    return say_failed(s.message());
  }
  const auto loaded = load_for(file, command);
  if (!loaded.ok()) return bad_input;
  const spec::Program& program = loaded.value().program;
  say_missing(file.notes);
  if (const auto why = validate::why_not_of(program, file.about)) {
    return say_failed(command.trace + ": " + *why);
  }
  const validate::RunCheck check = [&] {
    const Progress progress("checking " + command.trace);
    return validate::check_run(program, file, !load::is_folder(command.trace));
  }();
  if (command.format == "json") {
    std::cout << validate::report_json(program, file, check).dump(2) << '\n';
  } else {
    std::cout << validate::report_text(program, file, command.trace, check);
  }
  return exit_code_of_run(check.outcome);
}

}  // namespace

void add_check_run(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "check-run", "whether the trace of a run is a run of the program that was proved");
  auto options = std::make_shared<CheckRunCommand>();
  command
      ->add_option("TRACE", options->trace,
                   "what a run wrote: a .json, or the folder of a run that was killed")
      ->required();
  command->add_option("--program", options->file, kFileHelp)->type_name("FILE")->required();
  add_judged_options(*command, options->program);
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  command->footer(
      "Each start, end and arrival of the trace is led through what the program means, rank by\n"
      "rank; clocks of ranks are not compared. Of what is no run it says which event of each rank\n"
      "is not possible, and what it lacks; `>` marks where that begins.\n"
      "  ripeline launch -n 4 -- gpt --schedule bf --steps 3 --trace run.json\n"
      "  ripeline check-run run.json --program bf\n"
      "Exit codes: 0 a run, or of a run that was killed the beginning of one; 1 no run; 2 bad "
      "input,\namong it the trace of another program; 3 unknown: something is missing.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
