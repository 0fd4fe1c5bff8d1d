// What is drawn and walked: a trace, a program that is simulated, or a run that refutes it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "cli/input.h"
#include "cli/microbatch_flag.h"
#include "cli/step_flag.h"
#include "cli/time_flags.h"
#include "simulate/interpreter.h"
#include "simulate/report.h"
#include "verify/report.h"
#include "view/picture.h"

namespace ripeline::cli {

// --picture, a name that ends in .svg or .html.
void add_picture(CLI::App& command, std::string& picture);
[[nodiscard]] spec::Result<void> write_picture(const std::string& path,
                                               const std::vector<view::Panel>& panels);
[[nodiscard]] spec::Result<void> write_picture_of(const std::string& path,
                                                  const simulate::ReportedRun& reported);

// How a FILE becomes a run.
struct RunFlags {
  ProgramOptions program;
  std::optional<Counts> microbatches;     // of a program
  TimeFlags times;                        // of a program
  std::optional<trace::StepRange> steps;  // of a trace
  std::string from;  // JSON of `ripeline verify`: its run instead of a simulated one
};
void add_run_flags(CLI::App& command, RunFlags& flags);
inline constexpr const char* kRunHelp =
    "a trace (.json, or the folder of a run that was killed), or what is simulated: a .ripe file, "
    "a schedule of PyTorch (CSV), the name of a library schedule, or - for standard input";
// What is missing of a trace, on standard error.
void say_missing(const std::vector<std::string>& notes);

// Where it stays: the timeline refers to nothing else.
struct Run {
  std::string title;
  view::Timeline timeline;
  view::Stuck stuck;
  std::unique_ptr<LoadedProgram> loaded;  // of a program
  std::unique_ptr<core::OwnedFacts> facts;
  [[nodiscard]] view::Panel panel() const { return {title, &timeline, stuck}; }
};
// What fails is on standard error already, as with load(); also of the next.
[[nodiscard]] spec::Result<Run> load_run(const std::string& file, const RunFlags& flags);
// To stand side by side. Without -m, a program that is for one number of microbatches alone, as a
// CSV is, gives that number to the others that can have it. Standard error says so, and names the
// numbers if they still differ.
[[nodiscard]] spec::Result<std::vector<Run>> load_runs(const std::vector<std::string>& files,
                                                       const RunFlags& flags);

// The run that refutes a program, drawn with its costs: each rank does what it did in the run, in
// that order, as soon as it can.
[[nodiscard]] spec::Result<Run> refuting_run(const LoadedProgram& loaded,
                                             const verify::RecordedRun& recorded);

}  // namespace ripeline::cli
