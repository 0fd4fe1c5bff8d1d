// ripeline emulate: the training runtime runs a program once, with tasks that compute nothing and
// only take time.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/run_command.h"
#include "emulate/report.h"
#include "runtime/exit_code.h"
#include "runtime/launcher/launch.h"
#include "simulate/amount.h"
#include "simulate/table_arbiter.h"

namespace ripeline::cli {
namespace {

using core::Status;

constexpr std::int64_t kUsualUnit = 5'000'000;  // nanoseconds

struct EmulateCommand {
  RunCommand run;
  bool processes = false;
};

// With `--unit 5ms`, a cost of 1 takes 5 ms. `--unit ms` names a unit, as in every other command.
spec::Result<void> read_unit(load::TimeOptions& times) {
  if (times.unit.empty()) {
    if (times.profile.empty()) times.timing.clock = kUsualUnit;
    return {};
  }
  const auto clock = simulate::clock_in(times.unit);
  if (!clock.ok()) return spec::failure("--unit " + clock.errors().front().message);
  if (!clock.value()) return {};
  times.timing.clock = *clock.value();
  times.unit.clear();
  return {};
}

// Returns the exit code. A failure of this rank itself has the code that every rank uses for it;
// other failures have codes of `ripeline`. If another rank was lost, that rank reports the cause.
int say_ended(const Status& status) {
  say_failed(status.message());
  switch (status.code()) {
    case core::StatusCode::invalid:
      return bad_input;
    case core::StatusCode::refused:
    case core::StatusCode::failed:
      return runtime::exit_code_of(status.code());
    default:
      return refuted;
  }
}

int report(const EmulateCommand& command, const PreparedRun& prepared,
           const emulate::SimulatedRun& simulated, const emulate::EmulatedRun& emulated) {
  std::cerr << notes_of(prepared, Groups::all_run);
  if (!emulated.run.status.ok()) return say_ended(emulated.run.status);
  const simulate::ReportedRun reported{
      prepared.program(), prepared.facts->facts(), prepared.microbatches,  prepared.timing,
      emulated.run,       emulated.record,         trace::Source::emulated};
  return write_run(command.run, reported, emulate::more_text(reported, emulated, simulated),
                   emulate::more_json(reported, emulated, simulated));
}

// Runs this command again, once for each process.
int launch_ranks(const core::ProgramFacts& facts) {
  runtime::launcher::LaunchOptions options;
  options.ranks = core::layout_of(facts).processes();
  options.prefix = false;
  std::ifstream arguments("/proc/self/cmdline", std::ios::binary);
  for (std::string one; std::getline(arguments, one, '\0');) options.command.push_back(one);
  if (options.command.empty()) return say_failed("/proc/self/cmdline cannot be read");
  std::string program(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", program.data(), program.size());
  if (length <= 0) return say_failed("/proc/self/exe cannot be read");
  options.command.front() = program.substr(0, static_cast<std::size_t>(length));
  int exit_code = ok;
  const Status status = runtime::launcher::launch(options, exit_code);
  return status.ok() ? exit_code : say_failed(status.message());
}

int run(EmulateCommand& command) {
  if (const auto unit = read_unit(command.run.times); !unit.ok()) return say_failed(unit.errors());
  if (command.processes && command.run.file == "-") {
    return say_failed("--processes cannot share standard input");
  }
  const auto made = prepare(command.run);
  if (!made.ok()) return bad_input;
  const PreparedRun& prepared = made.value();
  const spec::Program& program = prepared.program();
  if (command.processes && std::getenv("RIPELINE_FOLDER") == nullptr)
    return launch_ranks(prepared.facts->facts());
  emulate::SimulatedRun simulated;
  simulated.run = simulate_once(prepared, simulated.record);
  if (simulated.run.status.code() == core::StatusCode::invalid) {
    return say_failed(simulated.run.status.message());
  }
  // The limit on silence exceeds the whole simulated run, so only a stuck run can reach it.
  const emulate::EmulateOptions options{
      .silence = 2 * simulated.run.makespan + std::chrono::seconds(2), .causes = true};
  const core::ProgramFacts& facts = prepared.facts->facts();
  const auto make_arbiter = [&](int rank) {
    return std::make_unique<simulate::TableArbiter>(program, facts, rank);
  };
  if (command.processes) {
    std::optional<emulate::EmulatedRun> whole;
    const Status status = emulate::emulate_process(facts, make_arbiter, prepared.microbatches,
                                                   prepared.timing, options, whole);
    if (!status.ok()) return say_ended(status);
    return whole ? report(command, prepared, simulated, *whole) : ok;
  }
  const emulate::EmulatedRun emulated = [&] {
    const Progress progress("emulating " + program.name);
    return emulate::emulate(facts, make_arbiter, prepared.microbatches, prepared.timing, options);
  }();
  return report(command, prepared, simulated, emulated);
}

}  // namespace

void add_emulate(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "emulate", "run a program by the training runtime, with tasks that only take their time");
  auto options = std::make_shared<EmulateCommand>();
  add_run_command(*command, options->run,
                  "how long a cost of 1 is, as 5ms (which it is without this); ns, us, ms or s: "
                  "what it is");
  command->add_flag("--processes", options->processes,
                    "each rank, and each member of one, a process, with sockets between them; "
                    "without it, a thread");
  command->footer(
      "Examples\n"
      "  ripeline emulate 1f1b -D ranks=16 -m 32 --unit 2ms\n"
      "  ripeline emulate bf -m 32 --latency 0.05 --jitter tails=2:20 --seed 7 --trace bf.json\n"
      "A task occupies its rank for as long as `ripeline simulate` would say, without using the\n"
      "CPU, and messages take their latency; executors, arbiters and transports are those that\n"
      "train. Times are in costs, as of `simulate`.\n"
      "Exit codes: 0 it ended, 1 it deadlocked or broke a proved bound, 2 bad input; with "
      "--processes\n"
      "11 ranks that do not fit together, 15 a rank that fails otherwise.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
