// Runs to be shown: a trace, a program that is simulated, or a run that refutes a program.
//
// Runs that are shown side by side agree on their sizes after they are read and before they are
// simulated (load/side_by_side.h). Notes are complete sentences for people.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/facts.h"
#include "load/counts.h"
#include "load/program.h"
#include "load/times.h"
#include "simulate/report.h"
#include "spec/diagnostics.h"
#include "trace/steps.h"
#include "verify/report.h"
#include "view/debugger.h"
#include "view/picture.h"
#include "view/stuck.h"
#include "view/timeline.h"

namespace ripeline::load {

using Notes = std::vector<std::string>;

struct RunOptions {
  ProgramOptions program;
  std::optional<Counts> microbatches;  // for a program, like `times`; if nullopt, usually 2 * ranks
  TimeOptions times;
  std::optional<trace::StepRange> steps;  // for a trace
};

// A run. Its timeline refers to nothing outside this struct.
struct Run {
  std::string title;
  view::Timeline timeline;
  view::Stuck stuck;
  // For a simulated program: the largest compute work of any rank, by mean costs, in its unit.
  std::optional<double> work;
  std::unique_ptr<LoadedProgram> loaded;  // for a program
  std::unique_ptr<core::OwnedFacts> facts;
  std::optional<int> microbatches;  // for a program: the number to use in place of the usual one
  [[nodiscard]] bool is_trace() const { return loaded == nullptr; }
  [[nodiscard]] view::Panel panel() const { return {title, &timeline, stuck}; }
};

// True for the name of a trace (.json), and for a folder, since a killed run leaves a folder.
[[nodiscard]] bool is_trace(const std::string& file);
[[nodiscard]] spec::Result<Run> read_trace(const std::string& file,
                                           const std::optional<trace::StepRange>& steps,
                                           Notes& notes);
// Notes on how one simulated member of one replica stands for all.
[[nodiscard]] Notes group_notes(const spec::Program& program);
// Simulates the program of `run`, which must be loaded.
[[nodiscard]] spec::Result<void> simulate_run(Run& run, const RunOptions& options, Notes& notes);
// Simulates the program of `run` once more, with another seed.
[[nodiscard]] spec::Result<Run> run_again(const Run& run, const RunOptions& options,
                                          std::uint64_t seed);
// The run that a report describes.
[[nodiscard]] spec::Result<Run> run_of(const simulate::ReportedRun& reported);
// The run that refutes a program, timed by the program's costs: each rank runs the same tasks in
// the same order, each as soon as it can.
[[nodiscard]] spec::Result<Run> refuting_run(const LoadedProgram& loaded,
                                             const verify::RecordedRun& recorded);

// The reasons that `ripeline why` prints: for the task with this name, such as 2F0, or for the
// whole run if the name is empty. Fails if the run has no such task.
[[nodiscard]] spec::Result<std::string> explained(const Run& run, const std::string& task);

// The debugger's adviser (simulate/advice.h) for a run of a program; the run must outlive the
// adviser. Empty for a trace, which has no dispatch.
[[nodiscard]] view::Adviser adviser_of(const Run& run);

}  // namespace ripeline::load
