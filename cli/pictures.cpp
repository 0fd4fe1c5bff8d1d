#include "cli/pictures.h"

#include <iostream>
#include <utility>

#include "cli/failure.h"
#include "cli/input.h"
#include "cli/microbatch_flag.h"
#include "cli/progress.h"
#include "cli/step_flag.h"
#include "cli/time_flags.h"

namespace ripeline::cli {
namespace {

// Reads the run in the JSON of `ripeline verify`. If that fails, prints why and returns false.
bool read_refutation(load::Run& run, const std::string& from) {
  const auto json = said(load::read_file(from));
  if (!json.ok()) return false;
  const auto recorded = verify::read_run(run.loaded->program, json.value().text);
  if (!recorded.ok()) {
    std::cerr << spec::render(json.value(), recorded.errors());
    return false;
  }
  auto refuting = said(load::refuting_run(*run.loaded, recorded.value()));
  if (refuting.ok()) run = std::move(refuting).value();
  return refuting.ok();
}

}  // namespace

void add_run_flags(CLI::App& command, RunFlags& flags, bool side_by_side) {
  add_program_options(command, flags.run.program);
  add_microbatches(command, flags.run.microbatches,
                   "of a program: microbatches of the step (twice its ranks)");
  add_times(command, flags.run.times);
  if (side_by_side) {
    add_step_flag(command, flags.each_of_steps);
  } else {
    add_step_flag(command, flags.run.steps);
  }
  command.add_option(
      "--from", flags.from,
      "of a program: the run of this JSON of `ripeline verify`, not a simulated one");
}

std::optional<load::Run> open_run(const std::string& file, const load::RunOptions& options) {
  if (load::is_trace(file)) {
    load::Notes notes;
    auto read = load::read_trace(file, options.steps, notes);
    say_notes(notes);
    if (read.ok()) return std::move(read).value();
    say_failed(read.errors());
    return std::nullopt;
  }
  auto loaded = load_program(file, of_step(options.program, options.microbatches));
  if (!loaded.ok()) return std::nullopt;
  load::Run run;
  run.title = file;
  run.loaded = std::make_unique<load::LoadedProgram>(std::move(loaded).value());
  return run;
}

bool make_run(load::Run& run, const RunFlags& flags) {
  if (run.is_trace()) return true;
  if (!flags.from.empty()) return read_refutation(run, flags.from);
  load::Notes notes;
  const auto made = [&] {
    const Progress progress("simulating " + run.loaded->program.name);
    return load::simulate_run(run, flags.run, notes);
  }();
  say_notes(notes);
  return said(made).ok();
}

std::optional<load::Run> load_run(const std::string& file, const RunFlags& flags) {
  auto run = open_run(file, flags.run);
  if (run && !make_run(*run, flags)) return std::nullopt;
  return run;
}

void say_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::cerr << "note: " << note << '\n';
}

spec::Result<void> write_picture_of(const PictureFlags& flags,
                                    const simulate::ReportedRun& reported) {
  if (!flags.wanted()) return {};
  const auto run = load::run_of(reported);
  if (!run.ok()) return run.errors();
  return write_picture(flags, {run.value().panel()});
}

}  // namespace ripeline::cli
