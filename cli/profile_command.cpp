// ripeline profile: measures how long tasks and messages took in a run, as costs for the simulator.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <variant>
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

// Reads the trace and adds it to `measurement`. The status of a failure names the file.
core::Status add(const std::string& path, std::int64_t skip_steps,
                 simulate::Measurement& measurement) {
  trace::AnyTrace trace;
  if (const core::Status s = trace::read_any(path, trace); !s.ok()) {
    const bool is_none = s.code() == core::StatusCode::invalid;
    if (!is_none || std::holds_alternative<trace::TorchTrace>(trace)) return s;
    return {s.code(), s.message() +
                          "; a trace is what simulate, emulate or gpt writes with --trace, or "
                          "PyTorch's profiler with export_chrome_trace()"};
  }
  const core::Status s = std::visit(
      [&](const auto& read) {
        say_notes(read.notes);
        return measurement.add(read, skip_steps);
      },
      trace);
  return s.ok() ? core::Status{} : core::Status{s.code(), path + ": " + s.message()};
}

int run(const ProfileCommand& command) {
  simulate::Measurement measurement;
  for (const std::string& trace : command.traces) {
    if (const core::Status s = add(trace, command.skip_steps, measurement); !s.ok()) {
      return say_failed(s.message());
    }
  }
  const simulate::Measured measured = measurement.result();
  say_notes(measured.unknown);
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
      ->add_option(
          "TRACE", options->traces,
          "what runs of one program wrote: a .json, or the folder of a run that was "
          "killed; or the files of PyTorch's profiler, one of each rank. Several are taken "
          "together")
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
      "A file of PyTorch's profiler is recognised by itself; its run must be of a schedule that\n"
      "marks its tasks, as ScheduleInterleaved1F1B and those of zero bubble do.\n"
      "  ripeline launch -n 4 -- gpt --schedule bf --steps 10 --trace run.json\n"
      "  ripeline profile run.json -o costs.json\n"
      "  ripeline simulate bf -D ranks=4 -m 32 --profile costs.json\n"
      "  ripeline profile rank0.json rank1.json -o costs.json");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
