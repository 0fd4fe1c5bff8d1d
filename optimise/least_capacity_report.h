// The output of `ripeline verify --least` for a resource, as text and as JSON.
//
// Pure functions; never throw.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "optimise/least_capacity.h"

namespace ripeline::optimise {

// Ends with a newline.
[[nodiscard]] std::string least_capacity_text(const std::string& name, const LeastCapacity& least);
[[nodiscard]] nlohmann::json least_capacity_json(const LeastCapacity& least);

}  // namespace ripeline::optimise
