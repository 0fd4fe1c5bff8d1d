// ripeline optimise: searches for the best order of a program's tasks under given costs and memory,
// and bounds how far the order is from the best possible one.
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/interrupts.h"
#include "cli/optimise_input.h"
#include "cli/pictures.h"
#include "cli/progress.h"
#include "core/vocabulary/plural.h"
#include "files/new_file.h"
#include "optimise/best_order.h"
#include "optimise/memory_curve.h"
#include "optimise/racing/race_report.h"

namespace ripeline::cli {
namespace {

using spec::failure;

constexpr int kNoneFound = 3;  // the same exit code as `unknown`

// Races the program's own dispatch against dispatches by hints that follow the program's orders.
int run_given(const OptimiseFlags& flags) {
  if (!flags.output.empty() || flags.picture.wanted()) {
    return say_failed(
        "--orders given finds no order to write or to draw: leave out -o and --picture");
  }
  if (flags.file.empty()) {
    return say_failed("--orders given: expected a FILE, whose orders and hints are compared");
  }
  const auto read = said(read_step(flags));
  if (!read.ok()) return bad_input;
  const spec::Program& program = read.value().loaded.program;
  const int microbatches = read.value().microbatches;
  optimise::RaceResult raced;
  const core::Status status = [&] {
    const Progress progress("racing dispatches of " + program.name);
    return optimise::race(program, microbatches, read.value().times, race_options(flags), raced);
  }();
  if (!status.ok()) return say_failed(status.message());
  std::cerr << fmt::format("note: what is proved here is proved for {}\n",
                           plural(microbatches, "microbatch"));
  say_notes(raced.notes);
  std::cout << (flags.format == "json" ? optimise::race_json(program, raced).dump(1) + "\n"
                                       : optimise::race_text(program, raced));
  return ok;
}

// Returns whether orders are compared in a race. Fails if the flags do not fit that decision.
spec::Result<bool> decide_race(const OptimiseFlags& flags, const optimise::ModelForms& forms) {
  const bool draws = forms.varies();
  const bool races = draws && (forms.times.jitter.draws() || flags.seeds || flags.quantile);
  if (draws && !races) {
    say_notes(
        {"the profile's spreads are not looked at: --seeds 50 compares what is found under them"});
  }
  if (races && flags.every_count) {
    return spec::failure(
        "--every-count: an order that races is for its number of microbatches alone");
  }
  if (flags.seeds && !draws) {
    return spec::failure(
        "--seeds: times do not vary: expected --jitter, or a FILE and a profile with spreads");
  }
  const optimise::RaceOptions options = race_options(flags);
  const core::Status fits = optimise::fits(options.measure, draws, options.seeds);
  if (!fits.ok()) return spec::failure(fits.message());
  return races;
}

// Prints where the program was written, or which flag writes it.
void say_where(std::ostream& out, const OptimiseFlags& flags, const optimise::BestOrder& best) {
  if (flags.output.empty()) {
    out << "-o FILE writes the program, --picture FILE draws it\n";
    return;
  }
  if (flags.output == "-") return;
  const std::string count =
      best.is_for_every_count() ? fmt::format(" -m {}", best.microbatches()) : "";
  out << fmt::format(
      "written: {}{}\n", flags.output,
      best.has_actions()
          ? fmt::format("; to PyTorch's form with  ripeline export {}{} -o order.csv", flags.output,
                        count)
          : "");
}

// Searches for the best order within one memory limit. Returns the exit code.
int run_one(const OptimiseFlags& flags, const optimise::Budget& budget) {
  const auto read = said(read_forms(flags));
  if (!read.ok()) return bad_input;
  const optimise::ModelForms& forms = read.value();
  say_notes(forms.notes);
  const auto races = said(decide_race(flags, forms));
  if (!races.ok()) return bad_input;
  std::optional<files::NewFile> file;  // opened first, so that no search is wasted
  if (!flags.output.empty() && flags.output != "-") file.emplace(flags.output);
  if (file && !file->status().ok()) return say_failed(file->status().message());

  const Interrupts interrupts;
  optimise::BestOrder best(forms, {.budget = budget,
                                   .seed = flags.times.timing.seed,
                                   .solver_threads = flags.solver ? flags.threads : 0,
                                   .races = races.value(),
                                   .every_count = flags.every_count,
                                   .comments = command_lines(flags, forms),
                                   .go_on = [&] { return !interrupts.told_to_end(); },
                                   .tell = [](const std::string& line) { std::cerr << line; }});
  const bool json = flags.format == "json";
  optimise::ModelOptions asked = flags.model;
  asked.profile = flags.times.profile;
  best.search();
  if (!best.is_found()) {
    if (json) std::cout << best.json(asked).dump(2) << '\n';
    say_failed(best.why_none());
    return best.may_exist() ? kNoneFound : refuted;
  }
  if (!said(best.prove()).ok()) return bad_input;
  if (races.value()) {
    const auto raced = [&] {
      const Progress progress("racing dispatches of " + best.run().program.name);
      return best.race(race_options(flags));
    }();
    if (!raced.ok() && !interrupts.told_to_end()) return say_failed(raced.errors());
  }
  if (flags.output == "-") std::cout << best.text();
  std::ostream& out = flags.output == "-" ? std::cerr : std::cout;
  out << (json ? best.json(asked).dump(2) + "\n" : best.report(interrupts.told_to_end()));
  if (file) {
    file->write(best.text());
    if (const core::Status s = file->put(); !s.ok()) return say_failed(s.message());
  }
  if (!said(write_picture_of(flags.picture, best.run())).ok()) return bad_input;
  if (!json) say_where(out, flags, best);
  return ok;
}

int run(const OptimiseFlags& flags) {
  const optimise::Budget budget(flags.seconds);  // begins before the input is read
  if (flags.given) return run_given(flags);
  return optimise::is_memory_range(flags.model.memory) ? optimise_range(flags)
                                                       : run_one(flags, budget);
}

}  // namespace

void add_optimise(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "optimise",
      "search the best order of a step's tasks for costs and memory, with a bound on what is "
      "possible");
  auto options = std::make_shared<OptimiseFlags>();
  add_optimise_flags(*command, *options);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
