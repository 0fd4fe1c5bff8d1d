// Compares hints with fixed orders on real processes, and each ratio with the simulator's for the
// same draws. See --help.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "bench/comparison/report.h"
#include "bench/comparison/trained.h"
#include "files/new_file.h"

namespace ripeline::bench::comparison {
namespace {

struct Options {
  std::vector<int> ranks = {8, 16};
  std::vector<int> members = {1};
  int microbatches = 32;
  int first_seed = 1;
  int seeds = 5;
  double unit_ms = 5;
  std::string condition;
  Latencies latencies;
  std::string json;
  bool trained = false;
};

double load() {
  std::array<double, 1> of_a_minute{};
  return getloadavg(of_a_minute.data(), 1) == 1 ? of_a_minute[0] : -1;
}

// Simulates all runs before any run is measured, and sets plan.longest_step.
StepResults simulate_all(Plan& plan) {
  StepResults runs;
  for (const Condition& condition : plan.conditions) {
    auto& of_condition = runs.emplace_back();
    for (const Subject& subject : plan.subjects) {
      of_condition.push_back(
          simulate_runs(subject, condition.times, plan.microbatches, plan.first_seed, plan.seeds));
      for (const StepResult& run : of_condition.back()) {
        const auto step = core::Time(
            static_cast<core::Time::rep>(run.makespan * static_cast<double>(plan.unit.count())));
        plan.longest_step = std::max(plan.longest_step, step);
      }
    }
  }
  return runs;
}

nlohmann::json compare(const Options& options, int ranks, int members) {
  const std::vector<Contender> contenders = field_of(ranks, members);
  Plan plan{.subjects = {},
            .conditions = conditions_of(options.latencies, options.condition),
            .microbatches = options.microbatches,
            .first_seed = options.first_seed,
            .seeds = options.seeds,
            .unit = core::Time(static_cast<core::Time::rep>(options.unit_ms * 1e6))};
  for (const Contender& contender : contenders) plan.subjects.push_back(contender.subject);
  Sides sides;
  sides.simulated = simulate_all(plan);
  Heading heading{.members = members, .latencies = options.latencies, .load_before = load()};
  sides.emulated = emulate_runs(plan, [&](std::size_t condition) {
    fmt::print(stderr, "{} ranks of {}: {} of {} conditions, {}\n", ranks, members, condition + 1,
               plan.conditions.size(), plan.conditions[condition].name);
  });
  heading.load_after = load();
  const std::vector<Cell> cells = cells_of(contenders, plan, sides);
  print_field(contenders, plan, sides, heading, cells);
  return json_of(contenders, plan, sides, heading, cells);
}

// Compares with gpt and ripeline-launch from the build to which this program belongs.
nlohmann::json compare_with_gpt(const Options& options) {
  const auto build = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  TrainedOptions trained{.gpt = build / "examples/gpt/gpt",
                         .launch = build / "cli/ripeline-launch",
                         .microbatches = options.microbatches,
                         .steps = options.seeds,
                         .first_seed = options.first_seed,
                         .unit_ms = options.unit_ms,
                         .latency = options.latencies.message,
                         .condition = options.condition};
  for (const std::string& program : {trained.gpt, trained.launch}) {
    if (!std::filesystem::exists(program)) throw std::runtime_error(program + " was not built");
  }
  return compare_trained(trained);
}

int run(const Options& options) {
  const bool known = options.trained ? is_trained_condition(options.condition)
                                     : !conditions_of(options.latencies, options.condition).empty();
  if (!known) {
    std::cerr << "bench_compare: no condition is called '" << options.condition << "'\n";
    return 2;
  }
  nlohmann::json cells = nlohmann::json::array();
  if (options.trained) cells = compare_with_gpt(options);
  for (const int ranks : options.trained ? std::vector<int>() : options.ranks) {
    for (const int members : options.members) {
      for (const nlohmann::json& cell : compare(options, ranks, members)) cells.push_back(cell);
    }
  }
  if (options.json.empty()) return 0;
  const core::Status written = files::write_file(options.json, cells.dump(1) + "\n");
  if (!written.ok()) std::cerr << "bench_compare: " << written.message() << '\n';
  return written.ok() ? 0 : 2;
}

void add_options(CLI::App& app, Options& options) {
  auto* ranks = app.add_option("--ranks", options.ranks, "of the pipeline; several, as 8,16 (8,16)")
                    ->delimiter(',')
                    ->check(CLI::Range(2, 256));
  auto* members =
      app.add_option("--members", options.members,
                     "that play each rank together, tensor-parallel; several, as 1,2,4 (1)")
          ->delimiter(',')
          ->check(CLI::Range(1, 64));
  app.add_option("--microbatches", options.microbatches, "of a step (32)")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--seeds", options.seeds, "runs of each cell; of gpt: steps (5)")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--first-seed", options.first_seed, "of those runs; the others follow it (1)")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--condition", options.condition, "only those with this in their name");
  app.add_option("--unit", options.unit_ms,
                 "milliseconds that a forward takes on average, and a duration of 1 (5)")
      ->check(CLI::Range(0.1, 10'000.0));
  app.add_option("--latency", options.latencies.message, "of a message, in units (0.05)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--ballot", options.latencies.ballot,
                 "latency of a ballot among the members of a rank, in units (0.01)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--json", options.json, "write every cell, with intervals and memory");
  app.add_flag("--trained", options.trained,
               "the trained GPT, 4 ranks, with sleeps for most of its compute; beside it simulated "
               "draws of the same distributions")
      ->excludes(ranks)
      ->excludes(members);
}

}  // namespace
}  // namespace ripeline::bench::comparison

int main(int argc, char** argv) {
  ripeline::bench::comparison::Options options;
  CLI::App app(
      "Hints against fixed orders on real processes: each rank, and each member of one, runs the\n"
      "training runtime in a process of its own, with tasks and messages that only take their "
      "time.\n"
      "A number is the time of the fixed order over that of the hint, as geometric mean over "
      "seeds\n"
      "that all meet alike: above 1 the hint is faster. Beside it stands what the simulator says "
      "of\n"
      "the same draws. Every table has the activations that each rank may hold and held, on both\n"
      "sides; then come all cells in which the hint is slower, and all in which the processes are\n"
      "off the simulator by more than 2 %.");
  ripeline::bench::comparison::add_options(app, options);
  app.footer(
      "Examples\n"
      "  bench_compare --ranks 8 --condition overtaking --seeds 20 --unit 2\n"
      "  bench_compare --ranks 8 --members 2,4 --condition J --json cells.json\n"
      "  bench_compare --trained --seeds 10 --condition overtaking\n"
      "A hint that learns keeps what it learned from seed to seed, as from step to step of\n"
      "training, here and in the simulator. On a busy machine root can keep other programs from\n"
      "delaying the ranks: chrt -r 1 bench_compare …; the times of tasks do not depend on it.\n"
      "Exit codes: 0 every cell has its number, 1 a run failed, or a rank held more than was\n"
      "proved, 2 bad input.");
  try {
    app.parse(argc, argv);
    return ripeline::bench::comparison::run(options);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const std::exception& e) {
    std::cerr << "bench_compare: " << e.what() << '\n';
    return 1;
  }
}
