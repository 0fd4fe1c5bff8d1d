// The runs that are drawn and walked: a trace, a simulated program, or a run that refutes one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "cli/input.h"
#include "cli/microbatch_flag.h"
#include "cli/picture_flags.h"
#include "cli/step_flag.h"
#include "cli/time_flags.h"
#include "simulate/interpreter.h"
#include "simulate/report.h"
#include "verify/report.h"
#include "view/picture.h"

namespace ripeline::cli {

// If the flags ask for one.
[[nodiscard]] spec::Result<void> write_picture_of(const PictureFlags& flags,
                                                  const simulate::ReportedRun& reported);

// How a FILE becomes a run.
struct RunFlags {
  load::ProgramOptions program;
  std::optional<load::Counts> microbatches;  // for a program
  TimeFlags times;                           // for a program
  std::optional<trace::StepRange> steps;     // for a trace
  // Instead of `steps` where runs stand side by side: each trace gives a run for each of these.
  std::vector<trace::StepRange> each_of_steps;
  std::string from;  // JSON of `ripeline verify`: its run instead of a simulated one
};
// `side_by_side`: there are several runs.
void add_run_flags(CLI::App& command, RunFlags& flags, bool side_by_side = false);
inline constexpr const char* kRunHelp =
    "a trace (.json, or the folder of a run that was killed), or what is simulated: a .ripe file, "
    "a schedule of PyTorch (CSV), the name of a library schedule, or - for standard input";
// Reports what a trace lacks, on standard error.
void say_missing(const std::vector<std::string>& notes);

// Where it stays: the timeline refers to nothing else.
struct Run {
  std::string title;
  view::Timeline timeline;
  view::Stuck stuck;
  // For a simulated program, in its unit: the most compute work of any rank, by mean costs.
  std::optional<double> work;
  std::unique_ptr<load::LoadedProgram> loaded;  // for a program
  std::unique_ptr<core::OwnedFacts> facts;
  [[nodiscard]] view::Panel panel() const { return {title, &timeline, stuck}; }
};
// Errors are on standard error already, as with load(); also those of the next one.
[[nodiscard]] spec::Result<Run> load_run(const std::string& file, const RunFlags& flags);
// The program of `run` once more, with another seed.
[[nodiscard]] spec::Result<Run> run_again(const Run& run, const RunFlags& flags,
                                          std::uint64_t seed);

// The run that refutes a program, drawn with its costs: each rank does what it did in the run, in
// that order, as soon as it can.
[[nodiscard]] spec::Result<Run> refuting_run(const load::LoadedProgram& loaded,
                                             const verify::RecordedRun& recorded);

}  // namespace ripeline::cli
