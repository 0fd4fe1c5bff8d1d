// The times of tasks and messages as users give them: with units, as the costs of a rank, as the
// file of a profile, and with jitter.
#pragma once

#include <optional>
#include <string>

#include "simulate/timing.h"
#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::load {

// An empty member is an option that is not given.
struct TimeOptions {
  std::string unit = {};
  std::optional<std::string> rank_costs = {};
  std::string profile = {};  // a file
  std::string jitter = {};
  std::string latency = {};  // with a unit or in the run's unit; the same for `control`
  std::string control = {};
  std::string bandwidth = {};           // a link, in bytes per second: 2.5e10, 25GB/s
  std::string bytes = {};               // a message: 4700000, 4.7MB
  simulate::TimingOptions timing = {};  // without the options above
};
// Fails if the options do not fit together, or if one of them cannot be read.
[[nodiscard]] spec::Result<simulate::TimingOptions> read_timing(const TimeOptions& options);
// The times of a step of the program by these options. Fails also if the program has a construct
// that is not simulated, or if the times do not fit the program.
[[nodiscard]] spec::Result<simulate::Timing> timing_of(const spec::Program& program,
                                                       int microbatches,
                                                       const TimeOptions& options);
// Fails if the program has a construct that is not simulated.
[[nodiscard]] spec::Result<void> check_simulated(const spec::Program& program);

}  // namespace ripeline::load
