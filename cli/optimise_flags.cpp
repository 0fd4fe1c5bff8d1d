#include "cli/optimise_flags.h"

#include <algorithm>

#include "cli/choice.h"
#include "cli/numbers.h"

namespace ripeline::cli {

using optimise::Objective;

void add_optimise_flags(CLI::App& command, OptimiseFlags& flags) {
  add_optimised(command, flags.what);
  add_choice<Objective, Objective>(
      command, "--objective", flags.what.objective,
      {{"wall", Objective::wall}, {"span", Objective::span}},
      "what is made small: the whole step, or the longest of a rank from its own first task on "
      "(wall)");
  command.add_option("--seconds", flags.seconds, "time for all of it: search, proof, run (10)")
      ->check(number_from_zero());
  add_choice<bool, bool>(command, "--solver", flags.solver, {{"auto", true}, {"none", false}},
                         "auto: CP-SAT of OR-tools beside the search, where it is installed; none: "
                         "not (auto)");
  command.add_option("--threads", flags.threads, "of the solver (2)")->check(integer_from(1, 256));
  add_choice<bool, bool>(command, "--orders", flags.given, {{"search", false}, {"given", true}},
                         "search: orders are searched; given: those of FILE, and its hints, are "
                         "compared under times that vary (search)");
  command
      .add_option("--seeds", flags.seeds,
                  "where times vary: runs of each order and hint (50; with --quantile what it "
                  "needs, if more). Those that are slower beyond doubt get fewer. The pick is "
                  "measured on as many others")
      ->check(integer_from(2, 1'000'000));
  command
      .add_option(
          "--quantile", flags.quantile,
          "where times vary: compare this percentile of the step's time, in percent, and not "
          "the geometric mean")
      ->check(integer_from(1, 99));
  command.add_flag(
      "--every-count", flags.every_count,
      "write it for every number of microbatches, where a part of it repeats with one "
      "microbatch a turn and that is proved; for others than -m it may not be the best");
  command.add_option("-o,--output", flags.output, "the program to write, or - for standard output");
  add_picture(command, flags.picture);
  command.add_option("--format", flags.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  command.footer(
      "Examples\n"
      "  ripeline optimise my_model.ripe -m 24 --profile measured.json -o best.ripe\n"
      "  ripeline optimise --ranks 8 -m 24 --costs 24,23,12,1 --memory 7 -o best.ripe\n"
      "  ripeline optimise --ranks 8 -m 24 --costs 24,23,12,1 --memory 4 --placement any\n"
      "  ripeline optimise --ranks 8 -m 24 --profile layers.json --memory 4 --placement any\n"
      "  ripeline optimise --ranks 8 -m 24 --costs 24,23,12,1 --memory 4..8 --picture curve.svg\n"
      "  ripeline optimise --ranks 8 -m 24 --costs 24,23,12,1 --memory 12 --jitter uniform=0.3\n"
      "  ripeline optimise zb_h2 -D ranks=8 -m 32 --orders given --latency 0.05 --jitter "
      "tails=2:20 --quantile 95\n"
      "Standard error has each improvement with its time, the bound and the gap. It ends when the\n"
      "gap is 0, which is an optimum, or when the time is over; Ctrl-C ends it with the best so\n"
      "far. What is written is proved and timed by the simulator. --seed is the search's too.\n"
      "Without FILE the stages of a --profile are the layers of the model, which need not be "
      "alike.\n"
      "With --jitter the best order, one that was improved on drawn times, and hints that follow\n"
      "them meet the same draws. The best order stays unless another is faster beyond doubt and\n"
      "holds no more. With --quantile 95 steps that are seldom exceeded count, not usual ones.\n"
      "Exit codes: 0 found and proved, 1 no order fits the memory, 2 bad input, 3 none was found, "
      "or none\n"
      "that is as fast as FILE's own dispatch.");
}

optimise::RaceOptions race_options(const OptimiseFlags& flags) {
  constexpr int kUsualSeeds = 50;
  optimise::RaceOptions options;
  options.measure.percentile = flags.quantile;
  options.seeds =
      flags.seeds.value_or(std::max(kUsualSeeds, optimise::least_runs(options.measure)));
  options.by_span = flags.what.objective == Objective::span;
  return options;
}

}  // namespace ripeline::cli
