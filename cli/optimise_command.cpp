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
#include "load/document.h"
#include "load/search.h"
#include "optimise/best_order.h"
#include "optimise/memory_curve.h"
#include "optimise/racing/race_report.h"
#include "optimise/search_report.h"

namespace ripeline::cli {
namespace {

constexpr int kNoneFound = 3;  // the same exit code as `unknown`

// Races the program's own dispatch against dispatches by hints that follow the program's orders.
int run_given(const OptimiseFlags& flags) {
  if (!flags.output.empty() || flags.picture.wanted()) {
    return say_failed(
        "--orders given finds no order to write or to draw: leave out -o and --picture");
  }
  if (flags.search.file.empty()) {
    return say_failed("--orders given: expected a FILE, whose orders and hints are compared");
  }
  const auto loaded = said(read_file(flags.search));
  if (!loaded.ok()) return bad_input;
  const auto read = said(load::step_of(loaded.value(), flags.search));
  if (!read.ok()) return bad_input;
  const load::SearchedStep& step = read.value();
  const spec::Program& program = step.program;
  optimise::RaceResult raced;
  const core::Status status = [&] {
    const Progress progress("racing dispatches of " + program.name);
    return optimise::race(program, step.microbatches, step.times, race_options(flags.search),
                          raced);
  }();
  if (!status.ok()) return say_failed(status.message());
  std::cerr << fmt::format("note: what is proved here is proved for {}\n",
                           plural(step.microbatches, "microbatch"));
  say_notes(raced.notes);
  std::cout << (flags.format == "json" ? optimise::race_json(program, raced).dump(1) + "\n"
                                       : optimise::race_text(program, raced));
  return ok;
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
  const auto read = said(read_forms(flags.search));
  if (!read.ok()) return bad_input;
  const optimise::ModelForms& forms = read.value();
  load::Notes notes = forms.notes;
  const auto races = decide_race(flags.search, forms, notes);
  say_notes(notes);
  if (!said(races).ok()) return bad_input;
  std::optional<files::NewFile> file;  // opened first, so that no search is wasted
  if (!flags.output.empty() && flags.output != "-") file.emplace(flags.output);
  if (file && !file->status().ok()) return say_failed(file->status().message());

  const Interrupts interrupts;
  optimise::BestOrder best(
      forms, order_options(flags.search, forms, races.value(),
                           {.budget = budget,
                            .go_on = [&] { return !interrupts.told_to_end(); },
                            .improved =
                                [](const auto& step, const optimise::Problem& problem) {
                                  std::cerr << improvement_text(problem, step);
                                }}));
  const bool json = flags.format == "json";
  const auto document = [&] {
    return load::document_text(best.json(flags.search.reported_model()));
  };
  best.search();
  say_notes(best.notes());
  if (!best.is_found()) {
    if (json) std::cout << document();
    say_failed(best.why_none());
    return best.may_exist() ? kNoneFound : refuted;
  }
  if (!said(best.prove()).ok()) return bad_input;
  if (races.value()) {
    const auto raced = [&] {
      const Progress progress("racing dispatches of " + best.run().program.name);
      return best.race(race_options(flags.search));
    }();
    if (!raced.ok() && !interrupts.told_to_end()) return say_failed(raced.errors());
  }
  if (flags.output == "-") std::cout << best.text();
  std::ostream& out = flags.output == "-" ? std::cerr : std::cout;
  out << (json ? document() : best.report(interrupts.told_to_end()));
  if (file) {
    file->write(best.text());
    if (const core::Status s = file->put(); !s.ok()) return say_failed(s.message());
  }
  if (!said(write_picture_of(flags.picture, best.run())).ok()) return bad_input;
  if (!json) say_where(out, flags, best);
  return ok;
}

int run(const OptimiseFlags& flags) {
  const optimise::Budget budget(flags.search.seconds);  // begins before the input is read
  if (flags.given) return run_given(flags);
  return optimise::is_memory_range(flags.search.model.memory) ? optimise_range(flags)
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
