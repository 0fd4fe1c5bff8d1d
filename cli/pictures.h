// The runs that commands show: their flags, and functions that read, make and draw them.
//
// Functions that return bool or std::optional have printed errors and notes on standard error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "cli/picture_flags.h"
#include "load/run.h"
#include "simulate/report.h"

namespace ripeline::cli {

inline constexpr const char* kRunHelp =
    "a trace (.json, or the folder of a run that was killed), or what is simulated: a .ripe file, "
    "a schedule of PyTorch (CSV), the name of a library schedule, or - for standard input";

struct RunFlags {
  load::RunOptions run;
  std::string from;  // a JSON of `ripeline verify`, whose run replaces the simulated one
  // Used instead of `run.steps` for several runs: each trace gives one run for each range here.
  std::vector<trace::StepRange> each_of_steps;
};
// `side_by_side` says that the command takes several runs.
void add_run_flags(CLI::App& command, RunFlags& flags, bool side_by_side = false);

// Reads a trace (a run) or a program, for which make_run() makes a run. Returns nullopt on failure.
[[nodiscard]] std::optional<load::Run> open_run(const std::string& file,
                                                const load::RunOptions& options);
[[nodiscard]] bool make_run(load::Run& run, const RunFlags& flags);
// Calls open_run() and make_run().
[[nodiscard]] std::optional<load::Run> load_run(const std::string& file, const RunFlags& flags);

// Prints notes on standard error, for example on parts that a trace lacks.
void say_notes(const std::vector<std::string>& notes);

// Writes a picture of the run if the flags ask for one.
[[nodiscard]] spec::Result<void> write_picture_of(const PictureFlags& flags,
                                                  const simulate::ReportedRun& reported);

}  // namespace ripeline::cli
