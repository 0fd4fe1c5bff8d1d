// The common parts of `simulate` and `emulate`: their flags, the program with its times, and the
// output of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/App.hpp>
#include <nlohmann/json_fwd.hpp>

#include "cli/input.h"
#include "cli/microbatch_flag.h"
#include "cli/picture_flags.h"
#include "cli/time_flags.h"
#include "simulate/interpreter.h"
#include "simulate/report.h"

namespace ripeline::cli {

struct RunCommand {
  std::string file;
  load::ProgramOptions program;
  std::optional<load::Counts> microbatches;
  load::TimeOptions times;
  std::string trace;
  PictureFlags picture;
  std::string csv;
  std::string format = "text";
  bool verify = false;
};
// `unit_help` is the help of --unit.
void add_run_command(CLI::App& command, RunCommand& options, const std::string& unit_help);

// The program and its times; also its verdict for the step's number of microbatches, if asked for.
struct PreparedRun {
  load::LoadedProgram loaded;
  std::optional<verify::Verdict> verdict;
  std::optional<core::OwnedFacts> facts;
  simulate::Timing timing;
  int microbatches = 0;  // in the step
  [[nodiscard]] const spec::Program& program() const { return loaded.program; }
};
// Errors are already printed on standard error, as with load_program().
[[nodiscard]] spec::Result<PreparedRun> prepare(const RunCommand& command);
// One run on the virtual clock.
[[nodiscard]] simulate::RunReport simulate_once(const PreparedRun& prepared, trace::Record& record);

// How members and replicas run. notes_of() returns notes, to be printed on standard error first.
enum class Groups : std::uint8_t {
  as_one,   // one member of one replica runs for all
  all_run,  // all members run, and one is shown
};
[[nodiscard]] std::string notes_of(const PreparedRun& prepared, Groups groups);
// Writes the files that were asked for, and prints the report with `more_text` or `more_json` on
// standard output. Returns the exit code.
int write_run(const RunCommand& command, const simulate::ReportedRun& reported,
              const std::string& more_text, const nlohmann::json& more_json);

}  // namespace ripeline::cli
