// ripeline simulate: one run of a program on a virtual clock.
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/run_command.h"

namespace ripeline::cli {
namespace {

int run(const RunCommand& command) {
  const auto made = prepare(command);
  if (!made.ok()) return bad_input;
  const PreparedRun& prepared = made.value();
  const spec::Program& program = prepared.program();
  trace::Record record;
  const simulate::RunReport run = [&] {
    const Progress progress("simulating " + program.name);
    return simulate_once(prepared, record);
  }();
  std::cerr << notes_of(prepared, Groups::as_one);
  if (!run.status.ok()) {
    say_failed(run.status.message());
    return run.status.code() == core::StatusCode::invalid ? bad_input : refuted;
  }
  return write_run(
      command,
      {program, prepared.facts->facts(), prepared.microbatches, prepared.timing, run, record}, "",
      nlohmann::json::object());
}

}  // namespace

void add_simulate(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "simulate", "run a program on a virtual clock: how long, how idle, why, with what peaks");
  auto options = std::make_shared<RunCommand>();
  add_run_command(*command, *options, kUnitHelp);
  command->footer(
      "Examples\n"
      "  ripeline simulate 1f1b -D ranks=8 -m 32\n"
      "  ripeline simulate bf -m 32 --latency 0.05 --jitter tails=2:20 --seed 7 --trace bf.json\n"
      "The run is that of the training runtime's executor, on a virtual clock that begins at 0.\n"
      "Costs come from the program, a profile or flags; what is drawn depends on the seed and on\n"
      "what it is drawn for, so that other schedules meet the same numbers.\n"
      "Exit codes: 0 it ended, 1 it deadlocked or broke a proved bound, 2 bad input.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
