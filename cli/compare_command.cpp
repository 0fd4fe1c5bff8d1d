// ripeline compare: runs side by side.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/numbers.h"
#include "cli/pictures.h"
#include "cli/side_by_side.h"
#include "load/shorten.h"
#include "optimise/racing/gain.h"
#include "simulate/amount.h"
#include "view/compare.h"

namespace ripeline::cli {
namespace {

struct CompareCommand {
  std::vector<std::string> files;
  RunFlags run;
  int seeds = 1;
  std::string memory;
  PictureFlags picture;
  std::string format = "text";
};

// All runs of one FILE.
struct Runs {
  std::vector<view::Figures> figures;  // seed by seed
  bool stuck = false;
};

// The runs of further seeds begin after the one that there is.
spec::Result<Runs> runs_of(const Run& first, const CompareCommand& command) {
  Runs runs{{view::figures(first.timeline)}, first.stuck.any()};
  const std::uint64_t seed = command.run.times.timing.seed;
  for (int more = 1; more < command.seeds; ++more) {
    const auto run = run_again(first, command.run, seed + static_cast<std::uint64_t>(more));
    if (!run.ok()) return run.errors();
    runs.figures.push_back(view::figures(run.value().timeline));
    runs.stuck = runs.stuck || run.value().stuck.any();
  }
  return runs;
}

// Nothing: nothing ran, in one of them.
std::optional<view::Speed> speed_of(const Runs& baseline, const Runs& runs) {
  std::vector<double> logarithms;
  for (std::size_t i = 0; i < runs.figures.size(); ++i) {
    const double ratio = baseline.figures[i].wall / runs.figures[i].wall;
    if (!std::isfinite(ratio) || ratio <= 0) return std::nullopt;
    logarithms.push_back(std::log(ratio));
  }
  if (logarithms.size() == 1) {
    return view::Speed{.ratio = baseline.figures[0].wall / runs.figures[0].wall};
  }
  const optimise::Gain gain = optimise::gain_of(logarithms);
  return view::Speed{.ratio = gain.ratio, .low = gain.low, .high = gain.high};
}

// How to give all programs the same work; nothing: it is given, or all are traces.
std::string advice(const std::vector<Run>& runs, const CompareCommand& command) {
  const auto is_trace = [](const Run& run) { return run.loaded == nullptr; };
  if (std::all_of(runs.begin(), runs.end(), is_trace)) return {};
  const bool has_trace = std::any_of(runs.begin(), runs.end(), is_trace);
  if (has_trace && command.run.times.profile.empty()) {
    return "`ripeline profile TRACE -o costs.json` makes costs of a trace, and --profile "
           "costs.json gives them to the programs";
  }
  if (has_trace || command.run.times.rank_costs) return {};
  return "--rank-costs, as --rank-costs F=1,B=2, gives all of them one model";
}

spec::Result<void> check_flags(const std::vector<Run>& runs, const CompareCommand& command) {
  if (command.seeds == 1) return {};
  if (!command.run.from.empty()) {
    return failure("--seeds: the run of --from is one run, without anything drawn");
  }
  for (const Run& run : runs) {
    if (run.loaded != nullptr) continue;
    return failure("--seeds: expected programs, to run them with several seeds, and " + run.title +
                   " is a trace");
  }
  return {};
}

spec::Result<std::vector<view::Compared>> compared(const std::vector<Run>& runs,
                                                   const CompareCommand& command) {
  std::vector<view::Compared> all;
  std::vector<Runs> of_all;
  for (const Run& run : runs) {
    auto of = runs_of(run, command);
    if (!of.ok()) return of.errors();
    of_all.push_back(std::move(of).value());
    all.push_back({.title = run.title,
                   .program = std::string(run.timeline.facts().name),
                   .unit = run.timeline.run().unit,
                   .ranks = run.timeline.facts().ranks,
                   .microbatches = run.timeline.run().microbatches,
                   .figures = view::average(of_all.back().figures),
                   .stuck = of_all.back().stuck,
                   .work = run.work});
  }
  const auto baseline = view::baseline_of(all);
  for (std::size_t i = 0; baseline && i < all.size(); ++i) {
    if (!view::are_alike(all[i], all[*baseline])) continue;
    all[i].speed = speed_of(of_all[*baseline], of_all[i]);
  }
  return all;
}

spec::Result<std::optional<view::MemoryLimit>> memory_limit(const std::string& text) {
  if (text.empty()) return std::optional<view::MemoryLimit>();
  const auto given = simulate::amount_in(text);
  if (!given || given->value.numerator == 0 || given->dimension == simulate::Dimension::time) {
    return failure(fmt::format(
        "--memory {}: expected microbatches of all of a rank's layers that it has room for, a "
        "number above 0, as 6 or 2.5, or bytes, as 24GB",
        load::shortened(text)));
  }
  return std::optional(view::MemoryLimit{.amount = given->base.value(),
                                         .bytes = given->dimension == simulate::Dimension::bytes,
                                         .text = text});
}

int compare(const CompareCommand& command) {
  const auto memory = said(memory_limit(command.memory));
  if (!memory.ok()) return bad_input;
  const auto loaded = load_runs(command.files, command.run);
  if (!loaded.ok()) return bad_input;
  const std::vector<Run>& runs = loaded.value();
  if (!said(check_flags(runs, command)).ok()) return bad_input;
  std::vector<view::Panel> panels;
  for (const Run& run : runs) panels.push_back(run.panel());
  if (!said(write_picture(command.picture, panels)).ok()) return bad_input;
  const auto made = compared(runs, command);
  if (!made.ok()) return bad_input;
  const std::vector<view::Compared>& all = made.value();
  const auto is_limited = [&](const view::Compared& one) {
    return view::fits(one, *memory.value()).has_value();
  };
  if (memory.value() && std::none_of(all.begin(), all.end(), is_limited)) {
    return say_failed(memory.value()->bytes
                          ? "--memory: nothing here is counted in bytes; expected a resource with "
                            "such a unit, as GB or MiB"
                          : "--memory: nothing here counts activations; expected a resource "
                            "without a unit, of which a task acquires 1");
  }
  const view::CompareOptions options{.runs = command.seeds,
                                     .seed = command.run.times.timing.seed,
                                     .memory = memory.value(),
                                     .same_work = advice(runs, command)};
  std::string text;
  const core::Status status = view::compare_text(all, options, text);
  if (!status.ok()) return say_failed(status.message());
  std::cout << (command.format == "json" ? view::compare_json(all, options) : text);
  int code = ok;
  for (const view::Compared& one : all) code = worse(code, one.stuck ? refuted : ok);
  return code;
}

}  // namespace

void add_compare(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "compare", "run several programs, or take traces, and put them side by side");
  auto options = std::make_shared<CompareCommand>();
  command->add_option("FILE", options->files, kRunHelp)->required();
  add_run_flags(*command, options->run, /*side_by_side=*/true);
  command
      ->add_option("--seeds", options->seeds,
                   "runs of each program, from --seed on (1); the draws are the same for all")
      ->check(integer_from(1, 1'000'000));
  command
      ->add_option("--memory", options->memory,
                   "a rank's room, in microbatches of all of its layers (an activation of a stage "
                   "is 1/K of one where a rank has K stages), or in bytes, as 24GB: marks what "
                   "holds more")
      ->type_name("N or BYTES");
  add_picture(*command, options->picture);
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  command->footer(
      "Examples\n"
      "  ripeline compare 1f1b zb_h1 zb_v -D ranks=8 -m 32 --rank-costs F=1,B=2 --memory 8\n"
      "  ripeline compare 1f1b bf -m 32 --rank-costs F=1,B=2 --jitter tails=2:20 --seeds 20\n"
      "  ripeline compare run.json --step 3 --step 7\n"
      "Schedules that put several stages on a rank, or that split backwards, do the work of one\n"
      "model if --rank-costs gives its costs. Below the table it says where work or memory\n"
      "differs: such a comparison is no measure of the schedules. A param of -D is set in the\n"
      "programs that have it. The times drawn are the same in all of them where their tasks are.\n"
      "Without -m, all take the number of microbatches of a CSV or trace among them, and without\n"
      "-D ranks its number of ranks.");
  command->callback([options, &exit_code] { exit_code = compare(*options); });
}

}  // namespace ripeline::cli
