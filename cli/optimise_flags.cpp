#include "cli/optimise_flags.h"

#include <vector>

#include "cli/choice.h"
#include "cli/input.h"
#include "cli/microbatch_flag.h"
#include "cli/numbers.h"
#include "cli/time_flags.h"

namespace ripeline::cli {

using load::SearchOptions;
using optimise::Objective;
using pytorch::Placement;

namespace {

// Adds the flags of the program, or of the model that replaces it.
void add_input(CLI::App& command, SearchOptions& options) {
  command.add_option("FILE", options.file,
                     std::string(kFileHelp) + "; without it, a model that flags describe");
  command.add_option("-D", options.program.defines, "set a param of FILE, e.g. -D ranks=8")
      ->type_name("K=V")
      ->allow_extra_args(false);
  command
      .add_option("--dispatch", options.program.dispatch,
                  "what FILE dispatches by, instead of what it says, e.g. \"ready by bf\"")
      ->type_name("TEXT");
  add_microbatches(command, options.microbatches, "microbatches of the step (without FILE, 8)");
  const std::size_t before = command.get_options().size();
  command.add_option("--ranks", options.model.ranks, "ranks (4)")
      ->check(integer_from(1, SearchOptions::kMostRanks));
  command
      .add_option("--costs", options.model.costs,
                  "of all of a rank's layers, for one microbatch: forward, backward for the input, "
                  "backward for the weights; and the latency of a message between ranks (1,1,1,0). "
                  "F=1,B=2,C=0: with a whole backward")
      ->type_name("F,I,W,C")
      ->delimiter(',');
  command
      .add_option(
          "--memory", options.model.memory,
          "microbatches that a rank may hold in all of its layers, each from F to W (as many as "
          "there are ranks, which is what 1F1B holds); with --activation in its unit, as 24GB. A "
          "range, as 4..8: the best time for each")
      ->type_name("N or A..B");
  command
      .add_option(
          "--activation", options.model.activation,
          "what a microbatch holds in all of a rank's layers from F on, and what is left of "
          "it from the end of I to that of W: bytes, as 1.9GB,0.3GB, or whole numbers in any unit. "
          "Of whole backwards A alone")
      ->type_name("A,AFTER_I")
      ->delimiter(',');
  add_choice<std::vector<Placement>, std::vector<Placement>>(
      command, "--placement", options.model.placements,
      {{"chain", {Placement::chain}},
       {"loop", {Placement::loop}},
       {"v", {Placement::v}},
       {"any", {Placement::chain, Placement::loop, Placement::v}}},
      "chain: one stage on a rank; loop: --chunks stages, down the ranks and again from rank 0; v: "
      "two, down the ranks and back up; any: the best of chain, v and loops of 2 to 4 (chain). Of "
      "a "
      "CSV: which rank owns a stage");
  command.add_option("--chunks", options.model.chunks, "stages on a rank, of a loop (2)")
      ->check(integer_from(2, optimise::PlacedModel::kMostChunks));
  const std::vector<CLI::Option*> all = command.get_options();
  for (std::size_t i = before; i < all.size(); ++i) all[i]->group("A model, without FILE");
  add_times(command, options.times);
}

}  // namespace

void add_optimise_flags(CLI::App& command, OptimiseFlags& flags) {
  SearchOptions& options = flags.search;
  add_input(command, options);
  add_choice<Objective, Objective>(
      command, "--objective", options.model.objective,
      {{"wall", Objective::makespan}, {"span", Objective::span}},
      "what is made small: the whole step, or the longest of a rank from its own first task on "
      "(wall)");
  command.add_option("--seconds", options.seconds, "time for all of it: search, proof, run (10)")
      ->check(number_from_zero());
  add_choice<bool, bool>(command, "--solver", options.solver, {{"auto", true}, {"none", false}},
                         "auto: CP-SAT of OR-tools beside the search, where it is installed; none: "
                         "not (auto)");
  command.add_option("--threads", options.threads, "of the solver (2)")
      ->check(integer_from(1, SearchOptions::kMostThreads));
  add_choice<bool, bool>(command, "--orders", flags.given, {{"search", false}, {"given", true}},
                         "search: orders are searched; given: those of FILE, and its hints, are "
                         "compared under times that vary (search)");
  command
      .add_option("--seeds", options.seeds,
                  "where times vary: runs of each order and hint (50; with --quantile what it "
                  "needs, if more). Those that are slower beyond doubt get fewer. The pick is "
                  "measured on as many others")
      ->check(integer_from(SearchOptions::kLeastSeeds, SearchOptions::kMostSeeds));
  command
      .add_option(
          "--quantile", options.quantile,
          "where times vary: compare this percentile of the step's time, in percent, and not "
          "the geometric mean")
      ->check(integer_from(1, SearchOptions::kMostQuantile));
  command.add_flag(
      "--every-count", options.every_count,
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

}  // namespace ripeline::cli
