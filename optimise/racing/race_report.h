// The output of a race, as text and as JSON (docs/formats.md).
//
// Pure functions; never throw.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "optimise/racing/race.h"
#include "spec/program.h"

namespace ripeline::optimise {

// A table of the trials, and the memory that the baseline and the pick hold; ends with a newline.
[[nodiscard]] std::string race_text(const spec::Program& program, const RaceResult& result);
[[nodiscard]] nlohmann::json race_json(const spec::Program& program, const RaceResult& result);

}  // namespace ripeline::optimise
