// ripeline profile: what tasks and messages took in a run, as costs for the simulator.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/pictures.h"
#include "simulate/measured.h"
#include "trace/read.h"

namespace ripeline::cli {
namespace {

struct ProfileCommand {
  std::vector<std::string> traces;
  std::string output = "-";
  std::int64_t skip_steps = 1;
};

int run(const ProfileCommand& command) {
  simulate::Measurement measurement;
  for (const std::string& trace : command.traces) {
    trace::File file;
    if (const core::Status s = trace::read(trace, file); !s.ok()) {
      const bool found = s.code() == core::StatusCode::invalid;
      return say_failed(
          s.message() +
          (found ? "; a trace is what simulate, emulate or gpt writes with --trace" : ""));
    }
    say_missing(file.notes);
    if (const core::Status s = measurement.add(file, command.skip_steps); !s.ok()) {
      return say_failed(trace + ": " + s.message());
    }
  }
  const simulate::Measured measured = measurement.result();
  say_missing(measured.unknown);
  if (const auto written = said(write_file(command.output, measured.profile.to_json()));
      !written.ok()) {
    return bad_input;
  }
  return ok;
}

}  // namespace

void add_profile(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("profile", "what tasks and messages took in a run, as costs to simulate");
  auto options = std::make_shared<ProfileCommand>();
  command
      ->add_option("TRACE", options->traces,
                   "what runs of one program wrote: a .json, or the folder of a run that was "
                   "killed; several are taken together")
      ->required();
  command->add_option("-o,--output", options->output, "the profile; - is standard output");
  command
      ->add_option("--skip-steps", options->skip_steps,
                   "steps at the beginning of each trace that are left out; 1 unless given")
      ->check(integer_from(0, 1'000'000'000));
  command->footer(
      "For each op at each stage: mean and standard deviation of what its tasks took. For each "
      "pair\n"
      "of ranks: those of the latency of its messages. What a trace does not say is on standard\n"
      "error. A simulated or emulated run has one step: --skip-steps 0.\n"
      "  ripeline launch -n 4 -- gpt --schedule bf --steps 10 --trace run.json\n"
      "  ripeline profile run.json -o costs.json\n"
      "  ripeline simulate bf -D ranks=4 -m 32 --profile costs.json");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
