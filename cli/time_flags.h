// The times of tasks and messages: the flags of every command that simulates.
#pragma once

#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "simulate/timing.h"
#include "spec/diagnostics.h"
#include "spec/program.h"
#include "trace/about.h"

namespace ripeline::cli {

struct TimeFlags {
  std::string unit;
  std::optional<std::string> rank_costs;
  std::string profile;
  std::string jitter;
  std::string latency;  // with a unit or in the run's, as the next one
  std::string control;
  simulate::TimingOptions timing;  // the others are no part of it
};
inline constexpr const char* kUnitHelp =
    "what a cost of 1 is: ns, us, ms or s; without it an abstract unit";
void add_times(CLI::App& command, TimeFlags& options, const std::string& unit_help = kUnitHelp);

// The timing that the flags give. Errors: they do not fit together, or one of them cannot be read.
[[nodiscard]] spec::Result<simulate::TimingOptions> read_timing(const TimeFlags& flags);

// Fails if the program uses what a simulated run does not do.
[[nodiscard]] spec::Result<void> check_simulated(const spec::Program& program);

}  // namespace ripeline::cli
