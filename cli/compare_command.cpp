// ripeline compare: runs side by side.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/pictures.h"
#include "load/side_by_side.h"
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

// Opens the runs, whose sizes may still differ. On failure, prints why and returns nullopt.
std::optional<std::vector<load::Run>> open_all(const CompareCommand& command) {
  const auto& steps = command.run.each_of_steps;
  if (!steps.empty() && std::none_of(command.files.begin(), command.files.end(), load::is_trace)) {
    say_failed("--step: none of these is a trace; the run of a program has one step");
    return std::nullopt;
  }
  std::vector<load::Run> runs;
  load::RunOptions each = command.run.run;
  each.program.several = true;
  for (const std::string& file : command.files) {
    const bool once = steps.empty() || !load::is_trace(file);
    for (std::size_t i = 0; i < (once ? 1 : steps.size()); ++i) {
      each.steps = once ? std::nullopt : std::optional(steps[i]);
      auto run = open_run(file, each);
      if (!run) return std::nullopt;
      runs.push_back(*std::move(run));
    }
  }
  return runs;
}

bool make_all(std::vector<load::Run>& runs, const RunFlags& flags) {
  load::Notes notes;
  std::optional<load::Misfit> misfit;
  const auto agreed = load::agree(runs, flags.run, notes, misfit);
  say_notes(notes);
  if (misfit) std::cerr << spec::render(misfit->source, misfit->errors);
  if (!said(agreed).ok()) return false;
  for (load::Run& run : runs) {
    if (!make_run(run, flags)) return false;
  }
  say_notes(load::size_notes(runs, agreed.value()));
  return true;
}

int compare(const CompareCommand& command) {
  const auto memory = said(load::memory_limit(command.memory));
  if (!memory.ok()) return bad_input;
  auto opened = open_all(command);
  if (!opened || !make_all(*opened, command.run)) return bad_input;
  const std::vector<load::Run>& runs = *opened;
  if (command.seeds > 1 && !command.run.from.empty()) {
    return say_failed("--seeds: the run of --from is one run, without anything drawn");
  }
  const auto made = said(load::compared(runs, command.run.run, command.seeds));
  if (!made.ok()) return bad_input;
  std::vector<view::Panel> panels;
  for (const load::Run& run : runs) panels.push_back(run.panel());
  if (!said(write_picture(command.picture, panels)).ok()) return bad_input;
  const std::vector<view::Compared>& all = made.value();
  const view::CompareOptions options{
      .runs = command.seeds,
      .seed = command.run.run.times.timing.seed,
      .memory = memory.value(),
      .same_work = load::how_to_give_same_work(runs, command.run.run.times)};
  std::string text;
  const core::Status status = view::compare_text(all, options, text);
  if (!status.ok()) return say_failed(status.message());
  if (command.format == "json") {
    print_json(view::compare_json(all, options));
  } else {
    std::cout << text;
  }
  const auto is_stuck = [](const view::Compared& one) { return one.stuck; };
  return std::any_of(all.begin(), all.end(), is_stuck) ? refuted : ok;
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
      ->check(integer_from(1, load::kMostSeeds));
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
