// ripeline simulate: one run of a program on a virtual clock.
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/pictures.h"
#include "cli/progress.h"
#include "cli/time_flags.h"
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
  TimeFlags times;
  std::string trace;
  std::string picture;
  std::string csv;
  std::string format = "text";
  bool tasks = false;
  bool verify = false;
};

int fail(const std::string& what) {
  std::cerr << "ripeline: " << what << '\n';
  return bad_input;
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
  const trace::About about(reported.facts, run_of(reported.timing, reported.microbatches));
  if (!command.trace.empty()) {
    trace::Writer writer(command.trace, about);
    writer.add(reported.record);
    if (const core::Status s = writer.finish(); !s.ok()) return fail(s.message());
  }
  if (!command.picture.empty() && !write_picture_of(command.picture, reported)) return bad_input;
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
  if (const std::string what = read_timing(command.times, options); !what.empty())
    return fail(what);
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
  add_times(*command, options->times);
  command->add_flag("--verify", options->verify, "judge it first, for every timing");
  command->add_option("--trace", options->trace,
                      "write what ran when: a file for chrome://tracing and Perfetto");
  add_picture(*command, options->picture);
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
