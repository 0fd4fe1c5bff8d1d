// Dispatches of a program against each other under the same draws, and what came out of it.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "optimise/race.h"
#include "simulate/timing.h"
#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::cli {

// The program is for this count alone. With progress on standard error. `go_on` as of
// simulate::race().
[[nodiscard]] spec::Result<simulate::RaceResult> race(const spec::Program& program,
                                                      int microbatches,
                                                      const simulate::TimingOptions& times,
                                                      int seeds,
                                                      const std::function<bool()>& go_on = {});
[[nodiscard]] std::string race_text(const spec::Program& program,
                                    const simulate::RaceResult& result);
[[nodiscard]] nlohmann::json race_json(const spec::Program& program,
                                       const simulate::RaceResult& result);

}  // namespace ripeline::cli
