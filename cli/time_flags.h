// What tasks and messages take: the flags of every command that simulates.
#pragma once

#include <string>

#include <CLI/App.hpp>

#include "simulate/timing.h"
#include "spec/program.h"
#include "trace/about.h"

namespace ripeline::cli {

struct TimeFlags {
  std::string unit;
  std::string profile;
  std::string jitter;
  simulate::TimingOptions timing;
};
inline constexpr const char* kUnitHelp =
    "what a cost of 1 is: ns, us, ms or s; without it an abstract unit";
void add_times(CLI::App& command, TimeFlags& options, const std::string& unit_help = kUnitHelp);

// Fills in what the flags say; a sentence if they do not fit.
[[nodiscard]] std::string read_timing(const TimeFlags& flags, simulate::TimingOptions& timing);

// What a trace says of a run with these times.
[[nodiscard]] trace::Run run_of(const simulate::Timing& timing, int microbatches,
                                trace::Source source = trace::Source::simulated);
// What a simulated run does not do, or nothing.
[[nodiscard]] std::string not_simulated(const spec::Program& program);

}  // namespace ripeline::cli
