#include "cli/pictures.h"

#include <algorithm>
#include <iostream>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "cli/open_run.h"
#include "cli/picture_flags.h"
#include "cli/progress.h"
#include "load/steps.h"
#include "lower/facts.h"
#include "simulate/idle_of_trace.h"
#include "simulate/run_program.h"
#include "simulate/traced.h"
#include "trace/read.h"

namespace ripeline::cli {
namespace {

// The tasks that a run stands before, where ranks commit to orders.
std::vector<core::Task> next_tasks(const spec::Program& program, const view::Timeline& timeline) {
  return simulate::next_in_orders(program, timeline.run().microbatches, [&](core::Task task) {
    return timeline.find(timeline.last_step(), task) >= 0;
  });
}

// Finishes the run with the steps that `steps` names, or else with one.
spec::Result<void> finish(Run& run, trace::File file, bool stuck,
                          const std::optional<trace::StepRange>& steps) {
  const auto chosen = load::choose_steps(file, steps, run.title);
  if (!chosen.ok()) return chosen.errors();
  if (!chosen.value().note.empty()) say_missing({chosen.value().note});
  if (chosen.value().of_several) {
    trace::keep_steps(file.record, chosen.value().range);
    run.title += ", " + chosen.value().text();
  }
  simulate::note_idle(file);
  const core::Status made = view::Timeline::make(std::move(file), run.timeline);
  if (!made.ok()) return failure(run.title + ": " + made.message());
  if (stuck) {
    run.stuck = view::stuck_at_end(
        run.timeline, run.loaded == nullptr ? std::vector<core::Task>{}
                                            : next_tasks(run.loaded->program, run.timeline));
  }
  return {};
}

// Twice the ranks shows a schedule's beginning, middle and end.
int usual_count(const spec::Program& program) {
  const int most = program.microbatches.max.value_or(std::numeric_limits<int>::max());
  return std::clamp(2 * program.ranks, program.microbatches.min, most);
}

spec::Result<void> simulate_run(Run& run, const RunFlags& flags) {
  const spec::Program& program = run.loaded->program;
  const int usual = usual_count(program);
  const auto count =
      count_of_step(flags.microbatches.value_or(load::Counts{usual, usual}), program);
  if (!count.ok()) return count.errors();
  const int microbatches = count.value();
  if (auto simulated = check_simulated(program); !simulated.ok()) return simulated;
  const auto options = read_timing(flags.times);
  if (!options.ok()) return options.errors();
  simulate::Timing timing;
  const core::Status made = simulate::Timing::make(program, microbatches, options.value(), timing);
  if (!made.ok()) return failure(made.message());
  for (const std::string& note : timing.notes()) {
    std::cerr << fmt::format("note: {}: {}\n", program.name, note);
  }
  run.work = simulate::most_work(program, microbatches, timing);
  run.facts = std::make_unique<core::OwnedFacts>(lower::facts_of(program));
  const core::ProgramFacts& facts = run.facts->facts();
  trace::File file;
  file.about = trace::About(facts, simulate::run_of(program, timing, microbatches));
  const simulate::RunReport report = [&] {
    const Progress progress("simulating " + program.name);
    return simulate::run_program(program, facts, microbatches, timing,
                                 {.record = &file.record, .causes = true});
  }();
  if (!report.status.ok()) return failure(report.status.message());
  return finish(run, std::move(file), report.stuck, flags.steps);
}

spec::Result<Run> run_of_trace(const std::string& path,
                               const std::optional<trace::StepRange>& steps) {
  trace::File trace;
  const core::Status read = trace::read(path, trace);
  if (!read.ok()) return failure(read.message());
  const bool all = trace.about.run.source == trace::Source::trained;
  say_missing(trace.notes);
  Run run;
  run.title = path;
  if (auto made = finish(run, std::move(trace), true, steps); !made.ok()) {
    return made.errors();
  }
  // The last step of a training run may have been cut off by the end of the recording.
  if (all && !run.stuck.circle) run.stuck = {};
  return run;
}

}  // namespace

spec::Result<void> write_picture_of(const PictureFlags& flags,
                                    const simulate::ReportedRun& reported) {
  if (!flags.wanted()) return {};
  trace::File file;
  file.about = simulate::about_of(reported);
  file.record = reported.record;
  view::Timeline timeline;
  const core::Status made = view::Timeline::make(std::move(file), timeline);
  if (!made.ok()) return failure(made.message());
  view::Stuck stuck;
  if (reported.run.stuck) {
    stuck = view::stuck_at_end(timeline, next_tasks(reported.program, timeline));
  }
  return write_picture(flags, {{reported.program.name, &timeline, std::move(stuck)}});
}

void add_run_flags(CLI::App& command, RunFlags& flags, bool side_by_side) {
  add_program_options(command, flags.program);
  add_microbatches(command, flags.microbatches,
                   "of a program: microbatches of the step (twice its ranks)");
  add_times(command, flags.times);
  if (side_by_side) {
    add_step_flag(command, flags.each_of_steps);
  } else {
    add_step_flag(command, flags.steps);
  }
  command.add_option(
      "--from", flags.from,
      "of a program: the run of this JSON of `ripeline verify`, not a simulated one");
}

void say_missing(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::cerr << "note: " << note << '\n';
}

bool is_trace(const std::string& file) {
  return has_extension(file, ".json") || load::is_folder(file);
}

spec::Result<Run> opened(const std::string& file, const RunFlags& flags) {
  if (is_trace(file)) return said(run_of_trace(file, flags.steps));
  auto loaded = load_program(file, of_step(flags.program, flags.microbatches));
  if (!loaded.ok()) return loaded.errors();
  Run run;
  run.title = file;
  run.loaded = std::make_unique<load::LoadedProgram>(std::move(loaded).value());
  return run;
}

spec::Result<Run> made(Run run, const RunFlags& flags) {
  if (run.loaded == nullptr) return run;
  if (!flags.from.empty()) {
    const auto json = said(load::read_file(flags.from));
    if (!json.ok()) return json.errors();
    const auto recorded = verify::read_run(run.loaded->program, json.value().text);
    if (!recorded.ok()) {
      std::cerr << spec::render(json.value(), recorded.errors());
      return recorded.errors();
    }
    return refuting_run(*run.loaded, recorded.value());
  }
  if (const auto simulated = said(simulate_run(run, flags)); !simulated.ok()) {
    return simulated.errors();
  }
  return run;
}

spec::Result<Run> load_run(const std::string& file, const RunFlags& flags) {
  auto run = opened(file, flags);
  if (!run.ok()) return run.errors();
  return made(std::move(run).value(), flags);
}

spec::Result<Run> run_again(const Run& run, const RunFlags& flags, std::uint64_t seed) {
  Run again;
  again.title = run.title;
  again.loaded = std::make_unique<load::LoadedProgram>(*run.loaded);
  RunFlags with = flags;
  const int count = run.timeline.run().microbatches;
  with.microbatches = load::Counts{count, count};
  with.times.timing.seed = seed;
  return made(std::move(again), with);
}

namespace {

spec::Result<Run> drawn_with_costs(const load::LoadedProgram& loaded,
                                   const verify::RecordedRun& recorded) {
  if (recorded.members > 1) {
    return failure("a run of the members of a tensor-parallel group is not drawn");
  }
  Run run;
  run.title = loaded.program.name + ", a run that refutes it";
  run.loaded = std::make_unique<load::LoadedProgram>(loaded);
  const spec::Program& program = run.loaded->program;
  simulate::Timing timing;
  const core::Status made = simulate::Timing::make(program, recorded.microbatches, {}, timing);
  if (!made.ok()) return failure(made.message());
  run.facts = std::make_unique<core::OwnedFacts>(lower::facts_of(program));
  trace::File file;
  file.about =
      trace::About(run.facts->facts(), simulate::run_of(program, timing, recorded.microbatches));
  file.record = simulate::record_by_costs(program, timing, recorded.events);
  if (auto finished = finish(run, std::move(file), true, std::nullopt); !finished.ok()) {
    return finished.errors();
  }
  return run;
}

}  // namespace

spec::Result<Run> refuting_run(const load::LoadedProgram& loaded,
                               const verify::RecordedRun& recorded) {
  return said(drawn_with_costs(loaded, recorded));
}

}  // namespace ripeline::cli
