// ripeline validate: checks, with the probe of a generated header, that it matches its program.
#include <chrono>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/numbers.h"
#include "cli/progress.h"
#include "process/child.h"
#include "validate/validator.h"

namespace ripeline::cli {
namespace {

struct ValidateCommand {
  std::string file;
  load::ProgramOptions program;
  std::string probe;
  int seconds = 300;
};

// The probe's answers. If the probe fails, prints why and returns nullopt.
std::optional<std::string> ask(const ValidateCommand& command, const std::string& questions) {
  // A name without a folder is a file in the working folder, and is not looked for in PATH.
  const bool is_name = command.probe.find('/') == std::string::npos;
  const process::Child probe{.command = {(is_name ? "./" : "") + command.probe},
                             .time = std::chrono::seconds(command.seconds),
                             .input = questions,
                             .most_output = std::numeric_limits<std::size_t>::max(),
                             .shows_errors = true};
  process::ChildRun finished = process::run_child(probe);
  if (finished.ended_well()) return std::move(finished.output);
  std::cerr << fmt::format("ripeline: {}: {}{}\n", command.probe, how_it_ended(probe, finished),
                           finished.was_stopped ? " (--time-limit)" : "");
  return std::nullopt;
}

int run(const ValidateCommand& command) {
  const auto compiled = load_program(command.file, command.program);
  if (!compiled.ok()) return bad_input;
  const load::LoadedProgram& loaded = compiled.value();
  const Progress progress("validating " + loaded.source.name);
  const validate::Validator validator(loaded.program);
  const std::optional<std::string> answers = ask(command, validator.questions());
  if (!answers) return bad_input;
  const validate::Validation validation = validator.judge(*answers);
  const bool valid = validation.differences.empty();
  (valid ? std::cout : std::cerr) << validate::report_text(loaded.source.name, validation);
  return valid ? ok : refuted;
}

}  // namespace

void add_validate(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "validate",
      "compare a generated header with its program: tables, formulas, orders, priorities");
  auto options = std::make_shared<ValidateCommand>();
  command->add_option("FILE", options->file, kFileHelp)->required();
  add_judged_options(*command, options->program);
  command
      ->add_option("--probe", options->probe,
                   "the program compiled from what `generate --probe` wrote")
      ->required();
  command
      ->add_option("--time-limit", options->seconds,
                   "seconds until the probe has answered and ended, or else is killed")
      ->check(integer_from(1, 86'400))
      ->capture_default_str();
  command->footer(
      "Exit codes: 0 the header is this program's; 1 it is not; 2 bad input, or a probe that "
      "cannot be run, fails, or takes longer than its time.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
