// ripeline emulate: one run of a program by the training runtime, with tasks that only take their
// time.
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/run_command.h"
#include "emulate/emulate.h"
#include "emulate/together.h"
#include "runtime/environment.h"
#include "runtime/exit_code.h"
#include "runtime/launcher/launch.h"
#include "runtime/network/socket.h"
#include "runtime/process/neighbours.h"
#include "simulate/table_arbiter.h"

namespace ripeline::cli {
namespace {

using core::Status;
using core::Time;

constexpr std::int64_t kUsualUnit = 5'000'000;  // nanoseconds

struct EmulateCommand {
  RunCommand run;
  bool processes = false;
};

// `5ms`: how long a cost of 1 is on the clock. `ms`, as everywhere: what it is.
spec::Result<void> read_unit(TimeFlags& times) {
  const std::string& text = times.unit;
  if (text.empty()) {
    if (times.profile.empty()) times.timing.clock = kUsualUnit;
    return {};
  }
  double count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (end == text.data()) return {};
  const auto unit = simulate::unit_named(std::string(end, text.data() + text.size()));
  constexpr double kMost = 1e12;
  const double nanoseconds = unit ? count * static_cast<double>(unit->nanoseconds) : 0;
  if (error != std::errc{} || !(nanoseconds >= 1) || nanoseconds > kMost) {
    return failure(
        fmt::format("--unit '{}' is no time, as 5ms, and none of ns, us, ms and s", text));
  }
  times.timing.clock = static_cast<std::int64_t>(nanoseconds);
  times.unit.clear();
  return {};
}

// The tasks of each rank's engines, in the order of their starts.
using Orders = std::map<std::pair<int, core::Engine>, std::vector<core::Task>>;
Orders orders_of(const core::ProgramFacts& facts, const trace::Record& record) {
  Orders orders;
  for (const trace::TaskEvent& e : record.tasks) {
    const core::LaneFacts& lane = facts.lanes[static_cast<std::size_t>(e.task.lane)];
    orders[{lane.rank, lane.engine}].push_back(e.task);
  }
  return orders;
}

// The run with the same times on the virtual clock.
struct ClockRun {
  simulate::RunReport run;
  trace::Record record;
};

// The ranks whose tasks start in another order than on the virtual clock.
std::vector<int> other_orders(const core::ProgramFacts& facts, const trace::Record& a,
                              const trace::Record& b) {
  Orders first = orders_of(facts, a);
  Orders second = orders_of(facts, b);
  std::vector<int> others;
  for (int rank = 0; rank < facts.ranks; ++rank) {
    for (const core::Engine engine : core::kAllEngines) {
      if (first[{rank, engine}] == second[{rank, engine}]) continue;
      if (others.empty() || others.back() != rank) others.push_back(rank);
    }
  }
  return others;
}

double ms(Time time) { return static_cast<double>(time.count()) / 1e6; }

std::string more_text(const simulate::ReportedRun& r, const emulate::EmulatedRun& emulated,
                      const ClockRun& expected) {
  const auto unit = static_cast<double>(r.timing.unit().nanoseconds);
  std::string text = fmt::format(
      "  clock: 1 {} is {:.6g} ms; a rank woke at most {:.3f} ms late, which does not "
      "count, and went on at most {:.3f} ms late\n",
      r.timing.unit().name, unit / 1e6, ms(emulated.overshot), ms(emulated.behind));
  const std::vector<int> others = other_orders(r.facts, emulated.record, expected.record);
  text += fmt::format("  simulated: wall {:.6g}",
                      static_cast<double>(expected.run.makespan.count()) / unit);
  if (expected.run.stuck || !expected.run.status.ok()) return text + ", and it deadlocks\n";
  if (others.empty()) return text + ", the same order on every rank\n";
  return text + fmt::format(", another order on rank{} {}\n", others.size() == 1 ? "" : "s",
                            fmt::join(others, ", "));
}

std::string more_json(const simulate::ReportedRun& r, const emulate::EmulatedRun& emulated,
                      const ClockRun& expected) {
  const auto unit = static_cast<double>(r.timing.unit().nanoseconds);
  return nlohmann::json{
      {"emulated",
       {{"unit_ms", unit / 1e6},
        {"woke_late_ms", ms(emulated.overshot)},
        {"behind_ms", ms(emulated.behind)},
        {"notices", emulated.run.notices},
        {"simulated_wall", static_cast<double>(expected.run.makespan.count()) / unit},
        {"other_order_on", other_orders(r.facts, emulated.record, expected.record)}}}}
      .dump();
}

// A fault of the program has the exit codes of all commands; what a rank cannot do has that of any
// rank. A rank that lost another leaves it to that one to give the cause.
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

int report(const EmulateCommand& command, const PreparedRun& prepared, const ClockRun& expected,
           const emulate::EmulatedRun& emulated) {
  std::cerr << notes_of(prepared, Groups::all_run);
  if (!emulated.run.status.ok()) return say_ended(emulated.run.status);
  const simulate::ReportedRun reported{
      prepared.program(), prepared.facts->facts(), prepared.microbatches,  prepared.timing,
      emulated.run,       emulated.record,         trace::Source::emulated};
  return write_run(command.run, reported,
                   command.run.format == "json" ? more_json(reported, emulated, expected)
                                                : more_text(reported, emulated, expected));
}

runtime::Configuration configuration_of(const PreparedRun& prepared) {
  return {{"microbatches", std::to_string(prepared.microbatches)}};
}

// This process is a rank of the run; rank 0 reports.
int run_rank(const EmulateCommand& command, const PreparedRun& prepared, const ClockRun& expected,
             const emulate::EmulateOptions& options) {
  runtime::RankEnvironment self;
  if (Status s = runtime::read_rank_environment(self); !s.ok()) return say_failed(s.message());
  const core::ProgramFacts& facts = prepared.facts->facts();
  const core::Layout layout = core::layout_of(facts);
  if (self.ranks != layout.processes()) {
    return say_failed(fmt::format("{} has {}, and {} processes were started", facts.name,
                                  layout.text(), self.ranks));
  }
  if (self.local_ranks != self.ranks) {
    return say_failed(
        fmt::format("{} of the {} processes are on this host: an emulation is on one host",
                    self.local_ranks, self.ranks));
  }
  std::unique_ptr<runtime::Transport> transport;
  Status status = runtime::network::connect_in_folder(
      {.rank = self.rank,
       .ranks = self.ranks,
       .neighbours = runtime::process::neighbours_of(self.rank, layout, facts),
       .program_hash = facts.hash,
       .configuration = configuration_of(prepared)},
      self.folder, transport);
  if (!status.ok()) return say_ended(status);
  simulate::TableArbiter arbiter(prepared.program(), facts, layout.at(self.rank).rank);
  emulate::EmulatedRank rank(*transport, layout, options.silence);
  const emulate::RankRun mine = rank.run(arbiter, prepared.timing, prepared.microbatches);
  if (!mine.status.ok()) return say_ended(mine.status);
  std::vector<emulate::RankRun> ranks;
  status = rank.gather(mine, ranks);
  if (status.ok()) status = rank.finish();
  if (!status.ok()) return say_ended(status);
  if (self.rank != 0) return ok;
  return report(command, prepared, expected,
                emulate::together(facts, prepared.microbatches, std::move(ranks), options));
}

// This command again, once for each process.
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
  ClockRun expected;
  expected.run = simulate_once(prepared, expected.record);
  if (expected.run.status.code() == core::StatusCode::invalid) {
    return say_failed(expected.run.status.message());
  }
  // Nothing happens for longer than the whole run only if it sticks.
  emulate::EmulateOptions options{.silence = 2 * expected.run.makespan + std::chrono::seconds(2),
                                  .causes = true};
  if (command.processes) return run_rank(command, prepared, expected, options);
  const core::ProgramFacts& facts = prepared.facts->facts();
  const emulate::EmulatedRun emulated = [&] {
    const Progress progress("emulating " + program.name);
    return emulate::emulate(
        facts,
        [&](int rank) { return std::make_unique<simulate::TableArbiter>(program, facts, rank); },
        prepared.microbatches, prepared.timing, options);
  }();
  return report(command, prepared, expected, emulated);
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
