// The output of `ripeline verify --layouts` and `--least sends`, as text and as JSON.
//
// Pure functions; never throw.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "wire/layouts.h"
#include "wire/least_sends.h"

namespace ripeline::wire {

// Each text ends with a newline.
[[nodiscard]] std::string layouts_text(const LayoutTable& table);
[[nodiscard]] std::string least_sends_text(const LeastSends& least);

[[nodiscard]] nlohmann::json layouts_json(const LayoutTable& table);
[[nodiscard]] nlohmann::json least_sends_json(const LeastSends& least);

}  // namespace ripeline::wire
