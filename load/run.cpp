#include "load/run.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "load/folder.h"
#include "load/steps.h"
#include "lower/facts.h"
#include "simulate/advice.h"
#include "simulate/idle_of_trace.h"
#include "simulate/run_program.h"
#include "simulate/traced.h"
#include "trace/read.h"
#include "view/explain.h"
#include "view/terminal.h"

namespace ripeline::load {
namespace {

using spec::failure;

// Makes the timeline. If the run is stuck, also finds out why; for this, `program` (if not null)
// gives the next task of each rank that commits to an order.
spec::Result<void> finish(Run& run, trace::File file, bool stuck, const spec::Program* program) {
  simulate::note_idle(file);
  const core::Status made = view::Timeline::make(std::move(file), run.timeline);
  if (!made.ok()) return failure(run.title + ": " + made.message());
  if (!stuck) return {};
  const view::Timeline& timeline = run.timeline;
  std::vector<core::Task> next;
  if (program != nullptr) {
    next = simulate::next_in_orders(*program, timeline.run().microbatches, [&](core::Task task) {
      return timeline.find(timeline.last_step(), task) >= 0;
    });
  }
  run.stuck = view::stuck_at_end(timeline, next);
  return {};
}

// The usual number of microbatches, twice the ranks, shows a schedule's start, middle and end.
int usual_count(const spec::Program& program) {
  const int most = program.microbatches.max.value_or(std::numeric_limits<int>::max());
  return std::clamp(2 * program.ranks, program.microbatches.min, most);
}

// Keeps only the steps in `steps`; without `steps`, only the step that choose_steps() chooses.
spec::Result<void> choose(Run& run, trace::File& file, const std::optional<trace::StepRange>& steps,
                          Notes& notes) {
  const auto chosen = choose_steps(file, steps, run.title);
  if (!chosen.ok()) return chosen.errors();
  if (!chosen.value().note.empty()) notes.push_back(chosen.value().note);
  if (chosen.value().of_several) {
    trace::keep_steps(file.record, chosen.value().range);
    run.title += ", " + chosen.value().text();
  }
  return {};
}

// Whether the hint held the engine at `now`, as causes of idle time show; a trace has no notices.
bool held_at(const view::Timeline& timeline, int rank, core::Engine engine, core::Time now) {
  for (const view::Row& row : timeline.rows()) {
    if (row.rank != rank || row.engine != engine) continue;
    for (const trace::IdleEvent& idle : timeline.idle_of(row)) {
      if (idle.cause == trace::Cause::hold && idle.start <= now && now < idle.end) return true;
    }
  }
  return false;
}

}  // namespace

bool is_trace(const std::string& file) {
  return (file.size() > 5 && file.ends_with(".json")) || is_folder(file);
}

spec::Result<Run> read_trace(const std::string& file, const std::optional<trace::StepRange>& steps,
                             Notes& notes) {
  core::StatusOr<trace::File> read = trace::read(file);
  if (!read.ok()) return failure(read.message());
  trace::File& trace = read.value();
  notes.insert(notes.end(), trace.notes.begin(), trace.notes.end());
  const bool is_trained = trace.about.run.source == trace::Source::trained;
  Run run;
  run.title = file;
  if (auto chosen = choose(run, trace, steps, notes); !chosen.ok()) return chosen.errors();
  if (auto made = finish(run, std::move(trace), true, nullptr); !made.ok()) return made.errors();
  // Without a cycle of waits, the last step may only have been cut off when the recording ended.
  if (is_trained && run.stuck.circle == 0) run.stuck = {};
  return run;
}

Notes group_notes(const spec::Program& program) {
  Notes notes;
  if (program.tensor_parallel.members > 1) {
    notes.push_back("the members of a tensor-parallel group run as one");
  }
  if (const int replicas = program.data_parallel.replicas; replicas > 1) {
    notes.push_back(fmt::format("this is one of {} replicas; the others do the same", replicas));
  }
  return notes;
}

spec::Result<void> simulate_run(Run& run, const RunOptions& options, Notes& notes) {
  const spec::Program& program = run.loaded->program;
  const int usual = run.microbatches.value_or(usual_count(program));
  const auto count = count_of_step(options.microbatches.value_or(Counts{usual, usual}), program);
  if (!count.ok()) return count.errors();
  const int microbatches = count.value();
  const auto timed = timing_of(program, microbatches, options.times);
  if (!timed.ok()) return timed.errors();
  const simulate::Timing& timing = timed.value();
  for (const std::string& note : timing.notes()) notes.push_back(program.name + ": " + note);
  run.work = simulate::most_work(program, microbatches, timing);
  run.facts = std::make_unique<core::OwnedFacts>(lower::facts_of(program));
  const core::ProgramFacts& facts = run.facts->facts();
  trace::File file;
  file.about = trace::About(facts, simulate::run_of(program, timing, microbatches));
  const simulate::RunReport report = simulate::run_program(
      program, facts, microbatches, timing, {.record = &file.record, .causes = true});
  if (!report.status.ok()) return failure(report.status.message());
  if (auto chosen = choose(run, file, options.steps, notes); !chosen.ok()) return chosen;
  return finish(run, std::move(file), report.stuck, &program);
}

spec::Result<Run> run_again(const Run& run, const RunOptions& options, std::uint64_t seed) {
  Run again;
  again.title = run.title;
  again.loaded = std::make_unique<LoadedProgram>(*run.loaded);
  RunOptions with = options;
  const int count = run.timeline.run().microbatches;
  with.microbatches = Counts{count, count};
  with.times.timing.seed = seed;
  Notes said;  // printed with the first run
  if (auto made = simulate_run(again, with, said); !made.ok()) return made.errors();
  return again;
}

spec::Result<Run> run_of(const simulate::ReportedRun& reported) {
  Run run;
  run.title = reported.program.name;
  trace::File file;
  file.about = simulate::about_of(reported);
  file.record = reported.record;
  auto made = finish(run, std::move(file), reported.run.stuck, &reported.program);
  if (!made.ok()) return made.errors();
  return run;
}

spec::Result<Run> refuting_run(const LoadedProgram& loaded, const verify::RecordedRun& recorded) {
  if (recorded.members > 1) {
    return failure("a run of the members of a tensor-parallel group is not drawn");
  }
  Run run;
  run.title = loaded.program.name + ", a run that refutes it";
  run.loaded = std::make_unique<LoadedProgram>(loaded);
  const spec::Program& program = run.loaded->program;
  simulate::Timing timing;
  const core::Status made = simulate::Timing::make(program, recorded.microbatches, {}, timing);
  if (!made.ok()) return failure(made.message());
  run.facts = std::make_unique<core::OwnedFacts>(lower::facts_of(program));
  trace::File file;
  file.about =
      trace::About(run.facts->facts(), simulate::run_of(program, timing, recorded.microbatches));
  file.record = simulate::record_by_costs(program, timing, recorded.events);
  if (auto drawn = finish(run, std::move(file), true, &program); !drawn.ok()) {
    return drawn.errors();
  }
  return run;
}

spec::Result<std::string> explained(const Run& run, const std::string& task) {
  const view::Timeline& timeline = run.timeline;
  view::Reasons reasons(timeline);
  if (task.empty()) return run.title + ": " + view::explain_all(timeline, reasons);
  const auto named = view::task_named(timeline, task);
  if (!named) {
    return failure("'" + task + "' is no task of " + std::string(timeline.facts().name) +
                   " in this run; a task is a stage, an op and a microbatch, as 2F0");
  }
  const int box = timeline.find(timeline.last_step(), *named);
  if (box >= 0) return view::explain(timeline, reasons, box);
  return task + " did not run\n" + view::terminal(timeline, {}, run.stuck);
}

view::Adviser adviser_of(const Run& run) {
  if (run.is_trace() || run.facts == nullptr) return {};
  const spec::Program& program = run.loaded->program;
  const core::ProgramFacts& facts = run.facts->facts();
  const view::Timeline& timeline = run.timeline;
  return [&program, &facts, &timeline](int rank, core::Engine engine,
                                       const std::vector<core::SeenEvent>& seen) {
    const core::Time now = seen.empty() ? core::Time{0} : seen.back().at;
    return simulate::advice(program, facts, timeline.run().microbatches,
                            {rank, engine, held_at(timeline, rank, engine, now)}, seen);
  };
}

}  // namespace ripeline::load
