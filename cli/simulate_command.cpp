// ripeline simulate: one run of a program on a virtual clock.
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "simulate/interpreter.h"
#include "simulate/report.h"
#include "simulate/table_arbiter.h"
#include "trace/write.h"
#include "verify/verify.h"

namespace ripeline::cli {
namespace {

struct SimulateCommand {
  std::string file;
  ProgramOptions program;
  int microbatches = 0;
  std::string unit;
  std::string profile;
  std::string jitter;
  std::string trace;
  std::string csv;
  std::string format = "text";
  bool tasks = false;
  bool verify = false;
  simulate::TimingOptions timing;
};

int fail(const std::string& what) {
  std::cerr << "ripeline: " << what << '\n';
  return bad_input;
}

// Fills in what the flags say; a sentence if they do not fit.
std::string read_timing(const SimulateCommand& command, simulate::TimingOptions& timing) {
  timing = command.timing;
  if (!command.unit.empty()) {
    timing.unit = simulate::unit_named(command.unit);
    if (!timing.unit) return "--unit is none of ns, us, ms and s";
  }
  const core::Status jitter = simulate::Jitter::parse(command.jitter, timing.jitter);
  if (!jitter.ok()) return jitter.message();
  if (timing.bytes_per_second && !timing.message_bytes && command.profile.empty()) {
    return "--bandwidth needs --bytes, the size of a message";
  }
  if (command.profile.empty()) return {};
  std::string error;
  const auto file = read_file(command.profile, error);
  if (!file) return error;
  simulate::Profile profile;
  const core::Status read = simulate::Profile::parse(file->text, profile);
  if (!read.ok()) return command.profile + ": " + read.message();
  timing.profile = std::move(profile);
  return {};
}

// What a simulated run does not do, or nothing.
std::string not_simulated(const spec::Program& program) {
  if (!program.unsupported.empty()) {
    return program.unsupported.front().construct + " is not simulated yet";
  }
  return {};
}

std::string notes(const spec::Program& program, const std::optional<verify::Verdict>& verdict) {
  std::string text;
  if (program.tensor_parallel.members > 1) {
    text += "note: the members of a tensor-parallel group run as one\n";
  }
  if (verdict && verdict->outcome != verify::Outcome::proved) {
    text += fmt::format("note: {} is {}; this is one of its runs, and others may end otherwise\n",
                        program.name,
                        verdict->outcome == verify::Outcome::refuted ? "refuted" : "not proved");
  } else if (!verdict) {
    text += "note: not verified; this is one run, under one timing (--verify judges all)\n";
  }
  return text;
}

int write(const SimulateCommand& command, const simulate::Reported& reported) {
  if (!command.trace.empty()) {
    const trace::About about(
        reported.facts,
        {.microbatches = reported.microbatches,
         .source = trace::Source::simulated,
         .seed = reported.timing.draws() ? std::optional(reported.timing.seed()) : std::nullopt,
         .unit = reported.timing.unit(),
         .costs = reported.timing.text()});
    trace::Writer writer(command.trace, about);
    writer.add(reported.record);
    if (const core::Status s = writer.finish(); !s.ok()) return fail(s.message());
  }
  if (!command.csv.empty() && !write_file(command.csv, simulate::tasks_csv(reported))) {
    return bad_input;
  }
  std::cout << (command.format == "json" ? simulate::report_json(reported, command.tasks)
                                         : simulate::report_text(reported));
  if (command.tasks && command.format == "text") std::cout << simulate::tasks_csv(reported);
  return reported.run.stuck ? refuted : ok;
}

int run(const SimulateCommand& command) {
  const auto loaded = load(command.file, command.program);
  if (!loaded) return bad_input;
  const spec::Program& program = loaded->program;
  if (!program.microbatches.contains(command.microbatches)) {
    return fail(fmt::format("{}: {} microbatches are outside the program's range", program.name,
                            command.microbatches));
  }
  if (const std::string what = not_simulated(program); !what.empty()) return fail(what);
  simulate::TimingOptions options;
  if (const std::string what = read_timing(command, options); !what.empty()) return fail(what);
  simulate::Timing timing;
  const core::Status made = simulate::Timing::make(program, command.microbatches, options, timing);
  if (!made.ok()) return fail(made.message());

  std::optional<verify::Verdict> verdict;
  if (command.verify) {
    const Progress progress("verifying " + program.name);
    verdict = verify::verify(program);
  }
  const bool proved = verdict && verdict->proved.has_value();
  std::optional<simulate::FactsStorage> storage;
  proved ? storage.emplace(*verdict->proved)
         : storage.emplace(program, std::vector<std::optional<std::int64_t>>{});
  trace::Record record;
  const simulate::RunReport run = [&] {
    const Progress progress("simulating " + program.name);
    simulate::Simulator simulator(storage->facts(), [&](int rank) {
      return std::make_unique<simulate::TableArbiter>(program, storage->facts(), rank);
    });
    return simulator.run(
        command.microbatches, timing,
        {.record = &record, .causes = true, .sequential_ops = simulate::sequential_ops(program)});
  }();
  std::cerr << notes(program, verdict);
  if (!run.status.ok()) {
    fail(run.status.message());
    return run.status.code() == core::StatusCode::invalid ? bad_input : refuted;
  }
  return write(command, {program, storage->facts(), command.microbatches, timing, run, record});
}

void add_times(CLI::App& command, SimulateCommand& options) {
  simulate::TimingOptions& timing = options.timing;
  command.add_option("--profile", options.profile,
                     "measured costs and links: a JSON file (docs/formats.md)");
  command.add_option("--unit", options.unit,
                     "what a cost of 1 is: ns, us, ms or s; without it an abstract unit");
  command.add_option("--latency", timing.latency, "of a message on any link, in the unit")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--bandwidth", timing.bytes_per_second, "of any link, in bytes per second")
      ->check(CLI::PositiveNumber);
  command.add_option("--bytes", timing.message_bytes, "the size of a message")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--control", timing.control,
                  "latency of announcements and grants, in the unit; as the messages' without it")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--jitter", options.jitter,
                     "what varies: J0 … J3, uniform=P, lognormal=CV, pareto=ALPHA, input=SIGMA, "
                     "slow=RANK:FACTOR, tails=PERCENT:UNITS, exponential=MEAN, fifo; with commas");
  command.add_option("--seed", timing.seed, "of what is drawn (1)");
}

}  // namespace

void add_simulate(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "simulate", "run a program on a virtual clock: how long, how idle, why, with what peaks");
  auto options = std::make_shared<SimulateCommand>();
  command->add_option("FILE", options->file, kFileHelp)->required();
  add_program_options(*command, options->program);
  command->add_option("-m,--microbatches", options->microbatches, "microbatches of the step")
      ->required()
      ->check(CLI::Range(1, 1'000'000'000));
  add_times(*command, *options);
  command->add_flag("--verify", options->verify, "judge it first, for every timing");
  command->add_option("--trace", options->trace,
                      "write what ran when: a file for chrome://tracing and Perfetto");
  command->add_option("--csv", options->csv,
                      "write a line for each task, or - for standard output");
  command->add_flag("--tasks", options->tasks, "with every task");
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  command->footer(
      "Examples\n"
      "  ripeline simulate 1f1b -D ranks=8 -m 32\n"
      "  ripeline simulate bf -m 32 --latency 0.05 --jitter tails=2:20 --seed 7 --trace bf.json\n"
      "The run is that of the training runtime's executor, on a virtual clock that begins at 0.\n"
      "Costs come from the program, a profile or flags; what is drawn depends on the seed and on\n"
      "what it is drawn for, so that other schedules meet the same numbers.\n"
      "Exit codes: 0 it ended, 1 it stuck or broke a proved bound, 2 bad input.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
