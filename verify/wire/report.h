// report_wire: what `ripeline verify --layouts` and `--least` print, as text and as JSON.
//
// Pure functions; never throw.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "verify/repair/least_capacity.h"
#include "verify/wire/layouts.h"

namespace ripeline::verify {

// All end with a newline.
[[nodiscard]] std::string layouts_text(const LayoutTable& table);
[[nodiscard]] std::string least_sends_text(const LeastSends& least);
[[nodiscard]] std::string least_capacity_text(const std::string& name, const LeastCapacity& least);

[[nodiscard]] nlohmann::json layouts_json(const LayoutTable& table);
[[nodiscard]] nlohmann::json least_sends_json(const LeastSends& least);
[[nodiscard]] nlohmann::json least_capacity_json(const LeastCapacity& least);

}  // namespace ripeline::verify
