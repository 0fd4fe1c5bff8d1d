// ripeline check-run: checks whether a trace is a run of the program that was proved.
#include <iostream>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/pictures.h"
#include "cli/progress.h"
#include "load/folder.h"
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

int run(const CheckRunCommand& command) {
  const core::StatusOr<trace::File> read = trace::read(command.trace);
  if (!read.ok()) return say_failed(read.message());
  const trace::File& file = read.value();
  load::Reading reading;
  const auto loaded =
      load::read_program_of(command.file, command.program, file.about.facts().hash, &reading);
  say_read(reading, loaded);
  if (!loaded.ok()) return bad_input;
  const spec::Program& program = loaded.value().program;
  say_notes(file.notes);
  if (const auto why = validate::why_not_of(program, file.about)) {
    return say_failed(command.trace + ": " + *why);
  }
  const validate::RunCheck check = [&] {
    const Progress progress("checking " + command.trace);
    return validate::check_run(program, file, !load::is_folder(command.trace));
  }();
  if (command.format == "json") {
    print_json(validate::report_json(program, file, check));
  } else {
    std::cout << validate::report_text(program, file, command.trace, check);
  }
  if (check.outcome == validate::RunOutcome::refuted) return refuted;
  return check.outcome == validate::RunOutcome::unknown ? unknown : ok;
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
